//! The README does what it says: each block of it that can be run is run, as it stands there.
//!
//! Rust blocks are doc tests of this package's library; TOML is read as a configuration; `curl` lines are typed into a shell
//! against the offline demo; Python runs where `MAINSTAY_SDK_PYTHON` names an interpreter that has the SDKs.

#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use mainstay_gateway::config::Config;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

const README: &str = include_str!("../../README.md");

/// The blocks of a language, in order.
fn blocks(language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<String> = None;
    for line in README.lines() {
        match &mut block {
            None if line == format!("```{language}") => block = Some(String::new()),
            Some(text) if line == "```" => {
                found.push(std::mem::take(text));
                block = None;
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    assert!(!found.is_empty(), "the README has no {language} block");
    found
}

/// The offline demo, as `mainstay` serves it in a folder without a configuration.
struct Demo {
    process: Child,
    address: String,
    printed: String,
    _folder: tempfile::TempDir,
}

impl Demo {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut process = Command::new(mainstay_tests::gateway::binary())
            .args(["--listen", "127.0.0.1:0"])
            .env_remove("OPENAI_API_KEY")
            .env_remove("ANTHROPIC_API_KEY")
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut printed = String::new();
        // The last line of what it prints at its start.
        while !printed.contains("mainstay.toml") {
            printed += &lines.next().expect("the demo says what to type").unwrap();
            printed.push('\n');
        }
        let address =
            printed.split("http://").nth(1).unwrap().split([':', ' ', '/']).take(2).collect::<Vec<_>>();
        let address = address.join(":");
        Self { process, address, printed, _folder: folder }
    }

    fn run(&self, program: impl AsRef<Path>, text: &str) -> String {
        let text = text.replace("127.0.0.1:8080", &self.address);
        let output = Command::new(program.as_ref()).args(["-c", &text]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}\n{error}");
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn has(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).status().is_ok()
}

#[test]
fn the_curl_lines_do_what_the_readme_says() {
    if !has("curl") {
        return eprintln!("skipped: there is no curl");
    }
    let demo = Demo::start();
    let typed: Vec<String> = blocks("sh").into_iter().filter(|block| block.starts_with("curl")).collect();
    let [flaky, limited, fallback, stall] = &typed[..] else { panic!("{} curl blocks", typed.len()) };

    let reply = demo.run("sh", flaky);
    for line in
        ["HTTP/1.1 200 OK", "x-mainstay-provider: flaky", "x-mainstay-attempts: 3", "You asked demo-flaky"]
    {
        assert!(reply.contains(line), "{line}\n{reply}");
    }
    let reply = demo.run("sh", limited);
    assert!(reply.contains("You asked demo-limited"), "{reply}");
    let seconds = reply.rsplit('}').next().unwrap().trim().trim_end_matches(" s");
    let seconds: f64 = seconds.parse().unwrap();
    assert!((1.0..5.0).contains(&seconds), "{reply}");
    let reply = demo.run("sh", fallback);
    assert!(reply.contains("\"Hello \"") && reply.trim_end().ends_with("data: [DONE]"), "{reply}");
    let reply = demo.run("sh", stall);
    // How long it took is another number each time.
    let timeless = |text: &str| match text.trim().split_once("\"ms\":") {
        Some((before, after)) => {
            format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => text.trim().to_owned(),
    };
    assert_eq!(timeless(&reply), timeless(blocks("text").last_of_stream()));
}

/// The block of output that stands behind the last `curl` line.
trait LastOfStream {
    fn last_of_stream(&self) -> &str;
}

impl LastOfStream for Vec<String> {
    fn last_of_stream(&self) -> &str {
        self.iter().find(|block| block.starts_with("data: ")).expect("an error event in the README")
    }
}

#[test]
fn what_the_demo_prints_is_what_survives() {
    if !has("curl") {
        return eprintln!("skipped: there is no curl");
    }
    let demo = Demo::start();
    let lines: Vec<&str> = demo.printed.split("  curl ").skip(1).collect();
    assert_eq!(lines.len(), 3, "{}", demo.printed);
    for line in lines {
        let command = format!("curl {}", line.split("\n\n").next().unwrap());
        assert!(demo.run("sh", &command).contains("demo"), "{command}");
    }
}

#[test]
fn the_configuration_is_accepted() {
    let env = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-0123456789".to_owned());
    for block in blocks("toml") {
        let config = Config::parse(&block, "README.md", &env).unwrap_or_else(|error| panic!("{error}"));
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    }
}

#[test]
fn the_sdk_examples_answer() {
    let Some(python) = std::env::var_os("MAINSTAY_SDK_PYTHON").filter(|path| !path.is_empty()) else {
        return eprintln!("skipped: MAINSTAY_SDK_PYTHON names no interpreter");
    };
    let demo = Demo::start();
    for block in blocks("python") {
        assert!(demo.run(Path::new(&python), &block).contains("You asked demo"), "{block}");
    }
}

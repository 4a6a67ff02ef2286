//! The example prints what its head comment says.

#[test]
fn it_prints_what_its_head_comment_says() {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_example-stack")).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let source = include_str!("../src/main.rs");
    let (_, text) = source.split_once("//! ```text\n").unwrap();
    let said: String = text
        .lines()
        .take_while(|line| *line != "//! ```")
        .map(|line| line.strip_prefix("//!").unwrap().strip_prefix(' ').unwrap_or_default().to_owned() + "\n")
        .collect();
    assert_eq!(String::from_utf8(run.stdout).unwrap(), said);
}

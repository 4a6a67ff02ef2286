//! What the command line must do.

use clap::CommandFactory;

use super::*;

fn cli(args: &[&str]) -> Cli {
    match Cli::try_parse_from(std::iter::once(&"mainstay").chain(args)) {
        Ok(cli) => cli,
        Err(error) => panic!("{args:?}: {error}"),
    }
}

#[test]
fn the_definition_holds_together() {
    Cli::command().debug_assert();
}

#[test]
fn without_a_command_it_serves_and_options_go_on_either_side_of_it() {
    assert!(cli(&[]).command.is_none());
    for args in [
        &["--config", "f.toml", "--listen", "0.0.0.0:1"][..],
        &["serve", "--config", "f.toml", "--listen", "0.0.0.0:1"],
        &["--config", "f.toml", "--listen", "0.0.0.0:1", "serve"],
        &["-c", "f.toml", "serve", "--listen", "0.0.0.0:1"],
    ] {
        let cli = cli(args);
        assert_eq!(cli.source(), Source::File("f.toml".into()), "{args:?}");
        assert_eq!(cli.listen().map(|at| at.to_string()).as_deref(), Some("0.0.0.0:1"), "{args:?}");
        assert!(matches!(cli.command, None | Some(Command::Serve(_))));
    }
}

#[test]
fn check_and_explain_take_the_file_too() {
    let check = cli(&["check", "--config", "f.toml"]);
    assert!(matches!(check.command, Some(Command::Check)));
    assert_eq!(check.source(), Source::File("f.toml".into()));
    let explain = cli(&["explain", "--model", "gpt-5", "--stream", "--log-format", "json"]);
    assert_eq!(explain.log_format, LogFormat::Json);
    let Some(Command::Explain(args)) = explain.command else { panic!("explain") };
    assert_eq!((args.model.as_str(), args.stream), ("gpt-5", true));
}

#[test]
fn a_command_line_that_cannot_be_used_ends_with_2_and_says_why() {
    for (args, words) in [
        (&["--listen", "here"][..], "an IP address and a port"),
        (&["explain"], "--model"),
        (&["sevre"], "serve"),
        (&["--log-format", "xml"], "text, json"),
    ] {
        let error = Cli::try_parse_from(std::iter::once(&"mainstay").chain(args)).unwrap_err();
        assert_eq!(error.exit_code(), i32::from(BAD_CONFIG), "{args:?}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn help_has_examples_and_the_environment() {
    let help = Cli::command().render_long_help().to_string();
    for words in
        ["Examples:", "mainstay explain --model", "RUST_LOG", "HTTPS_PROXY", "offline demo", "Exit codes"]
    {
        assert!(help.contains(words), "{words} is not in\n{help}");
    }
    let version = Cli::try_parse_from(["mainstay", "--version"]).unwrap_err();
    assert!(version.to_string().contains(env!("CARGO_PKG_VERSION")));
    assert_eq!(version.exit_code(), 0);
}

#[test]
fn the_file_that_is_there_is_taken_and_without_one_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Source::find(None, folder.path()), Source::Demo);
    assert!(matches!(Source::Demo.load(), Ok(None)));
    let file = folder.path().join("mainstay.toml");
    std::fs::write(&file, "").unwrap();
    assert_eq!(Source::find(None, folder.path()), Source::File(file));
    assert_eq!(Source::find(Some(Path::new("x")), folder.path()), Source::File("x".into()));
}

#[cfg(unix)]
#[test]
fn a_link_to_nowhere_is_not_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("nowhere", folder.path().join("mainstay.toml")).unwrap();
    assert!(Source::find(None, folder.path()).load().is_err());
}

fn run(source: &Source) -> (u8, String, String) {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let code = check(source, &mut out, &mut err);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
}

#[test]
fn check_prints_settings_or_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mainstay.toml");
    std::fs::write(&file, "[providers.a]\nkind = \"ollama\"\n").unwrap();
    let source = Source::File(file.clone());
    let (code, out, err) = run(&source);
    assert_eq!(code, 0);
    assert!(out.starts_with("[server]\n") && out.contains("[providers.a.retry]\nattempts = 3\n"), "{out}");
    assert!(err.contains("mainstay.toml:1: providers.a: no route leads here"), "{err}");

    std::fs::write(&file, "[providers.a]\nkind = \"olama\"\n").unwrap();
    let (code, out, err) = run(&source);
    assert_eq!((code, out.as_str()), (BAD_CONFIG, ""));
    assert!(err.contains("mainstay.toml:2:8: providers.a.kind") && err.contains("\"ollama\"?"), "{err}");

    let (code, out, _) = run(&Source::Demo);
    assert_eq!(code, 0);
    assert!(out.contains("offline demo"), "{out}");
}

#[test]
fn explain_names_the_targets_or_what_there_is() {
    let config = Config::parse("[providers.a]\nkind = \"ollama\"\n", "f", &|_| None).unwrap();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let args = |model: &str| ExplainArgs { model: model.to_owned(), stream: false };
    assert_eq!(explain(&config, &args("a/x"), &mut out, &mut err), 0);
    assert!(String::from_utf8(out).unwrap().contains("1. a at http://127.0.0.1:11434/v1"));
    let mut out = Vec::new();
    assert_eq!(explain(&config, &args("x"), &mut out, &mut err), NO_SUCH_MODEL);
    assert!(out.is_empty() && String::from_utf8(err).unwrap().contains("one of a/..."));
}

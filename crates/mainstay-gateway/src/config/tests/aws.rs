//! Keys that requests to AWS are signed with.

use super::super::{Config, ConfigError, settings::AwsKeys};

const ID: &str = "aws_access_key_id_env = \"ID\"\n";
const SECRET: &str = "aws_secret_access_key_env = \"SECRET\"\n";
const TOKEN: &str = "aws_session_token_env = \"TOKEN\"\n";
const REGION: &str = "aws_region = \"eu-west-3\"\n";

fn parse(kind: &str, lines: &[&str]) -> Result<Config, ConfigError> {
    let env = |name: &str| {
        Some(match name {
            "ID" => "AKIA-hunter2-id".to_owned(),
            "SECRET" => "hunter2-secret-0123456789".to_owned(),
            "TOKEN" => "hunter2-token-0123456789".to_owned(),
            "UP_KEY" => "hunter2-key-0123456789".to_owned(),
            _ => return None,
        })
    };
    let text = format!(
        "[[routes]]\nmodels = [\"*\"]\ntargets = [\"a\"]\n[providers.a]\nkind = \"{kind}\"\n{}",
        lines.concat()
    );
    Config::parse(&text, "mainstay.toml", &env)
}

fn refusal(kind: &str, lines: &[&str]) -> String {
    match parse(kind, lines) {
        Ok(_) => panic!("accepted: {lines:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_region_and_a_pair_of_keys_are_all_that_bedrock_needs() {
    let config = parse("bedrock-converse", &[REGION, ID, SECRET, TOKEN]).unwrap();
    let provider = &config.providers[0];
    assert_eq!(provider.base_url.as_str(), "https://bedrock-runtime.eu-west-3.amazonaws.com");
    let aws = provider.aws.as_ref().unwrap();
    assert_eq!(aws.region, "eu-west-3");
    let AwsKeys::Given { secret_access_key, .. } = &aws.keys else { panic!("{aws:?}") };
    assert_eq!(secret_access_key.expose(), "hunter2-secret-0123456789");
    assert_eq!(provider.keys().count(), 3);
    let shown = config.to_string();
    assert!(shown.contains("set from SECRET") && shown.contains("eu-west-3"), "{shown}");
    for shown in [shown, format!("{config:?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn the_region_is_that_of_the_address_unless_it_is_named() {
    let base = "base_url = \"https://bedrock-runtime.us-west-2.amazonaws.com\"\n";
    let region = |lines: &[&str]| {
        let config = parse("bedrock-converse", lines).unwrap();
        config.providers[0].aws.as_ref().unwrap().region.clone()
    };
    assert_eq!(region(&[base, ID, SECRET]), "us-west-2");
    assert_eq!(region(&[base, ID, SECRET, REGION]), "eu-west-3");
    let proxy = "base_url = \"https://proxy.example\"\n";
    assert!(refusal("bedrock-converse", &[proxy, ID, SECRET]).contains("aws_region"));
}

#[test]
fn a_bearer_key_needs_no_pair() {
    let config = parse("bedrock-converse", &[REGION, "api_key_env = \"UP_KEY\"\n"]).unwrap();
    let provider = &config.providers[0];
    assert!(provider.aws.is_none() && provider.api_key.is_some());
}

#[test]
fn what_makes_no_sense_is_refused_and_no_secret_is_shown() {
    let both = [REGION, ID, SECRET, "api_key_env = \"UP_KEY\"\n"];
    for (kind, lines, part) in [
        ("bedrock-converse", &[REGION, ID][..], "aws_secret_access_key_env"),
        ("bedrock-converse", &[REGION, SECRET], "aws_access_key_id_env"),
        ("bedrock-converse", &[REGION, TOKEN], "aws_access_key_id_env"),
        ("bedrock-converse", &both, "credentials to sign with"),
        ("bedrock-converse", &["aws_region = \"Mars!\"\n", ID, SECRET], "us-east-1"),
        ("bedrock-converse", &[ID, SECRET], "base_url"),
        ("openai", &[ID, SECRET, REGION], "bedrock"),
        ("bedrock-converse", &[REGION, "aws_profile = \"p\"\n"], "aws_credentials_file"),
        ("bedrock-converse", &[REGION, ID, "aws_credentials_file = \"x\"\n"], "or a pair of keys"),
        ("bedrock-converse", &[REGION, "aws_credentials_file = \"/no/such/file\"\n"], "/no/such/file"),
        ("openai", &["aws_credentials_file = \"/no/such/file\"\n"], "bedrock"),
        ("bedrock-converse", &[REGION, SECRET, "aws_access_key_id_env = \"NOWHERE\"\n"], "NOWHERE"),
    ] {
        let refusal = refusal(kind, lines);
        assert!(refusal.contains(part), "{part}: {refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
    }
}

#[test]
fn a_file_of_credentials_is_read_at_the_start_and_none_of_it_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials");
    let text = "[b]\naws_access_key_id = AKIA-hunter2\naws_secret_access_key = hunter2-secret\naws_session_token = hunter2-token\n";
    std::fs::write(&path, text).unwrap();
    let line = format!("aws_credentials_file = \"{}\"\n", path.display());
    let config = parse("bedrock-converse", &[REGION, &line, "aws_profile = \"b\"\n"]).unwrap();
    let file = config.providers[0].credentials_file().unwrap();
    assert_eq!((file.path(), file.profile()), (&*path, "b"));
    assert_eq!(file.redactor().text("a hunter2-token"), "a [redacted]");
    assert!(config.providers[0].keys().next().is_none());
    let shown = config.to_string();
    assert!(shown.contains(&*path.display().to_string()) && shown.contains("aws_profile = \"b\""), "{shown}");
    for shown in [shown, format!("{config:?}")] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    let refusal = refusal("bedrock-converse", &[REGION, &line]);
    assert!(refusal.contains("no profile [default]") && !refusal.contains("hunter2"), "{refusal}");
}

//! No key reaches a message, a listing or a `Debug`.

use super::super::Config;
use super::{good, with};

const SECRETS: &str = "api_key_env = \"UP_KEY\"\nproxy = \"http://me:hunter2@proxy:3128\"\n\
                       headers = { authorization = \"Bearer hunter2\", x-team = \"hunter2\" }";

#[test]
fn debug_and_the_listing_show_where_a_key_came_from_and_not_the_key() {
    let config = good(&with(SECRETS));
    for shown in [
        format!("{config:?}"),
        format!("{config:#?}"),
        config.to_string(),
        config.explain("m", true).unwrap(),
    ] {
        assert!(!shown.contains("sk-test"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("set from UP_KEY"), "{shown}");
        assert!(shown.contains("***@proxy:3128"), "{shown}");
    }
    assert_eq!(config.providers[0].api_key.as_ref().unwrap().expose(), "sk-test-secret-0123456789");
}

#[test]
fn a_key_written_in_the_wrong_place_is_not_repeated() {
    for lines in [
        "api_key = \"hunter2\"",
        "api_key_env = \"hunter2-0123\"",
        "api_key_env = \"AIzaSyHunter2hunter2hunter2\"",
        "api_key_env = [\"hunter2\"]",
        "api_key_file = \"sk-proj-hunter2hunter2hunter2\"",
        "api_key_file = [\"hunter2\"]",
        "headers = \"authorization: hunter2\"",
        "headers = { x-key = \"hunter2\\u0000\" }",
        "headers = { x-key = [\"hunter2\"] }",
        "headers = { host = \"hunter2\" }",
        "base_url = \"https://me:hunter2@host/v1\"",
        "base_url = \"https://hunter2@\"",
        "base_url = \"https://host/v1?key=hunter2\"",
        "base_url = \"https://host/v1#hunter2\"",
        "proxy = \"ftp://me:hunter2@proxy\"",
        "proxy = \"me:hunter2@proxy:1\"",
        "proxy = \"http://me:hunter2@ proxy\"",
        "token = \"hunter2\"",
        "x = \"hunter2",
        "api_key_env = hunter2",
        "x = 1\nx = \"hunter2\"",
    ] {
        let error = super::refused(&with(lines));
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(!shown.to_lowercase().contains("hunter2"), "{lines}\n{shown}");
        }
    }
}

#[test]
fn a_key_that_no_header_can_hold_is_refused_by_the_name_of_its_variable() {
    let env = |_: &str| Some("sk-two\nlines-0123".to_owned());
    let error = Config::parse(&with("api_key_env = \"UP_KEY\""), "f", &env).unwrap_err().to_string();
    assert!(error.contains("UP_KEY"), "{error}");
    assert!(!error.contains("sk-two") && !error.contains("lines-0123"), "{error}");
}

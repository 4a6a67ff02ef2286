//! Keys from variables and files, and `ca_file`: read once, here, at the start.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use super::super::doc::{Table, Value, shown};
use super::super::secret::{ApiKey, KeySource};

/// No key is longer; a file that is (a device, a wrong path) is not read on.
const LONGEST_KEY: u64 = 64 * 1024;
const LONGEST_CA: u64 = 16 * 1024 * 1024;

/// The key, if one is set; the outer `None` is a refusal.
pub(super) fn api_key(t: &mut Table<'_>) -> Option<Option<ApiKey>> {
    let (env, file) = (t.get("api_key_env"), t.get("api_key_file"));
    match (env, file) {
        (None, None) => Some(None),
        (Some(env), None) => from_env(&env).map(Some),
        (None, Some(file)) => from_file(&file).map(Some),
        (Some(_), Some(file)) => file.refuse("api_key_env as well", "one of api_key_env and api_key_file"),
    }
}

pub(super) fn from_env(v: &Value<'_>) -> Option<ApiKey> {
    const EXPECTED: &str = "the name of an environment variable, such as \"OPENAI_API_KEY\"";
    let Some(name) = v.raw_text() else { return v.wrong_unseen(EXPECTED) };
    if !is_variable(name) {
        // It may be the key itself, so it is not shown.
        return v.refuse("text that is no variable's name", format!("{EXPECTED}, not the key itself"));
    }
    let Some(value) = (v.doc().env)(name) else {
        return v.refuse(
            format!("{}: the environment variable {name} is not set", shown(name)),
            format!(
                "{name} to hold the key, or api_key_env left out (then the caller's own key is passed on)"
            ),
        );
    };
    key(v, &format!("the environment variable {name}"), KeySource::Env(name.to_owned()), &value)
}

/// A name in the shell's sense, and not a key that went into the wrong place.
fn is_variable(name: &str) -> bool {
    let first = name.bytes().next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    let rest = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    first && rest && !like_a_key(name)
}

/// Long, of one piece, with small letters and digits: rather a key than a name.
fn like_a_key(text: &str) -> bool {
    let has = |what: fn(&u8) -> bool| text.as_bytes().iter().any(what);
    text.len() >= 20
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit)
        && !text.contains(['/', '\\', '.', ' '])
}

fn from_file(v: &Value<'_>) -> Option<ApiKey> {
    const EXPECTED: &str = "a readable file that holds the key and nothing else";
    let Some(name) = v.raw_text() else { return v.wrong_unseen(EXPECTED) };
    let path = v.doc().file_beside(name);
    if like_a_key(name) && !path.exists() {
        return v.refuse("text that is no file's name", format!("{EXPECTED}, not the key itself"));
    }
    let what = format!("the file {}", path.display());
    match read(&path, LONGEST_KEY) {
        Ok(text) => key(v, &what, KeySource::File(path), &text),
        Err(why) => v.refuse(format!("{what}, which cannot be read: {why}"), EXPECTED),
    }
}

fn key(v: &Value<'_>, what: &str, source: KeySource, value: &str) -> Option<ApiKey> {
    const EXPECTED: &str = "one key in visible ASCII";
    // Editors and `echo` end a file with a newline.
    let trimmed = value.trim();
    if trimmed.is_empty() {
        return v.refuse(format!("{what}, which is empty"), EXPECTED);
    }
    // http would take more; no provider's key has it, and a stray letter in a key is hard to see.
    if !trimmed.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return v.refuse(format!("{what}, whose value no header can hold"), EXPECTED);
    }
    Some(ApiKey::new(source, trimmed.to_owned()))
}

/// A file of certificates: that it can be read and looks like one. The client parses it.
pub(super) fn ca_file(v: &Value<'_>) -> Option<std::path::PathBuf> {
    const EXPECTED: &str = "a readable file of PEM certificates";
    let path = v.doc().file_beside(v.text(EXPECTED)?);
    match read(&path, LONGEST_CA) {
        Ok(text) if text.contains("-----BEGIN CERTIFICATE-----") => Some(path),
        Ok(_) => v.refuse(format!("the file {}, which has no certificate", path.display()), EXPECTED),
        Err(why) => v.refuse(format!("the file {}, which cannot be read: {why}", path.display()), EXPECTED),
    }
}

/// Reads text up to a bound; over it is an error, not half a text.
pub(crate) fn read(path: &Path, bound: u64) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(bound + 1).read_to_string(&mut text)?;
    match u64::try_from(text.len()) {
        Ok(len) if len <= bound => Ok(text),
        _ => Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {bound} bytes"))),
    }
}

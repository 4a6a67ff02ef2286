//! How places and names are written in messages.

use super::super::spelling::nearest;

/// Line and column, from 1, of a byte offset.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).map_or(0, |line| line.chars().count());
    (before.bytes().filter(|&b| b == b'\n').count() + 1, column + 1)
}

/// `path.key`, with quotes where TOML needs them.
pub(super) fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match (path.is_empty(), bare) {
        (true, true) => key.to_owned(),
        (true, false) => shown(key),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}.{}", shown(key)),
    }
}

/// Text in quotes, cut where it gets long.
pub(crate) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?}...", text.get(..cut).unwrap_or_default()),
    }
}

/// `"a", "b" or "c"`
pub(crate) fn any_of<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(shown).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => "nothing: there are none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} or {last}", names.join(", ")),
    }
}

/// What is offered where a name is not known: the nearest, then all.
pub(crate) fn offer<'n>(written: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> String {
    let all = any_of(names.clone());
    match nearest(written, names) {
        Some(near) => format!("{}? There is {all}", shown(near)),
        None => all,
    }
}

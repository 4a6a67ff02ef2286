//! Walking a parsed file so that every refusal knows its line, its key and what was expected.
//!
//! Serde would stop at the first problem and lose the place of those that come after it has finished (an unknown
//! provider, a missing variable). Here the file is a tree of spans; a section asks its [`Table`] for the keys it
//! knows, and what nobody asked for is unknown. So the list of keys can't drift from the code that reads them.

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::{Problem, Warning};
use super::value;

/// More are counted, not shown: a file that is no configuration at all need not fill the screen.
const MOST_SHOWN: usize = 50;
/// More are not even kept.
const MOST_KEPT: usize = 1000;

/// One file while it is being read.
pub(super) struct Doc<'t> {
    text: &'t str,
    file: &'t str,
    root: &'t DeTable<'t>,
    pub(super) env: &'t dyn Fn(&str) -> Option<String>,
    problems: RefCell<Vec<(usize, Problem)>>,
    more: Cell<usize>,
    warnings: RefCell<Vec<(usize, Warning)>>,
}

impl<'t> Doc<'t> {
    pub(super) fn new(
        text: &'t str,
        file: &'t str,
        root: &'t DeTable<'t>,
        env: &'t dyn Fn(&str) -> Option<String>,
    ) -> Self {
        Self {
            text,
            file,
            root,
            env,
            problems: RefCell::default(),
            more: Cell::new(0),
            warnings: RefCell::default(),
        }
    }

    /// The whole file as a table.
    pub(super) fn root(&self) -> Table<'_> {
        Table { doc: self, path: String::new(), at: 0, map: self.root, asked: Vec::new() }
    }

    /// A file that the configuration names, seen from the configuration's own folder.
    pub(super) fn file_beside(&self, name: &str) -> PathBuf {
        match Path::new(self.file).parent() {
            Some(folder) => folder.join(name),
            None => PathBuf::from(name),
        }
    }

    pub(super) fn problem(&self, at: usize, key: &str, found: impl Display, expected: impl Display) {
        if self.problems.borrow().len() >= MOST_KEPT {
            self.more.set(self.more.get() + 1);
            return;
        }
        let (line, column) = place(self.text, at);
        let key = key.to_owned();
        let problem = Problem { line, column, key, found: found.to_string(), expected: expected.to_string() };
        self.problems.borrow_mut().push((at, problem));
    }

    /// Says something about the key that is nearest to `path` in the file.
    pub(super) fn warn(&self, path: &[&str], message: impl Display) {
        self.warn_at(self.locate(path), self.path(path), message);
    }

    /// How a key is named in messages.
    pub(super) fn path(&self, path: &[&str]) -> String {
        path.iter().fold(String::new(), |key, part| join(&key, part))
    }

    pub(super) fn warn_at(&self, at: usize, key: String, message: impl Display) {
        if self.warnings.borrow().len() >= MOST_KEPT {
            return;
        }
        let (line, _) = place(self.text, at);
        self.warnings.borrow_mut().push((at, Warning { line, key, message: message.to_string() }));
    }

    /// Where a key stands, or the last of its parents that is written.
    pub(super) fn locate(&self, path: &[&str]) -> usize {
        let (mut table, mut at) = (self.root, 0);
        for part in path {
            let Some((key, value)) = table.get_key_value(*part) else { break };
            at = key.span().start;
            let Some(next) = value.get_ref().as_table() else { break };
            table = next;
        }
        at
    }

    /// Whether a key is written.
    pub(super) fn has(&self, path: &[&str]) -> bool {
        let Some((last, parents)) = path.split_last() else { return true };
        let mut table = self.root;
        for part in parents {
            match table.get(*part).and_then(|value| value.get_ref().as_table()) {
                Some(next) => table = next,
                None => return false,
            }
        }
        table.contains_key(*last)
    }

    pub(super) fn line(&self, at: usize) -> usize {
        place(self.text, at).0
    }

    /// In the order of the file: problems, how many more there were, warnings.
    pub(super) fn finish(self) -> (Vec<Problem>, usize, Vec<Warning>) {
        let (mut problems, mut warnings) = (self.problems.into_inner(), self.warnings.into_inner());
        problems.sort_by_key(|(at, _)| *at);
        warnings.sort_by_key(|(at, _)| *at);
        // What is written under [defaults] is looked at once for each provider.
        warnings.dedup();
        let more = self.more.get() + problems.len().saturating_sub(MOST_SHOWN);
        problems.truncate(MOST_SHOWN);
        let problems = problems.into_iter().map(|(_, problem)| problem).collect();
        (problems, more, warnings.into_iter().map(|(_, warning)| warning).collect())
    }
}

/// Line and column, from 1, of a byte offset.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let column = before.get(line_start..).map_or(0, |line| line.chars().count());
    (before.bytes().filter(|&b| b == b'\n').count() + 1, column + 1)
}

/// `path.key`, with quotes where TOML needs them.
fn join(path: &str, key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match (path.is_empty(), bare) {
        (true, true) => key.to_owned(),
        (true, false) => shown(key),
        (false, true) => format!("{path}.{key}"),
        (false, false) => format!("{path}.{}", shown(key)),
    }
}

/// Text in quotes, cut where it gets long.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((cut, _)) => format!("{:?}...", text.get(..cut).unwrap_or_default()),
    }
}

/// `"a", "b" or "c"`
pub(super) fn any_of<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.into_iter().map(shown).collect();
    match (names.pop(), names.is_empty()) {
        (None, _) => "nothing: there are none".to_owned(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} or {last}", names.join(", ")),
    }
}

/// What is offered where a name is not known: the nearest, then all.
pub(super) fn offer<'n>(written: &str, names: impl IntoIterator<Item = &'n str> + Clone) -> String {
    let all = any_of(names.clone());
    match value::nearest(written, names) {
        Some(near) => format!("{}? There is {all}", shown(near)),
        None => all,
    }
}

/// A table, and which of its keys have been asked for.
pub(super) struct Table<'a> {
    doc: &'a Doc<'a>,
    path: String,
    at: usize,
    map: &'a DeTable<'a>,
    asked: Vec<&'static str>,
}

impl<'a> Table<'a> {
    pub(super) fn line(&self) -> usize {
        self.doc.line(self.at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The way to one of its keys.
    pub(super) fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    pub(super) fn get(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        let (name, value) = self.map.get_key_value(key)?;
        Some(self.value(name, value))
    }

    /// Puts the value of `key`, if it is there and good, in place of what is in `into`.
    pub(super) fn set<T>(
        &mut self,
        key: &'static str,
        into: &mut T,
        read: impl FnOnce(&Value<'a>) -> Option<T>,
    ) {
        if let Some(value) = self.get(key).and_then(|value| read(&value)) {
            *into = value;
        }
    }

    /// The table under `key`, if it is there and one.
    pub(super) fn table(&mut self, key: &'static str) -> Option<Table<'a>> {
        self.get(key)?.table()
    }

    /// All entries in the order of the file, for tables whose keys are names.
    pub(super) fn entries(&self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self.map.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries.into_iter().map(|(name, value)| (name.get_ref().as_ref(), self.value(name, value))).collect()
    }

    pub(super) fn problem(&self, found: impl Display, expected: impl Display) {
        self.doc.problem(self.at, &self.path, found, expected);
    }

    /// Says that a key that must be there is not.
    pub(super) fn missing(&self, key: &str, expected: impl Display) {
        self.doc.problem(self.at, &self.path_of(key), "nothing: it must be set", expected);
    }

    /// Refuses every key that was not asked for. `hint` may know better than the list of those that were.
    pub(super) fn finish(self, hint: impl Fn(&str) -> Option<String>) {
        for (name, _) in self.entries() {
            if self.asked.contains(&name) {
                continue;
            }
            let at = self.doc_at(name);
            let expected = hint(name).unwrap_or_else(|| {
                let near = value::nearest(name, self.asked.iter().copied());
                let list = self.asked.join(", ");
                near.map_or_else(
                    || format!("one of {list}"),
                    |near| format!("{near}? The keys here are {list}"),
                )
            });
            // The value is not shown: it may be a key that somebody wrote into the file.
            let found = format!("the unknown key {}", shown(name));
            self.doc.problem(at, &self.path_of(name), found, expected);
        }
    }

    fn doc_at(&self, key: &str) -> usize {
        self.map.get_key_value(key).map_or(self.at, |(name, _)| name.span().start)
    }

    fn value(&self, name: &Spanned<std::borrow::Cow<'a, str>>, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        let path = self.path_of(name.get_ref());
        Value { doc: self.doc, path, key_at: name.span().start, at: value.span(), value: value.get_ref() }
    }
}

/// One value, and the way to it. Its readers report what is wrong and then give `None`.
pub(super) struct Value<'a> {
    doc: &'a Doc<'a>,
    path: String,
    key_at: usize,
    at: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Value<'a> {
    pub(super) fn doc(&self) -> &'a Doc<'a> {
        self.doc
    }

    pub(super) fn refuse<T>(&self, found: impl Display, expected: impl Display) -> Option<T> {
        self.doc.problem(self.at.start, &self.path, found, expected);
        None
    }

    pub(super) fn warn(&self, message: impl Display) {
        self.doc.warn_at(self.at.start, self.path.clone(), message);
    }

    /// What stands there, in words; text is shown.
    pub(super) fn describe(&self) -> String {
        match self.value {
            DeValue::String(text) => shown(text),
            DeValue::Integer(number) => format!("the number {number}"),
            DeValue::Float(number) => format!("the number {number}"),
            DeValue::Boolean(yes) => yes.to_string(),
            DeValue::Datetime(date) => format!("the date {date}"),
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
        }
    }

    /// Refuses whatever stands there.
    pub(super) fn wrong<T>(&self, expected: impl Display) -> Option<T> {
        self.refuse(self.describe(), expected)
    }

    /// The same for values that may be secrets: only their type is named.
    pub(super) fn wrong_unseen<T>(&self, expected: impl Display) -> Option<T> {
        self.refuse(format!("a value that is {}", kind_of(self.value)), expected)
    }

    pub(super) fn table(&self) -> Option<Table<'a>> {
        match self.value {
            // A header's key is the place that people look at; an inline table or a list's item has only its own.
            DeValue::Table(map) => {
                let at = self.key_at;
                Some(Table { doc: self.doc, path: self.path.clone(), at, map, asked: Vec::new() })
            }
            _ => self.wrong(format!("a table, written as [{}]", self.path)),
        }
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub(super) fn items(&self, expected: &str) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(items) = self.value else { return self.wrong(expected) };
        let item = |(n, value): (usize, &'a Spanned<DeValue<'a>>)| {
            let (at, path) = (value.span(), format!("{}[{n}]", self.path));
            Value { doc: self.doc, path, key_at: at.start, at, value: value.get_ref() }
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    pub(super) fn raw_text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        }
    }

    pub(super) fn text(&self, expected: &str) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong(expected),
        }
    }

    pub(super) fn bool(&self) -> Option<bool> {
        match self.value {
            DeValue::Boolean(yes) => Some(*yes),
            _ => self.wrong("true or false"),
        }
    }

    fn integer(&self) -> Option<u64> {
        match self.value {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        }
    }

    /// A whole number in a range; `what` says what it counts.
    pub(super) fn count<T: TryFrom<u64>>(&self, range: RangeInclusive<u64>, what: &str) -> Option<T> {
        let good = self.integer().filter(|number| range.contains(number)).and_then(|n| T::try_from(n).ok());
        if good.is_some() {
            return good;
        }
        self.wrong(format!("a whole number from {} to {}: {what}", range.start(), range.end()))
    }

    /// A number in a range; `what` says what it is.
    pub(super) fn number(&self, range: RangeInclusive<f64>, what: &str) -> Option<f64> {
        let number = match self.value {
            DeValue::Integer(_) => self.integer().and_then(|n| u32::try_from(n).ok()).map(f64::from),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| range.contains(number)) {
            return Some(number);
        }
        self.wrong(format!("a number from {} to {}: {what}", range.start(), range.end()))
    }

    /// A duration; zero is good.
    pub(super) fn duration(&self) -> Option<Duration> {
        let read = match self.value {
            DeValue::String(text) => value::duration(text),
            DeValue::Integer(_) if self.integer() == Some(0) => Some(Duration::ZERO),
            DeValue::Integer(number) => {
                return self.wrong(format!("a duration with its unit, such as \"{number}s\""));
            }
            _ => None,
        };
        match read {
            Some(long) if long > value::LONGEST => {
                let humantimes_month = "at most 30 days (\"m\" is minutes, \"M\" months)";
                self.wrong(format!("{}, {humantimes_month}", value::DURATION))
            }
            Some(good) => Some(good),
            None => self.wrong(value::DURATION),
        }
    }

    /// A duration that is more than zero.
    pub(super) fn duration_set(&self) -> Option<Duration> {
        match self.duration()? {
            Duration::ZERO => {
                self.wrong(format!("{}, more than zero: this can't be switched off", value::DURATION))
            }
            some => Some(some),
        }
    }

    /// A duration; zero is "off".
    pub(super) fn duration_or_off(&self) -> Option<Option<Duration>> {
        Some(Some(self.duration()?).filter(|some| !some.is_zero()))
    }

    fn size(&self) -> Option<u64> {
        let read = match self.value {
            DeValue::String(text) => value::size(text),
            DeValue::Integer(_) => self.integer(),
            _ => None,
        };
        // Signed so that every place it is added to or cast in can hold it.
        match read.filter(|&size| i64::try_from(size).is_ok()) {
            None => self.wrong(value::SIZE),
            some => some,
        }
    }

    /// A size that is more than zero.
    pub(super) fn size_set(&self) -> Option<u64> {
        match self.size()? {
            0 => self.wrong(format!("{}, more than zero: this bound can't be switched off", value::SIZE)),
            some => Some(some),
        }
    }

    /// A size; zero is "off".
    pub(super) fn size_or_off(&self) -> Option<Option<u64>> {
        Some(Some(self.size()?).filter(|&some| some > 0))
    }

    /// A rate, per second; zero is good.
    pub(super) fn rate(&self) -> Option<f64> {
        let read = match self.value {
            DeValue::String(text) => value::rate(text),
            DeValue::Integer(_) if self.integer() == Some(0) => Some(0.0),
            _ => None,
        };
        read.or_else(|| self.wrong(value::RATE))
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let written = self.raw_text();
        if let Some((_, meant)) = words.iter().find(|(word, _)| Some(*word) == written) {
            return Some(*meant);
        }
        let names = words.iter().map(|(word, _)| *word);
        self.wrong(offer(written.unwrap_or_default(), names))
    }
}

fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

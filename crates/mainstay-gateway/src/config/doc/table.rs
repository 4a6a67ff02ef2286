//! One table: which keys it has and which were asked for.

use std::borrow::Cow;
use std::fmt::Display;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::super::spelling::nearest;
use super::words::{join, shown};
use super::{Doc, Value, locate};

/// A table, and which of its keys have been asked for.
pub(in crate::config) struct Table<'a> {
    doc: &'a Doc<'a>,
    path: String,
    at: usize,
    map: &'a DeTable<'a>,
    asked: Vec<&'static str>,
}

impl<'a> Table<'a> {
    pub(super) fn new(doc: &'a Doc<'a>, path: String, at: usize, map: &'a DeTable<'a>) -> Self {
        Self { doc, path, at, map, asked: Vec::new() }
    }

    pub(in crate::config) fn line(&self) -> usize {
        self.doc.line(self.at)
    }

    pub(in crate::config) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// The way to one of its keys.
    pub(in crate::config) fn path_of(&self, key: &str) -> String {
        join(&self.path, key)
    }

    pub(in crate::config) fn get(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        let (name, value) = self.map.get_key_value(key)?;
        Some(self.value(name, value))
    }

    /// Puts the value of `key`, if it is there and good, in place of what is in `into`.
    pub(in crate::config) fn set<T>(
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
    pub(in crate::config) fn table(&mut self, key: &'static str) -> Option<Table<'a>> {
        self.get(key)?.table()
    }

    /// All entries in the order of the file, for tables whose keys are names.
    pub(in crate::config) fn entries(&self) -> Vec<(&'a str, Value<'a>)> {
        let mut entries: Vec<_> = self.map.iter().collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries.into_iter().map(|(name, value)| (name.get_ref().as_ref(), self.value(name, value))).collect()
    }

    pub(in crate::config) fn problem(&self, found: impl Display, expected: impl Display) {
        self.doc.problem(self.at, &self.path, found, expected);
    }

    /// Refuses what stands at a key below.
    pub(in crate::config) fn problem_at(&self, path: &[&str], found: impl Display, expected: impl Display) {
        let key = path.iter().fold(self.path.clone(), |key, part| join(&key, part));
        self.doc.problem(locate(self.map, self.at, path), &key, found, expected);
    }

    /// Says that a key that must be there is not.
    pub(in crate::config) fn missing(&self, key: &str, expected: impl Display) {
        self.doc.problem(self.at, &self.path_of(key), "nothing: it must be set", expected);
    }

    /// Refuses every key that was not asked for. `hint` may know better than the list of those that were.
    pub(in crate::config) fn finish(self, hint: impl Fn(&str) -> Option<String>) {
        for (name, _) in self.entries() {
            if self.asked.contains(&name) {
                continue;
            }
            let at = self.doc_at(name);
            let expected = hint(name).unwrap_or_else(|| {
                let near = nearest(name, self.asked.iter().copied());
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

    fn value(&self, name: &Spanned<Cow<'a, str>>, value: &'a Spanned<DeValue<'a>>) -> Value<'a> {
        let path = self.path_of(name.get_ref());
        Value::new(self.doc, path, name.span().start, value)
    }
}

//! One value, and its readers: numbers, durations, sizes, rates, words.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use toml::Spanned;
use toml::de::DeValue;

use super::super::units;
use super::words::{join, offer, shown};
use super::{Doc, Table, locate};

/// One value, and the way to it. Its readers report what is wrong and then give `None`.
pub(in crate::config) struct Value<'a> {
    doc: &'a Doc<'a>,
    path: String,
    key_at: usize,
    at: Range<usize>,
    value: &'a DeValue<'a>,
}

impl<'a> Value<'a> {
    pub(super) fn new(
        doc: &'a Doc<'a>,
        path: String,
        key_at: usize,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Self {
        Self { doc, path, key_at, at: value.span(), value: value.get_ref() }
    }

    pub(in crate::config) fn doc(&self) -> &'a Doc<'a> {
        self.doc
    }

    pub(in crate::config) fn refuse<T>(&self, found: impl Display, expected: impl Display) -> Option<T> {
        self.doc.problem(self.at.start, &self.path, found, expected);
        None
    }

    pub(in crate::config) fn warn(&self, message: impl Display) {
        self.doc.warn_at(self.at.start, self.path.clone(), message);
    }

    /// Says something about a key below this table, or the nearest of its parents that is written.
    pub(in crate::config) fn warn_below(&self, path: &[&str], message: impl Display) {
        let (at, key) = self.below(path);
        self.doc.warn_at(at, key, message);
    }

    /// Refuses what a key below this table comes to.
    pub(in crate::config) fn problem_below(
        &self,
        path: &[&str],
        found: impl Display,
        expected: impl Display,
    ) {
        let (at, key) = self.below(path);
        self.doc.problem(at, &key, found, expected);
    }

    fn below(&self, path: &[&str]) -> (usize, String) {
        let at = match self.value {
            DeValue::Table(map) => locate(map, self.at.start, path),
            _ => self.at.start,
        };
        (at, path.iter().fold(self.path.clone(), |key, part| join(&key, part)))
    }

    pub(in crate::config) fn line(&self) -> usize {
        self.doc.line(self.at.start)
    }

    /// The way to it.
    pub(in crate::config) fn path(&self) -> &str {
        &self.path
    }

    /// What stands there, in words; text is shown.
    pub(in crate::config) fn describe(&self) -> String {
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
    pub(in crate::config) fn wrong<T>(&self, expected: impl Display) -> Option<T> {
        self.refuse(self.describe(), expected)
    }

    /// The same for values that may be secrets: only their type is named.
    pub(in crate::config) fn wrong_unseen<T>(&self, expected: impl Display) -> Option<T> {
        self.refuse(format!("a value that is {}", kind_of(self.value)), expected)
    }

    pub(in crate::config) fn table(&self) -> Option<Table<'a>> {
        match self.value {
            // A header's key is the place that people look at; an inline table or a list's item has only its own.
            DeValue::Table(map) => Some(Table::new(self.doc, self.path.clone(), self.key_at, map)),
            _ => self.wrong(format!("a table, written as [{}]", self.path)),
        }
    }

    pub(in crate::config) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    pub(in crate::config) fn items(&self, expected: &str) -> Option<Vec<Value<'a>>> {
        let DeValue::Array(items) = self.value else { return self.wrong(expected) };
        let item = |(n, value): (usize, &'a Spanned<DeValue<'a>>)| {
            Value::new(self.doc, format!("{}[{n}]", self.path), value.span().start, value)
        };
        Some(items.iter().enumerate().map(item).collect())
    }

    pub(in crate::config) fn raw_text(&self) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text.as_ref()),
            _ => None,
        }
    }

    pub(in crate::config) fn text(&self, expected: &str) -> Option<&'a str> {
        match self.value {
            DeValue::String(text) => Some(text.as_ref()),
            _ => self.wrong(expected),
        }
    }

    pub(in crate::config) fn bool(&self) -> Option<bool> {
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

    /// The same in JSON. Dates and numbers that are none have no place there.
    pub(in crate::config) fn json(&self) -> Option<serde_json::Value> {
        let wrong = || self.wrong("a value that JSON has: text, a number, true or false, a list or a table");
        match self.value {
            DeValue::String(text) => Some(text.as_ref().into()),
            DeValue::Integer(number) => {
                let read = i64::from_str_radix(number.as_str(), number.radix());
                read.map_or_else(|_| wrong(), |number| Some(number.into()))
            }
            DeValue::Float(number) => {
                let read = number.as_str().parse().ok().and_then(serde_json::Number::from_f64);
                read.map_or_else(wrong, |number| Some(number.into()))
            }
            DeValue::Boolean(yes) => Some((*yes).into()),
            DeValue::Datetime(_) => wrong(),
            DeValue::Array(_) => {
                let items = self.items("a list")?;
                items.iter().map(Value::json).collect::<Option<Vec<_>>>().map(Into::into)
            }
            DeValue::Table(_) => {
                let entries = self.table()?.entries();
                let fields = entries.iter().map(|(name, value)| Some(((*name).to_owned(), value.json()?)));
                fields.collect::<Option<serde_json::Map<_, _>>>().map(Into::into)
            }
        }
    }

    /// A whole number in a range; `what` says what it counts.
    pub(in crate::config) fn count<T: TryFrom<u64>>(
        &self,
        range: RangeInclusive<u64>,
        what: &str,
    ) -> Option<T> {
        let good = self.integer().filter(|number| range.contains(number)).and_then(|n| T::try_from(n).ok());
        if good.is_some() {
            return good;
        }
        self.wrong(format!("a whole number from {} to {}: {what}", range.start(), range.end()))
    }

    /// A number in a range; `what` says what it is.
    pub(in crate::config) fn number(&self, range: RangeInclusive<f64>, what: &str) -> Option<f64> {
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
    pub(in crate::config) fn duration(&self) -> Option<Duration> {
        let read = match self.value {
            DeValue::String(text) => units::duration(text),
            DeValue::Integer(_) if self.integer() == Some(0) => Some(Duration::ZERO),
            DeValue::Integer(number) => {
                return self.wrong(format!("a duration with its unit, such as \"{number}s\""));
            }
            _ => None,
        };
        match read {
            Some(long) if long > units::LONGEST => {
                let humantimes_month = "at most 30 days (\"m\" is minutes, \"M\" months)";
                self.wrong(format!("{}, {humantimes_month}", units::DURATION))
            }
            Some(good) => Some(good),
            None => self.wrong(units::DURATION),
        }
    }

    /// A duration that is more than zero.
    pub(in crate::config) fn duration_set(&self) -> Option<Duration> {
        match self.duration()? {
            Duration::ZERO => {
                self.wrong(format!("{}, more than zero: this can't be switched off", units::DURATION))
            }
            some => Some(some),
        }
    }

    /// A duration; zero is "off".
    pub(in crate::config) fn duration_or_off(&self) -> Option<Option<Duration>> {
        Some(Some(self.duration()?).filter(|some| !some.is_zero()))
    }

    fn size(&self) -> Option<u64> {
        let read = match self.value {
            DeValue::String(text) => units::size(text),
            DeValue::Integer(_) => self.integer(),
            _ => None,
        };
        // Signed so that every place it is added to or cast in can hold it.
        match read.filter(|&size| i64::try_from(size).is_ok()) {
            None => self.wrong(units::SIZE),
            some => some,
        }
    }

    /// A size that is more than zero.
    pub(in crate::config) fn size_set(&self) -> Option<u64> {
        match self.size()? {
            0 => self.wrong(format!("{}, more than zero: this bound can't be switched off", units::SIZE)),
            some => Some(some),
        }
    }

    /// A size; zero is "off".
    pub(in crate::config) fn size_or_off(&self) -> Option<Option<u64>> {
        Some(Some(self.size()?).filter(|&some| some > 0))
    }

    /// A rate, per second; zero is good.
    pub(in crate::config) fn rate(&self) -> Option<f64> {
        let read = match self.value {
            DeValue::String(text) => units::rate(text),
            DeValue::Integer(_) if self.integer() == Some(0) => Some(0.0),
            _ => None,
        };
        read.or_else(|| self.wrong(units::RATE))
    }

    /// One of a few words.
    pub(in crate::config) fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
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

//! Which route a model's name takes.

use std::{collections::HashMap, sync::Arc};

/// A name, or a glob in which each `*` stands for any number of any characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern(Arc<str>);

impl Pattern {
    /// A pattern; without a `*` it is an exact name.
    pub fn new(pattern: impl Into<Arc<str>>) -> Self {
        Self(pattern.into())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a name without a `*`.
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// How many characters it fixes: of two patterns that match, the one that fixes more is meant.
    fn weight(&self) -> usize {
        self.0.chars().filter(|c| *c != '*').count()
    }

    /// Whether `name` matches.
    pub fn matches(&self, name: &str) -> bool {
        let mut pieces = self.0.split('*');
        let Some(rest) = pieces.next().and_then(|first| name.strip_prefix(first)) else { return false };
        let pieces: Vec<_> = pieces.collect();
        let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
        let mut rest = rest;
        for piece in middle {
            match rest.find(piece) {
                Some(at) => rest = rest.get(at + piece.len()..).unwrap_or_default(),
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

/// A table from names and patterns to routes: an exact name beats every pattern, a longer pattern a shorter one,
/// whatever their order; of two of the same length the first one wins.
#[derive(Clone, Debug)]
pub struct Table<R> {
    exact: HashMap<Arc<str>, R>,
    patterns: Vec<(Pattern, R)>,
}

impl<R> Default for Table<R> {
    fn default() -> Self {
        Self { exact: HashMap::new(), patterns: Vec::new() }
    }
}

impl<R> Table<R> {
    /// Adds a route. An exact name that is there already keeps its first route.
    pub fn insert(&mut self, pattern: Pattern, route: R) {
        if pattern.is_exact() {
            self.exact.entry(pattern.0).or_insert(route);
            return;
        }
        let at = self.patterns.partition_point(|(other, _)| other.weight() >= pattern.weight());
        self.patterns.insert(at, (pattern, route));
    }

    /// The route of `name`.
    pub fn get(&self, name: &str) -> Option<&R> {
        self.exact.get(name).or_else(|| {
            self.patterns.iter().find(|(pattern, _)| pattern.matches(name)).map(|(_, route)| route)
        })
    }

    /// The exact names, sorted.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<_> = self.exact.keys().map(|name| &**name).collect();
        names.sort_unstable();
        names
    }

    /// The patterns, the longest first.
    pub fn patterns(&self) -> impl Iterator<Item = &str> {
        self.patterns.iter().map(|(pattern, _)| pattern.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_number_of_characters() {
        for (pattern, yes, no) in [
            ("*", vec!["", "a", "a/b"], vec![]),
            ("gpt-*", vec!["gpt-", "gpt-4"], vec!["gpt", "xgpt-4"]),
            ("*-mini", vec!["-mini", "gpt-mini"], vec!["gpt-mini-2"]),
            ("a*b*c", vec!["abc", "aXbYc", "abbc"], vec!["ac", "acb"]),
            ("a*a", vec!["aa", "aba"], vec!["a"]),
            ("o", vec!["o"], vec!["oo", ""]),
        ] {
            let pattern = Pattern::new(pattern);
            assert!(yes.iter().all(|name| pattern.matches(name)), "{pattern:?}");
            assert!(!no.iter().any(|name| pattern.matches(name)), "{pattern:?}");
        }
    }

    #[test]
    fn exact_beats_pattern_and_longer_beats_shorter_in_any_order() {
        let mut table = Table::default();
        for name in ["gpt-*", "*", "gpt-4-*", "gpt-4"] {
            table.insert(Pattern::new(name), name);
        }
        for (name, route) in [("gpt-4", "gpt-4"), ("gpt-4-x", "gpt-4-*"), ("gpt-1", "gpt-*"), ("claude", "*")]
        {
            assert_eq!(table.get(name), Some(&route));
        }
    }
}

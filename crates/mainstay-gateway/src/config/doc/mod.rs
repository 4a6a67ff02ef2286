//! Walking a parsed file so that every refusal knows its line, its key and what was expected.
//!
//! Serde would stop at the first problem and lose the place of those that come after it has finished (an unknown
//! provider, a missing variable). Here the file is a tree of spans; a section asks its [`Table`] for the keys it
//! knows, and what nobody asked for is unknown. So the list of keys can't drift from the code that reads them.

mod table;
mod value;
mod words;

use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

pub(super) use self::table::Table;
pub(super) use self::value::Value;
pub(super) use self::words::{any_of, offer, shown};
use self::words::{join, place};
use super::problem::{Problem, Warning};

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
        Table::new(self, String::new(), 0, self.root)
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
        locate(self.root, 0, path)
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

/// Where a key below `table`, which stands at `at`, is, or the last of its parents that is written.
fn locate(mut table: &DeTable<'_>, mut at: usize, path: &[&str]) -> usize {
    for part in path {
        let Some((key, value)) = table.get_key_value(*part) else { break };
        at = key.span().start;
        let Some(next) = value.get_ref().as_table() else { break };
        table = next;
    }
    at
}

//! The form of a case, and of a file of them.

use super::Expect;
use crate::client::Request;
use mainstay_testkit::Step;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::{Value, value::RawValue};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// One case. See `cases/README.md`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Case {
    /// A stable name.
    pub id: String,
    /// One line in words: what must hold.
    pub title: String,
    /// Where the fault was seen.
    pub source: String,
    /// What the case waits for; it is skipped while this is set.
    pub waits_for: Option<String>,
    /// The gateway's configuration as JSON.
    pub config: Value,
    /// The configuration as text instead, for what JSON cannot say.
    pub config_text: Option<String>,
    /// More environment of the gateway.
    pub env: BTreeMap<String, String>,
    /// The gateway's `RUST_LOG`; `debug` unless given.
    pub log: Option<String>,
    /// Whether the gateway must start.
    pub start: Start,
    /// The steps of each provider.
    pub upstreams: BTreeMap<String, Vec<Step>>,
    /// What the client does, in order.
    #[serde(deserialize_with = "one_or_many")]
    pub client: Vec<Request>,
    /// What must be seen.
    pub expect: Expect,
    /// Wait before the providers are looked at.
    pub settle_ms: u64,
}

/// Whether the gateway must start.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum Start {
    /// It must.
    #[default]
    Ok,
    /// It must refuse the configuration: end with a code that is not 0.
    Fails,
}

// Not an untagged enum: that would parse bodies, and lose the bytes in which the case has them.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Request>, D::Error> {
    let raw = Box::<RawValue>::deserialize(from)?;
    let many = raw.get().starts_with('[');
    let parsed = if many {
        serde_json::from_str(raw.get())
    } else {
        serde_json::from_str(raw.get()).map(|one| vec![one])
    };
    parsed.map_err(D::Error::custom)
}

/// The cases of the files, in order: one a line; empty lines and lines that begin with `#` are none.
///
/// # Errors
/// Text that names the file and the line: a file that cannot be read, a line that is no case, an id that is taken.
pub fn load<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Vec<Case>, String> {
    let (mut cases, mut seen) = (Vec::new(), BTreeSet::new());
    for file in files {
        let file = file.as_ref();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        for (number, line) in text.split('\n').enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let at = |what: &dyn std::fmt::Display| format!("{}:{}: {what}", file.display(), number + 1);
            let case: Case = serde_json::from_str(line).map_err(|error| at(&error))?;
            if case.id.is_empty() || !seen.insert(case.id.clone()) {
                return Err(at(&format!("the id {:?} is taken or empty", case.id)));
            }
            cases.push(case);
        }
    }
    Ok(cases)
}

//! The headers of a step.

use serde::{Deserialize, Serialize};

/// The values of one header name in a step.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(untagged)]
pub enum HeaderValues {
    /// The header is not sent, not even where it would be by default.
    None,
    /// One value.
    One(String),
    /// One line for each.
    Many(Vec<String>),
}

impl HeaderValues {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let all: &[String] = match self {
            Self::None => &[],
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        };
        all.iter().map(String::as_str)
    }
}

impl From<&str> for HeaderValues {
    fn from(value: &str) -> Self {
        Self::One(value.to_owned())
    }
}

impl From<String> for HeaderValues {
    fn from(value: String) -> Self {
        Self::One(value)
    }
}

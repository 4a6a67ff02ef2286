//! The error of a call that a target cannot take.

use std::fmt;

/// A call cannot be written in the dialect of the target. Nothing was sent.
///
/// Another target may take it: its verdict is [`Class::Rejected`](mainstay_layers::classify::Class::Rejected), which
/// falls back and is no vote.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Untranslatable {
    /// The gateway's word for it: `invalid_request`, or `unsupported_by_target` where the target has no such endpoint.
    pub code: &'static str,
    /// The field of the caller's request that is at fault.
    pub param: Option<Box<str>>,
    /// What is wrong, with the target's name.
    pub message: Box<str>,
}

impl Untranslatable {
    /// The target has nothing like the endpoint that the call wants.
    pub(super) fn unsupported(target: &str) -> Self {
        Self {
            code: "unsupported_by_target",
            param: None,
            message: format!("the target {target} does not have this endpoint").into(),
        }
    }

    /// A field that cannot be carried to `target`, or that is not what it must be.
    pub(super) fn refused(target: &str, refused: Refused) -> Self {
        let Refused { mut param, what } = refused;
        clip(&mut param);
        let named = if param.is_empty() { "the request" } else { &*param };
        let message = match what {
            What::Lost(None) => format!("the target {target} has nothing like {named}"),
            What::Lost(Some(why)) => format!("the target {target} cannot take {named}: {why}"),
            What::Wrong(why) => {
                format!("{named} {why}, and so it cannot be written for the target {target}")
            }
        };
        let param = (!param.is_empty()).then(|| param.into_boxed_str());
        Self { code: "invalid_request", param, message: message.into() }
    }
}

/// Names of fields are the caller's: long ones are cut.
fn clip(param: &mut String) {
    const LONGEST: usize = 200;
    if let Some((at, _)) = param.char_indices().nth(LONGEST) {
        param.truncate(at);
    }
}

impl fmt::Display for Untranslatable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Untranslatable {}

/// Why a request is not translated, before the target's name is put to it.
#[derive(Debug)]
pub(super) struct Refused {
    param: String,
    what: What,
}

#[derive(Debug)]
enum What {
    /// The target's dialect has no place for it.
    Lost(Option<&'static str>),
    /// It is not what it must be.
    Wrong(String),
}

impl Refused {
    /// A field of a wrong type or value.
    pub(super) fn wrong(param: impl Into<String>, what: impl Into<String>) -> Self {
        Self { param: param.into(), what: What::Wrong(what.into()) }
    }
}

/// What the target's dialect has no place for: refused where `strict`, else dropped and listed.
#[derive(Debug)]
pub(super) struct Losses {
    strict: bool,
    pub(super) dropped: Vec<String>,
}

/// More dropped fields than this are not listed by name.
const MAX_LISTED: usize = 32;

impl Losses {
    pub(super) fn new(strict: bool) -> Self {
        Self { strict, dropped: Vec::new() }
    }

    /// `param` has no place in the target's dialect.
    pub(super) fn lose(&mut self, param: impl Into<String>) -> Result<(), Refused> {
        self.give_up(param.into(), None)
    }

    /// The same with a reason.
    pub(super) fn because(&mut self, param: impl Into<String>, why: &'static str) -> Result<(), Refused> {
        self.give_up(param.into(), Some(why))
    }

    fn give_up(&mut self, param: String, why: Option<&'static str>) -> Result<(), Refused> {
        if self.strict {
            return Err(Refused { param, what: What::Lost(why) });
        }
        // They go into a header.
        let mut param: String = param.chars().filter(char::is_ascii_graphic).collect();
        clip(&mut param);
        if self.dropped.len() < MAX_LISTED && !self.dropped.contains(&param) {
            self.dropped.push(param);
        }
        Ok(())
    }
}

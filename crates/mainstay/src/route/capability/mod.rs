//! What a model can do, as its operator declares it, and what a call asks of one.
//!
//! A provider that lacks a feature often does not say so: it ignores the tools, answers without having seen the picture,
//! or begins anew where it was to go on. A target whose [`Capabilities`] rule a call out is passed by like one that is
//! open, with the class `unsupported` in the list of attempts. If that holds for all of a route, the call fails with
//! [`Incapable`] and the status 400. What is not declared is not known, and is asked.
//!
//! Read only where a target declares something; other calls pay nothing for it.

mod needs;
#[cfg(test)]
mod tests;
mod tokens;

pub(super) use self::needs::Needs;

use super::attempt::TargetName;
use std::fmt;

/// What the model of a target can do. `None`: not known, and so allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Capabilities {
    /// The most tokens that question and answer may have together. The tokens of a call are not counted but bounded from
    /// below, at one for 16 bytes of text (pictures, base64 and runs of one character count nothing), since no tokenizer
    /// makes fewer: a call that could fit is never ruled out, and one that does not fit may be asked all the same; the
    /// provider's refusal goes to the next target then. Without effect on calls whose provider shortens them
    /// (`truncation`, `transforms`).
    pub context: Option<u64>,
    /// Takes tools, or functions.
    pub tools: Option<bool>,
    /// Takes pictures.
    pub vision: Option<bool>,
    /// Answers by a JSON schema.
    pub json_schema: Option<bool>,
    /// Goes on with a message of the assistant's that the question ends in. `Some(false)` also has a cut stream asked for
    /// from the start, instead of its rest; see [`Prefill`](super::Prefill).
    pub prefill: Option<bool>,
}

impl Capabilities {
    /// Nothing is known.
    pub const fn new() -> Self {
        Self { context: None, tools: None, vision: None, json_schema: None, prefill: None }
    }

    /// Sets [`context`](Self::context), in tokens.
    #[must_use]
    pub const fn with_context(mut self, tokens: u64) -> Self {
        self.context = Some(tokens);
        self
    }

    /// Sets [`tools`](Self::tools).
    #[must_use]
    pub const fn with_tools(mut self, takes: bool) -> Self {
        self.tools = Some(takes);
        self
    }

    /// Sets [`vision`](Self::vision).
    #[must_use]
    pub const fn with_vision(mut self, takes: bool) -> Self {
        self.vision = Some(takes);
        self
    }

    /// Sets [`json_schema`](Self::json_schema).
    #[must_use]
    pub const fn with_json_schema(mut self, takes: bool) -> Self {
        self.json_schema = Some(takes);
        self
    }

    /// Sets [`prefill`](Self::prefill).
    #[must_use]
    pub const fn with_prefill(mut self, takes: bool) -> Self {
        self.prefill = Some(takes);
        self
    }

    /// These, and what `others` know where these do not: a model's over those of all models of its provider.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            context: self.context.or(others.context),
            tools: self.tools.or(others.tools),
            vision: self.vision.or(others.vision),
            json_schema: self.json_schema.or(others.json_schema),
            prefill: self.prefill.or(others.prefill),
        }
    }

    /// Whether anything is ruled out.
    pub fn is_limited(&self) -> bool {
        let no = Some(false);
        self.context.is_some() || [self.tools, self.vision, self.json_schema, self.prefill].contains(&no)
    }

    /// What a call asks for that is not there.
    pub(super) fn lack(&self, needs: &Needs) -> Option<Lack> {
        let asked = [
            (self.tools, needs.tools, Capability::Tools),
            (self.vision, needs.vision, Capability::Vision),
            (self.json_schema, needs.json_schema, Capability::JsonSchema),
            (self.prefill, needs.prefill, Capability::Prefill),
        ];
        for (has, asks, what) in asked {
            if let (Some(false), Some(param)) = (has, asks) {
                return Some(Lack { what, param, tokens: None });
            }
        }
        let (context, (tokens, param)) = (self.context?, needs.tokens?);
        let what = Capability::Context;
        (tokens > context).then_some(Lack { what, param, tokens: Some((tokens, context)) })
    }
}

/// What is declared, in words: `context 128000, tools, no vision`.
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        if let Some(tokens) = self.context {
            write!(f, "context {tokens}")?;
            between = ", ";
        }
        let yes_or_no = [
            (self.tools, Capability::Tools),
            (self.vision, Capability::Vision),
            (self.json_schema, Capability::JsonSchema),
            (self.prefill, Capability::Prefill),
        ];
        for (has, what) in yes_or_no {
            let Some(has) = has else { continue };
            write!(f, "{between}{}{what}", if has { "" } else { "no " })?;
            between = ", ";
        }
        Ok(())
    }
}

/// Something that a model can or cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// A question of this length.
    Context,
    /// Tools, or functions.
    Tools,
    /// Pictures.
    Vision,
    /// Answers by a JSON schema.
    JsonSchema,
    /// Going on with a message of the assistant's.
    Prefill,
}

impl Capability {
    /// Its name in snake_case, as it is configured.
    pub const fn as_str(self) -> &'static str {
        match self {
            Capability::Context => "context",
            Capability::Tools => "tools",
            Capability::Vision => "vision",
            Capability::JsonSchema => "json_schema",
            Capability::Prefill => "prefill",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a call asks of a target that does not have it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lack {
    what: Capability,
    param: &'static str,
    /// How many there are at least, and how many may be.
    tokens: Option<(u64, u64)>,
}

/// A call asks for what a target declares not to have. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Incapable {
    /// What is not there.
    pub capability: Capability,
    /// The field of the caller's request that asks for it.
    pub param: &'static str,
    message: Box<str>,
}

impl Incapable {
    pub(super) fn new(target: &TargetName, lack: Lack) -> Self {
        let Lack { what, param, tokens } = lack;
        let message = match (what, tokens) {
            (_, Some((at_least, most))) => format!(
                "the target {target} takes {most} tokens (capabilities.context), and {param} has at least {at_least}"
            ),
            (Capability::Tools, _) => format!("the target {target} takes no tools (capabilities.tools)"),
            (Capability::Vision, _) => format!("the target {target} takes no pictures (capabilities.vision)"),
            (Capability::JsonSchema, _) => {
                format!("the target {target} does not answer by a JSON schema (capabilities.json_schema)")
            }
            (_, _) => format!(
                "the target {target} does not go on with a message of the assistant's (capabilities.prefill)"
            ),
        };
        Self { capability: what, param, message: message.into() }
    }

    /// The gateway's word for it.
    pub(super) const fn code(&self) -> &'static str {
        match self.capability {
            Capability::Context => "context_length_exceeded",
            _ => "unsupported_by_target",
        }
    }
}

impl fmt::Display for Incapable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Incapable {}

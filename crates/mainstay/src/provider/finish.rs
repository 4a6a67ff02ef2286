//! Reasons for the end of an answer that mean more than an end.

use super::Kind;
use mainstay_layers::classify::{Class, Verdict, Vote};

/// What the reason for the end of an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finish {
    /// The answer is whole, or as long as it was allowed to be.
    Whole,
    /// A filter or the model itself ended it: an answer, and a reason for one to be empty.
    Filtered,
    /// The model wrote something that cannot be used, such as a call that is none: worth one more try, no vote.
    Flaked,
    /// The provider failed, and that failure is of this class.
    Failed(Class),
}

impl Finish {
    /// The verdict on an answer that ended so; `None`: it is an answer.
    ///
    /// `empty`: it holds no text, no tool call and no reasoning.
    pub fn verdict(self, empty: bool) -> Option<Verdict> {
        match self {
            Finish::Whole => None,
            Finish::Filtered => empty.then(|| Verdict::new(Class::ContentPolicy)),
            Finish::Flaked => empty.then(|| Verdict::new(Class::Malformed).with_vote(Some(Vote::Neutral))),
            Finish::Failed(class) => Some(Verdict::new(class)),
        }
    }
}

/// One line of a table of reasons.
#[derive(Clone, Copy, Debug)]
pub struct FinishRule {
    reasons: &'static [&'static str],
    finish: Finish,
}

impl FinishRule {
    pub(super) const fn new(reasons: &'static [&'static str], finish: Finish) -> Self {
        Self { reasons, finish }
    }
}

/// What providers have in common.
#[rustfmt::skip]
const COMMON: &[FinishRule] = &[
    // OpenAI and Azure; Anthropic; OpenRouter.
    FinishRule::new(&["content_filter", "refusal"], Finish::Filtered),
    FinishRule::new(&["error"], Finish::Failed(Class::ServerError)),
    // DeepSeek's model is served elsewhere too.
    FinishRule::new(&["insufficient_system_resource"], Finish::Failed(Class::Overloaded)),
    // Bedrock.
    FinishRule::new(&["guardrail_intervened", "content_filtered"], Finish::Filtered),
    FinishRule::new(&["malformed_model_output", "malformed_tool_use"], Finish::Flaked),
];

/// What `reason` (`finish_reason`, `stop_reason`, `finishReason`, `done_reason`) means at a provider of this kind.
/// Reasons that are not known are ends.
///
/// ```
/// use mainstay::provider::{Finish, Kind, finish};
///
/// assert_eq!(finish(Kind::OpenAi, "length"), Finish::Whole);
/// assert_eq!(finish(Kind::Gemini, "RECITATION"), Finish::Filtered);
/// ```
pub fn finish(kind: Kind, reason: &str) -> Finish {
    let rules = kind.profile().finishes.iter().chain(COMMON);
    rules.into_iter().find(|rule| rule.reasons.contains(&reason)).map_or(Finish::Whole, |rule| rule.finish)
}

/// The verdict on a prompt that Gemini refused: `promptFeedback.blockReason` and no candidate.
pub fn blocked(reason: &str) -> Verdict {
    Verdict::new(Class::ContentPolicy).with_code(Some(super::error_body::clip(reason, 64)))
}

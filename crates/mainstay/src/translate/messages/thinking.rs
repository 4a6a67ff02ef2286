//! How Claude is asked to think, on Anthropic's own API and on Bedrock's, and what cannot be asked beside it.

use crate::translate::{
    error::{Losses, Refused},
    form::{Choice, Effort, Number, Part, Reasoning, Request, Turn},
    out::Out,
};

/// How a wish to think is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::translate) enum Thinking {
    Silent,
    Budget(u64),
    Effort(Option<&'static str>),
}

impl Thinking {
    /// The field `thinking`.
    pub(in crate::translate) fn write(self, out: &mut Out) {
        match self {
            Thinking::Silent => {}
            Thinking::Budget(budget) => {
                out.key("thinking").open('{').field_str("type", "enabled");
                out.field_number("budget_tokens", budget).close('}');
            }
            Thinking::Effort(_) => {
                out.key("thinking").open('{').field_str("type", "adaptive").close('}');
            }
        }
    }

    /// The word that goes into `output_config.effort`.
    pub(in crate::translate) fn effort(self) -> Option<&'static str> {
        if let Thinking::Effort(effort) = self { effort } else { None }
    }

    /// What a request comes to for `model`, whose answer may have `max_tokens`.
    pub(in crate::translate) fn of(request: &Request<'_>, model: &str, max_tokens: u64) -> Self {
        // A tool that must be called is called without a thought: the two are refused together.
        let forced = matches!(
            request.choice,
            Some(Choice::Any | Choice::Tool(_) | Choice::Among { must: true, .. }) if !request.tools.is_empty()
        );
        if forced {
            return Thinking::Silent;
        }
        let reasoning: Reasoning = request.reasoning;
        let effort = match (reasoning.effort, reasoning.budget) {
            (Some(Effort::None), _) | (None, Some(0)) => return Thinking::Silent,
            (None, None) if reasoning.adaptive => None,
            (None, None) => return Thinking::Silent,
            (Some(effort), _) => Some(effort),
            (None, Some(budget)) => Some(Effort::of_budget(budget)),
        };
        if by_budget(model) && awaits_thought(&request.turns) {
            return Thinking::Silent;
        }
        if by_budget(model) {
            // At least 1024, and less than what the whole answer may have; half of that must be left for words.
            let wish = reasoning.budget.or(effort.map(Effort::budget)).unwrap_or(8192);
            return match wish.min(max_tokens / 2) {
                budget @ 1024.. => Thinking::Budget(budget),
                _ if max_tokens > 1024 => Thinking::Budget(1024),
                _ => Thinking::Silent,
            };
        }
        Thinking::Effort(effort.map(|effort| match effort {
            Effort::None | Effort::Minimal | Effort::Low => "low",
            Effort::Medium => "medium",
            Effort::High => "high",
            Effort::XHigh => "xhigh",
            Effort::Max => "max",
        }))
    }
}

/// Whether the last turn holds results of calls that were made after thoughts, if after any: those did not survive the
/// caller's dialect. Models that are told a budget refuse such a call when it begins with no thinking block.
fn awaits_thought(turns: &[Turn<'_>]) -> bool {
    turns.last().is_some_and(|turn| turn.parts.iter().any(|part| matches!(part, Part::Result(_))))
}

/// Whether the model is of those that are told a budget of tokens and know no effort: up to Claude 4.5.
fn by_budget(model: &str) -> bool {
    let model = model.rsplit('/').next().unwrap_or(model);
    let old = ["-4-0", "-4-1", "-4-5", "-4-2025", "-4.0", "-4.1", "-4.5", "-3-7", "-3.7"];
    model.contains("claude-3") || old.iter().any(|version| model.contains(version))
}

/// What a request says of sampling, as far as it can stand beside its thinking.
#[derive(Clone, Copy, Debug)]
pub(in crate::translate) struct Sampling<'a> {
    pub(in crate::translate) temperature: Option<Number<'a>>,
    pub(in crate::translate) top_p: Option<Number<'a>>,
    pub(in crate::translate) top_k: Option<Number<'a>>,
}

impl<'a> Sampling<'a> {
    /// Gives up what cannot. Anthropic's page on thinking: no temperature, no top_k, and a top_p of 0.95 at least.
    pub(in crate::translate) fn beside(
        thinking: Thinking,
        request: &Request<'a>,
        losses: &mut Losses,
    ) -> Result<Self, Refused> {
        let Request { temperature, top_p, top_k, .. } = *request;
        if thinking == Thinking::Silent {
            return Ok(Self { temperature, top_p, top_k });
        }
        if let Some(temperature) = temperature.filter(|temperature| temperature.value() != 1.0) {
            losses.because(temperature.name, "it takes none but 1 where it is to think")?;
        }
        if let Some(top_p) = top_p.filter(|top_p| top_p.value() < 0.95) {
            losses.because(top_p.name, "it takes 0.95 at least where it is to think")?;
        }
        if let Some(top_k) = top_k {
            losses.because(top_k.name, "it takes none where it is to think")?;
        }
        Ok(Self {
            temperature: temperature.filter(|temperature| temperature.value() == 1.0),
            top_p: top_p.filter(|top_p| top_p.value() >= 0.95),
            top_k: None,
        })
    }
}

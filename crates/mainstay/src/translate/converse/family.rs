//! What only one family of Bedrock's models knows.

use crate::translate::{
    error::{Losses, Refused},
    form::{Effort, Request},
    messages::{Sampling, Thinking},
    out::Out,
    parts::write_numbers,
};

/// Whose model it is, as far as its name tells. That of an application's own profile does not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Anthropic,
    OpenAi,
    Nova,
    Other,
}

impl Family {
    pub(super) fn of(model: &str) -> Self {
        match model {
            _ if model.contains("anthropic.") || model.contains("claude") => Family::Anthropic,
            _ if model.contains("openai.") || model.contains("gpt-oss") => Family::OpenAi,
            _ if model.contains("amazon.nova") => Family::Nova,
            _ => Family::Other,
        }
    }

    /// Whether its models take marks for a cache; others refuse them.
    pub(super) fn has_cache(self) -> bool {
        matches!(self, Family::Anthropic | Family::Nova)
    }
}

/// What only one family of models knows, by its own names.
pub(super) fn write_additional(
    request: &Request<'_>,
    family: Family,
    thinking: Thinking,
    sampling: Sampling<'_>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    if let Some(top_k) = sampling.top_k.filter(|_| matches!(family, Family::OpenAi | Family::Other)) {
        losses.lose(top_k.name)?;
    }
    let top_k = sampling.top_k.filter(|_| matches!(family, Family::Anthropic | Family::Nova));
    let effort = request.reasoning.effort.or(request.reasoning.budget.map(Effort::of_budget));
    let word = effort.and_then(|effort| match effort {
        Effort::None => None,
        Effort::Minimal | Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High | Effort::XHigh | Effort::Max => Some("high"),
    });
    let word = word.filter(|_| matches!(family, Family::OpenAi | Family::Nova));
    if top_k.is_none() && thinking == Thinking::Silent && word.is_none() {
        return Ok(());
    }
    out.key("additionalModelRequestFields").open('{');
    match family {
        Family::Anthropic => {
            write_numbers([("top_k", top_k)], out);
            thinking.write(out);
            if let Some(effort) = thinking.effort() {
                out.key("output_config").open('{').field_str("effort", effort).close('}');
            }
        }
        Family::Nova => {
            if let Some(top_k) = top_k {
                out.key("inferenceConfig").open('{').field_raw("topK", top_k.digits).close('}');
            }
            if let Some(word) = word {
                out.key("reasoningConfig").open('{').field_str("type", "enabled");
                out.field_str("maxReasoningEffort", word).close('}');
            }
        }
        Family::OpenAi | Family::Other => {
            if let Some(word) = word {
                out.field_str("reasoning_effort", word);
            }
        }
    }
    out.close('}');
    Ok(())
}

//! The `generationConfig` of a request of `generateContent`.

use super::schema::{camel, json_schema};
use crate::translate::{
    error::Refused,
    fields,
    form::{Effort, Format, Number, Request},
    json::Json,
};
use std::borrow::Cow;

pub(super) fn read_config<'a>(config: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    let (mut media, mut schema) = (None, None);
    for (name, value) in config.fields() {
        let name = camel(&name);
        match &*name {
            _ if value.is_null() => {}
            "maxOutputTokens" => {
                request.max_tokens = fields::count("generationConfig.maxOutputTokens", value)?;
            }
            "temperature" => request.temperature = Number::read("generationConfig.temperature", value)?,
            "topP" => request.top_p = Number::read("generationConfig.topP", value)?,
            "topK" => request.top_k = Number::read("generationConfig.topK", value)?,
            "seed" => request.seed = Number::read("generationConfig.seed", value)?,
            "frequencyPenalty" => {
                request.frequency_penalty = Number::read("generationConfig.frequencyPenalty", value)?;
            }
            "presencePenalty" => {
                request.presence_penalty = Number::read("generationConfig.presencePenalty", value)?;
            }
            "candidateCount" => {
                let count = Number::read("generationConfig.candidateCount", value)?;
                request.n = count.filter(|count| count.value() != 1.0);
            }
            "stopSequences" => {
                for stop in fields::list(request.stop_name, value)? {
                    request.stop.push(fields::text(request.stop_name, stop)?);
                }
            }
            "responseMimeType" => media = value.text(),
            "responseSchema" => {
                const PARAM: &str = "generationConfig.responseSchema";
                schema = Some((PARAM, Cow::Owned(json_schema(fields::object(PARAM, value)?))));
            }
            "responseJsonSchema" => {
                const PARAM: &str = "generationConfig.responseJsonSchema";
                schema = Some((PARAM, Cow::Borrowed(fields::object(PARAM, value)?.raw())));
            }
            "thinkingConfig" => read_thinking(value, request)?,
            "responseModalities"
                if value.each().all(|modality| modality.is("TEXT") || modality.is("Text")) => {}
            "responseLogprobs" if value.as_bool() == Some(false) => {}
            "mediaResolution" => {}
            other => request.lost(format!("generationConfig.{other}")),
        }
    }
    request.format = match (media.as_deref(), schema) {
        (_, Some((param, schema))) => {
            Some(Format::Schema { param, name: None, description: None, schema, strict: None })
        }
        (Some("application/json"), None) => Some(Format::Json { param: "generationConfig.responseMimeType" }),
        (None | Some("text/plain"), None) => None,
        (Some(_), None) => {
            request.lost("generationConfig.responseMimeType".to_owned());
            None
        }
    };
    Ok(())
}

fn read_thinking<'a>(thinking: Json<'a>, request: &mut Request<'a>) -> Result<(), Refused> {
    const BUDGET: &str = "generationConfig.thinkingConfig.thinkingBudget";
    for (name, value) in thinking.fields() {
        match &*camel(&name) {
            _ if value.is_null() => {}
            "thinkingBudget" if value.number() == Some("-1") => request.reasoning.adaptive = true,
            "thinkingBudget" => request.reasoning.budget = fields::count(BUDGET, value)?,
            "thinkingLevel" => {
                let level = value.text().unwrap_or_default().to_ascii_lowercase();
                request.reasoning.effort = Effort::read(&level);
            }
            "includeThoughts" => request.reasoning.shown = value.as_bool() == Some(true),
            other => request.lost(format!("generationConfig.thinkingConfig.{other}")),
        }
    }
    Ok(())
}

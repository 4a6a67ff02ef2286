//! Gemini's streams of events: each is a whole response with a piece of the answer, the last one has the reason for its end.

use super::{
    super::fields::{Fields, is_filled},
    heard::{Heard, sum},
    seam::{Out, Seam},
    text::Differs,
};
use serde_json::{Value, json};

/// Why a call is not continued whatever its answer is, if it is not.
pub(super) fn obstacle(request: &Fields<'_>) -> Option<&'static str> {
    // Its SDK for Python mixes the two ways of writing.
    let config = request.object("generationConfig").or_else(|| request.object("generation_config"))?;
    let either =
        |camel: &str, snake: &str| config.raw(camel).or_else(|| config.raw(snake)).map(str::to_owned);
    let candidates = either("candidateCount", "candidate_count").and_then(|count| count.parse::<u64>().ok());
    let kind = either("responseMimeType", "response_mime_type");
    let modes = either("responseModalities", "response_modalities").map(|modes| modes.to_ascii_uppercase());
    if candidates.is_some_and(|count| count > 1) {
        Some("the call asks for several candidates")
    } else if kind.is_some_and(|kind| is_filled(&kind) && kind != "\"text/plain\"") {
        Some("the call asks for JSON")
    } else if modes.is_some_and(|modes| modes.contains("IMAGE") || modes.contains("AUDIO")) {
        Some("the call asks for more than text")
    } else {
        None
    }
}

/// A partial answer as the last of a request's contents.
pub(super) fn said(text: &str) -> String {
    json!({"role": "model", "parts": [{"text": text}]}).to_string()
}

/// The parts of a Gemini content.
fn parts<'a>(content: Option<&'a Fields<'_>>) -> Vec<Fields<'a>> {
    content.and_then(|content| content.read("parts")).unwrap_or_default()
}

/// Whether a part of Gemini's is reasoning.
fn is_thought(part: &Fields<'_>) -> bool {
    part.raw("thought") == Some("true")
}

impl Heard {
    /// An event of Gemini's has been handed on.
    pub(super) fn note_gemini(&mut self, fields: &Fields<'_>) {
        if self.id.is_none() {
            self.id = fields.read("responseId");
        }
        self.add_usage(fields, "usageMetadata");
        for (at, candidate) in
            fields.read::<Vec<Fields<'_>>>("candidates").unwrap_or_default().iter().enumerate()
        {
            if at > 0 || candidate.read::<u64>("index").unwrap_or(0) > 0 {
                self.obstacle = Some("the answer has several candidates");
            }
            self.finished |= candidate.raw("finishReason").is_some_and(is_filled);
            for part in parts(candidate.object("content").as_ref()) {
                match part.raw("text") {
                    Some(_) if is_thought(&part) => self.thinking |= self.text.is_empty(),
                    Some(_) => self.add_text(&part.text("text")),
                    None if part.raw("functionCall").is_some() => {
                        self.obstacle = Some("the answer calls tools")
                    }
                    // A signature alone says nothing.
                    None if part.iter().all(|(key, _)| key == "thoughtSignature") => {}
                    None => self.obstacle = Some("the answer is more than text"),
                }
            }
        }
    }
}

impl Seam {
    /// Takes one event of a continuation in Gemini's API: its candidate without what the caller has, its tokens with those
    /// of the reply before.
    pub(super) fn gemini(&mut self, mut fields: Fields<'_>, out: &mut Out<'_>) -> Result<(), Differs> {
        let written = fields.raw("candidates").unwrap_or("[]").to_owned();
        let candidates: Vec<Fields<'_>> = serde_json::from_str(&written).unwrap_or_default();
        let first = candidates.into_iter().find(|one| one.read::<u64>("index").unwrap_or(0) == 0);
        let mut says = first.is_none();
        if let Some(mut candidate) = first {
            let finishes = candidate.raw("finishReason").is_some_and(is_filled);
            let content = candidate.raw("content").unwrap_or("{}").to_owned();
            let mut content = Fields::parse(content.as_bytes()).unwrap_or_default();
            let mut kept = Vec::new();
            for part in parts(Some(&content)) {
                let text = match part.raw("text") {
                    Some(_) if is_thought(&part) => continue,
                    Some(_) => self.splice.take(&out.heard.text, &part.text("text"))?,
                    None if self.splice.is_repeating(&out.heard.text) => return Err(Differs),
                    None => {
                        let held = self.splice.finish(&out.heard.text)?;
                        kept.extend((!held.is_empty()).then(|| json!({"text": held})));
                        kept.extend(serde_json::from_str(&part.to_string()));
                        continue;
                    }
                };
                kept.extend((!text.is_empty()).then(|| json!({"text": text})));
            }
            if finishes {
                let held = self.splice.finish(&out.heard.text)?;
                kept.extend((!held.is_empty()).then(|| json!({"text": held})));
            }
            says |= finishes || !kept.is_empty();
            content.set("parts", &kept);
            candidate.set("content", &content);
            fields.set("candidates", &[candidate]);
        }
        if let Some(usage) = fields.read::<Value>("usageMetadata").filter(Value::is_object) {
            fields.set("usageMetadata", &sum(&self.before, &usage));
        }
        if says {
            if let Some(id) = &out.heard.id {
                fields.set("responseId", id);
            }
            out.emit(b"", &fields);
        }
        Ok(())
    }
}

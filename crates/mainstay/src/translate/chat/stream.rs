//! Writing a stream of `/v1/chat/completions`.

use super::answer::{reason, write_annotations, write_tokens};
use crate::{
    dialect::Finish,
    translate::{
        citation::Citation,
        event::{Event, Tokens, conclude, id_with, now},
        form::Wishes,
        out::Out,
    },
};

/// Writes chunks.
#[derive(Debug)]
pub(in crate::translate) struct Stream {
    wishes: Wishes,
    /// What every chunk begins with, up to its choices. Empty until the answer has begun.
    head: String,
    /// The tool calls, and whether any of their arguments have been told.
    calls: Vec<(u64, bool)>,
    /// The sources, which are told at once: of SDKs that put the chunks together, some keep the last list of them only, and
    /// some take no second one.
    citations: Vec<Citation<'static>>,
    refused: bool,
    finish: Option<Finish>,
    tokens: Tokens,
    ended: bool,
}

impl Stream {
    pub(in crate::translate) fn new(wishes: Wishes) -> Self {
        Self {
            wishes,
            head: String::new(),
            calls: Vec::new(),
            citations: Vec::new(),
            refused: false,
            finish: None,
            tokens: Tokens::default(),
            ended: false,
        }
    }

    pub(in crate::translate) fn write(
        &mut self,
        event: Event<'_>,
        out: &mut Out,
    ) -> Result<(), &'static str> {
        if let Event::Start { id, model, created } = &event {
            self.begin(id.as_deref(), model.as_deref(), *created, out);
            return Ok(());
        }
        if self.head.is_empty() {
            self.begin(None, None, None, out);
        }
        match event {
            Event::Start { .. } => {}
            Event::Text(text) => self.chunk(out, |out| {
                out.key("content").pieces([&*text]);
            }),
            Event::Thought(text) => self.chunk(out, |out| {
                out.key("reasoning_content").pieces([&*text]);
            }),
            Event::Refusal(text) => {
                self.refused = true;
                self.chunk(out, |out| {
                    out.key("refusal").pieces([&*text]);
                });
            }
            Event::Call { call, id, name } => {
                let index = self.calls.len() as u64;
                self.calls.push((call, false));
                self.chunk(out, |out| {
                    out.key("tool_calls").open('[').open('{').field_number("index", index);
                    out.field_str("id", &id).field_str("type", "function").key("function").open('{');
                    out.field_str("name", &name).field_str("arguments", "").close('}').close('}').close(']');
                });
            }
            Event::Arguments { call, text } => {
                let found = self.calls.iter_mut().enumerate().find(|(_, (known, _))| *known == call);
                let Some((index, (_, told))) = found else { return Ok(()) };
                *told = true;
                self.arguments(index, &text, out);
            }
            Event::Citation(citation) => self.citations.push(citation.into_owned()),
            Event::Passage(_) => {}
            Event::Finish { reason, .. } => self.finish = Some(reason),
            Event::Tokens(tokens) => self.tokens.update(tokens),
            Event::End => self.end(out),
        }
        Ok(())
    }

    fn begin(&mut self, id: Option<&str>, model: Option<&str>, created: Option<u64>, out: &mut Out) {
        if !self.head.is_empty() {
            return;
        }
        let mut head = Out::with_capacity(160);
        head.open('{')
            .field_str("id", &id_with("chatcmpl-", id))
            .field_str("object", "chat.completion.chunk");
        head.field_number("created", created.unwrap_or_else(now))
            .field_str("model", model.unwrap_or_default());
        if self.wishes.include_usage {
            head.field_raw("usage", "null");
        }
        self.head = head.finish();
        self.chunk(out, |out| {
            out.field_str("role", "assistant").field_str("content", "");
        });
    }

    fn chunk(&self, out: &mut Out, delta: impl FnOnce(&mut Out)) {
        out.event(None).raw(&self.head);
        out.key("choices").open('[').open('{').field_number("index", 0).key("delta").open('{');
        delta(out);
        out.close('}').field_raw("finish_reason", "null").close('}').close(']').close('}').end_event();
    }

    fn arguments(&self, index: usize, text: &str, out: &mut Out) {
        self.chunk(out, |out| {
            out.key("tool_calls").open('[').open('{').field_number("index", index as u64);
            out.key("function").open('{').key("arguments").pieces([text]);
            out.close('}').close('}').close(']');
        });
    }

    fn end(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let finish = conclude(self.finish, !self.calls.is_empty(), self.refused);
        if finish == Finish::ToolCalls {
            // Clients parse the arguments of a call that has none too.
            let bare = self.calls.iter().enumerate().filter(|(_, (_, told))| !told);
            bare.for_each(|(index, _)| self.arguments(index, "{}", out));
        }
        let citations = std::mem::take(&mut self.citations);
        if !citations.is_empty() {
            self.chunk(out, |out| write_annotations(&citations, out));
        }
        let reason = reason(finish);
        out.event(None).raw(&self.head);
        out.key("choices").open('[').open('{').field_number("index", 0).key("delta").open('{').close('}');
        out.field_str("finish_reason", reason).close('}').close(']').close('}').end_event();
        if self.wishes.include_usage {
            out.event(None).raw(self.head.strip_suffix(",\"usage\":null").unwrap_or(&self.head));
            out.key("choices").open('[').close(']').key("usage");
            write_tokens(&self.tokens, out);
            out.close('}').end_event();
        }
        out.verbatim("data: [DONE]\n\n");
    }
}

//! What the readers and the writers of requests have in common.

use super::{
    error::{Losses, Refused},
    form::{Call, Number, Part, Request, ToolResult},
    json::{Json, Lit},
    out::{Out, safe},
};
use std::{borrow::Cow, collections::HashMap};

/// Why something is not carried that only the caller's own provider has, such as the id of a file.
pub(super) const FOREIGN: &str = "it names something that only the other provider has";

/// Why an address is not carried to a provider that looks nothing up.
pub(super) const FETCHES_NOTHING: &str = "it fetches nothing; send the data itself";

/// Why an assistant's picture is not carried.
pub(super) const WORDS_ONLY: &str = "the assistant's turns hold text and tool calls only";

/// Gives up every field that has no place in the form between the dialects.
pub(super) fn lose_rest(request: &Request<'_>, losses: &mut Losses) -> Result<(), Refused> {
    request.rest.iter().try_for_each(|param| losses.lose(&**param))
}

/// Gives up the wish for more answers than one.
pub(super) fn lose_several(request: &Request<'_>, losses: &mut Losses) -> Result<(), Refused> {
    request.n.filter(|n| n.value() != 1.0).map_or(Ok(()), |n| losses.lose(n.name))
}

/// Gives up the wish for one tool call at a time, where there are tools to call.
pub(super) fn lose_one_at_a_time(request: &Request<'_>, losses: &mut Losses) -> Result<(), Refused> {
    let wish = request.one_tool_at_a_time.filter(|_| !request.tools.is_empty());
    wish.map_or(Ok(()), |param| losses.lose(param))
}

/// Gives up the seed and the penalties for words that were used already, where they are none.
pub(super) fn lose_seed_and_penalties(request: &Request<'_>, losses: &mut Losses) -> Result<(), Refused> {
    let Request { seed, frequency_penalty, presence_penalty, .. } = *request;
    let penalties =
        [frequency_penalty, presence_penalty].map(|number| number.filter(|number| !number.is_zero()));
    let lost = [seed].into_iter().chain(penalties).flatten();
    lost.into_iter().try_for_each(|number| losses.lose(number.name))
}

/// Numbers as the caller wrote them, under the target's names.
pub(super) fn write_numbers<'a>(
    numbers: impl IntoIterator<Item = (&'static str, Option<Number<'a>>)>,
    out: &mut Out,
) {
    for (name, number) in numbers {
        if let Some(number) = number {
            out.field_raw(name, number.digits);
        }
    }
}

/// The sequences that end an answer, as a list named `key`; at most `most` of them.
pub(super) fn write_stops(
    request: &Request<'_>,
    key: &str,
    most: usize,
    too_many: &'static str,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    if request.stop.len() > most {
        losses.because(request.stop_name, too_many)?;
    }
    if !request.stop.is_empty() {
        out.key(key).open('[');
        for stop in request.stop.iter().take(most) {
            out.pieces([stop.inner()]);
        }
        out.close(']');
    }
    Ok(())
}

/// Reads what a message holds: text, or a list whose items `item` adds, each with the name that errors call it by.
pub(super) fn read_content<'a>(
    at: &str,
    content: Json<'a>,
    request: &mut Request<'a>,
    mut item: impl FnMut(String, Json<'a>, &mut Request<'a>, &mut Vec<Part<'a>>) -> Result<(), Refused>,
) -> Result<Vec<Part<'a>>, Refused> {
    if let Some(text) = content.lit() {
        return Ok(vec![Part::Text(text)]);
    }
    let mut parts = Vec::new();
    let items = content.items().ok_or_else(|| Refused::wrong(at, "must be text or a list"))?;
    for (n, one) in items.enumerate() {
        request.room(at)?;
        item(format!("{at}[{n}]"), one, request, &mut parts)?;
    }
    Ok(parts)
}

/// Several texts as one string, a line each.
pub(super) fn write_lines<'a>(texts: impl IntoIterator<Item = Lit<'a>>, out: &mut Out) {
    let pieces =
        texts.into_iter().enumerate().flat_map(|(at, text)| [if at == 0 { "" } else { "\\n" }, text.inner()]);
    out.pieces(pieces);
}

/// The texts among the parts of a turn.
pub(super) fn texts<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = Lit<'a>> + Clone + 'p {
    parts.iter().filter_map(|part| if let Part::Text(text) = part { Some(*text) } else { None })
}

/// The tool calls among the parts of a turn.
pub(super) fn calls<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p Call<'a>> + Clone {
    parts.iter().filter_map(|part| if let Part::Call(call) = part { Some(call) } else { None })
}

/// The tools' results among the parts of a turn.
pub(super) fn results<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p ToolResult<'a>> + Clone {
    parts.iter().filter_map(|part| if let Part::Result(result) = part { Some(result) } else { None })
}

/// The parts of a user's turn besides the tools' words: his own, and what tools showed, in order.
pub(super) fn shown<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p Part<'a>> + Clone {
    parts.iter().flat_map(|part| {
        let (of_tool, own) = match part {
            Part::Result(result) => (result.parts.as_slice(), None),
            own => (&[][..], Some(own)),
        };
        of_tool.iter().filter(|part| matches!(part, Part::Media(_))).chain(own)
    })
}

/// Text that is refused where a block must hold more than blanks.
pub(super) fn is_blank(part: &Part<'_>) -> bool {
    matches!(part, Part::Text(text) if text.is_blank())
}

/// What a tool said, as one string.
pub(super) fn write_said(result: &ToolResult<'_>, out: &mut Out) {
    match result.object {
        Some(object) => {
            out.str(object.raw());
        }
        None => write_lines(texts(&result.parts), out),
    }
}

/// Data as a `data:` URL.
#[expect(clippy::ptr_arg, reason = "what is borrowed is escaped already, what is owned is not")]
pub(super) fn write_data_url(media: &Cow<'_, str>, data: &Cow<'_, str>, out: &mut Out) {
    out.pieces(["data:", &safe(media), ";base64,", &safe(data)]);
}

/// The schema of a tool's arguments as the field `key`, for a target that demands one that says that it is an object's.
pub(super) fn write_object_schema(key: &str, schema: Option<&str>, out: &mut Out) {
    out.key(key);
    if let Some(schema) = schema.filter(|schema| Json::trusted(schema).get("type").is_some()) {
        out.raw(schema);
        return;
    }
    let inner = schema.and_then(|schema| schema.strip_prefix('{')?.strip_suffix('}')).map(str::trim);
    out.open('{').field_str("type", "object");
    match inner.filter(|inner| !inner.is_empty()) {
        Some(inner) => out.raw(inner),
        None => out.key("properties").open('{').close('}'),
    };
    out.close('}');
}

/// The names of called tools by the ids of their calls, for a target that wants a result to tell them.
#[derive(Debug, Default)]
pub(super) struct Names<'r>(HashMap<&'r str, &'r str>);

impl<'r> Names<'r> {
    pub(super) fn learn(&mut self, call: &'r Call<'_>) {
        self.0.insert(&call.id, &call.name);
    }

    /// The name of the tool whose result this is.
    pub(super) fn of<'s>(&'s self, result: &'s ToolResult<'_>) -> Result<&'s str, Refused> {
        let name = result.name.as_deref().or_else(|| self.0.get(&*result.id).copied());
        name.ok_or_else(|| {
            Refused::wrong("messages", "hold the result of a tool call that is not among them")
        })
    }
}

/// A request without a word of anybody's.
pub(super) fn wordless() -> Refused {
    Refused::wrong("messages", "hold no word of a user or an assistant")
}

/// Text as one segment of a path (RFC 3986 §3.3), with everything percent-encoded that could mean more than itself.
pub(super) fn path_segment(text: &str) -> String {
    use std::fmt::Write;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~' | b'@') {
            out.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A number whose scale ends at 1 with the target, and perhaps not with the caller.
pub(super) fn write_up_to_one(
    name: &str,
    number: Option<Number<'_>>,
    losses: &mut Losses,
    out: &mut Out,
) -> Result<(), Refused> {
    match number {
        Some(number) if number.value() > 1.0 => {
            losses.because(number.name, "its scale ends at 1")?;
            out.field_raw(name, "1");
        }
        Some(number) => {
            out.field_raw(name, number.digits);
        }
        None => {}
    }
    Ok(())
}

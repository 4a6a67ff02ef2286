//! A request between two dialects.
//!
//! It borrows from the caller's body: prompts, images and schemas are slices of it until they are written. What has no
//! place here is kept by the caller's name for it, so that it can be refused by that name or dropped.

use super::{
    error::Refused,
    json::{Json, Lit},
};
use std::borrow::Cow;

/// A request.
#[derive(Debug, Default)]
pub(super) struct Request<'a> {
    pub(super) stream: bool,
    /// A chat caller asked for the chunk with the tokens.
    pub(super) include_usage: bool,
    /// The system's words, in order.
    pub(super) system: Vec<Lit<'a>>,
    /// What goes before the turns is to be kept in the provider's cache up to the end of the system's words.
    pub(super) system_mark: bool,
    /// User and assistant by turns: two of one role never follow each other.
    pub(super) turns: Vec<Turn<'a>>,
    pub(super) tools: Vec<Tool<'a>>,
    pub(super) choice: Option<Choice<'a>>,
    /// What the caller calls `choice`.
    pub(super) choice_name: &'static str,
    /// Where false, and what the caller calls it.
    pub(super) one_tool_at_a_time: Option<&'static str>,
    pub(super) max_tokens: Option<u64>,
    pub(super) temperature: Option<Number<'a>>,
    pub(super) top_p: Option<Number<'a>>,
    pub(super) top_k: Option<Number<'a>>,
    pub(super) seed: Option<Number<'a>>,
    pub(super) frequency_penalty: Option<Number<'a>>,
    pub(super) presence_penalty: Option<Number<'a>>,
    /// How many answers, where not one.
    pub(super) n: Option<Number<'a>>,
    pub(super) stop: Vec<Lit<'a>>,
    /// What the caller calls `stop`.
    pub(super) stop_name: &'static str,
    pub(super) format: Option<Format<'a>>,
    pub(super) reasoning: Reasoning,
    /// An end user's id.
    pub(super) user: Option<Lit<'a>>,
    /// What has no place here: the name of the field.
    pub(super) rest: Vec<String>,
    /// Messages, parts and tools so far.
    pub(super) counted: usize,
}

/// A number as it is written, with the caller's name for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number<'a> {
    pub(super) name: &'static str,
    pub(super) digits: &'a str,
}

impl<'a> Number<'a> {
    /// Reads the field `name`; null is none.
    pub(super) fn read(name: &'static str, value: Json<'a>) -> Result<Option<Self>, Refused> {
        if value.is_null() {
            return Ok(None);
        }
        let digits = value.number().ok_or_else(|| Refused::wrong(name, "must be a number"))?;
        let number = Self { name, digits };
        if number.value().is_finite() { Ok(Some(number)) } else { Err(Refused::wrong(name, "is too large")) }
    }

    pub(super) fn value(self) -> f64 {
        self.digits.parse().unwrap_or(f64::INFINITY)
    }

    pub(super) fn is_zero(self) -> bool {
        self.value() == 0.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) parts: Vec<Part<'a>>,
}

/// A part of a turn.
#[derive(Debug)]
pub(super) enum Part<'a> {
    Text(Lit<'a>),
    Media(Media<'a>),
    Call(Call<'a>),
    Result(ToolResult<'a>),
    /// All up to here is to be kept in the provider's cache. Only a target that has such marks sees them.
    Mark,
}

/// An image, a document, a sound.
#[derive(Debug)]
pub(super) struct Media<'a> {
    pub(super) kind: MediaKind,
    pub(super) source: Source<'a>,
    pub(super) name: Option<Lit<'a>>,
    /// Where the caller put it.
    pub(super) param: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MediaKind {
    Image,
    File,
    Audio,
    Video,
}

#[derive(Debug)]
pub(super) enum Source<'a> {
    /// Base64, and its media type.
    Data { media: Cow<'a, str>, data: Cow<'a, str> },
    /// An address, with the media type where it is known.
    Url { url: Cow<'a, str>, media: Option<Cow<'a, str>> },
    /// A document of plain text.
    Text(Lit<'a>),
    /// Something that only the caller's own provider has, such as the id of a file.
    Foreign,
}

impl<'a> Source<'a> {
    /// A `data:` URL taken apart, or an address.
    pub(super) fn of_url(url: Cow<'a, str>) -> Option<Self> {
        if !url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
            return Some(Source::Url { url, media: None });
        }
        let (head, _) = url.split_once(',')?;
        let media = head.get(5..)?.strip_suffix(";base64")?;
        // What it is must be said: no API takes data of a kind that nobody names.
        if media.is_empty() || media.starts_with(';') {
            return None;
        }
        // Parameters such as a name or a charset are nobody's business.
        let media_end = 5 + media.find(';').unwrap_or(media.len());
        let data_start = head.len() + 1;
        let (media, data) = match url {
            Cow::Borrowed(url) => {
                (Cow::Borrowed(url.get(5..media_end)?), Cow::Borrowed(url.get(data_start..)?))
            }
            Cow::Owned(url) => {
                (Cow::Owned(url.get(5..media_end)?.to_owned()), Cow::Owned(url.get(data_start..)?.to_owned()))
            }
        };
        Some(Source::Data { media, data })
    }
}

/// A call of a tool.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: Cow<'a, str>,
    pub(super) name: Cow<'a, str>,
    /// An object, as JSON.
    pub(super) arguments: Cow<'a, str>,
}

/// What a tool said.
#[derive(Debug)]
pub(super) struct ToolResult<'a> {
    pub(super) id: Cow<'a, str>,
    /// The tool's name, where the dialect tells it.
    pub(super) name: Option<Cow<'a, str>>,
    /// Text and media.
    pub(super) parts: Vec<Part<'a>>,
    /// An object that is not text (Gemini), as JSON.
    pub(super) object: Option<Json<'a>>,
    pub(super) is_error: bool,
}

#[derive(Debug)]
pub(super) struct Tool<'a> {
    pub(super) name: Lit<'a>,
    pub(super) description: Option<Lit<'a>>,
    /// A JSON schema of an object.
    pub(super) schema: Option<Cow<'a, str>>,
    pub(super) strict: Option<bool>,
    /// The tools up to this one are to be kept in the provider's cache.
    pub(super) mark: bool,
}

#[derive(Debug)]
pub(super) enum Choice<'a> {
    Auto,
    None,
    Any,
    Tool(Cow<'a, str>),
    /// Any of these, where `must`; else also none.
    Among {
        names: Vec<Cow<'a, str>>,
        must: bool,
    },
}

#[derive(Debug)]
pub(super) enum Format<'a> {
    /// Any JSON, with the caller's name for the wish.
    Json { param: &'static str },
    Schema {
        /// The caller's name for the wish.
        param: &'static str,
        name: Option<Lit<'a>>,
        description: Option<Lit<'a>>,
        schema: Cow<'a, str>,
        strict: Option<bool>,
    },
}

impl Format<'_> {
    /// What the caller calls the wish.
    pub(super) fn param(&self) -> &'static str {
        match self {
            Format::Json { param } | Format::Schema { param, .. } => param,
        }
    }
}

/// How much to think before the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reasoning {
    pub(super) effort: Option<Effort>,
    /// In tokens.
    pub(super) budget: Option<u64>,
    /// The model decides how much.
    pub(super) adaptive: bool,
    /// The caller expects to see thoughts.
    pub(super) shown: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

impl Effort {
    pub(super) fn read(word: &str) -> Option<Self> {
        Some(match word {
            "none" => Effort::None,
            "minimal" => Effort::Minimal,
            "low" => Effort::Low,
            "medium" => Effort::Medium,
            "high" => Effort::High,
            "xhigh" => Effort::XHigh,
            "max" => Effort::Max,
            _ => return None,
        })
    }

    /// The thinking that it is worth, in tokens: what Google's OpenAI endpoint makes of the three main words.
    pub(super) fn budget(self) -> u64 {
        match self {
            Effort::None => 0,
            Effort::Minimal | Effort::Low => 1024,
            Effort::Medium => 8192,
            Effort::High => 24576,
            Effort::XHigh | Effort::Max => 32768,
        }
    }

    /// The word that is nearest to a budget.
    pub(super) fn of_budget(budget: u64) -> Self {
        match budget {
            0 => Effort::None,
            1..4096 => Effort::Low,
            4096..16384 => Effort::Medium,
            _ => Effort::High,
        }
    }
}

impl<'a> Request<'a> {
    /// Something that has no place here. The first is enough to refuse a call by, and a few to list.
    pub(super) fn lost(&mut self, param: String) {
        const MOST: usize = 64;
        if self.rest.len() < MOST {
            self.rest.push(param);
        }
    }

    /// Counts a message, a part of one or a tool: a request has room for so many only, however small they are.
    pub(super) fn room(&mut self, param: &str) -> Result<(), Refused> {
        const MOST: usize = 100_000;
        self.counted += 1;
        if self.counted > MOST {
            return Err(Refused::wrong(
                param,
                format!("is one of more than {MOST} messages, parts and tools"),
            ));
        }
        Ok(())
    }

    /// Adds parts to the last turn, if it is of this role, or begins one.
    pub(super) fn push(&mut self, role: Role, parts: impl IntoIterator<Item = Part<'a>>) {
        let mut parts = parts.into_iter().peekable();
        if parts.peek().is_none() {
            return;
        }
        match self.turns.last_mut() {
            Some(turn) if turn.role == role => turn.parts.extend(parts),
            _ => self.turns.push(Turn { role, parts: parts.collect() }),
        }
    }

    /// Takes the marks out that say what a cache is to keep: they have no bearing on the answer.
    pub(super) fn unmark(&mut self) {
        fn unmark(parts: &mut Vec<Part<'_>>) {
            parts.retain(|part| !matches!(part, Part::Mark));
            for part in parts {
                if let Part::Result(result) = part {
                    unmark(&mut result.parts);
                }
            }
        }
        self.turns.iter_mut().for_each(|turn| unmark(&mut turn.parts));
        self.turns.retain(|turn| !turn.parts.is_empty());
        self.system_mark = false;
    }

    /// What the caller's request says that the answer depends on.
    pub(super) fn wishes(&self) -> Wishes {
        Wishes { include_usage: self.include_usage, thoughts: self.reasoning.shown }
    }
}

/// What a caller wants to see of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wishes {
    /// The chunk with the tokens at the end of a chat stream.
    pub(super) include_usage: bool,
    /// Thinking blocks, where the dialect shows them to who asks only.
    pub(super) thoughts: bool,
}

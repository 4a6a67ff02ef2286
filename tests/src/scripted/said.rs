//! What is asked and what is said, in no dialect.

use serde_json::{Value, json};

/// Tokens of every question, those from a cache included.
pub const INPUT: u64 = 9;
/// Those of [`INPUT`] that came from a cache.
pub const CACHED: u64 = 4;
/// Tokens of every answer, thoughts included.
pub const OUTPUT: u64 = 5;
/// Those of [`OUTPUT`] that were thoughts, where there are any.
pub const THOUGHTS: u64 = 2;

/// A page that answers to [`Asked::prompt`]s about it come from.
pub const PAGE: &str = "https://example.com/page?a=1&b=2";
/// Its title.
pub const TITLE: &str = "A \"page\"";
/// What such an answer says of its own accord, before what it has from there.
const OWN: &str = "\u{c9}lan \u{1f600} says ";
const FROM_PAGE: &str = "hello \u{e0} l\u{e0}.";

/// A request, as far as the answer depends on it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The model that was asked for.
    pub model: String,
    /// Whether as a stream.
    pub stream: bool,
    /// The system's words.
    pub system: String,
    /// The last words of the user.
    pub prompt: String,
    /// How many messages of users and of the model there are; results of tools are none.
    pub turns: usize,
    /// How many images.
    pub images: usize,
    /// How many documents.
    pub files: usize,
    /// The names of the tools.
    pub tools: Vec<String>,
    /// What tools said since the last words of the user.
    pub results: Vec<String>,
    /// The schema that the answer must have.
    pub schema: Option<Value>,
    /// Whether it is asked to think.
    pub thinks: bool,
    /// Where to stop.
    pub stops: Vec<String>,
    /// How long the answer may be.
    pub max_tokens: Option<u64>,
    /// Which tool must be called: `any`, or a name.
    pub choice: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The thought before it.
    pub thought: Option<String>,
    /// Its words, in the pieces of a stream.
    pub text: Vec<String>,
    /// Where the words begin that come from [`PAGE`], if there are any: they are all that follow.
    pub cited_from: Option<usize>,
    /// The tools that it calls.
    pub calls: Vec<Call>,
    /// Why it ends.
    pub end: End,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
}

/// Why an answer ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// All is said.
    #[default]
    Stop,
    /// Tools are called.
    Calls,
    /// It is as long as it may be.
    Length,
}

impl Said {
    /// The answer to a request.
    ///
    /// Results of tools are told back. Else, where there are tools and the prompt names cities: a call of the first tool for
    /// each. Else JSON, where a schema is given; what was asked about the request itself; a greeting.
    pub fn to(asked: &Asked) -> Self {
        let thought = asked.thinks.then(|| "Let me think.".to_owned());
        if asked.results.is_empty() {
            if let Some(tool) = asked.tools.first() {
                let tool = asked.choice.as_ref().filter(|name| asked.tools.contains(name)).unwrap_or(tool);
                let cities = ["Paris", "Rome"].into_iter().filter(|city| asked.prompt.contains(city));
                let calls: Vec<Call> = cities
                    .enumerate()
                    .map(|(n, city)| Call {
                        id: format!("callid00{n}"),
                        name: tool.clone(),
                        arguments: json!({"city": city}),
                    })
                    .collect();
                if !calls.is_empty() {
                    return Self { thought, calls, end: End::Calls, ..Self::default() };
                }
            }
        }
        let (text, end) = words(asked);
        let pieces = pieces(&text);
        let cited_from = (asked.prompt == WHO && text.starts_with(OWN)).then_some(OWN.len());
        Self { thought, text: pieces, cited_from, calls: Vec::new(), end }
    }

    /// The words in stretches, each with whether it comes from [`PAGE`].
    pub fn stretches(&self) -> Vec<(String, bool)> {
        let words = self.words();
        match self.cited_from.and_then(|at| words.split_at_checked(at)) {
            Some((own, cited)) => vec![(own.to_owned(), false), (cited.to_owned(), true)],
            None if words.is_empty() => Vec::new(),
            None => vec![(words, false)],
        }
    }

    /// From where to where they come from [`PAGE`], in characters.
    pub fn cited_chars(&self) -> Option<(usize, usize)> {
        let words = self.words();
        let own = words.get(..self.cited_from?)?;
        Some((own.chars().count(), words.chars().count()))
    }

    /// The words in one.
    pub fn words(&self) -> String {
        self.text.concat()
    }

    /// How many tokens were thoughts.
    pub fn thoughts(&self) -> u64 {
        if self.thought.is_some() { THOUGHTS } else { 0 }
    }
}

/// The prompt that is answered from [`PAGE`].
const WHO: &str = "Who says so?";

/// The pieces that words come in.
pub(super) fn pieces(words: &str) -> Vec<String> {
    words.split_inclusive(' ').map(str::to_owned).collect()
}

fn words(asked: &Asked) -> (String, End) {
    let said = match asked.prompt.as_str() {
        _ if !asked.results.is_empty() => format!("The tools said: {}.", asked.results.join("; ")),
        _ if asked.schema.is_some() => r#"{"city": "Paris", "degrees": 21}"#.to_owned(),
        WHO => format!("{OWN}{FROM_PAGE}"),
        "Say too much." => return ("As I was going to".to_owned(), End::Length),
        "What is the system?" => asked.system.clone(),
        "How many turns?" => asked.turns.to_string(),
        "What stops you?" => asked.stops.join(","),
        "How long may it be?" => format!("{:?}", asked.max_tokens),
        "What do you see?" => format!("{} images, {} files", asked.images, asked.files),
        _ => "Hello from the script.".to_owned(),
    };
    (said, End::Stop)
}

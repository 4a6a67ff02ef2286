//! The common answer of a chat completion without reading it field by field: text or a tool call, and an end.
//!
//! Exact in one direction, as [`Scan`] is: what is accepted is an answer with content in it and no error anywhere, and says
//! of its tokens and its end what reading it in full would say.

use super::{Answer, Finish, usage::Tokens};
use crate::scan::Scan;

/// What was found so far.
#[derive(Default)]
struct Found {
    listed: usize,
    content: bool,
    finish: Option<Finish>,
    tokens: Tokens,
}

/// The answer, if it is one beyond doubt.
pub(super) fn answer(body: &[u8]) -> Option<Answer> {
    std::str::from_utf8(body).ok()?;
    let (mut scan, mut found) = (Scan::new(body), Found::default());
    scan.object(|scan, key| match key {
        b"choices" => {
            found.listed = scan.list(|scan| found.choice(scan))?;
            Some(())
        }
        b"usage" if scan.next()? == b'{' => usage(scan, &mut found.tokens),
        b"usage" | b"error" | b"x_groq" => null(scan),
        b"object" | b"type" => match scan.raw()? {
            [b'"', text @ .., b'"'] => (text != b"error" && !text.contains(&b'\\')).then_some(()),
            _ => None,
        },
        _ => scan.skip().map(drop),
    })?;
    let Found { listed, content, finish, tokens } = found;
    (scan.is_at_end() && listed > 0 && content).then(|| Answer { usage: tokens.usage(), finish, content })
}

fn null(scan: &mut Scan<'_>) -> Option<()> {
    (scan.raw()? == b"null").then_some(())
}

impl Found {
    fn choice(&mut self, scan: &mut Scan<'_>) -> Option<()> {
        scan.object(|scan, key| match key {
            b"message" => self.message(scan),
            b"finish_reason" => self.reason(scan.raw()?),
            b"error" => null(scan),
            b"delta" | b"text" => None,
            _ => scan.skip().map(drop),
        })
    }

    fn message(&mut self, scan: &mut Scan<'_>) -> Option<()> {
        scan.object(|scan, key| {
            match key {
                b"content" | b"refusal" | b"reasoning_content" | b"reasoning" | b"reasoning_text"
                | b"reasoning_details" | b"thinking" | b"audio" | b"images" | b"annotations"
                | b"tool_calls" | b"function_call" => self.content |= is_filled(scan.raw()?)?,
                _ => {
                    scan.skip()?;
                }
            }
            Some(())
        })
    }

    fn reason(&mut self, raw: &[u8]) -> Option<()> {
        let text = match raw {
            b"null" => return Some(()),
            [b'"', text @ .., b'"'] if !text.contains(&b'\\') => std::str::from_utf8(text).ok()?,
            _ => return None,
        };
        match Finish::of_reason(text) {
            Some(Finish::Error) => None,
            Some(finish) => {
                self.finish = Some(finish);
                Some(())
            }
            None => Some(()),
        }
    }
}

/// Whether a value says anything; numbers are not looked into.
fn is_filled(raw: &[u8]) -> Option<bool> {
    match raw {
        b"null" | b"false" => Some(false),
        b"true" => Some(true),
        [b'"', text @ .., b'"'] => Some(!text.is_empty()),
        [b'{' | b'[', inner @ .., _] => Some(!inner.trim_ascii().is_empty()),
        _ => None,
    }
}

fn usage(scan: &mut Scan<'_>, tokens: &mut Tokens) -> Option<()> {
    scan.object(|scan, key| {
        let key = std::str::from_utf8(key).ok()?;
        if Tokens::has_details(key) {
            return if scan.next()? == b'{' { usage(scan, tokens) } else { null(scan) };
        }
        let raw = scan.raw()?;
        if let Some(place) = tokens.place(key) {
            match raw {
                b"null" => {}
                digits => *place = Some(std::str::from_utf8(digits).ok()?.parse().ok()?),
            }
        }
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{Dialect, Whole, whole};
    use proptest::prelude::*;

    const ANSWERS: [&str; 3] = [
        r#"{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hi \"you\"","refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":41,"completion_tokens":33,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens_details":{"reasoning_tokens":2}}}"#,
        r#"{"choices": [{"message": {"content": null, "tool_calls": [{"id": "1"}]}, "finish_reason": "tool_calls"}, {"message": {"content": ""}, "finish_reason": "length"}], "usage": null, "error": null}"#,
        r#"{"choices":[{"finish_reason":"","message":{"content":"x"}}],"usage":{"prompt_tokens":null,"completion_tokens":1}}"#,
    ];

    #[test]
    fn usual_answers_are_known_and_read_alike() {
        for body in ANSWERS {
            let quick = answer(body.as_bytes()).unwrap_or_else(|| panic!("{body}"));
            assert_eq!(whole::in_full(Dialect::ChatCompletions, body.as_bytes()), Whole::Answer(quick));
        }
    }

    #[test]
    fn what_is_no_answer_beyond_doubt_is_left_to_be_read() {
        for body in [
            "{}",
            r#"{"choices":[]}"#,
            r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#,
            r#"{"error":{"code":502},"choices":[{"message":{"content":"x"}}]}"#,
            r#"{"object":"error","choices":[{"message":{"content":"x"}}]}"#,
            r#"{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}"#,
            r#"{"choices":[{"message":{"content":"x"},"error":"no"}]}"#,
            r#"{"choices":[{"message":{"content":"x"}}]"#,
            r#"{"err\u006fr":1,"choices":[{"message":{"content":"x"}}]}"#,
        ] {
            assert_eq!(answer(body.as_bytes()), None, "{body}");
        }
    }

    proptest! {
        /// Answers with a piece taken out, or something put in.
        #[test]
        fn whatever_is_accepted_reads_the_same_in_full(
            which in 0..ANSWERS.len(),
            from in 0..400usize,
            out in 0..12usize,
            put in r#"([\[\]{}":,0-9e.tnr\\ ]{0,4}|"error":|"text":1,|null|,"choices":\[\]|"usage":\{\},|\\u00e9)"#,
        ) {
            let mut body = ANSWERS[which].as_bytes().to_vec();
            let from = from.min(body.len());
            let end = (from + out).min(body.len());
            body.splice(from..end, put.into_bytes());
            if let Some(quick) = answer(&body) {
                prop_assert_eq!(whole::in_full(Dialect::ChatCompletions, &body), Whole::Answer(quick));
            }
        }
    }
}

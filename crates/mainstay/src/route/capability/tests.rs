//! What calls ask for, and what becomes of them where it is not there.

use super::{
    super::{
        CallFailed, Fallback, Served,
        testing::{Play, Provider, Watch, request},
    },
    *,
};
use crate::peek::{Call, peek};
use std::sync::Arc;
use tower::ServiceExt;

const CHAT: &str = "/v1/chat/completions";
const MESSAGES: &str = "/v1/messages";
const RESPONSES: &str = "/v1/responses";
const GEMINI: &str = "/v1beta/models/g:generateContent";

fn needs(path: &str, body: &str) -> Needs {
    let call = Call::of_path(path).unwrap_or_else(|| Call::new(path, peek(body.as_bytes()).unwrap()));
    Needs::of(&call, &bytes::Bytes::copy_from_slice(body.as_bytes()).into())
}

#[test]
fn each_feature_is_seen_in_each_dialect_and_named_by_its_field() {
    type Of = fn(&Needs) -> Option<&'static str>;
    let (tools, vision, schema, prefill): (Of, Of, Of, Of) =
        (|n| n.tools, |n| n.vision, |n| n.json_schema, |n| n.prefill);
    for (path, of, field, part) in [
        (CHAT, tools, "tools", r#""tools":[{"type":"function"}]"#),
        (CHAT, tools, "functions", r#""functions":[{"name":"f"}]"#),
        (
            CHAT,
            vision,
            "messages",
            r#""messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url"}]},{"role":"user","content":"x"}]"#,
        ),
        (CHAT, schema, "response_format", r#""response_format":{"type":"json_schema","json_schema":{}}"#),
        (
            CHAT,
            prefill,
            "messages",
            r#""messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]"#,
        ),
        (MESSAGES, tools, "tools", r#""tools":[{"name":"f"}]"#),
        (MESSAGES, vision, "messages", r#""messages":[{"role":"user","content":[{"type":"image"}]}]"#),
        (
            MESSAGES,
            vision,
            "messages",
            r#""messages":[{"role":"user","content":[{"type":"tool_result","content":[{"type":"image"}]}]}]"#,
        ),
        (MESSAGES, schema, "output_config", r#""output_config":{"format":{"type":"json_schema"}}"#),
        (MESSAGES, schema, "output_format", r#""output_format":{"type":"json_schema"}"#),
        (MESSAGES, prefill, "messages", r#""messages":[{"role":"assistant","content":"y"}]"#),
        (RESPONSES, tools, "tools", r#""tools":[{"type":"web_search"}]"#),
        (RESPONSES, vision, "input", r#""input":[{"role":"user","content":[{"type":"input_image"}]}]"#),
        (
            RESPONSES,
            vision,
            "input",
            r#""input":[{"type":"function_call_output","output":[{"type":"input_image"}]}]"#,
        ),
        (RESPONSES, schema, "text", r#""text":{"format":{"type":"json_schema"}}"#),
        (RESPONSES, prefill, "input", r#""input":[{"role":"assistant","content":"y"}]"#),
        (GEMINI, tools, "tools", r#""tools":[{"functionDeclarations":[]}]"#),
        (GEMINI, vision, "contents", r#""contents":[{"parts":[{"inlineData":{"mimeType":"image/png"}}]}]"#),
        (GEMINI, vision, "contents", r#""contents":[{"parts":[{"file_data":{"mime_type":"image/png"}}]}]"#),
        (GEMINI, schema, "generationConfig", r#""generationConfig":{"responseSchema":{"type":"OBJECT"}}"#),
        (
            GEMINI,
            prefill,
            "contents",
            r#""contents":[{"role":"user","parts":[]},{"role":"model","parts":[]}]"#,
        ),
    ] {
        let all = needs(path, &format!(r#"{{"model":"m",{part}}}"#));
        assert_eq!(of(&all), Some(field), "{path} {part}");
        let others = [tools, vision, schema, prefill].iter().filter(|other| other(&all).is_some()).count();
        assert_eq!(others, 1, "{part}: {all:?}");
    }
}

#[test]
fn what_asks_for_nothing_is_not_taken_for_something() {
    for (path, part) in [
        (CHAT, r#""tools":[],"functions":null,"response_format":{"type":"json_object"}"#),
        (CHAT, r#""messages":[{"role":"user","content":[{"type":"text","text":"image_url"}]}]"#),
        (CHAT, r#""messages":[{"role":"assistant","content":"y"},{"role":"user","content":"x"}]"#),
        (MESSAGES, r#""output_config":{"effort":"low"}"#),
        (RESPONSES, r#""input":"hi","text":{"format":{"type":"text"}}"#),
        (GEMINI, r#""contents":[{"parts":[{"inlineData":{"mimeType":"application/pdf"}}]}]"#),
        ("/v1/embeddings", r#""tools":[1],"input":["x"]"#),
        (CHAT, r#""messages":7"#),
    ] {
        let all = needs(path, &format!(r#"{{"model":"m",{part}}}"#));
        let none = Needs { tokens: all.tokens, ..Needs::default() };
        assert_eq!(all, none, "{part}");
    }
}

#[test]
fn tokens_are_bounded_from_below() {
    let text = "The quick brown fox jumps over the lazy dog and runs away. ".repeat(100);
    // 59 bytes and 13 tokens each.
    let at_least = tokens::at_least(&text);
    assert!((300..1300).contains(&at_least), "{at_least}");
    // Blanks, lines, base64: what a tokenizer may have one token for, or the model may not read at all.
    for cheap in [" ".repeat(10_000), "-".repeat(10_000), r"\n".repeat(10_000), "iVBORw0KGgo".repeat(10_000)]
    {
        assert!(tokens::at_least(&cheap) < 32, "{}", &cheap[..20]);
    }
    // "नमस्ते" as it is and in escapes.
    let escaped = tokens::at_least(&r"\u0928\u092e\u0938\u094d\u0924\u0947 ".repeat(100));
    assert!(escaped <= tokens::at_least(&"नमस्ते ".repeat(100)), "{escaped}");
    assert!(
        needs(CHAT, &format!(r#"{{"model":"m","messages":"{text}","metadata":"{text}"}}"#)).tokens.unwrap().0
            < 600
    );
    for off in [r#""truncation":"auto""#, r#""transforms":["middle-out"]"#] {
        assert_eq!(needs(RESPONSES, &format!(r#"{{"model":"m","input":"{text}",{off}}}"#)).tokens, None);
    }
    let kept = needs(RESPONSES, &format!(r#"{{"model":"m","input":"{text}","truncation":"disabled"}}"#));
    assert!(kept.tokens.is_some_and(|(tokens, param)| tokens >= 300 && param == "input"));
    let batch = format!(r#"{{"model":"m","input":["{text}","{text}"]}}"#);
    assert_eq!(needs("/v1/embeddings", &batch).tokens, None, "each text has a context of its own");
}

fn route(of: [Capabilities; 2]) -> (Fallback, [Provider; 2]) {
    let watch = Arc::new(Watch::default());
    let both = [Provider::new([Play::answer("a")]), Provider::new([Play::answer("b")])];
    let targets: Vec<_> = both
        .iter()
        .zip(["a", "b/m-2"])
        .zip(of)
        .map(|((provider, name), of)| provider.target(name, &watch).with_capabilities(of))
        .collect();
    (Fallback::new(targets), both)
}

async fn ask(fallback: &Fallback, body: &str) -> Result<String, CallFailed> {
    match fallback.clone().oneshot(request(CHAT, body)).await {
        Ok(response) => Ok(response.extensions().get::<Served>().unwrap().target.to_string()),
        Err(error) => Err(*error.downcast::<CallFailed>().unwrap()),
    }
}

const TOOLS: &str = r#"{"model":"m","tools":[{"type":"function"}],"messages":[]}"#;

#[tokio::test(start_paused = true)]
async fn a_target_that_lacks_a_feature_is_passed_by_and_listed() {
    let (fallback, [a, b]) = route([Capabilities::new().with_tools(false), Capabilities::new()]);
    assert_eq!(ask(&fallback, TOOLS).await.unwrap(), "b/m-2");
    assert_eq!((a.calls(), b.calls()), (0, 1), "what is not declared is asked");
    assert_eq!(ask(&fallback, r#"{"model":"m","messages":[]}"#).await.unwrap(), "a");
    b.replace([Play::error(500, "x")]);
    let failed = ask(&fallback, TOOLS).await.unwrap_err();
    assert_eq!(failed.status.as_u16(), 500);
    let listed: Vec<_> = failed.attempts.iter().map(|each| (each.class, &*each.provider)).collect();
    assert_eq!(listed, [("unsupported", "a"), ("server_error", "b")]);
    assert!(failed.attempts[0].message.as_deref().unwrap().contains("capabilities.tools"));
}

#[tokio::test(start_paused = true)]
async fn if_no_target_can_do_it_the_call_is_the_callers_mistake_and_the_field_is_named() {
    let no = Capabilities::new().with_tools(false);
    let (fallback, [a, b]) = route([no, no]);
    let failed = ask(&fallback, TOOLS).await.unwrap_err();
    assert_eq!((failed.status.as_u16(), failed.code), (400, Some("unsupported_by_target")));
    let why = mainstay_layers::error::find_cause::<Incapable>(&failed).unwrap();
    assert_eq!((why.capability, why.param), (Capability::Tools, "tools"));
    assert_eq!((failed.tries, failed.retry_after, a.calls() + b.calls()), (0, None, 0));
    // One that could but is open is worth waiting for.
    let (fallback, [_, b]) = route([no, Capabilities::new()]);
    b.breaker.force_open();
    assert_eq!(ask(&fallback, TOOLS).await.unwrap_err().code, Some("circuit_open"));
}

#[tokio::test(start_paused = true)]
async fn a_question_that_cannot_fit_goes_to_the_larger_model() {
    let small = Capabilities::new().with_context(1000);
    let (fallback, _) = route([small, Capabilities::new().with_context(1_000_000)]);
    let body = |words: usize| {
        format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"{}"}}]}}"#,
            "word after ".repeat(words)
        )
    };
    // Some 2000 tokens: whether they fit is the provider's to say.
    assert_eq!(ask(&fallback, &body(1000)).await.unwrap(), "a");
    assert_eq!(ask(&fallback, &body(2000)).await.unwrap(), "b/m-2");
    let (fallback, _) = route([small, small]);
    let failed = ask(&fallback, &body(2000)).await.unwrap_err();
    assert_eq!((failed.status.as_u16(), failed.code), (400, Some("context_length_exceeded")));
    assert!(failed.message().contains("1000 tokens"), "{}", failed.message());
}

#[test]
fn what_a_model_declares_counts_before_what_its_provider_does() {
    let provider = Capabilities::new().with_context(8000).with_tools(false).with_vision(false);
    let model = Capabilities::new().with_tools(true);
    assert_eq!(model.or(provider), provider.with_tools(true));
    assert!(provider.is_limited() && !model.is_limited() && !Capabilities::new().is_limited());
}

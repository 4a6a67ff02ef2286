use super::*;
use crate::sse::{Event, Scanner, framing::eventstream::Message};
use bytes::Bytes;
use proptest::prelude::*;

use Meaning::{Content, Error, Malformed, Preamble};

const FINISH: Meaning = Meaning::Finish { content: false };
const END: Meaning = Meaning::Terminal { content: false };

/// Reads a stream in pieces.
fn run_pieces(dialect: Dialect, pieces: &[&[u8]]) -> (Vec<Meaning>, StreamReader) {
    let (mut scanner, mut reader, mut meanings) = (Scanner::new(), StreamReader::new(dialect), Vec::new());
    let mut take = |block: crate::sse::Block| {
        let meaning = reader.read_block(&block);
        if block.event.is_some() || meaning != Preamble {
            meanings.push(meaning);
        }
    };
    for piece in pieces {
        scanner.push(Bytes::copy_from_slice(piece));
        while let Some(block) = scanner.next_block().unwrap() {
            take(block);
        }
    }
    while let Some(block) = scanner.finish().unwrap() {
        take(block);
    }
    (meanings, reader)
}

fn run(dialect: Dialect, text: &str) -> (Vec<Meaning>, StreamReader) {
    run_pieces(dialect, &[text.as_bytes()])
}

/// A stream of events without names.
fn stream(events: &[&str]) -> String {
    events.iter().map(|data| format!("data: {data}\n\n")).collect()
}

/// A stream of events that are named as their type is.
fn named(events: &[&str]) -> String {
    let name = |data: &str| {
        serde_json::from_str::<serde_json::Value>(data).unwrap()["type"].as_str().unwrap().to_owned()
    };
    events.iter().map(|data| format!("event: {}\ndata: {data}\n\n", name(data))).collect()
}

fn chat(events: &[&str]) -> (Vec<Meaning>, StreamReader) {
    run(Dialect::ChatCompletions, &stream(events))
}

const ROLE: &str =
    r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#;
const WORD: &str =
    r#"{"id":"c","choices":[{"index":0,"delta":{"content":"word"},"finish_reason":null}],"usage":null}"#;
const STOP: &str = r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
const USAGE: &str = r#"{"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}"#;

#[test]
fn a_chat_stream_from_preamble_to_end() {
    let azure = r#"{"id":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}"#;
    let (meanings, reader) = chat(&[azure, ROLE, WORD, WORD, STOP, USAGE, "[DONE]"]);
    assert_eq!(meanings, [Preamble, Preamble, Content, Content, FINISH, Preamble, END]);
    assert!(reader.is_complete() && reader.saw_done() && reader.saw_content() && !reader.is_empty_answer());
    assert_eq!((reader.text_len(), reader.finish(), reader.events()), (8, Some(Finish::Stop), 7));
    let usage = reader.usage();
    assert_eq!(
        (usage.input, usage.output, usage.cached, usage.reasoning),
        (Some(9), Some(3), Some(4), Some(2))
    );
}

#[test]
fn whatever_an_answer_is_made_of_is_content() {
    for delta in [
        r#"{"content":"x"}"#,
        r#"{"content":null,"reasoning_content":"x"}"#,
        r#"{"content":"","reasoning":"x"}"#,
        r#"{"reasoning_details":[{"type":"reasoning.text","text":"x"}]}"#,
        r#"{"refusal":"no"}"#,
        r#"{"tool_calls":[{"index":0,"id":"t","function":{"name":"f","arguments":""}}]}"#,
        r#"{"function_call":{"name":"f"}}"#,
        r#"{"audio":{"data":"aa"}}"#,
        r#"{"content":[{"type":"thinking"}]}"#,
    ] {
        for lead in [&[ROLE][..], &[ROLE, WORD]] {
            let event = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
            let (meanings, _) = chat(&[lead, &[&event]].concat());
            assert_eq!(meanings.last(), Some(&Content), "{delta}");
        }
    }
}

#[test]
fn what_says_nothing_is_no_content() {
    for event in [
        r#"{"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":""},"finish_reason":""}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[ ],"reasoning_content":""}}]}"#,
        r#"{"choices":[]}"#,
        r#"{"choices":null,"error":null}"#,
        r#"{"object":"keepalive"}"#,
        "{}",
        USAGE,
    ] {
        for lead in [&[ROLE][..], &[ROLE, WORD]] {
            assert_eq!(chat(&[lead, &[event]].concat()).0.last(), Some(&Preamble), "{event}");
        }
    }
    assert_eq!(run(Dialect::ChatCompletions, "event: keepalive\ndata:\n\n: x\n\n").0, [Preamble]);
}

#[test]
fn no_error_is_missed_however_it_is_written() {
    let object = r#"{"message":"m","type":"server_error"}"#;
    for (event, found) in [
        (format!(r#"{{"error":{object}}}"#), object),
        (format!(r#"{{ "error" : {object} }}"#), object),
        (format!("{{\"error\"\t: \t{object}}}"), object),
        (format!(r#"{{"err\u006fr":{object}}}"#), object),
        (format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}}}}],"\u0065rror":{object}}}"#), object),
        (format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}}}}],"error":{object}}}"#), object),
        (format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"x"}},"error":{object}}}]}}"#), object),
        (format!(r#"{{"error":null,"error":{object},"x":"\u00e9"}}"#), object),
        (format!(r#"[{{"error":{object}}}]"#), object),
        (r#"{"error":"out of memory"}"#.into(), "\"out of memory\""),
        (r#"{"object":"error","message":"m"}"#.into(), r#"{"object":"error","message":"m"}"#),
        (r#"{"type":"error","message":"m"}"#.into(), r#"{"type":"error","message":"m"}"#),
        (r#"{"object":"\u0065rror"}"#.into(), r#"{"object":"\u0065rror"}"#),
    ] {
        for lead in [&[][..], &[ROLE], &[ROLE, WORD]] {
            let (meanings, reader) = chat(&[lead, &[&event, "[DONE]"]].concat());
            assert_eq!(meanings[meanings.len() - 2..], [Error, END], "{event}");
            assert_eq!(reader.failure().unwrap().object, found);
            assert!(!reader.is_complete() && !reader.is_empty_answer());
        }
    }
}

#[test]
fn a_type_means_the_same_however_it_is_written() {
    for (dialect, data, meaning) in [
        (Dialect::Messages, r#"{"type":"err\u006fr"}"#, Error),
        (Dialect::Messages, r#"{"type":"message\u005fstop"}"#, END),
        (Dialect::Responses, r#"{"type":"response.f\u0061iled"}"#, Error),
        (Dialect::Responses, r#"{"type":"response.\u0069ncomplete"}"#, END),
        (Dialect::Cohere, r#"{"type":"message\u002dend"}"#, END),
        (Dialect::Other, r#"{"object":"err\u006fr"}"#, Error),
    ] {
        assert_eq!(StreamReader::new(dialect).read(&Event::new("", data)), meaning, "{data}");
    }
    for (dialect, body) in [
        (Dialect::ChatCompletions, r#"{"object":"err\u006fr"}"#),
        (Dialect::Messages, r#"{"type":"err\u006fr"}"#),
        (Dialect::Responses, r#"{"status":"f\u0061iled"}"#),
    ] {
        assert!(matches!(read_whole(dialect, body.as_bytes()), Whole::Error { .. }), "{body}");
    }
}

#[test]
fn an_error_is_found_by_its_events_name_too() {
    for data in [r#"{"message":"m"}"#, "overloaded", "{cut"] {
        for dialect in
            [Dialect::ChatCompletions, Dialect::Messages, Dialect::Responses, Dialect::Gemini, Dialect::Other]
        {
            let (meanings, reader) = run(dialect, &format!("event: error\ndata: {data}\n\n"));
            assert_eq!(meanings, [Error]);
            assert_eq!(reader.failure().unwrap().object, data);
        }
    }
}

#[test]
fn an_error_with_bytes_that_are_not_utf8_is_an_error() {
    let mut reader = StreamReader::new(Dialect::ChatCompletions);
    let data = Bytes::from_static(b"{\"error\":{\"message\":\"\xff\"}}");
    assert_eq!(reader.read(&Event::new("", data)), Error);
    assert_eq!(reader.failure().unwrap().object, "{\"message\":\"\u{fffd}\"}");
    for dialect in DIALECTS {
        let body = b"{\"error\":{\"message\":\"\xff\"}}";
        assert_eq!(StreamReader::new(dialect).read(&Event::new("", &body[..])), Error);
        assert_eq!(read_whole(dialect, body), Whole::Error { object: body, reason: None });
    }
    assert_eq!(StreamReader::new(Dialect::Other).read(&Event::new("", &b"\xff"[..])), Content);
    assert!(matches!(read_whole(Dialect::Other, b"\xff"), Whole::Answer(_)));
    assert_eq!(read_whole(Dialect::ChatCompletions, b"\xff"), Whole::NotJson);
}

#[test]
fn text_that_talks_of_errors_is_text() {
    for text in [
        r#"\"error\": {\"message\""#,
        r#"\\"#,
        r#"[DONE]"#,
        r#"finish_reason\":\"stop"#,
        r#"\u00e9\ud83d\ude42"#,
    ] {
        let event =
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":null}}]}}"#);
        for lead in [&[ROLE][..], &[ROLE, WORD]] {
            let (meanings, reader) = chat(&[lead, &[&event]].concat());
            assert_eq!(meanings.last(), Some(&Content));
            assert_eq!(reader.text_len(), 4 * (lead.len() - 1) + text.len());
            assert!(!reader.is_complete());
        }
    }
}

#[test]
fn a_reason_that_means_failure_is_an_error() {
    for reason in ["error", "insufficient_system_resource", "abort"] {
        let event =
            format!(r#"{{"choices":[{{"index":0,"delta":{{"content":""}},"finish_reason":"{reason}"}}]}}"#);
        let (meanings, reader) = chat(&[ROLE, WORD, &event]);
        assert_eq!(meanings, [Preamble, Content, Error]);
        assert_eq!(reader.failure().unwrap().reason.as_deref(), Some(reason));
        assert_eq!(reader.failure().unwrap().object, event.as_str());
    }
}

#[test]
fn a_chat_stream_is_complete_with_done_or_with_every_choice_finished() {
    assert!(chat(&[ROLE, WORD, STOP]).1.is_complete());
    assert!(chat(&[ROLE, WORD, "[DONE]"]).1.is_complete());
    assert!(!chat(&[ROLE, WORD]).1.is_complete());
    assert!(!chat(&[USAGE]).1.is_complete());
    assert!(!chat(&[]).1.is_complete());
    // Of two choices the second was cut, also where it was never more than plain text.
    let second = WORD.replace("\"index\":0", "\"index\": 1");
    assert!(!chat(&[ROLE, WORD, &second, &second, STOP]).1.is_complete());
    assert!(chat(&[ROLE, WORD, &second, STOP, &STOP.replace("\"index\":0", "\"index\":1")]).1.is_complete());
}

#[test]
fn content_and_end_may_share_a_chunk() {
    let both = WORD.replace("\"finish_reason\":null", "\"finish_reason\": \"length\"");
    for lead in [&[ROLE][..], &[ROLE, WORD]] {
        let (meanings, reader) = chat(&[lead, &[&both]].concat());
        assert_eq!(meanings.last(), Some(&Meaning::Finish { content: true }));
        assert!(meanings[meanings.len() - 1].is_content());
        assert_eq!((reader.is_complete(), reader.finish()), (true, Some(Finish::Length)));
    }
}

#[test]
fn an_empty_answer_is_one_without_words_tokens_or_reason() {
    let finish = |reason: &str| STOP.replace("stop", reason);
    let no_tokens = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":0}}"#;
    assert!(chat(&[ROLE, STOP, "[DONE]"]).1.is_empty_answer());
    assert!(chat(&[ROLE, STOP, no_tokens, "[DONE]"]).1.is_empty_answer());
    assert!(chat(&[ROLE, "[DONE]"]).1.is_empty_answer());
    assert!(!chat(&[ROLE, STOP, USAGE, "[DONE]"]).1.is_empty_answer());
    assert!(!chat(&[ROLE, WORD, STOP]).1.is_empty_answer());
    for reason in ["length", "content_filter", "tool_calls", "something_new"] {
        assert!(!chat(&[ROLE, &finish(reason), "[DONE]"]).1.is_empty_answer());
    }
    // Cut is not empty.
    assert!(!chat(&[ROLE]).1.is_empty_answer());
}

#[test]
fn a_tool_call_is_open_until_the_answer_ends() {
    let call =
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}"#;
    assert!(chat(&[ROLE, WORD, call, call]).1.in_tool_call());
    assert!(!chat(&[ROLE, WORD, call, STOP]).1.in_tool_call());
    assert!(!chat(&[ROLE, call, "[DONE]"]).1.in_tool_call());
    assert_eq!(chat(&[ROLE, WORD, call]).1.text_len(), 4);
}

#[test]
fn an_event_that_is_no_json_is_counted_and_harms_nothing() {
    let (meanings, reader) = chat(&[ROLE, "oops", WORD, "{\"choices\": [oops", "12", STOP]);
    assert_eq!(meanings, [Preamble, Malformed, Content, Malformed, Malformed, FINISH]);
    assert!(reader.is_complete());
    assert_eq!(reader.malformed(), 3);
}

#[test]
fn a_field_of_the_wrong_kind_hides_nothing() {
    for event in [
        r#"{"choices":"x","usage":[1],"error":{"m":1}}"#,
        r#"{"choices":[1,null,{"delta":7,"index":"a","error":{"m":1}}]}"#,
        r#"{"choices":[{"delta":[],"finish_reason":{"type":"x"}}],"usage":{"prompt_tokens":"9"},"error":{"m":1}}"#,
    ] {
        assert_eq!(chat(&[event]).0, [Error], "{event}");
    }
}

#[test]
fn completions_have_their_text_in_choices() {
    let word = r#"{"choices":[{"index":0,"text":"word","finish_reason":null}]}"#;
    let end = r#"{"choices":[{"index":0,"text":"","finish_reason":"stop"}],"usage":null}"#;
    let (meanings, reader) = run(Dialect::Completions, &stream(&[word, word, end, "[DONE]"]));
    assert_eq!(meanings, [Content, Content, FINISH, END]);
    assert_eq!((reader.is_complete(), reader.text_len()), (true, 8));
}

#[test]
fn groq_counts_tokens_in_a_field_of_its_own() {
    let chunk = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":5,"completion_tokens":6}}}"#;
    let usage = chat(&[ROLE, WORD, chunk]).1.usage();
    assert_eq!((usage.input, usage.output), (Some(5), Some(6)));
}

const START: &str = r#"{"type":"message_start","message":{"id":"m","type":"message","content":[],"stop_reason":null,"usage":{"input_tokens":8834,"output_tokens":1}}}"#;
const PING: &str = r#"{"type":"ping"}"#;
const BLOCK: &str = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const TEXT: &str = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word"}}"#;
const BLOCK_END: &str = r#"{"type":"content_block_stop","index":0}"#;
const END_TURN: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"input_tokens":18,"cache_read_input_tokens":8831,"output_tokens":426}}"#;
const MESSAGE_STOP: &str = r#"{"type":"message_stop"}"#;

fn messages(events: &[&str]) -> (Vec<Meaning>, StreamReader) {
    let result = run(Dialect::Messages, &named(events));
    // The types in the data are enough.
    assert_eq!(run(Dialect::Messages, &stream(events)).0, result.0);
    result
}

#[test]
fn a_messages_stream_from_preamble_to_end() {
    let unknown = r#"{"type":"future_event"}"#;
    let (meanings, reader) =
        messages(&[START, PING, unknown, BLOCK, TEXT, TEXT, BLOCK_END, END_TURN, MESSAGE_STOP]);
    assert_eq!(meanings[..4], [Preamble; 4]);
    assert_eq!(meanings[4..], [Content, Content, Preamble, FINISH, END]);
    assert!(reader.is_complete() && !reader.is_empty_answer() && !reader.saw_done());
    assert_eq!(reader.text_len(), 8);
    let usage = reader.usage();
    assert_eq!((usage.input, usage.output, usage.cached), (Some(8849), Some(426), Some(8831)));
}

#[test]
fn a_messages_stream_is_complete_with_message_stop_only() {
    assert!(!messages(&[START, BLOCK, TEXT, BLOCK_END, END_TURN]).1.is_complete());
    assert!(!run(Dialect::Messages, &(named(&[START, BLOCK, TEXT]) + "data: [DONE]\n\n")).1.is_complete());
}

#[test]
fn blocks_and_deltas_of_messages() {
    let start =
        |block: &str| format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
    let delta = |delta: &str| format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#);
    for (event, meaning) in [
        (start(r#"{"type":"text","text":"x"}"#), Content),
        (start(r#"{"type":"thinking","thinking":"","signature":""}"#), Preamble),
        (start(r#"{"type":"redacted_thinking","data":"x"}"#), Content),
        (start(r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#), Content),
        (start(r#"{"type":"server_tool_use","id":"t","name":"web_search","input":{}}"#), Content),
        (delta(r#"{"type":"text_delta","text":""}"#), Preamble),
        (delta(r#"{"type":"input_json_delta","partial_json":""}"#), Preamble),
        (delta(r#"{"type":"input_json_delta","partial_json":"{\"a\""}"#), Content),
        (delta(r#"{"type":"thinking_delta","thinking":"hm"}"#), Content),
        (delta(r#"{"type":"signature_delta","signature":"abc"}"#), Preamble),
        (delta(r#"{"type":"citations_delta","citation":{"type":"char_location"}}"#), Content),
    ] {
        for lead in [&[START][..], &[START, BLOCK, TEXT]] {
            let (meanings, _) = messages(&[lead, &[&event]].concat());
            assert_eq!(meanings.last(), Some(&meaning), "{event}");
        }
    }
    let tool = start(r#"{"type":"tool_use","id":"t","name":"f","input":{}}"#);
    assert!(messages(&[START, &tool]).1.in_tool_call());
    assert!(!messages(&[START, &tool, BLOCK_END]).1.in_tool_call());
}

#[test]
fn errors_and_refusals_of_messages() {
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    for lead in [&[][..], &[START, PING], &[START, BLOCK, TEXT]] {
        let (meanings, reader) = messages(&[lead, &[error]].concat());
        assert_eq!(meanings.last(), Some(&Error));
        assert_eq!(reader.failure().unwrap().object, r#"{"type":"overloaded_error","message":"Overloaded"}"#);
    }
    let refusal = END_TURN.replace("end_turn", "refusal").replace("426", "0");
    let (_, reader) = messages(&[START, &refusal, MESSAGE_STOP]);
    assert!(reader.is_complete() && !reader.is_empty_answer());
    assert_eq!(reader.finish(), Some(Finish::ContentFilter));
    // The one token of message_start is a guess.
    let nothing = END_TURN.replace("426", "0");
    assert!(messages(&[START, &nothing, MESSAGE_STOP]).1.is_empty_answer());
    assert!(messages(&[START, MESSAGE_STOP]).1.is_empty_answer());
    assert!(!messages(&[START, END_TURN, MESSAGE_STOP]).1.is_empty_answer());
}

fn responses(events: &[&str]) -> (Vec<Meaning>, StreamReader) {
    let result = run(Dialect::Responses, &named(events));
    assert_eq!(run(Dialect::Responses, &stream(events)).0, result.0);
    result
}

const CREATED: &str = r#"{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","error":null,"output":[],"usage":null}}"#;
const ITEM: &str = r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#;
const DELTA: &str = r#"{"type":"response.output_text.delta","sequence_number":4,"delta":"word"}"#;
const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"word"}]}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":1},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}}"#;

#[test]
fn a_responses_stream_from_preamble_to_end() {
    let (meanings, reader) = responses(&[CREATED, ITEM, DELTA, DELTA, COMPLETED]);
    assert_eq!(meanings, [Preamble, Preamble, Content, Content, Meaning::Terminal { content: true }]);
    assert!(reader.is_complete() && !reader.is_empty_answer());
    assert_eq!((reader.text_len(), reader.events()), (8, 5));
    let usage = reader.usage();
    assert_eq!(
        (usage.input, usage.output, usage.cached, usage.reasoning),
        (Some(9), Some(3), Some(1), Some(2))
    );
}

#[test]
fn ends_and_errors_of_responses() {
    let incomplete = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}"#;
    let (meanings, reader) = responses(&[CREATED, incomplete]);
    assert_eq!((meanings[1], reader.finish(), reader.is_empty_answer()), (END, Some(Finish::Length), false));
    for (event, object) in [
        (
            r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"server_is_overloaded"}}}"#,
            r#"{"code":"server_is_overloaded"}"#,
        ),
        (r#"{"type":"error","sequence_number":2,"error":{"code":"x"}}"#, r#"{"code":"x"}"#),
        (
            r#"{"type":"error","code":"x","message":"m","param":null}"#,
            r#"{"type":"error","code":"x","message":"m","param":null}"#,
        ),
    ] {
        for lead in [&[CREATED][..], &[CREATED, ITEM, DELTA]] {
            let (meanings, reader) = responses(&[lead, &[event]].concat());
            assert_eq!(meanings.last(), Some(&Error));
            assert_eq!(reader.failure().unwrap().object, object);
        }
    }
    assert!(
        responses(&[CREATED, r#"{"type":"response.completed","response":{"output":[]}}"#])
            .1
            .is_empty_answer()
    );
}

#[test]
fn tool_calls_and_reasoning_of_responses() {
    let call =
        r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}"#;
    let (meanings, reader) = responses(&[CREATED, call]);
    assert!(meanings[1] == Content && reader.in_tool_call());
    let done =
        r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"f","arguments":"{}"}}"#;
    assert!(!responses(&[CREATED, call, done]).1.in_tool_call());
    for kind in ["function_call_arguments", "reasoning_summary_text", "refusal", "audio"] {
        let delta = DELTA.replace("output_text", kind);
        assert_eq!(responses(&[CREATED, &delta]).0[1], Content, "{kind}");
        assert_eq!(responses(&[CREATED, DELTA, &delta]).0[2], Content, "{kind}");
        assert_eq!(responses(&[CREATED, &delta.replace("word", "")]).0[1], Preamble, "{kind}");
    }
    let reasoning = ITEM.replace("message", "reasoning");
    assert_eq!(responses(&[CREATED, &reasoning]).0[1], Preamble);
}

#[test]
fn a_gemini_stream() {
    let word = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"h"}]},"index":0}],"usageMetadata":{"promptTokenCount":2}}"#;
    let last = r#"{"candidates":[{"content":{"parts":[{"text":"i"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":2,"thoughtsTokenCount":5}}"#;
    let (meanings, reader) = run(Dialect::Gemini, &stream(&[word, last]));
    assert_eq!(meanings, [Content, Meaning::Finish { content: true }]);
    assert!(reader.is_complete());
    assert_eq!((reader.text_len(), reader.usage().output, reader.usage().reasoning), (2, Some(7), Some(5)));
    assert!(!run(Dialect::Gemini, &stream(&[word])).1.is_complete());
    // Bare JSON, pretty-printed, as the API sends some errors.
    let bare = "{\n  \"error\": {\n    \"code\": 500\n  }\n}\n";
    let (meanings, reader) = run(Dialect::Gemini, &(stream(&[word]) + bare));
    assert_eq!(meanings, [Content, Error]);
    assert_eq!(reader.failure().unwrap().object, "{\n    \"code\": 500\n  }");
    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#;
    let (meanings, reader) = run(Dialect::Gemini, &stream(&[blocked]));
    assert!(meanings == [FINISH] && reader.is_complete() && !reader.is_empty_answer());
    let flake = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#;
    assert_eq!(run(Dialect::Gemini, &stream(&[flake])).0, [Error]);
    let call = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}"#;
    assert!(run(Dialect::Gemini, &stream(&[call])).1.in_tool_call());
    let signature = r#"{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"x"}]}}]}"#;
    assert_eq!(run(Dialect::Gemini, &stream(&[signature])).0, [Preamble]);
}

#[test]
fn a_cohere_stream_ends_with_message_end() {
    let events = [
        r#"{"type":"message-start","id":"t"}"#,
        r#"{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"hi"}}}}"#,
    ];
    let good = r#"{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":3,"output_tokens":4}}}}"#;
    let (meanings, reader) = run(Dialect::Cohere, &named(&[&events[..], &[good]].concat()));
    assert_eq!(meanings, [Preamble, Content, END]);
    assert!(reader.is_complete());
    assert_eq!(reader.usage().output, Some(4));
    let bad = r#"{"type":"message-end","delta":{"finish_reason":"ERROR","error":"generation failed"}}"#;
    let (meanings, reader) = run(Dialect::Cohere, &named(&[&events[..], &[bad]].concat()));
    assert_eq!(meanings, [Preamble, Content, Error]);
    assert_eq!(reader.failure().unwrap().object, "\"generation failed\"");
}

#[test]
fn ollamas_lines_end_with_done() {
    let word = Bytes::from(r#"{"model":"m","message":{"role":"assistant","content":"hi"},"done":false}"#);
    let last = Bytes::from(
        r#"{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":2,"eval_count":1}"#,
    );
    let mut reader = StreamReader::new(Dialect::Ollama);
    assert_eq!(reader.read_data(b"", &word), Content);
    assert!(!reader.is_complete());
    assert_eq!(reader.read_data(b"", &last), END);
    assert!(reader.is_complete());
    assert_eq!((reader.usage().input, reader.usage().output), (Some(2), Some(1)));
    assert_eq!(reader.read_data(b"", &Bytes::from(r#"{"error":"boom"}"#)), Error);
}

#[test]
fn a_model_of_ollamas_that_was_only_loaded_has_not_answered() {
    for reason in ["load", "unload"] {
        let line = format!(
            r#"{{"message":{{"role":"assistant","content":""}},"done":true,"done_reason":"{reason}"}}"#
        );
        let mut reader = StreamReader::new(Dialect::Ollama);
        reader.read_data(b"", &Bytes::from(line.clone()));
        assert!(reader.is_complete() && reader.is_empty_answer(), "{reason}");
        assert_eq!(read_whole(Dialect::Ollama, line.as_bytes()), Whole::Empty, "{reason}");
    }
}

#[test]
fn bedrocks_messages_and_exceptions() {
    let event = |kind: &str, payload: &str| {
        let wire = Message::encode(&[(":message-type", "event"), (":event-type", kind)], payload.as_bytes());
        let mut decoder = crate::sse::framing::eventstream::Decoder::new();
        decoder.push(wire);
        decoder.finish().unwrap().unwrap()
    };
    let mut reader = StreamReader::new(Dialect::Converse);
    for (kind, payload, meaning) in [
        ("messageStart", r#"{"role":"assistant"}"#, Preamble),
        ("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"hi"}}"#, Content),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#, Preamble),
        ("messageStop", r#"{"stopReason":"end_turn"}"#, FINISH),
        ("metadata", r#"{"usage":{"inputTokens":2,"outputTokens":1},"metrics":{"latencyMs":10}}"#, END),
    ] {
        assert_eq!(reader.read_message(&event(kind, payload)), meaning, "{kind}");
    }
    assert!(reader.is_complete());
    let wire = Message::encode(
        &[(":message-type", "exception"), (":exception-type", "throttlingException")],
        br#"{"message":"slow down"}"#,
    );
    let mut decoder = crate::sse::framing::eventstream::Decoder::new();
    decoder.push(wire);
    assert_eq!(reader.read_message(&decoder.finish().unwrap().unwrap()), Error);
    let failure = reader.failure().unwrap();
    assert_eq!(failure.reason.as_deref(), Some("throttlingException"));
    assert_eq!(failure.object, r#"{"message":"slow down"}"#);
}

#[test]
fn of_an_unknown_dialect_only_errors_are_known() {
    let (meanings, reader) = run(Dialect::Other, &stream(&["hello", r#"{"x":1}"#]));
    assert_eq!(meanings, [Content, Content]);
    assert!(reader.is_complete() && !reader.is_empty_answer());
    let (meanings, reader) = run(Dialect::Other, &stream(&["hello", r#"{"error":{"m":1}}"#]));
    assert_eq!(meanings, [Content, Error]);
    assert!(!reader.is_complete());
}

#[test]
fn the_fast_way_and_the_full_one_agree() {
    let (_, quick) = chat(&[ROLE, WORD, WORD, WORD]);
    let (_, full) = chat(&[
        &ROLE.replace(":", " : "),
        WORD,
        &WORD.replace(":{", " : { "),
        &WORD.replace("word", "w\\u006f\\u0072d"),
    ]);
    assert_eq!((quick.text_len(), quick.saw_content()), (12, true));
    assert_eq!((full.text_len(), full.saw_content()), (8 + 14, true));
}

#[test]
fn an_event_like_the_last_is_known_by_its_text_alone_and_nothing_hides_in_that() {
    let like = |text: &str| WORD.replace("word", text);
    let after = |text: &str| {
        let (meanings, reader) = chat(&[ROLE, WORD, WORD, WORD, &like(text)]);
        (meanings[4], reader.text_len() - 12, reader.failure().map(|failure| failure.object.clone()))
    };
    assert_eq!(after("x"), (Content, 1, None));
    assert_eq!(after(r#"say \"hi\" \\"#), (Content, 13, None));
    assert_eq!(after(""), (Preamble, 0, None));
    assert_eq!(after(r#"a","b":"c"#), (Content, 1, None));
    assert_eq!(after(r#"a"},"error":{"m":1},"x":{"y":"b"#), (Error, 0, Some(r#"{"m":1}"#.into())));
    assert_eq!(after(r#"a"},"finish_reason":"stop","x":{"y":"b"#).0, Meaning::Finish { content: true });
    assert_eq!(after(r#"","y":"b"#), (Preamble, 0, None));
    // The same data under another name.
    let text = stream(&[ROLE, WORD, WORD, WORD]) + "event: error\n" + &stream(&[WORD]);
    assert_eq!(run(Dialect::ChatCompletions, &text).0[4], Error);
}

#[test]
fn what_says_more_than_a_delta_is_read_in_full_whatever_the_events_name() {
    let terminal = Meaning::Terminal { content: false };
    let finish = Meaning::Finish { content: true };
    let cases = [
        (Dialect::Messages, TEXT, "content_block_delta", r#"{"type":"message_stop","text":"x"}"#, terminal),
        (
            Dialect::Messages,
            TEXT,
            "content_block_delta",
            r#"{"type":"content_block_delta","delta":{"text":"x","stop_reason":"end_turn"}}"#,
            finish,
        ),
        (
            Dialect::Messages,
            TEXT,
            "content_block_delta",
            r#"{"type":"content_block_delta","delta":{"text":"x"},"usage":{"output_tokens":7}}"#,
            Content,
        ),
        (
            Dialect::Messages,
            TEXT,
            "content_block_delta",
            r#"{"type":"message_delta","delta":{"text":"x"}}"#,
            Content,
        ),
        (
            Dialect::Responses,
            DELTA,
            "response.output_text.delta",
            r#"{"type":"response.failed","delta":"x"}"#,
            Error,
        ),
        (
            Dialect::Responses,
            DELTA,
            "response.output_text.delta",
            r#"{"type":"response.output_text.delta","delta":"x","incomplete_details":{"reason":"length"}}"#,
            finish,
        ),
        (
            Dialect::Responses,
            DELTA,
            "response.output_text.delta",
            r#"{"type":"response.output_text.delta","delta":"x","item":{"type":"function_call"}}"#,
            Content,
        ),
    ];
    for (dialect, lead, name, data, meaning) in cases {
        let read = |data: String| {
            let mut reader = StreamReader::new(dialect);
            reader.read(&Event::new(name, lead));
            reader.read(&Event::new(name, lead));
            assert_eq!(reader.read(&Event::new(name, data.clone())), meaning, "{data}");
            (reader.text_len(), reader.is_complete(), reader.in_tool_call(), reader.usage(), reader.finish())
        };
        assert_eq!(read(data.to_owned()), read(format!("\n{data}")), "{data}");
    }
    // A choice of which the number is written in another way is another choice.
    let index = |n: &str, rest: &str| format!(r#"{{"choices":[{{"index":{n},{rest}}}]}}"#);
    let word = r#""delta":{"content":"x"}"#;
    let stop = r#""finish_reason":"stop""#;
    let events = [index("1", word), index("1", word), index("1e1", word), index("1", stop)];
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    assert!(!chat(&events).1.is_complete());
}

#[test]
fn events_that_differ_in_more_than_their_text_are_read_all_the_same() {
    let varied =
        |n: usize| WORD.replace("\"id\":\"c\"", &format!("\"id\":\"{n}\"")).replace("word", &"w".repeat(n));
    let events: Vec<_> = (1..40).map(varied).collect();
    let events: Vec<_> = [ROLE].into_iter().chain(events.iter().map(String::as_str)).collect();
    let (meanings, reader) = chat(&events);
    assert!(meanings[1..].iter().all(|meaning| *meaning == Content));
    assert_eq!(reader.text_len(), (1..40).sum::<usize>());
}

/// Streams with something of everything, for the tests that cut them.
fn samples() -> Vec<(Dialect, String)> {
    let error = r#"{"error":{"message":"m"}}"#;
    vec![
        (Dialect::ChatCompletions, format!(": hi\n\n{}", stream(&[ROLE, WORD, WORD, STOP, USAGE, "[DONE]"]))),
        (Dialect::ChatCompletions, stream(&[ROLE, WORD, "oops", error, "[DONE]"]).replace('\n', "\r\n")),
        (Dialect::Messages, named(&[START, PING, BLOCK, TEXT, TEXT, BLOCK_END, END_TURN, MESSAGE_STOP])),
        (Dialect::Responses, named(&[CREATED, ITEM, DELTA, DELTA, COMPLETED]).replace('\n', "\r")),
    ]
}

#[test]
fn wherever_a_stream_is_cut_it_means_the_same() {
    for (dialect, text) in samples() {
        let (meanings, reader) = run(dialect, &text);
        let same = |pieces: &[&[u8]]| {
            let (cut_meanings, cut) = run_pieces(dialect, pieces);
            assert_eq!(cut_meanings, meanings);
            assert_eq!(format!("{cut:?}"), format!("{reader:?}"));
        };
        let text = text.as_bytes();
        for cut in 0..=text.len() {
            same(&[&text[..cut], &text[cut..]]);
            // Pairs of cuts at all distances would take minutes here: the scanner's tests have them.
            for second in (cut..=text.len()).step_by(401) {
                same(&[&text[..cut], &text[cut..second], &text[second..]]);
            }
        }
        same(&text.chunks(1).collect::<Vec<_>>());
    }
}

#[test]
fn a_stream_that_ends_early_is_complete_only_past_its_terminal() {
    for (dialect, text) in samples() {
        let complete: Vec<_> =
            (0..=text.len()).map(|end| run(dialect, &text[..end]).1.is_complete()).collect();
        let first = complete.iter().position(|&complete| complete);
        assert_eq!(first.is_some(), complete[text.len()]);
        if let Some(first) = first {
            // What may follow the end: the usage chunk and `[DONE]`.
            assert!(text.len() - first < 350 && complete[first..].iter().all(|&complete| complete));
        }
    }
}

const DIALECTS: [Dialect; 10] = [
    Dialect::ChatCompletions,
    Dialect::Completions,
    Dialect::Responses,
    Dialect::Messages,
    Dialect::Embeddings,
    Dialect::Gemini,
    Dialect::Cohere,
    Dialect::Ollama,
    Dialect::Converse,
    Dialect::Other,
];

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("0".to_owned()),
        Just("1e400".to_owned()),
        Just("-7.5".to_owned()),
        Just("[]".to_owned()),
        prop::sample::select(vec![
            "stop",
            "error",
            "x",
            "",
            "tool_use",
            "text",
            "message_stop",
            "\\u00e9",
            "\\\""
        ])
        .prop_map(|word| format!("\"{word}\"")),
    ];
    let keys = vec![
        "error",
        "choices",
        "delta",
        "message",
        "content",
        "finish_reason",
        "index",
        "usage",
        "type",
        "text",
        "output",
        "item",
        "response",
        "candidates",
        "parts",
        "tool_calls",
        "status",
        "content_block",
        "details",
        "code",
        "attempts",
        "completion_tokens",
        "err\\u006fr",
        "done",
        "stopReason",
    ];
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            prop::collection::vec((prop::sample::select(keys.clone()), inner), 0..5).prop_map(|fields| {
                let fields: Vec<_> =
                    fields.iter().map(|(key, value)| format!("\"{key}\" :{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    })
}

/// The fields named `error` at the top, read by another hand.
fn has_top_error(text: &str) -> bool {
    use serde_json::Value;
    let filled = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(n) => n.as_f64() != Some(0.0),
        Value::String(s) => !s.is_empty(),
        Value::Array(a) => !a.is_empty(),
        Value::Object(o) => !o.is_empty(),
        Value::Bool(true) => true,
    };
    serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("error").is_some_and(filled))
}

proptest! {
    #[test]
    fn arbitrary_bytes_harm_no_reader(data in prop::collection::vec(any::<u8>(), 0..100), name in "[a-z_.]{0,20}") {
        for dialect in DIALECTS {
            let mut reader = StreamReader::new(dialect);
            reader.read(&Event::new("", WORD));
            reader.read(&Event::new(name.clone(), data.clone()));
            read_whole(dialect, &data);
        }
        for family in [ErrorFamily::OpenAi, ErrorFamily::Anthropic, ErrorFamily::Gemini] {
            with_attempts(family, &data, &[]);
        }
    }

    #[test]
    fn arbitrary_json_harms_no_reader_and_hides_no_error(text in json()) {
        for dialect in DIALECTS {
            let error = has_top_error(&text);
            let found = matches!(read_whole(dialect, text.as_bytes()), Whole::Error { .. } | Whole::NotJson);
            prop_assert!(!error || found, "{dialect:?}: {text}");
            for lead in [None, Some(WORD)] {
                let mut reader = StreamReader::new(dialect);
                lead.map(|lead| reader.read(&Event::new("", lead)));
                let meaning = reader.read(&Event::new("", text.clone()));
                prop_assert!(!error || matches!(meaning, Error | Malformed), "{dialect:?}: {text}");
            }
        }
        for family in [ErrorFamily::OpenAi, ErrorFamily::Anthropic, ErrorFamily::Gemini] {
            if let Some(body) = with_attempts(family, text.as_bytes(), &[]) {
                prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok());
            }
        }
    }

    #[test]
    fn after_content_the_fast_way_says_what_the_full_one_says(
        fields in prop::collection::vec(prop::sample::select(vec![
            r#""content":"x""#, r#""content":"""#, r#""content" : "a\"b""#, r#""reasoning_content":"r""#,
            r#""tool_calls":[{"index":0}]"#, r#""refusal":null"#, r#""role":"assistant""#,
        ]), 0..3),
        after in prop::collection::vec(prop::sample::select(vec![
            r#""finish_reason":null"#, r#""finish_reason" : "stop""#, r#""logprobs":{"content":[]}"#,
            r#""error":{"m":1}"#, r#""index":0"#, r#""index": 3"#,
        ]), 0..3),
        top in prop::collection::vec(prop::sample::select(vec![
            r#""usage":null"#, r#""usage":{"completion_tokens":4}"#, r#""error":null"#, r#""error":{"m":1}"#,
            r#""\u0065rror":{"m":1}"#, r#""id":"\u00e9""#, r#""object":"error""#,
        ]), 0..3),
    ) {
        let tail: String = after.iter().map(|field| format!(",{field}")).collect();
        let rest: String = top.iter().map(|field| format!(",{field}")).collect();
        let event = format!(r#"{{"choices":[{{"delta":{{{}}}{tail}}}]{rest}}}"#, fields.join(","));
        // White space before the data keeps it from the fast way.
        let slow = format!("\n{event}");
        let read = |event: String| {
            let mut reader = StreamReader::new(Dialect::ChatCompletions);
            reader.read(&Event::new("", WORD));
            reader.read(&Event::new("", WORD));
            let meaning = reader.read(&Event::new("", event));
            (meaning, reader.text_len(), reader.is_complete(), reader.in_tool_call(), reader.usage())
        };
        prop_assert_eq!(read(event.clone()), read(slow), "{}", event);
    }
}

/// Events of each dialect that are content and little else, with `%` where the text stands.
const PIECES: [(Dialect, &str, &str); 10] = [
    (
        Dialect::ChatCompletions,
        "",
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"%"},"finish_reason":null}]}"#,
    ),
    (
        Dialect::ChatCompletions,
        "",
        r#"{"choices":[{"index":1,"delta":{"reasoning":"%","content":""},"logprobs":null}],"usage":null,"obfuscation":"%"}"#,
    ),
    (
        Dialect::ChatCompletions,
        "",
        r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%"}}]}}],"p":"%"}"#,
    ),
    (Dialect::Completions, "", r#"{"choices":[{"text":"%","index":0}]}"#),
    (
        Dialect::Messages,
        "content_block_delta",
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%"}}"#,
    ),
    (
        Dialect::Messages,
        "content_block_delta",
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"%"}}"#,
    ),
    (
        Dialect::Responses,
        "response.output_text.delta",
        r#"{"type":"response.output_text.delta","sequence_number":7,"delta":"%","obfuscation":"%"}"#,
    ),
    (
        Dialect::Gemini,
        "",
        r#"{"candidates":[{"content":{"parts":[{"text":"%"}],"role":"model"},"index":0}]}"#,
    ),
    (
        Dialect::Cohere,
        "content-delta",
        r#"{"type":"content-delta","delta":{"message":{"content":{"text":"%"}}}}"#,
    ),
    (
        Dialect::Ollama,
        "",
        r#"{"model":"m","created_at":"%","message":{"role":"assistant","content":"%"},"done":false}"#,
    ),
];

/// What the text may be replaced by, well-formed and not, and what may become of the event around it.
fn mutation() -> impl Strategy<Value = Vec<(usize, String)>> {
    let text = prop::sample::select(vec![
        "x",
        "Hi there",
        "",
        "\\n",
        "\\\"",
        "a\\",
        "\\u00e9",
        "\\ud800",
        "\\u12",
        "é",
        "\u{1fa90}",
        "\t",
        "\u{1}",
        "\"",
        "\",\"error\":{\"m\":1},\"z\":\"",
        "\"},\"finish_reason\":\"stop\",\"z\":{\"y\":\"",
        "\r",
        "\n",
        "\n\n",
        "data: {}",
        "\\/",
        "{\\\"a\\\":1}",
        "stop",
        "error",
    ]);
    prop::collection::vec((any::<usize>(), text.prop_map(str::to_owned)), 0..4)
}

/// A stream of an event in so many forms: `%` filled in, digits counted on, and now and then a byte that is another.
fn forms(
    template: &str,
    name: &str,
    mutations: &[Vec<(usize, String)>],
    ends: &[bool],
    flips: &[(usize, u8)],
) -> Vec<u8> {
    let mut stream = Vec::new();
    for (n, mutation) in mutations.iter().enumerate() {
        let mut data = template.replace('7', &(7 + n * 13).to_string());
        for at in 0..2 {
            let text = mutation.iter().find(|(place, _)| place % 2 == at).map_or("word", |(_, text)| text);
            data = data.replacen('%', text, 1);
        }
        let line = if ends.get(n).copied().unwrap_or(false) { "\r\n" } else { "\n" };
        let named = if name.is_empty() { String::new() } else { format!("event: {name}{line}") };
        stream.extend_from_slice(format!("{named}data: {data}{line}{line}").as_bytes());
    }
    for (at, byte) in flips {
        let place = at % (stream.len() * 4 + 1);
        if let Some(place) = stream.get_mut(place) {
            *place = *byte;
        }
    }
    stream
}

/// All that a reader knows.
fn totals(reader: &StreamReader) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (reader.is_complete(), reader.is_empty_answer(), reader.saw_done(), reader.saw_content()),
        (reader.in_tool_call(), reader.finish(), reader.usage(), reader.malformed(), reader.events()),
        (reader.text_len(), reader.failure().cloned()),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whole blocks by their likeness, against each event read in full by a reader that has learnt nothing.
    #[test]
    fn what_is_alike_means_what_it_means_in_full(
        piece in 0..PIECES.len(),
        mutations in prop::collection::vec(mutation(), 1..8),
        ends in prop::collection::vec(any::<bool>(), 0..8),
        flips in prop::collection::vec((any::<usize>(), any::<u8>()), 0..3),
        cut in any::<usize>(),
    ) {
        let (dialect, name, template) = PIECES[piece];
        let stream = Bytes::from(forms(template, name, &mutations, &ends, &flips));
        let cut = cut % (stream.len() + 1);
        let (mut quick, mut full) = (StreamReader::new(dialect), StreamReader::new(dialect));
        let (mut by_likeness, mut in_full) = (Vec::new(), Vec::new());
        let (mut scanner, mut other) = (Scanner::new(), Scanner::new());
        for frame in [stream.slice(..cut), stream.slice(cut..)] {
            scanner.push(frame.clone());
            loop {
                let alike = scanner.ahead().map_or(0, |ahead| quick.read_alike(ahead, usize::MAX));
                by_likeness.extend_from_slice(&scanner.skip(alike));
                let Some(block) = scanner.next_block().unwrap() else { break };
                quick.read_block(&block);
                by_likeness.extend_from_slice(&block.raw);
            }
            other.push(frame);
            while let Some(block) = other.next_block().unwrap() {
                full.forget();
                full.read_block(&block);
                in_full.extend_from_slice(&block.raw);
            }
            // The halves of an event are with the scanner; what was handed on is the same.
            prop_assert_eq!(by_likeness.len(), in_full.len());
            prop_assert_eq!(totals(&quick), totals(&full), "{}", stream.escape_ascii());
        }
        prop_assert!(stream.starts_with(&by_likeness));
    }
}

#[test]
fn events_of_every_dialect_are_known_by_their_likeness() {
    for (dialect, name, template) in PIECES {
        let stream = forms(template, name, &vec![Vec::new(); 5], &[], &[]);
        let mut reader = StreamReader::new(dialect);
        let mut scanner = Scanner::new();
        scanner.push(stream.into());
        reader.read_block(&scanner.next_block().unwrap().unwrap());
        let rest = scanner.ahead().unwrap().to_vec();
        assert_eq!(reader.read_alike(&rest, usize::MAX), rest.len(), "{template}");
        assert_eq!((reader.events(), reader.saw_content()), (5, true), "{template}");
        // An event over its bound is left to the scanner, which says so.
        assert_eq!(reader.read_alike(&rest, 20), 0, "{template}");
    }
}

#[test]
fn nesting_of_any_depth_is_skipped() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let deep = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        for dialect in DIALECTS {
            for field in ["x", "choices", "error", "content", "delta", "output", "message", "usage"] {
                let body = format!("{{\"{field}\":{deep}}}");
                read_whole(dialect, body.as_bytes());
                StreamReader::new(dialect).read(&Event::new("", body));
            }
            read_whole(dialect, deep.as_bytes());
        }
    }
}

#[test]
fn whole_answers_and_what_is_none() {
    let answer = |dialect, body: &str| match read_whole(dialect, body.as_bytes()) {
        Whole::Answer(answer) => answer,
        other => panic!("{body}: {other:?}"),
    };
    let choice = |finish: &str, text: &str, tokens: u32| {
        format!(
            r#"{{"choices":[{{"index":0,"finish_reason":{finish},"message":{{"role":"assistant","content":{text}}}}}],"usage":{{"prompt_tokens":9,"completion_tokens":{tokens}}}}}"#
        )
    };
    use Dialect::*;
    let good = answer(ChatCompletions, &format!("\n\n \r\n{}", choice("\"stop\"", "\"hi\"", 3)));
    assert_eq!(
        (good.usage.input, good.usage.output, good.finish, good.content),
        (Some(9), Some(3), Some(Finish::Stop), true)
    );
    answer(ChatCompletions, &choice("\"stop\"", "\"\"", 1));
    for reason in ["length", "content_filter", "tool_calls"] {
        answer(ChatCompletions, &choice(&format!("\"{reason}\""), "null", 0));
    }
    answer(
        ChatCompletions,
        r#"{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"no"}}]}"#,
    );
    answer(Completions, r#"{"choices":[{"text":"hi"}]}"#);
    answer(
        Messages,
        r#"{"type":"message","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#,
    );
    assert_eq!(
        answer(Messages, r#"{"type":"message","content":[],"stop_reason":"refusal"}"#).finish,
        Some(Finish::ContentFilter)
    );
    answer(
        Messages,
        r#"{"type":"message","content":[],"stop_reason":"end_turn","usage":{"output_tokens":3}}"#,
    );
    answer(
        Responses,
        r#"{"object":"response","status":"completed","error":null,"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}"#,
    );
    answer(Responses, r#"{"status":"queued","error":null,"output":[]}"#);
    answer(Gemini, r#"{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}"#);
    assert_eq!(
        answer(Gemini, r#"{"promptFeedback":{"blockReason":"OTHER"}}"#).finish,
        Some(Finish::ContentFilter)
    );
    answer(
        Gemini,
        r#"[{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]},{"candidates":[{"finishReason":"STOP"}]}]"#,
    );
    answer(
        Embeddings,
        r#"{"object":"list","data":[{"object":"embedding","embedding":[0.1,1e400]}],"usage":{"prompt_tokens":2}}"#,
    );
    answer(
        Cohere,
        r#"{"id":"x","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
    );
    answer(Ollama, r#"{"message":{"role":"assistant","content":"hi"},"done":true}"#);
    answer(
        Converse,
        r#"{"output":{"message":{"role":"assistant","content":[{"text":"hi"}]}},"stopReason":"end_turn"}"#,
    );
    for body in ["", "RIFF....", "{}", "null", "<html>"] {
        answer(Other, body);
    }

    for (dialect, body) in [
        (ChatCompletions, choice("\"stop\"", "\"\"", 0)),
        (ChatCompletions, choice("\"\"", "\"\"", 0)),
        (ChatCompletions, r#"{"choices":[]}"#.into()),
        (ChatCompletions, r#"{"choices":null}"#.into()),
        (ChatCompletions, "{}".into()),
        (ChatCompletions, "null".into()),
        (ChatCompletions, "\"hi\"".into()),
        (Messages, r#"{"type":"message","content":[],"stop_reason":"end_turn"}"#.into()),
        (Messages, r#"{"type":"message"}"#.into()),
        (Responses, r#"{"status":"completed","output":[]}"#.into()),
        (Gemini, r#"{"usageMetadata":{"promptTokenCount":5}}"#.into()),
        (Gemini, r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}"#.into()),
        (Embeddings, r#"{"data":[]}"#.into()),
        (Cohere, r#"{"message":{"content":[]},"finish_reason":"COMPLETE"}"#.into()),
    ] {
        assert_eq!(read_whole(dialect, body.as_bytes()), Whole::Empty, "{dialect:?} {body}");
    }

    for body in ["", " \n\n", "<!DOCTYPE html>", r#"{"id":"x","cho"#, r#"{"choices":[]} x"#] {
        for dialect in DIALECTS.into_iter().filter(|dialect| *dialect != Other) {
            assert_eq!(read_whole(dialect, body.as_bytes()), Whole::NotJson, "{dialect:?} {body}");
        }
    }
}

#[test]
fn errors_inside_a_200() {
    let object = r#"{"code":502,"message":"failed"}"#;
    let error = |dialect, body: &str| match read_whole(dialect, body.as_bytes()) {
        Whole::Error { object, reason } => (std::str::from_utf8(object).unwrap().to_owned(), reason),
        other => panic!("{body}: {other:?}"),
    };
    for dialect in DIALECTS {
        assert_eq!(error(dialect, &format!(r#" {{ "error" : {object} }} "#)).0, object);
        assert_eq!(error(dialect, r#"{"error":"Unauthorized"}"#).0, "\"Unauthorized\"");
    }
    for dialect in [Dialect::ChatCompletions, Dialect::Gemini, Dialect::Embeddings, Dialect::Other] {
        assert_eq!(error(dialect, &format!(r#"[{{"error":{object}}}]"#)).0, object);
    }
    let chat = Dialect::ChatCompletions;
    assert_eq!(error(chat, &format!(r#"{{"choices":[{{"error":{object},"finish_reason":"error","message":{{"content":"half"}}}}]}}"#)).0, object);
    let interrupted =
        r#"{"choices":[{"finish_reason":"insufficient_system_resource","message":{"content":""}}]}"#;
    assert_eq!(error(chat, interrupted), (interrupted.into(), Some("insufficient_system_resource".into())));
    assert_eq!(error(Dialect::Messages, &format!(r#"{{"type":"error","error":{object}}}"#)).0, object);
    assert_eq!(
        error(Dialect::Responses, &format!(r#"{{"status":"failed","error":{object},"output":[]}}"#)).0,
        object
    );
    let flat = r#"{"message":"no such model"}"#;
    assert_eq!(error(Dialect::Cohere, flat).0, flat);
    assert_eq!(error(Dialect::Converse, flat).0, flat);
}

#[test]
fn paths_and_their_dialects() {
    use Dialect::*;
    for (path, dialect) in [
        ("/v1/chat/completions", ChatCompletions),
        ("/chat/completions/", ChatCompletions),
        ("/openai/deployments/gpt/chat/completions?api-version=1", ChatCompletions),
        ("chat/completions", ChatCompletions),
        ("/v1/completions", Completions),
        ("/v1/responses", Responses),
        ("/v1/responses/resp_1", Other),
        ("/v1/messages", Messages),
        ("/messages", Messages),
        ("/anthropic/v1/messages?beta=true", Messages),
        ("/v1/threads/t/messages", Other),
        ("/v1/embeddings", Embeddings),
        ("/v1/models/m:generateContent", Gemini),
        ("/v1beta/models/m:streamGenerateContent?alt=sse", Gemini),
        ("/v1beta/models/m:countTokens", Other),
        ("/v1beta/openai/chat/completions", ChatCompletions),
        ("/v2/chat", Cohere),
        ("/api/chat", Ollama),
        ("/model/m/converse-stream", Converse),
        ("/v1/notchat/xcompletions", Other),
        ("/v1/models", Other),
        ("", Other),
    ] {
        assert_eq!(Dialect::of_path(path), dialect, "{path}");
    }
    assert_eq!(ErrorFamily::of_path("/v1beta/openai/chat/completions"), ErrorFamily::OpenAi);
    assert_eq!(ErrorFamily::of_path("/v1beta/models"), ErrorFamily::Gemini);
    assert_eq!(ErrorFamily::of_path("/v1/messages"), ErrorFamily::Anthropic);
    assert_eq!(ErrorFamily::of_path("/v1/models/m"), ErrorFamily::OpenAi);
}

fn attempt() -> Attempt {
    Attempt {
        provider: "a".into(),
        model: "m".into(),
        status: Some(500),
        class: "server_error",
        message: "say \"no\"\n".into(),
        ms: 12,
    }
}

const ATTEMPT: &str =
    r#"{"provider":"a","model":"m","status":500,"class":"server_error","message":"say \"no\"\n","ms":12}"#;

#[test]
fn rendered_errors_have_the_shape_of_their_family() {
    let attempts = [attempt()];
    let error = ErrorBody {
        param: Some("n"),
        attempts: &attempts,
        ..ErrorBody::new(502, "upstream_malformed", "bad")
    };
    assert_eq!(
        render_error(ErrorFamily::OpenAi, &error),
        format!(
            r#"{{"error":{{"message":"bad","type":"server_error","param":"n","code":"upstream_malformed","attempts":[{ATTEMPT}]}}}}"#
        )
    );
    assert_eq!(
        render_error(ErrorFamily::Anthropic, &error),
        format!(
            r#"{{"type":"error","error":{{"type":"api_error","message":"bad","code":"upstream_malformed","param":"n","attempts":[{ATTEMPT}]}}}}"#
        )
    );
    let gemini: serde_json::Value =
        serde_json::from_slice(&render_error(ErrorFamily::Gemini, &error)).unwrap();
    let error = &gemini["error"];
    assert_eq!((error["code"].as_u64(), error["status"].as_str()), (Some(502), Some("UNAVAILABLE")));
    assert_eq!(error["details"][0]["reason"], "upstream_malformed");
    assert_eq!(error["details"][1]["fieldViolations"][0]["field"], "n");
    assert_eq!(error["details"][2]["attempts"][0]["provider"], "a");
}

#[test]
fn types_follow_the_status() {
    let kind = |family, status, at: &str| {
        let body = render_error(family, &ErrorBody::new(status, "c", "m"));
        serde_json::from_slice::<serde_json::Value>(&body).unwrap()["error"][at].as_str().unwrap().to_owned()
    };
    for (status, anthropic, openai, gemini) in [
        (400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
        (401, "authentication_error", "authentication_error", "UNAUTHENTICATED"),
        (404, "not_found_error", "not_found_error", "NOT_FOUND"),
        (413, "request_too_large", "invalid_request_error", "INVALID_ARGUMENT"),
        (429, "rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        (500, "api_error", "server_error", "INTERNAL"),
        (503, "overloaded_error", "service_unavailable_error", "UNAVAILABLE"),
        (504, "timeout_error", "timeout_error", "DEADLINE_EXCEEDED"),
        (529, "overloaded_error", "service_unavailable_error", "UNAVAILABLE"),
    ] {
        assert_eq!(kind(ErrorFamily::Anthropic, status, "type"), anthropic);
        assert_eq!(kind(ErrorFamily::OpenAi, status, "type"), openai);
        assert_eq!(kind(ErrorFamily::Gemini, status, "status"), gemini);
    }
}

#[test]
fn a_rendered_stream_error_is_one_event_that_its_own_reader_takes_for_an_error() {
    let attempts = [attempt()];
    let error = ErrorBody { attempts: &attempts, ..ErrorBody::new(504, "idle_timeout", "silent\nfor 30 s") };
    for dialect in
        DIALECTS.into_iter().filter(|dialect| !matches!(dialect, Dialect::Ollama | Dialect::Converse))
    {
        let wire = render_stream_error(dialect, &error, 7);
        let (meanings, reader) = run_pieces(dialect, &[&wire]);
        assert_eq!(meanings, [Error], "{dialect:?}");
        let object: serde_json::Value = serde_json::from_slice(&reader.failure().unwrap().object).unwrap();
        assert!(object["message"].as_str() == Some("silent\nfor 30 s"));
    }
    let start = |dialect| render_stream_error(dialect, &error, 7);
    assert!(start(Dialect::ChatCompletions).starts_with(b"data: {\"error\":{\"message\""));
    assert!(start(Dialect::Messages).starts_with(b"event: error\ndata: {\"type\":\"error\",\"error\":{"));
    assert!(start(Dialect::Responses).starts_with(b"event: error\ndata: {\"type\":\"error\",\"error\":{"));
    assert!(start(Dialect::Responses).ends_with(b",\"sequence_number\":7}\n\n"));
    assert!(start(Dialect::Gemini).starts_with(b"data: {\"error\":{\"code\":504"));
}

#[test]
fn a_keepalive_is_no_content() {
    for dialect in DIALECTS {
        let (meanings, reader) = run_pieces(dialect, &[&keepalive(dialect)]);
        assert!(meanings.iter().all(|meaning| *meaning == Preamble) && !reader.saw_content());
    }
}

#[test]
fn a_providers_own_error_is_kept_as_it_came() {
    let add = |family, body: &str| {
        with_attempts(family, body.as_bytes(), &[attempt()])
            .map(|body| String::from_utf8(body.to_vec()).unwrap())
    };
    let openai = r#"{ "error" : {"z": 1.50, "message": "m", "code": 12345678901234567890123, "a": null } , "user_id":"u"}"#;
    assert_eq!(
        add(ErrorFamily::OpenAi, openai).unwrap(),
        openai.replace(r#""a": null }"#, &format!(r#""a": null,"attempts":[{ATTEMPT}] }}"#))
    );
    let anthropic = r#"{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}"#;
    assert_eq!(
        add(ErrorFamily::Anthropic, anthropic).unwrap(),
        anthropic.replace(r#""m"}"#, &format!(r#""m","attempts":[{ATTEMPT}]}}"#))
    );
    let entry = format!(r#"{{"@type":"type.googleapis.com/mainstay.Attempts","attempts":[{ATTEMPT}]}}"#);
    for (theirs, ours) in [
        (r#""details":[{"a":1}]"#, format!(r#""details":[{{"a":1}},{entry}]"#)),
        (r#""details":[ ]"#, format!(r#""details":[ {entry}]"#)),
        (r#""details":null"#, format!(r#""details":[{entry}]"#)),
        (r#""x":1"#, format!(r#""x":1,"details":[{entry}]"#)),
    ] {
        let body =
            |details: &str| format!(r#"{{"error":{{"code":429,"message":"m","status":"X",{details}}}}}"#);
        assert_eq!(add(ErrorFamily::Gemini, &body(theirs)).unwrap(), body(&ours));
    }
    // Unwrapped; and another gateway's list replaced.
    assert_eq!(
        add(ErrorFamily::OpenAi, r#"[{"error":{"message":"m","attempts":[1],"x":2}}]"#).unwrap(),
        format!(r#"{{"error":{{"message":"m","attempts":[{ATTEMPT}],"x":2}}}}"#)
    );
    for (family, body) in [
        (ErrorFamily::OpenAi, anthropic),
        (ErrorFamily::OpenAi, r#"{"error":"Unauthorized"}"#),
        (ErrorFamily::OpenAi, r#"{"object":"error","message":"m"}"#),
        (ErrorFamily::OpenAi, r#"{"error":{"code":1}}"#),
        (ErrorFamily::OpenAi, "<html>"),
        (ErrorFamily::OpenAi, ""),
        (ErrorFamily::Anthropic, openai),
        (ErrorFamily::Anthropic, r#"{"error":{"type":"request_too_large","message":"m"}}"#),
        (ErrorFamily::Gemini, r#"{"error":{"code":"429","message":"m"}}"#),
    ] {
        assert_eq!(add(family, body), None, "{body}");
    }
}

#[test]
fn what_breaks_its_readers_is_no_answer() {
    let chat = |message: &str, finish: &str| {
        let usage = r#""usage":{"prompt_tokens":1,"completion_tokens":5}"#;
        (
            Dialect::ChatCompletions,
            format!(r#"{{"choices":[{{"message":{message},"finish_reason":"{finish}"}}],{usage}}}"#),
        )
    };
    let call = |arguments: &str| {
        let arguments = serde_json::to_string(arguments).unwrap();
        format!(
            r#"{{"content":null,"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]}}"#
        )
    };
    let item = |arguments: &str, status: &str| {
        let arguments = serde_json::to_string(arguments).unwrap();
        let call = format!(r#"{{"type":"function_call","status":"{status}","arguments":{arguments}}}"#);
        (Dialect::Responses, format!(r#"{{"status":"completed","output":[{call}]}}"#))
    };
    let other = |dialect, text: &str| (dialect, text.to_owned());
    for (dialect, body) in [
        chat(r#"{"content":5}"#, "stop"),
        chat(r#"{"content":{"text":"x"}}"#, "stop"),
        chat(r#"{"content":"x","refusal":true}"#, "stop"),
        chat(r#""x""#, "stop"),
        chat("[1]", "stop"),
        chat(r#"{"content":"x","tool_calls":"f()"}"#, "stop"),
        chat(&call(r#"{"city": "Par"#), "tool_calls"),
        chat(&call(r#"{"city": "Par"#), "stop"),
        item(r#"{"a": [1"#, "completed"),
        other(Dialect::Messages, r#"{"content":[{"type":"text","text":7}],"stop_reason":"end_turn"}"#),
        other(Dialect::Messages, r#"{"content":["x"],"stop_reason":"end_turn"}"#),
        other(
            Dialect::Responses,
            r#"{"status":"completed","output":[{"type":"message","content":[{"text":1}]}]}"#,
        ),
        other(
            Dialect::Gemini,
            r#"{"candidates":[{"content":{"parts":[{"text":{}}]},"finishReason":"STOP"}]}"#,
        ),
    ] {
        assert_eq!(read_whole(dialect, body.as_bytes()), Whole::Broken, "{body}");
    }
    for (dialect, body) in [
        // What is sent in earnest: nulls, lists of parts, no arguments, arguments that are no JSON, arguments as an object.
        chat(r#"{"content":[{"type":"text","text":"x"}],"tool_calls":null}"#, "stop"),
        chat(r#"{"content":null,"refusal":null,"tool_calls":[]}"#, "stop"),
        chat(&call(""), "tool_calls"),
        chat(&call("{'city': 'Paris'}"), "tool_calls"),
        chat(r#"{"tool_calls":[{"function":{"name":"f","arguments":{"a":1}}}]}"#, "tool_calls"),
        // It says itself that there was no room for more.
        chat(&call(r#"{"city": "Par"#), "length"),
        item(r#"{"a": [1"#, "incomplete"),
        item("", "completed"),
    ] {
        assert!(matches!(read_whole(dialect, body.as_bytes()), Whole::Answer(_)), "{body}");
    }
}

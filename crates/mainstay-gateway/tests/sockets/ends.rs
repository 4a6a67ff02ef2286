//! How streams end, and what stands in them.

use crate::support::*;
use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
use serde_json::{Value, json};

fn ask(path: &str, model: &str) -> Vec<u8> {
    post(
        path,
        &[],
        json!({"model": model, "max_tokens": 9, "messages": [], "stream": true}).to_string().as_bytes(),
    )
}

/// The data of the last event.
fn last(body: &str) -> Value {
    let data = body.trim_end().rsplit_once("data: ").unwrap().1;
    serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {body}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pitfall_36_a_stream_that_breaks_after_content_is_not_tried_again_and_its_error_lists_the_tries() {
    let chunks = bodies::openai_chunks(["Hel", "lo"]);
    let refused = Step::json(500, bodies::openai_error("server_error", None, "no luck"));
    let cut = Step::sse(chunks.into_iter().take(2)).ending(End::Reset);
    let provider = ScriptedProvider::start([refused, cut]).await.unwrap();
    let text = config(&provider, "").replace("attempts = 1", "attempts = 5\nbase_delay = \"1ms\"");
    let gateway = Gateway::start(&text).await;
    let reply = gateway.talk(ask(CHAT, "m")).await;
    assert_eq!(provider.calls(), 2);
    let error = &last(&reply.body)["error"];
    assert_eq!((reply.status, &error["code"]), (200, &json!("stream_truncated")), "{}", reply.body);
    let tries = error["attempts"].as_array().unwrap();
    let classes: Vec<&Value> = tries.iter().map(|attempt| &attempt["class"]).collect();
    assert_eq!(classes, ["server_error", "transport"], "{}", reply.body);
    assert!(tries.iter().all(|attempt| attempt["provider"] == "a"), "{}", reply.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_of_messages_that_come_without_a_name_get_that_of_their_type() {
    let named = bodies::anthropic_events(["Hel", "lo", " you"]);
    let bare = named.iter().map(|event| event.split_once('\n').unwrap().1.to_owned());
    let provider = ScriptedProvider::start([Step::sse(bare), Step::sse(named.clone())]).await.unwrap();
    let gateway = Gateway::start(&config(&provider, "")).await;
    for how in ["without", "with"] {
        let reply = gateway.talk(ask("/v1/messages", "claude-x")).await;
        assert_eq!(reply.body, named.concat(), "{how}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_of_nothing_but_an_end_is_no_answer() {
    for said in ["", "data: {\"detail\": \"Not Found\"}\n\n", "data: {\"choices\": []}\n\n"] {
        let provider = ScriptedProvider::start([Step::sse([said, "data: [DONE]\n\n"])]).await.unwrap();
        let gateway = Gateway::start(&config(&provider, "")).await;
        let reply = gateway.talk(ask(CHAT, "m")).await;
        assert_eq!(
            (reply.status, &reply.json()["error"]["code"]),
            (502, &json!("upstream_malformed")),
            "{said}"
        );
    }
}

//! How streams end once content was handed on.

use super::*;
use mainstay_layers::timeout::{TimeoutConfig, TimeoutError, TimeoutLayer};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn an_error_after_content_is_told_once_typed_and_committed() {
    let body = Script::new([data(ROLE), data(HI), data(ERROR), data(DONE), Act::Hang]);
    let alive = body.alive();
    let mut body = Play::default().call(body).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, [ROLE, HI].concat());
    let error = failed(body.frame().await.unwrap().unwrap_err());
    let verdict = error.verdict();
    assert_eq!((verdict.class, verdict.committed), (Class::Overloaded, true));
    assert!(!verdict.is_retryable() && !verdict.falls_back());
    let Some(ReplyError::Provider(event)) = find_cause(&error) else { panic!("{error:?}") };
    assert_eq!(event.raw, ERROR);
    assert_eq!(alive.load(Relaxed), 0, "what is below is let go at once");
    assert!(body.is_end_stream() && body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn content_and_an_error_in_one_frame_are_handed_on_in_this_order() {
    let (got, error) = read(&Play::default(), &[&[HI, HI, ERROR, DONE].concat()]).await;
    assert_eq!(got, [HI, HI].concat());
    assert!(error.unwrap().verdict().committed);
    let (got, error) = read(&Play::default(), &[HI, &[HI, HI, ERROR, DONE].concat()]).await;
    assert_eq!(got, [HI, HI, HI].concat());
    assert!(error.is_some());
}

#[tokio::test(start_paused = true)]
async fn pitfall_36_a_stream_that_breaks_or_ends_after_content_is_a_committed_failure() {
    for (end, class) in [(Some(reset()), Class::Transport), (None, Class::Malformed)] {
        let acts = [data(HI), data("data: {\"choices\":[{\"in")].into_iter().chain(end);
        let response = Play::default().acts(acts).await.unwrap();
        let (frames, error) = drain(response.into_body()).await;
        assert_eq!(text(&frames), HI, "half an event is not handed on");
        let error = failed(error.unwrap());
        assert_eq!((error.verdict().class, error.verdict().committed), (class, true));
    }
}

/// What a caller gets of `acts` under an idle clock of a second.
async fn idled(acts: Vec<Act>) -> (String, Option<BoxError>) {
    let play = Play::default();
    let mut response = Some(play.response(Script::new(acts)));
    let below = service_fn(move |_: Request<_>| {
        let response = response.take();
        async move { response.ok_or_else(|| BoxError::from("asked twice")) }
    });
    let clocks = TimeoutConfig::new().with_idle(Duration::from_secs(1));
    let stack = JudgeLayer::new(play.kind).layer(TimeoutLayer::new(clocks).layer(below));
    let request = play.request().map(|()| http_body_util::Empty::<Bytes>::new());
    let (frames, error) = drain(stack.oneshot(request).await.unwrap().into_body()).await;
    (text(&frames), error)
}

#[tokio::test(start_paused = true)]
async fn finished_without_done_is_whole_however_it_ends_and_gets_one_done() {
    for end in [None, Some(reset()), Some(Act::Hang)] {
        let what = format!("{end:?}");
        let (got, error) = idled([data(ROLE), data(HI), data(STOP)].into_iter().chain(end).collect()).await;
        assert!(error.is_none(), "{what}");
        assert_eq!(got, [ROLE, HI, STOP, DONE].concat(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_after_content_is_a_committed_timeout() {
    let start = Instant::now();
    let (got, error) = idled(vec![data(ROLE), data(HI), Act::Hang]).await;
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    assert_eq!(got, [ROLE, HI].concat());
    let error = failed(error.unwrap());
    assert_eq!((error.verdict().class, error.verdict().committed), (Class::Timeout, true));
    assert_eq!(find_cause::<TimeoutError>(&error).unwrap().code(), "idle_timeout");
}

#[tokio::test(start_paused = true)]
async fn half_an_event_behind_the_finish_is_not_handed_on_before_the_done() {
    for half in ["data: {\"usa", "da", "event: x\nda", "data: {\"usage\":{\"prompt_tokens\":1}"] {
        let (got, error) = read(&Play::default(), &[HI, STOP, half]).await;
        assert!(error.is_none());
        assert_eq!(got, [HI, STOP, DONE].concat(), "{half}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_whole_behind_the_finish_is_handed_on_closed_off() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}";
    let play = Play::default();
    let (got, error) = read(&play, &[HI, STOP, usage]).await;
    assert!(error.is_none());
    assert_eq!(got, format!("{HI}{STOP}{usage}\n\n{DONE}"));
    assert_eq!((play.usage.get().input, play.usage.get().output), (Some(1), Some(2)));
    let (got, _) = read(&Play::default(), &[HI, STOP, "data: [DONE]"]).await;
    assert_eq!(got, [HI, STOP, DONE].concat());
    let (got, _) = read(&Play::default(), &[HI, STOP, ": bye\n"]).await;
    assert!(got.ends_with(DONE) && got.contains(": bye\n"));
}

#[tokio::test(start_paused = true)]
async fn pitfall_39_done_after_an_error_event_is_no_success() {
    let (got, error) = read(&Play::default(), &[HI, ERROR, DONE]).await;
    assert!(error.is_some() && !got.contains("[DONE]"));
    let outcome = Play::default().texts(&[ERROR, DONE]).await;
    assert!(!verdict(&outcome).is_success());
}

#[tokio::test(start_paused = true)]
async fn after_the_terminal_the_connection_has_a_tenth_of_a_second_to_end() {
    let body = Script::new([data(HI), data(STOP), data(DONE), Act::Hang]);
    let alive = body.alive();
    let response = Play::default().call(body).await.unwrap();
    let start = Instant::now();
    let (frames, error) = drain(response.into_body()).await;
    assert!(error.is_none() && text(&frames).ends_with(DONE));
    assert_eq!(start.elapsed(), Duration::from_millis(100));
    assert_eq!(alive.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_at_once_is_read_to_its_end_and_costs_no_time() {
    let body = Script::new([data(HI), data(STOP), data(DONE)]);
    let (alive, polls) = (body.alive(), body.polls.clone());
    let response = Play::default().call(body).await.unwrap();
    let start = Instant::now();
    drain(response.into_body()).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    // Three frames and the end: hyper puts the connection back into its pool when the end was read.
    assert_eq!((polls.load(Relaxed), alive.load(Relaxed)), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn what_comes_behind_the_terminal_is_dropped_and_bounded() {
    let (got, error) = read(&Play::default(), &[HI, STOP, DONE, HI, ERROR]).await;
    assert!(error.is_none());
    assert_eq!(got, [HI, STOP, DONE].concat());
    // In the same frame too, and from a provider that never stops.
    let flood = Act::Flood(Bytes::from_static(HI.as_bytes()));
    let acts = [data(&[HI, STOP, DONE, HI].concat()), flood];
    let (frames, error) = drain(Play::default().acts(acts).await.unwrap().into_body()).await;
    assert!(error.is_none());
    assert_eq!(text(&frames), [HI, STOP, DONE].concat());
}

#[tokio::test(start_paused = true)]
async fn an_event_over_its_bound_ends_the_stream() {
    let config = JudgeConfig { max_event: 1000, ..JudgeConfig::default() };
    let play = Play { config, ..Play::default() };
    let flood = Act::Flood(Bytes::from_static(b"data: xxxxxxxxxxxxxxxx"));
    let body = Script::new([data(HI), flood]);
    let alive = body.alive();
    let (frames, error) = drain(play.call(body).await.unwrap().into_body()).await;
    assert_eq!(text(&frames), HI);
    let error = failed(error.unwrap());
    assert_eq!(find_cause::<ReplyError>(&error).unwrap().code(), "response_too_large");
    assert_eq!(alive.load(Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_not_json_passes_as_it_came() {
    let (got, error) = read(&Play::default(), &[HI, "data: {oops\n\n", HI, STOP, DONE]).await;
    assert!(error.is_none());
    assert_eq!(got, [HI, "data: {oops\n\n", HI, STOP, DONE].concat());
}

#[tokio::test(start_paused = true)]
async fn lines_of_json_are_held_passed_and_ended_as_events_are() {
    let play = Play {
        path: "/api/chat",
        content_type: Some("application/x-ndjson"),
        kind: Kind::Ollama,
        ..Play::default()
    };
    let line = "{\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n";
    let end = "{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":1}\n";
    let (got, error) = read(&play, &[line, end]).await;
    assert!(error.is_none());
    assert_eq!(got, [line, end].concat());
    let (got, error) = read(&play, &[line, "{\"mess"]).await;
    assert_eq!(got, line);
    assert_eq!(find_cause::<ReplyError>(&error.unwrap()), Some(&ReplyError::Truncated));
    let outcome = play.texts(&["{\"error\":\"model runner has stopped\"}\n"]).await;
    assert!(!verdict(&outcome).is_success());
}

#[tokio::test(start_paused = true)]
async fn aws_event_streams_are_held_passed_and_ended_as_events_are() {
    use crate::sse::framing::eventstream::Message;
    let play = Play {
        path: "/model/m/converse-stream",
        content_type: Some("application/vnd.amazon.eventstream"),
        kind: Kind::Bedrock,
        ..Play::default()
    };
    let event = |kind, body: &str| {
        Message::encode(&[(":message-type", "event"), (":event-type", kind)], body.as_bytes())
    };
    let start = event("messageStart", r#"{"role":"assistant"}"#);
    let delta = event("contentBlockDelta", r#"{"contentBlockIndex":0,"delta":{"text":"Hi"}}"#);
    let stop = event("messageStop", r#"{"stopReason":"end_turn"}"#);
    let all = [&start[..], &delta, &stop].concat();
    for cut in 0..all.len() {
        let acts =
            [Act::Data(Bytes::copy_from_slice(&all[..cut])), Act::Data(Bytes::copy_from_slice(&all[cut..]))];
        let (frames, error) = drain(play.acts(acts).await.unwrap().into_body()).await;
        assert!(error.is_none(), "{cut}");
        assert_eq!(frames.concat(), all);
    }
    let exception = Message::encode(
        &[(":message-type", "exception"), (":exception-type", "throttlingException")],
        br#"{"message":"slow"}"#,
    );
    let outcome = play.acts([Act::Data(start.clone()), Act::Data(exception)]).await;
    assert_eq!(verdict(&outcome).class, Class::RateLimited);
    let mut broken = delta.to_vec();
    *broken.last_mut().unwrap() ^= 1;
    let outcome = play.acts([Act::Data(start), Act::Data(broken.into())]).await;
    assert!(matches!(cause(&outcome), ReplyError::NotAnAnswer { .. }));
}

#[tokio::test(start_paused = true)]
async fn sources_after_the_words_change_nothing_about_how_a_stream_ends() {
    let of_path = |path: &'static str, kind: Kind| Play { path, kind, ..Play::default() };
    let streams = [
        (
            Play::default(),
            HI,
            r#"data: {"choices":[{"index":0,"delta":{"content":"","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example"}}]}}]}"#,
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]",
        ),
        (
            of_path("/v1/responses", Kind::OpenAi),
            "data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n",
            r#"data: {"type":"response.output_text.annotation.added","annotation":{"type":"url_citation","url":"https://a.example"}}"#,
            r#"data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Hi"}]}]}}"#,
        ),
        (
            of_path("/v1beta/models/m:streamGenerateContent", Kind::Gemini),
            "data: {\"candidates\":[{\"index\":0,\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}]}\n\n",
            r#"data: {"candidates":[{"index":0,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://a.example"}}]}}]}"#,
            r#"data: {"candidates":[{"index":0,"content":{"parts":[{"text":""}]},"finishReason":"STOP"}]}"#,
        ),
    ];
    for (play, words, sources, end) in streams {
        let (sources, end) = (format!("{sources}\n\n"), format!("{end}\n\n"));
        let (got, error) = read(&play, &[words, &sources, &end]).await;
        assert_eq!((got, error.map(|error| error.to_string())), ([words, &sources, &end].concat(), None));
        let (got, error) = read(&play, &[words, &sources]).await;
        assert_eq!(got, [words, &sources].concat(), "{}", play.path);
        let verdict = error.expect("it is cut").verdict().clone();
        assert_eq!((verdict.class, verdict.committed), (Class::Malformed, true), "{}", play.path);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_no_sources_commits_nobody() {
    let empty = "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"annotations\":[]}}]}\n\n";
    let outcome = Play::default().texts(&[empty, ERROR]).await;
    assert!(!verdict(&outcome).committed && verdict(&outcome).is_retryable());
}

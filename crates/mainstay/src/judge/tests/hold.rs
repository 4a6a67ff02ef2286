//! Before the first content nothing reaches the caller.

use super::*;

#[tokio::test(start_paused = true)]
async fn pitfall_35_what_comes_before_content_goes_on_with_it_in_one_go_and_byte_for_byte() {
    let acts = [
        data(PING),
        Act::Wait(Duration::from_secs(1)),
        data(ROLE),
        data(PING),
        data(HI),
        data(STOP),
        data(DONE),
    ];
    let start = tokio::time::Instant::now();
    let response = Play::default().acts(acts).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
    let (frames, error) = drain(response.into_body()).await;
    assert!(error.is_none());
    assert_eq!(frames[0], [PING, ROLE, PING, HI].concat());
    assert_eq!(text(&frames), [PING, ROLE, PING, HI, STOP, DONE].concat());
}

#[tokio::test(start_paused = true)]
async fn content_is_not_held_for_what_comes_after_it() {
    let response = Play::default().acts([data(HI), Act::Hang]).await.unwrap();
    let first = response.into_body().frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), HI);
}

#[tokio::test(start_paused = true)]
async fn what_lies_in_one_frame_is_handed_on_as_a_slice_of_it() {
    let frame = Bytes::from([ROLE, PING, HI, HI].concat());
    let at = |part: &Bytes| (part.as_ptr() as usize).wrapping_sub(frame.as_ptr() as usize);
    let response = Play::default().acts([Act::Data(frame.clone()), Act::Hang]).await.unwrap();
    let mut body = response.into_body();
    let mut seen = 0;
    while seen < frame.len() {
        let part = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!(at(&part), seen);
        seen += part.len();
    }
}

#[tokio::test(start_paused = true)]
async fn at_most_so_many_events_are_held() {
    let config = JudgeConfig { hold_events: 4, ..JudgeConfig::default() };
    let play = Play { config, ..Play::default() };
    let preamble = |events: usize| (0..events).map(|_| data(ROLE)).chain([Act::Hang]);
    assert!(tokio::time::timeout(Duration::from_secs(1), play.acts(preamble(4))).await.is_err());
    let response =
        tokio::time::timeout(Duration::from_secs(1), play.acts(preamble(5))).await.unwrap().unwrap();
    let first = response.into_body().frame().await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), ROLE.repeat(5));
}

#[tokio::test(start_paused = true)]
async fn the_bounds_of_the_hold_are_64_events_and_256_kib() {
    let config = JudgeConfig::default();
    assert_eq!((config.hold_events, config.hold_bytes), (64, 256 << 10));
    let comments = format!(": {}\n\n", "x".repeat(1020));
    let lines = |lines: usize| (0..lines).map(|_| data(&comments)).chain([Act::Hang]).collect::<Vec<_>>();
    let wait = Duration::from_secs(1);
    // A comment is no event, but it has bytes.
    assert!(tokio::time::timeout(wait, Play::default().acts(lines(256))).await.is_err());
    assert!(tokio::time::timeout(wait, Play::default().acts(lines(257))).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn pitfall_35_an_error_in_the_first_event_is_a_reply_with_the_status_that_it_stands_for() {
    for (before, error, status, class) in [
        ("", ERROR, 503, Class::Overloaded),
        (ROLE, ERROR, 503, Class::Overloaded),
        (
            PING,
            "data: {\"error\":{\"message\":\"slow down\",\"code\":429}}\n\ndata: [DONE]\n\n",
            429,
            Class::RateLimited,
        ),
        (
            "",
            "event: error\ndata: {\"error\":{\"message\":\"no\",\"type\":\"invalid_request_error\"}}\n\n",
            400,
            Class::InvalidRequest,
        ),
        (
            "",
            "{\"error\": {\"code\": 429, \"message\": \"m\", \"status\": \"RESOURCE_EXHAUSTED\"}}\n\n",
            429,
            Class::RateLimited,
        ),
    ] {
        let body = Script::new([data(before), data(error), Act::Hang]);
        let alive = body.alive();
        let outcome = Play::default().call(body).await;
        let verdict = verdict(&outcome);
        assert_eq!((verdict.class, verdict.committed), (class, false), "{error}");
        let response = outcome.unwrap();
        assert_eq!(response.status(), status, "{error}");
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(alive.load(Relaxed), 0, "what is below is let go");
        let (frames, _) = drain(response.into_body()).await;
        assert!(serde_json::from_slice::<serde_json::Value>(&frames.concat()).is_ok(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_before_its_end_is_truncated_and_can_be_tried_again() {
    for texts in [&[][..], &[ROLE], &[ROLE, PING], &[ROLE, "data: {\"choices\":[{\"del"], &["data: {\"choi"]]
    {
        let outcome = Play::default().texts(texts).await;
        assert_eq!(cause(&outcome), ReplyError::Truncated, "{texts:?}");
        let verdict = verdict(&outcome);
        assert_eq!(
            (verdict.class, verdict.committed, verdict.is_retryable()),
            (Class::Malformed, false, true)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_before_content_is_judged_by_its_error() {
    let outcome = Play::default().acts([data(ROLE), reset()]).await;
    let verdict = verdict(&outcome);
    assert_eq!((verdict.class, verdict.committed, verdict.is_retryable()), (Class::Transport, false, true));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_a_word_is_none_unless_it_says_why() {
    let empty = Play::default().texts(&[ROLE, STOP, DONE]).await;
    assert!(matches!(cause(&empty), ReplyError::NotAnAnswer { .. }));
    let finished = Play::default().texts(&[ROLE, STOP]).await;
    assert!(matches!(cause(&finished), ReplyError::NotAnAnswer { .. }));
    let length = STOP.replace("stop", "length");
    let (got, error) = read(&Play::default(), &[ROLE, &length, DONE]).await;
    assert!(error.is_none());
    assert_eq!(got, [ROLE, &length, DONE].concat());
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_none_even_when_the_hold_was_full() {
    let config = JudgeConfig { hold_events: 2, ..JudgeConfig::default() };
    let play = Play { config, ..Play::default() };
    let (got, error) = read(&play, &[ROLE, ROLE, ROLE, ROLE, STOP, DONE]).await;
    let error = error.unwrap();
    assert!(error.verdict().committed && find_cause::<ReplyError>(&error).is_some());
    assert!(!got.contains("[DONE]"), "{got}");
}

#[tokio::test(start_paused = true)]
async fn reasoning_and_tool_calls_are_content() {
    for delta in [
        r#"{"reasoning_content":"hm"}"#,
        r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}"#,
    ] {
        let event = format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n");
        let response = Play::default().acts([data(ROLE), data(&event), Act::Hang]).await.unwrap();
        let first = response.into_body().frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), [ROLE, &event].concat());
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_a_type_is_one_if_it_was_asked_for() {
    let play = Play { content_type: None, stream: Some(true), ..Play::default() };
    let (got, error) = read(&play, &[ROLE, HI, STOP, DONE]).await;
    assert!(error.is_none());
    assert_eq!(got, [ROLE, HI, STOP, DONE].concat());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_not_asked_for_is_no_answer() {
    let play = Play { stream: Some(false), ..Play::default() };
    let outcome = play.texts(&[ROLE, HI, STOP, DONE]).await;
    assert!(matches!(cause(&outcome), ReplyError::NotAnAnswer { .. }));
    // Where nobody knows what was asked for, it is what it is.
    assert!(Play::default().texts(&[HI, STOP, DONE]).await.is_ok());
}

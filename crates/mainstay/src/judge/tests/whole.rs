//! Replies that are no stream.

use super::*;

async fn handed_on(response: Response<Judged>) -> Bytes {
    let exact = response.body().size_hint().exact();
    let (frames, error) = drain(response.into_body()).await;
    assert!(error.is_none());
    let all = Bytes::from(frames.concat());
    assert_eq!(exact, Some(all.len() as u64));
    all
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_handed_on_byte_for_byte_however_it_came() {
    let padded = format!("\n\n  {ANSWER}\r\n");
    for answer in [ANSWER, &padded] {
        for cut in 0..answer.len() {
            let play = json();
            let response = play.texts(&[&answer[..cut], &answer[cut..]]).await.unwrap();
            assert_eq!(response.status(), 200);
            assert!(response.extensions().get::<Verdict>().unwrap().is_success());
            assert_eq!(handed_on(response).await, answer);
            assert_eq!(play.usage.get().input, Some(3));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_status_is_a_reply_whole_with_its_verdict() {
    let error = r#"{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}"#;
    let play = Play { status: 429, headers: vec![("retry-after", "7")], ..json() };
    let response = play.texts(&[&error[..20], &error[20..]]).await.unwrap();
    let verdict = response.extensions().get::<Verdict>().unwrap().clone();
    assert_eq!((verdict.class, verdict.wait), (Class::RateLimited, Some(Duration::from_secs(7))));
    assert_eq!(response.extensions().get::<ErrorBody>().unwrap().0, error);
    assert_eq!(response.status(), 429);
    assert_eq!(handed_on(response).await, error);
}

#[tokio::test(start_paused = true)]
async fn pitfall_19_an_error_body_is_read_up_to_its_bound_and_judged_by_what_came() {
    let start =
        r#"{"error":{"message":"out of money","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let play = Play { status: 429, ..json() };
    let body = Script::new([data(start), Act::Flood(Bytes::from(vec![b' '; 1 << 16]))]);
    let alive = body.alive();
    let response = play.call(body).await.unwrap();
    assert_eq!(response.extensions().get::<Verdict>().unwrap().class, Class::QuotaExhausted);
    assert_eq!(alive.load(Relaxed), 0);
    assert!(handed_on(response).await.len() <= (256 << 10) + (1 << 16));
}

#[tokio::test(start_paused = true)]
async fn pitfall_19_an_error_body_that_never_ends_is_left_to_its_status() {
    let play = Play { status: 503, headers: vec![("retry-after", "3")], ..json() };
    let start = tokio::time::Instant::now();
    let response = play.acts([data("{\"error\":"), Act::Hang]).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
    let verdict = response.extensions().get::<Verdict>().unwrap();
    assert_eq!((verdict.class, verdict.wait), (Class::Overloaded, Some(Duration::from_secs(3))));
    // A drip does not extend it.
    let drip = (0..100).flat_map(|_| [Act::Wait(Duration::from_secs(1)), data(" ")]);
    let start = tokio::time::Instant::now();
    assert_eq!(play.acts(drip).await.unwrap().status(), 503);
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_error_body_that_breaks_is_judged_by_what_came_of_it() {
    let play = Play { status: 502, ..json() };
    let response = play.acts([data("<html>"), reset()]).await.unwrap();
    assert_eq!(response.extensions().get::<Verdict>().unwrap().class, Class::ServerError);
    assert_eq!(handed_on(response).await, "<html>");
}

#[tokio::test(start_paused = true)]
async fn an_error_inside_a_success_becomes_a_reply_with_the_status_it_stands_for() {
    for (body, status, class) in [
        (r#"{"error":{"code":429,"message":"slow"}}"#, 429, Class::RateLimited),
        (r#"[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#, 503, Class::Overloaded),
        (r#"{"error":"it broke"}"#, 500, Class::ServerError),
        (
            r#"{"object":"error","message":"m","code":400,"type":"BadRequestError"}"#,
            400,
            Class::InvalidRequest,
        ),
    ] {
        let outcome = json().texts(&[body]).await;
        assert_eq!(verdict(&outcome).class, class, "{body}");
        let response = outcome.unwrap();
        assert_eq!(response.status(), status, "{body}");
        assert_eq!(handed_on(response).await, body);
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_that_is_no_answer_is_malformed_and_can_be_tried_again() {
    for body in [
        "",
        " \n\n ",
        "<html><body>Sign in</body></html>",
        "{}",
        "null",
        "[]",
        "\"hello\"",
        r#"{"choices":[]}"#,
        r#"{"choices":null}"#,
        r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}"#,
        &ANSWER[..ANSWER.len() - 1],
        &ANSWER[..20],
    ] {
        for content_type in [Some("application/json"), Some("text/html"), None] {
            let outcome = Play { content_type, ..Play::default() }.texts(&[body]).await;
            assert!(matches!(cause(&outcome), ReplyError::NotAnAnswer { .. }), "{body}");
            let verdict = verdict(&outcome);
            assert_eq!(
                (verdict.class, verdict.is_retryable(), verdict.committed),
                (Class::Malformed, true, false)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_in_the_middle_can_still_be_tried_again() {
    for cut in 0..ANSWER.len() {
        let body = Script::new([data(&ANSWER[..cut]), reset()]);
        let alive = body.alive();
        let outcome = json().call(body).await;
        let verdict = verdict(&outcome);
        assert_eq!(
            (verdict.class, verdict.is_retryable(), verdict.committed),
            (Class::Transport, true, false)
        );
        assert_eq!(alive.load(Relaxed), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_refused_and_its_body_not_read() {
    for status in [301, 302, 303, 304, 307, 308] {
        let play = Play { status, headers: vec![("location", "https://elsewhere/")], ..json() };
        let body = Script::new([Act::Hang]);
        let (alive, polls) = (body.alive(), body.polls.clone());
        let outcome = play.call(body).await;
        assert!(matches!(cause(&outcome), ReplyError::Redirect { .. }));
        assert_eq!((alive.load(Relaxed), polls.load(Relaxed)), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn pitfall_44_what_is_compressed_and_not_decoded_cannot_be_judged() {
    let play = Play { headers: vec![("content-encoding", "compress")], ..json() };
    assert!(matches!(cause(&play.texts(&[ANSWER]).await), ReplyError::NotAnAnswer { .. }));
    let play = Play { headers: vec![("content-encoding", "Identity")], ..json() };
    assert!(play.texts(&[ANSWER]).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_whole_answer_where_a_stream_was_asked_for_is_none_but_an_error_is_one() {
    let play = Play { stream: Some(true), ..json() };
    let outcome = play.texts(&[ANSWER]).await;
    assert!(matches!(cause(&outcome), ReplyError::NotAnAnswer { .. }));
    assert!(verdict(&outcome).falls_back());
    let outcome = play.texts(&[r#"{"error":{"code":429,"message":"slow"}}"#]).await;
    assert_eq!(verdict(&outcome).class, Class::RateLimited);
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_geminis_may_be_a_list_and_embeddings_have_none() {
    let play = Play {
        path: "/v1beta/models/m:streamGenerateContent",
        kind: Kind::Gemini,
        stream: Some(true),
        ..json()
    };
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}]"#;
    assert_eq!(handed_on(play.texts(&[list]).await.unwrap()).await, list);
    let play = Play { path: "/v1/embeddings", stream: Some(true), ..json() };
    assert!(play.texts(&[r#"{"data":[{"embedding":[1]}]}"#]).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn of_an_unknown_endpoint_only_json_is_read() {
    let play = Play { path: "/v1/audio/speech", content_type: Some("audio/mpeg"), ..Play::default() };
    let body = Script::new([data("ID3"), Act::Wait(Duration::from_secs(9)), data("..."), reset()]);
    let alive = body.alive();
    let start = tokio::time::Instant::now();
    let response = play.call(body).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
    let mut body = response.into_body();
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "ID3");
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "...");
    assert!(body.frame().await.unwrap().is_err());
    assert_eq!(alive.load(Relaxed), 0, "let go with the error");
    assert!(body.is_end_stream() && body.frame().await.is_none());
    let play = Play { path: "/v1/rerank", ..json() };
    assert!(play.texts(&["{\"results\":[]}"]).await.is_ok());
    let outcome = play.texts(&[r#"{"error":{"code":500}}"#]).await;
    assert!(!verdict(&outcome).is_success());
}

#[tokio::test(start_paused = true)]
async fn an_error_below_keeps_the_judgement_that_it_has() {
    let below = service_fn(|_: Request<()>| async {
        let given = Failed::new(Verdict::new(Class::Auth), "no");
        Err::<Response<Script>, BoxError>(given.into())
    });
    let error = JudgeLayer::new(Kind::OpenAi).layer(below).oneshot(Request::new(())).await.unwrap_err();
    assert_eq!(failed(error).verdict().class, Class::Auth);
    let below = service_fn(|_: Request<()>| async {
        Err::<Response<Script>, BoxError>(io::Error::from(io::ErrorKind::ConnectionRefused).into())
    });
    let error = JudgeLayer::new(Kind::OpenAi).layer(below).oneshot(Request::new(())).await.unwrap_err();
    assert_eq!(failed(error).verdict().class, Class::Transport);
}

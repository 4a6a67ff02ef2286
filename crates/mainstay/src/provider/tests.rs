//! What the tables must hold, beyond what providers were seen to send (`tests/wire.rs`).

use super::*;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use mainstay_layers::classify::{Class, Classify, Head, Verdict, Vote};
use proptest::prelude::*;
use std::time::Duration;

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn judge(kind: Kind, status: u16, body: &str) -> Verdict {
    judge_reply(kind, StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
}

fn inside(kind: Kind, data: &str) -> Verdict {
    ProviderClassifier::new(kind).error_object(Head::of(&Response::new(())), data.as_bytes())
}

#[test]
fn a_bare_type_does_not_outweigh_a_status() {
    let body = r#"{"error":{"message":"no","type":"server_error","param":null,"code":null}}"#;
    for &kind in Kind::ALL {
        for (status, class) in [
            (400, Class::InvalidRequest),
            (401, Class::Auth),
            (403, Class::Auth),
            (404, Class::NotFound),
            (405, Class::NotFound),
            (410, Class::NotFound),
            (413, Class::TooLarge),
            (415, Class::InvalidRequest),
            (418, Class::InvalidRequest),
            (422, Class::InvalidRequest),
            (408, Class::Timeout),
            (429, Class::RateLimited),
            (500, Class::ServerError),
            (503, Class::Overloaded),
            (504, Class::Timeout),
            (529, Class::Overloaded),
            (599, Class::ServerError),
        ] {
            assert_eq!(judge(kind, status, body).class, class, "{kind} {status}");
        }
    }
}

#[test]
fn a_400_whose_code_or_type_and_message_blame_the_server_is_the_servers_fault() {
    for (body, class) in [
        (r#"{"error":{"message":"m","type":null,"code":"server_error"}}"#, Class::ServerError),
        (r#"{"error":{"message":"m","type":"server_error","code":"internal_error"}}"#, Class::ServerError),
        (
            r#"{"error":{"message":"The server had an error while processing your request.","type":"server_error","code":null}}"#,
            Class::ServerError,
        ),
        (
            r#"{"error":{"message":"The engine is currently overloaded","type":"server_error","code":null}}"#,
            Class::Overloaded,
        ),
        (
            r#"{"error":{"message":"m","type":"server_error","code":"server_is_overloaded"}}"#,
            Class::Overloaded,
        ),
        (r#"{"error":{"message":"m","type":"overloaded_error"}}"#, Class::Overloaded),
        // What the caller wrote may be repeated to him.
        (
            r#"{"error":{"message":"bad name: overloaded","type":"invalid_request_error","code":null}}"#,
            Class::InvalidRequest,
        ),
    ] {
        assert_eq!(judge(Kind::OpenAi, 400, body).class, class, "{body}");
    }
    let body = r#"{"error":{"message":"m","type":null,"code":"server_error"}}"#;
    for (status, class) in
        [(401, Class::Auth), (403, Class::Auth), (404, Class::NotFound), (422, Class::InvalidRequest)]
    {
        assert_eq!(judge(Kind::OpenAi, status, body).class, class, "{status}");
    }
}

#[test]
fn a_429_is_a_rate_limit_whatever_its_type_unless_it_names_the_account() {
    let of = |kind: &str| {
        judge(
            Kind::OpenAi,
            429,
            &format!(
                r#"{{"error":{{"message":"allocated quota exceeded, try again later","type":"{kind}"}}}}"#
            ),
        )
    };
    for kind in ["invalid_request_error", "server_error", "tokens", "api_error", "whatever"] {
        assert_eq!(of(kind).class, Class::RateLimited, "{kind}");
        assert!(of(kind).is_retryable());
    }
    assert_eq!(of("insufficient_quota").class, Class::QuotaExhausted);
}

#[test]
fn one_request_over_its_whole_quota_is_too_large_and_not_a_rate_limit() {
    let body = r#"{"error":{"message":"Request too large for gpt-4o in organization o on tokens per min (TPM): Limit 30000, Requested 45411.","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let verdict = judge(Kind::OpenAi, 429, body);
    assert_eq!(verdict.class, Class::TooLarge);
    assert!(!verdict.is_retryable() && verdict.falls_back());
    let body = body
        .replace("Request too large", "Rate limit reached")
        .replace("Limit 30000", "Limit 30000, Used 29000");
    assert_eq!(judge(Kind::OpenAi, 429, &body).class, Class::RateLimited);
}

#[test]
fn the_same_status_means_what_its_provider_means_by_it() {
    assert_eq!(judge(Kind::Groq, 498, "").class, Class::Overloaded);
    assert_eq!(judge(Kind::Cohere, 498, r#"{"message":"invalid token"}"#).class, Class::ContentPolicy);
    assert_eq!(judge(Kind::OpenAi, 498, "").class, Class::InvalidRequest);
}

#[test]
fn xai_tells_an_empty_account_and_a_refused_key_in_words() {
    let credits = r#"{"code":"c","error":"Your team t has either used all available credits or reached its monthly spending limit."}"#;
    assert_eq!(judge(Kind::Xai, 429, credits).class, Class::QuotaExhausted);
    assert_eq!(judge(Kind::Xai, 403, credits).class, Class::QuotaExhausted);
    let key = r#"{"code":"Client specified an invalid argument","error":"Incorrect%20API%20key%20provided:%20x***y"}"#;
    let verdict = judge(Kind::Xai, 400, key);
    assert_eq!(
        (verdict.class, verdict.code.as_deref()),
        (Class::Auth, Some("Client specified an invalid argument"))
    );
}

#[test]
fn the_head_alone_knows_what_status_and_headers_say() {
    let reply = Response::builder()
        .status(400)
        .header("x-amzn-errortype", "aws#ServiceQuotaExceededException:http://internal/")
        .body(())
        .unwrap();
    let verdict = ProviderClassifier::new(Kind::Bedrock).head(Head::of(&reply));
    assert_eq!(
        (verdict.class, verdict.code.as_deref()),
        (Class::QuotaExhausted, Some("ServiceQuotaExceededException"))
    );
}

#[test]
fn a_verdict_left_by_a_judge_below_is_taken_as_it_is() {
    let mut reply = Response::builder().status(500).body(()).unwrap();
    reply.extensions_mut().insert(Verdict::new(Class::Cancelled));
    let classifier = ProviderClassifier::new(Kind::OpenAi);
    assert_eq!(classifier.head(Head::of(&reply)).class, Class::Cancelled);
    assert_eq!(classifier.body(Head::of(&reply), b"{}").class, Class::Cancelled);
    *reply.status_mut() = StatusCode::OK;
    assert_eq!(classifier.whole(Head::of(&reply), b"").class, Class::Cancelled);
}

#[test]
fn should_retry_overrides_status_and_body() {
    let of = |status: u16, value: &str, body: &str| {
        let headers = headers(&[("x-should-retry", value)]);
        judge_reply(Kind::OpenAi, StatusCode::from_u16(status).unwrap(), &headers, body.as_bytes())
            .is_retryable()
    };
    assert!(!of(500, "false", ""));
    assert!(of(400, "true", ""));
    assert!(of(429, "true", r#"{"error":{"type":"insufficient_quota"}}"#));
    assert!(!of(400, "yes", ""));
    assert!(!of(200, "false", r#"{"error":{"code":502,"message":"m"}}"#));
}

#[test]
fn waits_are_taken_from_headers_then_details_then_windows_then_words() {
    let body = r#"{"error":{"message":"Please try again in 4s","details":[{"@type":"x/google.rpc.RetryInfo","retryDelay":"2s"}]}}"#;
    let words = r#"{"error":{"message":"Please try again in 4s"}}"#;
    let of = |pairs: &[(&'static str, &str)], body: &str| {
        judge_reply(Kind::OpenAi, StatusCode::TOO_MANY_REQUESTS, &headers(pairs), body.as_bytes()).wait
    };
    let all = [("retry-after", "1"), ("x-ratelimit-reset-tokens", "3s")];
    assert_eq!(of(&all, body), Some(Duration::from_secs(1)));
    assert_eq!(of(&all[1..], body), Some(Duration::from_secs(2)));
    assert_eq!(of(&all[1..], words), Some(Duration::from_secs(3)));
    assert_eq!(of(&[], words), Some(Duration::from_secs(4)));
    // A caller's mistake has no wait that is hidden in its words.
    assert_eq!(judge(Kind::OpenAi, 400, words).wait, None);
}

#[test]
fn a_daily_quota_is_not_waited_for_and_a_short_hint_beside_it_is_not_believed() {
    let of = |delay: &str| {
        let body = format!(
            r#"{{"error":{{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {{"@type":"x/google.rpc.QuotaFailure","violations":[{{"quotaId":"GenerateRequestsPerDayPerProject","quotaValue":"250"}}]}},
            {{"@type":"x/google.rpc.RetryInfo","retryDelay":"{delay}"}}]}}}}"#
        );
        judge(Kind::Gemini, 429, &body)
    };
    assert_eq!(of("5s").wait, None);
    assert_eq!(of("36000s").wait, Some(Duration::from_secs(36_000)));
    assert!(!of("5s").is_retryable() && of("5s").falls_back());
    assert_eq!(of("5s").vote(), Vote::Neutral);
}

#[test]
fn an_error_inside_a_200_stands_for_the_status_of_its_code() {
    for (kind, data, class, status) in [
        (Kind::OpenRouter, r#"{"error":{"code":502,"message":"m"}}"#, Class::ServerError, 502),
        (Kind::OpenAi, r#"{"error":{"code":502,"message":"overloaded"}}"#, Class::ServerError, 502),
        (Kind::OpenAi, r#"{"error":{"code":429,"message":"m"}}"#, Class::RateLimited, 429),
        (
            Kind::OpenAi,
            r#"{"error":{"code":400,"message":"m","type":"invalid_request_error"}}"#,
            Class::InvalidRequest,
            400,
        ),
        (
            Kind::OpenAi,
            r#"{"error":{"message":"quota exceeded","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            Class::QuotaExhausted,
            429,
        ),
        (
            Kind::OpenAi,
            r#"{"type":"response.failed","response":{"error":{"code":"server_is_overloaded"}}}"#,
            Class::Overloaded,
            503,
        ),
        (
            Kind::OpenAi,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#,
            Class::RateLimited,
            429,
        ),
        (
            Kind::OpenAi,
            r#"{"type":"error","code":"server_error","message":"m","param":null}"#,
            Class::ServerError,
            500,
        ),
        (
            Kind::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Class::Overloaded,
            529,
        ),
        (
            Kind::OpenAi,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            Class::Overloaded,
            503,
        ),
        (
            Kind::Anthropic,
            r#"{"type":"error","error":{"type":"internal_error","message":"[HTTP 502] <!DOCTYPE html>"}}"#,
            Class::ServerError,
            500,
        ),
        (
            Kind::Anthropic,
            r#"{"type":"error","error":{"type":"authentication_error","message":"m"}}"#,
            Class::Auth,
            401,
        ),
        (
            Kind::Anthropic,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}"#,
            Class::ContextLength,
            400,
        ),
        (
            Kind::Gemini,
            r#"[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]"#,
            Class::Overloaded,
            503,
        ),
        (Kind::Ollama, r#"{"error":"model runner has unexpectedly stopped"}"#, Class::ServerError, 500),
        (Kind::Ollama, r#"{"error":"model \"x\" not found, try pulling it first"}"#, Class::NotFound, 404),
        (
            Kind::Cohere,
            r#"{"type":"message-end","delta":{"finish_reason":"ERROR","error":"generation failed"}}"#,
            Class::ServerError,
            500,
        ),
        (Kind::Bedrock, r#"{"__type":"throttlingException","message":"m"}"#, Class::RateLimited, 429),
        (
            Kind::OpenAi,
            "event: error\ndata: {\"error\":{\"type\":\"timeout_error\"}}\n\n",
            Class::Timeout,
            504,
        ),
        (Kind::OpenAi, "", Class::ServerError, 500),
    ] {
        let verdict = inside(kind, data);
        assert_eq!((verdict.class, verdict.status.unwrap().as_u16()), (class, status), "{kind} {data}");
    }
}

#[test]
fn code_and_message_are_the_providers_own_and_short() {
    let verdict = inside(Kind::OpenAi, r#"{"error":{"message":"m","type":"t","code":"c"}}"#);
    assert_eq!((verdict.code.as_deref(), verdict.message.as_deref()), (Some("c"), Some("m")));
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "é".repeat(9_000));
    assert!(judge(Kind::OpenAi, 500, &long).message.unwrap().len() <= MAX_MESSAGE);
}

#[test]
fn a_2xx_that_is_no_answer_is_malformed_and_one_that_is_passes() {
    let html = headers(&[("content-type", "text/html; charset=utf-8")]);
    assert_eq!(judge_reply(Kind::OpenAi, StatusCode::OK, &html, b"Sign in").class, Class::Malformed);
    for (body, class) in [
        ("", Class::Malformed),
        (" \n ", Class::Malformed),
        ("<html>Sign in</html>", Class::Malformed),
        (r#"{"choices":[{"index":0,"mess"#, Class::Malformed),
        (r#"{"object":"chat.completion"}"#, Class::Malformed),
        (r#"{"choices":[]}"#, Class::Malformed),
        (r#"{"type":"message","content":null}"#, Class::Malformed),
        (r#"{"candidates":[]}"#, Class::Malformed),
        (
            r#"{"choices":[{"finish_reason":"stop","message":{"content":""}}],"usage":{"completion_tokens":0}}"#,
            Class::Malformed,
        ),
        // Reasons to be empty.
        (r#"{"choices":[{"finish_reason":"length","message":{"content":""}}]}"#, Class::Success),
        (
            r#"{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"no"}}]}"#,
            Class::Success,
        ),
        (
            r#"{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"id":"1"}]}}]}"#,
            Class::Success,
        ),
        (
            r#"{"choices":[{"finish_reason":"stop","message":{"content":""}}],"usage":{"completion_tokens":7}}"#,
            Class::Success,
        ),
        (
            r#"{"choices":[{"finish_reason":"content_filter","message":{"content":""}}]}"#,
            Class::ContentPolicy,
        ),
        (r#"{"choices":[{"finish_reason":"content_filter","message":{"content":"half"}}]}"#, Class::Success),
        (r#"{"choices":[{"finish_reason":"error","message":{"content":"half"}}]}"#, Class::ServerError),
        (r#"{"choices":[{"text":"old","finish_reason":"stop"}]}"#, Class::Success),
        (
            r#"{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn"}"#,
            Class::Success,
        ),
        (r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}"#, Class::Success),
        // What is no answer of a model is none of its business.
        (r#"{"object":"list","data":[]}"#, Class::Success),
        (r#"{"object":"response","status":"completed","error":null,"output":[]}"#, Class::Success),
        (r#"{"totalTokens":31}"#, Class::Success),
        (r#"{"embedding":{"values":[1]},"usageMetadata":{}}"#, Class::Success),
        ("[]", Class::Success),
        ("a transcript", Class::Success),
    ] {
        assert_eq!(judge(Kind::OpenAi, 200, body).class, class, "{body}");
    }
    let sse = headers(&[("content-type", "text/event-stream")]);
    assert!(judge_reply(Kind::OpenAi, StatusCode::OK, &sse, b"").is_success());
    assert!(judge_reply(Kind::OpenAi, StatusCode::NO_CONTENT, &HeaderMap::new(), b"").is_success());
    assert_eq!(judge(Kind::OpenAi, 302, "").class, Class::Malformed);
}

#[test]
fn an_empty_answer_of_lm_studio_is_an_input_that_did_not_fit() {
    let body = r#"{"choices":[{"finish_reason":"stop","message":{"content":""}}]}"#;
    let verdict = judge(Kind::LmStudio, 200, body);
    assert_eq!((verdict.class, verdict.vote()), (Class::Malformed, Vote::Neutral));
    assert!(!verdict.is_retryable() && verdict.falls_back());
}

#[test]
fn first_bytes_of_a_200_show_a_page_or_an_error_and_a_part_of_an_answer_is_none() {
    let reply = Response::new(());
    let of = |body: &[u8]| ProviderClassifier::new(Kind::OpenAi).body(Head::of(&reply), body);
    assert_eq!(of(b"<!DOCTYPE html>").class, Class::Malformed);
    let error = of(br#"{"error":{"code":429,"message":"m"}}"#);
    assert_eq!((error.class, error.status), (Class::RateLimited, Some(StatusCode::TOO_MANY_REQUESTS)));
    assert!(of(br#"{"choices":[{"mess"#).is_success());
    assert!(of(b"").is_success());
    assert!(of(br#"{"error":null,"output":[]}"#).is_success());
}

#[test]
fn a_list_of_answers_is_no_error_and_one_with_an_error_in_it_is_that_error() {
    let reply = Response::new(());
    let classifier = ProviderClassifier::new(Kind::Gemini);
    let both = |body: &str| {
        let body = body.as_bytes();
        let (first, whole) =
            (classifier.body(Head::of(&reply), body), classifier.whole(Head::of(&reply), body));
        assert_eq!(first, whole);
        first
    };
    let answer = r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}"#;
    let error = r#"{"error":{"code":503,"status":"UNAVAILABLE","message":"m"}}"#;
    assert!(both(&format!("[{answer}]")).is_success());
    assert!(both(&format!("[{answer},{answer}]")).is_success());
    for list in [format!("[{error}]"), format!("[{answer},{error}]")] {
        let verdict = both(&list);
        assert_eq!((verdict.class, verdict.code.as_deref()), (Class::Overloaded, Some("UNAVAILABLE")));
    }
}

#[test]
fn an_error_in_a_200_may_be_a_yes_and_not_a_no_and_may_stand_twice() {
    let reply = Response::new(());
    let first = |body: &str| ProviderClassifier::new(Kind::OpenAi).body(Head::of(&reply), body.as_bytes());
    for (body, failed) in [
        (r#"{"error":true,"message":"m"}"#, true),
        (r#"{"error":503}"#, true),
        (r#"{"error":{"code":503},"error":null}"#, true),
        (r#"{"error":false,"message":"m"}"#, false),
        (r#"{"error":0}"#, false),
    ] {
        assert_eq!(!judge(Kind::OpenAi, 200, body).is_success(), failed, "{body}");
        assert_eq!(!first(body).is_success(), failed, "{body}");
    }
}

#[test]
fn an_error_with_a_byte_that_is_not_utf8_is_that_error() {
    let reply = Response::new(());
    let body = b"{\"error\":{\"type\":\"insufficient_quota\",\"message\":\"caf\xe9\"}}";
    let list = [b"[", &body[..], b"]"].concat();
    for body in [&body[..], &list] {
        for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::OK] {
            let verdict = judge_reply(Kind::OpenAi, status, &HeaderMap::new(), body);
            assert_eq!(verdict.class, Class::QuotaExhausted);
            assert_eq!(verdict.message.as_deref(), Some("caf\u{fffd}"));
        }
        let first = ProviderClassifier::new(Kind::OpenAi).body(Head::of(&reply), body);
        assert_eq!(first.class, Class::QuotaExhausted);
    }
    // An answer with such a byte is no JSON.
    let answer = b"{\"choices\":[{\"message\":{\"content\":\"caf\xe9\"}}]}";
    let verdict = judge_reply(Kind::OpenAi, StatusCode::OK, &HeaderMap::new(), answer);
    assert_eq!(verdict.class, Class::Malformed);
}

#[test]
fn each_kind_is_judged_by_what_it_documents() {
    use Class::*;
    type Case = (Kind, u16, &'static [(&'static str, &'static str)], &'static str, Class);
    let cases: &[Case] = &[
        (
            Kind::OpenAi,
            429,
            &[],
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            QuotaExhausted,
        ),
        (
            Kind::Anthropic,
            529,
            &[],
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#,
            Overloaded,
        ),
        (
            Kind::Gemini,
            400,
            &[],
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Auth,
        ),
        (
            Kind::AzureOpenAi,
            404,
            &[],
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
            NotFound,
        ),
        (
            Kind::OpenRouter,
            402,
            &[],
            r#"{"error":{"code":402,"message":"Insufficient credits"}}"#,
            QuotaExhausted,
        ),
        (
            Kind::DeepSeek,
            402,
            &[],
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
            QuotaExhausted,
        ),
        (
            Kind::Mistral,
            422,
            &[],
            r#"{"detail":[{"loc":["body","messages"],"msg":"field required","type":"value_error.missing"}]}"#,
            InvalidRequest,
        ),
        (
            Kind::Groq,
            498,
            &[],
            r#"{"error":{"message":"Flex tier capacity exceeded","type":"capacity_exceeded"}}"#,
            Overloaded,
        ),
        (Kind::Cohere, 498, &[], r#"{"message":"invalid token"}"#, ContentPolicy),
        (
            Kind::CohereV2,
            429,
            &[],
            r#"{"id":"e1","message":"You are using a Trial key, which is limited to 1000 API calls / month."}"#,
            QuotaExhausted,
        ),
        (
            Kind::Bedrock,
            400,
            &[("x-amzn-errortype", "ServiceQuotaExceededException")],
            r#"{"message":"quota"}"#,
            QuotaExhausted,
        ),
        (
            Kind::BedrockConverse,
            424,
            &[("x-amzn-errortype", "ModelErrorException:http://internal.amazon.com/")],
            r#"{"message":"m","originalStatusCode":500,"resourceName":"r"}"#,
            ServerError,
        ),
        (
            Kind::BedrockConverse,
            400,
            &[],
            r#"{"__type":"com.amazon.bedrock#ValidationException","message":"Invocation of model ID a with on-demand throughput isn\u2019t supported."}"#,
            NotFound,
        ),
        (
            Kind::Vllm,
            400,
            &[],
            r#"{"error":{"message":"This model's maximum context length is 10 tokens. However, you requested 20 tokens","type":"BadRequestError","param":null,"code":400}}"#,
            ContextLength,
        ),
        (
            Kind::Ollama,
            503,
            &[],
            r#"{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error","param":null,"code":null}}"#,
            Overloaded,
        ),
        (
            Kind::OllamaNative,
            503,
            &[],
            r#"{"error":"server busy, please try again.  maximum pending requests exceeded"}"#,
            Overloaded,
        ),
        (
            Kind::LlamaCpp,
            400,
            &[],
            r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}"#,
            ContextLength,
        ),
        (
            Kind::LmStudio,
            404,
            &[],
            r#"{"error":{"message":"Model not found","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
            NotFound,
        ),
        (
            Kind::Together,
            401,
            &[],
            r#"{"id":"i","error":{"message":"Invalid API key provided","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
            Auth,
        ),
        (
            Kind::Xai,
            429,
            &[],
            r#"{"code":"c","error":"Your team t has either used all available credits or reached its monthly spending limit."}"#,
            QuotaExhausted,
        ),
        (
            Kind::OpenAiResponses,
            429,
            &[],
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
            QuotaExhausted,
        ),
        (
            Kind::Fireworks,
            503,
            &[],
            r#"{"error":{"object":"error","type":"service_unavailable","message":"overloaded"}}"#,
            Overloaded,
        ),
    ];
    for (kind, status, pairs, body, class) in cases {
        let status = StatusCode::from_u16(*status).unwrap();
        let verdict = judge_reply(*kind, status, &headers(pairs), body.as_bytes());
        assert_eq!(verdict.class, *class, "{kind} {body}");
        assert!(verdict.message.is_some(), "{kind} {body}");
    }
    for kind in Kind::ALL {
        assert!(cases.iter().any(|case| case.0 == *kind), "{kind} has no row");
    }
}

#[test]
fn profiles_are_complete() {
    for &kind in Kind::ALL {
        let profile = kind.profile();
        if let Some(url) = profile.base_url {
            let uri: http::Uri = url.parse().unwrap();
            assert!(uri.host().is_some() && !url.ends_with('/'), "{url}");
        }
        assert_eq!(profile.auth.header(), profile.auth.header().to_ascii_lowercase());
        for (name, value) in profile.headers {
            HeaderName::from_static(name);
            http::HeaderValue::from_static(value);
        }
    }
    assert_eq!(Kind::Anthropic.profile().headers, [("anthropic-version", ANTHROPIC_VERSION)]);
    assert_eq!(
        (Kind::OllamaNative.profile().native, Kind::Ollama.profile().native),
        (Native::Ollama, Native::OpenAi)
    );
    assert_eq!(Auth::Bearer.value("k"), "Bearer k");
    assert_eq!(Kind::AzureOpenAi.profile().auth, Auth::Header("api-key"));
}

proptest! {
    #[test]
    fn no_reply_makes_a_verdict_panic_or_contradict_itself(
        kind in proptest::sample::select(Kind::ALL),
        status in 200_u16..600,
        code in "[a-z_]{0,20}|[0-9]{3}",
        message in "\\PC{0,60}",
        body in proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100)),
    ) {
        let body = body.unwrap_or_else(|| {
            serde_json::to_vec(&serde_json::json!({"error": {"code": code, "message": message}})).unwrap()
        });
        let verdict = judge_reply(kind, StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), &body);
        prop_assert!(!verdict.is_success() || status < 300);
        prop_assert!(verdict.message.is_none_or(|message| message.len() <= MAX_MESSAGE + 64));
        let inside = ProviderClassifier::new(kind).error_object(Head::of(&Response::new(())), &body);
        prop_assert!(!inside.is_success() && inside.status.is_some());
    }
}

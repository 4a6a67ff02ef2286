use super::*;
use proptest::prelude::*;

fn read(body: &str) -> ErrorBody {
    ErrorBody::read(body.as_bytes())
}

#[test]
fn error_may_be_an_object_a_string_an_only_element_or_absent() {
    for (body, code, message) in [
        (r#"{"error":{"message":"m","type":"t","param":null,"code":"c"}}"#, Some("c"), Some("m")),
        (r#"{"error":{"message":"m","type":"t","code":null}}"#, Some("t"), Some("m")),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
            Some("overloaded_error"),
            Some("m"),
        ),
        (
            r#"[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]"#,
            Some("INVALID_ARGUMENT"),
            Some("m"),
        ),
        (r#"{"error":"Unauthorized"}"#, None, Some("Unauthorized")),
        (r#"{"error":["m","n"]}"#, None, Some("m")),
        (r#"{"error":"invalid_request","message":"m"}"#, Some("invalid_request"), Some("m")),
        (r#"{"message":"m","id":"7"}"#, None, Some("m")),
        (
            r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#,
            Some("BadRequestError"),
            Some("m"),
        ),
        (r#"{"object":"error","message":"m","type":"rate_limited","code":"1300"}"#, Some("1300"), Some("m")),
        (
            r#"{"object":"error","message":{"detail":[{"loc":["body","n"],"msg":"bad"}]}}"#,
            None,
            Some("body.n: bad"),
        ),
        (r#"{"detail":"Not Found"}"#, None, Some("Not Found")),
        (r#"{"detail":[{"loc":["body",0,"x"],"msg":"a"},{"msg":"b"}]}"#, None, Some("body.0.x: a; b")),
        (r#"{"errors":[{"code":1000,"message":"m"}],"success":false}"#, Some("1000"), Some("m")),
        (r#"{"response":{"status":"failed","error":{"code":"c","message":"m"}}}"#, Some("c"), Some("m")),
        (r#"{"choices":[{"index":0,"error":{"code":502,"message":"m"}}]}"#, None, Some("m")),
        (
            r#"{"type":"error","code":"c","message":"m","param":"p","sequence_number":3}"#,
            Some("c"),
            Some("m"),
        ),
        (
            r#"{"__type":"com.amazon#ThrottlingException","message":"m"}"#,
            Some("ThrottlingException"),
            Some("m"),
        ),
        (r#"{"type":"about:blank","title":"t","status":403,"detail":"m"}"#, Some("about:blank"), Some("m")),
        (r#"{"error":null,"message":"m"}"#, None, Some("m")),
        ("\n\n  \n{\"error\":{\"message\":\"m\",\"code\":\"c\"}}\n", Some("c"), Some("m")),
        ("\u{feff}{\"error\":{\"message\":\"m\",\"code\":\"c\"}}", Some("c"), Some("m")),
    ] {
        let error = read(body);
        assert_eq!((error.code(), error.message.as_deref()), (code, message), "{body}");
        assert!(error.json, "{body}");
    }
}

#[test]
fn a_status_may_stand_in_many_places_as_a_number_or_in_digits() {
    for (body, number) in [
        (r#"{"error":{"code":502}}"#, Some(502)),
        (r#"{"error":{"code":"429"}}"#, Some(429)),
        (r#"{"error":{"code":"content_filter","status":400}}"#, Some(400)),
        (r#"{"error":{"status_code":400}}"#, Some(400)),
        (r#"{"error":{"http_status":403}}"#, Some(403)),
        (r#"{"status_code":503,"error":{"message":"m"}}"#, Some(503)),
        (r#"{"object":"error","code":"1300","raw_status_code":429}"#, Some(429)),
        (r#"{"error":{"code":200}}"#, None),
        (r#"{"error":{"code":-429}}"#, None),
        (r#"{"error":{"code":429.5}}"#, None),
        (r#"{"error":{"code":99999999999999999999}}"#, None),
        (r#"{"error":{"code":null}}"#, None),
    ] {
        assert_eq!(read(body).number, number, "{body}");
    }
}

#[test]
fn an_error_framed_as_an_event_is_found() {
    for body in [
        "event:error\ndata:{\"code\":\"Throttling.User\",\"message\":\"m\"}\n\n",
        "event: error\r\ndata: {\"code\":\"Throttling.User\",\r\ndata: \"message\":\"m\"}",
        ": hello\n\ndata: [DONE]\n\ndata: {\"error\":{\"code\":\"Throttling.User\",\"message\":\"m\"}}\n\ndata: {}\n\n",
    ] {
        let error = read(body);
        assert_eq!((error.code(), error.message.as_deref()), (Some("Throttling.User"), Some("m")), "{body}");
    }
}

#[test]
fn json_that_was_cut_says_what_it_said_so_far() {
    let whole =
        r#"{"error":{"type":"insufficient_quota","param":null,"message":"You exceeded \"it\"","code":"c"}}"#;
    for end in 40..whole.len() {
        assert_eq!(read(&whole[..end]).kind.as_deref(), Some("insufficient_quota"), "{}", &whole[..end]);
    }
    assert_eq!(
        read(r#"{"error":{"message":"The server had an er"#).message.as_deref(),
        Some("The server had an er")
    );
    // Cut in the middle of a character.
    let body = "{\"error\":{\"message\":\"zu heiß".as_bytes();
    assert_eq!(ErrorBody::read(&body[..body.len() - 1]).message.as_deref(), Some("zu hei"));
}

#[test]
fn a_page_is_told_in_a_few_words_without_markup() {
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502</h1></body></html>";
    assert_eq!(read(page).message.as_deref(), Some("502 Bad Gateway"));
    assert_eq!(read("<html><p>origin error</p></html>\n").message.as_deref(), Some("origin error"));
    assert_eq!(
        read("<!DOCTYPE html><style>p { a: b }</style><p>Tom &amp; Jerry &lt;b&gt;<script>if (a<b) {}</script> x</p>").message.as_deref(),
        Some("Tom & Jerry b x")
    );
    assert_eq!(read("<title></title>").message, None);
    let long = read(&format!("<p>{}", "word ".repeat(10_000))).message.unwrap();
    assert!(long.len() <= 200, "{}", long.len());
}

#[test]
fn text_is_its_own_message_and_what_is_not_for_people_is_none() {
    assert_eq!(read("Service Unavailable\n").message.as_deref(), Some("Service Unavailable"));
    assert_eq!(
        read("upstream connect error or\n disconnect/reset").message.as_deref(),
        Some("upstream connect error or disconnect/reset")
    );
    assert_eq!(
        ErrorBody::read(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\x56\xca\x48\xcd\xc9").message,
        None
    );
    assert_eq!(read(""), ErrorBody::default());
    assert_eq!(read(" \n\t "), ErrorBody::default());
    assert!(read("{}").is_empty());
}

#[test]
fn nothing_is_read_without_bound() {
    let huge = format!(r#"{{"error":{{"code":"c","message":"{}"}}}}"#, "é".repeat(1 << 20));
    let error = read(&huge);
    assert_eq!(error.code(), Some("c"));
    assert!(error.message.unwrap().len() <= MAX_MESSAGE);
    let deep = "[".repeat(100_000);
    assert!(read(&deep).message.is_none_or(|message| message.len() <= MAX_MESSAGE));
    let wrapped = format!("{}1{}", r#"{"error":"#.repeat(60), "}".repeat(60));
    assert!(read(&wrapped).is_empty());
}

#[test]
fn details_of_google_rpc_are_read() {
    let error = read(
        r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"RequestsPerDay","quotaValue":"0"}]},
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.074824224s"}, 7, {"@type":9}]}}"#,
    );
    assert_eq!(error.wait, Some(Duration::from_millis(34_075)));
    assert_eq!(error.reasons, ["API_KEY_INVALID"]);
    assert_eq!(error.quotas, ["RequestsPerDay", "quotaValue=0"]);
}

#[test]
fn what_openrouter_adds_is_read() {
    let error = read(
        r#"{"error":{"code":429,"message":"Provider returned error","metadata":{"error_type":"rate_limit_exceeded",
            "headers":{"X-RateLimit-Reset":"1796083200000","X-Secret":"no"},"limit_source":"pool",
            "raw":"{\"error\":{\"message\":\"prompt is too long: 9 > 8\",\"code\":\"inner\"}}"},
            "availability":{"code":"capacity_exhausted","retry_after":7}}}"#,
    );
    assert_eq!(error.code(), Some("rate_limit_exceeded"));
    assert_eq!(error.wait, Some(Duration::from_secs(7)));
    assert_eq!(error.headers.len(), 1);
    assert!(error.texts().any(|text| text.contains("prompt is too long")));
    assert!(error.words().any(|word| word == "inner"));
    assert_eq!(error.message.as_deref(), Some("Provider returned error"));
}

fn json_like() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::Value;
    let name = prop_oneof![
        Just("error"),
        Just("errors"),
        Just("message"),
        Just("code"),
        Just("type"),
        Just("status"),
        Just("details"),
        Just("metadata"),
        Just("detail"),
        Just("response"),
        Just("choices"),
        Just("delta"),
        Just("headers"),
        Just("raw"),
        Just("@type"),
        Just("retryDelay"),
        Just("violations"),
        Just("quotaValue"),
        Just("loc"),
        Just("availability"),
        Just("retry_after"),
        Just("innererror"),
        Just("title"),
        Just("x-ratelimit-reset"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        Just(Value::from("type.googleapis.com/google.rpc.RetryInfo")),
        Just(Value::from("type.googleapis.com/google.rpc.QuotaFailure")),
        "[0-9]{1,5}s".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..6)
                .prop_map(|pairs| pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_json_whole_or_cut_makes_it_panic(value in json_like(), cut in 0.0..1.0_f64) {
        let body = serde_json::to_vec(&value).unwrap();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
        let end = (body.len() as f64 * cut) as usize;
        for body in [&body[..], &body[..end]] {
            let error = ErrorBody::read(body);
            prop_assert!(error.message.is_none_or(|message| message.len() <= MAX_MESSAGE));
            prop_assert!(error.reasons.len() <= MAX_REASONS);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(head in "(<|<title|<script|data: ?|event:|\\{|\\[|: )?", body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let body = [head.as_bytes(), &body].concat();
        let message = ErrorBody::read(&body).message.unwrap_or_default();
        prop_assert!(message.len() <= MAX_MESSAGE);
        prop_assert!(!message.chars().any(char::is_control));
    }

    #[test]
    fn no_page_leaves_markup(html in "(<[a-zA-Z!/]{0,8} ?|>|&[a-z#0-9]{1,4};|</|[a-zß ]{0,9}|script|title|style){0,40}") {
        let message = ErrorBody::read(format!("<{html}").as_bytes()).message.unwrap_or_default();
        prop_assert!(!message.contains(['<', '>']), "{}", message);
        prop_assert!(message.len() <= 200);
    }
}

//! Ready-made stacks against scripted providers on loopback.

use super::{Provider, ProviderError};
use crate::{
    chat::{Chat, ChatEvent, ChatRequest},
    client::Client,
    provider::Kind,
    route::Fallback,
    secret::ApiKey,
    sigv4::{Credentials, Signer},
};
use mainstay_layers::{classify::Class, retry::RetryLayer};
use mainstay_testkit::{End, ScriptedProvider, Step, bodies};
use serde_json::json;
use std::time::Duration;

fn ask() -> ChatRequest {
    ChatRequest::new("m").user("hi")
}

/// Without proxies of the machine, and with retries that nobody has to wait for.
fn provider(kind: Kind, url: &str) -> Provider {
    Provider::new(kind)
        .with_base_url(url.parse().unwrap())
        .with_key(ApiKey::new("sk-0123456789").unwrap())
        .with_client(Client::builder().no_proxy().build().unwrap())
        .with_retry(RetryLayer::new().with_base_delay(Duration::from_millis(1)))
}

#[test]
fn the_environment_gives_key_and_address_under_the_names_of_the_sdk() {
    let vars = |name: &str| match name {
        "OPENAI_API_KEY" => Some("sk-1".to_owned()),
        "OPENAI_BASE_URL" => Some("http://127.0.0.1:9/v1".to_owned()),
        "MISTRAL_API_KEY" => Some(" ".to_owned()),
        "GROQ_API_KEY" => Some("k\u{e9}y".to_owned()),
        "XAI_API_KEY" => Some("x".to_owned()),
        "XAI_BASE_URL" => Some("not an address".to_owned()),
        _ => None,
    };
    let from = |kind| Provider::from_vars(kind, &vars);
    assert!(from(Kind::OpenAi).unwrap().stack().is_ok());
    assert!(from(Kind::Ollama).is_ok(), "it asks for no key");
    assert!(matches!(from(Kind::Anthropic), Err(ProviderError::NoKey { variable: "ANTHROPIC_API_KEY", .. })));
    assert!(matches!(from(Kind::Mistral), Err(ProviderError::NoKey { .. })));
    assert!(matches!(from(Kind::Xai), Err(ProviderError::BadBaseUrl { .. })));
    let error = from(Kind::Groq).unwrap_err();
    assert!(matches!(error, ProviderError::BadKey { .. }) && !error.to_string().contains('\u{e9}'));
}

#[test]
fn a_provider_without_an_address_of_its_own_must_be_given_one() {
    let error = Provider::new(Kind::AzureOpenAi).stack().unwrap_err();
    assert!(matches!(error, ProviderError::NoBaseUrl { .. }));
    let nowhere = Provider::new(Kind::OpenAi).with_base_url("/v1".parse().unwrap());
    assert!(matches!(nowhere.stack(), Err(ProviderError::BadBaseUrl { .. })));
}

#[tokio::test]
async fn a_call_is_tried_again_and_answered() {
    let busy = Step::json(503, bodies::openai_error("server_error", None, "busy"));
    let server = ScriptedProvider::start([busy, Step::json(200, bodies::openai_chat("well"))]).await.unwrap();
    let chat = provider(Kind::OpenAi, &format!("{}/v1", server.url())).chat().unwrap();
    let answer = chat.complete(&ask().with_max_tokens(9)).await.unwrap();
    assert_eq!((answer.text(), answer.tries()), ("well", Some(2)));
    let request = server.last_request().unwrap();
    assert_eq!(request.header("authorization"), Some("Bearer sk-0123456789"));
    assert_eq!(request.json().unwrap()["max_completion_tokens"], 9);
}

#[tokio::test]
async fn a_provider_of_another_dialect_is_spoken_to_in_its_own() {
    let server = ScriptedProvider::start([
        Step::json(200, bodies::anthropic_message("Hello")),
        Step::sse(bodies::anthropic_events(["Hel", "lo"])),
    ])
    .await
    .unwrap();
    let chat = provider(Kind::Anthropic, &server.url()).chat().unwrap();
    assert_eq!(chat.complete(&ask()).await.unwrap().text(), "Hello");
    assert_eq!(server.last_request().unwrap().route(), "/v1/messages");

    let answer = chat.stream(&ask()).await.unwrap().into_response().await.unwrap();
    assert_eq!(answer.text(), "Hello");
    assert!(answer.usage().output.is_some());
}

#[tokio::test]
async fn targets_fall_back_and_a_cut_stream_keeps_what_was_said() {
    let ill =
        ScriptedProvider::start([Step::json(401, bodies::openai_error("auth", None, "no"))]).await.unwrap();
    let cut = bodies::openai_chunks(["Hel", "lo"]).into_iter().take(2);
    let well = ScriptedProvider::start([Step::sse(cut).ending(End::Reset)]).await.unwrap();
    let first = provider(Kind::OpenAi, &format!("{}/v1", ill.url())).with_name("first");
    let second = provider(Kind::DeepSeek, &well.url());
    let chat = Chat::new(Fallback::new([first.target("gpt-5").unwrap(), second.target("").unwrap()]));

    let mut stream = chat.stream(&ask()).await.unwrap();
    assert_eq!(&*stream.served().unwrap().target.provider, "deepseek");
    assert_eq!(stream.next().await.unwrap().unwrap(), ChatEvent::Text("Hel".into()));
    let error = stream.next().await.unwrap().unwrap_err();
    assert_eq!((error.class(), &*error.partial().unwrap().text), (Class::Transport, "Hel"));
    assert_eq!(&*error.attempts()[0].provider, "first");
    assert_eq!(ill.last_request().unwrap().model().as_deref(), Some("gpt-5"));
    assert_eq!(well.last_request().unwrap().model().as_deref(), Some("m"));
}

#[tokio::test]
async fn ollama_cohere_and_bedrock_answer_by_their_own_apis() {
    let servers = [
        (
            Kind::OllamaNative,
            "/api/chat",
            Step::json(200, bodies::ollama_chat("Hello")),
            Step::ndjson(bodies::ollama_lines(["Hel", "lo"])),
        ),
        (
            Kind::CohereV2,
            "/v2/chat",
            Step::json(200, bodies::cohere_chat("Hello")),
            Step::sse(bodies::cohere_events(["Hel", "lo"])),
        ),
        (
            Kind::BedrockConverse,
            "/model/m/converse",
            Step::json(200, bodies::converse("Hello")),
            Step::event_stream(bodies::converse_messages(["Hel", "lo"])),
        ),
    ];
    for (kind, path, whole, stream) in servers {
        let server = ScriptedProvider::start([whole, stream]).await.unwrap();
        let chat = provider(kind, &server.url()).chat().unwrap();
        assert_eq!(chat.complete(&ask()).await.unwrap().text(), "Hello", "{kind}");
        let request = server.last_request().unwrap();
        assert_eq!(request.route(), path, "{kind}");
        let answer = chat.stream(&ask()).await.unwrap().into_response().await.unwrap();
        assert_eq!((answer.text(), answer.usage().input), ("Hello", Some(9)), "{kind}");
    }
}

#[tokio::test]
async fn each_try_is_signed_where_there_is_a_pair_of_keys() {
    let busy =
        Step::json(503, json!({"message": "busy"})).header("x-amzn-errortype", "ServiceUnavailableException");
    let server = ScriptedProvider::start([busy, Step::json(200, bodies::converse("well"))]).await.unwrap();
    let credentials = Credentials::new("AKIDEXAMPLE", "secret-0123456789", Some("token-0123456789")).unwrap();
    let second = std::sync::atomic::AtomicU64::new(1_440_938_160);
    let clock = move || {
        let second = second.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    };
    let chat = Provider::new(Kind::BedrockConverse)
        .with_base_url(server.url().parse().unwrap())
        .with_signer(Signer::new(credentials, "us-east-1", "bedrock").with_clock(clock))
        .with_client(Client::builder().no_proxy().build().unwrap())
        .with_retry(RetryLayer::new().with_base_delay(Duration::from_millis(1)))
        .chat()
        .unwrap();
    assert_eq!(chat.complete(&ask()).await.unwrap().text(), "well");
    let requests = server.requests();
    let header = |n: usize, name: &str| requests[n].header(name).unwrap().to_owned();
    assert_eq!(header(0, "x-amz-date"), "20150830T123600Z");
    assert_eq!(header(1, "x-amz-date"), "20150830T123601Z");
    assert_eq!(header(1, "x-amz-security-token"), "token-0123456789");
    assert_ne!(header(0, "authorization"), header(1, "authorization"));
}

#[test]
fn bedrock_is_found_as_awss_own_tools_find_it() {
    let from = |set: &[(&str, &str)]| {
        let set: Vec<(String, String)> =
            set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Provider::from_vars(Kind::BedrockConverse, &|name| {
            set.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        })
    };
    let region = ("AWS_REGION", "eu-west-3");
    let pair = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "s")];
    assert!(from(&[region, ("AWS_BEARER_TOKEN_BEDROCK", "k")]).unwrap().stack().is_ok());
    assert!(from(&[region, pair[0], pair[1], ("AWS_SESSION_TOKEN", "t")]).unwrap().stack().is_ok());
    assert!(matches!(from(&[region, pair[0]]), Err(ProviderError::NoKey { .. })));
    assert!(matches!(from(&pair), Err(ProviderError::NoBaseUrl { .. })));
    assert!(matches!(
        from(&[("AWS_REGION", "a/b"), pair[0], pair[1]]),
        Err(ProviderError::BadBaseUrl { .. })
    ));
}

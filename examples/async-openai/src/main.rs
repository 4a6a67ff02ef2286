//! [async-openai](https://docs.rs/async-openai), a client for OpenAI's API alone, over a stack of Mainstay's layers: it gets
//! retries that know what a provider's errors mean, and talks to a provider that speaks Anthropic's Messages.
//!
//! The client takes any tower service in place of its own HTTP client; `transport` makes one around the stack.
//!
//! `cargo run -p example-async-openai` prints
//!
//! ```text
//! whole: Hello from the other side. (9 tokens in, 5 out; the provider was asked 2 times)
//! stream: Hello from the other side.
//! ```

use async_openai::{
    Client as OpenAi, config::OpenAIConfig, error::OpenAIError, middleware::HttpRequestFactory,
    types::chat::CreateChatCompletionRequest,
};
use bytes::Bytes;
use futures_util::StreamExt;
use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use mainstay::{
    BoxError,
    body::RequestBody,
    client::Client,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::{
        retry::RetryLayer,
        timeout::{TimeoutConfig, TimeoutLayer},
    },
    peek::{Call, peek},
    provider::Kind,
    translate::TranslateLayer,
};
use mainstay_testkit::{ScriptedProvider, Step, bodies};
use serde_json::json;
use std::time::Duration;
use tower::{Service, ServiceBuilder, ServiceExt, service_fn};

const WORDS: [&str; 5] = ["Hello ", "from ", "the ", "other ", "side."];

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    // A provider that is overloaded at first.
    let provider = ScriptedProvider::start([
        Step::json(529, bodies::anthropic_error("overloaded_error", "Overloaded")),
        Step::json(200, bodies::anthropic_message(&WORDS.concat())),
        Step::sse(bodies::anthropic_events(WORDS)),
    ])
    .await?;
    let endpoint = EndpointLayer::new(Kind::Anthropic, &provider.url().parse::<Uri>()?);
    let stack = ServiceBuilder::new()
        .layer(TranslateLayer::new(Kind::Anthropic))
        .layer(RetryLayer::new().with_base_delay(Duration::from_millis(20)))
        .layer(JudgeLayer::new(Kind::Anthropic))
        .layer(TimeoutLayer::new(TimeoutConfig::new().with_idle(Duration::from_secs(30))))
        .layer(endpoint.ok_or("no host in the base URL")?)
        .service(Client::new()?);
    // The stack decides what a URL means: the host is never looked up.
    let config = OpenAIConfig::new().with_api_base("http://mainstay/v1").with_api_key("sk-caller");
    let client = OpenAi::with_config(config).with_http_service(transport(stack));

    let answer = client.chat().create(asked()?).await?;
    let words = answer.choices.first().and_then(|choice| choice.message.content.as_deref());
    let usage = answer.usage.ok_or("no tokens")?;
    println!(
        "whole: {} ({} tokens in, {} out; the provider was asked {} times)",
        words.unwrap_or_default(),
        usage.prompt_tokens,
        usage.completion_tokens,
        provider.calls()
    );

    let mut stream = client.chat().create_stream(asked()?).await?;
    let mut words = String::new();
    while let Some(chunk) = stream.next().await {
        words.extend(chunk?.choices.into_iter().filter_map(|choice| choice.delta.content));
    }
    println!("stream: {words}");
    Ok(())
}

fn asked() -> Result<CreateChatCompletionRequest, serde_json::Error> {
    serde_json::from_value(json!({"model": "claude", "messages": [{"role": "user", "content": "hi"}]}))
}

/// A service as async-openai wants one, over a stack of Mainstay's.
///
/// It is handed a factory, of which one request is built: what is tried again, and when, is the stack's affair.
fn transport<S, B>(
    stack: S,
) -> impl Service<
    HttpRequestFactory,
    Response = reqwest::Response,
    Error = OpenAIError,
    Future = impl Future<Output = Result<reqwest::Response, OpenAIError>> + Send,
> + Clone
+ Send
+ Sync
+ 'static
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: http_body_util::BodyExt<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    service_fn(move |factory: HttpRequestFactory| {
        let stack = stack.clone();
        async move {
            let (parts, body) =
                Request::try_from(factory.build().await?).map_err(OpenAIError::Reqwest)?.into_parts();
            let reply = ask(stack, parts, body).await.map_err(OpenAIError::Boxed)?;
            Ok(reqwest::Response::from(reply.map(|body| reqwest::Body::wrap_stream(body.into_data_stream()))))
        }
    })
}

/// Puts a request to the stack with what its layers want to know of it.
async fn ask<S, B>(
    stack: S,
    parts: http::request::Parts,
    body: reqwest::Body,
) -> Result<Response<B>, BoxError>
where
    S: Service<Request<RequestBody>, Response = Response<B>>,
    S::Error: Into<BoxError>,
{
    let body = body.collect().await?.to_bytes();
    let call = Call::new(parts.uri.path(), peek(&body)?);
    let request = call.into_request(Request::from_parts(parts, ()), body);
    stack.oneshot(request).await.map_err(Into::into)
}

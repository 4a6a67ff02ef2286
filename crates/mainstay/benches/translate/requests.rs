//! Requests: a long prompt with escapes in it, and ten images.

use super::Api;
use allocation_counter::measure;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Empty;
use mainstay::{body::RequestBody, translate::TranslateLayer};
use std::{convert::Infallible, hint::black_box};
use tokio::time::Instant;
use tower::{Layer, ServiceExt, service_fn};

const ROUNDS: u32 = 7;
const CALLS: u32 = 10;

/// What a request costs.
pub(crate) struct Cost {
    pub(crate) size: usize,
    /// Bytes per second.
    pub(crate) rate: f64,
    /// Of the size of the body.
    pub(crate) peak: f64,
}

pub(crate) fn cost(from: Api, to: Api) -> Cost {
    let text = body(from);
    let size = text.len();
    let translate = |body: &Bytes| {
        let provider = service_fn(|request: Request<RequestBody>| async move {
            black_box(request.body().to_bytes());
            Ok::<_, Infallible>(Response::new(Empty::<Bytes>::new()))
        });
        let call = TranslateLayer::new(to.kind()).layer(provider).oneshot(from.call(body));
        black_box(call.now_or_never().expect("all is there")).ok();
    };
    let peak = measure(|| translate(&Bytes::from(text.clone()))).bytes_max as f64 / size as f64;
    let body = Bytes::from(text);
    let best = (0..ROUNDS)
        .map(|_| {
            let since = Instant::now();
            (0..CALLS).for_each(|_| translate(&body));
            since.elapsed() / CALLS
        })
        .min()
        .expect("rounds");
    Cost { size, rate: size as f64 / best.as_secs_f64(), peak }
}

/// A megabyte of words with an escape in each line, and ten images of 100 kB.
fn body(api: Api) -> Vec<u8> {
    const LINE: &str = r"Once upon a time in a land far away, a man said: \u201cso be it\u201d\n";
    let words = LINE.repeat((1 << 20) / LINE.len());
    let data = "iVBORw0KGgoA".repeat(8_500);
    let mut parts = vec![match api {
        Api::Responses => format!(r#"{{"type":"input_text","text":"{words}"}}"#),
        Api::Gemini => format!(r#"{{"text":"{words}"}}"#),
        _ => format!(r#"{{"type":"text","text":"{words}"}}"#),
    }];
    let image = match api {
        Api::Chat => {
            format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}"}}}}"#)
        }
        Api::Responses => format!(r#"{{"type":"input_image","image_url":"data:image/png;base64,{data}"}}"#),
        Api::Messages => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
        ),
        Api::Gemini => format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{data}"}}}}"#),
    };
    parts.extend((0..10).map(|_| image.clone()));
    let parts = parts.join(",");
    let body = match api {
        Api::Chat => format!(r#"{{"model":"m","messages":[{{"role":"user","content":[{parts}]}}]}}"#),
        Api::Responses => format!(r#"{{"model":"m","input":[{{"role":"user","content":[{parts}]}}]}}"#),
        Api::Messages => {
            format!(r#"{{"model":"m","max_tokens":9,"messages":[{{"role":"user","content":[{parts}]}}]}}"#)
        }
        Api::Gemini => format!(r#"{{"contents":[{{"role":"user","parts":[{parts}]}}]}}"#),
    };
    body.into_bytes()
}

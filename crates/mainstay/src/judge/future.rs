//! The future: from a call to a reply of which it is known what it is.

use super::{
    ErrorBody, JudgeBody, JudgeLayer, ReplyError, UsageCell,
    body::Phase,
    error::ErrorEvent,
    framing::{announces_stream, is_type},
    tee::{Step, Tee},
};
use crate::dialect::{Dialect, Whole, read_whole};
use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Response, StatusCode, header, response::Parts};
use http_body::Body;
use mainstay_layers::{
    BoxError,
    classify::{Class, Failed, Head, Verdict},
    error::find_cause,
    timeout::Progress,
};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::Sleep;

/// What a judge knows of a call.
#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) layer: JudgeLayer,
    pub(super) dialect: Dialect,
    /// Whether a stream was asked for, where that is known.
    pub(super) stream: Option<bool>,
    /// Whether the stream is translated above: what cannot be read cannot be handed on.
    pub(super) translated: bool,
    pub(super) progress: Progress,
    pub(super) usage: Option<UsageCell>,
}

pin_project! {
    /// The future of [`Judge`](super::Judge).
    #[derive(Debug)]
    pub struct ResponseFuture<F, B> {
        #[pin]
        state: State<F, B>,
        reading: Reading,
    }
}

pin_project! {
    #[project = StateProj]
    #[derive(Debug)]
    enum State<F, B> {
        Calling {
            #[pin]
            inner: F,
        },
        Collecting {
            parts: Option<Parts>,
            #[pin]
            body: B,
            read: Collected,
            #[pin]
            limit: Option<Sleep>,
        },
        Holding {
            parts: Option<Parts>,
            held: Held<B>,
        },
        // What was below is let go the moment that the reply is known.
        Done,
    }
}

/// The body of a reply that is no stream, as far as it was read.
#[derive(Debug, Default)]
struct Collected {
    first: Bytes,
    rest: BytesMut,
}

impl Collected {
    fn push(&mut self, data: Bytes) {
        if self.first.is_empty() && self.rest.is_empty() {
            self.first = data;
        } else {
            if self.rest.is_empty() {
                self.rest.extend_from_slice(&std::mem::take(&mut self.first));
            }
            self.rest.extend_from_slice(&data);
        }
    }

    fn len(&self) -> usize {
        self.first.len().max(self.rest.len())
    }

    fn take(&mut self) -> Bytes {
        if self.rest.is_empty() { std::mem::take(&mut self.first) } else { self.rest.split().freeze() }
    }
}

/// A stream of which no content has been seen.
#[derive(Debug)]
struct Held<B> {
    // Boxed: it is large, and most calls are no streams.
    tee: Option<Box<Tee<B>>>,
    slices: Vec<Bytes>,
    events: usize,
    bytes: usize,
}

impl<F, B> ResponseFuture<F, B> {
    pub(super) fn new(inner: F, reading: Reading) -> Self {
        Self { state: State::Calling { inner }, reading }
    }
}

impl<F, E, B> Future for ResponseFuture<F, B>
where
    F: Future<Output = Result<Response<B>, E>>,
    E: Into<BoxError>,
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Output = Result<Response<JudgeBody<B>>, BoxError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let next = match this.state.as_mut().project() {
                StateProj::Calling { inner } => {
                    let (mut parts, body) = match ready!(inner.poll(cx)) {
                        Ok(response) => response.into_parts(),
                        Err(error) => return Poll::Ready(Err(this.reading.failed(error.into()))),
                    };
                    match this.reading.plan(&parts) {
                        Plan::Refuse(error) => {
                            return Poll::Ready(Err(Failed::new(Class::Malformed.into(), error).into()));
                        }
                        Plan::PassOn => {
                            parts.extensions.insert(Verdict::new(Class::Success));
                            let body = JudgeBody::untouched(body, this.reading.progress.clone());
                            return Poll::Ready(Ok(Response::from_parts(parts, body)));
                        }
                        Plan::Hold => {
                            let tee =
                                Tee::new(body, this.reading.clone(), parts.status, parts.headers.clone());
                            State::Holding { parts: Some(parts), held: Held::new(tee) }
                        }
                        Plan::Collect => {
                            let limit = (!parts.status.is_success())
                                .then(|| tokio::time::sleep(this.reading.layer.config().error_body));
                            State::Collecting { parts: Some(parts), body, read: Collected::default(), limit }
                        }
                    }
                }
                StateProj::Collecting { parts, body, read, limit } => {
                    let is_error = parts.as_ref().is_some_and(|parts| !parts.status.is_success());
                    let max = this.reading.layer.config().max_error_body;
                    let end = ready!(poll_collect(body, read, limit, is_error.then_some(max), cx));
                    let Some(parts) = parts.take() else { return Poll::Pending };
                    let body = read.take();
                    this.state.set(State::Done);
                    return Poll::Ready(this.reading.judge_whole(parts, body, end));
                }
                StateProj::Holding { parts, held } => {
                    let outcome = ready!(held.poll(cx));
                    let Some(parts) = parts.take() else { return Poll::Pending };
                    this.state.set(State::Done);
                    return Poll::Ready(this.reading.judge_stream(parts, outcome));
                }
                StateProj::Done => return Poll::Pending,
            };
            this.state.set(next);
        }
    }
}

/// How the reading of a body ended.
enum End {
    /// At its end.
    Whole,
    /// At a bound: of an error's body, the rest is not worth waiting for.
    Bound,
    /// It broke.
    Broken(BoxError),
}

fn poll_collect<B>(
    mut body: Pin<&mut B>,
    read: &mut Collected,
    limit: Pin<&mut Option<Sleep>>,
    max: Option<usize>,
    cx: &mut Context<'_>,
) -> Poll<End>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    loop {
        match body.as_mut().poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                if let Ok(data) = frame.into_data() {
                    read.push(data);
                }
                if max.is_some_and(|max| read.len() > max) {
                    return Poll::Ready(End::Bound);
                }
            }
            Poll::Ready(Some(Err(error))) => return Poll::Ready(End::Broken(error.into())),
            Poll::Ready(None) => return Poll::Ready(End::Whole),
            Poll::Pending => {
                return match limit.as_pin_mut() {
                    Some(sleep) => sleep.poll(cx).map(|()| End::Bound),
                    None => Poll::Pending,
                };
            }
        }
    }
}

/// How a stream's hold ended.
enum Released<B> {
    /// Hand it on from here.
    Go(Bytes, Box<Tee<B>>, Phase),
    /// It failed before anything reached the caller.
    Failed(Failed),
}

impl<B> Held<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    fn new(tee: Tee<B>) -> Self {
        Self { tee: Some(Box::new(tee)), slices: Vec::new(), events: 0, bytes: 0 }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Released<B>> {
        loop {
            let Some(tee) = &mut self.tee else { return Poll::Pending };
            let (raw, phase) = match ready!(tee.poll_event(cx)) {
                Ok(event) => {
                    self.bytes += event.raw.len();
                    self.events += usize::from(event.counts);
                    let config = tee.reading.layer.config();
                    let full = self.events > config.hold_events || self.bytes > config.hold_bytes;
                    let phase = match () {
                        () if event.is_terminal => Some(Phase::Lingering),
                        () if event.is_content || full => Some(Phase::Passing),
                        () => None,
                    };
                    (event.raw, phase)
                }
                Err(Step::Failed(failed)) => return Poll::Ready(Released::Failed(failed)),
                Err(Step::Pass(rest) | Step::Terminal(rest) | Step::Complete(rest)) => {
                    (rest, Some(Phase::Ended))
                }
            };
            let joined = self.slices.last().and_then(|last| tee.join(last, &raw));
            match (self.slices.last_mut(), joined) {
                (Some(last), Some(joined)) => *last = joined,
                _ => self.slices.push(raw),
            }
            let Some(phase) = phase else { continue };
            let Some(mut tee) = self.tee.take() else { return Poll::Pending };
            tee.commit();
            return Poll::Ready(Released::Go(in_one_go(&mut self.slices), tee, phase));
        }
    }
}

/// What was held, as one frame.
fn in_one_go(slices: &mut Vec<Bytes>) -> Bytes {
    match slices.as_mut_slice() {
        [only] => std::mem::take(only),
        several => several.concat().into(),
    }
}

/// What to do with a reply of which the head is known.
enum Plan {
    Refuse(ReplyError),
    PassOn,
    Hold,
    Collect,
}

impl Reading {
    fn plan(&self, parts: &Parts) -> Plan {
        if parts.status.is_redirection() {
            return Plan::Refuse(ReplyError::Redirect { status: parts.status });
        }
        // 101: whatever the provider has switched to, it is no answer, and no caller's connection is to be switched.
        if parts.status.is_informational() {
            return Plan::Refuse(ReplyError::NotAnAnswer { what: "it switches protocols" });
        }
        if !parts.status.is_success() {
            return Plan::Collect;
        }
        let coding = parts.headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
            let what = "it is compressed in a way that was not asked for";
            return Plan::Refuse(ReplyError::NotAnAnswer { what });
        }
        let is_json = is_type(&parts.headers, "application/json");
        let untyped = !parts.headers.contains_key(header::CONTENT_TYPE);
        match self.dialect {
            // Of an endpoint that we do not know, only JSON can be judged: it may be speech, or a file.
            Dialect::Other if !is_json => Plan::PassOn,
            Dialect::Other => Plan::Collect,
            dialect if announces_stream(dialect, &parts.headers) => {
                if self.stream == Some(false) && self.asks_in_the_body() {
                    let what = "it is a stream, and none was asked for";
                    return Plan::Refuse(ReplyError::NotAnAnswer { what });
                }
                Plan::Hold
            }
            // A stream was asked for and this may be one, from a server that does not name its type.
            _ if self.stream == Some(true) && untyped => Plan::Hold,
            _ => Plan::Collect,
        }
    }

    /// Whether nothing but `"stream": true` asks for a stream in this dialect. In others the path may, and Gemini's streams
    /// may be lists of JSON.
    fn asks_in_the_body(&self) -> bool {
        use Dialect::{ChatCompletions, Completions, Embeddings, Messages, Responses};
        matches!(self.dialect, ChatCompletions | Completions | Embeddings | Messages | Responses)
    }

    /// An error, with the judgement on it where nobody below has given one.
    fn failed(&self, error: BoxError) -> BoxError {
        if find_cause::<Failed>(&*error).is_some() {
            return error;
        }
        Failed::new(self.layer.error(&*error), error).into()
    }

    fn judge_whole<B>(
        &self,
        mut parts: Parts,
        body: Bytes,
        end: End,
    ) -> Result<Response<JudgeBody<B>>, BoxError> {
        if !parts.status.is_success() {
            let verdict = self.layer.reply(Head::of_parts(&parts), &body);
            return Ok(error_reply(parts, body, verdict));
        }
        match end {
            End::Broken(error) => return Err(self.failed(error)),
            End::Whole | End::Bound => {}
        }
        let what = match read_whole(self.dialect, &body) {
            // An SDK would look for events in it, find none, and take the answer for an empty one.
            Whole::Answer(_)
                if self.stream == Some(true)
                    && self.asks_in_the_body()
                    && self.dialect != Dialect::Embeddings =>
            {
                "it is no stream, though one was asked for"
            }
            Whole::Answer(answer) => {
                if let Some(cell) = &self.usage {
                    cell.set(answer.usage);
                }
                parts.extensions.insert(Verdict::new(Class::Success));
                return Ok(Response::from_parts(parts, JudgeBody::whole(body)));
            }
            Whole::Error { object, reason } => {
                let verdict = self.layer.inside(Head::of_parts(&parts), object, reason.as_deref());
                return Ok(error_reply(parts, body, verdict));
            }
            Whole::Empty => {
                let verdict = self.layer.empty(Head::of_parts(&parts));
                let error = ReplyError::NotAnAnswer { what: "it holds no answer" };
                return Err(Failed::new(verdict, error).into());
            }
            Whole::Broken => "its fields are not what they must be, or end in the middle",
            Whole::NotJson if body.iter().all(u8::is_ascii_whitespace) => "it is empty",
            Whole::NotJson => "it is not JSON",
        };
        Err(Failed::new(Class::Malformed.into(), ReplyError::NotAnAnswer { what }).into())
    }

    fn judge_stream<B>(
        &self,
        mut parts: Parts,
        outcome: Released<B>,
    ) -> Result<Response<JudgeBody<B>>, BoxError>
    where
        B: Body<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        match outcome {
            Released::Go(held, tee, phase) => {
                parts.extensions.insert(Verdict::new(Class::Success));
                Ok(Response::from_parts(parts, JudgeBody::stream(held, tee, phase)))
            }
            Released::Failed(failed) => match find_cause::<ReplyError>(&failed) {
                Some(ReplyError::Provider(ErrorEvent { data, .. })) => {
                    let (data, verdict) = (data.clone(), failed.verdict().clone());
                    Ok(error_reply(parts, data, verdict))
                }
                _ => Err(failed.into()),
            },
        }
    }
}

/// An error reply, whole: the status that the error stands for, its body as JSON or as it came, and the judgement.
fn error_reply<B>(mut parts: Parts, body: Bytes, verdict: Verdict) -> Response<JudgeBody<B>> {
    if parts.status.is_success() {
        parts.status = verdict.status.unwrap_or(StatusCode::BAD_GATEWAY);
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.extensions.insert(verdict);
    parts.extensions.insert(ErrorBody(body.clone()));
    Response::from_parts(parts, JudgeBody::whole(body))
}

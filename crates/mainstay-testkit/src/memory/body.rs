//! A body that does what a script says.

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use mainstay_layers::BoxError;
use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::Sleep;

/// A body whose frames come after delays, fail anywhere, or stop coming.
///
/// It is built by adding to it, in order. Without [`fail`](Self::fail) or [`silence`](Self::silence) it ends after its last
/// frame. `is_end_stream` is true once nothing is left, and `size_hint` is exact when all that is left is data, so that
/// a wrapper can be tested for handing both on; [`without_hints`](Self::without_hints) switches both off.
///
/// ```
/// use http_body_util::BodyExt;
/// use mainstay_testkit::memory::FaultBody;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() {
/// let mut body = FaultBody::new().data("a").wait(Duration::from_secs(60)).fail("connection reset");
/// assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
/// assert_eq!(body.frame().await.unwrap().unwrap_err().to_string(), "connection reset");
/// # }
/// ```
#[derive(Debug, Default)]
pub struct FaultBody {
    acts: VecDeque<Act>,
    sleep: Option<Pin<Box<Sleep>>>,
    without_hints: bool,
    ended: bool,
    watch: BodyWatch,
}

#[derive(Clone, Debug)]
enum Act {
    Data(Bytes),
    Trailers(HeaderMap),
    Wait(Duration),
    Fail(String),
    Silence,
}

/// What was done to a [`FaultBody`]; outlives it.
#[derive(Clone, Debug, Default)]
pub struct BodyWatch(Arc<Seen>);

#[derive(Debug, Default)]
struct Seen {
    frames: AtomicUsize,
    ended: AtomicBool,
    dropped: AtomicBool,
    late_polls: AtomicUsize,
}

impl FaultBody {
    /// An empty body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Then a frame of data.
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        self.then(Act::Data(data.into()))
    }

    /// Then a frame for each.
    pub fn frames<D: Into<Bytes>>(self, all: impl IntoIterator<Item = D>) -> Self {
        all.into_iter().fold(self, |body, data| body.data(data))
    }

    /// Then trailers.
    pub fn trailers(self, trailers: HeaderMap) -> Self {
        self.then(Act::Trailers(trailers))
    }

    /// Then so long nothing, counted from when it is first polled for.
    pub fn wait(self, wait: Duration) -> Self {
        self.then(Act::Wait(wait))
    }

    /// Then a [`ScriptedError`], and the end.
    pub fn fail(self, message: impl Into<String>) -> Self {
        self.then(Act::Fail(message.into()))
    }

    /// Then nothing, for ever.
    pub fn silence(self) -> Self {
        self.then(Act::Silence)
    }

    /// Never says its size, nor that it is at its end before the end was polled for.
    pub fn without_hints(mut self) -> Self {
        self.without_hints = true;
        self
    }

    /// A handle that tells what was done to this body.
    pub fn watch(&self) -> BodyWatch {
        self.watch.clone()
    }

    fn then(mut self, act: Act) -> Self {
        self.acts.push_back(act);
        self
    }

    /// Goes on as another body when its own script has come to its end.
    pub(super) fn append(&mut self, mut other: Self) {
        self.acts.append(&mut other.acts);
        self.without_hints |= other.without_hints;
    }

    /// The same script for a body of its own; how far this one was played counts.
    pub(super) fn again(&self) -> Self {
        let mut again = Self::new();
        again.acts.clone_from(&self.acts);
        again.without_hints = self.without_hints;
        again
    }
}

impl<D: Into<Bytes>> From<D> for FaultBody {
    fn from(data: D) -> Self {
        Self::new().data(data)
    }
}

impl BodyWatch {
    /// How many frames it gave.
    pub fn frames(&self) -> usize {
        self.0.frames.load(Relaxed)
    }

    /// Whether its end, or its error, was polled for.
    pub fn ended(&self) -> bool {
        self.0.ended.load(Relaxed)
    }

    /// Whether it was dropped.
    pub fn dropped(&self) -> bool {
        self.0.dropped.load(Relaxed)
    }

    /// How often it was polled after its end or its error.
    pub fn late_polls(&self) -> usize {
        self.0.late_polls.load(Relaxed)
    }
}

impl Body for FaultBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.ended {
            this.watch.0.late_polls.fetch_add(1, Relaxed);
            return Poll::Ready(None);
        }
        loop {
            if let Some(sleep) = &mut this.sleep {
                ready!(sleep.as_mut().poll(cx));
                this.sleep = None;
            }
            let frame = match this.acts.pop_front() {
                Some(Act::Data(data)) => Frame::data(data),
                Some(Act::Trailers(trailers)) => Frame::trailers(trailers),
                Some(Act::Wait(wait)) => {
                    this.sleep = Some(Box::pin(tokio::time::sleep(wait)));
                    continue;
                }
                Some(Act::Silence) => {
                    // Nobody will wake this task: that is the point.
                    this.acts.push_front(Act::Silence);
                    return Poll::Pending;
                }
                Some(Act::Fail(message)) => {
                    this.end();
                    return Poll::Ready(Some(Err(Box::new(ScriptedError(message)))));
                }
                None => {
                    this.end();
                    return Poll::Ready(None);
                }
            };
            this.watch.0.frames.fetch_add(1, Relaxed);
            return Poll::Ready(Some(Ok(frame)));
        }
    }

    fn is_end_stream(&self) -> bool {
        self.ended || (!self.without_hints && self.acts.is_empty() && self.sleep.is_none())
    }

    fn size_hint(&self) -> SizeHint {
        if self.ended {
            return SizeHint::with_exact(0);
        }
        let mut size = 0;
        for act in &self.acts {
            match act {
                Act::Data(data) => size += data.len() as u64,
                Act::Trailers(_) | Act::Wait(_) => {}
                Act::Fail(_) | Act::Silence => return SizeHint::default(),
            }
        }
        if self.without_hints { SizeHint::default() } else { SizeHint::with_exact(size) }
    }
}

impl FaultBody {
    fn end(&mut self) {
        self.ended = true;
        self.acts.clear();
        self.watch.0.ended.store(true, Relaxed);
    }
}

impl Drop for FaultBody {
    fn drop(&mut self) {
        self.watch.0.dropped.store(true, Relaxed);
    }
}

/// A failure that a script asked for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ScriptedError(pub(crate) String);

impl ScriptedError {
    /// A failure that says so.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ScriptedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for ScriptedError {}

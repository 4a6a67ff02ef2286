//! What became of a call: one judgement, read by all who act on it.
//!
//! A [`Verdict`] says of which [`Class`] an outcome is, how long the server asked us to wait, and whether anything
//! has reached the caller. A [`Classify`] gives it at one of the moments at which an outcome shows itself: an error
//! instead of a reply, a reply's head, the first bytes of its body, its trailers, an error in its body.
//!
//! A judge further down (such as `mainstay`'s, which reads LLM replies) leaves its verdict in the extensions of the
//! response, or wraps an error as [`Failed`]; [`HttpClassifier`] reads those first and judges by itself only where
//! there is none. So each layer works alone and together with a judge.
//!
//! ```
//! use http::Response;
//! use mainstay_layers::classify::{Class, Classify, Head, HttpClassifier};
//!
//! let reply = Response::builder().status(429).header("retry-after", "7").body(()).unwrap();
//! let verdict = HttpClassifier::new().head(Head::of(&reply));
//! assert_eq!(verdict.class, Class::RateLimited);
//! assert_eq!(verdict.wait.unwrap().as_secs(), 7);
//! ```

mod class;
mod failed;
mod grpc;
mod http;
mod verdict;

pub mod hint;

pub use self::class::{Class, Vote};
pub use self::failed::Failed;
pub use self::grpc::GrpcClassifier;
pub use self::http::HttpClassifier;
#[cfg(feature = "grpc")]
pub(crate) use self::http::own_verdict;
pub use self::verdict::{Sent, Verdict};

use ::http::{Extensions, HeaderMap, Response, StatusCode};
use std::{error::Error, sync::Arc, time::Duration};

/// The head of a reply, as a classifier sees it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Head<'a> {
    /// The reply's status.
    pub status: StatusCode,
    /// The reply's headers.
    pub headers: &'a HeaderMap,
    /// The reply's extensions; a judge below leaves its [`Verdict`] here.
    pub extensions: &'a Extensions,
}

impl<'a> Head<'a> {
    /// The head of `response`.
    #[inline]
    pub fn of<B>(response: &'a Response<B>) -> Self {
        Self { status: response.status(), headers: response.headers(), extensions: response.extensions() }
    }

    /// A head of these parts.
    pub fn new(status: StatusCode, headers: &'a HeaderMap, extensions: &'a Extensions) -> Self {
        Self { status, headers, extensions }
    }

    /// The head that `parts` describe.
    pub fn of_parts(parts: &'a ::http::response::Parts) -> Self {
        Self { status: parts.status, headers: &parts.headers, extensions: &parts.extensions }
    }
}

/// The policy that turns outcomes into [`Verdict`]s. Object safe, and without bounds on bodies.
///
/// Only [`error`](Self::error) and [`head`](Self::head) must be written; to change one rule of another classifier,
/// hold that one and delegate the rest to it.
///
/// ```
/// use mainstay_layers::classify::{Class, Classify, Head, HttpClassifier, Verdict};
/// use std::error::Error;
///
/// /// As usual, but 404 is worth another try: the index behind our server lags.
/// struct LaggingIndex(HttpClassifier);
///
/// impl Classify for LaggingIndex {
///     fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
///         self.0.error(error)
///     }
///     fn head(&self, head: Head<'_>) -> Verdict {
///         match head.status.as_u16() {
///             404 => Verdict::new(Class::ServerError),
///             _ => self.0.head(head),
///         }
///     }
/// }
/// ```
pub trait Classify {
    /// Judges an error: instead of a reply, or in the middle of its body.
    fn error(&self, error: &(dyn Error + 'static)) -> Verdict;

    /// Judges a reply by its head alone.
    fn head(&self, head: Head<'_>) -> Verdict;

    /// How a circuit breaker counts a reply by its head, and the wait that the server asked for: what [`head`](Self::head)
    /// says of that. Only for classifiers that can say so much more cheaply.
    #[inline]
    fn vote(&self, head: Head<'_>) -> (Vote, Option<Duration>) {
        let verdict = self.head(head);
        (verdict.vote(), verdict.wait)
    }

    /// Judges a reply by its head and the first bytes of its body (for an error reply: all of it, up to a bound).
    fn body(&self, head: Head<'_>, first_bytes: &[u8]) -> Verdict {
        let _ = first_bytes;
        self.head(head)
    }

    /// Judges what the trailers say; `None`: they say nothing, and the head's verdict stands.
    fn trailers(&self, trailers: &HeaderMap) -> Option<Verdict> {
        let _ = trailers;
        None
    }
}

macro_rules! delegate {
    ($($ty:ty),*) => {$(
        impl<C: Classify + ?Sized> Classify for $ty {
            fn error(&self, error: &(dyn Error + 'static)) -> Verdict {
                (**self).error(error)
            }
            fn head(&self, head: Head<'_>) -> Verdict {
                (**self).head(head)
            }
            fn vote(&self, head: Head<'_>) -> (Vote, Option<Duration>) {
                (**self).vote(head)
            }
            fn body(&self, head: Head<'_>, first_bytes: &[u8]) -> Verdict {
                (**self).body(head, first_bytes)
            }
            fn trailers(&self, trailers: &HeaderMap) -> Option<Verdict> {
                (**self).trailers(trailers)
            }
        }
    )*};
}

delegate!(&C, Box<C>, Arc<C>);

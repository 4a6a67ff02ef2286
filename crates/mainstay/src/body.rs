//! A request body that is held in memory and can be sent any number of times.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// A request body of up to three slices of memory: cloned by reference, sent without being put together.
///
/// Three, because replacing the model's name in a JSON body leaves what stands before it, the new name, and what stands
/// behind it.
///
/// ```
/// use mainstay::body::RequestBody;
/// use bytes::Bytes;
///
/// let body = RequestBody::from(Bytes::from_static(b"{\"model\":\"nick\"}"));
/// let renamed = body.splice(9..15, Bytes::from_static(b"\"real\"")).unwrap();
/// assert_eq!(renamed.to_bytes(), "{\"model\":\"real\"}");
/// ```
#[derive(Clone, Debug, Default)]
pub struct RequestBody {
    parts: [Bytes; 3],
}

impl RequestBody {
    /// The same body with the bytes of `range` replaced; `None` where the range is not within the first slice.
    pub fn splice(&self, range: std::ops::Range<usize>, with: Bytes) -> Option<Self> {
        let [whole, rest @ ..] = &self.parts;
        if range.start > range.end || range.end > whole.len() || rest.iter().any(|part| !part.is_empty()) {
            return None;
        }
        Some(Self { parts: [whole.slice(..range.start), with, whole.slice(range.end..)] })
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of it in one piece; copies only where it is in several.
    pub fn to_bytes(&self) -> Bytes {
        let mut full = self.parts.iter().filter(|part| !part.is_empty());
        match (full.next(), full.next()) {
            (None, _) => Bytes::new(),
            (Some(only), None) => only.clone(),
            _ => self.parts.concat().into(),
        }
    }
}

impl From<Bytes> for RequestBody {
    fn from(bytes: Bytes) -> Self {
        Self { parts: [bytes, Bytes::new(), Bytes::new()] }
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.parts.iter_mut().find(|part| !part.is_empty()).map(std::mem::take);
        Poll::Ready(next.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.len() as u64)
    }
}

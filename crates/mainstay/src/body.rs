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

    /// The slices that it is made of, in order.
    pub(crate) fn slices(&self) -> impl Iterator<Item = &[u8]> {
        self.parts.iter().map(|part| &part[..])
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

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    async fn sent(body: RequestBody) -> Bytes {
        let length = body.size_hint().exact().unwrap();
        let all = body.collect().await.unwrap().to_bytes();
        assert_eq!(all.len() as u64, length);
        all
    }

    #[tokio::test]
    async fn any_range_can_be_replaced_and_the_rest_is_the_same_memory() {
        let whole = Bytes::from_static(b"0123456789");
        for start in 0..=10 {
            for end in start..=10 {
                for with in ["", "x", "long and longer"] {
                    let body = RequestBody::from(whole.clone()).splice(start..end, with.into()).unwrap();
                    let expected = [&whole[..start], with.as_bytes(), &whole[end..]].concat();
                    assert_eq!(body.len(), expected.len());
                    assert_eq!(body.is_empty(), expected.is_empty());
                    assert_eq!(body.is_end_stream(), expected.is_empty());
                    assert_eq!(body.to_bytes(), expected);
                    // Sent twice: a clone has all of it.
                    assert_eq!(sent(body.clone()).await, expected);
                    assert_eq!(sent(body).await, expected);
                }
            }
        }
        let same = RequestBody::from(whole.clone()).to_bytes();
        assert_eq!(same.as_ptr(), whole.as_ptr());
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges)]
    fn what_is_out_of_range_or_spliced_already_is_left_alone() {
        let body = RequestBody::from(Bytes::from_static(b"0123"));
        assert!(body.splice(2..5, Bytes::new()).is_none());
        assert!(body.splice(3..2, Bytes::new()).is_none());
        let spliced = body.splice(1..2, Bytes::from_static(b"x")).unwrap();
        assert!(spliced.splice(0..1, Bytes::new()).is_none());
    }

    #[tokio::test]
    async fn frames_are_never_empty() {
        let body =
            RequestBody::from(Bytes::from_static(b"0123")).splice(0..4, Bytes::from_static(b"x")).unwrap();
        let mut body = body;
        let mut frames = Vec::new();
        while let Some(frame) = body.frame().await {
            frames.push(frame.unwrap().into_data().unwrap());
        }
        assert_eq!(frames, ["x"]);
        assert!(body.is_end_stream() && body.size_hint().exact() == Some(0));
    }
}

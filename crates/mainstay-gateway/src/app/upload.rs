//! Reading a request's body, once, within its bounds.

use bytes::{Bytes, BytesMut};
use http_body::Body;
use http_body_util::BodyExt;
use std::{pin::pin, time::Duration};

/// Why a body could not be read.
#[derive(Debug)]
pub(super) enum UploadError {
    /// It is over the limit.
    TooLarge { limit: u64 },
    /// The caller sent nothing for too long.
    Idle { after: Duration },
    /// It broke off, or could not be decoded.
    Broken(String),
}

/// Reads a body of at most `limit` bytes; `idle` is the longest silence in it.
pub(super) async fn read<B>(body: B, limit: u64, idle: Duration) -> Result<Bytes, UploadError>
where
    B: Body<Data = Bytes>,
    B::Error: std::fmt::Display,
{
    let mut body = pin!(body);
    if body.size_hint().lower() > limit {
        return Err(UploadError::TooLarge { limit });
    }
    let (mut first, mut rest) = (Bytes::new(), BytesMut::new());
    loop {
        let frame = match tokio::time::timeout(idle, body.frame()).await {
            Err(_) => return Err(UploadError::Idle { after: idle }),
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(UploadError::Broken(error.to_string())),
            Ok(Some(Ok(frame))) => frame,
        };
        let Ok(data) = frame.into_data() else { continue };
        let so_far = first.len().max(rest.len()) as u64;
        if so_far + data.len() as u64 > limit {
            return Err(UploadError::TooLarge { limit });
        }
        if so_far == 0 {
            first = data;
        } else {
            if rest.is_empty() {
                // As much as was announced, within reason: the announcement is the caller's.
                let announced = body.size_hint().lower().min(1 << 20) as usize;
                rest.reserve(first.len() + data.len() + announced);
                rest.extend_from_slice(&std::mem::take(&mut first));
            }
            rest.extend_from_slice(&data);
        }
        // What is known to be all need not be waited for.
        if body.is_end_stream() {
            break;
        }
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{Full, StreamBody};
    use std::convert::Infallible;

    const IDLE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn exactly_the_limit_passes_and_one_byte_more_does_not() {
        for (length, passes) in [(0, true), (99, true), (100, true), (101, false)] {
            let body = Full::new(Bytes::from(vec![b'x'; length]));
            assert_eq!(read(body, 100, IDLE).await.is_ok(), passes, "{length}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends_an_upload() {
        let never = futures_util::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
        assert!(matches!(read(StreamBody::new(never), 100, IDLE).await, Err(UploadError::Idle { .. })));
    }
}

//! Whether the caller at the other end of an HTTP/2 connection takes what there is for it.
//!
//! A socket that is never read stands still, and [`WriteIdle`](mainstay::layers::timeout::WriteIdle) sees it. On HTTP/2 a
//! caller can read the socket and still take nothing, by granting its streams no window. So bodies note when a frame of
//! theirs was taken and no more was asked for. A connection all of whose bodies stand so is one that takes nothing.
//!
//! A count of polls and no clock: a frame costs two additions.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::sleep;

/// The bodies of one connection. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    /// Bodies that are under way.
    live: AtomicUsize,
    /// Those that gave a frame and were not asked for another one since.
    standing: AtomicUsize,
    /// How often any of them was asked.
    asked: AtomicU64,
}

impl Taken {
    /// Waits until nothing was taken for `limit`, of what there is; for ever if `limit` is zero.
    pub(super) async fn stuck(&self, limit: Duration) {
        if limit.is_zero() {
            return std::future::pending().await;
        }
        // Looked at twice in that time: a stop is noticed at most half of it late.
        let mut looks = 0;
        let mut before = self.0.asked.load(Relaxed);
        while looks < 2 {
            sleep(limit / 2).await;
            let now = self.0.asked.load(Relaxed);
            let live = self.0.live.load(Relaxed);
            let stands = live > 0 && self.0.standing.load(Relaxed) >= live && now == before;
            looks = if stands { looks + 1 } else { 0 };
            before = now;
        }
    }
}

pin_project! {
    /// A body that notes when it is asked for more.
    #[derive(Debug)]
    pub(super) struct TakenBody<B> {
        #[pin]
        inner: B,
        note: Option<Note>,
    }
}

impl<B> TakenBody<B> {
    /// `body`, noted in `taken`, if it is to be noted at all.
    pub(super) fn new(body: B, taken: Option<Taken>) -> Self {
        let note = taken.map(|taken| {
            taken.0.live.fetch_add(1, Relaxed);
            Note { taken, stands: false }
        });
        Self { inner: body, note }
    }
}

/// One body's part in the counts.
#[derive(Debug)]
struct Note {
    taken: Taken,
    stands: bool,
}

impl Note {
    fn asked(&mut self) {
        self.taken.0.asked.fetch_add(1, Relaxed);
        self.stand(false);
    }

    fn stand(&mut self, stands: bool) {
        if stands != self.stands {
            self.stands = stands;
            let counts = &self.taken.0;
            if stands {
                counts.standing.fetch_add(1, Relaxed);
            } else {
                counts.standing.fetch_sub(1, Relaxed);
            }
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        self.asked();
        self.taken.0.live.fetch_sub(1, Relaxed);
    }
}

impl<B: Body<Data = Bytes>> Body for TakenBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        if let Some(note) = this.note {
            note.asked();
        }
        let polled = this.inner.as_mut().poll_frame(cx);
        match (&polled, this.note.as_mut()) {
            (Poll::Ready(Some(Ok(_))), Some(note)) if !this.inner.is_end_stream() => note.stand(true),
            (Poll::Ready(_), _) => *this.note = None,
            (Poll::Pending, _) => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::{BodyExt, StreamBody};
    use std::convert::Infallible;
    use tokio::time::{Instant, timeout};

    const LIMIT: Duration = Duration::from_secs(60);

    fn body(frames: usize, taken: &Taken) -> impl Body<Data = Bytes, Error = Infallible> + Unpin + use<> {
        let frames = (0..frames).map(|_| Ok(Frame::data(Bytes::from_static(b"x"))));
        let endless = stream::iter(frames.collect::<Vec<_>>());
        TakenBody::new(StreamBody::new(endless), Some(taken.clone()))
    }

    fn silent(taken: &Taken) -> impl Body<Data = Bytes, Error = Infallible> + Unpin + use<> {
        TakenBody::new(StreamBody::new(stream::pending::<Result<_, Infallible>>()), Some(taken.clone()))
    }

    async fn is_stuck(taken: &Taken) -> bool {
        timeout(LIMIT * 10, taken.stuck(LIMIT)).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_gave_a_frame_and_is_asked_for_no_more_is_stuck() {
        let taken = Taken::default();
        let mut one = body(3, &taken);
        one.frame().await;
        let start = Instant::now();
        assert!(is_stuck(&taken).await);
        assert_eq!(start.elapsed(), LIMIT);
        drop(one);
        assert!(!is_stuck(&taken).await);
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_waits_for_the_provider_or_has_all_is_not() {
        let taken = Taken::default();
        assert!(!is_stuck(&taken).await);
        let mut waiting = silent(&taken);
        assert!(timeout(LIMIT, waiting.frame()).await.is_err());
        // One that stands is no sign while another one waits.
        let mut stands = body(3, &taken);
        stands.frame().await;
        assert!(!is_stuck(&taken).await);
        drop(waiting);
        assert!(is_stuck(&taken).await);
        while stands.frame().await.is_some() {}
        assert!(!is_stuck(&taken).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_now_and_then_is_enough() {
        let taken = Taken::default();
        let mut slow = body(100, &taken);
        let reading = async {
            for _ in 0..20 {
                slow.frame().await;
                tokio::time::sleep(LIMIT / 3).await;
            }
        };
        tokio::select! {
            () = taken.stuck(LIMIT) => panic!("it was read"),
            () = reading => {}
        }
    }
}

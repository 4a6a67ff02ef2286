//! The end of the drain, for all that still runs.
//!
//! A stream looks for it each time that it has nothing else to say, which is once for each event: so that look is one load,
//! and the list of those who wait, behind a lock that all streams share, is entered once for a stream and not for an event.

use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// Whether the drain is over. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cut(Arc<State>);

#[derive(Debug, Default)]
struct State {
    over: AtomicBool,
    waiting: CancellationToken,
}

impl Cut {
    /// The drain is over.
    pub(super) fn cancel(&self) {
        // Before anyone is woken, who then looks here.
        self.0.over.store(true, Ordering::Release);
        self.0.waiting.cancel();
    }

    /// Waits until the drain is over.
    pub(super) fn cancelled(&self) -> UntilCut {
        UntilCut { cut: self.clone(), waiting: self.0.waiting.clone().cancelled_owned(), woken: None }
    }
}

pin_project! {
    /// The future of [`Cut::cancelled`].
    pub(super) struct UntilCut {
        cut: Cut,
        #[pin]
        waiting: WaitForCancellationFutureOwned,
        // Whom the list of those who wait has.
        woken: Option<Waker>,
    }
}

impl Future for UntilCut {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if this.cut.0.over.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        if this.woken.as_ref().is_some_and(|woken| woken.will_wake(cx.waker())) {
            return Poll::Pending;
        }
        *this.woken = Some(cx.waker().clone());
        this.waiting.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio_test::{assert_pending, assert_ready, task};

    #[test]
    fn whoever_waits_is_woken_however_often_it_looked() {
        let cut = Cut::default();
        let mut waiting = task::spawn(cut.cancelled());
        assert_pending!(waiting.poll());
        assert_pending!(waiting.poll());
        assert!(!waiting.is_woken());
        cut.cancel();
        assert!(waiting.is_woken());
        assert_ready!(waiting.poll());
        assert_ready!(task::spawn(cut.cancelled()).poll());
    }

    #[test]
    fn a_stream_that_moves_to_another_task_is_woken_there() {
        let cut = Cut::default();
        let mut waiting = Box::pin(cut.cancelled());
        let mut first = task::spawn(waiting.as_mut());
        assert_pending!(first.poll());
        drop(first);
        let mut second = task::spawn(waiting.as_mut());
        assert_pending!(second.poll());
        cut.cancel();
        assert!(second.is_woken());
        assert_ready!(second.poll());
    }
}

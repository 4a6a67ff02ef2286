//! A future that is polled only when it was woken.
//!
//! A task polls all that it waits for whenever it is woken for any of it. What waits for something that hardly ever comes,
//! beside something that comes for every request, would be asked each time, and asking a timer or a notification takes
//! locks.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Polls `F` at first, and then only when it has asked for it.
pub(super) struct Woken<F> {
    inner: Pin<Box<F>>,
    flag: Option<(Arc<Flag>, Waker)>,
}

/// Its waker: notes that it was woken, and wakes the task.
struct Flag {
    woken: AtomicBool,
    task: Waker,
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl<F: Future> Woken<F> {
    pub(super) fn new(future: F) -> Self {
        Self { inner: Box::pin(future), flag: None }
    }

    /// Another future in its place.
    pub(super) fn set(&mut self, future: F) {
        self.inner.set(future);
        self.flag = None;
    }
}

impl<F: Future> Future for Woken<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { inner, flag } = &mut *self;
        let waker = match flag {
            Some((flag, waker)) if flag.task.will_wake(cx.waker()) => {
                if !flag.woken.load(Ordering::Acquire) {
                    return Poll::Pending;
                }
                // Before it is polled: what comes during that is not to be missed.
                flag.woken.store(false, Ordering::Release);
                waker
            }
            // Polled at first, or by another task.
            flag => {
                let made = Arc::new(Flag { woken: AtomicBool::new(false), task: cx.waker().clone() });
                &flag.insert((made.clone(), made.into())).1
            }
        };
        inner.as_mut().poll(&mut Context::from_waker(waker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{future::poll_fn, sync::atomic::AtomicUsize};
    use tokio::sync::Notify;

    #[tokio::test]
    async fn it_is_not_asked_while_it_was_not_woken() {
        let (notify, asked) = (Notify::new(), AtomicUsize::new(0));
        let mut notified = Box::pin(notify.notified());
        let woken = Woken::new(poll_fn(|cx| {
            asked.fetch_add(1, Ordering::Relaxed);
            notified.as_mut().poll(cx)
        }));
        let mut polls = 0;
        let beside = poll_fn(|cx| {
            polls += 1;
            match polls {
                10 => notify.notify_one(),
                _ => cx.waker().wake_by_ref(),
            }
            Poll::<()>::Pending
        });
        tokio::select! {
            biased;
            () = woken => {}
            () = beside => {}
        }
        assert_eq!((asked.load(Ordering::Relaxed), polls), (2, 10));
    }

    #[test]
    fn another_task_that_polls_it_is_woken_in_its_turn() {
        let notify = Notify::new();
        let mut woken = Woken::new(notify.notified());
        let mut poll = |waker: &Waker| Pin::new(&mut woken).poll(&mut Context::from_waker(waker));
        assert!(poll(Waker::noop()).is_pending());
        let second = Arc::new(Flag { woken: AtomicBool::new(false), task: Waker::noop().clone() });
        assert!(poll(&second.clone().into()).is_pending());
        notify.notify_one();
        assert!(second.woken.load(Ordering::Acquire));
        assert!(poll(&second.into()).is_ready());
    }
}

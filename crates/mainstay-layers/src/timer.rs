//! One `Sleep` that is made when it is first needed and moved on only when it has fired.

#![allow(dead_code, reason = "no layer uses all of it")]

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that costs nothing until it is armed. It is boxed so that a future can hand it, armed as it is, to the body
/// that follows: one registration with the runtime for the whole of a call.
#[derive(Debug, Default)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whom the runtime wakes when it fires, where that is known.
    waker: Option<Waker>,
    /// How often it was set; tests read it.
    #[cfg(test)]
    pub(crate) arms: u32,
}

impl Timer {
    /// Sets the timer to `at`.
    pub(crate) fn arm(&mut self, at: Instant) {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().reset(at),
            None => self.sleep = Some(Box::pin(sleep_until(at))),
        }
        self.waker = None;
        #[cfg(test)]
        {
            self.arms += 1;
        }
    }

    /// Sets the timer to `at` unless it fires before that anyway: whoever sees it fire looks again.
    pub(crate) fn arm_by(&mut self, at: Instant) {
        if self.sleep.as_ref().is_none_or(|sleep| at < sleep.deadline()) {
            self.arm(at);
        }
    }

    /// Whether it is set, or has fired and was not set again.
    pub(crate) fn is_armed(&self) -> bool {
        self.sleep.is_some()
    }

    /// Whether it is set for a time before `at`.
    pub(crate) fn fires_before(&self, at: Instant) -> bool {
        self.sleep.as_ref().is_some_and(|sleep| sleep.deadline() < at)
    }

    /// Lets the timer go.
    pub(crate) fn disarm(&mut self) {
        self.sleep = None;
        self.waker = None;
    }

    /// Ready once the time is over; pending for ever while it was never armed.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.waker = None;
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    /// As [`poll`](Self::poll), for who waits for something else and asks again and again whether the time is over: the
    /// runtime is told only once whom to wake. No cooperative budget is used: whoever is pending here yields anyway.
    #[cfg(feature = "timeout")]
    #[inline]
    pub(crate) fn poll_again(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // It has not fired, and when it fires it wakes this very task.
        if let (Some(sleep), Some(waker)) = (&self.sleep, &self.waker) {
            if waker.will_wake(cx.waker()) && !sleep.is_elapsed() {
                return Poll::Pending;
            }
        }
        self.register(cx)
    }

    #[cfg(feature = "timeout")]
    fn register(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(sleep) = &mut self.sleep else { return Poll::Pending };
        // Pending for want of budget it would not have been told.
        let polled = Pin::new(&mut tokio::task::unconstrained(sleep.as_mut())).poll(cx);
        self.waker = polled.is_pending().then(|| cx.waker().clone());
        polled
    }
}

/// `at + by`; `None` where that is beyond what an instant can hold, which is as good as never.
pub(crate) fn later(at: Instant, by: Duration) -> Option<Instant> {
    at.checked_add(by)
}

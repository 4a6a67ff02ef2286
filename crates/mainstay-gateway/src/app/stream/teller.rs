//! How a caller is told of its call while there is nothing to hand on.

use bytes::Bytes;
use mainstay::{
    dialect::{Dialect, keepalive},
    secret::Redactor,
};
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// What of a call is needed to tell its caller how it goes.
pub(in super::super) struct Teller {
    pub(super) dialect: Dialect,
    /// Knows the caller's own credential too.
    pub(in super::super) redactor: Redactor,
    alive: Option<Alive>,
}

/// Signs of life for a caller that hears nothing else.
struct Alive {
    every: Duration,
    /// When something last went out.
    last: Instant,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Teller {
    pub(in super::super) fn new(dialect: Dialect, redactor: Redactor, every: Option<Duration>) -> Self {
        let alive = every.map(|every| Alive { every, last: Instant::now(), sleep: None });
        Self { dialect, redactor, alive: alive.filter(|_| is_sse(dialect)) }
    }

    /// Whether a caller of this dialect can be kept waiting with signs of life.
    pub(in super::super) fn can_wait(&self) -> bool {
        self.alive.is_some()
    }

    /// Something else went out.
    pub(super) fn spoke(&mut self) {
        if let Some(alive) = &mut self.alive {
            alive.last = Instant::now();
        }
    }

    /// Waits until it is time for a sign of life.
    pub(super) fn poll_sign(&mut self, cx: &mut Context<'_>) -> Poll<Bytes> {
        let Some(alive) = &mut self.alive else { return Poll::Pending };
        loop {
            let due = alive.last + alive.every;
            let sleep = alive.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
            ready!(sleep.as_mut().poll(cx));
            let now = Instant::now();
            if due <= now {
                alive.last = now;
                sleep.as_mut().reset(now + alive.every);
                return Poll::Ready(keepalive(self.dialect));
            }
            // It was set before the last event went out.
            sleep.as_mut().reset(due);
        }
    }
}

/// Whether this dialect streams server-sent events, of which it is known where one ends.
fn is_sse(dialect: Dialect) -> bool {
    !matches!(dialect, Dialect::Ollama | Dialect::Converse | Dialect::Embeddings | Dialect::Other)
}

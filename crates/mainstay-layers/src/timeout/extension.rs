//! What others tell this layer, in the extensions of a request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// Whether the request asks for a stream. Set by whoever read that in its body; decides which clocks run until the
/// head is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Streaming(pub bool);

/// Marks of content: whoever reads the events of a stream marks each piece of content here, and `first_event` and
/// `progress` count from the marks. Clones share the marks.
///
/// Without one in the request's extensions each frame that holds data is content. A [`Progress`] may live over several
/// tries of a request: each try looks only at marks that are newer than itself.
///
/// ```
/// use mainstay_layers::timeout::Progress;
///
/// let progress = Progress::new();
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(progress.clone());
/// progress.mark(); // "delta": {"content": "Hi"}
/// assert_eq!(progress.marks(), 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress {
    marks: Arc<AtomicU64>,
}

impl Progress {
    /// No marks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// There was content.
    pub fn mark(&self) {
        // A count alone: nothing is published by it.
        self.marks.fetch_add(1, Ordering::Relaxed);
    }

    /// How many marks there were.
    pub fn marks(&self) -> u64 {
        self.marks.load(Ordering::Relaxed)
    }
}

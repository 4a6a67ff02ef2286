//! What a provider's connections share: the script and the record.

use super::{Recorded, Step};
use crate::bodies;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

const KEPT: usize = 10_000;

/// Where the next step comes from.
pub(super) enum Script {
    Steps(Track),
    ByModel(HashMap<String, Track>),
    Answer(Box<dyn Fn(&Recorded) -> Step + Send + Sync>),
}

/// A list of steps and how far it was played.
pub(super) struct Track {
    steps: Vec<Arc<Step>>,
    played: AtomicUsize,
}

impl Track {
    pub(super) fn new(steps: impl IntoIterator<Item = Step>) -> Self {
        Self { steps: steps.into_iter().map(Arc::new).collect(), played: AtomicUsize::new(0) }
    }

    fn next(&self) -> Arc<Step> {
        let number = self.played.fetch_add(1, Relaxed);
        let step = self.steps.get(number).or(self.steps.last());
        step.cloned().unwrap_or_else(|| Arc::new(refusal(500, "the script has no step")))
    }
}

fn refusal(status: u16, message: &str) -> Step {
    Step::json(status, bodies::openai_error("invalid_request_error", Some("model_not_found"), message))
}

impl Script {
    pub(super) fn next(&self, request: &Recorded) -> Arc<Step> {
        match self {
            Self::Steps(track) => track.next(),
            Self::ByModel(tracks) => match request.model().and_then(|model| tracks.get(&model)) {
                Some(track) => track.next(),
                None => Arc::new(refusal(404, "the script has no such model")),
            },
            Self::Answer(answer) => Arc::new(answer(request)),
        }
    }

    pub(super) fn restart(&self) {
        match self {
            Self::Steps(track) => track.played.store(0, Relaxed),
            Self::ByModel(tracks) => tracks.values().for_each(|track| track.played.store(0, Relaxed)),
            Self::Answer(_) => {}
        }
    }
}

pub(super) struct Shared {
    pub(super) script: Script,
    record: Mutex<Record>,
    pub(super) connections: AtomicUsize,
    pub(super) open: AtomicUsize,
    pub(super) closed_early: AtomicUsize,
    active: AtomicUsize,
    pub(super) most: AtomicUsize,
}

struct Record {
    calls: usize,
    keep: usize,
    requests: VecDeque<Recorded>,
}

impl Shared {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            record: Mutex::new(Record { calls: 0, keep: KEPT, requests: VecDeque::new() }),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            closed_early: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
        }
    }

    /// Keeps the request under its number and says what to do with it. One lock for both: request *i* gets step *i*
    /// even when two come at once.
    pub(super) fn take(&self, mut request: Recorded) -> Arc<Step> {
        let mut record = self.record.lock();
        request.number = record.calls;
        record.calls += 1;
        let step = self.script.next(&request);
        record.push(request);
        step
    }

    pub(super) fn calls(&self) -> usize {
        self.record.lock().calls
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.record.lock().requests.iter().cloned().collect()
    }

    pub(super) fn last(&self) -> Option<Recorded> {
        self.record.lock().requests.back().cloned()
    }

    pub(super) fn keep(&self, keep: usize) {
        let mut record = self.record.lock();
        record.keep = keep;
        while record.requests.len() > keep {
            record.requests.pop_front();
        }
    }

    /// Counts a request as being answered until the guard goes.
    pub(super) fn answering(&self) -> Answering<'_> {
        let now = self.active.fetch_add(1, Relaxed) + 1;
        self.most.fetch_max(now, Relaxed);
        Answering(&self.active)
    }

    /// Counts a connection as open until the guard goes.
    pub(super) fn opened(&self) -> (usize, Answering<'_>) {
        self.open.fetch_add(1, Relaxed);
        (self.connections.fetch_add(1, Relaxed), Answering(&self.open))
    }
}

impl Record {
    fn push(&mut self, request: Recorded) {
        if self.keep == 0 {
            return;
        }
        if self.requests.len() >= self.keep {
            self.requests.pop_front();
        }
        self.requests.push_back(request);
    }
}

/// Takes one off a count when it goes.
pub(super) struct Answering<'a>(&'a AtomicUsize);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

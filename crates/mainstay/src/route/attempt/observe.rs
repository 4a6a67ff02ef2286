//! Who is told of what happens to calls: metrics.

use super::TargetName;
use crate::dialect::Usage;
use mainstay_layers::classify::Class;
use std::time::Duration;

/// Who is told of each try.
pub trait Observe: Send + Sync {
    /// A try ended. For a stream that is its end, not its head.
    fn attempt(&self, target: &TargetName, class: Class, took: Duration) {
        let _ = (target, class, took);
    }
    /// A try that is not the first one at its target began.
    fn retry(&self, target: &TargetName) {
        let _ = target;
    }
    /// The first content came.
    fn first_content(&self, target: &TargetName, took: Duration) {
        let _ = (target, took);
    }
    /// A call went on to another target after `class` at this one.
    fn fallback(&self, from: &TargetName, class: Class) {
        let _ = (from, class);
    }
    /// A second call for the same one was begun at `to`, since no content had come.
    fn hedge(&self, to: &TargetName) {
        let _ = to;
    }
    /// A try failed, or was given up, before anything of its reply had reached the caller, and had told its tokens.
    /// Told only of calls that have a [`UsageCell`](crate::judge::UsageCell).
    fn wasted(&self, target: &TargetName, usage: &Usage) {
        let _ = (target, usage);
    }
    /// So many events of a try's stream were malformed. Told, once, at the stream's end, only of calls that have a
    /// [`UsageCell`](crate::judge::UsageCell).
    fn malformed_events(&self, target: &TargetName, events: u64) {
        let _ = (target, events);
    }
    /// A stream was cut at `from` after its first content, and `to` goes on with it; `None`: nobody could.
    fn recovery(&self, from: &TargetName, to: Option<&TargetName>) {
        let _ = (from, to);
    }
}

/// Nobody.
impl Observe for () {}

//! Counts what a layer does to the service below it.

mod body;
mod counts;
mod service;

pub use body::ProbeBody;
pub use counts::Probe;
pub use service::{ProbeFuture, ProbeLayer, ServiceProbe};

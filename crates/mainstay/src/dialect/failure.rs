//! An error that a reply carries.

use bytes::Bytes;

/// An error inside a reply, as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The error itself: the value of `error`, an object or a string; where the reply has none, all of its data.
    pub object: Bytes,
    /// The reason for the end that made this an error, such as `insufficient_system_resource`, where one was given.
    pub reason: Option<String>,
}

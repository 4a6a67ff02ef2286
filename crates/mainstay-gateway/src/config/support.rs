//! What this build can do. A setting that nothing carries out yet is refused, not ignored.
//!
//! Turning one of these to `true` is all that the configuration needs when the feature is there.

/// `server.keepalive`
pub(super) const KEEPALIVE: bool = false;
/// `routes.strategy = "weighted"`, and `weight` on a target
pub(super) const WEIGHTED: bool = true;
/// `routes.strategy = "latency"`
pub(super) const LATENCY: bool = true;
/// `routes.recovery = "continue"`
pub(super) const CONTINUE: bool = true;
/// `routes.failover = "at_once"`
pub(super) const AT_ONCE: bool = true;

use super::doc::Value;

/// Refuses a value that is not the off-value while its feature is missing.
pub(super) fn gate<T>(value: &Value<'_>, there: bool, off: &str, is_off: bool, read: T) -> Option<T> {
    if there || is_off {
        return Some(read);
    }
    value.refuse(
        format!("{}, which is not supported yet", value.describe()),
        format!("{off}, or the key left out"),
    )
}

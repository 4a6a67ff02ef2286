//! What the configuration says, after reading: plain values with their units in their types.
//!
//! `None` is "off" throughout (`"0s"`, `"0"` or `0` in the file). Where there is no `Option`, the setting bounds
//! something that must be bounded and cannot be switched off.

mod price;
mod provider;
mod route;
mod server;
mod tables;
mod target;

pub use self::price::{Price, Priced};
pub use self::provider::{Aws, AwsKeys, BaseUrl, Protocol, Provider};
pub use self::route::{
    Cache, Failover, Hedge, Recovery, Route, Serve, Sticky, Strategy, Translation, WhenExhausted,
};
pub use self::server::Server;
pub use self::tables::{Adaptive, Breaker, Budget, Jitter, Limits, Retry, Safety, Tables, Timeout};
pub use self::target::Target;

const MIB: u64 = 1024 * 1024;

//! An HTTP/1.1 client on a raw socket, which leaves, pauses and sends nonsense when told to, and sees exactly how a
//! reply ended.

mod connection;
mod play;
mod reply;
mod request;

#[cfg(test)]
mod tests;

pub use play::{Kept, play};
pub use reply::Reply;
pub use request::{Action, Request};

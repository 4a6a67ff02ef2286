//! The parts of the example: the generated code, a server that fails on purpose, and the stack around the channel.

pub mod server;
pub mod stack;

/// What `proto/search.proto` generates.
#[allow(missing_docs, clippy::all, clippy::pedantic, clippy::nursery)]
pub mod search {
    tonic::include_proto!("search.v1");
}

//! Tests of the whole module. Under `cfg(loom)` only the model of the state machine is left.

#[cfg(not(loom))]
mod bodies;
#[cfg(not(loom))]
mod calls;
#[cfg(not(loom))]
mod drops;
#[cfg(not(loom))]
mod handles;
#[cfg(loom)]
mod model;
#[cfg(not(loom))]
mod reference;
#[cfg(not(loom))]
mod script;

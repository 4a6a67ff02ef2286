//! The guide: from a bare client to calls that stay up, one step at a time.
//!
//! Each chapter can be read by itself; every example in them runs as it stands, against scripted providers and on
//! paused time, so that nothing here needs a key, a network or patience.
//!
//! | chapter | the question that it answers |
//! | --- | --- |
//! | [`layers`] | which layers does my service need, in which order, and why in that one? |
//! | [`streaming`] | what changes when a reply takes minutes and comes in pieces? |
//! | [`retries`] | when is another try worth its money, and who stops a thousand of them? |
//! | [`classifier`] | my provider is odd: how do I say what its replies mean? |
//! | [`testing`] | how do I test all of this without a provider and without sleeping? |
//!
//! In a hurry? [`chat::Chat`](crate::chat) with [`stack::Provider`](crate::stack) is all of it in three lines, with defaults
//! that were chosen with care. The guide is for when you want to choose.

#[doc = include_str!("layers.md")]
pub mod layers {}

#[doc = include_str!("streaming.md")]
pub mod streaming {}

#[doc = include_str!("retries.md")]
pub mod retries {}

#[doc = include_str!("classifier.md")]
pub mod classifier {}

#[doc = include_str!("testing.md")]
pub mod testing {}

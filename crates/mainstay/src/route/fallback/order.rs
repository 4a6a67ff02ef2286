//! In which order one call asks the targets.

use super::{
    super::{
        options::{Sticky, Strategy},
        target::{Asks, Target},
    },
    Settings,
};
use crate::body::RequestBody;
use http::HeaderMap;
use serde::Deserialize;
use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// The targets in the order of this call. As listed, they are shared; only other strategies make a list of their own.
pub(super) fn targets(
    settings: &Settings,
    headers: &HeaderMap,
    body: &RequestBody,
    asks: Asks<'_>,
) -> Arc<[Target]> {
    let listed = &settings.targets;
    if listed.len() < 2 || settings.strategy == Strategy::Order {
        return listed.clone();
    }
    let kept = settings.sticky.as_ref().and_then(|sticky| key(sticky, headers, body));
    match (&settings.strategy, kept) {
        (Strategy::Weighted(weights), kept) => by_weight(listed, weights, kept),
        (_, Some(kept)) => by_weight(listed, &[], Some(kept)),
        (_, None) => by_pace(listed, asks),
    }
}

/// What a caller's calls have in common.
fn key(sticky: &Sticky, headers: &HeaderMap, body: &RequestBody) -> Option<u64> {
    #[derive(Deserialize)]
    struct Fields<'a> {
        #[serde(borrow, default)]
        user: Option<Cow<'a, str>>,
        #[serde(borrow, default)]
        metadata: Option<Metadata<'a>>,
    }
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        user_id: Option<Cow<'a, str>>,
    }
    let hash = |value: &[u8]| {
        // Its keys are fixed: every process sends a caller to the same place.
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    };
    match sticky {
        Sticky::Header(name) => headers.get(name).map(|value| hash(value.as_bytes())),
        Sticky::User => {
            let body = body.to_bytes();
            let fields: Fields<'_> = serde_json::from_slice(&body).ok()?;
            let user = fields.user.or_else(|| fields.metadata?.user_id)?;
            Some(hash(user.as_bytes()))
        }
    }
}

/// A weighted shuffle (Efraimidis and Spirakis); with a key it is the key's own and always the same one, which is weighted
/// rendezvous hashing.
fn by_weight(listed: &[Target], weights: &[u32], kept: Option<u64>) -> Arc<[Target]> {
    let mut drawn: Vec<(f64, &Target)> = Vec::with_capacity(listed.len());
    for (at, target) in listed.iter().enumerate() {
        let weight = weights.get(at).copied().unwrap_or(1);
        let chance = match kept {
            Some(kept) => {
                let mut hasher = DefaultHasher::new();
                (kept, &target.name).hash(&mut hasher);
                // 53 bits fill the fraction of a float; never 0, of which there is no logarithm.
                ((hasher.finish() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
            }
            None => fastrand::f64().max(f64::MIN_POSITIVE),
        };
        let last = weight == 0;
        drawn.push((if last { f64::INFINITY } else { -chance.ln() / f64::from(weight) }, target));
    }
    drawn.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    drawn.into_iter().map(|(_, target)| target.clone()).collect()
}

/// The better of two by chance, then the rest.
fn by_pace(listed: &[Target], asks: Asks<'_>) -> Arc<[Target]> {
    let stream = asks.call.is_some_and(|call| call.stream);
    let free: Vec<usize> = listed
        .iter()
        .enumerate()
        .filter(|(_, target)| target.skip(asks).is_none())
        .map(|(at, _)| at)
        .collect();
    let (one, two) = match free.len() {
        0 => return listed.iter().cloned().collect(),
        1 => (0, 0),
        n => {
            let one = fastrand::usize(..n);
            (one, (one + fastrand::usize(1..n)) % n)
        }
    };
    let (Some(one), Some(two)) = (free.get(one).copied(), free.get(two).copied()) else {
        return listed.iter().cloned().collect();
    };
    let cost = |at: usize| listed.get(at).map_or(f64::MAX, |target| target.cost(stream));
    let load = |at: usize| listed.get(at).map_or(0, Target::in_flight);
    // Of two of which nothing is known, the one with fewer calls.
    let first = match cost(one).total_cmp(&cost(two)).then_with(|| load(one).cmp(&load(two))) {
        std::cmp::Ordering::Greater => two,
        _ => one,
    };
    let rest = listed.iter().enumerate().filter(|(at, _)| *at != first).map(|(_, target)| target);
    listed.get(first).into_iter().chain(rest).cloned().collect()
}

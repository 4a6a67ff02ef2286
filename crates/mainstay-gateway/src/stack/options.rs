//! What a route says of its targets, as the fallback's options.

use crate::config::settings;
use mainstay::route::{
    AnswerCache, Failover, Fallback, Hedge, HedgeAfter, MemoryStore, Serve, Sticky, Strategy, WhenExhausted,
};

/// The fallback with the options of its route.
pub(super) fn options(fallback: Fallback, route: &settings::Route) -> Fallback {
    let strategy = match route.strategy {
        settings::Strategy::Order => Strategy::Order,
        settings::Strategy::Weighted => {
            Strategy::Weighted(route.targets.iter().map(|target| target.weight).collect())
        }
        settings::Strategy::Latency => Strategy::Latency,
    };
    let sticky = route.sticky.as_ref().map(|sticky| match sticky {
        settings::Sticky::User => Sticky::User,
        settings::Sticky::Header(name) => Sticky::Header(name.clone()),
    });
    let failover = match route.failover {
        settings::Failover::AfterRetries => Failover::AfterRetries,
        settings::Failover::AtOnce => Failover::AtOnce,
    };
    let exhausted = match route.when_exhausted {
        settings::WhenExhausted::Fail => WhenExhausted::Fail,
        settings::WhenExhausted::Wait => WhenExhausted::Wait(route.max_wait),
    };
    let hedge = route
        .hedge
        .map(|hedge| Hedge::new(hedge.after.map_or(HedgeAfter::P95, HedgeAfter::Time)).with_max(hedge.max));
    let cache = route.cache.map(|cache| {
        let serve = match cache.serve {
            settings::Serve::OnFailure => Serve::OnFailure,
            settings::Serve::Always => Serve::Always,
        };
        AnswerCache::new(MemoryStore::new(cache.max, cache.ttl), serve)
            .with_max_entry(usize::try_from(cache.max_entry).unwrap_or(usize::MAX))
    });
    fallback
        .with_strategy(strategy)
        .with_sticky(sticky)
        .with_failover(failover)
        .when_exhausted(exhausted)
        .with_hedge(hedge)
        .with_cache(cache)
}

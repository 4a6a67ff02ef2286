//! The drill: two providers in memory, one of them ill in a way that a seed decides, on tokio's clock.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use mainstay::{
    BoxError,
    body::RequestBody,
    judge::JudgeLayer,
    layers::{
        breaker::{Cause, CircuitBreaker, CircuitBreakerLayer, Config, State},
        fault::{Fault, FaultLayer},
        retry::{Jitter, RetryLayer},
    },
    peek::{Call, peek},
    provider::Kind,
    route::{Fallback, Router, Served, Target, TargetName},
};
use mainstay_testkit::bodies;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};
use tower::{ServiceBuilder, ServiceExt};

/// After so many failures in a row the circuit opens.
pub const FAILURES: u32 = 5;
/// For so long.
pub const OPEN_FOR: Duration = Duration::from_secs(30);
/// Then so many calls pass at once.
pub const PROBES: u32 = 3;
/// Calls that are made at once, each second, while the primary is dead.
pub const BURST: usize = 20;

/// What came of the drill.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The calls that met random failures, and how many of them had no answer.
    pub random: Counts,
    /// How many of the calls that reached the primary failed there.
    pub injected: usize,
    /// How often the circuit opened by them.
    pub opened: usize,
    /// How many calls reached the primary from its death until the circuit was open.
    pub until_open: usize,
    /// The calls during the outage, and how many of them had no answer.
    pub outage: Counts,
    /// The most calls that reached the dead primary in one `OPEN_FOR`, once the circuit was open.
    pub most_probes: usize,
    /// Who served the first call after the recovery and one more `OPEN_FOR`.
    pub first_after: String,
}

/// Calls, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// All.
    pub calls: usize,
    /// Served by the primary.
    pub primary: usize,
    /// Served by the second one.
    pub second: usize,
    /// Not served.
    pub failed: usize,
}

impl Counts {
    fn add(&mut self, served: Option<&str>) {
        self.calls += 1;
        match served {
            Some("primary") => self.primary += 1,
            Some(_) => self.second += 1,
            None => self.failed += 1,
        }
    }

    /// The share of calls that were served, in per cent.
    pub fn success_rate(&self) -> f64 {
        100.0 * (self.calls - self.failed) as f64 / self.calls as f64
    }
}

/// A provider in memory: takes a while, answers well, or is dead. Clones are the same one.
#[derive(Clone, Debug, Default)]
struct Provider {
    dead: Arc<AtomicBool>,
    /// How many calls got through the circuit to it, faults on the way included.
    reached: Arc<AtomicUsize>,
}

impl Provider {
    async fn answer(self) -> Result<Response<Full<Bytes>>, BoxError> {
        sleep(Duration::from_millis(20)).await;
        if self.dead.load(SeqCst) {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused).into());
        }
        let body = Full::from(bodies::openai_chat("hello").to_string());
        Ok(Response::builder().header("content-type", "application/json").body(body)?)
    }

    /// The stack in front of it, with faults on the way.
    fn target(&self, name: &str, breaker: &CircuitBreaker, faults: FaultLayer) -> Target {
        let (counted, provider) = (self.reached.clone(), self.clone());
        let stack = ServiceBuilder::new()
            .layer(
                RetryLayer::new()
                    .with_attempts(3)
                    .with_base_delay(Duration::from_millis(100))
                    .with_jitter(Jitter::None),
            )
            .layer(CircuitBreakerLayer::new(breaker.clone()))
            .map_request(move |request: Request<_>| {
                counted.fetch_add(1, SeqCst);
                request
            })
            .layer(JudgeLayer::new(Kind::OpenAi))
            .layer(faults)
            .service_fn(move |_| provider.clone().answer());
        Target::new(TargetName::parse(name), stack).with_breaker(breaker.clone())
    }
}

/// Three in ten calls fail, in five ways.
fn random_faults(seed: u64) -> FaultLayer {
    FaultLayer::chance(
        seed,
        [
            (0.10, Fault::status(StatusCode::SERVICE_UNAVAILABLE)),
            (0.05, Fault::drop_before()),
            (0.05, Fault::lost_reply()),
            (0.05, Fault::body_error(40)),
            (0.05, Fault::truncate(40)),
        ],
    )
}

/// The drill, with everything random out of `seed`: the same seed, the same report.
///
/// # Errors
/// Where a stack cannot be built.
pub async fn drill(seed: u64, calls: usize) -> Result<Report, BoxError> {
    let mut report = Report::default();
    let (primary, second) = (Provider::default(), Provider::default());
    let opened = Arc::new(AtomicU64::new(0));
    let counted = opened.clone();
    let breaker = Config::new()
        .with_failures(FAILURES)
        .with_open_for(OPEN_FOR)
        .with_probes(PROBES)
        .with_observer(Arc::new(move |transition| {
            counted.fetch_add(u64::from(transition.cause == Cause::Failures), SeqCst);
        }))
        .build("primary")?;
    let well = second.target("second", &CircuitBreaker::new("second"), FaultLayer::script([]));
    let route = |faults| {
        let targets = [primary.target("primary", &breaker, faults), well.clone()];
        Router::builder().route("*", Fallback::new(targets)).build()
    };

    // 1. Random failures: one call a second.
    let faults = random_faults(seed);
    let faulty = route(faults);
    for _ in 0..calls {
        report.random.add(call(&faulty).await?.as_deref());
        sleep(Duration::from_secs(1)).await;
    }
    report.injected = primary.reached.load(SeqCst) - report.random.primary;
    report.opened = usize::try_from(opened.load(SeqCst))?;

    // 2. From here on nothing fails by chance. When all is well again, the primary dies.
    let router = route(FaultLayer::script([]));
    while call(&router).await?.as_deref() != Some("primary") {
        sleep(Duration::from_secs(1)).await;
    }
    primary.dead.store(true, SeqCst);
    let before = primary.reached.load(SeqCst);
    while breaker.state() == State::Closed {
        report.outage.add(call(&router).await?.as_deref());
    }
    report.until_open = primary.reached.load(SeqCst) - before;

    // Many callers at once, for ten times `OPEN_FOR`.
    for _ in 0..10 {
        let (before, until) = (primary.reached.load(SeqCst), Instant::now() + OPEN_FOR);
        while Instant::now() < until {
            let mut burst = JoinSet::new();
            for _ in 0..BURST {
                let router = router.clone();
                burst.spawn(async move { call(&router).await });
            }
            while let Some(served) = burst.join_next().await {
                report.outage.add(served??.as_deref());
            }
            sleep(Duration::from_secs(1)).await;
        }
        report.most_probes = report.most_probes.max(primary.reached.load(SeqCst) - before);
    }

    // 3. It is well again.
    primary.dead.store(false, SeqCst);
    sleep(OPEN_FOR).await;
    report.first_after = call(&router).await?.unwrap_or_default();
    Ok(report)
}

/// One chat completion, read to its end as callers do (what is dropped unread is no vote); who served it, if anyone did.
async fn call(router: &Router) -> Result<Option<String>, BoxError> {
    let body = Bytes::from_static(br#"{"model": "demo", "messages": [{"role": "user", "content": "hi"}]}"#);
    let call = Call::new("/v1/chat/completions", peek(&body)?);
    let request: Request<RequestBody> =
        call.into_request(Request::post("/v1/chat/completions").body(())?, body);
    let Ok(reply) = router.clone().oneshot(request).await else { return Ok(None) };
    let served = reply.extensions().get::<Served>().map(|served| served.target.to_string());
    let well = reply.status().is_success();
    let whole = reply.into_body().collect().await.is_ok();
    Ok(served.filter(|_| well && whole))
}

//! What tower demands of a layer, for those that know LLM APIs; the others have a table of their own beside them.

#![allow(clippy::unwrap_used, reason = "in a test that is an assertion")]

use bytes::Bytes;
use http::{Request, Response, Uri};
use http_body::Body;
use http_body_util::{BodyExt, combinators::UnsyncBoxBody};
use mainstay::{
    BoxError,
    body::RequestBody,
    endpoint::EndpointLayer,
    judge::JudgeLayer,
    layers::breaker::CircuitBreaker,
    peek::{Call, peek},
    provider::Kind,
    route::{AttemptLayer, Fallback, Observe, Router, Served, Target, TargetName},
};
use mainstay_testkit::{
    bodies,
    memory::{FaultBody, Probe, Reply, ScriptedService, ServiceProbe},
};
use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    task::{Context, Poll, Waker},
};
use tower::{Layer, Service, ServiceBuilder, ServiceExt, util::BoxCloneSyncService};

type Stack = BoxCloneSyncService<Request<RequestBody>, Response<UnsyncBoxBody<Bytes, BoxError>>, BoxError>;
type Under = ServiceProbe<ScriptedService>;

fn erase<S, B>(service: S) -> Stack
where
    S: Service<Request<RequestBody>, Response = Response<B>> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let erased = |reply: Response<B>| reply.map(|body| body.map_err(Into::into).boxed_unsync());
    BoxCloneSyncService::new(service.map_err(Into::into).map_response(erased))
}

struct Nobody;

impl Observe for Nobody {}

fn judge() -> JudgeLayer {
    JudgeLayer::new(Kind::OpenAi)
}

fn endpoint() -> EndpointLayer {
    EndpointLayer::new(Kind::OpenAi, &Uri::from_static("http://provider/v1")).unwrap()
}

fn attempt() -> AttemptLayer {
    AttemptLayer::new(Arc::new(TargetName::parse("a")), Arc::new(Nobody))
}

type Case = (&'static str, fn(Under) -> Stack);

/// Each layer alone, all of them, and the router above them.
const ALL: &[Case] = &[
    ("judge", |under| erase(judge().layer(under))),
    ("endpoint", |under| erase(endpoint().layer(under))),
    ("attempt", |under| erase(attempt().layer(under))),
    ("all together", |under| erase(together(under))),
    ("router", |under| erase(router([Target::new(TargetName::parse("a"), together(under))]))),
];

fn together(under: Under) -> Stack {
    erase(ServiceBuilder::new().layer(attempt()).layer(judge()).layer(endpoint()).service(under))
}

fn router<const N: usize>(targets: [Target; N]) -> Router {
    Router::builder().route("*", Fallback::new(targets)).build()
}

fn request() -> Request<RequestBody> {
    let body = Bytes::from_static(br#"{"model": "m", "messages": []}"#);
    let call = Call::new("/v1/chat/completions", peek(&body).unwrap());
    call.into_request(Request::post("/v1/chat/completions").body(()).unwrap(), body)
}

fn over(build: fn(Under) -> Stack, reply: Reply) -> (Stack, Probe) {
    let (service, probe) = ServiceProbe::new(ScriptedService::new([reply]));
    (build(service), probe)
}

#[tokio::test]
async fn pitfalls_1_and_2_only_the_instance_that_is_ready_is_called() {
    for (name, build) in ALL {
        let (mut service, probe) = over(*build, Reply::json(200, &bodies::openai_chat("hello")));
        for _ in 0..3 {
            let ready = service.ready().await.unwrap();
            let clone = ready.clone();
            let reply = ready.call(request()).await.unwrap();
            assert_eq!(reply.status(), 200, "{name}");
            reply.into_body().collect().await.unwrap();
            clone.oneshot(request()).await.unwrap().into_body().collect().await.unwrap();
        }
        drop(service);
        assert_eq!((probe.calls(), probe.unready_calls()), (6, 0), "{name}");
        assert_eq!(probe.violations(), Vec::<String>::new(), "{name}");
    }
}

#[tokio::test]
async fn calls_and_bodies_that_are_dropped_leave_nothing_behind() {
    for (name, build) in ALL {
        let (service, probe) = over(*build, Reply::never());
        {
            let mut call = pin!(service.oneshot(request()));
            assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(probe.in_flight(), 1, "{name}");
        }
        assert_eq!((probe.in_flight(), probe.dropped_futures()), (0, 1), "{name}");

        let events = bodies::openai_chunks(["a", "b"]).into_iter().take(2);
        let (service, probe) = over(*build, Reply::sse(events, FaultBody::new().silence()));
        let mut streaming = request();
        let mut call = streaming.extensions().get::<Call>().unwrap().clone();
        call.stream = true;
        streaming.extensions_mut().insert(call);
        let mut body = service.oneshot(streaming).await.unwrap().into_body();
        body.frame().await.unwrap().unwrap();
        assert_eq!(probe.open_bodies(), 1, "{name}");
        drop(body);
        assert_eq!((probe.open_bodies(), probe.dropped_bodies()), (0, 1), "{name}");
        assert_eq!(probe.violations(), Vec::<String>::new(), "{name}");
    }
}

/// Never ready; counts how often it is asked.
#[derive(Clone, Default)]
struct NeverReady(Arc<AtomicUsize>);

impl Service<Request<RequestBody>> for NeverReady {
    type Response = Response<FaultBody>;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Response<FaultBody>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.fetch_add(1, SeqCst);
        Poll::Pending
    }

    fn call(&mut self, _: Request<RequestBody>) -> Self::Future {
        std::future::ready(Err("called though it is not ready".into()))
    }
}

#[tokio::test]
async fn pitfall_6_a_router_never_waits_for_a_target_that_it_does_not_use() {
    let well = ScriptedService::new([Reply::json(200, &bodies::openai_chat("hello"))]);
    let well = || Target::new(TargetName::parse("well"), well.clone());
    let stuck = NeverReady::default();
    let circuit = CircuitBreaker::new("stuck");
    let second = Target::new(TargetName::parse("stuck"), stuck.clone());
    let open = Target::new(TargetName::parse("stuck"), stuck.clone()).with_breaker(circuit.clone());
    circuit.force_open();

    for targets in [[well(), second], [open, well()]] {
        let mut router = router(targets);
        let ready = router.poll_ready(&mut Context::from_waker(Waker::noop()));
        assert!(ready.is_ready(), "a router is always ready");
        let reply = router.call(request()).await.unwrap();
        assert_eq!(reply.extensions().get::<Served>().unwrap().target.to_string(), "well");
        assert_eq!(stuck.0.load(SeqCst), 0);
    }
}

//! Running cases, and the table of what they cost.

use allocation_counter::{AllocationInfo, measure};
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::BodyExt;
use mainstay::BoxError;
use std::{
    hint::black_box,
    pin::pin,
    process::{Command, Stdio},
    sync::OnceLock,
};
use tokio::{
    runtime::{Builder, Runtime},
    task::unconstrained,
    time::Instant,
};
use tower::ServiceExt;
use tower_service::Service;

/// One line of the table.
pub(crate) struct Case {
    /// `group: what`.
    pub(crate) name: String,
    /// Makes so many calls.
    pub(crate) run: Box<dyn FnMut(u32)>,
    /// What stays on the heap while a stream is open.
    held: Option<Box<dyn FnMut() -> AllocationInfo>>,
    /// The size of the call's future.
    future: usize,
    /// How many of what is counted are in one call.
    per_call: u32,
}

/// The one runtime, on this thread: allocations are counted for each thread.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Builder::new_current_thread().enable_all().build().expect("a runtime"))
}

/// What a case calls gives: read to its end, it is done with.
pub(crate) trait Reply {
    fn status(&self) -> StatusCode;
    async fn read(self);
}

impl<B> Reply for Response<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    fn status(&self) -> StatusCode {
        self.status()
    }

    async fn read(self) {
        let mut body = pin!(self.into_body());
        while let Some(frame) = body.as_mut().frame().await {
            drop(black_box(frame.map_err(Into::into).expect("a frame")));
        }
    }
}

impl Reply for reqwest::Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    async fn read(mut self) {
        while let Some(chunk) = self.chunk().await.expect("a chunk") {
            drop(black_box(chunk));
        }
    }
}

/// A case of whole calls: the price of one.
pub(crate) fn calls<S, R>(name: &str, service: S, request: impl Fn() -> R + 'static) -> Case
where
    S: Service<R, Response: Reply, Error: Into<BoxError>> + Clone + 'static,
{
    let run = move |rounds: u32| {
        let mut service = service.clone();
        runtime().block_on(unconstrained(async {
            for _ in 0..rounds {
                let reply = open(&mut service, request()).await;
                assert_eq!(reply.status(), 200);
                reply.read().await;
            }
        }));
    };
    case(name, Box::new(run), size_of::<S::Future>())
}

/// A case of calls that the service rejects: the price of one.
pub(crate) fn rejections<S, R>(name: &str, service: S, request: impl Fn() -> R + 'static) -> Case
where
    S: Service<R, Error: Into<BoxError>> + Clone + 'static,
{
    let run = move |rounds: u32| {
        let mut service = service.clone();
        runtime().block_on(unconstrained(async {
            for _ in 0..rounds {
                let ready = service.ready().await.map_err(Into::into).expect("ready");
                assert!(black_box(ready.call(request()).await).is_err(), "the service lets calls pass");
            }
        }));
    };
    case(name, Box::new(run), size_of::<S::Future>())
}

fn case(name: &str, run: Box<dyn FnMut(u32)>, future: usize) -> Case {
    Case { name: name.to_owned(), run, held: None, future, per_call: 1 }
}

/// A case of streams: the price of one event.
pub(crate) fn streams<S, B, RB>(
    name: &str,
    service: S,
    request: impl Fn() -> Request<B> + Clone + 'static,
) -> Case
where
    S: Service<Request<B>, Response = Response<RB>> + Clone + 'static,
    S::Error: Into<BoxError>,
    B: 'static,
    RB: Body + 'static,
    RB::Error: Into<BoxError>,
{
    let (mut held_by, held_request) = (service.clone(), request.clone());
    let held = move || {
        let mut kept = None;
        let info = measure(|| {
            kept = Some(runtime().block_on(async {
                // Boxed, as a server keeps it: so the body itself counts.
                let (parts, body) = open(&mut held_by, held_request()).await.into_parts();
                let mut body = Box::pin(body);
                drop(body.as_mut().frame().await);
                (parts, body)
            }));
        });
        drop(kept);
        info
    };
    Case { held: Some(Box::new(held)), per_call: super::memory::EVENTS, ..calls(name, service, request) }
}

async fn open<S, R>(service: &mut S, request: R) -> S::Response
where
    S: Service<R, Error: Into<BoxError>>,
{
    let ready = service.ready().await.map_err(Into::into).expect("ready");
    ready.call(request).await.map_err(Into::into).expect("a reply")
}

/// Prints the table.
pub(crate) fn table(cases: impl Iterator<Item = Case>, instructions: bool) {
    println!(
        "{:44} {:>8} {:>9} {:>9} {:>9} {:>8} {:>7}",
        "", "allocs", "bytes", "ns", "instr", "held", "future"
    );
    let mut group = String::new();
    for mut case in cases {
        let of = case.name.split(':').next().unwrap_or_default();
        if of != group {
            println!();
            group = of.to_owned();
        }
        let line = case.line(instructions);
        println!("{line}");
    }
}

impl Case {
    fn line(&mut self, instructions: bool) -> String {
        let (calls, rounds) = if self.per_call == 1 { (1000, 15) } else { (4, 15) };
        // Whatever is made once is made now.
        (self.run)(calls.min(64));
        let units = f64::from(calls * self.per_call);
        let info = measure(|| (self.run)(calls));
        let nanos = (0..rounds).map(|_| {
            let start = Instant::now();
            (self.run)(calls);
            start.elapsed().as_nanos() as f64 / units
        });
        let nanos = nanos.fold(f64::INFINITY, f64::min);
        let counted = if instructions { self.instructions() } else { None };
        format!(
            "{:44} {:>8.2} {:>9.1} {:>9.1} {:>9} {:>8} {:>7}",
            self.name,
            info.count_total as f64 / units,
            info.bytes_total as f64 / units,
            nanos,
            counted.map_or("-".to_owned(), |counted| format!("{counted:.0}")),
            self.held.as_mut().map_or("-".to_owned(), |held| held().bytes_current.to_string()),
            self.future,
        )
    }

    /// Instructions per call or frame: of a longer run less those of a shorter one.
    fn instructions(&self) -> Option<f64> {
        let (few, many) = if self.per_call == 1 { (200, 1200) } else { (2, 6) };
        let more = count(&self.name, many)?.checked_sub(count(&self.name, few)?)?;
        Some(more as f64 / f64::from((many - few) * self.per_call))
    }
}

/// All instructions of this program when it runs one case, by callgrind; `None` without valgrind.
fn count(case: &str, rounds: u32) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().ok()?)
        .args(["--case", case, "--rounds", &rounds.to_string()])
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok())
}

//! The threads that serve connections: one runtime each, on one thread.
//!
//! A connection stays with one worker to its end, and so do its calls: the client keeps a pool of connections for each
//! runtime, so that a request is read, sent, answered and handed on by one thread, and nothing of it is woken on another.
//!
//! One thread accepts and gives each connection to a worker that has fewest; but a second one goes where the first is, since
//! callers that come one after the other, the one before hardly gone, are to find the connections that it left. Listeners that share the port, one for each
//! worker, would save a hop for each connection; but the kernel spreads connections over them by chance, and the first of
//! a kept pool stay where they fell. They would also let a second gateway listen on a port that is taken.

use std::{
    io,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::oneshot,
};

/// As many workers as were asked for. Dropped, they end what they still do.
#[derive(Debug)]
pub(super) struct Workers(Vec<Worker>);

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    connections: Arc<AtomicUsize>,
    thread: thread::JoinHandle<()>,
    /// Dropped: the thread ends.
    _stop: oneshot::Sender<()>,
}

/// A connection's place at a worker; given back on drop.
#[derive(Debug)]
pub(super) struct Seat {
    pub(super) runtime: Handle,
    connections: Arc<AtomicUsize>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.connections.fetch_sub(1, Relaxed);
    }
}

impl Workers {
    /// Starts `count` of them.
    ///
    /// # Errors
    /// The system's, where it has no thread or no file left for one.
    pub(super) fn start(count: NonZero<usize>) -> io::Result<Self> {
        (0..count.get()).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// A place at a worker that has fewest connections, or has but one.
    pub(super) fn seat(&self) -> Option<Seat> {
        let connections = |worker: &Worker| worker.connections.load(Relaxed);
        let few = self.0.iter().map(connections).min()?.max(1);
        let worker = self.0.iter().find(|worker| connections(worker) <= few)?;
        worker.connections.fetch_add(1, Relaxed);
        Some(Seat { runtime: worker.runtime.clone(), connections: worker.connections.clone() })
    }

    /// Ends them, and waits until their threads are gone.
    pub(super) async fn end(self) {
        let threads: Vec<_> = self.0.into_iter().map(|worker| worker.thread).collect();
        // None of them waits for anything any more, but it is not for this one to say so.
        let joined =
            tokio::task::spawn_blocking(|| threads.into_iter().try_for_each(thread::JoinHandle::join));
        if !matches!(joined.await, Ok(Ok(()))) {
            tracing::error!("a worker ended in a panic");
        }
    }
}

impl Worker {
    fn start(number: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::Builder::new().name(format!("worker-{number}")).spawn(move || {
            // Nobody sends: the sender that is gone says stop.
            let _ = runtime.block_on(stopped);
            // A name server that does not answer holds nobody up.
            runtime.shutdown_background();
        })?;
        Ok(Self { runtime: handle, connections: Arc::default(), thread, _stop: stop })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workers(count: usize) -> Workers {
        Workers::start(NonZero::new(count).unwrap()).unwrap()
    }

    #[tokio::test]
    async fn connections_are_spread_evenly_and_those_that_leave_make_room() {
        let workers = workers(3);
        let mut seats: Vec<Seat> = (0..9).map(|_| workers.seat().unwrap()).collect();
        let at = |workers: &Workers| -> Vec<usize> {
            workers.0.iter().map(|worker| worker.connections.load(Relaxed)).collect()
        };
        assert_eq!(at(&workers), [3, 3, 3]);
        let left = seats.remove(4);
        let id = left.runtime.id();
        drop(left);
        assert_eq!(workers.seat().unwrap().runtime.id(), id);
        drop(seats);
        assert_eq!(at(&workers), [0, 0, 0]);
        workers.end().await;
    }

    #[tokio::test]
    async fn callers_one_after_the_other_find_the_same_worker() {
        let workers = workers(4);
        let mut before = workers.seat().unwrap();
        let id = before.runtime.id();
        for _ in 0..10 {
            // The one before has not quite left.
            let next = workers.seat().unwrap();
            drop(std::mem::replace(&mut before, next));
            assert_eq!(before.runtime.id(), id);
        }
        drop(before);
        workers.end().await;
    }

    #[tokio::test]
    async fn each_worker_is_a_thread_of_its_own() {
        let workers = workers(2);
        let mut threads = Vec::new();
        for _ in 0..4 {
            let seat = workers.seat().unwrap();
            let name = seat.runtime.spawn(async { thread::current().name().map(str::to_owned) });
            threads.push((name.await.unwrap(), seat));
        }
        let names: Vec<_> = threads.iter().filter_map(|(name, _)| name.as_deref()).collect();
        assert_eq!(names, ["worker-0", "worker-0", "worker-1", "worker-1"]);
        workers.end().await;
    }

    #[tokio::test]
    async fn what_a_worker_still_does_ends_with_it() {
        let workers = workers(1);
        let (alive, gone) = oneshot::channel::<()>();
        workers.seat().unwrap().runtime.spawn(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        });
        workers.end().await;
        assert!(gone.await.is_err());
    }
}

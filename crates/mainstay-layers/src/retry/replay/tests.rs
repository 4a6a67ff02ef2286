//! A replayed body equals the original, whatever was read of it before.

use super::*;
use crate::retry::tests::script::{Script, Step};
use http::HeaderMap;
use http_body_util::{BodyExt, Empty};
use proptest::prelude::*;
use tokio_test::{assert_pending, assert_ready, task};

const TEXT: &[u8] = b"the quick brown fox jumps over the lazy dog";

fn trailers() -> HeaderMap {
    [("x-sum".parse().unwrap(), "1".parse().unwrap())].into_iter().collect()
}

/// What a reader does next.
#[derive(Clone, Debug)]
enum Act {
    Clone,
    Poll(usize),
    Drop(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        1 => Just(Act::Clone),
        6 => (0..4usize).prop_map(Act::Poll),
        1 => (0..4usize).prop_map(Act::Drop),
    ];
    prop::collection::vec(act, 0..60)
}

/// The text in frames that end at these places, with pauses between them.
fn split(at: &[usize], pauses: u64, with_trailers: bool, sized: bool) -> Script {
    let mut ends: Vec<_> = at.iter().map(|at| at % TEXT.len()).chain([TEXT.len()]).collect();
    ends.sort_unstable();
    let mut from = 0;
    let mut steps = Vec::new();
    for (n, end) in ends.into_iter().enumerate() {
        if pauses >> (n % 64) & 1 == 1 {
            steps.push(Step::Yield);
        }
        steps.push(Step::Data(&TEXT[from..end]));
        from = end;
    }
    if with_trailers {
        steps.push(Step::Trailers(trailers()));
    }
    let script = Script::new(steps);
    if sized { script.sized() } else { script }
}

struct Reader {
    body: ReplayBody<Script>,
    had: Vec<u8>,
    ended: bool,
}

impl Reader {
    fn new(body: ReplayBody<Script>) -> Self {
        Self { body, had: Vec::new(), ended: false }
    }

    fn poll(&mut self) {
        let polled = task::spawn(()).enter(|cx, _| Pin::new(&mut self.body).poll_frame(cx));
        match polled {
            Poll::Pending => {}
            Poll::Ready(None) => self.ended = true,
            Poll::Ready(Some(Ok(frame))) => {
                assert!(!self.ended, "a frame after the end");
                if let Some(data) = frame.data_ref() {
                    self.had.extend_from_slice(data);
                }
            }
            // Superseded: it must not have had all, and gets nothing more.
            Poll::Ready(Some(Err(error))) => {
                assert!(error.is::<ReplayError>() && !self.ended);
            }
        }
        assert!(TEXT.starts_with(&self.had));
        if self.body.is_end_stream() && !self.ended {
            let polled = task::spawn(()).enter(|cx, _| Pin::new(&mut self.body).poll_frame(cx));
            assert!(matches!(polled, Poll::Ready(None)), "is_end_stream told the truth");
            self.ended = true;
        }
    }
}

proptest! {
    #[test]
    fn a_replayed_body_equals_the_original_for_every_split_and_every_cancelled_read(
        at in prop::collection::vec(0..100usize, 0..8),
        pauses in any::<u64>(),
        with_trailers in any::<bool>(),
        sized in any::<bool>(),
        acts in acts(),
    ) {
        let original = ReplayBody::new(split(&at, pauses, with_trailers, sized), TEXT.len() + 64);
        let mut readers = vec![Reader::new(original.clone())];
        for act in acts {
            match act {
                Act::Clone => readers.push(Reader::new(readers.last().unwrap_or(&Reader::new(original.clone())).body.clone())),
                Act::Poll(n) => if let Some(reader) = readers.get_mut(n) { reader.poll() },
                Act::Drop(n) => if n < readers.len() { drop(readers.remove(n)) },
            }
            if sized {
                for reader in readers.iter().filter(|reader| !reader.ended) {
                    let left = TEXT.len() - reader.had.len();
                    prop_assert_eq!(reader.body.size_hint().exact(), Some(left as u64));
                }
            }
        }
        prop_assert!(original.is_replayable());
        let all = tokio_test::block_on(original.clone().collect()).unwrap();
        prop_assert_eq!(all.trailers().cloned(), with_trailers.then(trailers));
        prop_assert_eq!(&all.to_bytes()[..], TEXT);
        // And once more, of the record alone.
        let again = original.clone();
        prop_assert_eq!(again.size_hint().exact(), Some(TEXT.len() as u64));
        prop_assert_eq!(&tokio_test::block_on(again.collect()).unwrap().to_bytes()[..], TEXT);
    }
}

fn next<B>(body: &mut ReplayBody<B>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
where
    B: Body + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    task::spawn(()).enter(|cx, _| Pin::new(body).poll_frame(cx))
}

fn data(polled: Poll<Option<Result<Frame<Bytes>, BoxError>>>) -> Bytes {
    assert_ready!(polled).unwrap().unwrap().into_data().unwrap()
}

#[test]
fn a_bytes_body_is_cloned_by_reference_and_no_cap_applies() {
    let bytes = Bytes::from(vec![7; 100]);
    let body = ReplayBody::new(Full::new(bytes.clone()), 10);
    for mut body in [body.clone(), body] {
        assert_eq!(body.size_hint().exact(), Some(100));
        assert!(body.is_replayable() && !body.is_end_stream());
        assert_eq!(data(next(&mut body)).as_ptr(), bytes.as_ptr());
        assert!(body.is_end_stream());
        assert!(assert_ready!(next(&mut body)).is_none());
    }
}

#[test]
fn recording_takes_bytes_by_reference() {
    let frame = Bytes::from(vec![7; 100]);
    let source = Full::new(frame.clone()).map_err(|never| -> BoxError { match never {} });
    let body = ReplayBody::new(source, 100);
    let (mut first, mut second) = (body.clone(), body);
    assert_eq!(data(next(&mut first)).as_ptr(), frame.as_ptr());
    assert_eq!(data(next(&mut second)).as_ptr(), frame.as_ptr());
}

#[test]
fn an_empty_body_is_at_its_end_in_every_clone() {
    let body = ReplayBody::new(Empty::<Bytes>::new(), 10);
    for mut body in [body.clone(), body] {
        assert!(body.is_end_stream() && body.is_replayable());
        assert_eq!(body.size_hint().exact(), Some(0));
        assert!(assert_ready!(next(&mut body)).is_none());
    }
}

#[test]
fn over_the_cap_the_reader_goes_on_and_no_other_can_begin() {
    let source = Script::new([Step::Data(b"1234"), Step::Data(b"5678"), Step::Data(b"9")]);
    let mut first = ReplayBody::new(source, 7);
    let mut second = first.clone();
    assert_eq!(data(next(&mut first)), "1234");
    assert!(first.is_replayable());
    assert_eq!(data(next(&mut first)), "5678");
    assert!(!first.is_replayable());
    assert_eq!(data(next(&mut first)), "9");
    assert!(assert_ready!(next(&mut first)).is_none());
    assert!(assert_ready!(next(&mut second)).unwrap().unwrap_err().is::<ReplayError>());
    assert!(assert_ready!(next(&mut second)).is_none(), "an error is the last thing that comes");
}

#[test]
fn a_body_that_announces_more_than_the_cap_can_be_replayed_until_it_is_read() {
    let mut first = ReplayBody::new(Script::text("0123456789"), 7);
    let mut second = first.clone();
    assert!(first.is_replayable());
    assert_eq!(data(next(&mut second)), "0123456789");
    assert!(!second.is_replayable());
    assert!(assert_ready!(next(&mut first)).unwrap().unwrap_err().is::<ReplayError>());
}

#[test]
fn countless_tiny_frames_are_over_the_cap_too() {
    let source = Script::new(std::iter::repeat_n(Step::Data(b""), 3000));
    let body = ReplayBody::new(source, 64 * 1024);
    tokio_test::block_on(body.clone().collect()).unwrap();
    assert!(!body.is_replayable());
}

#[test]
fn the_reader_that_began_last_has_the_source_and_the_one_before_is_told() {
    let source = Script::new([Step::Data(b"1"), Step::Stall]);
    let mut first = ReplayBody::new(source, 7);
    let mut second = first.clone();
    assert_eq!(data(next(&mut first)), "1");
    let mut waiting = task::spawn(());
    let polled = waiting.enter(|cx, _| Pin::new(&mut first).poll_frame(cx));
    assert_pending!(polled);
    assert_eq!(data(next(&mut second)), "1");
    assert!(waiting.is_woken(), "or it would wait for ever");
    assert!(assert_ready!(next(&mut first)).unwrap().unwrap_err().is::<ReplayError>());
    assert_pending!(next(&mut second));
}

#[test]
fn a_clone_that_is_not_read_takes_nothing_from_the_reader() {
    let mut first = ReplayBody::new(Script::new([Step::Data(b"1"), Step::Data(b"2")]), 7);
    assert_eq!(data(next(&mut first)), "1");
    let kept = first.clone();
    assert_eq!(data(next(&mut first)), "2");
    drop(kept);
}

#[test]
fn after_an_error_of_the_source_nothing_can_be_replayed() {
    let mut first = ReplayBody::new(Script::new([Step::Data(b"1"), Step::Fail, Step::Data(b"2")]), 7);
    let mut second = first.clone();
    assert_eq!(data(next(&mut first)), "1");
    assert!(assert_ready!(next(&mut first)).unwrap().is_err());
    assert!(assert_ready!(next(&mut first)).is_none() && first.is_end_stream());
    assert!(!first.is_replayable());
    assert_eq!(data(next(&mut second)), "1");
    assert!(assert_ready!(next(&mut second)).unwrap().is_err(), "never presented as whole");
}

#[test]
fn the_source_is_dropped_as_soon_as_it_has_ended() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let live = Arc::new(AtomicUsize::new(0));
    let body = ReplayBody::new(Script::new([Step::Data(b"1")]).counted(&live), 7);
    tokio_test::block_on(body.clone().collect()).unwrap();
    assert_eq!(live.load(Ordering::SeqCst), 0);
    assert!(body.is_replayable());
}

#[test]
fn a_body_for_one_request_is_passed_and_cannot_be_cloned_into_half_of_it() {
    let first = ReplayBody::once(Script::text("once"));
    let mut second = first.clone();
    assert!(!first.is_replayable() && first.size_hint().exact() == Some(4));
    assert_eq!(tokio_test::block_on(first.collect()).unwrap().to_bytes(), "once");
    assert!(assert_ready!(next(&mut second)).unwrap().is_err());
}

use super::framing::eventstream::{Decoder, FramingError, Message};
use super::framing::ndjson;
use super::*;
use bytes::Bytes;
use http_body::Frame;
use http_body_util::StreamBody;
use proptest::prelude::*;
use std::convert::Infallible;

/// What an event says: name, data, id, retry in milliseconds.
type Said = (String, Vec<u8>, Option<Vec<u8>>, Option<u128>);

fn said(event: &Event) -> Said {
    (
        event.name().to_owned(),
        event.data().to_vec(),
        event.id().map(<[u8]>::to_vec),
        event.retry().map(|d| d.as_millis()),
    )
}

/// Reads the pieces one by one, and checks the tee on the way.
fn read(pieces: &[&[u8]]) -> Vec<Said> {
    let mut scanner = Scanner::new();
    let (mut raw, mut events) = (Vec::new(), Vec::new());
    let mut keep = |block: Block| {
        assert!(!block.raw.is_empty());
        raw.extend_from_slice(&block.raw);
        events.extend(block.event.as_ref().map(said));
    };
    for piece in pieces {
        scanner.push(Bytes::copy_from_slice(piece));
        while let Some(block) = scanner.next_block().unwrap() {
            assert!(block.complete);
            keep(block);
        }
    }
    while let Some(block) = scanner.finish().unwrap() {
        keep(block);
    }
    assert!(!scanner.has_partial());
    assert_eq!(raw, pieces.concat());
    events
}

/// The standard's algorithm on the whole text, written down without any care for speed.
fn reference(text: &[u8]) -> Vec<Said> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = vec![Vec::new()];
    let mut bytes = text.iter().peekable();
    while let Some(&byte) = bytes.next() {
        if byte == b'\r' && bytes.peek() == Some(&&b'\n') {
            bytes.next();
        }
        match byte {
            b'\r' | b'\n' => lines.push(Vec::new()),
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    let unfinished = lines.pop().unwrap();
    let mut events = Vec::new();
    let (mut name, mut data, mut id, mut retry) = (Vec::new(), None::<Vec<u8>>, None, None);
    let mut rest = lines.split(|line| line.is_empty()).collect::<Vec<_>>();
    let open = rest.pop().unwrap_or_default().to_vec();
    let blocks = rest.into_iter().map(|b| (b.to_vec(), true)).chain([(open, false)]);
    for (block, dispatched) in blocks {
        for line in
            block.iter().chain((!dispatched && unfinished.starts_with(b"data")).then_some(&unfinished))
        {
            let colon = line.iter().position(|&b| b == b':').unwrap_or(line.len());
            let (field, value) = (&line[..colon], line.get(colon + 1..).unwrap_or_default());
            let value = value.strip_prefix(b" ").unwrap_or(value).to_vec();
            match field {
                b"data" => match &mut data {
                    Some(data) => data.extend([&b"\n"[..], &value].concat()),
                    None => data = Some(value),
                },
                b"event" => name = value,
                b"id" if !value.contains(&0) => id = Some(value),
                b"retry" if value.iter().all(u8::is_ascii_digit) => {
                    retry = String::from_utf8(value).unwrap().parse::<u64>().map(u128::from).ok().or(retry);
                }
                _ => {}
            }
        }
        let whole = |data: &Vec<u8>| {
            data.trim_ascii() == b"[DONE]"
                || matches!(data.trim_ascii_start().first(), Some(b'{' | b'['))
                    && serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok()
        };
        if let Some(data) = data.take().filter(|data| dispatched || whole(data)) {
            let text = String::from_utf8(name.clone()).ok().filter(|name| !name.is_empty());
            events.push((text.unwrap_or("message".into()), data, id.take(), retry.take()));
        }
        (name, id, retry) = (Vec::new(), None, None);
    }
    events
}

const SAMPLES: &[&[u8]] = &[
    b"data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata: d\n\r\n",
    b"\xef\xbb\xbfdata: bom\n\ndata: \xef\xbb\xbfno bom\n\n",
    b"\xef\xbb\xbf\n\xef\xbb\xbfdata: not a field\n\n",
    b": hi\n\n: there\r\n:\r\n\r\ndata: x\n\n:last",
    b"event: ping\nid: 7\nretry: 50\ndata: {\"a\":\ndata: 1}\n\n",
    b"event\ndata\n\ndata\ndata\n\nevent: x\nevent:\ndata: y\n\n",
    b"event: lost\n\ndata: found\n\nid: a\0b\nid: 2\ndata:\n\n",
    b"retry: 1x\nretry: 99999999999999999999999\nretry: 3\ndata: r\n\n",
    b"database: no\ndata : no\n data: no\nDATA: no\ndata: yes\n\n",
    b"data: \xff\xfe invalid \xe4\xbd\n\nevent: \xff\ndata: z\n\n",
    b"\n\n\r\n\r\r\n\ndata: blank lines before\n\n\n\n",
    b"data: 1\n\ndata: [DONE]",
    b"data: 1\n\ndata: {\"n\": 1}\nevent: err",
    b"data: 1\n\ndata: {\"n\": 1",
    b"data: 1\n\nevent: message\ndata: 12",
    b"data: 1\n\n{\n  \"error\": {\n    \"code\": 500\n  }\n}\n",
    "data: 你好🌍ü\r\n\r\ndata: [DONE]\r\n\r\n".as_bytes(),
    b"",
    b"\r",
    b"data: x\r",
];

#[test]
fn samples_read_as_the_standard_says() {
    for sample in SAMPLES {
        assert_eq!(read(&[sample]), reference(sample), "{:?}", sample.escape_ascii().to_string());
    }
    // The reference itself, where it matters most.
    assert_eq!(reference(b"data: a\n\ndata:b\r\n\r\ndata:  c\r\rdata: d\n\r\n").len(), 4);
    assert_eq!(reference(b"event: ping\nid: 7\nretry: 50\ndata: {\"a\":\ndata: 1}\n\n")[0], {
        ("ping".into(), b"{\"a\":\n1}".to_vec(), Some(b"7".to_vec()), Some(50))
    });
}

#[test]
fn pitfall_34_wherever_one_or_two_cuts_fall_the_events_and_the_bytes_are_the_same() {
    for sample in SAMPLES {
        let whole = read(&[sample]);
        for first in 0..=sample.len() {
            for second in first..=sample.len() {
                let pieces = [&sample[..first], &sample[first..second], &sample[second..]];
                assert_eq!(read(&pieces), whole, "{} at {first}, {second}", sample.escape_ascii());
            }
        }
        let bytes: Vec<_> = sample.chunks(1).collect();
        assert_eq!(read(&bytes), whole);
    }
}

proptest! {
    #[test]
    fn pitfall_34_any_bytes_in_any_pieces_read_as_the_standard_says_and_pass_unchanged(
        words in prop::collection::vec(prop::sample::select(vec![
            "data", "data:", "data: ", "event: e", "id: 1", "retry: 2", ":", " ", "\r", "\n", "\r\n", "\n\n", "{}",
            "[DONE]", "\u{feff}", "x", "\0", "{", "}",
        ]), 0..40),
        cuts in prop::collection::vec(0usize..120, 0..6),
    ) {
        let text = words.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<_> = cuts.windows(2).map(|at| &text[at[0]..at[1]]).collect();
        prop_assert_eq!(read(&pieces), reference(&text));
    }

    #[test]
    fn framings_never_panic_and_never_lose_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
        let cut = cut.min(bytes.len());
        read(&[&bytes[..cut], &bytes[cut..]]);
        let mut decoder = Decoder::new();
        let mut lines = ndjson::Scanner::new();
        let mut raw = Vec::new();
        for piece in [&bytes[..cut], &bytes[cut..]] {
            decoder.push(Bytes::copy_from_slice(piece));
            while let Ok(Some(_)) = decoder.next_message() {}
            lines.push(Bytes::copy_from_slice(piece));
            while let Some(line) = lines.next_line().unwrap() {
                raw.extend_from_slice(&line.raw);
            }
        }
        while let Some(line) = lines.finish().unwrap() {
            raw.extend_from_slice(&line.raw);
        }
        prop_assert_eq!(raw, bytes);
    }

    #[test]
    fn what_is_encoded_is_read_back(name in "[a-z]{0,8}", data in "(?s).{0,60}") {
        let wire = encode(Some(&name), data.as_bytes());
        let name = if name.is_empty() { "message".to_owned() } else { name };
        let data = data.replace("\r\n", "\n").replace('\r', "\n").into_bytes();
        prop_assert_eq!(read(&[&wire]), vec![(name, data, None, None)]);
        prop_assert_eq!(read(&[&comment("a\nb\rc")]), vec![]);
    }
}

#[test]
fn an_event_in_one_frame_is_a_slice_of_it() {
    let frame = Bytes::from(b"event: e\ndata: abc\n\ndata: d\n\n".to_vec());
    let within = |part: &[u8]| frame.as_ptr_range().contains(&part.as_ptr());
    let mut scanner = Scanner::new();
    scanner.push(frame.clone());
    while let Some(block) = scanner.next_block().unwrap() {
        let event = block.event.unwrap();
        assert!(within(&block.raw) && within(event.data()));
    }
}

#[test]
fn a_comment_is_handed_on_before_the_event_that_follows_it() {
    let mut scanner = Scanner::new();
    scanner.push(Bytes::from_static(b": ping\n"));
    assert_eq!(scanner.next_block().unwrap().unwrap().raw, ": ping\n");
    assert!(!scanner.has_partial());
    // But not from within an event.
    scanner.push(Bytes::from_static(b"data: x\n: ping\n"));
    assert_eq!(scanner.next_block().unwrap(), None);
    assert!(scanner.has_partial());
}

#[test]
fn a_block_that_ends_with_cr_is_not_held_until_its_lf_comes() {
    let mut scanner = Scanner::new();
    scanner.push(Bytes::from_static(b"data: x\r\n\r"));
    assert_eq!(scanner.next_block().unwrap().unwrap().event.unwrap().data(), b"x");
    scanner.push(Bytes::from_static(b"\n"));
    let lf = scanner.next_block().unwrap().unwrap();
    assert_eq!((&lf.raw[..], lf.event, lf.complete), (&b"\n"[..], None, true));
}

#[test]
fn several_pushes_before_a_read_are_read_in_order() {
    let mut scanner = Scanner::new();
    for piece in ["da", "ta: a\n", "\nda", "ta: b\n\ndata: c", "\n\n"] {
        scanner.push(Bytes::from_static(piece.as_bytes()));
    }
    let mut data = Vec::new();
    while let Some(block) = scanner.next_block().unwrap() {
        data.extend_from_slice(block.event.unwrap().data());
    }
    assert_eq!(data, b"abc");
}

#[test]
fn exactly_the_limit_passes_and_one_byte_more_is_an_error_for_ever() {
    let event = b"data: 123\n\n";
    for cut in 0..event.len() {
        let feed = |limit| {
            let mut scanner = Scanner::new().with_max_event(limit);
            scanner.push(Bytes::from_static(b"data: 1\n\n"));
            assert!(scanner.next_block().unwrap().is_some());
            scanner.push(Bytes::copy_from_slice(&event[..cut]));
            let first = scanner.next_block();
            scanner.push(Bytes::copy_from_slice(&event[cut..]));
            (first.and_then(|_| scanner.next_block()), scanner)
        };
        assert_eq!(feed(event.len()).0.unwrap().unwrap().event.unwrap().data(), b"123");
        let (result, mut scanner) = feed(event.len() - 1);
        let error = SseError::EventTooLarge { limit: event.len() - 1 };
        assert_eq!(result, Err(error.clone()));
        scanner.push(Bytes::from_static(b"data: 1\n\n"));
        assert_eq!(scanner.finish(), Err(error));
    }
}

#[test]
fn an_endless_line_is_cut_off_at_the_limit() {
    let mut scanner = Scanner::new().with_max_event(1000);
    let frame = Bytes::from(vec![b'x'; 100]);
    let frames = (1..).find(|_| {
        scanner.push(frame.clone());
        scanner.next_block().is_err()
    });
    assert_eq!(frames, Some(11));
}

#[test]
fn the_rest_of_a_cut_stream_is_handed_back_and_marked() {
    let mut scanner = Scanner::new();
    scanner.push(Bytes::from_static(b"data: {\"a\": 1}\n\ndata: {\"a"));
    assert!(scanner.next_block().unwrap().unwrap().complete);
    assert!(scanner.next_block().unwrap().is_none());
    let rest = scanner.finish().unwrap().unwrap();
    assert_eq!((&rest.raw[..], rest.event, rest.complete), (&b"data: {\"a"[..], None, false));
    assert_eq!(scanner.finish().unwrap(), None);
}

#[test]
fn json_without_data_is_found() {
    let json = "{\n  \"error\": {\n    \"code\": 500\n  }\n}";
    for tail in ["", "\n", "\r\n\r\n"] {
        let mut scanner = Scanner::new();
        scanner.push(format!("{json}{tail}").into());
        let block = scanner.finish().unwrap().unwrap();
        assert_eq!((block.bare_json().unwrap(), block.event), (json.into(), None));
    }
}

fn body(
    pieces: Vec<Result<&'static str, Infallible>>,
) -> impl http_body::Body<Data = Bytes, Error = Infallible> + Unpin {
    let frames = pieces.into_iter().map(|piece| piece.map(|text| Frame::data(Bytes::from(text))));
    StreamBody::new(Iter(frames))
}

struct Iter<I>(I);

impl<I: Iterator + Unpin> futures_core::Stream for Iter<I> {
    type Item = I::Item;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<I::Item>> {
        std::task::Poll::Ready(self.0.next())
    }
}

#[tokio::test]
async fn an_event_stream_gives_events_and_then_its_end() {
    let mut events = EventStream::new(body(vec![Ok(": hi\n\ndata: a\n\nda"), Ok("ta: b\n\ndata: [DONE]")]));
    for data in ["a", "b", "[DONE]"] {
        assert_eq!(events.next().await.unwrap().unwrap().data(), data.as_bytes());
    }
    assert!(events.next().await.is_none());
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn an_event_stream_that_is_cut_says_so_once() {
    for rest in ["data: {\"a", "ev", "event: x\n"] {
        let mut events = EventStream::new(body(vec![Ok("data: a\n\n"), Ok(rest)]));
        assert!(events.next().await.unwrap().is_ok());
        assert!(matches!(events.next().await, Some(Err(EventStreamError::Truncated))));
        assert!(events.next().await.is_none());
    }
    // A comment that is cut is no loss.
    let mut events = EventStream::new(body(vec![Ok("data: a\n\n: pi")]));
    assert!(events.next().await.unwrap().is_ok());
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn an_event_stream_ends_with_the_error_of_its_body_or_its_limit() {
    let frames = [Ok(Frame::data(Bytes::from("data: a\n\n"))), Err("reset"), Ok(Frame::data(Bytes::new()))];
    let mut events = EventStream::new(StreamBody::new(Iter(frames.into_iter())));
    assert!(events.next().await.unwrap().is_ok());
    assert!(matches!(events.next().await, Some(Err(EventStreamError::Body("reset")))));
    assert!(events.next().await.is_none());

    let scanner = Scanner::new().with_max_event(4);
    let mut events = EventStream::with_scanner(body(vec![Ok("data: a\n\n")]), scanner);
    assert!(matches!(events.next().await, Some(Err(EventStreamError::Sse(_)))));
    assert!(events.next().await.is_none());
}

fn decode(pieces: &[&[u8]]) -> (Vec<Bytes>, Vec<u8>, Result<(), FramingError>) {
    let mut decoder = Decoder::new();
    let (mut payloads, mut raw) = (Vec::new(), Vec::new());
    for (at, piece) in pieces.iter().enumerate() {
        decoder.push(Bytes::copy_from_slice(piece));
        loop {
            let last = at + 1 == pieces.len();
            match if last { decoder.finish() } else { decoder.next_message() } {
                Ok(Some(message)) => {
                    raw.extend_from_slice(&message.raw);
                    payloads.push(message.payload);
                }
                Ok(None) => break,
                Err(error) => return (payloads, raw, Err(error)),
            }
        }
    }
    (payloads, raw, Ok(()))
}

#[test]
fn event_stream_messages_survive_every_pair_of_cuts() {
    let wire = [
        Message::encode(&[(":message-type", "event"), (":event-type", "a")], b"{\"x\":1}"),
        Message::encode(&[], b""),
        Message::encode(&[(":message-type", "exception")], b"{}"),
    ]
    .concat();
    for first in 0..=wire.len() {
        for second in first..=wire.len() {
            let (payloads, raw, result) = decode(&[&wire[..first], &wire[first..second], &wire[second..]]);
            assert_eq!((payloads, result), (vec!["{\"x\":1}".into(), "".into(), "{}".into()], Ok(())));
            assert_eq!(raw, wire);
        }
    }
}

#[test]
fn one_flipped_bit_of_an_event_stream_is_noticed() {
    let wire = Message::encode(&[(":event-type", "a")], b"{\"x\":1}");
    for at in 0..wire.len() * 8 {
        let mut wire = wire.to_vec();
        wire[at / 8] ^= 1 << (at % 8);
        assert_eq!(decode(&[&wire]).2, Err(FramingError::Checksum));
    }
    assert_eq!(decode(&[&wire[..wire.len() - 1]]).2, Err(FramingError::Truncated));
}

#[test]
fn a_message_of_botocores_own_making_is_read() {
    let hex = "000000760000005296d5fade0b3a6576656e742d7479706507000c6d65737361676553746172740d3a636f6e74656e742d74797\
               0650700106170706c69636174696f6e2f6a736f6e0d3a6d6573736167652d747970650700056576656e747b22726f6c65223a2261\
               7373697374616e74227d6fa8c599";
    let hex: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let wire: Vec<u8> = hex
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    let mut decoder = Decoder::new();
    decoder.push(wire.into());
    let message = decoder.finish().unwrap().unwrap();
    assert_eq!(message.header_str(":event-type"), Some("messageStart"));
    assert_eq!(message.header_str(":message-type"), Some("event"));
    assert_eq!(message.payload, "{\"role\":\"assistant\"}");
}

#[test]
fn lengths_that_cannot_be_are_refused_before_anything_is_held() {
    let wire = Message::encode(&[], &[0; 100]);
    let mut decoder = Decoder::new().with_max_message(wire.len() - 1);
    decoder.push(wire.slice(..12));
    assert_eq!(decoder.next_message(), Err(FramingError::TooLarge { limit: wire.len() - 1 }));
    let mut decoder = Decoder::new().with_max_message(wire.len());
    decoder.push(wire);
    assert!(decoder.next_message().unwrap().is_some());
}

#[test]
fn lines_of_json_are_bounded_and_survive_every_cut() {
    let text = b"{\"a\":1}\r\n\n{\"b\":2}\n{\"c\":3}";
    for cut in 0..=text.len() {
        let mut scanner = ndjson::Scanner::new().with_max_line(9);
        let mut data = Vec::new();
        for piece in [&text[..cut], &text[cut..]] {
            scanner.push(Bytes::copy_from_slice(piece));
            while let Some(line) = scanner.next_line().unwrap() {
                data.push(line.data);
            }
        }
        let rest = scanner.finish().unwrap().unwrap();
        assert!(!rest.complete && scanner.finish().unwrap().is_none());
        data.push(rest.data);
        assert_eq!(data, ["{\"a\":1}", "", "{\"b\":2}", "{\"c\":3}"]);
    }
    let mut scanner = ndjson::Scanner::new().with_max_line(8);
    scanner.push(Bytes::from_static(text));
    assert!(scanner.next_line().is_err() && scanner.finish().is_err());
}

//! What a stream's caller has got last.

use bytes::Bytes;

/// The last bytes that went out, to know whether an event ended with them. Streams of endpoints that nobody judges pass as
/// they come, and may break in the middle of one.
#[derive(Default)]
pub(super) struct Tail([u8; 4]);

impl Tail {
    pub(super) fn saw(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().skip(bytes.len().saturating_sub(4)) {
            self.0.rotate_left(1);
            self.0[3] = *byte;
        }
    }

    /// Closes off what was sent, if it is half an event.
    pub(super) fn close(&self, event: Bytes) -> Bytes {
        let whole = match self.0 {
            [0, 0, 0, 0] => true,
            [_, _, b'\n', b'\n'] | [_, _, b'\r', b'\r'] | [b'\r', b'\n', b'\r', b'\n'] => true,
            // The LF of the last one may have been cut off.
            [_, b'\r', b'\n', b'\r'] => true,
            _ => false,
        };
        if whole { event } else { [b"\n\n", &event[..]].concat().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(frames: &[&str]) -> Bytes {
        let mut tail = Tail::default();
        frames.iter().for_each(|frame| tail.saw(frame.as_bytes()));
        tail.close(Bytes::from_static(b"E"))
    }

    #[test]
    fn half_an_event_is_closed_off_before_another_one() {
        for frames in
            [&["data: x"][..], &["data: x\n"], &["d"], &["data: x\r\n"], &["\n\n", "data"], &["x", "\n"]]
        {
            assert_eq!(after(frames), "\n\nE", "{frames:?}");
        }
        let wholes = [
            &[][..],
            &["data: x\n\n"],
            &["data: x\n", "\n"],
            &["x\r\n\r\n"],
            &["x", "\r", "\n", "\r", "\n"],
            &["x\r\r"],
            &["x\r\n\r"],
        ];
        for frames in wholes {
            assert_eq!(after(frames), "E", "{frames:?}");
        }
    }
}

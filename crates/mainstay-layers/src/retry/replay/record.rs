//! The frames that were read so far.

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;

pub(super) enum Recorded {
    Data(Bytes),
    Trailers(Box<HeaderMap>),
}

impl Recorded {
    /// `None` for a kind of frame that we do not know, and so can not repeat.
    pub(super) fn of(frame: &Frame<Bytes>) -> Option<Self> {
        if let Some(data) = frame.data_ref() {
            return Some(Self::Data(data.clone()));
        }
        frame.trailers_ref().map(|trailers| Self::Trailers(Box::new(trailers.clone())))
    }

    pub(super) fn to_frame(&self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data.clone()),
            Self::Trailers(trailers) => Frame::trailers((**trailers).clone()),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Trailers(trailers) => {
                trailers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
            }
        }
    }
}

/// Frames up to a cap. The first has a place of its own: most bodies are one frame, and then nothing is allocated.
#[derive(Default)]
pub(super) struct Record {
    first: Option<Recorded>,
    rest: Vec<Recorded>,
    /// How many bytes may still be recorded.
    room: usize,
    /// How many frames may still be recorded, so that a million tiny ones cost no more than the cap allows.
    frames: usize,
}

impl Record {
    pub(super) fn new(cap: usize) -> Self {
        Self { first: None, rest: Vec::new(), room: cap, frames: cap / 64 + 1024 }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Recorded> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(index) => self.rest.get(index),
        }
    }

    /// `false`: there is no room for it.
    #[must_use]
    pub(super) fn push(&mut self, frame: Recorded) -> bool {
        let (Some(room), Some(frames)) = (self.room.checked_sub(frame.size()), self.frames.checked_sub(1))
        else {
            return false;
        };
        (self.room, self.frames) = (room, frames);
        match self.first {
            None => self.first = Some(frame),
            Some(_) => self.rest.push(frame),
        }
        true
    }
}

//! Where a continuation's text goes on from what the caller has.

use std::mem;

/// A continuation that says something else than what the caller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Differs;

/// Takes the text of a continuation piece by piece and lets through what the caller does not have yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Splice {
    /// All of it is new.
    Free,
    /// It was asked to go on behind a text that ended in these blanks, which were not sent: it may begin with them.
    Blanks(String),
    /// It was asked to go on, and may do so, or may begin again with what the caller has. So many bytes of that were
    /// repeated so far.
    Either { repeated: usize, blanks: String },
    /// It was asked from the start: it must repeat what the caller has.
    Repeat { repeated: usize },
}

/// A text that is shorter than this may come again by chance, and is not taken for a new beginning.
const SHORTEST: usize = 8;

impl Splice {
    /// For an answer that was asked to go on behind `text`, of which the closing blanks were not sent.
    pub(super) fn going_on(text: &str) -> Self {
        let blanks = text.get(text.trim_end().len()..).unwrap_or_default().to_owned();
        if text.len() < SHORTEST || repeats_itself(text.trim_end()) {
            return if blanks.is_empty() { Splice::Free } else { Splice::Blanks(blanks) };
        }
        Splice::Either { repeated: 0, blanks }
    }

    /// For an answer that was asked from the start.
    pub(super) fn from_start() -> Self {
        Splice::Repeat { repeated: 0 }
    }

    /// Whether what the caller has must be, and has not been, repeated whole.
    pub(super) fn is_repeating(&self, had: &str) -> bool {
        matches!(self, Splice::Repeat { repeated } if *repeated < had.len())
    }

    /// What of `piece` the caller does not have; `had` is what it has.
    pub(super) fn take(&mut self, had: &str, piece: &str) -> Result<String, Differs> {
        if piece.is_empty() {
            return Ok(String::new());
        }
        match mem::replace(self, Splice::Free) {
            Splice::Free => Ok(piece.to_owned()),
            Splice::Blanks(blanks) => Ok(self.without_blanks(&blanks, piece)),
            Splice::Either { repeated: 0, blanks }
                if !blanks.is_empty() && piece.starts_with(char::is_whitespace) =>
            {
                Ok(self.without_blanks(&blanks, piece))
            }
            Splice::Either { repeated, blanks } => {
                let left = had.get(repeated..).unwrap_or_default();
                if let Some(new) = piece.strip_prefix(left) {
                    return Ok(new.to_owned());
                }
                if left.starts_with(piece) {
                    *self = Splice::Either { repeated: repeated + piece.len(), blanks };
                    return Ok(String::new());
                }
                // It went on after all, with words like those of the beginning.
                Ok([had.get(..repeated).unwrap_or_default(), piece].concat())
            }
            Splice::Repeat { repeated } => {
                let left = had.get(repeated..).unwrap_or_default();
                if let Some(new) = piece.strip_prefix(left) {
                    return Ok(new.to_owned());
                }
                if left.starts_with(piece) {
                    *self = Splice::Repeat { repeated: repeated + piece.len() };
                    return Ok(String::new());
                }
                *self = Splice::Repeat { repeated };
                Err(Differs)
            }
        }
    }

    /// What is still held back when the text has ended.
    pub(super) fn finish(&mut self, had: &str) -> Result<String, Differs> {
        match mem::replace(self, Splice::Free) {
            Splice::Either { repeated, .. } => Ok(had.get(..repeated).unwrap_or_default().to_owned()),
            Splice::Repeat { repeated } if repeated < had.len() => Err(Differs),
            _ => Ok(String::new()),
        }
    }

    fn without_blanks(&mut self, blanks: &str, piece: &str) -> String {
        if let Some(left) = blanks.strip_prefix(piece) {
            if !left.is_empty() {
                *self = Splice::Blanks(left.to_owned());
            }
            return String::new();
        }
        let common =
            blanks.chars().zip(piece.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
        piece.get(common..).unwrap_or_default().to_owned()
    }
}

/// Whether a text consists of one piece over and over: then one more piece is no new beginning.
fn repeats_itself(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() > 64 * 1024 {
        return false;
    }
    // The length of the longest proper prefix that is a suffix too, for each prefix (Knuth, Morris, Pratt).
    let mut borders = Vec::with_capacity(bytes.len());
    let mut border = 0;
    for (at, byte) in bytes.iter().enumerate() {
        while at > 0 && border > 0 && bytes.get(border) != Some(byte) {
            border = borders.get(border - 1).copied().unwrap_or(0);
        }
        if at > 0 && bytes.get(border) == Some(byte) {
            border += 1;
        }
        borders.push(border);
    }
    border * 2 >= bytes.len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn through(mut splice: Splice, had: &str, pieces: &[&str]) -> Result<String, Differs> {
        let mut new = String::new();
        for piece in pieces {
            new += &splice.take(had, piece)?;
        }
        new += &splice.finish(had)?;
        Ok(new)
    }

    #[test]
    fn a_continuation_passes_whole() {
        for (had, pieces, new) in [
            ("w0 w1 w2 w3 ", vec!["w4 ", "w5 "], "w4 w5 "),
            ("w0 w1 w2 w3 ", vec![" w4", " w5"], "w4 w5"),
            ("w0 w1 w2 w3", vec![" w4", " w5"], " w4 w5"),
            ("a line\n\n", vec!["\n", "\n", "\nx"], "\nx"),
            ("The cat sat. ", vec!["The c", "ow stood."], "The cow stood."),
            ("The cat sat. ", vec!["The c"], "The c"),
            ("ha ha ha ha ha ", vec!["ha ha ha ha ha ", "ho"], "ha ha ha ha ha ho"),
            ("no ", vec!["no ", "no"], "no no"),
        ] {
            assert_eq!(
                through(Splice::going_on(had), had, &pieces),
                Ok(new.to_owned()),
                "{had:?} {pieces:?}"
            );
        }
    }

    #[test]
    fn one_that_begins_again_loses_what_the_caller_has() {
        for (pieces, new) in [
            (vec!["w0 ", "w1 ", "w2 ", "w3 ", "w4 "], "w4 "),
            (vec!["w0 w1 w2 w3 w4 "], "w4 "),
            (vec!["w0 w1 w2 w3 "], ""),
        ] {
            let had = "w0 w1 w2 w3 ";
            assert_eq!(through(Splice::going_on(had), had, &pieces), Ok(new.to_owned()), "{pieces:?}");
        }
    }

    #[test]
    fn one_from_the_start_must_repeat_every_byte() {
        let had = "Ünd so";
        for (pieces, new) in [
            (vec!["Ünd so weiter"], Ok(" weiter")),
            (vec!["Ü", "nd so", " weiter"], Ok(" weiter")),
            (vec!["Ünd so"], Ok("")),
            (vec!["Ünd"], Err(Differs)),
            (vec![], Err(Differs)),
            (vec!["Und so"], Err(Differs)),
            (vec!["Ünd", "so"], Err(Differs)),
        ] {
            let new = new.map(str::to_owned);
            assert_eq!(through(Splice::from_start(), had, &pieces), new, "{pieces:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_pieces_are_a_repetition_gives_exactly_the_rest(
            text in "[a-c ä]{1,40}", cut in 0usize..40, cuts in prop::collection::vec(0usize..50, 0..6),
        ) {
            let at = text.char_indices().map(|(at, _)| at).nth(cut % text.chars().count()).unwrap();
            let had = &text[..at];
            let mut ends: Vec<_> = cuts.into_iter().filter(|at| text.is_char_boundary(*at)).map(|at| at.min(text.len())).collect();
            ends.extend([0, text.len()]);
            ends.sort_unstable();
            let pieces: Vec<_> = ends.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect();
            prop_assert_eq!(through(Splice::from_start(), had, &pieces), Ok(text[at..].to_owned()));
        }
    }
}

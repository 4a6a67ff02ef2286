//! Where a string or a number of JSON ends, and whether it is well-formed: just what a parser would say of it, eight bytes at
//! a time.

/// The bytes of a well-formed string up to the quote that closes it.
pub(crate) fn string_len(bytes: &[u8]) -> Option<usize> {
    let (len, is_ascii) = scan(bytes)?;
    (is_ascii || std::str::from_utf8(bytes.get(..len)?).is_ok()).then_some(len)
}

/// As [`string_len`], and whether it is UTF-8 is not asked.
pub(crate) fn string_end(bytes: &[u8]) -> Option<usize> {
    scan(bytes).map(|(len, _)| len)
}

/// The same of a string that is ASCII and stands for itself, as keys and words do; `None` for others, and perhaps for one at
/// the very end of the bytes.
#[inline]
pub(crate) fn plain_len(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let eight = bytes.get(at..)?.first_chunk()?;
        let plain = plain_bytes(u64::from_le_bytes(*eight));
        at += plain;
        if plain < 8 {
            return (bytes.get(at) == Some(&b'"')).then_some(at);
        }
    }
}

/// Where the string ends, and whether it is ASCII.
#[inline]
fn scan(bytes: &[u8]) -> Option<(usize, bool)> {
    let mut seen = 0;
    let mut at = 0;
    loop {
        at += run_len(bytes.get(at..)?, &mut seen);
        match *bytes.get(at)? {
            b'"' => return Some((at, seen & HIGH == 0)),
            b'\\' => at += escape_len(bytes.get(at + 1..)?)?,
            ..0x20 => return None,
            // Of the last few bytes.
            byte => {
                seen |= u64::from(byte);
                at += 1;
            }
        }
    }
}

/// The bytes at the head that stand for themselves in a string, ASCII or not, as far as they are eight or followed by one that
/// does not. The bits of all of them go into `seen`.
#[inline]
fn run_len(bytes: &[u8], seen: &mut u64) -> usize {
    let mut at = 0;
    for eight in bytes.chunks_exact(8) {
        let eight = eight.try_into().map_or(0, u64::from_le_bytes);
        let special = special(eight);
        if special != 0 {
            let plain = special.trailing_zeros() / 8;
            *seen |= eight & ((1 << (8 * plain)) - 1);
            return at + plain as usize;
        }
        *seen |= eight;
        at += 8;
    }
    at
}

/// An escape with its backslash, behind which `rest` is.
fn escape_len(rest: &[u8]) -> Option<usize> {
    match rest {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(2),
        [b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(|hex| hex.is_ascii_hexdigit()) => Some(6),
        _ => None,
    }
}

/// How many of eight bytes, the lowest first, are ASCII that stands for itself in a string.
fn plain_bytes(eight: u64) -> usize {
    (special(eight) | eight & HIGH).trailing_zeros() as usize / 8
}

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// Of eight bytes those that do not stand for themselves: quote, backslash and what is below a blank. The lowest bit that is set
/// is exact, those above it need not be.
#[inline]
fn special(eight: u64) -> u64 {
    let zero = |bytes: u64| bytes.wrapping_sub(ONES) & !bytes;
    let quote = zero(eight ^ (ONES * b'"' as u64));
    let escape = zero(eight ^ (ONES * b'\\' as u64));
    let control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (quote | escape | control) & HIGH
}

/// The digits of a whole number, as JSON has them.
pub(crate) fn number_len(bytes: &[u8]) -> Option<usize> {
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits == 1 || digits > 1 && bytes.first() != Some(&b'0')).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// By serde_json, as the full reading has it.
    fn full(bytes: &[u8]) -> Option<usize> {
        let quoted = [b"\"", bytes].concat();
        let mut values =
            serde_json::Deserializer::from_slice(&quoted).into_iter::<&serde_json::value::RawValue>();
        values.next()?.ok().map(|raw| raw.get().len() - 2)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_string_ends_where_serde_says(
            pieces in prop::collection::vec(prop::sample::select(vec![
                &b"a"[..], b"words of text", b"\"", b"\\", b"\\n", b"\\\"", b"\\u00e9", b"\\ud83d", b"\\u12", b"\xc3\xa9",
                b"\xff", b"\xe2\x82", b"\t", b"\n", b"\x1f", b"\x7f", b" ", b"!", b"#", b"[", b"]", b"\xf0\x9f\xaa\x90",
            ]), 0..14),
        ) {
            let bytes = [&pieces.concat()[..], b"\""].concat();
            prop_assert_eq!(string_len(&bytes), full(&bytes), "{}", bytes.escape_ascii());
        }

        #[test]
        fn eight_bytes_are_plain_up_to_the_first_that_is_not(bytes in any::<[u8; 8]>()) {
            let plain = |byte: &u8| matches!(byte, 0x20..0x80) && !b"\"\\".contains(byte);
            prop_assert_eq!(plain_bytes(u64::from_le_bytes(bytes)), bytes.iter().take_while(|byte| plain(byte)).count());
        }
    }

    #[test]
    fn a_number_is_what_json_takes_for_one() {
        for (bytes, len) in
            [("0,", Some(1)), ("12}", Some(2)), ("012", None), (",", None), ("", None), ("-1", None)]
        {
            assert_eq!(number_len(bytes.as_bytes()), len, "{bytes}");
        }
    }
}

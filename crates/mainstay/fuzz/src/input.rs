//! How the bytes of a case are laid out: a first line that says how to feed it, and then the bytes to feed.

use bytes::Bytes;
use mainstay::dialect::Dialect;

/// The first line and what follows it.
pub(crate) fn split(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = data.iter().position(|&byte| byte == b'\n')?;
    Some((&data[..end], &data[end + 1..]))
}

/// A limit, from one byte: a blank stands for a large one.
pub(crate) fn limit(byte: Option<&u8>) -> usize {
    match byte {
        None | Some(b' ') => 1 << 20,
        Some(&byte) => usize::from(byte),
    }
}

/// The bytes in pieces, each as long as one of `lengths` says, and then the rest.
pub(crate) fn pieces(bytes: &[u8], lengths: &[u8]) -> Vec<Bytes> {
    let mut rest = Bytes::copy_from_slice(bytes);
    let mut pieces = Vec::new();
    for &length in lengths {
        let length = usize::from(length).min(rest.len());
        pieces.push(rest.split_to(length));
    }
    pieces.push(rest);
    pieces
}

/// Every dialect, with the letter that stands for it in a case.
pub(crate) const DIALECTS: [(u8, Dialect); 10] = [
    (b'c', Dialect::ChatCompletions),
    (b'k', Dialect::Completions),
    (b'r', Dialect::Responses),
    (b'm', Dialect::Messages),
    (b'e', Dialect::Embeddings),
    (b'g', Dialect::Gemini),
    (b'h', Dialect::Cohere),
    (b'o', Dialect::Ollama),
    (b'b', Dialect::Converse),
    (b'x', Dialect::Other),
];

/// The dialect of a letter; any other byte is one too.
pub(crate) fn dialect(letter: u8) -> Dialect {
    let known = DIALECTS.iter().find(|(of, _)| *of == letter);
    known.unwrap_or(&DIALECTS[usize::from(letter) % DIALECTS.len()]).1
}

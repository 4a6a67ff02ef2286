//! How many tokens a text has at least.

/// Bytes for which there is one token at least. English has some 4.5 to a token, source code fewer, Hindi and Thai, of the
/// languages whose tokens are long in UTF-8, up to 10.
const BYTES: u64 = 16;

/// An unbroken run of base64's characters of this length is data and no text.
const DATA: usize = 256;

/// The least number of tokens that `json`, a value as a request spells it, can have.
///
/// By its bytes, so that no tokenizer is needed. Escapes count for what they stand for, runs of one character (blanks,
/// lines) as one, since tokenizers have tokens for such, and base64 nothing: what it costs is the model's own matter.
pub(super) fn at_least(json: &str) -> u64 {
    let mut rest = json.as_bytes();
    let (mut all, mut last, mut run) = (0u64, 0u8, 0usize);
    // What the run at hand has added: taken back when it turns out to be data.
    let mut of_run = 0u64;
    while let [byte, tail @ ..] = rest {
        let (byte, counts, skip) = match (byte, tail.first()) {
            // Six bytes that spell two or three.
            (b'\\', Some(b'u')) => (b'\\', 2, 5),
            (b'\\', Some(escaped)) => (*escaped | 0x80, 1, 1),
            (byte, _) => (*byte, 1, 0),
        };
        rest = tail.get(skip..).unwrap_or_default();
        let adds = if byte == last && counts == 1 { 0 } else { counts };
        last = byte;
        all += adds;
        if byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_') {
            run += 1;
            of_run += adds;
            if run == DATA {
                all -= of_run;
            } else if run > DATA {
                all -= adds;
            }
        } else {
            (run, of_run) = (0, 0);
        }
    }
    all / BYTES
}

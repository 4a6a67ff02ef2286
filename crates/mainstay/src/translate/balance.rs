//! Knowing where the arguments of a tool call end.

/// Whether arguments, read piece by piece, are a whole object.
#[derive(Debug, Default)]
pub(super) struct Balance {
    depth: usize,
    begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Balance {
    /// Reads a piece, which is text inside a JSON string.
    pub(super) fn read(&mut self, piece: &str) {
        let mut rest = piece.as_bytes();
        while let [byte, tail @ ..] = rest {
            rest = tail;
            let meant = match (byte, tail) {
                (b'\\', [b'u', digits @ ..]) => {
                    let (digits, tail) = digits.split_at_checked(4).unwrap_or((digits, &[]));
                    rest = tail;
                    let code =
                        std::str::from_utf8(digits).ok().and_then(|hex| u32::from_str_radix(hex, 16).ok());
                    // Beyond ASCII there is nothing that matters.
                    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(b' ')
                }
                (b'\\', [escape, tail @ ..]) => {
                    rest = tail;
                    if matches!(escape, b'"' | b'\\') { *escape } else { b' ' }
                }
                _ => *byte,
            };
            self.step(meant);
        }
    }

    fn step(&mut self, byte: u8) {
        match byte {
            _ if std::mem::take(&mut self.escaped) => {}
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => {
                self.begun = true;
                self.depth += 1;
            }
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.begun && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(pieces: &[&str]) -> bool {
        let mut balance = Balance::default();
        pieces.iter().for_each(|piece| balance.read(piece));
        balance.is_whole()
    }

    #[test]
    fn an_object_is_whole_at_its_last_brace_however_it_is_cut() {
        let arguments =
            serde_json::json!({"a\"}": "}]{", "b": [1, {"c": "\\"}], "d": "\u{1f600}"}).to_string();
        let literal = serde_json::to_string(&arguments).unwrap();
        let inner = &literal[1..literal.len() - 1];
        assert!(whole(&[inner]));
        for at in (1..inner.len()).filter(|at| inner.is_char_boundary(*at) && !inner[..*at].ends_with('\\')) {
            assert!(!whole(&[&inner[..at]]), "{at}");
            assert!(whole(&[&inner[..at], &inner[at..]]), "{at}");
        }
        assert!(!whole(&[""]));
        assert!(whole(&["\\u007b\\u007d"]));
    }
}

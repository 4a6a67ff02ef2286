//! Credentials: never shown, and cut out of whatever a provider repeats.

use bytes::Bytes;
use http::HeaderValue;
use memchr::{memchr, memchr2, memmem};
use std::{fmt, sync::Arc};

/// An API key. Its `Debug` shows nothing of it, and the header values made of it are marked sensitive.
#[derive(Clone)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// A key; `None` where no header can hold it, or where it is empty. Blanks and line ends around it are trimmed.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        let visible = !key.is_empty() && key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        visible.then(|| Self(key.into()))
    }

    /// The header value `prefix` + key, marked sensitive.
    pub fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The key itself. Handle with care.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(..)")
    }
}

/// Cuts known secrets out of text that goes to a caller or a log.
#[derive(Clone, Default)]
pub struct Redactor {
    secrets: Arc<[Box<str>]>,
    /// One more, of a single call: nothing is sorted and copied for what hardly any call needs.
    own: Option<Box<str>>,
    /// Those that change.
    changing: Arc<[Changing]>,
}

/// Says which secrets there are now.
type Changing = Arc<dyn Fn() -> Redactor + Send + Sync>;

/// What stands in place of a secret.
const MASK: &str = "[redacted]";

/// Shorter secrets would hit ordinary words.
const SHORTEST: usize = 8;

impl Redactor {
    /// A redactor of these secrets; those under eight characters are left alone, they would hit ordinary words.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<Box<str>> =
            secrets.into_iter().filter(|one| one.len() >= SHORTEST).map(Box::from).collect();
        // The longest first, so that a key that holds another one goes whole.
        secrets.sort_by_key(|one| std::cmp::Reverse(one.len()));
        secrets.dedup();
        Self { secrets: secrets.into(), own: None, changing: Arc::default() }
    }

    /// The same redactor with secrets that change while it is in use, such as temporary credentials: each time, what `secrets` says.
    #[must_use]
    pub fn with_changing(self, secrets: impl Fn() -> Redactor + Send + Sync + 'static) -> Self {
        let secrets: Changing = Arc::new(secrets);
        let changing = self.changing.iter().cloned().chain([secrets]).collect();
        Self { changing, ..self }
    }

    /// The same redactor with one more secret: the caller's own credential.
    #[must_use]
    pub fn and(&self, secret: Option<&str>) -> Self {
        match secret.map(str::trim) {
            Some(secret) if secret.len() >= SHORTEST && !self.all().any(|one| *one == *secret) => {
                let shared = match self.own {
                    None => self.clone(),
                    Some(_) => Self { changing: self.changing.clone(), ..Self::new(self.all()) },
                };
                Self { own: Some(secret.into()), ..shared }
            }
            _ => self.clone(),
        }
    }

    /// The secrets, the longest first.
    fn all(&self) -> impl Iterator<Item = &str> {
        let length = self.own.as_ref().map_or(0, |own| own.len());
        let at = self.secrets.partition_point(|one| one.len() >= length);
        let (longer, shorter) = self.secrets.split_at(at);
        longer.iter().chain(&self.own).chain(shorter).map(|one| &**one)
    }

    /// `text` without the secrets, written with JSON's escapes or not; untouched, without a copy, where there is none in it.
    pub fn bytes(&self, text: &Bytes) -> Bytes {
        let mut out = text.clone();
        for secret in self.all() {
            if memmem::find(&out, secret.as_bytes()).is_some() {
                out = replace(&out, secret.as_bytes()).into();
            }
            if memchr(b'\\', &out).is_some() {
                if let Some(without) = replace_escaped(&out, secret.as_bytes()) {
                    out = without.into();
                }
            }
        }
        self.changing.iter().fold(out, |out, changing| changing().bytes(&out))
    }

    /// Whether a secret is in `text` as it stands.
    pub fn finds(&self, text: &[u8]) -> bool {
        let holds = |secret: &str| memmem::find(text, secret.as_bytes()).is_some();
        self.all().any(|secret| secret.len() <= text.len() && holds(secret))
            || self.changing.iter().any(|changing| changing().finds(text))
    }

    /// `text` without the secrets.
    pub fn text(&self, text: &str) -> String {
        let clean = self.bytes(&Bytes::copy_from_slice(text.as_bytes()));
        String::from_utf8_lossy(&clean).into_owned()
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor({} secrets)", self.all().count())
    }
}

fn replace(text: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for at in memmem::find_iter(text, secret) {
        out.extend_from_slice(text.get(from..at).unwrap_or_default());
        out.extend_from_slice(MASK.as_bytes());
        from = at + secret.len();
    }
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    out
}

/// The same where a JSON string may have written the secret with escapes; `None` where it is not there.
fn replace_escaped(text: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
    let first = *secret.first()?;
    let (mut out, mut from, mut at) = (None::<Vec<u8>>, 0, 0);
    while let Some(next) = text.get(at..).and_then(|rest| memchr2(b'\\', first, rest)) {
        at += next;
        let rest = text.get(at..).unwrap_or_default();
        if let Some(len) = escaped_len(rest, secret) {
            let out = out.get_or_insert_default();
            out.extend_from_slice(text.get(from..at).unwrap_or_default());
            out.extend_from_slice(MASK.as_bytes());
            at += len;
            from = at;
        } else {
            // An escape goes with its letter: what follows a backslash that is one itself is none.
            at += if rest.first() == Some(&b'\\') { 2 } else { 1 };
        }
    }
    let mut out = out?;
    out.extend_from_slice(text.get(from..).unwrap_or_default());
    Some(out)
}

/// How many bytes of a JSON string the secret takes with which `text` begins, if it does.
fn escaped_len(text: &[u8], secret: &[u8]) -> Option<usize> {
    let mut at = 0;
    for byte in secret {
        let rest = text.get(at..)?;
        at += match rest {
            [b'\\', b'u', hex @ ..] => {
                let hex = std::str::from_utf8(hex.get(..4)?).ok()?;
                (u32::from_str_radix(hex, 16).ok()? == u32::from(*byte)).then_some(6)?
            }
            [b'\\', escaped, ..] if escaped == byte && matches!(byte, b'"' | b'\\' | b'/') => 2,
            [plain, ..] if plain == byte && *plain != b'\\' => 1,
            _ => return None,
        };
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        let key = ApiKey::new("sk-0123456789").unwrap();
        assert!(!format!("{key:?} {:?}", key.header("Bearer ")).contains("0123"));
    }

    #[test]
    fn what_no_header_can_hold_is_no_key() {
        assert!(ApiKey::new("a\nb").is_none());
        assert!(ApiKey::new("  \n").is_none());
        assert!(ApiKey::new("ké").is_none());
        assert_eq!(ApiKey::new(" k-1\r\n").unwrap().expose(), "k-1");
    }

    #[test]
    fn every_occurrence_of_every_secret_goes() {
        let redactor = Redactor::new(["sk-aaaaaaaa", "sk-aaaaaaaa-long"]).and(Some("mine-0123456789"));
        let text = redactor.text("x sk-aaaaaaaa-long sk-aaaaaaaa y mine-0123456789");
        assert_eq!(text, "x [redacted] [redacted] y [redacted]");
    }

    #[test]
    fn secrets_that_change_go_as_they_are_now() {
        let now = Arc::new(std::sync::atomic::AtomicUsize::new(1));
        let said = now.clone();
        let redactor = Redactor::new(["sk-aaaaaaaa"])
            .with_changing(|| Redactor::new(["other-0123456789"]))
            .with_changing(move || {
                let now = said.load(std::sync::atomic::Ordering::Relaxed);
                Redactor::new([&*format!("token-number-{now}")])
            })
            .and(Some("mine-0123456789"));
        let text = "sk-aaaaaaaa mine-0123456789 other-0123456789 token-number-1 token-number-2";
        assert_eq!(redactor.text(text), "[redacted] [redacted] [redacted] [redacted] token-number-2");
        assert!(redactor.finds(b"token-number-1") && !redactor.finds(b"token-number-2"));
        now.store(2, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(redactor.text("token-number-1 token-number-2"), "token-number-1 [redacted]");
        assert!(redactor.and(Some("its-0123456789")).finds(b"token-number-2"));
    }

    #[test]
    fn one_more_secret_takes_its_place_by_length() {
        let redactor = Redactor::new(["aaaaaaaa-longer", "bbbbbbbb"]).and(Some("aaaaaaaa-long"));
        assert_eq!(
            redactor.text("aaaaaaaa-longer aaaaaaaa-long bbbbbbbb"),
            "[redacted] [redacted] [redacted]"
        );
        let longest = redactor.and(Some("aaaaaaaa-longer-still")).and(Some("aaaaaaaa-long"));
        assert_eq!(longest.text("aaaaaaaa-longer-still aaaaaaaa-long"), "[redacted] [redacted]");
        assert_eq!(longest.all().count(), 4);
    }

    #[test]
    fn a_secret_that_json_wrote_with_escapes_goes_too_and_the_json_stays_one() {
        let redactor = Redactor::new(["sk-a/b\"c\\d"]);
        let secret = r#"sk-a/b\"c\\d"#;
        for (text, clean) in [
            (format!(r#"{{"m":"key {secret}!"}}"#), r#"{"m":"key [redacted]!"}"#),
            (r#"{"m":"\u0073k\u002da\/b\u0022c\u005Cd"}"#.into(), r#"{"m":"[redacted]"}"#),
            (format!(r#"{{"m":"\n{secret}{secret}"}}"#), r#"{"m":"\n[redacted][redacted]"}"#),
            // A backslash, and words that look like an escape.
            (r#"{"m":"\\u0073k-a\/b\"c\\d"}"#.into(), r#"{"m":"\\u0073k-a\/b\"c\\d"}"#),
            (r#"{"m":"\u0073k-a\/b\"c\\"}"#.into(), r#"{"m":"\u0073k-a\/b\"c\\"}"#),
            (r#"\u00"#.into(), r#"\u00"#),
        ] {
            assert_eq!(redactor.text(&text), clean);
        }
        assert!(redactor.finds(br#"x sk-a/b"c\d"#) && !redactor.finds(b"sk-a/b"));
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        let text = Bytes::from_static(b"nothing here");
        let clean = Redactor::new(["sk-aaaaaaaa"]).bytes(&text);
        assert_eq!(clean.as_ptr(), text.as_ptr());
    }

    #[test]
    fn ordinary_words_are_no_secrets_and_neighbours_are_cut_both() {
        let redactor = Redactor::new(["short", "sk-aaaaaaaa"]).and(Some("word")).and(None).and(Some("  "));
        assert_eq!(redactor.text("short word"), "short word");
        assert_eq!(redactor.text("sk-aaaaaaaask-aaaaaaaa"), "[redacted][redacted]");
        assert_eq!(redactor.text("sk-aaaaaaa"), "sk-aaaaaaa");
        assert_eq!(redactor.bytes(&Bytes::from_static(b"\xff sk-aaaaaaaa")), &b"\xff [redacted]"[..]);
        assert!(!format!("{redactor:?}").contains("sk-"));
    }
}

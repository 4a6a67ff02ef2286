//! The form of error rules: what must be seen, and what it then is.

use super::ErrorBody;
use mainstay_layers::classify::{Class, Verdict, Vote};

/// One line of a provider's table of errors.
///
/// All conditions that it names must hold. Within one condition any of the given words is enough. Words are compared
/// without regard to ASCII case.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    statuses: Statuses,
    says: &'static [&'static str],
    kind: &'static [&'static str],
    code: &'static [&'static str],
    text: &'static [&'static str],
    class: Class,
    retry: Option<bool>,
    vote: Option<Vote>,
    daily: bool,
    status: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
enum Statuses {
    Any,
    /// An error that came without a status: inside a 200, with no number of its own.
    Unknown,
    Of(&'static [u16]),
}

impl Rule {
    const BLANK: Rule = Rule {
        statuses: Statuses::Any,
        says: &[],
        kind: &[],
        code: &[],
        text: &[],
        class: Class::ServerError,
        retry: None,
        vote: None,
        daily: false,
        status: None,
    };

    /// Whatever the status.
    pub(super) const fn any() -> Self {
        Self::BLANK
    }

    /// These statuses. An error without any status matches too if the rule asks for more than the status.
    pub(super) const fn on(statuses: &'static [u16]) -> Self {
        Rule { statuses: Statuses::Of(statuses), ..Self::BLANK }
    }

    /// Only where no status is known.
    pub(super) const fn no_status() -> Self {
        Rule { statuses: Statuses::Unknown, ..Self::BLANK }
    }

    /// The type, the code or a reason in the details is one of these. `*` stands for anything.
    pub(super) const fn says(mut self, words: &'static [&'static str]) -> Self {
        self.says = words;
        self
    }

    /// The type is one of these.
    pub(super) const fn kind(mut self, words: &'static [&'static str]) -> Self {
        self.kind = words;
        self
    }

    /// The code is one of these.
    pub(super) const fn code(mut self, words: &'static [&'static str]) -> Self {
        self.code = words;
        self
    }

    /// The message contains one of these, in lower case. `*` stands for anything between.
    pub(super) const fn text(mut self, parts: &'static [&'static str]) -> Self {
        self.text = parts;
        self
    }

    /// Then it is this.
    pub(super) const fn is(mut self, class: Class) -> Self {
        self.class = class;
        self
    }

    /// It says nothing about the provider's health.
    pub(super) const fn neutral(mut self) -> Self {
        self.vote = Some(Vote::Neutral);
        self
    }

    /// The window is a day or longer: not again, and a short hint beside it is that of some other window.
    pub(super) const fn daily(mut self) -> Self {
        self.retry = Some(false);
        self.daily = true;
        self
    }

    /// The status that it stands for inside a 200.
    pub(super) const fn stands_for(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// The class that it gives.
    pub fn class(&self) -> Class {
        self.class
    }

    pub(super) fn is_daily(&self) -> bool {
        self.daily
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    pub(super) fn verdict(&self) -> Verdict {
        Verdict::new(self.class).with_retry(self.retry).with_vote(self.vote)
    }

    /// Whether it applies to an error of this status (`None`: not known) and this body.
    pub(super) fn matches(&self, status: Option<u16>, body: &ErrorBody) -> bool {
        let asks_more =
            !(self.says.is_empty() && self.kind.is_empty() && self.code.is_empty() && self.text.is_empty());
        let status = match (self.statuses, status) {
            (Statuses::Any, _) | (Statuses::Unknown, None) => true,
            (Statuses::Unknown, Some(_)) => false,
            (Statuses::Of(_), None) => asks_more,
            (Statuses::Of(these), Some(status)) => these.contains(&status),
        };
        status
            && any(self.says, |word| body.words().any(|said| glob(word, said)))
            && any(self.kind, |word| body.kind.as_deref().is_some_and(|said| glob(word, said)))
            && any(self.code, |word| body.code.as_deref().is_some_and(|said| glob(word, said)))
            && any(self.text, |part| body.texts().any(|text| find_parts(part, text)))
    }
}

/// An empty condition holds.
fn any(words: &[&str], mut test: impl FnMut(&str) -> bool) -> bool {
    words.is_empty() || words.iter().any(|word| test(word))
}

/// Whether `text` is `word`; a `*` in `word` stands for anything.
fn glob(word: &str, text: &str) -> bool {
    if word.contains('*') { find_parts(word, text) } else { word.eq_ignore_ascii_case(text) }
}

/// Whether the parts of `pattern` between its `*`s are found in `text` one after the other.
fn find_parts(pattern: &str, text: &str) -> bool {
    let mut rest = text.as_bytes();
    for part in pattern.split('*').filter(|part| !part.is_empty()) {
        match find(rest, part.as_bytes()) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window.eq_ignore_ascii_case(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_in_order_and_whatever_the_case() {
        assert!(find_parts("current length is*while limit is", "Current length is 9 while limit is 8"));
        assert!(!find_parts("current length is*while limit is", "while limit is 8 current length is 9"));
        assert!(glob("*PerDay*", "GenerateRequestsPerDayPerProject"));
        assert!(!glob("rate_limit", "rate_limit_exceeded"));
        assert!(glob("rate_limit", "RATE_LIMIT"));
    }

    #[test]
    fn a_rule_of_a_status_alone_needs_that_status() {
        let body = ErrorBody::default();
        assert!(Rule::on(&[498]).matches(Some(498), &body));
        assert!(!Rule::on(&[498]).matches(None, &body));
        assert!(!Rule::on(&[498]).matches(Some(400), &body));
    }
}

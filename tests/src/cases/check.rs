//! What failed, in words.

use super::{Expect, Sse, find, find::place, matches};
use crate::{client::Reply, sse};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Collects the checks that failed.
#[derive(Debug, Default)]
pub struct Checks {
    /// One line a check.
    pub failures: Vec<String>,
}

/// The beginning of a text, for a message that people read.
fn shown(text: &str) -> String {
    let short: String = text.chars().take(400).collect();
    if short.len() < text.len() { format!("{short}...") } else { short }
}

impl Checks {
    /// A failure without a value.
    pub fn fail(&mut self, what: impl Into<String>) {
        self.failures.push(what.into());
    }

    /// One value.
    pub fn that(&mut self, what: &str, want: &Value, got: impl Into<Value>) {
        let got = got.into();
        if !matches(want, &got) {
            self.fail(format!("{what}: wanted {want}, got {}", shown(&got.to_string())));
        }
    }

    /// One value, where the case asks for it.
    pub fn if_given(&mut self, what: &str, want: Option<&Value>, got: impl Into<Value>) {
        if let Some(want) = want {
            self.that(what, want, got);
        }
    }

    /// What a text holds and lacks.
    pub fn text(&mut self, what: &str, text: &str, contains: &[String], lacks: &[String]) {
        for one in contains.iter().filter(|one| !text.contains(*one)) {
            self.fail(format!("{what}: lacks {one:?}: {:?}", shown(text)));
        }
        for one in lacks.iter().filter(|one| text.contains(*one)) {
            self.fail(format!("{what}: must not hold {one:?}"));
        }
    }

    /// Places in a text that must be JSON.
    pub fn json(&mut self, what: &str, text: &str, want: &BTreeMap<String, Value>) {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => {
                for (path, want) in want {
                    self.that(&format!("{what}{path}"), want, find(&value, path).clone());
                }
            }
            Err(_) => self.fail(format!("{what}not JSON: {:?}", shown(text))),
        }
    }

    /// A reply, as far as the case asks.
    pub fn reply(&mut self, label: &str, want: &Expect, reply: &Reply) {
        let at = |name: &str| format!("{label}{name}");
        self.if_given(&at("status"), want.status.as_ref(), reply.status);
        for (name, want) in &want.headers {
            self.that(&at(&format!("header {name}")), want, reply.header(&name.to_ascii_lowercase()));
        }
        let text = reply.text();
        self.text(&at("body"), &text, &want.body_contains, &want.body_lacks);
        for (one, count) in &want.body_count {
            self.that(&at(&format!("count of {one:?}")), count, text.matches(one.as_str()).count());
        }
        self.if_given(&at("body"), want.body_equals.as_ref(), &*text);
        if let Some(want) = &want.json {
            self.json(&at("body: "), &text, want);
        }
        self.if_given(&at("complete"), want.complete.as_ref(), reply.complete);
        self.if_given(&at("elapsed_ms"), want.elapsed_ms.as_ref(), reply.elapsed_ms);
        self.if_given(&at("first_ms"), want.first_ms.as_ref(), reply.first_ms);
        if let Some(want) = &want.sse {
            self.stream(&at("sse "), want, &text);
        }
    }

    fn stream(&mut self, label: &str, want: &Sse, body: &str) {
        let events = sse::events(body);
        let at = |name: &str| format!("{label}{name}");
        let data: Vec<&str> = events.iter().map(|event| event.data.as_str()).collect();
        let mut names: Vec<&str> = events.iter().map(|event| event.name.as_str()).collect();
        names.retain(|name| *name != "ping");
        names.dedup();
        self.if_given(&at("count"), want.count.as_ref(), events.len());
        self.if_given(&at("events"), want.events.as_ref(), json!(data));
        self.if_given(&at("text"), want.text.as_ref(), sse::text(&events));
        self.if_given(&at("names"), want.names.as_ref(), json!(names));
        self.if_given(&at("tools"), want.tools.as_ref(), json!(sse::tools(&events)));
        self.if_given(&at("last"), want.last.as_ref(), data.last().copied());
        self.if_given(&at("done"), want.done.as_ref(), sse::is_done(&events));
        self.if_given(&at("error"), want.error.as_ref(), sse::has_error(&events));
        for (index, want) in &want.json {
            let place = index.parse().ok().and_then(|index| place(data.len(), index));
            match place.and_then(|place| data.get(place)) {
                Some(data) => self.json(&at(&format!("event {index}: ")), data, want),
                None => self.fail(at(&format!("event {index} is missing, there are {}", data.len()))),
            }
        }
    }
}

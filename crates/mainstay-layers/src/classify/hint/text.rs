//! Words for people, as a last resort.

use super::duration::{component, wait};
use std::time::Duration;

/// At most this much of a message is looked through.
const MAX_TEXT: usize = 4096;

/// What precedes a wait: OpenAI and Groq ("Please try again in 6.57s"), Azure ("Please retry after 37 seconds"), Gemini
/// ("Please retry in 10h17m5.7s").
const LEADS: [&str; 5] =
    ["try again in ", "try again after ", "retry after ", "retry in ", "retry again in "];

/// The wait that a message tells: a number with a unit behind one of the usual phrases.
///
/// Only for want of another hint: the words are made for people and change.
///
/// ```
/// use mainstay_layers::classify::hint::from_text;
///
/// assert_eq!(from_text("Limit 30000, Used 29500. Please try again in 9m38.016s.").unwrap().as_millis(), 578_016);
/// assert_eq!(from_text("Please try again in a few minutes."), None);
/// ```
pub fn from_text(message: &str) -> Option<Duration> {
    let bytes = message.as_bytes();
    let end = bytes.len().min(MAX_TEXT);
    (0..end).find_map(|at| {
        let rest = bytes.get(at..)?;
        let lead = LEADS.iter().find(|lead| {
            rest.get(..lead.len()).is_some_and(|head| head.eq_ignore_ascii_case(lead.as_bytes()))
        })?;
        spoken(message.get(at + lead.len()..)?)
    })
}

/// `37 seconds`, `10h17m5.7s`, `1 minute and 5 seconds`: units grow smaller from the left.
fn spoken(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut sum = 0_u128;
    let mut last = u128::MAX;
    while let Some((nanos, unit, tail)) = component(rest) {
        let Some((size, _, _)) = component(&format!("1{unit}")).filter(|(size, _, _)| *size < last) else {
            break;
        };
        last = size;
        sum = sum.saturating_add(nanos);
        rest = tail.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    wait(sum)
}

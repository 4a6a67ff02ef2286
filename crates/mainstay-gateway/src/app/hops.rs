//! How many gateways a call has passed: two that have each other as a provider would hand it to and fro without end.
//!
//! Each gateway adds one to [`x-mainstay-hops`](HOPS) on the way to a provider, and refuses what has passed
//! [`MOST`] of them with a 508 that says not to try again. Whoever fell into the loop falls back on its next target.

use super::errors::Refusal;
use http::{HeaderMap, HeaderName, HeaderValue};
use mainstay::endpoint::HOPS;

/// Enough for any chain that somebody means.
const MOST: u32 = 8;

/// Counts this gateway in.
pub(super) fn count(headers: &mut HeaderMap) -> Result<(), Refusal> {
    // What is no number is not from a gateway.
    let numbers = headers.get_all(HOPS).iter().filter_map(|value| value.to_str().ok()?.trim().parse().ok());
    let passed: u32 = numbers.max().unwrap_or(0);
    if passed >= MOST {
        return Err(Refusal::loop_detected(passed));
    }
    headers.insert(HeaderName::from_static(HOPS), HeaderValue::from(passed + 1));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(values: &[&str]) -> Option<String> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(HOPS, value.parse().unwrap());
        }
        count(&mut headers).ok()?;
        let all: Vec<_> = headers.get_all(HOPS).iter().collect();
        let [one] = all.as_slice() else { panic!("{all:?}") };
        Some(one.to_str().unwrap().to_owned())
    }

    #[test]
    fn each_gateway_adds_one_and_the_ninth_refuses() {
        assert_eq!(counted(&[]).as_deref(), Some("1"));
        assert_eq!(counted(&["7"]).as_deref(), Some("8"));
        assert_eq!(counted(&["2", "5", "x"]).as_deref(), Some("6"));
        assert_eq!(counted(&["many"]).as_deref(), Some("1"));
        assert_eq!(counted(&["8"]), None);
        assert_eq!(counted(&["4294967295"]), None);
    }
}

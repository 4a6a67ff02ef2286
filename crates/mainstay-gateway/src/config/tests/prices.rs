//! `[prices]`

use super::super::settings::{Price, Priced};
use super::{good, refused, with};

fn priced(provider: Option<&str>, model: &str, input: f64, output: f64, cached: f64) -> Priced {
    Priced { provider: provider.map(Into::into), model: model.into(), price: Price { input, output, cached } }
}

const FILE: &str = "
[prices.\"gpt-5\"]
input = 1.25
output = 10
cached = 0.125
[prices.\"a/*\"]
input = 1
output = 2
[prices.\"meta/llama-4\"]
input = 0
output = 0
";

#[test]
fn a_price_is_that_of_a_model_or_of_one_at_a_provider() {
    let config = good(&with(FILE));
    let expected = [
        priced(None, "gpt-5", 1.25, 10.0, 0.125),
        priced(Some("a"), "*", 1.0, 2.0, 1.0),
        // No provider is called so: it is a part of the name.
        priced(None, "meta/llama-4", 0.0, 0.0, 0.0),
    ];
    assert_eq!(config.prices, expected);
}

#[test]
fn the_listing_of_prices_reads_back() {
    let config = good(&with(FILE));
    let shown = config.effective_toml();
    let at = shown.find("[prices.").unwrap();
    assert_eq!(good(&with(&shown[at..])).prices, config.prices);
}

#[test]
fn a_price_says_what_is_wrong_with_it() {
    for (lines, key, expected) in [
        ("[prices.m]\ninput = 1", "prices.m.output", "USD per million tokens"),
        ("[prices.m]\ninput = -1.0\noutput = 1", "prices.m.input", "from 0 to 1000000"),
        ("[prices.m]\ninput = \"1\"\noutput = 1", "prices.m.input", "a number"),
        ("[prices.m]\ninput = 1\noutput = 1\ncashed = 1", "prices.m.cashed", "cached?"),
        ("[prices]\nm = 3", "prices.m", "a table"),
        ("[prices.\"a b\"]\ninput = 1\noutput = 1", "prices.\"a b\"", "without white space"),
    ] {
        let error = refused(&with(lines));
        let problem = error.problems().iter().find(|problem| problem.key == key);
        let problem = problem.unwrap_or_else(|| panic!("no problem at {key} in {error}"));
        assert!(problem.expected.contains(expected), "{}", problem.expected);
    }
}

//! What answers cost, by the prices of the configuration.
//!
//! A price for `provider/model` counts before one for the model alone, an exact name before a pattern, a longer pattern
//! before a shorter one. The model is the one that was asked of the provider. What has no price costs nothing that is known:
//! there is no figure then, and not a zero.
//!
//! Tokens that are written to a cache, which some providers charge more for, count as input. Of an answer that a second target
//! went on with (`recovery = "continue"`) each part is charged at the price of who gave it; the whole has a figure if all its
//! parts do. An answer that was kept (`cache`) costs nothing again.

use crate::config::settings::{Price, Priced};
use mainstay::{
    dialect::Usage,
    route::{Pattern, Table},
};
use std::{collections::HashMap, fmt};

/// The prices, ready to be looked up.
#[derive(Debug, Default)]
pub(crate) struct Prices {
    of_provider: HashMap<String, Table<Price>>,
    of_model: Table<Price>,
}

/// US dollars. Shown plain, to the billionth.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Usd(pub(crate) f64);

impl Prices {
    pub(crate) fn new(prices: &[Priced]) -> Self {
        let mut all = Self::default();
        for Priced { provider, model, price } in prices {
            let table = match provider {
                Some(provider) => all.of_provider.entry(provider.clone()).or_default(),
                None => &mut all.of_model,
            };
            table.insert(Pattern::new(model.as_str()), *price);
        }
        all
    }

    /// What `usage` of a model costs, if its price and its tokens are known.
    pub(crate) fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<Usd> {
        let own = self.of_provider.get(provider).and_then(|table| table.get(model));
        cost(own.or_else(|| self.of_model.get(model))?, usage)
    }
}

fn cost(price: &Price, usage: &Usage) -> Option<Usd> {
    let input = usage.input?;
    let cached = usage.cached.unwrap_or(0).min(input);
    let output = match usage.output {
        Some(output) => output,
        // Embeddings have none.
        None if price.output <= 0.0 => 0,
        None => return None,
    };
    let dollars =
        (input - cached) as f64 * price.input + cached as f64 * price.cached + output as f64 * price.output;
    Some(Usd(dollars / 1e6))
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.9}", self.0);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        f.write_str(if text.is_empty() { "0" } else { text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn priced(provider: Option<&str>, model: &str, input: f64) -> Priced {
        let price = Price { input, output: 10.0, cached: 0.5 };
        Priced { provider: provider.map(Into::into), model: model.into(), price }
    }

    fn usage(input: Option<u64>, output: Option<u64>, cached: Option<u64>) -> Usage {
        // Usage is open for more fields.
        let mut usage = Usage::default();
        (usage.input, usage.output, usage.cached) = (input, output, cached);
        usage
    }

    #[test]
    fn the_narrowest_price_counts() {
        let prices = Prices::new(&[
            priced(None, "*", 1.0),
            priced(None, "gpt-*", 2.0),
            priced(None, "gpt-5", 3.0),
            priced(Some("azure"), "*", 4.0),
            priced(Some("azure"), "gpt-5", 5.0),
        ]);
        let million = usage(Some(1_000_000), Some(0), None);
        for (provider, model, dollars) in [
            ("openai", "o9", 1.0),
            ("openai", "gpt-5-mini", 2.0),
            ("openai", "gpt-5", 3.0),
            ("azure", "gpt-5-mini", 4.0),
            ("azure", "gpt-5", 5.0),
        ] {
            assert_eq!(prices.cost(provider, model, &million), Some(Usd(dollars)), "{provider}/{model}");
        }
        assert_eq!(Prices::new(&[priced(None, "gpt-5", 1.0)]).cost("a", "gpt-6", &million), None);
    }

    #[test]
    fn cached_tokens_are_those_of_the_input_that_cost_less() {
        let price = priced(None, "m", 2.0).price;
        let dollars = |usage| cost(&price, &usage).map(|Usd(dollars)| dollars);
        assert_eq!(dollars(usage(Some(1000), Some(100), Some(400))), Some((1200.0 + 200.0 + 1000.0) / 1e6));
        assert_eq!(dollars(usage(Some(10), Some(0), Some(99))), Some(5.0 / 1e6), "never more than there are");
    }

    #[test]
    fn what_is_not_known_is_no_zero() {
        let mut price = priced(None, "m", 2.0).price;
        assert_eq!(cost(&price, &usage(None, Some(3), None)), None);
        assert_eq!(cost(&price, &usage(Some(3), None, None)), None);
        price.output = 0.0;
        assert_eq!(cost(&price, &usage(Some(500_000), None, None)), Some(Usd(1.0)));
    }

    #[test]
    fn dollars_are_shown_plain() {
        for (dollars, shown) in
            [(0.0, "0"), (1.5, "1.5"), (0.000_000_125, "0.000000125"), (120.0, "120"), (1e-12, "0")]
        {
            assert_eq!(Usd(dollars).to_string(), shown);
        }
    }
}

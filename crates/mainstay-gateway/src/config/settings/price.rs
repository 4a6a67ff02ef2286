//! `[prices]`

/// What a model costs, for all calls that match.
#[derive(Clone, Debug, PartialEq)]
pub struct Priced {
    /// The provider, where the price is that of one alone.
    pub provider: Option<String>,
    /// The model as it is asked of the provider, or a pattern.
    pub model: String,
    /// What it costs.
    pub price: Price,
}

/// What tokens cost, in USD per million.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Of the question, those from a cache apart.
    pub input: f64,
    /// Of the answer, reasoning included.
    pub output: f64,
    /// Of the question, read from a cache. Default: as `input`.
    pub cached: f64,
}

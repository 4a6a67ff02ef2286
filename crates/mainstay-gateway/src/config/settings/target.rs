//! A target of a route.

use mainstay::{parameters::Parameters, route::Capabilities};
use std::fmt;

use super::Tables;

/// One target of a route.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The provider's name.
    pub provider: String,
    /// What the model is called there; `None`: what the caller called it.
    pub model: Option<String>,
    /// Its share under [`Strategy::Weighted`](super::Strategy::Weighted). Default 1.
    pub weight: u32,
    /// What its model can do in this route, before what its provider declares. Default: nothing is declared.
    pub capabilities: Capabilities,
    /// Its provider's tables with its own merged in; `None` where it has no others than its provider.
    ///
    /// Wherever in the file the same provider and model are listed, these are the same: it is one target, with one
    /// circuit.
    pub tables: Option<Box<Tables>>,
    /// Fields of the request body, in this route. Default: none.
    pub parameters: Parameters,
}

impl Target {
    /// The target without settings of its own.
    #[must_use]
    pub fn plain(provider: impl Into<String>, model: Option<String>) -> Self {
        Self {
            provider: provider.into(),
            model,
            weight: 1,
            capabilities: Capabilities::new(),
            tables: None,
            parameters: Parameters::new(),
        }
    }
}

/// `provider` or `provider/model`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(f, "{}/{model}", self.provider),
            None => f.write_str(&self.provider),
        }
    }
}

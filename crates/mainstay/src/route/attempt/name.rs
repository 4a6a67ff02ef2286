//! What targets and models are called.

use std::{fmt, sync::Arc};

/// The names of a target, as configuration gave them. Labels of metrics come from here and never from callers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TargetName {
    /// The provider's name.
    pub provider: Arc<str>,
    /// The model that is asked of it, where the target names one.
    pub model: Option<Arc<str>>,
}

impl TargetName {
    /// Splits `provider/model` or `provider`: exactly the first segment is the provider.
    pub fn parse(text: &str) -> Self {
        match text.split_once('/') {
            Some((provider, model)) => Self { provider: provider.into(), model: Some(model.into()) },
            None => Self { provider: text.into(), model: None },
        }
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.provider)?;
        match &self.model {
            Some(model) => write!(f, "/{model}"),
            None => Ok(()),
        }
    }
}

/// The model that a fallback asks of a target, in the request's extensions.
#[derive(Clone, Debug)]
pub(crate) struct AskedModel(pub(crate) Arc<str>);

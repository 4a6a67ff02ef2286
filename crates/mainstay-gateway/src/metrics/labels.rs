//! The labels of metrics, all from the configuration or from lists that are fixed in the code.

use mainstay::route::TargetName;
use prometheus_client::encoding::EncodeLabelSet;

/// The model's label where a target names none: it takes whatever the caller names.
const ANY: &str = "*";

/// The route's label of a request that found none.
pub(super) const UNROUTED: &str = "none";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TargetLabels {
    pub(super) provider: String,
    pub(super) model: String,
}

impl TargetLabels {
    pub(super) fn of(name: &TargetName) -> Self {
        let model = name.model.as_deref().unwrap_or(ANY).to_owned();
        Self { provider: name.provider.to_string(), model }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct AttemptLabels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) class: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RecoveryLabels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct TokenLabels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RoutedTokenLabels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) route: String,
    pub(super) kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RoutedLabels {
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) route: String,
}

impl RoutedLabels {
    pub(super) fn of(name: &TargetName, route: &str) -> Self {
        let TargetLabels { provider, model } = TargetLabels::of(name);
        Self { provider, model, route: route.to_owned() }
    }

    pub(super) fn with_kind(self, kind: &'static str) -> RoutedTokenLabels {
        let Self { provider, model, route } = self;
        RoutedTokenLabels { provider, model, route, kind }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct RouteLabels {
    pub(super) route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StatusLabel {
    pub(super) route: String,
    pub(super) status: u16,
}

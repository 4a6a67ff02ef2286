//! From the configuration to the router: one stack of layers for each target.
//!
//! What has a state is made once and shared: the connections, the places and the retry budget of a provider by all its targets,
//! the circuit, the cooldown and the places of a target by all routes that list it. The stack over them is made for each
//! place where a target is listed, since its parameters are the route's.

mod layers;
mod options;
mod provider;
mod target;

use crate::config::{Config, settings};
use http::HeaderMap;
use mainstay::{
    route::{Fallback, Observe, Router, Target, TargetName},
    secret::Redactor,
};
use options::options;
use provider::ProviderParts;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};
use target::TargetParts;

/// Everything that a configuration comes to.
#[derive(Debug)]
pub struct Stacks {
    /// Chooses and falls back.
    pub router: Router,
    /// Every target, for states.
    pub targets: Vec<Target>,
    /// Cuts the keys of all providers out of text.
    pub redactor: Redactor,
    /// The patterns of the routes that drop what a target's dialect has no place for.
    pub lenient: BTreeSet<String>,
}

/// A provider that cannot be built.
#[derive(Debug)]
pub struct StackError {
    /// Which provider.
    pub provider: String,
    /// Why.
    pub why: Box<dyn std::error::Error + Send + Sync>,
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "providers.{}: {}", self.provider, self.why)
    }
}

impl std::error::Error for StackError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.why)
    }
}

/// The names of all targets: each provider by itself (for `provider/model`), and each that a route lists.
pub fn target_names(config: &Config) -> BTreeSet<String> {
    all_targets(config).into_keys().collect()
}

/// Every target by its name, each once. Where it is listed again it has the same tables.
fn all_targets(config: &Config) -> BTreeMap<String, settings::Target> {
    let mut all = BTreeMap::new();
    for target in config.routes.iter().flat_map(|route| &route.targets) {
        all.entry(target.to_string()).or_insert_with(|| target.clone());
    }
    for provider in &config.providers {
        all.entry(provider.name.clone())
            .or_insert_with(|| settings::Target::plain(provider.name.as_str(), None));
    }
    all
}

/// Builds the stacks and the router over them.
///
/// # Errors
/// [`StackError`] where a provider's settings cannot be carried out, such as a CA file that is none.
pub fn build(config: &Config, observer: Arc<dyn Observe>) -> Result<Stacks, StackError> {
    let mut providers = HashMap::new();
    for provider in &config.providers {
        let parts = ProviderParts::new(provider)
            .map_err(|why| StackError { provider: provider.name.clone(), why })?;
        providers.insert(provider.name.as_str(), parts);
    }
    // One circuit per target as configured: routes that list the same target share it.
    let mut parts: HashMap<String, TargetParts<'_>> = HashMap::new();
    for (name, target) in all_targets(config) {
        if let Some(provider) = providers.get(target.provider.as_str()) {
            parts.insert(name, TargetParts::new(provider, &target));
        }
    }

    let mut router = Router::builder().observer(observer.clone());
    for route in &config.routes {
        let listed = route.targets.iter().filter_map(|target| {
            let parts = parts.get(&target.to_string())?;
            let made = parts.target(&target.parameters, observer.clone());
            Some(made.with_capabilities(config.capabilities(target)))
        });
        let fallback = Fallback::new(listed.collect::<Vec<_>>())
            .with_observer(observer.clone())
            .with_recovery(route.recovery == settings::Recovery::Continue);
        let fallback = options(fallback, route);
        for pattern in &route.models {
            router = router.route(pattern, fallback.clone());
        }
    }
    // Callers who name the provider themselves, and those who ask for states, see no route's parameters.
    let plain = |parts: &TargetParts<'_>| parts.target(&Default::default(), observer.clone());
    let mut targets: Vec<Target> = parts.values().map(plain).collect();
    targets.sort_by_key(|target| target.name().to_string());
    for target in targets.iter().filter(|target| target.name().model.is_none()) {
        router = router.provider(&target.name().provider, target.clone());
    }
    let keys = config.providers.iter().flat_map(settings::Provider::keys);
    let in_headers = config.providers.iter().flat_map(|provider| credentials(&provider.headers));
    let redactor = Redactor::new(keys.map(|key| key.expose()).chain(in_headers));
    let files = config.providers.iter().filter_map(settings::Provider::credentials_file).cloned();
    let redactor = files.fold(redactor, |redactor, file| redactor.with_changing(move || file.redactor()));
    let lenient = config.routes.iter().filter(|route| route.translation == settings::Translation::Lenient);
    let lenient = lenient.flat_map(|route| &route.models).cloned().collect();
    Ok(Stacks { router: router.build(), targets, redactor, lenient })
}

/// Keys among the headers that the configuration sets: as they stand there, and without a scheme before them.
fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    const NAMES: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];
    let named = headers.iter().filter(|(name, _)| NAMES.iter().any(|part| name.as_str().contains(part)));
    let values = named.filter_map(|(_, value)| value.to_str().ok());
    values.flat_map(|value| [Some(value), value.split_once(' ').map(|(_, key)| key.trim())]).flatten()
}

fn name_of(target: &settings::Target) -> TargetName {
    TargetName { provider: target.provider.as_str().into(), model: target.model.as_deref().map(Into::into) }
}

#[cfg(test)]
mod tests;

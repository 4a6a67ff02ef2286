//! `capabilities`: what holds for a target, and as `mainstay check` prints them.

use super::Config;
use super::settings::Target;
use mainstay::route::Capabilities;

impl Config {
    /// What is declared of a target where it is listed, and of its provider.
    #[must_use]
    pub fn capabilities(&self, target: &Target) -> Capabilities {
        let provider = self.provider(&target.provider).map(|provider| provider.capabilities);
        target.capabilities.or(provider.unwrap_or_default())
    }
}

/// An inline table of what is declared.
pub(super) fn capabilities(all: &Capabilities) -> String {
    let context = all.context.map(|tokens| format!("context = {tokens}"));
    let yes_or_no = [
        ("tools", all.tools),
        ("vision", all.vision),
        ("json_schema", all.json_schema),
        ("prefill", all.prefill),
    ];
    let yes_or_no = yes_or_no.into_iter().filter_map(|(key, has)| Some(format!("{key} = {}", has?)));
    let keys: Vec<String> = context.into_iter().chain(yes_or_no).collect();
    if keys.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", keys.join(", ")) }
}

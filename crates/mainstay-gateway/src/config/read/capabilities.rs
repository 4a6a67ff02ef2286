//! `capabilities`: what the models of a provider can do, or that of a target.

use super::super::doc::{Table, Value};
use mainstay::route::Capabilities;

/// The table, if it is there.
pub(super) fn capabilities(t: &mut Table<'_>) -> Capabilities {
    let mut all = Capabilities::new();
    let Some(mut t) = t.table("capabilities") else { return all };
    let tokens = "tokens of question and answer together";
    t.set("context", &mut all.context, |v| v.count(1..=1_000_000_000, tokens).map(Some));
    let yes_or_no = |v: &Value<'_>| v.bool().map(Some);
    t.set("tools", &mut all.tools, yes_or_no);
    t.set("vision", &mut all.vision, yes_or_no);
    t.set("json_schema", &mut all.json_schema, yes_or_no);
    t.set("prefill", &mut all.prefill, yes_or_no);
    t.finish(|key| match key {
        "context_window" | "max_tokens" | "window" => Some("context = TOKENS".to_owned()),
        "functions" => Some("tools = true or false".to_owned()),
        "images" => Some("vision = true or false".to_owned()),
        _ => None,
    });
    all
}

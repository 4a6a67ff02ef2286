//! There and back: what both dialects have is what it was.

use super::{
    spec::{Spec, spec},
    *,
};
use proptest::prelude::*;

/// `spec` in dialect `from`, written for a provider of `over` and from there back.
fn there_and_back(spec: &Spec, from: Api, over: Api) -> (Value, Value) {
    let body = spec.clone().for_api(from).for_api(over).write(from);
    let there = carried(&layer_for(over), from, spec.stream, &body);
    let back = carried(&layer_for(from), over, spec.stream, &there);
    (body, back)
}

/// What a provider is asked.
fn carried(layer: &TranslateLayer, from: Api, stream: bool, body: &Value) -> Value {
    let path = match (from, stream) {
        (Api::Gemini, true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
        _ => path_of(from),
    };
    let (_, written) = translated(layer, path, body.to_string().as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {body}"));
    serde_json::from_slice(&written).expect("what is written is JSON")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 384, ..ProptestConfig::default() })]

    #[test]
    fn from_one_dialect_over_another_and_back_keeps_every_field_that_both_have(
        spec in spec(),
        from in prop::sample::select(APIS.to_vec()),
        over in prop::sample::select(APIS.to_vec()),
    ) {
        if from != over {
            let (body, back) = there_and_back(&spec, from, over);
            prop_assert_eq!(back, body, "{:?} over {:?}", from, over);
        }
    }
}

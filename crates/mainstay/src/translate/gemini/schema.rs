//! Google's own schemas, as JSON schemas.
//!
//! `parameters` and `responseSchema` are a subset of OpenAPI's: types in capitals, `nullable`, an order of properties.

use crate::translate::{json::Json, out::Out};
use std::borrow::Cow;

/// A name as the API's documents write it: Google's SDKs send `snake_case` too.
pub(super) fn camel<'n>(name: &'n str) -> Cow<'n, str> {
    if !name.contains('_') {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => out.push(c.to_ascii_uppercase()),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The JSON schema that a schema of Google's stands for. Its depth is bounded, since the document's was.
pub(super) fn json_schema(schema: Json<'_>) -> String {
    let mut out = Out::with_capacity(schema.raw().len() + 16);
    write(schema, &mut out);
    out.finish()
}

fn write(schema: Json<'_>, out: &mut Out) {
    if !schema.is_object() {
        out.raw(schema.raw());
        return;
    }
    let nullable = schema.get("nullable").and_then(Json::as_bool) == Some(true);
    out.open('{');
    for (name, value) in schema.fields() {
        match &*camel(&name) {
            "nullable" | "propertyOrdering" => {}
            "type" => {
                let kind = value.text().unwrap_or_default().to_ascii_lowercase();
                out.key("type");
                if kind.is_empty() {
                    out.raw(value.raw());
                } else if nullable {
                    out.open('[').str(&kind).str("null").close(']');
                } else {
                    out.str(&kind);
                }
            }
            "properties" | "$defs" | "defs" => {
                out.key(if name == "properties" { "properties" } else { "$defs" }).open('{');
                for (name, property) in value.fields() {
                    out.name(&name);
                    write(property, out);
                }
                out.close('}');
            }
            "anyOf" | "prefixItems" => {
                out.name(&camel(&name)).open('[');
                value.each().for_each(|choice| write(choice, out));
                out.close(']');
            }
            "items" | "additionalProperties" => {
                out.name(&camel(&name));
                write(value, out);
            }
            other => {
                out.name(other).raw(value.raw());
            }
        }
    }
    out.close('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn capitals_and_nullable_become_json_schema_and_names_of_properties_stay() {
        let theirs = json!({
            "type": "OBJECT",
            "property_ordering": ["snake_case"],
            "properties": {"snake_case": {"type": "STRING", "nullable": true, "max_length": 3},
                           "list": {"type": "ARRAY", "items": {"any_of": [{"type": "INTEGER"}]}}},
            "required": ["snake_case"],
        })
        .to_string();
        let ours = json_schema(Json::check(theirs.as_bytes(), true).unwrap());
        assert_eq!(
            serde_json::from_str::<Value>(&ours).unwrap(),
            json!({
                "type": "object",
                "properties": {"snake_case": {"type": ["string", "null"], "maxLength": 3},
                               "list": {"type": "array", "items": {"anyOf": [{"type": "integer"}]}}},
                "required": ["snake_case"],
            })
        );
    }
}

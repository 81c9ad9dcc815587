//! Owns the parts of which the schemas are put together: objects, closed sets and the shared
//! definitions. It knows no document.

use std::collections::BTreeMap;

use piton_ledger::{ShortText, SignalKind, StateMachine, VulnState, WorkflowId};
use serde_json::{Value, json};

const PREFIX: &str = "#/$defs/";

/// Makes a whole document: the root, and every definition that it leads to.
pub(super) fn document(name: &str, root: Value) -> Value {
    let mut definitions = BTreeMap::new();
    define_all(&root, &mut definitions);
    let mut schema = root;
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["$id"] = json!(format!("urn:piton:schema:{name}"));
    if !definitions.is_empty() {
        schema["$defs"] = json!(definitions);
    }
    schema
}

fn define_all(schema: &Value, definitions: &mut BTreeMap<String, Value>) {
    let mut names = Vec::new();
    collect_names(schema, &mut names);
    for name in names {
        let definition = definition(&name);
        if definitions.insert(name, definition.clone()).is_none() {
            define_all(&definition, definitions);
        }
    }
}

fn collect_names(schema: &Value, names: &mut Vec<String>) {
    if let Some(Value::String(target)) = schema.get("$ref") {
        names.extend(target.strip_prefix(PREFIX).map(str::to_owned));
    }
    let members = schema.as_object().into_iter().flat_map(|map| map.values());
    let items = schema.as_array().into_iter().flatten();
    members
        .chain(items)
        .for_each(|inner| collect_names(inner, names));
}

/// The parts that several documents share.
fn definition(name: &str) -> Value {
    match name {
        "chain_head" | "blob_digest" => pattern("^blake3:[0-9a-f]{64}$"),
        "transition_id" => pattern("^[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
        "error_id" => pattern("^[a-z][a-z0-9_]*\\.[a-z][a-z0-9_]*$"),
        "signal_kind" => pattern(&format!(
            "^[a-z][a-z0-9_]{{0,{}}}$",
            SignalKind::MAX_BYTES - 1
        )),
        "workflow_id" => {
            let between = WorkflowId::MAX_BYTES - 2;
            let mut id = pattern(&format!(
                "^[A-Za-z0-9](?:[A-Za-z0-9._-]{{0,{between}}}[A-Za-z0-9])?$"
            ));
            // Device names of Windows, with or without an extension.
            id["not"] = json!({ "pattern":
                "^(?:[cC][oO][nN]|[pP][rR][nN]|[aA][uU][xX]|[nN][uU][lL]|(?:[cC][oO][mM]|[lL][pP][tT])[0-9])(?:\\.|$)"
            });
            id
        }
        "short_text" => json!({ "type": "string", "maxLength": ShortText::MAX_CHARS }),
        "sequence" => integer(1, i64::MAX.into()),
        "state_kind" => {
            let kinds: Vec<&str> = VulnState::KINDS.iter().map(|kind| kind.slug()).collect();
            names(&kinds)
        }
        "remediation_error" => object(
            &[
                ("error_id", in_definition("error_id")),
                ("message", in_definition("short_text")),
            ],
            &[(
                "details",
                json!({ "type": "object", "additionalProperties": in_definition("detail") }),
            )],
        ),
        "detail" => json!({ "type": ["string", "boolean", "number"] }),
        "transition_event" => super::event_definition(),
        other => panic!("{other} has no definition"),
    }
}

/// Refers to a shared part.
pub(super) fn in_definition(name: &str) -> Value {
    json!({ "$ref": format!("{PREFIX}{name}") })
}

/// A text that matches the whole pattern.
fn pattern(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

/// A whole number from `least` to `most`.
pub(super) fn integer(least: i128, most: i128) -> Value {
    let number = |bound: i128| match u64::try_from(bound) {
        Ok(bound) => json!(bound),
        Err(_) => json!(i64::try_from(bound).expect("a bound fits 64 bits")),
    };
    json!({ "type": "integer", "minimum": number(least), "maximum": number(most) })
}

/// One text of a closed set.
pub(super) fn names(names: &[&str]) -> Value {
    json!({ "enum": names })
}

/// Exactly this text.
pub(super) fn constant(name: &str) -> Value {
    json!({ "const": name })
}

/// Any number of items of one form.
pub(super) fn array(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// Exactly one of some forms.
pub(super) fn one_of(forms: impl IntoIterator<Item = Value>) -> Value {
    json!({ "oneOf": forms.into_iter().collect::<Vec<_>>() })
}

/// An object of one variant, which its `kind` names.
pub(super) fn tagged(kind: &str, required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let mut members = vec![("kind", constant(kind))];
    members.extend_from_slice(required);
    object(&members, optional)
}

/// An object with these members and no others.
pub(super) fn object(required: &[(&str, Value)], optional: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = required.iter().map(|(name, _)| *name).collect();
    let properties: BTreeMap<&str, &Value> = required
        .iter()
        .chain(optional)
        .map(|(name, schema)| (*name, schema))
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": names,
        "additionalProperties": false,
    })
}

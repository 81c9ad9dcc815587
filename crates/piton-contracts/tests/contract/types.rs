//! Owns what syntax says of the types that are written down or handed to callers: their variants
//! and fields under the names they have in JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use syn::{Attribute, Fields, FieldsNamed, Generics, Item, ItemEnum, ItemStruct, Type};

use crate::serde_names::{Absence, Serde, UnknownFields, derives};
use crate::sources::{Sources, code, is_public};

/// Describes every public type that derives `Serialize`, the parts of an event, and each public
/// type that those are made of.
///
/// A type whose fields are private is a value with a grammar and not described. Nor is a state
/// machine: it stands under `ledgers`.
pub(crate) fn types(sources: &Sources) -> Value {
    let items = sources.items(|package| ["piton-ledger", "piton-verify"].contains(&package));
    let mut machines = BTreeSet::new();
    let mut known: BTreeMap<String, &Item> = BTreeMap::new();
    let mut waiting = vec!["Transition".to_owned()];
    for placed in &items {
        if let Item::Impl(implementation) = &placed.item
            && let Some((path, _)) = &implementation.trait_
            && path.is_ident("StateMachine")
        {
            machines.insert(code(&implementation.self_ty));
        }
        if let Some((name, attributes)) = public_type(&placed.item) {
            let earlier = known.insert(name.clone(), &placed.item);
            assert!(earlier.is_none(), "two public types are called {name}");
            if derives(attributes, "Serialize") {
                waiting.push(name);
            }
        }
    }
    let mut described = Map::new();
    while let Some(name) = waiting.pop() {
        if machines.contains(&name) || described.contains_key(&name) {
            continue;
        }
        let Some(item) = known.get(&name) else {
            continue;
        };
        if let Some(description) = describe(item) {
            described.insert(name, description);
            waiting.extend(parts(item));
        }
    }
    described.into()
}

/// Says whether callers may match on all variants, or build all fields, of the type of this name.
pub(crate) fn openness_of(sources: &Sources, package: &str, name: &str) -> &'static str {
    sources
        .items(|other| other == package)
        .iter()
        .find_map(|placed| {
            let (found, attributes) = public_type(&placed.item)?;
            (found == name).then(|| openness(attributes))
        })
        .unwrap_or_else(|| panic!("{package} has no public type {name}"))
}

/// Gives the names of the variants of a public enum as they are written.
pub(crate) fn variants_of(sources: &Sources, package: &str, name: &str) -> BTreeSet<String> {
    let items = sources.items(|other| other == package);
    let variants = items.iter().find_map(|placed| {
        if let Item::Enum(item) = &placed.item
            && item.ident == name
        {
            return Some(&item.variants);
        }
        None
    });
    let variants = variants.unwrap_or_else(|| panic!("{package} has no enum {name}"));
    variants
        .iter()
        .map(|variant| variant.ident.to_string())
        .collect()
}

fn public_type(item: &Item) -> Option<(String, &[Attribute])> {
    let (visibility, name, attributes) = if let Item::Enum(item) = item {
        (&item.vis, &item.ident, &item.attrs)
    } else if let Item::Struct(item) = item {
        (&item.vis, &item.ident, &item.attrs)
    } else {
        return None;
    };
    is_public(visibility).then(|| (name.to_string(), attributes.as_slice()))
}

fn openness(attributes: &[Attribute]) -> &'static str {
    let open = attributes
        .iter()
        .any(|attribute| attribute.path().is_ident("non_exhaustive"));
    if open { "open" } else { "closed" }
}

fn describe(item: &Item) -> Option<Value> {
    if let Item::Enum(item) = item {
        Some(describe_enum(item))
    } else if let Item::Struct(item) = item {
        describe_struct(item)
    } else {
        None
    }
}

fn describe_enum(item: &ItemEnum) -> Value {
    let serde = Serde::read(&item.attrs);
    let mut variants = Map::new();
    for variant in &item.variants {
        let name = serde.variant(&variant.attrs, &variant.ident.to_string());
        let content = match &variant.fields {
            Fields::Named(fields) => json!({ "fields": describe_fields(fields) }),
            Fields::Unnamed(fields) => {
                let held: Vec<String> =
                    fields.unnamed.iter().map(|field| code(&field.ty)).collect();
                json!({ "holds": held.join(", ") })
            }
            Fields::Unit => json!({ "fields": {} }),
        };
        variants.insert(name, content);
    }
    let is_plain = |variant: &syn::Variant| matches!(variant.fields, Fields::Unit);
    let objects = if serde.tag.is_none() && item.variants.iter().all(is_plain) {
        Objects::None
    } else {
        Objects::Some
    };
    let mut described = header(&item.attrs, &item.generics, &serde, objects);
    described.insert("variants".to_owned(), variants.into());
    described.into()
}

fn describe_struct(item: &ItemStruct) -> Option<Value> {
    let Fields::Named(fields) = &item.fields else {
        return None;
    };
    if !fields.named.iter().all(|field| is_public(&field.vis)) {
        return None;
    }
    let serde = Serde::read(&item.attrs);
    let mut described = header(&item.attrs, &item.generics, &serde, Objects::Some);
    described.insert("fields".to_owned(), describe_fields(fields));
    Some(described.into())
}

/// Whether any value of a type is an object in JSON.
#[derive(PartialEq, Eq)]
enum Objects {
    Some,
    None,
}

fn header(
    attributes: &[Attribute],
    generics: &Generics,
    serde: &Serde,
    objects: Objects,
) -> Map<String, Value> {
    let mut header = Map::new();
    header.insert("generics".to_owned(), code(generics).into());
    header.insert("openness".to_owned(), openness(attributes).into());
    if let Some(tag) = &serde.tag {
        header.insert("tag".to_owned(), tag.as_str().into());
    }
    // A hand-written reader decides for itself, and the probes under `json` ask it. A plain word
    // has no fields.
    if derives(attributes, "Deserialize") && objects == Objects::Some {
        let answer = match serde.unknown_fields {
            UnknownFields::Ignored => "ignored",
            UnknownFields::Refused => "refused",
        };
        header.insert("unknown_fields".to_owned(), answer.into());
    }
    header
}

fn describe_fields(fields: &FieldsNamed) -> Value {
    let mut described = Map::new();
    for field in &fields.named {
        let serde = Serde::read(&field.attrs);
        let written = field.ident.as_ref().expect("the fields are named");
        let optional = is_option(&field.ty) || serde.absence == Absence::Default;
        described.insert(
            serde.rename.unwrap_or_else(|| written.to_string()),
            json!({
                "type": code(&field.ty),
                "presence": if optional { "optional" } else { "required" },
            }),
        );
    }
    described.into()
}

fn is_option(found: &Type) -> bool {
    if let Type::Path(path) = found
        && let Some(last) = path.path.segments.last()
    {
        return last.ident == "Option";
    }
    false
}

/// Gives every name that occurs in the types of an item's fields.
fn parts(item: &Item) -> Vec<String> {
    let fields: Vec<&syn::Field> = if let Item::Enum(item) = item {
        let variants = item.variants.iter();
        variants.flat_map(|variant| &variant.fields).collect()
    } else if let Item::Struct(item) = item {
        item.fields.iter().collect()
    } else {
        Vec::new()
    };
    let types: Vec<String> = fields.iter().map(|field| code(&field.ty)).collect();
    types
        .iter()
        .flat_map(|found| found.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
        .map(str::to_owned)
        .collect()
}

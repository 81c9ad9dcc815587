//! Owns what syntax says of traits, adapters and constants: all that no value can tell about
//! itself.

use piton_ledger::ErrorId;
use serde_json::{Map, Value, json};
use syn::{ImplItem, Item, ItemTrait, LitStr, TraitItem};

use crate::sources::{Sources, code, is_public};

/// Describes every public trait that a store, a lock or a state machine implements, or that a
/// caller uses on one.
pub(crate) fn ports(sources: &Sources) -> Value {
    let mut ports = Map::new();
    for placed in sources.items(|package| ["piton-ledger", "piton-store"].contains(&package)) {
        if let Item::Trait(port) = &placed.item
            && is_public(&port.vis)
        {
            let earlier = ports.insert(port.ident.to_string(), describe(port));
            assert!(earlier.is_none(), "two traits are called {}", port.ident);
        }
    }
    ports.into()
}

fn describe(port: &ItemTrait) -> Value {
    let mut items = Map::new();
    for item in &port.items {
        let (name, signature, has_default) = match item {
            TraitItem::Fn(item) => (&item.sig.ident, code(&item.sig), item.default.is_some()),
            TraitItem::Type(item) => {
                let bounds = (&item.ident, &item.generics, &item.bounds);
                let signature = format!("type {}{}: {}", bounds.0, code(bounds.1), code(bounds.2));
                (&item.ident, signature, item.default.is_some())
            }
            TraitItem::Const(item) => {
                let signature = format!("const {}: {}", item.ident, code(&item.ty));
                (&item.ident, signature, item.default.is_some())
            }
            TraitItem::Macro(_) | TraitItem::Verbatim(_) | _ => {
                panic!("teach this test the new item of {}", port.ident)
            }
        };
        let presence = if has_default { "optional" } else { "required" };
        items.insert(
            name.to_string(),
            json!({ "signature": signature, "presence": presence }),
        );
    }
    json!({ "bounds": code(&port.supertraits), "items": items })
}

/// Names the store of every crate that implements the port for an engine.
///
/// The port's own crate is left out, since its erased handle holds no engine, and so is the
/// conformance kit, whose stores are broken on purpose.
pub(crate) fn adapters(sources: &Sources) -> Value {
    let mut adapters = Map::new();
    for placed in sources.items(|package| !["piton-store", "piton-testkit"].contains(&package)) {
        if let Item::Impl(implementation) = &placed.item
            && let Some((path, _)) = &implementation.trait_
            && path
                .segments
                .last()
                .is_some_and(|last| last.ident == "CheckpointStore")
        {
            let store = code(&implementation.self_ty).into();
            let earlier = adapters.insert(placed.package.clone(), store);
            assert!(earlier.is_none(), "{} has two stores", placed.package);
        }
    }
    adapters.into()
}

/// Gives every public constant that begins with `MAX_`, of the crates that judge input.
pub(crate) fn limits(sources: &Sources) -> Value {
    let mut limits = Map::new();
    for (name, value) in constants(sources, &["piton-ledger", "piton-store"]) {
        let own = name.rsplit("::").next().unwrap_or(&name);
        if own.starts_with("MAX_") {
            let number = number(&value).unwrap_or_else(|| panic!("{name} is not a plain number"));
            let earlier = limits.insert(name.clone(), number.into());
            assert!(earlier.is_none(), "two limits are called {name}");
        }
    }
    limits.into()
}

/// Gives every public constant that holds an error id.
pub(crate) fn error_ids(sources: &Sources) -> Value {
    let published = ["piton-ledger", "piton-store", "piton-verify", "piton-cli"];
    let mut ids = Map::new();
    for (name, value) in constants(sources, &published) {
        if let Ok(text) = syn::parse_str::<LitStr>(&value)
            && text.value().parse::<ErrorId>().is_ok()
        {
            let earlier = ids.insert(name.clone(), text.value().into());
            assert!(earlier.is_none(), "two constants are called {name}");
        }
    }
    ids.into()
}

/// Gives every public constant as its name and its value's code; those of a type are called
/// `Type::NAME`.
fn constants(sources: &Sources, packages: &[&str]) -> Vec<(String, String)> {
    let mut constants = Vec::new();
    for placed in sources.items(|package| packages.contains(&package)) {
        if let Item::Const(item) = &placed.item
            && is_public(&item.vis)
        {
            constants.push((item.ident.to_string(), code(&item.expr)));
        } else if let Item::Impl(implementation) = &placed.item
            && implementation.trait_.is_none()
        {
            let owner = code(&implementation.self_ty);
            for item in &implementation.items {
                if let ImplItem::Const(item) = item
                    && is_public(&item.vis)
                {
                    constants.push((format!("{owner}::{}", item.ident), code(&item.expr)));
                }
            }
        }
    }
    constants
}

/// Reads a plain number or a product of such.
fn number(code: &str) -> Option<u64> {
    code.split(" * ")
        .map(|factor| factor.replace('_', "").parse::<u64>().ok())
        .try_fold(1u64, |product, factor| product.checked_mul(factor?))
}

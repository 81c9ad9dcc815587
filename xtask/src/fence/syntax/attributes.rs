//! What attributes say about the item that they stand on: whether only tests contain it.

use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token};

/// Whether an item exists in test builds alone: `#[test]`, `#[cfg(test)]`, `#[cfg(all(test, …))]`.
///
/// A condition that holds outside of tests too, such as `any(test, feature = "x")` or `not(test)`,
/// makes product code of it.
pub(in crate::fence) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        path.is_ident("test")
            || (path.is_ident("cfg")
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|condition| needs_test(&condition)))
    })
}

fn needs_test(condition: &Meta) -> bool {
    let list = match condition {
        Meta::Path(path) => return path.is_ident("test"),
        Meta::NameValue(_) => return false,
        Meta::List(list) => list,
    };
    let parsed = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    let Ok(conditions) = parsed else {
        return false;
    };
    if list.path.is_ident("all") {
        conditions.iter().any(needs_test)
    } else if list.path.is_ident("any") {
        !conditions.is_empty() && conditions.iter().all(needs_test)
    } else {
        false
    }
}

/// The attributes of an item of any kind.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "syn may know more items tomorrow"
)]
pub(in crate::fence) fn item_attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: bool) {
        let item: Item = syn::parse_str(text).expect("an item");
        assert_eq!(is_test_only(item_attributes(&item)), expected, "{text}");
    }

    #[test]
    fn test_code_is_what_needs_a_test_build() {
        check("#[cfg(test)] mod a {}", true);
        check("#[cfg(all(unix, test))] fn a() {}", true);
        check("#[cfg(any(test, all(test, unix)))] struct A;", true);
        check("#[test] fn a() {}", true);
    }

    #[test]
    fn what_ships_in_any_build_is_product_code() {
        check("mod a {}", false);
        check("#[cfg(not(test))] fn a() {}", false);
        check("#[cfg(any(test, feature = \"x\"))] use a::b;", false);
        check("#[cfg(feature = \"test\")] const A: u8 = 1;", false);
        check("#[cfg(any())] static A: u8 = 1;", false);
        check("#[cfg_attr(test, derive(Debug))] enum A {}", false);
    }
}

//! Laws of the canonical form over arbitrary documents, 64-bit integers included.

mod json_support;

use json_support::{documents, spell};
use piton_ledger::json::{CanonicalJson, Rewrite, canonicalize, rewrite};
use proptest::prelude::*;

/// Replaces nothing.
struct Keep;

impl Rewrite for Keep {
    fn key(&mut self, _key: &str) -> Option<String> {
        None
    }
    fn enter(&mut self, _key: &str) {}
    fn leave(&mut self) {}
    fn value(&mut self, _text: &str) -> Option<String> {
        None
    }
}

fn numbers() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|integer| integer.to_string()),
        any::<u64>().prop_map(|integer| integer.to_string()),
        (-1000..1000_i32).prop_map(|integer| integer.to_string()),
        any::<f64>().prop_map(|double| format!("{double:e}")),
        (any::<u64>(), -12..12_i32).prop_map(|(digits, power)| format!("{digits}E{power:+}")),
        (any::<i64>(), any::<u32>()).prop_map(|(whole, part)| format!("{whole}.{part:010}")),
    ]
    .prop_filter("only finite numbers are JSON", |text| {
        !text.contains(['N', 'i'])
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn spelling_does_not_matter(document in documents(numbers()), seeds in any::<[u64; 2]>()) {
        let [one, other] = seeds.map(|seed| canonicalize(spell(&document, seed).as_bytes()));
        prop_assert_eq!(&one, &other);
        prop_assert!(one.is_ok());
    }

    #[test]
    fn the_form_is_its_own_form(document in documents(numbers()), seed in any::<u64>()) {
        let canonical = canonicalize(spell(&document, seed).as_bytes()).expect("valid JSON");
        prop_assert_eq!(canonicalize(canonical.as_bytes()), Ok(canonical.clone()));
        // Also by way of another parser's tree and printer.
        let tree: serde_json::Value = serde_json::from_str(&canonical).expect("valid JSON");
        prop_assert_eq!(canonicalize(tree.to_string().as_bytes()), Ok(canonical.clone()));
        let value: CanonicalJson = serde_json::from_str(&canonical).expect("valid JSON");
        prop_assert_eq!(value.as_str(), canonical);
    }

    #[test]
    fn rewriting_nothing_is_canonicalising(document in documents(numbers()), seed in any::<u64>()) {
        let text = spell(&document, seed);
        prop_assert_eq!(rewrite(text.as_bytes(), &mut Keep), canonicalize(text.as_bytes()));
    }

    #[test]
    fn a_text_cut_short_is_refused(
        document in documents(numbers()),
        seed in any::<u64>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let text = format!("[{}]", spell(&document, seed));
        prop_assert!(canonicalize(&text.as_bytes()[..cut.index(text.len())]).is_err());
    }
}

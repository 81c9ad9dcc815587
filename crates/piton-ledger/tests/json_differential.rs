//! The canonical form against two independent implementations of RFC 8785.
//!
//! The comparison stays inside I-JSON: integers within ±(2^53 − 1), finite doubles, unique keys.
//! Beyond it the implementations round integers, which this crate must not.

mod json_support;

use json_support::{documents, spell};
use piton_ledger::json::canonicalize;
use proptest::prelude::*;

const LARGEST_EXACT: i64 = (1 << 53) - 1;

fn numbers() -> impl Strategy<Value = String> {
    let doubles = prop_oneof![any::<f64>(), (-1e22..1e22), (-1.0..1.0),]
        .prop_filter("only finite numbers are JSON", |double| double.is_finite());
    prop_oneof![
        (-LARGEST_EXACT..=LARGEST_EXACT).prop_map(|integer| integer.to_string()),
        (-100..100_i32).prop_map(|integer| integer.to_string()),
        doubles.clone().prop_map(|double| format!("{double:e}")),
        doubles.clone().prop_map(|double| format!("{double:E}")),
        doubles.prop_map(|double| format!("{double:?}")),
        prop::sample::select(vec!["-0", "-0.0", "0e0", "1e-400", "5e-324", "1.50"])
            .prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn others_agree_inside_i_json(document in documents(numbers()), seed in any::<u64>()) {
        let text = spell(&document, seed);
        let ours = canonicalize(text.as_bytes()).expect("valid I-JSON");
        let tree: serde_json::Value = serde_json::from_str(&text).expect("valid I-JSON");
        prop_assert_eq!(&ours, &serde_jcs::to_string(&tree).expect("a canonical form"));
        prop_assert_eq!(
            &ours,
            &serde_json_canonicalizer::to_string(&tree).expect("a canonical form")
        );
    }
}

#[test]
fn others_round_where_the_widening_does_not() {
    for text in [
        "9007199254740993",
        "18446744073709551615",
        "-9223372036854775807",
    ] {
        let tree: serde_json::Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(canonicalize(text.as_bytes()).as_deref(), Ok(text));
        assert_ne!(serde_jcs::to_string(&tree).expect("a canonical form"), text);
    }
}

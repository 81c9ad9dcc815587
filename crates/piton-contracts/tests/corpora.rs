//! Runs every entry of the fuzz corpora, and seeded mutations of them, through the laws: what a
//! build without the fuzzer can keep of it. It owns no law and writes no corpus.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use piton_contracts::laws::mutate::{Random, mutated, words};
use piton_contracts::laws::{ALL, Law};

/// A fixed seed: a failure is the same failure everywhere.
const SEED: u64 = 0x7069_746f_6e00_0001;

fn fuzz(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz")
        .join(path)
}

fn names(directory: &Path) -> BTreeSet<String> {
    std::fs::read_dir(directory)
        .expect("a directory")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let stem = path.file_stem().expect("a name");
            stem.to_str().expect("a plain name").to_owned()
        })
        .collect()
}

fn corpus(law: &str) -> Vec<(String, Vec<u8>)> {
    let directory = fuzz("corpus").join(law);
    let names = names(&directory).into_iter();
    names
        .map(|name| {
            let bytes = std::fs::read(directory.join(&name)).expect("readable");
            (name, bytes)
        })
        .collect()
}

/// Checks one input and, when the law is broken, says which input did it.
fn holds(law: &Law, check: &mut dyn FnMut(&[u8]), what: &str, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| check(bytes))).is_err() {
        panic!(
            "the law `{}` is broken by {what}: {}",
            law.name,
            bytes.escape_ascii()
        );
    }
}

#[track_caller]
fn check_law(name: &str) {
    let law = ALL.iter().find(|law| law.name == name).expect("a law");
    let mut check = (law.make)();
    let entries = corpus(name);
    assert!(!entries.is_empty());
    for (entry, bytes) in &entries {
        holds(law, &mut *check, entry, bytes);
    }
    let dictionary = fuzz("dictionaries").join(format!("{name}.dict"));
    let dictionary = words(&std::fs::read_to_string(dictionary).expect("a dictionary"));
    let entries: Vec<Vec<u8>> = entries.into_iter().map(|(_, bytes)| bytes).collect();
    let mut random = Random::new(SEED);
    for number in 0..law.mutations {
        let bytes = mutated(&entries, &dictionary, &mut random);
        holds(law, &mut *check, &format!("mutation {number}"), &bytes);
    }
}

#[test]
fn the_law_of_events_holds() {
    check_law("event");
}

#[test]
fn the_law_of_canonical_json_holds() {
    check_law("canonical");
}

#[test]
fn the_law_of_rows_holds() {
    check_law("rows");
}

#[test]
fn the_law_of_redaction_holds() {
    check_law("redact");
}

#[test]
fn the_law_of_the_pin_holds() {
    check_law("pin");
}

#[test]
fn the_law_of_lines_holds() {
    check_law("lines");
}

/// A law that no target feeds, or a corpus that no law reads, would be forgotten in silence.
#[test]
fn every_law_has_a_target_a_corpus_and_a_dictionary() {
    let laws: BTreeSet<String> = ALL.iter().map(|law| law.name.to_owned()).collect();
    for place in ["fuzz_targets", "corpus", "dictionaries"] {
        assert_eq!(names(&fuzz(place)), laws, "fuzz/{place}");
    }
    let manifest = std::fs::read_to_string(fuzz("Cargo.toml")).expect("a manifest");
    for law in &laws {
        assert!(manifest.contains(&format!("name = \"{law}\"")), "{law}");
    }
}

/// The committed seeds are the ones that reach what the laws speak of, so a seed that is lost or
/// goes stale is noticed.
#[test]
fn the_seeds_of_events_are_events() {
    use piton_ledger::{TransitionEvent, VulnState};

    let parsed = corpus("event")
        .iter()
        .filter(|(_, bytes)| TransitionEvent::<VulnState>::parse(bytes).is_ok())
        .count();
    assert_eq!(parsed, 9);
}

//! What F8 finds and what it lets be.

use super::super::fixtures::{survey, text_file};
use super::*;

const TABLE: &str = "# Contract\n\n| clause | promise |\n| --- | --- |\n\
    | C1 Dense | Sequences run. |\n| C2 Quiet reads | Nothing is created. |\n";
const TRAIT: &str = "/// A store.\n///\n/// - C1 Dense: sequences run.\n\
    /// - C2 Quiet reads: nothing\n///   is created.\npub trait CheckpointStore {}\n";
const ENTRIES: &str = "C1 c01_runs;\nC2 c02_creates_nothing;";
const FUNCTIONS: &str =
    "pub async fn c01_runs() {}\npub async fn c02_creates_nothing() {}\nfn help() {}";

/// A kit with these entries in its list, from line 6 on.
fn kit(entries: &str) -> String {
    format!(
        "pub enum Clause {{\n/// Dense: runs.\nC1,\n/// Quiet reads.\nC2,\n}}\n\
         macro_rules! for_each_case {{ ($($mode:tt)*) => {{ expand! {{ [$($mode)*]\n{entries}\n}} }} }}"
    )
}

#[track_caller]
fn check_all(contract: &str, port: &str, list: &str, cases: &str, expected: &[(&str, usize)]) {
    let survey = survey(&[
        (PORT, port),
        (LIST, list),
        ("crates/piton-testkit/src/cases/order.rs", cases),
    ]);
    let violations = check(&survey, &[text_file(CONTRACT, contract)]);
    assert!(violations.iter().all(|found| found.rule == Rule::Clauses));
    let found: Vec<_> = violations
        .iter()
        .map(|violation| (violation.file.as_str(), violation.line))
        .collect();
    assert_eq!(found, expected, "{violations:?}");
}

#[test]
fn clauses_and_cases_that_name_each_other_are_right() {
    check_all(TABLE, TRAIT, &kit(ENTRIES), FUNCTIONS, &[]);
}

#[test]
fn a_clause_without_a_case_is_found() {
    let one = "pub async fn c01_runs() {}";
    check_all(TABLE, TRAIT, &kit("C1 c01_runs;"), one, &[(CONTRACT, 6)]);
}

#[test]
fn a_clause_without_its_line_on_the_trait_is_found() {
    let port = TRAIT.replace("/// - C1 Dense: sequences run.\n", "");
    check_all(TABLE, &port, &kit(ENTRIES), FUNCTIONS, &[(CONTRACT, 5)]);
}

#[test]
fn a_clause_that_the_kit_does_not_know_is_found() {
    let list = kit(ENTRIES).replace("/// Quiet reads.\nC2,\n", "");
    check_all(TABLE, TRAIT, &list, FUNCTIONS, &[(CONTRACT, 6)]);
}

#[test]
fn a_clause_that_the_contract_does_not_know_is_found() {
    let contract = TABLE.replace("| C2 Quiet reads | Nothing is created. |\n", "");
    let expected = [(PORT, 4), (LIST, 5), (LIST, 9), (PORT, 4)];
    check_all(&contract, TRAIT, &kit(ENTRIES), FUNCTIONS, &expected);
}

#[test]
fn a_gap_between_clauses_is_found() {
    let contract = TABLE.replace("C2", "C3");
    let port = TRAIT.replace("C2", "C3");
    let list = kit(&ENTRIES.replace("C2 c02", "C3 c03")).replace("\nC2,", "\nC3,");
    let cases = FUNCTIONS.replace("c02", "c03");
    check_all(&contract, &port, &list, &cases, &[(CONTRACT, 6)]);
}

#[test]
fn a_clause_of_two_names_is_found() {
    let port = TRAIT.replace("Quiet reads", "Silent reads");
    check_all(TABLE, &port, &kit(ENTRIES), FUNCTIONS, &[(PORT, 4)]);
    let list = kit(ENTRIES).replace("/// Dense", "/// Denser");
    check_all(TABLE, TRAIT, &list, FUNCTIONS, &[(LIST, 3)]);
}

#[test]
fn a_case_of_an_unknown_clause_is_found() {
    let list = kit(&format!("{ENTRIES}\nC3 c03_more;"));
    let cases = format!("{FUNCTIONS}\npub async fn c03_more() {{}}");
    check_all(TABLE, TRAIT, &list, &cases, &[(LIST, 10)]);
}

#[test]
fn a_case_under_another_clause_than_its_name_says_is_found() {
    let list = kit(&ENTRIES.replace(
        "C2 c02_creates_nothing",
        "C1 c02_creates_nothing;\nC2 c02_b",
    ));
    let cases = format!("{FUNCTIONS}\npub async fn c02_b() {{}}");
    check_all(TABLE, TRAIT, &list, &cases, &[(LIST, 9)]);
}

#[test]
fn a_case_that_is_not_in_the_list_is_found() {
    let cases = format!("{FUNCTIONS}\npub async fn c01_forgotten() {{}}");
    let expected = [("crates/piton-testkit/src/cases/order.rs", 4)];
    check_all(TABLE, TRAIT, &kit(ENTRIES), &cases, &expected);
}

#[test]
fn a_text_that_speaks_of_an_unknown_clause_is_found() {
    let port = format!("{TRAIT}/// Appends (C1, C7).\nfn a() {{ let _ = \"C8\"; }} // C9\n");
    check_all(TABLE, &port, &kit(ENTRIES), FUNCTIONS, &[(PORT, 7)]);
    let cases = format!("//! Cases (C1 to C4).\n{FUNCTIONS}");
    let expected = [("crates/piton-testkit/src/cases/order.rs", 1)];
    check_all(TABLE, TRAIT, &kit(ENTRIES), &cases, &expected);
}

#[test]
fn a_contract_without_clauses_is_found() {
    let violations = check(&survey(&[]), &[]);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].file, CONTRACT);
}

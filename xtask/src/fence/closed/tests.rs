//! What F4 finds and what it lets be.

use super::super::fixtures::{lines, survey};
use super::*;

/// A set of three, in a module of its own and under its crate's root.
const SET: (&str, &str) = (
    "crates/a-set/src/verdict.rs",
    "pub enum Verdict {\n    Good { head: u8 },\n    Bad(u8),\n    Empty,\n}",
);
const ROOT: (&str, &str) = (
    "crates/a-set/src/lib.rs",
    "mod verdict;\npub use verdict::Verdict;",
);
const SETS: &[Closed] = &[closed("a_set", "Verdict")];

#[track_caller]
fn check(text: &str, expected: &[usize]) {
    check_at("crates/user/src/lib.rs", text, expected);
}

#[track_caller]
fn check_at(path: &str, text: &str, expected: &[usize]) {
    let violations = check_sets(&survey(&[SET, ROOT, (path, text)]), SETS);
    assert_eq!(
        lines(&violations, Rule::ClosedSets),
        expected,
        "{violations:?}"
    );
}

/// The arms of a match over a verdict, from line 4 on.
#[track_caller]
fn check_arms(arms: &str, expected: &[usize]) {
    check(
        &format!("use a_set::Verdict;\nfn a() {{\nmatch v {{\n{arms}\n}}\n}}"),
        expected,
    );
}

#[test]
fn an_arm_for_each_variant_is_right() {
    check_arms(
        "Verdict::Good { .. } => 1,\nVerdict::Bad(_) | Verdict::Empty => 2,",
        &[],
    );
    check_arms(
        "all @ (Verdict::Good { .. } | Verdict::Bad(_) | Verdict::Empty) => all,",
        &[],
    );
    check_arms(
        "Verdict::Good { head } if head > 1 => 1,\nVerdict::Bad(other) => other,",
        &[],
    );
}

#[test]
fn an_arm_for_the_rest_is_found() {
    check_arms("Verdict::Good { .. } => 1,\n_ => 2,", &[5]);
    check_arms("Verdict::Good { .. } => 1,\nother => 2,", &[5]);
    check_arms("Verdict::Good { .. } => 1,\nref other => 2,", &[5]);
    check_arms("Verdict::Good { .. } => 1,\nother @ _ => 2,", &[5]);
    check_arms(
        "Verdict::Good { .. } => 1,\n_ if true => 2,\nVerdict::Bad(_) => 3,",
        &[5],
    );
    check_arms(
        "Verdict::Good { .. } => 1,\nVerdict::Bad(_) | _ => 2,",
        &[5],
    );
    check_arms("&Verdict::Empty => 1,\n&(_) => 2,", &[5]);
}

#[test]
fn a_rest_is_judged_where_the_set_stands() {
    check_arms("Ok(Verdict::Empty) => 1,\nErr(_) => 2,", &[]);
    check_arms("Ok(Verdict::Empty) => 1,\nOk(_) => 2,\nErr(_) => 3,", &[5]);
    check_arms("Ok(Verdict::Empty) => 1,\n_ => 2,", &[5]);
    check_arms(
        "(Verdict::Empty, _) => 1,\n(Verdict::Bad(_), other) => 2,",
        &[],
    );
    check_arms("(Verdict::Empty, 1) => 1,\n(_, 2) => 2,", &[5]);
    check_arms("(Verdict::Empty, 1) => 1,\n(..) => 2,", &[5]);
    check_arms("(1, Verdict::Empty) => 1,\n(2, ..) => 2,", &[5]);
    check_arms("(1, Verdict::Empty) => 1,\n(.., 2) => 2,", &[5]);
    check_arms("[Verdict::Empty] => 1,\n[_] => 2,\n[] => 3,", &[5]);
    check_arms(
        "Row { verdict: Verdict::Empty, .. } => 1,\nRow { verdict: _, .. } => 2,",
        &[5],
    );
    check_arms(
        "Row { verdict: Verdict::Empty, .. } => 1,\nRow { .. } => 2,",
        &[5],
    );
    check_arms("Row { verdict: Verdict::Empty, row: _ } => 1,", &[]);
    check_arms("Some(0) => 1,\nSome(_) | None => 2,", &[]);
}

#[test]
fn constants_and_literals_name_what_they_take() {
    check_arms(
        "(Verdict::Empty, LIMIT) => 1,\n(Verdict::Empty, 2..=3) => 2,",
        &[],
    );
}

#[test]
fn shortcuts_are_found() {
    let inside = |code: &str| format!("use a_set::Verdict;\nfn a() {{\n{code}\n}}");
    for code in [
        "if let Verdict::Empty = v {}",
        "if true && let Some(Verdict::Bad(_)) = v {}",
        "while let Verdict::Bad(next) = v {}",
        "let Verdict::Bad(inner) = v else { return };",
        "let a = matches!(v, Verdict::Empty);",
        "matches!(v, Some(Verdict::Bad(_)) if true);",
        "assert!(!matches!(v, Verdict::Empty | Verdict::Bad(_)), \"text\");",
        "assert_matches!(v, Verdict::Empty, \"text\");",
        "vec![if let Verdict::Empty = v { 1 } else { 2 }];",
        "select! { a = b => { if let Verdict::Empty = a {} } };",
        "macro_rules! m { ($a:expr) => { if let Verdict::Empty = $a.b {} } }\nif let Verdict::Empty = v {}",
    ] {
        let violations = check_sets(
            &survey(&[SET, ROOT, ("crates/user/src/lib.rs", &inside(code))]),
            SETS,
        );
        assert!(!violations.is_empty(), "{code}");
    }
    for code in [
        "let Verdict::Bad(inner) = v;",
        "if let Some(v) = v {}",
        "matches!(v, Some(_));",
        "let Some(v) = v else { return };",
        "assert!(v == Verdict::Empty);",
    ] {
        check(&inside(code), &[]);
    }
}

#[test]
fn a_match_in_a_macro_is_a_match() {
    check(
        "use a_set::Verdict;\nfn a() {\nprintln!(\"{}\", match v {\nVerdict::Empty => 1,\n_ => 2,\n});\n}",
        &[5],
    );
}

#[test]
fn a_set_is_known_under_any_name() {
    let arms = |head: &str, variant: &str| {
        format!("{head}\nfn a() {{ match v {{\n{variant} => 1,\n_ => 2,\n}} }}")
    };
    check(&arms("use a_set::Verdict as V;", "V::Empty"), &[4]);
    check(&arms("use a_set::*;", "Verdict::Empty"), &[4]);
    check(&arms("use a_set as s;", "s::Verdict::Empty"), &[4]);
    check(&arms("use a_set::Verdict::Empty;", "Empty"), &[4]);
    check(&arms("use a_set::Verdict::{self, Empty as E};", "E"), &[4]);
    check(&arms("use a_set::Verdict::*;", "Bad(_)"), &[4]);
    check(&arms("type V = a_set::Verdict;", "V::Empty"), &[4]);
    check(&arms("extern crate a_set as s;", "s::Verdict::Empty"), &[4]);
    check(&arms("", "a_set::Verdict::Empty"), &[4]);
    check(&arms("", "a_set::Verdict::<M>::Empty"), &[4]);
    check(&arms("enum Verdict { Empty }", "Verdict::Empty"), &[]);
    check(&arms("use other::Verdict;", "Verdict::Empty"), &[]);
}

#[test]
fn a_set_is_known_in_its_own_crate() {
    check_at(
        "crates/a-set/src/walk.rs",
        "use super::verdict::Verdict;\nfn a() { match v {\nVerdict::Empty => 1,\n_ => 2,\n} }",
        &[4],
    );
    check_at(
        "crates/a-set/src/walk.rs",
        "use crate::Verdict;\nimpl Verdict { fn a(self) { match self {\nSelf::Empty => 1,\n_ => 2,\n} } }",
        &[4],
    );
}

#[test]
fn comments_strings_and_tests_may_do_it() {
    check(
        "use a_set::Verdict;\n// if let Verdict::Empty = v\nconst A: &str = \"matches!(v, Verdict::Empty)\";\n\
         #[cfg(test)]\nmod tests { fn a() { matches!(v, Verdict::Empty) } }",
        &[],
    );
    for kit in ["crates/a-set/tests/b.rs", "crates/piton-testkit/src/lib.rs"] {
        check_at(kit, "fn a() { matches!(v, a_set::Verdict::Empty) }", &[]);
    }
    check_at(
        "examples/a.rs",
        "fn a() { matches!(v, a_set::Verdict::Empty) }",
        &[1],
    );
}

#[test]
fn an_attribute_that_opens_a_set_is_found() {
    for (attribute, line) in [
        ("#[non_exhaustive]\npub enum Verdict { Empty }", 1),
        (
            "#[cfg_attr(not(test), non_exhaustive)]\npub enum Verdict { Empty }",
            1,
        ),
        ("pub enum Verdict {\n#[non_exhaustive]\nEmpty {} }", 2),
        ("pub enum Verdict {\n#[serde(other)]\nEmpty }", 2),
    ] {
        let violations = check_sets(&survey(&[(SET.0, attribute)]), SETS);
        assert_eq!(lines(&violations, Rule::ClosedSets), [line], "{attribute}");
    }
    let closed = "#[derive(Debug)]\n#[serde(rename_all = \"snake_case\")]\npub enum Verdict {\n#[serde(rename = \"other\")]\nEmpty }";
    assert_eq!(check_sets(&survey(&[(SET.0, closed)]), SETS), []);
    check("#[non_exhaustive]\npub enum Verdict { Empty }", &[]);
}

#[test]
fn a_row_without_an_enum_is_found() {
    let violations = check_sets(&survey(&[]), SETS);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].file, TABLE);
    assert!(violations[0].reason.contains("a_set::Verdict"));
}

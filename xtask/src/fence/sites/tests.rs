//! What F5 finds and what it lets be.

use super::super::fixtures::{lines, survey};
use super::table::Site;
use super::*;

const DEFINED: (&str, &str) = (
    "crates/a/src/lib.rs",
    "mod event;\npub use event::{Event, Fate, link};",
);
const EVENT: (&str, &str) = (
    "crates/a/src/event.rs",
    "pub struct Event { bytes: u8 }\npub enum Fate { Sealed, Lost }\npub fn link() {}",
);

const fn deed(what: What, sites: &'static [Site]) -> Deed {
    Deed {
        name: "do it",
        why: "it is done once",
        mend: "ask the site",
        what,
        scope: Scope::Product,
        sites,
    }
}

const LITERAL: What = What::Literal {
    package: "a",
    name: "Event",
};
const FUNCTION: What = What::Function {
    package: "a",
    name: "link",
};
const VARIANT: What = What::Variant {
    package: "a",
    name: "Fate",
};
const ONE_VARIANT: What = What::OneVariant {
    package: "a",
    name: "Fate",
    variant: "Lost",
};
const BY_PATH: What = What::MethodAsPath {
    package: "a",
    owner: "Event",
    name: "link",
};

#[track_caller]
fn check(what: What, text: &str, expected: &[usize]) {
    check_at("crates/user/src/lib.rs", what, text, expected);
}

#[track_caller]
fn check_at(path: &str, what: What, text: &str, expected: &[usize]) {
    let survey = survey(&[DEFINED, EVENT, (path, text)]);
    let violations = check_deeds(&survey, &[deed(what, &[])]);
    assert_eq!(
        lines(&violations, Rule::SoleSites),
        expected,
        "{text}: {violations:?}"
    );
}

#[test]
fn a_literal_is_found_under_any_name() {
    check(LITERAL, "fn a() { a::Event { bytes: 1 } }", &[1]);
    check(
        LITERAL,
        "use a::Event as E;\nfn b() { E { bytes: 1 } }",
        &[2],
    );
    check(
        LITERAL,
        "type E = a::Event;\nfn b() { E { ..other } }",
        &[2],
    );
    check(
        LITERAL,
        "use a::Event;\nimpl Event { fn b() { Self { bytes: 1 } } }",
        &[2],
    );
    check(
        LITERAL,
        "use a::*;\nfn b() { vec![Event { bytes: 1 }] }",
        &[2],
    );
    check(
        LITERAL,
        "fn b(e: a::Event) { let a::Event { bytes } = e; }",
        &[],
    );
    check(
        LITERAL,
        "struct Event { bytes: u8 }\nfn b() { Event { bytes: 1 } }",
        &[],
    );
}

#[test]
fn a_function_is_found_called_or_handed_on() {
    check(FUNCTION, "fn b() { a::link(); }", &[1]);
    check(FUNCTION, "use a::link as l;\nfn b() { c.map(l); }", &[2]);
    check(FUNCTION, "fn b() { c!(x => a::link(x)) }", &[1]);
    check(FUNCTION, "fn link() {}\nfn b() { link(); }", &[]);
    check(FUNCTION, "fn b(c: D) { c.link(); }", &[]);
}

#[test]
fn a_variant_is_found_where_a_value_stands() {
    check(VARIANT, "use a::Fate;\nfn b() { Fate::Sealed }", &[2]);
    check(VARIANT, "use a::Fate::*;\nfn b() { Some(Sealed) }", &[2]);
    check(
        VARIANT,
        "use a::Fate;\nfn b() { match c { Fate::Sealed => 1, Fate::Lost => 2 } }",
        &[],
    );
    check(VARIANT, "use a::Fate;\nfn b() { Fate::parse() }", &[]);
    check(
        ONE_VARIANT,
        "use a::Fate;\nfn b() { (Fate::Sealed,\nFate::Lost) }",
        &[3],
    );
}

#[test]
fn methods_and_associated_items_are_found() {
    check(
        What::Method("link"),
        "fn b(c: D) {\n    c.link(e);\n}",
        &[2],
    );
    check(
        What::Method("link"),
        "macro_rules! m { ($c:expr) => { $c.link(e) } }",
        &[1],
    );
    check(What::Method("link"), "fn b(c: D) { c.link; link(e); }", &[]);
    check(BY_PATH, "fn b() { c.map(a::Event::link) }", &[1]);
    check(BY_PATH, "fn b() { a::link() }", &[]);
    check(
        What::Associated(&["INITIAL"]),
        "fn b() { M::INITIAL }",
        &[1],
    );
    check(
        What::Associated(&["INITIAL"]),
        "fn b() { <M as N>::INITIAL }",
        &[1],
    );
    check(
        What::Associated(&["INITIAL"]),
        "const INITIAL: u8 = 1;\nfn b() { INITIAL }",
        &[],
    );
}

#[test]
fn comments_strings_and_tests_may_do_it() {
    check(
        FUNCTION,
        "// a::link()\nconst A: &str = \"a::link()\";\n#[cfg(test)]\nmod tests { fn b() { a::link() } }",
        &[],
    );
    for test in [
        "crates/user/tests/b.rs",
        "crates/piton-testkit/src/b.rs",
        "examples/b.rs",
    ] {
        check_at(test, FUNCTION, "fn b() { a::link() }", &[]);
    }
}

const SITES: &[Site] = &[Site {
    file: "crates/user/src/lib.rs",
    within: "Door::open",
    reason: "the door",
}];

#[track_caller]
fn check_site(text: &str, expected: &[(&str, usize)]) {
    let survey = survey(&[DEFINED, EVENT, ("crates/user/src/lib.rs", text)]);
    let violations = check_deeds(&survey, &[deed(FUNCTION, SITES)]);
    let found: Vec<_> = violations
        .iter()
        .map(|violation| (violation.file.as_str(), violation.line))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_site_is_one_function_of_one_type() {
    let user = "crates/user/src/lib.rs";
    check_site("impl Door { fn open() { b(|| a::link()) } }", &[]);
    check_site("impl From<B> for Door { fn open() { a::link() } }", &[]);
    check_site(
        "impl Door { fn open() { a::link() }\nfn shut() { a::link() } }",
        &[(user, 2)],
    );
    check_site(
        "impl Door { fn open() { a::link();\nfn inner() { a::link() } } }",
        &[(user, 2)],
    );
    check_site(
        "impl Wall { fn open() { a::link() } }",
        &[(user, 1), (TABLE, 1)],
    );
    check_site("fn open() { a::link() }", &[(user, 1), (TABLE, 1)]);
}

#[test]
fn a_site_that_does_nothing_is_found_with_its_reason() {
    let violations = check_deeds(&survey(&[DEFINED, EVENT]), &[deed(FUNCTION, SITES)]);
    assert_eq!(violations.len(), 1);
    assert!(violations[0].reason.contains("the door"), "{violations:?}");
}

#[test]
fn a_scope_leaves_out_the_rest() {
    let survey = survey(&[
        DEFINED,
        EVENT,
        ("crates/user/src/lib.rs", "fn b() { a::link() }"),
        ("crates/other/src/lib.rs", "fn b() { a::link() }"),
    ]);
    let narrow = Deed {
        scope: Scope::Below("crates/other/src/"),
        ..deed(FUNCTION, &[])
    };
    let violations = check_deeds(&survey, &[narrow]);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].file, "crates/other/src/lib.rs");
}

//! What F2 finds and what it lets be.

use super::super::fixtures::{lines, member, survey, text_file};
use super::*;

const FILE: &str = "crates/pure/src/lib.rs";
const PLACES: &[Pure] = &[Pure {
    path: "crates/pure/src/",
    what: "the pure crate",
    pace: Pace::Synchronous,
    may_name: &["serde"],
}];

fn judge(text: &str) -> Vec<Violation> {
    let members = [member("pure", &["serde", "rand-core"], &["proptest"])];
    check_code(&members, &survey(&[(FILE, text)]), PLACES, &[])
}

#[track_caller]
fn check(text: &str, expected: &[usize]) {
    let violations = judge(text);
    assert_eq!(
        lines(&violations, Rule::Purity),
        expected,
        "{text}: {violations:?}"
    );
}

#[test]
fn each_forbidden_path_is_found_however_it_is_written() {
    for path in FORBIDDEN.iter().flat_map(|forbidden| forbidden.paths) {
        let (module, name) = path.rsplit_once("::").unwrap_or(("", path));
        let parent = format!("std::{module}");
        let parent = parent.trim_end_matches(':');
        for root in ["std", "core", "alloc"] {
            check(&format!("use {root}::{path} as A;"), &[1]);
        }
        check(&format!("use std::{{{path} as a, fmt}};"), &[1]);
        check(&format!("fn a() {{\n    {parent}::{name}::b();\n}}"), &[2]);
        check(&format!("fn a(b: ::{parent}::{name}) {{}}"), &[1]);
        check(
            &format!("use {parent} as p;\nfn a() {{ p::{name}::b(); }}"),
            &[2],
        );
        check(&format!("use std as s;\ntype A = s::{path};"), &[2]);
        check(
            &format!("extern crate std as s;\nconst A: s::{path} = 1;"),
            &[2],
        );
        check(
            &format!("fn a() {{ b!(x => {parent}::{name}::c()) }}"),
            &[1],
        );
        check(
            &format!("macro_rules! a {{ ($b:expr) => {{ {parent}::{name}::c($b) }} }}"),
            &[1],
        );
        check(
            &format!("#[serde(default = \"{parent}::{name}::c\")]\nstruct A;"),
            &[1],
        );
    }
}

#[test]
fn a_rename_is_followed_through_modules() {
    check(
        "use std::time;\nfn a() {\n    time::Instant::now();\n}",
        &[3],
    );
    check("use std::{env as e};\nfn a() { e::args(); }", &[1, 2]);
    check(
        "use std::{time::{self as t}};\nfn a() { t::SystemTime::now(); }",
        &[2],
    );
    check(
        "mod s { pub(crate) use std::time as clock; }\nfn a() { s::clock::Instant::now(); }",
        &[2],
    );
    check(
        "mod s { pub(crate) use std::time as clock; }\nmod b {\nuse super::s::*;\nfn a() { clock::Instant::now(); }\n}",
        &[4],
    );
    check(
        "type A = b::C;\nuse std::time as b;\nfn a() -> A { b::Instant::now() }",
        &[3],
    );
    let other = ("crates/pure/src/s.rs", "pub use std::time as clock;");
    let user = (
        FILE,
        "mod s;\nfn a() {\n    crate::s::clock::Instant::now();\n}",
    );
    let violations = check_code(&[], &survey(&[other, user]), PLACES, &[]);
    assert_eq!(lines(&violations, Rule::Purity), [3]);
}

#[test]
fn a_glob_over_something_forbidden_is_found() {
    check("use std::time::*;", &[1]);
    check("use std::*;", &[1]);
    check("use core::cell::*;", &[1]);
    check("use std::{fmt, collections::{BTreeMap, *}};", &[1]);
    check("use std::fmt::*;", &[]);
}

#[test]
fn macros_that_speak_to_the_world_are_found() {
    for name in MACROS.iter().flat_map(|forbidden| forbidden.paths) {
        check(&format!("fn a() {{\n    {name}!(\"a\");\n}}"), &[2]);
        check(&format!("fn a() {{ std::{name}!(\"a\"); }}"), &[1]);
        check(&format!("use std::{name} as b;"), &[1]);
        check(
            &format!("macro_rules! a {{ () => {{ {name}!($) }} }}"),
            &[1],
        );
    }
    check(
        "fn a() { b!(println!(\"{}\", std::env::var(\"A\"))) }",
        &[1, 1],
    );
}

#[test]
fn global_state_and_foreign_code_are_found() {
    check("static mut A: u8 = 1;", &[1]);
    check("static A: AtomicU8 = AtomicU8::new(1);", &[1]);
    check("fn a() {\n    static B: u8 = 1;\n}", &[2]);
    check("unsafe extern \"C\" { fn a(); }", &[1]);
    check("const A: &'static str = \"a\";", &[]);
}

#[test]
fn waiting_is_found_where_the_code_takes_its_data() {
    check("async fn a() {}", &[1]);
    check("fn a() { async { 1 } }", &[1]);
    check("fn a() { b.await }", &[1]);
    let through_port = [Pure {
        pace: Pace::Port,
        ..PLACES[0]
    }];
    let survey = survey(&[(FILE, "async fn a() { b.await }")]);
    assert_eq!(check_code(&[], &survey, &through_port, &[]), []);
}

#[test]
fn only_listed_crates_may_be_named() {
    check("use serde::Serialize;", &[]);
    check("use rand_core::RngCore;", &[1]);
    check("fn a() { rand_core::b(); }", &[1]);
    check("use rand_core as r;\nfn a() { r::b(); }", &[1, 2]);
    check("fn a(rand_core: u8) -> u8 { rand_core }", &[]);
    check("use proptest::prelude::*;", &[1]);
}

#[test]
fn an_exception_is_for_one_file_and_must_be_used() {
    const EXCEPTIONS: &[Exception] = &[Exception {
        file: FILE,
        package: "rand_core",
        reason: "a fixture",
    }];
    let members = [member("pure", &["rand-core"], &[])];
    let judge = |files: &[(&str, &str)]| check_code(&members, &survey(files), PLACES, EXCEPTIONS);
    assert_eq!(judge(&[(FILE, "use rand_core::A;")]), []);
    let elsewhere = [
        (FILE, "use rand_core::A;"),
        ("crates/pure/src/b.rs", "use rand_core::A;"),
    ];
    assert_eq!(judge(&elsewhere).len(), 1);
    let stale = judge(&[(FILE, "")]);
    assert_eq!(stale.len(), 1);
    assert_eq!(stale[0].file, TABLE);
}

#[test]
fn a_place_without_code_is_found() {
    let violations = check_code(&[], &survey(&[]), PLACES, &[]);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].file, TABLE);
}

#[test]
fn comments_strings_and_tests_may_speak_of_it() {
    check(
        "//! Never std::time::Instant.\n/// Not std::env::var.\nfn a() -> &'static str { \"std::env::var\" }",
        &[],
    );
    check(
        "#[cfg(test)]\nmod tests { use std::time::Instant; static A: u8 = 1; }",
        &[],
    );
    check("#[test]\nfn a() { println!(); }", &[]);
    check("impl A {\n#[cfg(test)]\nfn a() { println!(); }\n}", &[]);
    check("#[cfg(not(test))]\nfn a() { println!(); }", &[2]);
    check("#[cfg(feature = \"x\")]\nuse std::fs;", &[2]);
}

#[test]
fn what_only_computes_is_let_be() {
    check(
        "use core::fmt;\nuse std::sync::Arc;\nuse std::time::Duration;\nuse std::time;\n\
         use std::marker::PhantomData;\nuse std::collections::BTreeMap;\nmod env { pub fn var() {} }\n\
         fn a(time: u8, fs: u8) -> String { env::var(); format!(\"{time} {}\", fs) }",
        &[],
    );
}

fn lint_files(pure: [&str; 3]) -> Vec<Violation> {
    let texts = LINT_FILES
        .iter()
        .zip(["root = true\n", pure[0], pure[1], pure[2]]);
    let documents: Vec<_> = texts.map(|(path, text)| text_file(path, text)).collect();
    lints::check(&documents)
}

#[test]
fn lint_files_repeat_the_root_and_each_other() {
    let banned: String = lints::DISALLOWED
        .iter()
        .map(|path| format!("\"{path}\"\n"))
        .collect();
    let whole = format!("root = true\n{banned}");
    assert_eq!(lint_files([&whole; 3]), []);
    let without_root = lint_files([&whole, &banned, &whole]);
    assert_eq!(without_root.len(), 2, "{without_root:?}");
    let longer = format!("{whole}more");
    assert_eq!(lint_files([&whole, &whole, &longer]).len(), 1);
    for path in lints::DISALLOWED {
        let shorter = whole.replace(&format!("\"{path}\"\n"), "");
        let violations = lint_files([&shorter; 3]);
        assert_eq!(violations.len(), 3, "{path}");
        assert!(violations[0].reason.contains(path));
    }
    assert_eq!(lints::check(&[]).len(), 3);
}

//! F2 inside of the compiler: the `clippy.toml` beside each pure manifest.
//!
//! Clippy resolves types and methods where the syntax walk sees names. It reads the nearest
//! configuration and doesn't merge it with the root's, so each file repeats the root's lines; this
//! keeps them in step.

use super::super::{Rule, TextFile, Violation};

const ROOT: &str = "clippy.toml";

/// The pure crates' own files; all are the same.
const PURE: &[&str] = &[
    "crates/piton-ledger/clippy.toml",
    "crates/piton-chain/clippy.toml",
    "crates/piton-verify/clippy.toml",
];

/// Every configuration of clippy that must be there.
pub(in crate::fence) const LINT_FILES: &[&str] = &[ROOT, PURE[0], PURE[1], PURE[2]];

/// What each pure file must disallow, beside whatever else.
pub(super) const DISALLOWED: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::hash::RandomState",
    "std::env::var",
    "std::process::Command",
    "std::fs::File",
    "std::net::TcpStream",
    "std::thread::spawn",
    "std::sync::Mutex",
    "std::sync::OnceLock",
    "std::sync::LazyLock",
    "core::cell::OnceCell",
    "core::cell::LazyCell",
];

pub(super) fn check(documents: &[TextFile]) -> Vec<Violation> {
    let text_of = |path: &str| {
        let mut documents = documents.iter();
        documents
            .find(|document| document.path == path)
            .map(|document| document.text.as_str())
    };
    let root = text_of(ROOT).unwrap_or_default();
    let model = text_of(PURE[0]);
    let mut violations = Vec::new();
    for path in PURE {
        let Some(text) = text_of(path) else {
            violations.push(violation(path, "the file is missing".to_owned()));
            continue;
        };
        for line in root.lines().filter(|line| !line.trim().is_empty()) {
            if !text.lines().any(|own| own == line) {
                violations.push(violation(
                    path,
                    format!("the root's line `{line}` is not repeated, so it doesn't hold here"),
                ));
            }
        }
        for disallowed in DISALLOWED {
            if !text.contains(&format!("\"{disallowed}\"")) {
                violations.push(violation(path, format!("`{disallowed}` is not disallowed")));
            }
        }
        if model.is_some_and(|model| model != text) {
            violations.push(violation(
                path,
                format!("the file differs from {}", PURE[0]),
            ));
        }
    }
    violations
}

fn violation(path: &str, reason: String) -> Violation {
    Violation {
        file: path.to_owned(),
        line: 1,
        rule: Rule::Purity,
        reason,
        mend: "keep the clippy.toml of every pure crate the same: the root's lines, then what is \
               disallowed"
            .to_owned(),
    }
}

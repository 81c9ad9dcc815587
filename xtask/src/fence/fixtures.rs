//! What the tests of several rules build: members, surveys, and the lines of violations.

use super::features::Features;
use super::syntax::Survey;
use super::{Dependency, DependencyKind, Member, Presence, Rule, TextFile, Violation};

/// A member whose manifest declares the given dependencies from line 2 on.
pub(super) fn member(name: &str, shipped: &[&str], development: &[&str]) -> Member {
    let mut text = "[dependencies]\n".to_owned();
    let mut dependencies = Vec::new();
    for (names, kind) in [
        (shipped, DependencyKind::Shipped),
        (development, DependencyKind::Development),
    ] {
        for dependency in names {
            text.push_str(&format!("{dependency}.workspace = true\n"));
            dependencies.push(Dependency {
                name: (*dependency).to_owned(),
                kind,
                presence: Presence::Always,
                features: Vec::new(),
            });
        }
    }
    Member {
        name: name.to_owned(),
        manifest: TextFile {
            path: format!("crates/{name}/Cargo.toml"),
            text,
        },
        dependencies,
        features: Features::new(),
    }
}

/// A file with its text.
pub(super) fn text_file(path: &str, text: &str) -> TextFile {
    TextFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// What there is to see in these files, given by path and text.
#[track_caller]
pub(super) fn survey(files: &[(&str, &str)]) -> Survey {
    let sources: Vec<TextFile> = files
        .iter()
        .map(|(path, text)| text_file(path, text))
        .collect();
    Survey::of(&sources).expect("the fixture is Rust")
}

/// The lines of violations, all of which must be of this rule.
#[track_caller]
pub(super) fn lines(violations: &[Violation], rule: Rule) -> Vec<usize> {
    assert!(
        violations.iter().all(|violation| violation.rule == rule),
        "{violations:?}"
    );
    violations.iter().map(|violation| violation.line).collect()
}

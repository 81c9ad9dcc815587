//! F7 for manifests: lints and versions are said once, in the root manifest.
//!
//! The text is judged line by line, so that a violation has a line and the fence needs no
//! parser of its own; whatever isn't written in the usual one-line form is a violation too.

use super::{Member, Rule, TextFile, Violation};

/// Finds members with lints of their own and dependencies with versions of their own.
pub(super) fn check(members: &[Member]) -> Vec<Violation> {
    members
        .iter()
        .flat_map(|member| check_manifest(&member.manifest))
        .collect()
}

fn check_manifest(manifest: &TextFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut section = Section::Other;
    let mut inherits_lints = false;
    for (index, line) in manifest.text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = Section::of_header(header);
            if section == Section::OneDependency {
                violations.push(dependency_violation(manifest, index + 1, line));
            }
            continue;
        }
        match section {
            Section::Lints => inherits_lints |= is_inherited("workspace", line),
            Section::Dependencies if !inherits_version(line) => {
                violations.push(dependency_violation(manifest, index + 1, line));
            }
            Section::Dependencies | Section::OneDependency | Section::Other => {}
        }
    }
    if !inherits_lints {
        violations.push(Violation {
            file: manifest.path.clone(),
            line: 1,
            rule: Rule::Tidy,
            reason: "the member doesn't keep the workspace's lints".to_owned(),
            mend: "add a section `[lints]` with the line `workspace = true`".to_owned(),
        });
    }
    violations
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    /// A table of dependencies of any kind, for any target.
    Dependencies,
    /// `[dependencies.name]`, which spreads one dependency over several lines.
    OneDependency,
    Lints,
    Other,
}

impl Section {
    /// Reads a header whose opening bracket is gone already.
    fn of_header(header: &str) -> Self {
        let name = header.split(']').next().unwrap_or(header).trim();
        if name == "lints" {
            Self::Lints
        } else if name.ends_with("dependencies") {
            Self::Dependencies
        } else if name.contains("dependencies.") {
            Self::OneDependency
        } else {
            Self::Other
        }
    }
}

/// Whether a line is `name.workspace = true` or `name = { …, workspace = true, … }`.
fn inherits_version(line: &str) -> bool {
    let Some((key, value)) = line.split_once('=') else {
        return false;
    };
    let inherited_key = key.trim().strip_suffix(".workspace");
    if let Some(name) = inherited_key {
        return !name.is_empty() && is_inherited("workspace", &format!("workspace ={value}"));
    }
    let table = value.trim().strip_prefix('{');
    let table = table.and_then(|inside| inside.split('}').next());
    table.is_some_and(|inside| {
        inside
            .split(',')
            .any(|field| is_inherited("workspace", field))
    })
}

/// Whether a `key = value` pair has this key and the value `true`.
fn is_inherited(key: &str, pair: &str) -> bool {
    let Some((found, value)) = pair.split_once('=') else {
        return false;
    };
    let value = value.split('#').next().unwrap_or(value);
    found.trim() == key && value.trim() == "true"
}

fn dependency_violation(manifest: &TextFile, line: usize, found: &str) -> Violation {
    Violation {
        file: manifest.path.clone(),
        line,
        rule: Rule::Tidy,
        reason: format!("`{found}` doesn't take its version from the workspace"),
        mend: "declare it with a reason in the root manifest, and write `name.workspace = true` \
               on one line here"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINTS: &str = "[lints]\nworkspace = true\n";

    #[track_caller]
    fn check_lines(text: &str, expected: &[usize]) {
        let manifest = TextFile {
            path: "crates/a/Cargo.toml".to_owned(),
            text: text.to_owned(),
        };
        let violations = check_manifest(&manifest);
        assert!(
            violations
                .iter()
                .all(|violation| violation.rule == Rule::Tidy)
        );
        let lines: Vec<usize> = violations.iter().map(|violation| violation.line).collect();
        assert_eq!(lines, expected, "{violations:?}");
    }

    #[test]
    fn a_member_needs_the_workspace_lints() {
        check_lines("[package]\nname = \"a\"\n", &[1]);
        check_lines("[lints]\nworkspace = false\n", &[1]);
        check_lines("[lints.rust]\nmissing_docs = \"allow\"\n", &[1]);
        check_lines("[package]\nworkspace = true\n", &[1]);
        check_lines(LINTS, &[]);
    }

    #[test]
    fn an_inherited_dependency_is_fine() {
        check_lines(
            &format!(
                "{LINTS}[dependencies]\n# Why.\n\na.workspace = true\nb = {{ workspace = true }}\n\
                 c = {{ features = [\"x\"], workspace = true, optional = true }}\n\
                 d.workspace = true # for now\n"
            ),
            &[],
        );
    }

    #[test]
    fn a_version_of_its_own_is_found_in_every_kind_of_section() {
        for section in [
            "dependencies",
            "dev-dependencies",
            "build-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            check_lines(&format!("{LINTS}[{section}]\na = \"1\"\n"), &[4]);
        }
    }

    #[test]
    fn other_forms_of_a_version_are_found() {
        for line in [
            "a = { version = \"1\" }",
            "a = { path = \"../a\" }",
            "a.version = \"1\"",
            "a.workspace = false",
            "a = { workspace = false, version = \"1\" }",
            "a = { version = \"1\" } # workspace = true",
        ] {
            check_lines(&format!("{LINTS}[dependencies]\n{line}\n"), &[4]);
        }
    }

    #[test]
    fn a_dependency_with_a_section_of_its_own_is_found() {
        check_lines(&format!("{LINTS}[dependencies.a]\nversion = \"1\"\n"), &[3]);
    }

    #[test]
    fn other_sections_are_not_judged() {
        check_lines(&format!("{LINTS}[features]\nextra = [\"a\"]\n"), &[]);
    }
}

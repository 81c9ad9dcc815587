//! F2: the ledger, the chain and the walk do nothing but compute.
//!
//! A chain that was valid yesterday must be valid today, on any machine. So the code that decides
//! it sees no clock, no randomness, no environment, no file, no network, no thread, no log and no
//! global state. Two tables, in `purity/table.rs`, say which code that is and what it must not
//! name; names are judged by what they stand for.
//!
//! It judges what the code says, not what it calls elsewhere: the crates that it may name are a
//! closed list, and `clippy.toml` beside each manifest holds the types inside of the compiler.

mod lints;
mod table;

use std::collections::BTreeSet;

use self::table::{Exception, FORBIDDEN, Forbidden, MACROS, Pace, Pure};
use super::syntax::{Fact, NamePath, Said, Survey};
use super::{Member, Rule, TextFile, Violation};

pub(super) use self::lints::LINT_FILES;

const TABLE: &str = "xtask/src/fence/purity/table.rs";

/// Finds whatever is impure in the pure code, and lint files that don't hold it too.
pub(super) fn check(members: &[Member], survey: &Survey, documents: &[TextFile]) -> Vec<Violation> {
    let mut violations = check_code(members, survey, table::PURE, table::EXCEPTIONS);
    violations.extend(lints::check(documents));
    violations
}

fn check_code(
    members: &[Member],
    survey: &Survey,
    pure: &[Pure],
    exceptions: &[Exception],
) -> Vec<Violation> {
    let mut violations = BTreeSet::new();
    let mut used = BTreeSet::new();
    for place in pure {
        let judge = Judge {
            place,
            dependencies: names_of_dependencies(members, place.path),
            exceptions,
        };
        let facts = survey.facts.iter();
        for fact in facts.filter(|fact| place.holds(&fact.file)) {
            violations.extend(judge.judge(fact, &mut used));
        }
        if !survey.files.iter().any(|file| place.holds(&file.path)) {
            violations.insert(stale(place.path, place.what));
        }
    }
    for exception in exceptions {
        if !used.contains(&(exception.file, exception.package)) {
            violations.insert(stale(exception.file, exception.reason));
        }
    }
    violations.into_iter().collect()
}

fn stale(path: &str, why: &str) -> Violation {
    Violation {
        file: TABLE.to_owned(),
        line: 1,
        rule: Rule::Purity,
        reason: format!("the table speaks of `{path}` ({why}), where it finds nothing to judge"),
        mend: "take the entry out, or name the place that the code has moved to".to_owned(),
    }
}

/// The crates that the manifest above a path lets its code name, tests included.
fn names_of_dependencies(members: &[Member], path: &str) -> BTreeSet<String> {
    let owner = members.iter().find(|member| {
        let folder = member.manifest.path.strip_suffix("Cargo.toml");
        folder.is_some_and(|folder| path.starts_with(folder))
    });
    let dependencies = owner.into_iter().flat_map(|member| &member.dependencies);
    dependencies
        .map(|dependency| dependency.name.replace('-', "_"))
        .collect()
}

struct Judge<'a> {
    place: &'a Pure,
    dependencies: BTreeSet<String>,
    exceptions: &'a [Exception],
}

impl Judge<'_> {
    fn judge(
        &self,
        fact: &Fact,
        used: &mut BTreeSet<(&'static str, &'static str)>,
    ) -> Option<Violation> {
        let (what, mend) = match &fact.said {
            Said::Static(name) => (
                format!("`static {}` is global state", name.concat()),
                "make it a `const`, or a value that is passed in",
            ),
            Said::Foreign => (
                "an `extern` block can do anything".to_owned(),
                "write it in Rust, or move it into an adapter",
            ),
            Said::Async if self.place.pace == Pace::Synchronous => (
                "`async` waits for something outside".to_owned(),
                "take the data as arguments, and wait for it in the caller",
            ),
            Said::Async => return None,
            Said::Import(_)
            | Said::Glob(_)
            | Said::Value(_)
            | Said::Name(_)
            | Said::Macro(_)
            | Said::Literal(_)
            | Said::Method(_) => (
                self.judge_paths(fact, used)?,
                "take what it would find out as an argument; the caller may ask for it",
            ),
        };
        Some(Violation {
            file: fact.file.clone(),
            line: fact.line,
            rule: Rule::Purity,
            reason: format!("{what}, and {} must only compute", self.place.what),
            mend: mend.to_owned(),
        })
    }

    fn judge_paths(
        &self,
        fact: &Fact,
        used: &mut BTreeSet<(&'static str, &'static str)>,
    ) -> Option<String> {
        if let Said::Method(_) = fact.said {
            return None;
        }
        let paths = &fact.stands_for;
        let written = fact.said.path().join("::");
        for path in paths {
            if let Some(forbidden) = in_standard_library(fact, path) {
                let full = path.join("::");
                let through = if full == written {
                    String::new()
                } else {
                    format!(" (written `{written}`)")
                };
                return Some(format!("`{full}`{through} is {}", forbidden.is));
            }
        }
        let foreign = paths
            .iter()
            .find_map(|path| self.foreign_package(fact, path))?;
        let exception = self
            .exceptions
            .iter()
            .find(|exception| exception.file == fact.file && exception.package == foreign);
        if let Some(exception) = exception {
            used.insert((exception.file, exception.package));
            return None;
        }
        Some(format!("`{written}` names the crate `{foreign}`"))
    }

    /// The crate that a path begins with, where it is one that this code may not name.
    fn foreign_package<'p>(&self, fact: &Fact, path: &'p NamePath) -> Option<&'p str> {
        // A name alone may be a variable.
        if path.len() < 2 && !matches!(fact.said, Said::Import(_) | Said::Glob(_)) {
            return None;
        }
        let first = path.first()?;
        (self.dependencies.contains(first) && !self.place.may_name.contains(&first.as_str()))
            .then_some(first)
    }
}

/// What in the standard library a path reaches that is forbidden.
fn in_standard_library(fact: &Fact, path: &[String]) -> Option<&'static Forbidden> {
    if let (Said::Macro(_), [name]) = (&fact.said, path) {
        return is_macro(name);
    }
    let (first, rest) = path.split_first()?;
    if !["std", "core", "alloc"].contains(&first.as_str()) {
        return None;
    }
    if let Some(forbidden) = rest.last().and_then(|name| is_macro(name))
        && matches!(fact.said, Said::Macro(_) | Said::Import(_))
        && rest.len() == 1
    {
        return Some(forbidden);
    }
    let is_glob = matches!(fact.said, Said::Glob(_));
    FORBIDDEN.iter().find(|forbidden| {
        forbidden.paths.iter().any(|forbidden| {
            let forbidden: Vec<&str> = forbidden.split("::").collect();
            let common = rest.iter().zip(&forbidden).take_while(|(a, b)| a == b);
            let common = common.count();
            common == forbidden.len() || (is_glob && common == rest.len())
        }) && !forbidden.except.iter().any(|allowed| {
            let allowed: Vec<&str> = allowed.split("::").collect();
            rest.len() >= allowed.len() && rest.iter().zip(&allowed).all(|(a, b)| a == b)
        })
    })
}

fn is_macro(name: &str) -> Option<&'static Forbidden> {
    MACROS
        .iter()
        .find(|forbidden| forbidden.paths.contains(&name))
}

#[cfg(test)]
mod tests;

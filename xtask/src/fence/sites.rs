//! F5: deeds that the design allows at named places and nowhere else.
//!
//! What seals an event, what computes a link, and what turns a verdict into policy each exist
//! once, so that a reader can look at it. `sites/table.rs` lists the deeds with their sites and the
//! reason of each; a site where the deed is no longer done is a violation too.
//!
//! The code of the product is judged, the conformance kit is not: it computes everything a second
//! time on purpose.

mod table;

use std::collections::BTreeSet;

use self::table::{DEEDS, Deed, Scope, What};
use super::syntax::{Fact, Said, Survey};
use super::{Rule, Violation};

/// The crates whose code is a test.
const UNJUDGED: &[&str] = &["crates/piton-testkit/", "examples/"];

const TABLE: &str = "xtask/src/fence/sites/table.rs";

/// Finds deeds outside of their sites, and sites without their deed.
pub(super) fn check(survey: &Survey) -> Vec<Violation> {
    check_deeds(survey, DEEDS)
}

fn check_deeds(survey: &Survey, deeds: &[Deed]) -> Vec<Violation> {
    let mut violations = BTreeSet::new();
    for deed in deeds {
        let mut done = BTreeSet::new();
        for fact in &survey.facts {
            if !is_judged(&fact.file, deed.scope) || !is_done(survey, fact, &deed.what) {
                continue;
            }
            let site = deed
                .sites
                .iter()
                .find(|site| site.file == fact.file && site.within == fact.within);
            match site {
                Some(site) => {
                    done.insert((site.file, site.within));
                }
                None => {
                    violations.insert(outside(deed, fact));
                }
            }
        }
        for site in deed.sites {
            if !done.contains(&(site.file, site.within)) {
                violations.insert(Violation {
                    file: TABLE.to_owned(),
                    line: 1,
                    rule: Rule::SoleSites,
                    reason: format!(
                        "`{}` in {} may {} ({}), and doesn't",
                        site.within, site.file, deed.name, site.reason
                    ),
                    mend: "take the site out of the table, so that nobody else moves in".to_owned(),
                });
            }
        }
    }
    violations.into_iter().collect()
}

fn outside(deed: &Deed, fact: &Fact) -> Violation {
    let sites: Vec<String> = deed
        .sites
        .iter()
        .map(|site| format!("`{}`", site.within))
        .collect();
    let sites = if sites.is_empty() {
        "nothing may".to_owned()
    } else {
        format!("only {} may", sites.join(" and "))
    };
    Violation {
        file: fact.file.clone(),
        line: fact.line,
        rule: Rule::SoleSites,
        reason: format!("{sites} {}: {}", deed.name, deed.why),
        mend: format!("{}; a new site needs its reason in {TABLE}", deed.mend),
    }
}

fn is_judged(file: &str, scope: Scope) -> bool {
    match scope {
        Scope::Product => !UNJUDGED.iter().any(|prefix| file.starts_with(prefix)),
        Scope::Below(prefix) => file.starts_with(prefix),
    }
}

fn is_done(survey: &Survey, fact: &Fact, what: &What) -> bool {
    let stands_for = |package: &str, matches: &dyn Fn(&[String]) -> bool| {
        fact.stands_for.iter().any(|path| {
            let (first, rest) = match path.split_first() {
                Some(split) => split,
                None => return false,
            };
            first == package && matches(rest)
        })
    };
    let ends_with = |rest: &[String], ending: &[&str]| {
        rest.len() >= ending.len()
            && rest
                .iter()
                .rev()
                .zip(ending.iter().rev())
                .all(|(a, b)| a == b)
    };
    match (what, &fact.said) {
        (What::Literal { package, name }, Said::Literal(_)) => {
            stands_for(package, &|rest| ends_with(rest, &[name]))
        }
        (What::Function { package, name }, Said::Value(_)) => {
            stands_for(package, &|rest| ends_with(rest, &[name]))
        }
        (What::Variant { package, name }, Said::Value(_) | Said::Literal(_)) => {
            let variants = survey.names.variants(package, name);
            stands_for(package, &|rest| match rest {
                [.., owner, variant] => {
                    owner == name && variants.is_some_and(|known| known.contains(variant))
                }
                _ => false,
            })
        }
        (
            What::OneVariant {
                package,
                name,
                variant,
            },
            Said::Value(_) | Said::Literal(_),
        ) => stands_for(package, &|rest| ends_with(rest, &[name, variant])),
        (What::Associated(names), Said::Value(path)) => match path.as_slice() {
            [_, .., last] => names.contains(&last.as_str()),
            _ => false,
        },
        (What::Method(name), Said::Method(path)) => path.iter().any(|method| method == name),
        (
            What::MethodAsPath {
                package,
                owner,
                name,
            },
            Said::Value(_),
        ) => stands_for(package, &|rest| ends_with(rest, &[owner, name])),
        _ => false,
    }
}

#[cfg(test)]
mod tests;

//! F8: the clauses of the store contract and the conformance cases name each other.
//!
//! A clause is a row of `docs/store-contract.md`, a doc line on the trait `CheckpointStore`, a
//! member of the kit's `Clause`, and at least one case in the kit's list; nothing names a clause
//! that doesn't exist, and no case is left out of the list.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Expr, Item, Lit, Meta};

use super::syntax::{ParsedFile, Survey};
use super::{Rule, TextFile, Violation};

/// The contract as people read it.
pub(super) const CONTRACT: &str = "docs/store-contract.md";
/// The contract as implementers read it.
const PORT: &str = "crates/piton-store/src/port.rs";
const PORT_CRATE: &str = "crates/piton-store/src/";
/// The list of cases.
const LIST: &str = "crates/piton-testkit/src/list.rs";
const KIT: &str = "crates/piton-testkit/src/";
const CASES: &str = "crates/piton-testkit/src/cases/";

/// Where a clause is named, by the clause's number.
type Named = BTreeMap<u32, Line>;

#[derive(Clone)]
struct Line {
    number: usize,
    /// The clause's short name; empty where none is given.
    title: String,
}

/// One entry of the list of cases.
struct Case {
    clause: u32,
    name: String,
    line: usize,
}

/// Finds clauses without a case, cases without a clause, and everything in between.
pub(super) fn check(survey: &Survey, documents: &[TextFile]) -> Vec<Violation> {
    let contract = documents
        .iter()
        .find(|document| document.path == CONTRACT)
        .map(|document| contract_clauses(&document.text))
        .unwrap_or_default();
    let file = |path: &str| survey.files.iter().find(|file| file.path == path);
    let port = file(PORT).map(trait_clauses).unwrap_or_default();
    let (kit, cases) = file(LIST).map(kit_clauses).unwrap_or_default();
    let mut violations = Vec::new();
    violations.extend(check_numbers(&contract));
    violations.extend(check_sides(&contract, &port, &kit));
    violations.extend(check_cases(&contract, &cases));
    violations.extend(check_functions(survey, &cases));
    violations.extend(check_mentions(survey, &contract));
    violations
}

fn violation(file: &str, line: usize, reason: String, mend: &str) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: Rule::Clauses,
        reason,
        mend: mend.to_owned(),
    }
}

/// The clauses are C1, C2, C3 … without a gap.
fn check_numbers(contract: &Named) -> Vec<Violation> {
    if contract.is_empty() {
        return vec![violation(
            CONTRACT,
            1,
            "the contract has no table of clauses".to_owned(),
            "keep one row `| C1 Name | promise |` for each clause",
        )];
    }
    let numbered = contract.iter().zip(1..);
    numbered
        .filter(|((clause, _), expected)| *clause != expected)
        .take(1)
        .map(|((clause, line), expected)| {
            violation(
                CONTRACT,
                line.number,
                format!("C{clause} stands where C{expected} is missing"),
                "number the clauses without a gap; a clause that was promised stays",
            )
        })
        .collect()
}

/// The contract, the trait and the kit know the same clauses by the same names.
fn check_sides(contract: &Named, port: &Named, kit: &Named) -> Vec<Violation> {
    let mut violations = Vec::new();
    let sides = [
        (PORT, port, "the doc lines of `CheckpointStore`"),
        (LIST, kit, "`Clause`"),
    ];
    for (file, side, what) in sides {
        for (clause, line) in contract {
            match side.get(clause) {
                None => violations.push(violation(
                    CONTRACT,
                    line.number,
                    format!("C{clause} {} is missing from {what} in {file}", line.title),
                    "add it there, in the words of the contract",
                )),
                Some(other) if other.title != line.title => violations.push(violation(
                    file,
                    other.number,
                    format!(
                        "C{clause} is called `{}`, and `{}` in {CONTRACT}",
                        other.title, line.title
                    ),
                    "call a clause by one name everywhere",
                )),
                Some(_) => {}
            }
        }
        for (clause, line) in side {
            if !contract.contains_key(clause) {
                violations.push(violation(
                    file,
                    line.number,
                    format!("C{clause} is no clause of {CONTRACT}"),
                    "add the clause to the contract, or take it out here",
                ));
            }
        }
    }
    violations
}

/// Each clause has a case, each case a clause, and the name of a case tells which.
fn check_cases(contract: &Named, cases: &[Case]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let guarded: BTreeSet<u32> = cases.iter().map(|case| case.clause).collect();
    for (clause, line) in contract {
        if !guarded.contains(clause) {
            violations.push(violation(
                CONTRACT,
                line.number,
                format!("C{clause} {} has no conformance case", line.title),
                "add a case to the list in crates/piton-testkit/src/list.rs, and a broken store \
                 that it catches",
            ));
        }
    }
    for case in cases {
        if !contract.contains_key(&case.clause) {
            violations.push(violation(
                LIST,
                case.line,
                format!(
                    "`{}` is a case of C{}, which is no clause",
                    case.name, case.clause
                ),
                "name the clause that the case holds",
            ));
        }
        if number_in_name(&case.name) != Some(case.clause) {
            violations.push(violation(
                LIST,
                case.line,
                format!("`{}` is listed under C{}", case.name, case.clause),
                "begin the name with the clause: `c05_…` for C5",
            ));
        }
    }
    violations
}

/// No case is written and never run.
fn check_functions(survey: &Survey, cases: &[Case]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in survey
        .files
        .iter()
        .filter(|file| file.path.starts_with(CASES))
    {
        for item in &file.syntax.items {
            let Item::Fn(function) = item else {
                continue;
            };
            let name = function.sig.ident.to_string();
            let is_case = number_in_name(&name).is_some();
            if is_case && !cases.iter().any(|case| case.name == name) {
                violations.push(violation(
                    &file.path,
                    function.sig.ident.span().start().line,
                    format!("the case `{name}` is not in the list, so no store runs it"),
                    "add it to `for_each_case!` in crates/piton-testkit/src/list.rs",
                ));
            }
        }
    }
    violations
}

/// The documentation of the port and of the kit speaks of clauses that exist.
fn check_mentions(survey: &Survey, contract: &Named) -> Vec<Violation> {
    let mut violations = Vec::new();
    let speaks =
        |file: &&ParsedFile| file.path.starts_with(PORT_CRATE) || file.path.starts_with(KIT);
    for file in survey.files.iter().filter(speaks) {
        for (line, text) in all_docs(file) {
            for clause in mentioned(&text) {
                if !contract.contains_key(&clause) {
                    violations.push(violation(
                        &file.path,
                        line,
                        format!("the text speaks of C{clause}, which is no clause of {CONTRACT}"),
                        "name the clause that is meant",
                    ));
                }
            }
        }
    }
    violations
}

/// The number in `c05_…`.
fn number_in_name(name: &str) -> Option<u32> {
    let (digits, _) = name.strip_prefix('c')?.split_once('_')?;
    (digits.len() == 2).then(|| digits.parse().ok()).flatten()
}

/// The number of a word such as `C5`.
fn clause_number(word: &str) -> Option<u32> {
    let digits = word.strip_prefix('C')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

fn mentioned(text: &str) -> Vec<u32> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter_map(clause_number)
        .collect()
}

/// Rows `| C5 Exclusive | … |`.
fn contract_clauses(text: &str) -> Named {
    let rows = text.lines().zip(1..).filter_map(|(line, number)| {
        let (head, _) = line.strip_prefix('|')?.split_once('|')?;
        let (word, title) = head.trim().split_once(' ')?;
        let title = title.trim().to_owned();
        Some((clause_number(word)?, Line { number, title }))
    });
    rows.collect()
}

/// Doc lines `- C5 Exclusive: …` of the trait.
fn trait_clauses(file: &ParsedFile) -> Named {
    let mut found = Named::new();
    for item in &file.syntax.items {
        let Item::Trait(item) = item else {
            continue;
        };
        if item.ident != "CheckpointStore" {
            continue;
        }
        for (number, text) in docs(&item.attrs) {
            let named = text
                .trim()
                .strip_prefix("- ")
                .and_then(|text| text.split_once(':'))
                .and_then(|(head, _)| head.split_once(' '));
            if let Some((word, title)) = named
                && let Some(clause) = clause_number(word)
            {
                let title = title.to_owned();
                found.insert(clause, Line { number, title });
            }
        }
    }
    found
}

/// The members of `Clause`, and the entries of `for_each_case!`.
fn kit_clauses(file: &ParsedFile) -> (Named, Vec<Case>) {
    let mut clauses = Named::new();
    let mut cases = Vec::new();
    for item in &file.syntax.items {
        if let Item::Macro(item) = item
            && item
                .ident
                .as_ref()
                .is_some_and(|name| name == "for_each_case")
        {
            collect_cases(&item.mac.tokens, &mut cases);
        }
        let Item::Enum(item) = item else {
            continue;
        };
        for variant in item.variants.iter().filter(|_| item.ident == "Clause") {
            let Some(clause) = clause_number(&variant.ident.to_string()) else {
                continue;
            };
            let first = docs(&variant.attrs).into_iter().next();
            let text = first.map(|(_, text)| text).unwrap_or_default();
            let end = text.find([':', '.']).unwrap_or(text.len());
            let title = text[..end].trim().to_owned();
            let number = variant.ident.span().start().line;
            clauses.insert(clause, Line { number, title });
        }
    }
    (clauses, cases)
}

/// Entries `C5 c05_name;` at any depth.
fn collect_cases(tokens: &TokenStream, found: &mut Vec<Case>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for pair in trees.windows(2) {
        if let [TokenTree::Ident(clause), TokenTree::Ident(name)] = pair
            && let Some(clause) = clause_number(&clause.to_string())
        {
            found.push(Case {
                clause,
                name: name.to_string(),
                line: name.span().start().line,
            });
        }
    }
    for tree in trees {
        if let TokenTree::Group(group) = tree {
            collect_cases(&group.stream(), found);
        }
    }
}

/// The doc lines among attributes, with their numbers.
fn docs(attributes: &[Attribute]) -> Vec<(usize, String)> {
    let lines = attributes.iter().filter_map(|attribute| {
        let Meta::NameValue(pair) = &attribute.meta else {
            return None;
        };
        let Expr::Lit(value) = &pair.value else {
            return None;
        };
        let Lit::Str(text) = &value.lit else {
            return None;
        };
        let line = attribute.pound_token.span.start().line;
        pair.path.is_ident("doc").then(|| (line, text.value()))
    });
    lines.collect()
}

/// Every doc line of a file.
fn all_docs(file: &ParsedFile) -> Vec<(usize, String)> {
    struct Reader(Vec<(usize, String)>);
    impl syn::visit::Visit<'_> for Reader {
        fn visit_attribute(&mut self, attribute: &Attribute) {
            self.0.extend(docs(std::slice::from_ref(attribute)));
        }
    }
    let mut reader = Reader(Vec::new());
    syn::visit::Visit::visit_file(&mut reader, &file.syntax);
    reader.0
}

#[cfg(test)]
mod tests;

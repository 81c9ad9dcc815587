//! F4: a closed set is matched arm by arm, so that a new member stops the build where it matters.
//!
//! Over the sets in the table no arm may be `_` or a bare name, no `matches!`, `if let`,
//! `while let` or `let … else` may leave a rest unsaid, and no attribute may open the set. A match
//! is judged by the variants that its arms name, at the place in the pattern where they stand:
//! `Err(_)` beside `Ok(Verdict::A)` hides nothing, `Ok(_)` does.
//!
//! Tests, benches and the conformance kit demand one variant and fail on every other, so they are
//! not judged. `==` is not judged either: it names a value, not a case.

mod shape;

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, ExprLet, ExprMatch, Item, ItemEnum, ItemImpl, ItemMod, Local, Macro, Pat};

use self::shape::{Seen, hidden_rests, seen_in};
use super::syntax::{
    MacroBody, NamePath, ParsedFile, Survey, is_test_only, item_attributes, macro_body,
    path_of_type, segments, without_self,
};
use super::{Rule, Violation};

/// The crates whose code is a test.
const UNJUDGED: &[&str] = &["crates/piton-testkit/"];

/// A closed set by its crate and name.
#[derive(Clone, Copy)]
struct Closed {
    package: &'static str,
    name: &'static str,
}

const fn closed(package: &'static str, name: &'static str) -> Closed {
    Closed { package, name }
}

/// Every closed set.
const CLOSED: &[Closed] = &[
    // What a walk gives, and what follows from it.
    closed("piton_verify", "ReplayVerdict"),
    closed("piton_verify", "AuditVerdict"),
    closed("piton_verify", "HydrationResult"),
    closed("piton_verify", "MismatchCause"),
    closed("piton_verify", "TornReason"),
    closed("piton_verify", "PinStatus"),
    // The steps on the way to a verdict.
    closed("piton_verify", "Step"),
    closed("piton_verify", "Finding"),
    closed("piton_verify", "Outcome"),
    // States, and why a workflow stands in one.
    closed("piton_ledger", "VulnState"),
    closed("piton_ledger", "VulnLedgerState"),
    closed("piton_ledger", "Role"),
    closed("piton_ledger", "ReviewReason"),
    closed("piton_ledger", "FailedUnrecoverableReason"),
];

const TABLE: &str = "xtask/src/fence/closed.rs";

/// Finds hidden rests and opened sets, and rows of the table without an enum.
pub(super) fn check(survey: &Survey) -> Vec<Violation> {
    check_sets(survey, CLOSED)
}

fn check_sets(survey: &Survey, sets: &[Closed]) -> Vec<Violation> {
    let mut violations = BTreeSet::new();
    for set in sets {
        if survey.names.variants(set.package, set.name).is_none() {
            violations.insert(violation(
                TABLE,
                1,
                format!(
                    "the table names `{}::{}`, which is no enum",
                    set.package, set.name
                ),
                "take the row out, or give it the name that the enum has now",
            ));
        }
    }
    let judged = |file: &&ParsedFile| !UNJUDGED.iter().any(|prefix| file.path.starts_with(prefix));
    for file in survey.files.iter().filter(judged) {
        let mut judge = Judge {
            sets,
            survey,
            file: &file.path,
            module: file.module.clone(),
            self_type: None,
            violations: &mut violations,
        };
        judge.visit_file(&file.syntax);
    }
    violations.into_iter().collect()
}

fn violation(file: &str, line: usize, reason: String, mend: &str) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: Rule::ClosedSets,
        reason,
        mend: mend.to_owned(),
    }
}

struct Judge<'a> {
    sets: &'a [Closed],
    survey: &'a Survey,
    file: &'a str,
    module: NamePath,
    self_type: Option<NamePath>,
    violations: &'a mut BTreeSet<Violation>,
}

impl Judge<'_> {
    /// The closed set of which a path, as written here, is a variant.
    fn set_of(&self, path: &syn::Path) -> Option<&'static str> {
        let path = without_self(segments(path), self.self_type.as_ref());
        let full = self.survey.names.resolve(&self.module, &path);
        let is_variant = |set: &&Closed| {
            let variants = self.survey.names.variants(set.package, set.name);
            full.iter().any(|path| match path.as_slice() {
                [package, .., name, variant] => {
                    package == set.package
                        && name == set.name
                        && variants.is_some_and(|variants| variants.contains(variant))
                }
                _ => false,
            })
        };
        self.sets.iter().find(is_variant).map(|set| set.name)
    }

    fn seen_in(&self, pattern: &Pat) -> Vec<Seen> {
        seen_in(pattern, &|path| self.set_of(path))
    }

    /// A pattern beside which every other case is silent.
    fn judge_shortcut(&mut self, how: &str, line: usize, pattern: &Pat) {
        let named = self.seen_in(pattern).into_iter().find_map(Seen::into_set);
        if let Some(set) = named {
            self.violations.insert(violation(
                self.file,
                line,
                format!("`{how}` leaves the rest of `{set}` unsaid"),
                "write a `match` with an arm for each variant",
            ));
        }
    }

    fn judge_openness(&mut self, attributes: &[Attribute], name: &str) {
        for attribute in attributes {
            let is_serde = attribute.path().is_ident("serde");
            let says = |wanted: &str| match &attribute.meta {
                syn::Meta::Path(path) => path.is_ident(wanted),
                syn::Meta::List(list) => has_word(&list.tokens, wanted),
                syn::Meta::NameValue(_) => false,
            };
            let opening = if says("non_exhaustive") {
                "non_exhaustive"
            } else if is_serde && says("other") {
                "serde(other)"
            } else {
                continue;
            };
            self.violations.insert(violation(
                self.file,
                attribute.pound_token.span.start().line,
                format!("`#[{opening}]` opens `{name}`, which is closed by contract"),
                "take the attribute away; a new variant is a change that callers must see",
            ));
        }
    }
}

/// Whether an identifier stands among tokens, groups included.
fn has_word(tokens: &TokenStream, wanted: &str) -> bool {
    tokens.clone().into_iter().any(|tree| match tree {
        TokenTree::Ident(ident) => ident == wanted,
        TokenTree::Group(group) => has_word(&group.stream(), wanted),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

impl Visit<'_> for Judge<'_> {
    fn visit_item(&mut self, item: &Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_impl(&mut self, item: &ItemImpl) {
        let outer = std::mem::replace(&mut self.self_type, path_of_type(&item.self_ty));
        visit::visit_item_impl(self, item);
        self.self_type = outer;
    }

    fn visit_item_enum(&mut self, item: &ItemEnum) {
        let is_closed = self.sets.iter().any(|set| {
            self.module
                .first()
                .is_some_and(|first| first == set.package)
                && item.ident == set.name
        });
        if is_closed {
            let name = item.ident.to_string();
            self.judge_openness(&item.attrs, &name);
            for variant in &item.variants {
                self.judge_openness(&variant.attrs, &name);
            }
        }
    }

    fn visit_expr_match(&mut self, expression: &ExprMatch) {
        let arms: Vec<Vec<Seen>> = expression
            .arms
            .iter()
            .map(|arm| self.seen_in(&arm.pat))
            .collect();
        for rest in hidden_rests(&arms) {
            self.violations.insert(violation(
                self.file,
                rest.line,
                format!("this arm takes the rest of `{}` unnamed", rest.set),
                "name each remaining variant, joined by `|` where they share an arm",
            ));
        }
        visit::visit_expr_match(self, expression);
    }

    fn visit_expr_let(&mut self, expression: &ExprLet) {
        let line = expression.let_token.span.start().line;
        self.judge_shortcut("if let", line, &expression.pat);
        visit::visit_expr_let(self, expression);
    }

    fn visit_local(&mut self, local: &Local) {
        if local
            .init
            .as_ref()
            .is_some_and(|init| init.diverge.is_some())
        {
            let line = local.let_token.span.start().line;
            self.judge_shortcut("let … else", line, &local.pat);
        }
        visit::visit_local(self, local);
    }

    fn visit_macro(&mut self, call: &Macro) {
        let name = segments(&call.path).pop().unwrap_or_default();
        self.visit_tokens(&name, &call.tokens);
    }
}

impl Judge<'_> {
    fn visit_tokens(&mut self, name: &str, tokens: &TokenStream) {
        match macro_body(name, tokens) {
            MacroBody::Comparison(value, pattern) => {
                let mut trees = tokens.clone().into_iter();
                let line = trees.next().map_or(1, |tree| tree.span().start().line);
                self.judge_shortcut(&format!("{name}!"), line, &pattern);
                self.visit_expr(&value);
            }
            MacroBody::Expressions(expressions) => {
                expressions.iter().for_each(|inner| self.visit_expr(inner));
            }
            MacroBody::Statements(statements) => {
                statements.iter().for_each(|inner| self.visit_stmt(inner));
            }
            MacroBody::Opaque(tokens) => {
                // The arms of a `select!`, the body of a `macro_rules!`: their groups are code.
                for tree in tokens {
                    if let TokenTree::Group(group) = tree {
                        self.visit_tokens("", &group.stream());
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;

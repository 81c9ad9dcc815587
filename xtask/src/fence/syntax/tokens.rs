//! What stands inside a macro call: code where it can be read as code, else paths among tokens.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Block, Expr, Pat, Stmt, Token};

use super::{NamePath, word};

/// The macros that compare a value with one pattern.
const PATTERN_MACROS: &[&str] = &["matches", "assert_matches", "debug_assert_matches"];

/// The tokens of a macro call, read as far as that goes.
pub(in crate::fence) enum MacroBody {
    /// One value and one pattern, which may have a guard.
    Comparison(Box<Expr>, Box<Pat>),
    Expressions(Vec<Expr>),
    Statements(Vec<Stmt>),
    /// What inner groups may still make sense of.
    Opaque(TokenStream),
}

/// Reads the tokens of the macro with this name.
pub(in crate::fence) fn macro_body(name: &str, tokens: &TokenStream) -> MacroBody {
    if PATTERN_MACROS.contains(&name)
        && let Ok(body) = comparison.parse2(tokens.clone())
    {
        return body;
    }
    let expressions = Punctuated::<Expr, Token![,]>::parse_terminated;
    if let Ok(parsed) = expressions.parse2(tokens.clone()) {
        return MacroBody::Expressions(parsed.into_iter().collect());
    }
    match Block::parse_within.parse2(tokens.clone()) {
        Ok(statements) => MacroBody::Statements(statements),
        Err(_) => MacroBody::Opaque(tokens.clone()),
    }
}

fn comparison(input: ParseStream<'_>) -> syn::Result<MacroBody> {
    let value: Expr = input.parse()?;
    input.parse::<Token![,]>()?;
    let pattern = Pat::parse_multi_with_leading_vert(input)?;
    // A guard or a message: neither changes what the pattern leaves out.
    input.parse::<TokenStream>()?;
    Ok(MacroBody::Comparison(Box::new(value), Box::new(pattern)))
}

/// A path among tokens.
pub(super) struct TokenPath {
    pub(super) path: NamePath,
    pub(super) line: usize,
    pub(super) role: TokenRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenRole {
    Path,
    Glob,
    Macro,
    Method,
}

/// Finds every path among tokens, groups included.
pub(super) fn paths_in(tokens: &TokenStream) -> Vec<TokenPath> {
    let mut found = Vec::new();
    scan(tokens, &NamePath::new(), &mut found);
    found
}

fn scan(tokens: &TokenStream, prefix: &NamePath, found: &mut Vec<TokenPath>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut at = 0;
    while let Some(tree) = trees.get(at) {
        if let TokenTree::Group(group) = tree {
            scan(&group.stream(), &NamePath::new(), found);
        }
        let TokenTree::Ident(ident) = tree else {
            at += 1;
            continue;
        };
        let line = ident.span().start().line;
        let name = word(ident);
        let after_dot = punctuation(&trees, at.wrapping_sub(1)) == Some('.')
            && punctuation(&trees, at.wrapping_sub(2)) != Some('.');
        let before = punctuation(&trees, at.wrapping_sub(1));
        let is_fragment = before == Some('$') && name != "crate";
        if after_dot || is_fragment || before == Some('\'') {
            if after_dot && is_call(&trees, at + 1) {
                found.push(TokenPath {
                    path: vec![name],
                    line,
                    role: TokenRole::Method,
                });
            }
            at += 1;
            continue;
        }
        let mut path = prefix.clone();
        path.push(name);
        at = scan_path(&trees, at + 1, path, line, found);
    }
}

/// Takes the rest of a path whose first segment has been read, and gives where it ends.
fn scan_path(
    trees: &[TokenTree],
    mut at: usize,
    mut path: NamePath,
    line: usize,
    found: &mut Vec<TokenPath>,
) -> usize {
    let mut role = TokenRole::Path;
    while punctuation(trees, at) == Some(':') && punctuation(trees, at + 1) == Some(':') {
        match trees.get(at + 2) {
            Some(TokenTree::Ident(ident)) => {
                path.push(word(ident));
                at += 3;
            }
            Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
                role = TokenRole::Glob;
                at += 3;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                scan(&group.stream(), &path, found);
                return at + 3;
            }
            _ => break,
        }
    }
    let is_bang = punctuation(trees, at) == Some('!');
    if is_bang && matches!(trees.get(at + 1), Some(TokenTree::Group(_))) {
        role = TokenRole::Macro;
        at += 1;
    }
    found.push(TokenPath { path, line, role });
    at
}

fn punctuation(trees: &[TokenTree], at: usize) -> Option<char> {
    match trees.get(at)? {
        TokenTree::Punct(punct) => Some(punct.as_char()),
        TokenTree::Group(_) | TokenTree::Ident(_) | TokenTree::Literal(_) => None,
    }
}

fn is_call(trees: &[TokenTree], at: usize) -> bool {
    matches!(trees.get(at), Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, TokenRole)]) {
        let tokens: TokenStream = text.parse().expect("tokens");
        let found: Vec<_> = paths_in(&tokens)
            .into_iter()
            .map(|found| (found.path.join("::"), found.role))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, role)| ((*path).to_owned(), *role))
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn paths_are_found_whole() {
        check(
            "a::b::c(d)",
            &[("a::b::c", TokenRole::Path), ("d", TokenRole::Path)],
        );
        check("::a::b", &[("a::b", TokenRole::Path)]);
        check("[(a::b)]", &[("a::b", TokenRole::Path)]);
        check("$crate::a", &[("crate::a", TokenRole::Path)]);
        check(
            "a::{b, c::d}",
            &[("a::b", TokenRole::Path), ("a::c::d", TokenRole::Path)],
        );
        check("a::*", &[("a", TokenRole::Glob)]);
    }

    #[test]
    fn calls_are_told_apart() {
        check(
            "a::b!(c)",
            &[("a::b", TokenRole::Macro), ("c", TokenRole::Path)],
        );
        check(
            "a != (b)",
            &[("a", TokenRole::Path), ("b", TokenRole::Path)],
        );
        check(
            "a.b(c)",
            &[
                ("a", TokenRole::Path),
                ("b", TokenRole::Method),
                ("c", TokenRole::Path),
            ],
        );
        check("a..b", &[("a", TokenRole::Path), ("b", TokenRole::Path)]);
    }

    #[test]
    fn fields_fragments_lifetimes_and_literals_are_no_paths() {
        check("a.b", &[("a", TokenRole::Path)]);
        check("$a", &[]);
        check("&'a 1 \"b::c\" 'd'", &[]);
    }
}

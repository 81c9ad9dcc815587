//! What the rules about code see: parsed files, what their names stand for, and what they say.
//!
//! Code that only tests contain is left out: `#[cfg(test)]` and `#[test]` items, and files whose
//! `mod` line is one. It must not judge anything.

mod attributes;
mod facts;
mod names;
mod tokens;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use syn::Item;

pub(super) use self::attributes::{is_test_only, item_attributes};
pub(super) use self::facts::{Fact, Said};
pub(super) use self::names::Names;
pub(super) use self::tokens::{MacroBody, macro_body};

use super::TextFile;

/// The segments of a path; a full one begins with the name of a crate.
pub(super) type NamePath = Vec<String>;

/// A file of a crate and the module that it is.
pub(super) struct ParsedFile {
    pub(super) path: String,
    pub(super) module: NamePath,
    pub(super) syntax: syn::File,
}

/// Everything that the rules about code look at.
pub(super) struct Survey {
    pub(super) files: Vec<ParsedFile>,
    pub(super) names: Names,
    pub(super) facts: Vec<Fact>,
}

impl Survey {
    /// Parses the sources of crates and of examples.
    ///
    /// # Errors
    ///
    /// When a file is not Rust.
    pub(super) fn of(sources: &[TextFile]) -> Result<Self> {
        let mut files = Vec::new();
        for source in sources {
            let Some(module) = module_of(&source.path) else {
                continue;
            };
            let syntax = syn::parse_file(&source.text)
                .with_context(|| format!("{} can't be parsed", source.path))?;
            files.push(ParsedFile {
                path: source.path.clone(),
                module,
                syntax,
            });
        }
        let tests = test_modules(&files);
        files.retain(|file| {
            let is_in = |module: &NamePath| file.module.starts_with(module);
            !is_test_only(&file.syntax.attrs) && !tests.iter().any(is_in)
        });
        let names = Names::of(&files);
        let facts = files
            .iter()
            .flat_map(|file| facts::facts_of(file, &names))
            .collect();
        Ok(Self {
            files,
            names,
            facts,
        })
    }
}

/// The module that a file is, or `None` for what isn't part of a library, program or example.
fn module_of(path: &str) -> Option<NamePath> {
    if path.starts_with("examples/") {
        // Each is a crate of its own, with a name that no path can spell.
        return Some(vec![path.to_owned()]);
    }
    let (package, inside) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let mut module = vec![package.replace('-', "_")];
    let steps = inside.strip_suffix(".rs")?.split('/');
    module.extend(
        steps
            .filter(|step| !["lib", "main", "mod"].contains(step))
            .map(str::to_owned),
    );
    Some(module)
}

/// The modules that are files of their own and that only tests contain.
fn test_modules(files: &[ParsedFile]) -> BTreeSet<NamePath> {
    let mut found = BTreeSet::new();
    for file in files {
        for item in &file.syntax.items {
            if let Item::Mod(module) = item
                && module.content.is_none()
                && is_test_only(&module.attrs)
            {
                let mut path = file.module.clone();
                path.push(module.ident.to_string());
                found.insert(path);
            }
        }
    }
    found
}

/// The segments of a path without their arguments.
pub(super) fn segments(path: &syn::Path) -> NamePath {
    let segments = path.segments.iter();
    segments.map(|segment| word(&segment.ident)).collect()
}

/// An identifier as a name, so that `r#type` and `type` are one.
fn word(ident: &proc_macro2::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").unwrap_or(&text).to_owned()
}

/// Puts the type of an `impl` in the place of `Self`.
pub(super) fn without_self(path: NamePath, self_type: Option<&NamePath>) -> NamePath {
    match (path.split_first(), self_type) {
        (Some((first, rest)), Some(self_type)) if first == "Self" => {
            let mut full = self_type.clone();
            full.extend_from_slice(rest);
            full
        }
        _ => path,
    }
}

/// The path of a type, where the type is one.
pub(super) fn path_of_type(written: &syn::Type) -> Option<NamePath> {
    if let syn::Type::Path(written) = written
        && written.qself.is_none()
    {
        return Some(segments(&written.path));
    }
    None
}

/// The line of a path's first segment.
pub(super) fn line_of(path: &syn::Path) -> usize {
    let first = path.segments.first();
    first.map_or(1, |segment| segment.ident.span().start().line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_module(path: &str, expected: Option<&[&str]>) {
        let expected = expected.map(|names| names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(module_of(path), expected, "{path}");
    }

    #[test]
    fn a_path_tells_the_module() {
        check_module("crates/piton-a/src/lib.rs", Some(&["piton_a"]));
        check_module("crates/piton-a/src/b.rs", Some(&["piton_a", "b"]));
        check_module("crates/piton-a/src/b/mod.rs", Some(&["piton_a", "b"]));
        check_module("crates/piton-a/src/b/c.rs", Some(&["piton_a", "b", "c"]));
        check_module("examples/a.rs", Some(&["examples/a.rs"]));
        check_module("crates/piton-a/tests/b.rs", None);
        check_module("xtask/src/main.rs", None);
    }

    #[test]
    fn files_that_only_tests_contain_are_left_out() {
        let sources = [
            ("crates/a/src/lib.rs", "#[cfg(test)] mod b; mod c; mod d;"),
            ("crates/a/src/b.rs", "fn in_b() {}"),
            ("crates/a/src/b/deep.rs", "fn in_deep() {}"),
            ("crates/a/src/c.rs", "#![cfg(test)] fn in_c() {}"),
            ("crates/a/src/d.rs", "fn in_d() {}"),
        ]
        .map(|(path, text)| TextFile {
            path: path.to_owned(),
            text: text.to_owned(),
        });
        let survey = Survey::of(&sources).expect("all of it is Rust");
        let paths: Vec<_> = survey.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/src/lib.rs", "crates/a/src/d.rs"]);
    }

    #[test]
    fn what_is_not_rust_is_an_error_that_names_the_file() {
        let source = TextFile {
            path: "crates/a/src/lib.rs".to_owned(),
            text: "fn {".to_owned(),
        };
        let error = Survey::of(&[source]).err().expect("it is not Rust");
        assert!(format!("{error:#}").contains("crates/a/src/lib.rs"));
    }
}

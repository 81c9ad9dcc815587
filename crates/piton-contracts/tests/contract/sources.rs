//! Owns the source text of the crates and its items. It knows nothing of what a contract is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Item, Visibility};

/// The text of every source file beneath `crates/*/src`, by its path from `crates`.
pub(crate) struct Sources(BTreeMap<String, String>);

/// An item at the top of a file, and the crate that it stands in.
pub(crate) struct Placed {
    pub(crate) package: String,
    pub(crate) item: Item,
}

impl Sources {
    pub(crate) fn read() -> Self {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut files = BTreeMap::new();
        for package in entries(&crates) {
            collect(&crates, &package.join("src"), &mut files);
        }
        Self(files)
    }

    /// Replaces one passage, which must be there exactly once.
    pub(crate) fn edited(mut self, path: &str, passage: &str, replacement: &str) -> Self {
        let text = self.0.get_mut(path).expect("the file is there");
        assert_eq!(text.matches(passage).count(), 1, "{path}: {passage}");
        *text = text.replace(passage, replacement);
        self
    }

    /// Adds a file.
    pub(crate) fn with(mut self, path: &str, text: &str) -> Self {
        self.0.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Gives the items at the top of the files of all crates that `belongs` accepts.
    pub(crate) fn items(&self, belongs: impl Fn(&str) -> bool) -> Vec<Placed> {
        let mut items = Vec::new();
        for (path, text) in &self.0 {
            let package = path.split('/').next().unwrap_or(path);
            if belongs(package) {
                let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
                for item in file.items {
                    assert!(
                        !is_inner_module(&item),
                        "{path}: teach this test to look into a module within a file"
                    );
                    items.push(Placed {
                        package: package.to_owned(),
                        item,
                    });
                }
            }
        }
        items
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

fn collect(crates: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for path in entries(folder) {
        if path.is_dir() {
            collect(crates, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source is text");
            let relative = path.strip_prefix(crates).expect("the path is below");
            files.insert(relative.to_string_lossy().into_owned(), text);
        }
    }
}

/// Says whether an item is a public module with its content in the same file; a private one, such
/// as that of tests, may hold what it likes.
fn is_inner_module(item: &Item) -> bool {
    if let Item::Mod(module) = item {
        return is_public(&module.vis) && module.content.is_some();
    }
    false
}

pub(crate) fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Prints syntax on one line, so that neither formatting nor a trailing comma tells.
pub(crate) fn code(syntax: impl ToTokens) -> String {
    let mut text = syntax.to_token_stream().to_string();
    for (loose, tight) in [
        (" ,", ","),
        (" (", "("),
        (" :", ":"),
        (":: ", "::"),
        ("& ", "&"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        (",)", ")"),
    ] {
        text = text.replace(loose, tight);
    }
    text
}

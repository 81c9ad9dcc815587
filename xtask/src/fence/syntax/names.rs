//! What a name stands for: follows `use`, renames, globs, `extern crate` and type aliases through
//! the modules of every crate.
//!
//! It knows no types and no shadowing, so it may offer more than one answer; a rule asks whether
//! any of them is forbidden.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Item, ItemEnum, ItemExternCrate, ItemMod, ItemType, ItemUse, UseTree};

use super::attributes::{is_test_only, item_attributes};
use super::{NamePath, ParsedFile, path_of_type, word};

/// How many globs may lie between a name and what it stands for.
const MAX_GLOBS: u8 = 3;

/// The longest path that is followed; a cycle of renames may lengthen one without end.
const MAX_SEGMENTS: usize = 12;

/// What the modules of all crates define and rename.
pub(in crate::fence) struct Names {
    modules: BTreeMap<NamePath, Module>,
    enums: BTreeMap<NamePath, BTreeSet<String>>,
}

#[derive(Default)]
struct Module {
    aliases: BTreeMap<String, BTreeSet<NamePath>>,
    globs: BTreeSet<NamePath>,
}

/// A path on its way to what it stands for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Stage {
    module: NamePath,
    path: NamePath,
    globs: u8,
}

impl Names {
    pub(super) fn of(files: &[ParsedFile]) -> Self {
        let mut collector = Collector {
            names: Self {
                modules: BTreeMap::new(),
                enums: BTreeMap::new(),
            },
            module: NamePath::new(),
        };
        for file in files {
            collector.module = file.module.clone();
            collector.enter();
            collector.visit_file(&file.syntax);
        }
        collector.names
    }

    /// The variants of an enum by its crate and name, or `None` where there is no such enum.
    pub(in crate::fence) fn variants(
        &self,
        package: &str,
        name: &str,
    ) -> Option<&BTreeSet<String>> {
        let mut enums = self.enums.iter();
        enums
            .find(|(path, _)| {
                path.first().is_some_and(|first| first == package)
                    && path.last().is_some_and(|last| last == name)
            })
            .map(|(_, variants)| variants)
    }

    /// Every full path that `path`, written in `module`, may stand for.
    pub(in crate::fence) fn resolve(
        &self,
        module: &[String],
        path: &[String],
    ) -> BTreeSet<NamePath> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut stages = vec![Stage {
            module: module.to_vec(),
            path: path.to_vec(),
            globs: 0,
        }];
        while let Some(stage) = stages.pop() {
            if stage.path.len() > MAX_SEGMENTS || !seen.insert(stage.clone()) {
                continue;
            }
            let Some(head) = stage.path.first() else {
                continue;
            };
            if let Some(full) = anchored(&stage.module, &stage.path) {
                self.follow_full(full, stage.globs, &mut found, &mut stages);
                continue;
            }
            let mut local = stage.module.clone();
            local.extend(stage.path.iter().cloned());
            self.follow_full(local, stage.globs, &mut found, &mut stages);
            if self.modules.contains_key(std::slice::from_ref(head)) {
                self.follow_full(stage.path.clone(), stage.globs, &mut found, &mut stages);
            }
            found.insert(stage.path.clone());
        }
        found
    }

    /// Notes a full path, and looks up its rest in the deepest module that it goes through.
    fn follow_full(
        &self,
        full: NamePath,
        globs: u8,
        found: &mut BTreeSet<NamePath>,
        stages: &mut Vec<Stage>,
    ) {
        let depth = (1..full.len())
            .rev()
            .find(|&depth| self.modules.contains_key(&full[..depth]));
        if let Some(depth) = depth {
            let (module, rest) = full.split_at(depth);
            self.follow(module, rest, globs, stages);
        }
        found.insert(full);
    }

    fn follow(&self, module: &[String], rest: &[String], globs: u8, stages: &mut Vec<Stage>) {
        let (Some(names), Some((head, tail))) = (self.modules.get(module), rest.split_first())
        else {
            return;
        };
        for target in names.aliases.get(head).into_iter().flatten() {
            stages.push(Stage {
                module: module.to_vec(),
                path: [target, tail].concat(),
                globs,
            });
        }
        if globs < MAX_GLOBS {
            for glob in &names.globs {
                stages.push(Stage {
                    module: module.to_vec(),
                    path: [glob.as_slice(), rest].concat(),
                    globs: globs + 1,
                });
            }
        }
    }
}

/// The full form of a path that says itself where it begins.
fn anchored(module: &[String], path: &[String]) -> Option<NamePath> {
    let (head, mut rest) = path.split_first()?;
    let mut full = match head.as_str() {
        "crate" => module.get(..1)?.to_vec(),
        "self" => module.to_vec(),
        "super" => module.get(..module.len().checked_sub(1)?)?.to_vec(),
        _ => return None,
    };
    while let Some(("super", further)) =
        rest.split_first().map(|(head, tail)| (head.as_str(), tail))
    {
        full.pop();
        rest = further;
    }
    full.extend_from_slice(rest);
    Some(full)
}

/// One leaf of a `use`: what is imported, under which name; no name for a glob.
pub(super) struct Leaf {
    pub(super) path: NamePath,
    pub(super) name: Option<String>,
    pub(super) line: usize,
}

/// The leaves of a `use`, nested groups included.
pub(super) fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect_leaves(tree, &NamePath::new(), &mut found);
    found
}

fn collect_leaves(tree: &UseTree, prefix: &NamePath, found: &mut Vec<Leaf>) {
    // `a::{self}` imports `a`, and `self` alone is where a path begins.
    let join = |ident: &proc_macro2::Ident| {
        let mut path = prefix.clone();
        if ident != "self" || path.is_empty() {
            path.push(word(ident));
        }
        path
    };
    match tree {
        UseTree::Path(tree) => collect_leaves(&tree.tree, &join(&tree.ident), found),
        UseTree::Name(tree) => {
            let path = join(&tree.ident);
            found.push(Leaf {
                name: path.last().cloned(),
                path,
                line: tree.ident.span().start().line,
            });
        }
        UseTree::Rename(tree) => found.push(Leaf {
            path: join(&tree.ident),
            name: Some(word(&tree.rename)),
            line: tree.ident.span().start().line,
        }),
        UseTree::Glob(tree) => found.push(Leaf {
            path: prefix.clone(),
            name: None,
            line: tree.star_token.span.start().line,
        }),
        UseTree::Group(tree) => {
            for item in &tree.items {
                collect_leaves(item, prefix, found);
            }
        }
    }
}

struct Collector {
    names: Names,
    module: NamePath,
}

impl Collector {
    fn enter(&mut self) -> &mut Module {
        self.names.modules.entry(self.module.clone()).or_default()
    }

    fn alias(&mut self, name: String, path: NamePath) {
        // An import under its own name says where to look, a path to itself says nothing.
        if path.as_slice() != std::slice::from_ref(&name) {
            let aliases = &mut self.enter().aliases;
            aliases.entry(name).or_default().insert(path);
        }
    }
}

impl Visit<'_> for Collector {
    fn visit_item(&mut self, item: &Item) {
        if !is_test_only(item_attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &ItemMod) {
        self.module.push(word(&module.ident));
        if module.content.is_some() {
            self.enter();
        }
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &ItemUse) {
        for leaf in leaves(&item.tree) {
            match leaf.name {
                Some(name) => self.alias(name, leaf.path),
                None => {
                    self.enter().globs.insert(leaf.path);
                }
            }
        }
    }

    fn visit_item_extern_crate(&mut self, item: &ItemExternCrate) {
        if let Some((_, rename)) = &item.rename {
            self.alias(word(rename), vec![word(&item.ident)]);
        }
    }

    fn visit_item_type(&mut self, item: &ItemType) {
        if let Some(path) = path_of_type(&item.ty) {
            self.alias(word(&item.ident), path);
        }
    }

    fn visit_item_enum(&mut self, item: &ItemEnum) {
        let mut path = self.module.clone();
        path.push(word(&item.ident));
        let variants = item.variants.iter().map(|variant| word(&variant.ident));
        self.names.enums.insert(path, variants.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::fixtures::survey;
    use super::*;

    fn split(path: &str) -> NamePath {
        path.split("::").map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(root: &str, module: &str, written: &str, expected: &str) {
        let names = survey(&[("crates/a/src/lib.rs", root)]).names;
        let found = names.resolve(&split(module), &split(written));
        assert!(found.contains(&split(expected)), "{written}: {found:?}");
    }

    #[test]
    fn a_path_begins_where_it_says() {
        let root = "use x::y as z; mod b { mod c {} }";
        check(root, "a::b::c", "crate::z::w", "x::y::w");
        check(root, "a::b::c", "super::super::z", "x::y");
        check(root, "a", "self::z", "x::y");
        check(root, "a::b::c", "super::d", "a::b::d");
        check(root, "a", "z::w", "x::y::w");
    }

    #[test]
    fn a_rename_leads_on_through_others() {
        check("use x as y; use y as z;", "a", "z::w", "x::w");
        check("pub mod b { pub use x::*; } use b::*;", "a", "y", "x::y");
        check("type A = x::Y<u8>; type B = A;", "a", "B::C", "x::Y::C");
        check("fn a() { use x as y; }", "a", "y::z", "x::z");
        check("use r#x as y;", "a", "y", "x");
    }

    #[test]
    fn a_name_of_another_module_stays_there() {
        let names = survey(&[("crates/a/src/lib.rs", "mod b { use x as y; }")]).names;
        let found = names.resolve(&split("a"), &split("y::z"));
        assert!(!found.contains(&split("x::z")), "{found:?}");
    }

    #[test]
    fn a_circle_ends() {
        check("use b as c; use c as b;", "a", "b::d", "c::d");
        check("use b::c as b;", "a", "b::d", "b::c::d");
        check("use self::*; use x::*;", "a", "y", "x::y");
    }
}

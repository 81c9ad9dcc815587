//! Reads what the rules judge: manifests, sources and the dependency graph.
//!
//! It must not judge anything itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind as CargoKind, Metadata, Package};

use super::clauses::CONTRACT;
use super::closure::{Graph, Node};
use super::purity::LINT_FILES;
use super::{Dependency, DependencyKind, Member, Presence, TextFile};
use crate::workspace::Workspace;

/// The folders whose Rust files the rules hold for.
const SOURCE_FOLDERS: &[&str] = &["crates", "xtask", "benches", "examples"];

#[derive(Clone)]
pub(super) struct Loaded {
    pub(super) members: Vec<Member>,
    pub(super) sources: Vec<TextFile>,
    pub(super) graph: Graph,
    /// Texts that rules compare with code; one that is missing is for its rule to tell.
    pub(super) documents: Vec<TextFile>,
}

pub(super) fn load(workspace: &Workspace) -> Result<Loaded> {
    let metadata = workspace.metadata()?;
    let members = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| member(&workspace.root, package))
        .collect::<Result<Vec<_>>>()?;
    let mut paths = Vec::new();
    for folder in SOURCE_FOLDERS {
        collect_rust_files(&workspace.root.join(folder), &mut paths)?;
    }
    paths.sort();
    let sources = paths
        .iter()
        .map(|path| text_file(&workspace.root, path))
        .collect::<Result<Vec<_>>>()?;
    let graph = graph(&metadata)?;
    let documents = LINT_FILES
        .iter()
        .chain([&CONTRACT])
        .map(|path| workspace.root.join(path))
        .filter(|path| path.exists())
        .map(|path| text_file(&workspace.root, &path))
        .collect::<Result<Vec<_>>>()?;
    Ok(Loaded {
        members,
        sources,
        graph,
        documents,
    })
}

fn member(root: &Path, package: &Package) -> Result<Member> {
    let dependencies = package
        .dependencies
        .iter()
        .map(|dependency| Dependency {
            name: dependency.name.clone(),
            kind: if dependency.kind == CargoKind::Development {
                DependencyKind::Development
            } else {
                DependencyKind::Shipped
            },
            presence: if dependency.optional {
                Presence::Optional
            } else {
                Presence::Always
            },
            features: dependency.features.clone(),
        })
        .collect();
    Ok(Member {
        name: package.name.to_string(),
        manifest: text_file(root, package.manifest_path.as_std_path())?,
        dependencies,
        features: package.features.clone().into_iter().collect(),
    })
}

/// Keeps only the normal edges: what a consumer's binary can contain.
fn graph(metadata: &Metadata) -> Result<Graph> {
    let nodes: BTreeMap<_, _> = metadata
        .packages
        .iter()
        .map(|package| {
            let node = Node {
                name: package.name.to_string(),
                version: package.version.to_string(),
            };
            (&package.id, node)
        })
        .collect();
    let resolve = metadata
        .resolve
        .as_ref()
        .context("cargo metadata came without a dependency graph")?;
    let mut graph = Graph::new();
    for package in &resolve.nodes {
        let targets = package
            .deps
            .iter()
            .filter(|dependency| {
                let mut kinds = dependency.dep_kinds.iter();
                kinds.any(|info| info.kind == CargoKind::Normal)
            })
            .filter_map(|dependency| nodes.get(&dependency.pkg).cloned())
            .collect();
        let node = nodes
            .get(&package.id)
            .context("the dependency graph names an unknown package")?;
        graph.insert(node.clone(), targets);
    }
    Ok(graph)
}

fn collect_rust_files(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("{} is unreadable", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "target" {
                collect_rust_files(&path, found)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(())
}

fn text_file(root: &Path, path: &Path) -> Result<TextFile> {
    let text =
        fs::read_to_string(path).with_context(|| format!("{} is unreadable", path.display()))?;
    let path = path.strip_prefix(root).unwrap_or(path);
    Ok(TextFile {
        path: path.display().to_string(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_workspace_is_seen() {
        let workspace = Workspace::open().expect("the workspace opens");
        let loaded = load(&workspace).expect("the workspace loads");
        let ledger = loaded
            .members
            .iter()
            .find(|member| member.name == "piton-ledger")
            .expect("piton-ledger is a member");
        assert_eq!(ledger.manifest.path, "crates/piton-ledger/Cargo.toml");
        assert!(ledger.dependencies.iter().any(|dependency| {
            dependency.name == "serde" && dependency.kind == DependencyKind::Shipped
        }));
        assert!(ledger.dependencies.iter().any(|dependency| {
            dependency.name == "proptest" && dependency.kind == DependencyKind::Development
        }));
        for path in ["xtask/src/fence/load.rs", "crates/piton-ledger/src/lib.rs"] {
            assert!(
                loaded.sources.iter().any(|source| source.path == path),
                "{path}"
            );
        }
    }

    #[test]
    fn the_graph_has_normal_edges_only() {
        let workspace = Workspace::open().expect("the workspace opens");
        let loaded = load(&workspace).expect("the workspace loads");
        let (_, targets) = loaded
            .graph
            .iter()
            .find(|(node, _)| node.name == "piton-ledger")
            .expect("piton-ledger is in the graph");
        assert!(targets.iter().any(|node| node.name == "serde"));
        assert!(!targets.iter().any(|node| node.name == "proptest"));
    }
}

//! Owns the text of the traits that an engine implements, as the source of `piton-store` has them.
//! Unlike a list of public items it shows which methods an engine must write itself.

use std::collections::BTreeMap;

/// Gives every public trait of the port, without comments and without the bodies of provided
/// methods.
pub(crate) fn traits() -> String {
    let folder = super::root().join("crates/piton-store/src");
    let mut traits = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("the sources of the port") {
        let path = entry.expect("an entry").path();
        let source = std::fs::read_to_string(&path).expect("a flat folder of source files");
        traits.extend(traits_in(&source));
    }
    let texts: Vec<String> = traits.into_values().collect();
    texts.join("\n")
}

/// Cuts the public traits out of a formatted source, by their names.
fn traits_in(source: &str) -> BTreeMap<String, String> {
    let mut traits = BTreeMap::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("pub trait ") else {
            continue;
        };
        let name = head
            .split(|letter: char| !letter.is_alphanumeric())
            .next()
            .expect("a name");
        let mut text = format!("{line}\n");
        // The formatter ends a trait with a brace in the first column, and a body with one in
        // that of its method.
        while let Some(line) = lines.next() {
            let code = line.trim_start();
            if code.is_empty() || code.starts_with("//") {
                continue;
            }
            let Some(method) = line.strip_suffix(" {") else {
                text.push_str(&format!("{line}\n"));
                if line == "}" {
                    break;
                }
                continue;
            };
            text.push_str(&format!("{method} {{ … }}\n"));
            assert!(
                lines.by_ref().any(|line| line == "    }"),
                "a body of {name} has no end"
            );
        }
        assert!(text.ends_with("\n}\n"), "{name} has no end");
        traits.insert(name.to_owned(), text);
    }
    traits
}

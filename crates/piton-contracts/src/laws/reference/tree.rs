//! Owns a JSON tree that keeps repeated keys, which the usual ones lose. It must not be built on
//! the ledger's own scanner.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value with every member that its text has.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree {
    /// A string.
    Text(String),
    /// Null, a boolean or a number: which one is of no interest.
    Scalar,
    /// The elements of an array.
    List(Vec<Self>),
    /// The members of an object, in the order of the text.
    Members(Vec<(String, Self)>),
}

impl Tree {
    /// Reads a text, or gives none where serde's parser takes none.
    pub fn read(text: &[u8]) -> Option<Self> {
        serde_json::from_slice(text).ok()
    }

    /// Whether an object at any depth has a key twice.
    pub fn repeats_a_key(&self) -> bool {
        match self {
            Self::Text(_) | Self::Scalar => false,
            Self::List(elements) => elements.iter().any(Self::repeats_a_key),
            Self::Members(members) => {
                let keys: BTreeSet<_> = members.iter().map(|(key, _)| key).collect();
                keys.len() < members.len() || members.iter().any(|(_, tree)| tree.repeats_a_key())
            }
        }
    }

    /// Gives the text of a member, if this is an object that has it once and it is a string.
    pub fn text(&self, key: &str) -> Option<&str> {
        let Self::Members(members) = self else {
            return None;
        };
        match members.iter().find(|(name, _)| name == key) {
            Some((_, Self::Text(text))) => Some(text),
            Some(_) | None => None,
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyTree)
    }
}

struct AnyTree;

impl<'de> Visitor<'de> for AnyTree {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar)
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            list.push(element);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = entries.next_entry()? {
            members.push(member);
        }
        Ok(Tree::Members(members))
    }
}

//! Arbitrary JSON documents and loose ways to spell them.
//!
//! It must not use the canonicaliser, which it helps to test.

use std::collections::BTreeMap;

use proptest::prelude::*;

/// A document before anybody has chosen how to write it.
#[derive(Debug, Clone)]
pub(crate) enum Document {
    /// A literal or number, written as it is.
    Verbatim(String),
    /// A string.
    Text(String),
    /// An array.
    Array(Vec<Document>),
    /// An object.
    Object(BTreeMap<String, Document>),
}

/// Generates documents whose numbers come from a strategy for their texts.
pub(crate) fn documents(
    numbers: impl Strategy<Value = String> + 'static,
) -> impl Strategy<Value = Document> {
    let leaf = prop_oneof![
        prop::sample::select(vec!["null", "true", "false"])
            .prop_map(|word| Document::Verbatim(word.to_owned())),
        numbers.prop_map(Document::Verbatim),
        texts().prop_map(Document::Text),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Document::Array),
            proptest::collection::btree_map(texts(), inner, 0..8).prop_map(Document::Object),
        ]
    })
}

fn texts() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        4 => prop::char::range('a', 'c'),
        2 => prop::char::range('\0', '\u{80}'),
        1 => prop::char::range('\u{d000}', '\u{ffff}'),
        1 => prop::char::range('\u{10000}', char::MAX),
        1 => any::<char>(),
    ];
    proptest::collection::vec(character, 0..12).prop_map(|text| text.into_iter().collect())
}

/// Writes a document with the white space, escapes and member order that a seed picks.
pub(crate) fn spell(document: &Document, seed: u64) -> String {
    let mut speller = Speller {
        output: String::new(),
        state: seed | 1,
    };
    speller.space();
    speller.document(document);
    speller.space();
    speller.output
}

struct Speller {
    output: String,
    state: u64,
}

impl Speller {
    fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % bound
    }

    fn space(&mut self) {
        for _ in 0..self.below(3) {
            let space = match self.below(8) {
                0 => " ",
                1 => "\n",
                2 => "\t",
                3 => "\r\n",
                _ => "",
            };
            self.output.push_str(space);
        }
    }

    fn document(&mut self, document: &Document) {
        match document {
            Document::Verbatim(text) => self.output.push_str(text),
            Document::Text(text) => self.text(text),
            Document::Array(elements) => {
                self.output.push('[');
                self.space();
                for (index, element) in elements.iter().enumerate() {
                    self.comma(index);
                    self.document(element);
                    self.space();
                }
                self.output.push(']');
            }
            Document::Object(members) => {
                self.output.push('{');
                self.space();
                let mut members: Vec<_> = members
                    .iter()
                    .map(|member| (self.below(8), member))
                    .collect();
                members.sort_by_key(|(rank, _)| *rank);
                for (index, (_, (key, value))) in members.into_iter().enumerate() {
                    self.comma(index);
                    self.text(key);
                    self.space();
                    self.output.push(':');
                    self.space();
                    self.document(value);
                    self.space();
                }
                self.output.push('}');
            }
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.output.push(',');
            self.space();
        }
    }

    fn text(&mut self, text: &str) {
        self.output.push('"');
        for character in text.chars() {
            let must_escape = character < ' ' || character == '"' || character == '\\';
            match (self.below(6), character) {
                (0, _) => self.escape(character),
                (1, '/') => self.output.push_str("\\/"),
                (1 | 2, '\n') => self.output.push_str("\\n"),
                (1 | 2, '"') => self.output.push_str("\\\""),
                (1 | 2, '\\') => self.output.push_str("\\\\"),
                _ if must_escape => self.escape(character),
                _ => self.output.push(character),
            }
        }
        self.output.push('"');
    }

    fn escape(&mut self, character: char) {
        let mut units = [0; 2];
        for unit in character.encode_utf16(&mut units) {
            let escape = if self.below(2) == 0 {
                format!("\\u{unit:04x}")
            } else {
                format!("\\u{unit:04X}")
            };
            self.output.push_str(&escape);
        }
    }
}

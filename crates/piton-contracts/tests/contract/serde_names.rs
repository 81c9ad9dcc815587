//! Owns the reading of serde attributes. An attribute that it doesn't know stops it, since a name
//! that is guessed wrong would be a wrong promise.

use syn::{Attribute, LitStr, Path, Token};

/// What serde attributes say about a type, a variant or a field.
#[derive(Debug, Default)]
pub(crate) struct Serde {
    pub(crate) tag: Option<String>,
    pub(crate) rename: Option<String>,
    pub(crate) snake_case: Casing,
    pub(crate) unknown_fields: UnknownFields,
    pub(crate) absence: Absence,
}

/// How variants are named.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Casing {
    #[default]
    AsWritten,
    Snake,
}

/// What reading does about a field that the type doesn't have.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnknownFields {
    #[default]
    Ignored,
    Refused,
}

/// What reading does about a field that is not there.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    #[default]
    AsTyped,
    Default,
}

impl Serde {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut serde = Self::default();
        for attribute in attributes {
            if attribute.path().is_ident("serde") {
                attribute
                    .parse_nested_meta(|meta| {
                        let text = || meta.value()?.parse::<LitStr>().map(|text| text.value());
                        if meta.path.is_ident("tag") {
                            serde.tag = Some(text()?);
                        } else if meta.path.is_ident("rename") {
                            serde.rename = Some(text()?);
                        } else if meta.path.is_ident("rename_all") {
                            assert_eq!(text()?, "snake_case", "teach this test the new casing");
                            serde.snake_case = Casing::Snake;
                        } else if meta.path.is_ident("deny_unknown_fields") {
                            serde.unknown_fields = UnknownFields::Refused;
                        } else if meta.path.is_ident("default") {
                            serde.absence = Absence::Default;
                        } else if ["bound", "with", "skip_serializing_if"]
                            .iter()
                            .any(|harmless| meta.path.is_ident(harmless))
                        {
                            text()?;
                        } else {
                            return Err(meta.error("teach this test what the attribute promises"));
                        }
                        Ok(())
                    })
                    .expect("a serde attribute that this test knows");
            }
        }
        serde
    }

    /// Gives the name that a variant has in JSON.
    pub(crate) fn variant(&self, attributes: &[Attribute], written: &str) -> String {
        match (Self::read(attributes).rename, self.snake_case) {
            (Some(name), _) => name,
            (None, Casing::AsWritten) => written.to_owned(),
            (None, Casing::Snake) => snake(written),
        }
    }
}

fn snake(written: &str) -> String {
    let mut name = String::new();
    for (position, letter) in written.char_indices() {
        if letter.is_uppercase() && position > 0 {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// Says whether a type derives a trait of this name.
pub(crate) fn derives(attributes: &[Attribute], wanted: &str) -> bool {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
        .any(|attribute| {
            attribute
                .parse_args_with(syn::punctuated::Punctuated::<Path, Token![,]>::parse_terminated)
                .expect("a list of traits")
                .iter()
                .any(|path| path.is_ident(wanted))
        })
}

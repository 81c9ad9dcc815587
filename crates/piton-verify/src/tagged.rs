//! Owns the reading of JSON objects whose `kind` decides what else they hold. It keeps the raw text,
//! since events are read from nothing else.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The text of an object, and its kind.
pub(crate) struct Tagged {
    kind: String,
    text: Box<RawValue>,
}

#[derive(Deserialize)]
struct Tag {
    kind: String,
}

impl Tagged {
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Tag { kind } = serde_json::from_str(text.get()).map_err(D::Error::custom)?;
        Ok(Self { kind, text })
    }

    pub(crate) fn is(&self, kind: &str) -> bool {
        self.kind == kind
    }

    pub(crate) fn read<T: DeserializeOwned, E: Error>(&self) -> Result<T, E> {
        serde_json::from_str(self.text.get()).map_err(E::custom)
    }
}

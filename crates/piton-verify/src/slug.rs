//! Owns the serde form of a state kind: its slug.

use piton_ledger::StateMachine;
use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serializer};

pub(crate) fn serialize<M: StateMachine, S: Serializer>(
    kind: &M,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.slug())
}

pub(crate) fn deserialize<'de, M: StateMachine, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<M, D::Error> {
    let slug = String::deserialize(deserializer)?;
    M::from_slug(&slug)
        .ok_or_else(|| D::Error::custom(format_args!("not a state of the {} ledger", M::LEDGER)))
}

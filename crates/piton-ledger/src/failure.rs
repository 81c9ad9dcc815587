//! Owns the terminal failure that every ledger shares. It decides nothing about when to fail.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

use crate::id::ErrorId;
use crate::text::ShortText;

/// Why a workflow can't go on, as a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailedUnrecoverableReason {
    /// The recorded history could not be proved intact.
    CheckpointIntegrity,
    /// A part of the workflow stopped.
    SubgraphAborted,
    /// The manifest was refused.
    ManifestRejected,
    /// A policy forbids going on.
    PolicyViolation,
    /// The orchestrator found itself in a state that can't be.
    InternalInvariantViolated,
}

impl FailedUnrecoverableReason {
    /// Every reason, each once.
    pub const ALL: [Self; 5] = [
        Self::CheckpointIntegrity,
        Self::SubgraphAborted,
        Self::ManifestRejected,
        Self::PolicyViolation,
        Self::InternalInvariantViolated,
    ];

    /// Gives the persisted name.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::CheckpointIntegrity => "checkpoint_integrity",
            Self::SubgraphAborted => "subgraph_aborted",
            Self::ManifestRejected => "manifest_rejected",
            Self::PolicyViolation => "policy_violation",
            Self::InternalInvariantViolated => "internal_invariant_violated",
        }
    }
}

impl fmt::Display for FailedUnrecoverableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// One detail of an error: a string, a 64-bit integer, a boolean or a finite number.
#[derive(Clone, PartialEq)]
pub enum Detail {
    /// A text.
    Text(Box<str>),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Flag(bool),
    /// A number with a fraction.
    Number(f64),
}

impl fmt::Debug for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Integer(number) => write!(f, "Integer({number})"),
            Self::Flag(flag) => write!(f, "Flag({flag})"),
            Self::Number(number) => write!(f, "Number({number})"),
        }
    }
}

impl Serialize for Detail {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(number) => serializer.serialize_i64(*number),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_f64(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Detail {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;

        impl serde::de::Visitor<'_> for Scalar {
            type Value = Detail;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, an integer, a boolean or a number")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Detail, E> {
                Ok(Detail::Text(text.into()))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Detail, E> {
                Ok(Detail::Integer(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Detail, E> {
                let whole =
                    i64::try_from(number).map_err(|_| E::custom("integer beyond 64 bits"))?;
                Ok(Detail::Integer(whole))
            }

            fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Detail, E> {
                Ok(Detail::Flag(flag))
            }

            fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Detail, E> {
                if number.is_finite() {
                    Ok(Detail::Number(number))
                } else {
                    Err(E::custom("number is not finite"))
                }
            }
        }

        deserializer.deserialize_any(Scalar)
    }
}

/// What went wrong, in a form that machines sort by id and people read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemediationError {
    /// The kind of error.
    pub error_id: ErrorId,
    /// What happened, in at most 4096 characters.
    pub message: ShortText,
    /// Further facts by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<BTreeMap<String, Detail>>,
}

/// A typed, terminal failure: the workflow must not restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailedUnrecoverable {
    /// Why the workflow can't go on.
    pub reason: FailedUnrecoverableReason,
    /// What went wrong, if more is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RemediationError>,
}

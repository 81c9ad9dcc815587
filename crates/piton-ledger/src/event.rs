//! Owns the transition event: its seven fields, its edge check, its text in and out.
//! It neither seals nor hashes: a live event can't be persisted.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::Serialize;
use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::digest::{BlobDigest, ChainHead, DigestError};
use crate::id::{IdError, TransitionId, WorkflowId};
use crate::json::{CanonicalJson, JsonError};
use crate::machine::StateMachine;

/// One of the seven fields of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventField {
    /// `transition_id`
    TransitionId,
    /// `prior_state_id`
    PriorStateId,
    /// `next_state_id`
    NextStateId,
    /// `triggering_outcome`
    TriggeringOutcome,
    /// `evidence_digest`
    EvidenceDigest,
    /// `chain_head`
    ChainHead,
    /// `workflow_id`
    WorkflowId,
}

impl EventField {
    /// Every field in declaration order.
    pub const ALL: [Self; 7] = [
        Self::TransitionId,
        Self::PriorStateId,
        Self::NextStateId,
        Self::TriggeringOutcome,
        Self::EvidenceDigest,
        Self::ChainHead,
        Self::WorkflowId,
    ];

    /// Gives the name of the field in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransitionId => "transition_id",
            Self::PriorStateId => "prior_state_id",
            Self::NextStateId => "next_state_id",
            Self::TriggeringOutcome => "triggering_outcome",
            Self::EvidenceDigest => "evidence_digest",
            Self::ChainHead => "chain_head",
            Self::WorkflowId => "workflow_id",
        }
    }
}

impl fmt::Display for EventField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A move that the state machine does not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalEdge {
    prior: &'static str,
    next: &'static str,
    legal: Vec<&'static str>,
}

impl IllegalEdge {
    /// Gives the slug of the state that the move would leave.
    pub fn prior(&self) -> &'static str {
        self.prior
    }

    /// Gives the slug of the state that the move would reach.
    pub fn next(&self) -> &'static str {
        self.next
    }
}

impl fmt::Display for IllegalEdge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can't follow {}; ", self.next, self.prior)?;
        if self.legal.is_empty() {
            return f.write_str("nothing can");
        }
        f.write_str("legal next states are ")?;
        self.legal
            .iter()
            .enumerate()
            .try_for_each(|(position, slug)| {
                let separator = if position == 0 { "" } else { ", " };
                write!(f, "{separator}{slug}")
            })
    }
}

impl core::error::Error for IllegalEdge {}

/// The bytes are not a transition event of the ledger.
///
/// No variant repeats text of the input, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The bytes are not one JSON object.
    #[error("not a JSON object: syntax error at line {line} column {column}")]
    Syntax {
        /// 1-based line.
        line: usize,
        /// 1-based column, in bytes.
        column: usize,
    },
    /// A field is missing.
    #[error("field {0} is missing")]
    Missing(EventField),
    /// A field appears twice.
    #[error("field {0} appears twice")]
    Duplicate(EventField),
    /// A field has an unknown name.
    #[error("there is a field that an event does not have")]
    Unknown,
    /// A field that is text holds something else, or a lone surrogate.
    #[error("field {0} is not a string")]
    NotText(EventField),
    /// An identifier is malformed.
    #[error("field {field}: {source}")]
    Id {
        /// Which field.
        field: EventField,
        /// What is wrong with it.
        source: IdError,
    },
    /// A digest is malformed.
    #[error("field {field}: {source}")]
    Digest {
        /// Which field.
        field: EventField,
        /// What is wrong with it.
        source: DigestError,
    },
    /// A state is not one of the ledger's kinds.
    #[error("field {field} is not a state of the {ledger} ledger")]
    State {
        /// Which field.
        field: EventField,
        /// The name of the ledger.
        ledger: &'static str,
    },
    /// The move is not a legal edge.
    #[error("illegal edge: {0}")]
    Edge(#[from] IllegalEdge),
    /// The outcome is not acceptable JSON; the offset counts from the start of the outcome.
    #[error("field triggering_outcome: {0}")]
    Outcome(#[from] JsonError),
}

/// What stands before each value of the canonical text, and after the last one. The text is quoted
/// save for the outcome's.
const CHAIN_HEAD: &str = r#"{"chain_head":""#;
const EVIDENCE_DIGEST: &str = r#","evidence_digest":""#;
const NEXT_STATE_ID: &str = r#","next_state_id":""#;
const PRIOR_STATE_ID: &str = r#","prior_state_id":""#;
const TRANSITION_ID: &str = r#","transition_id":""#;
const TRIGGERING_OUTCOME: &str = r#","triggering_outcome":"#;
const WORKFLOW_ID: &str = r#","workflow_id":""#;
const END: &str = "\"}";

/// The seven fields of a move, not yet judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition<M: StateMachine> {
    /// Names the transition; a retry carries the same id.
    pub transition_id: TransitionId,
    /// The state that the move leaves.
    pub prior_state_id: M,
    /// The state that the move reaches.
    pub next_state_id: M,
    /// What triggered the move: any JSON value.
    pub triggering_outcome: CanonicalJson,
    /// The digest of evidence that is stored elsewhere.
    pub evidence_digest: BlobDigest,
    /// The head that the writer had seen when it made the event.
    pub chain_head: ChainHead,
    /// The workflow that moves.
    pub workflow_id: WorkflowId,
}

/// One recorded move between two state kinds, along a legal edge.
///
/// An illegal edge can be neither built nor parsed. Each edge is judged alone: an event need not
/// continue from the event before it, since moves to non-boundary states are not persisted.
///
/// It deserialises from JSON text alone, and not inside an internally tagged, untagged or
/// flattened type of yours: those buffer values, and an outcome must be read as raw text to stay
/// exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionEvent<M: StateMachine>(Transition<M>);

impl<M: StateMachine> TryFrom<Transition<M>> for TransitionEvent<M> {
    type Error = IllegalEdge;

    fn try_from(transition: Transition<M>) -> Result<Self, IllegalEdge> {
        let successors = transition.prior_state_id.successors();
        if successors.contains(&transition.next_state_id) {
            return Ok(Self(transition));
        }
        Err(IllegalEdge {
            prior: transition.prior_state_id.slug(),
            next: transition.next_state_id.slug(),
            legal: successors.iter().map(|kind| kind.slug()).collect(),
        })
    }
}

impl<M: StateMachine> TransitionEvent<M> {
    /// Parses the JSON text of one event, in any key order.
    ///
    /// # Errors
    ///
    /// Gives an [`EventError`] that names the first field found wrong.
    pub fn parse(text: &[u8]) -> Result<Self, EventError> {
        if let Some(event) = Self::parse_stored(text) {
            return Ok(event);
        }
        let fields = RawFields::parse(text)?;
        let transition = Transition {
            transition_id: fields.id(EventField::TransitionId)?,
            prior_state_id: fields.state(EventField::PriorStateId)?,
            next_state_id: fields.state(EventField::NextStateId)?,
            triggering_outcome: CanonicalJson::parse(
                fields.raw(EventField::TriggeringOutcome)?.as_bytes(),
            )?,
            evidence_digest: fields.digest(EventField::EvidenceDigest)?,
            chain_head: fields.digest(EventField::ChainHead)?,
            workflow_id: fields.id(EventField::WorkflowId)?,
        };
        Ok(transition.try_into()?)
    }

    /// Reads an event in the form in which it is stored, its members one after another.
    ///
    /// None says nothing about the text: it is then for the parser, which knows every form and
    /// every fault.
    fn parse_stored(text: &[u8]) -> Option<Self> {
        let mut rest = core::str::from_utf8(text).ok()?;
        // No value that is accepted below holds a quote or an escape.
        let mut value = |before: &str| {
            let (value, after) = rest.strip_prefix(before)?.split_once('"')?;
            rest = after;
            Some(value)
        };
        let chain_head = value(CHAIN_HEAD)?.parse().ok()?;
        let evidence_digest = value(EVIDENCE_DIGEST)?.parse().ok()?;
        let next_state_id = M::from_slug(value(NEXT_STATE_ID)?)?;
        let prior_state_id = M::from_slug(value(PRIOR_STATE_ID)?)?;
        let transition_id = value(TRANSITION_ID)?.parse().ok()?;
        let rest = rest.strip_prefix(TRIGGERING_OUTCOME)?.strip_suffix(END)?;
        let (before, workflow_id) = rest.split_at_checked(rest.rfind('"')?.saturating_add(1))?;
        let outcome = before.strip_suffix(WORKFLOW_ID)?;
        let transition = Transition {
            transition_id,
            prior_state_id,
            next_state_id,
            triggering_outcome: CanonicalJson::parse(outcome.as_bytes()).ok()?,
            evidence_digest,
            chain_head,
            workflow_id: workflow_id.parse().ok()?,
        };
        transition.try_into().ok()
    }

    /// Gives the canonical JSON text of the event: see `docs/chain-format.md`, "Event bytes".
    pub fn to_canonical_json(&self) -> String {
        let event = &self.0;
        let outcome = event.triggering_outcome.as_str();
        let mut text = String::with_capacity(outcome.len().saturating_add(512));
        text.push_str(CHAIN_HEAD);
        event.chain_head.push_to(&mut text);
        text.push('"');
        text.push_str(EVIDENCE_DIGEST);
        event.evidence_digest.push_to(&mut text);
        text.push('"');
        text.push_str(NEXT_STATE_ID);
        text.push_str(event.next_state_id.slug());
        text.push('"');
        text.push_str(PRIOR_STATE_ID);
        text.push_str(event.prior_state_id.slug());
        text.push('"');
        text.push_str(TRANSITION_ID);
        event.transition_id.push_to(&mut text);
        text.push('"');
        text.push_str(TRIGGERING_OUTCOME);
        text.push_str(outcome);
        text.push_str(WORKFLOW_ID);
        text.push_str(event.workflow_id.as_str());
        text.push_str(END);
        text
    }

    /// Gives the id of the transition.
    pub fn transition_id(&self) -> TransitionId {
        self.0.transition_id
    }

    /// Gives the state that the move leaves.
    pub fn prior_state_id(&self) -> M {
        self.0.prior_state_id
    }

    /// Gives the state that the move reaches.
    pub fn next_state_id(&self) -> M {
        self.0.next_state_id
    }

    /// Gives what triggered the move.
    pub fn triggering_outcome(&self) -> &CanonicalJson {
        &self.0.triggering_outcome
    }

    /// Gives the digest of the evidence.
    pub fn evidence_digest(&self) -> BlobDigest {
        self.0.evidence_digest
    }

    /// Gives the head that the writer had seen when it made the event.
    pub fn chain_head(&self) -> ChainHead {
        self.0.chain_head
    }

    /// Gives the workflow that moves.
    pub fn workflow_id(&self) -> &WorkflowId {
        &self.0.workflow_id
    }

    /// Gives the seven fields back.
    pub fn into_transition(self) -> Transition<M> {
        self.0
    }
}

impl<M: StateMachine> Serialize for TransitionEvent<M> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;

        let event = &self.0;
        let mut fields = serializer.serialize_struct("TransitionEvent", EventField::ALL.len())?;
        fields.serialize_field("chain_head", &event.chain_head)?;
        fields.serialize_field("evidence_digest", &event.evidence_digest)?;
        fields.serialize_field("next_state_id", event.next_state_id.slug())?;
        fields.serialize_field("prior_state_id", event.prior_state_id.slug())?;
        fields.serialize_field("transition_id", &event.transition_id)?;
        fields.serialize_field("triggering_outcome", &event.triggering_outcome)?;
        fields.serialize_field("workflow_id", &event.workflow_id)?;
        fields.end()
    }
}

impl<'de, M: StateMachine> serde::Deserialize<'de> for TransitionEvent<M> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = alloc::boxed::Box::<RawValue>::deserialize(deserializer)?;
        Self::parse(text.get().as_bytes()).map_err(D::Error::custom)
    }
}

/// The raw text of each field, in the order of [`EventField::ALL`].
struct RawFields<'a>([Option<&'a RawValue>; 7]);

impl<'a> RawFields<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, EventError> {
        let mut fault = None;
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        let syntax = |error: serde_json::Error| EventError::Syntax {
            line: error.line(),
            column: error.column(),
        };
        match deserializer.deserialize_map(FieldVisitor { fault: &mut fault }) {
            Ok(fields) => deserializer.end().map_err(syntax).map(|()| Self(fields)),
            Err(error) => Err(fault.unwrap_or_else(|| syntax(error))),
        }
    }

    fn raw(&self, field: EventField) -> Result<&'a str, EventError> {
        let position = EventField::ALL.iter().position(|other| *other == field);
        let raw = position.and_then(|at| self.0.get(at).copied().flatten());
        raw.map(RawValue::get).ok_or(EventError::Missing(field))
    }

    fn text<T>(
        &self,
        field: EventField,
        parse: impl FnOnce(&str) -> Result<T, EventError>,
    ) -> Result<T, EventError> {
        let raw = self.raw(field)?;
        match raw
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        {
            Some(plain) if !plain.contains('\\') => parse(plain),
            Some(_) | None => {
                let text: String =
                    serde_json::from_str(raw).map_err(|_| EventError::NotText(field))?;
                parse(&text)
            }
        }
    }

    fn id<T: core::str::FromStr<Err = IdError>>(&self, field: EventField) -> Result<T, EventError> {
        self.text(field, |text| {
            text.parse()
                .map_err(|source| EventError::Id { field, source })
        })
    }

    fn digest<T: core::str::FromStr<Err = DigestError>>(
        &self,
        field: EventField,
    ) -> Result<T, EventError> {
        self.text(field, |text| {
            text.parse()
                .map_err(|source| EventError::Digest { field, source })
        })
    }

    fn state<M: StateMachine>(&self, field: EventField) -> Result<M, EventError> {
        self.text(field, |slug| {
            M::from_slug(slug).ok_or(EventError::State {
                field,
                ledger: M::LEDGER,
            })
        })
    }
}

/// Sorts the members of one object into slots; a fault travels beside serde's error, which has
/// no place for it and whose own text would repeat the input.
struct FieldVisitor<'f> {
    fault: &'f mut Option<EventError>,
}

impl<'de> Visitor<'de> for FieldVisitor<'_> {
    type Value = [Option<&'de RawValue>; 7];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let mut slots = [None; 7];
        while let Some(FieldName(known)) = members.next_key()? {
            let fault = match known.and_then(|at| slots.get_mut(at).map(|slot| (at, slot))) {
                None => EventError::Unknown,
                Some((_, slot @ None)) => {
                    *slot = Some(members.next_value()?);
                    continue;
                }
                Some((at, Some(_))) => EventField::ALL
                    .get(at)
                    .map_or(EventError::Unknown, |f| EventError::Duplicate(*f)),
            };
            *self.fault = Some(fault);
            return Err(A::Error::custom("fault"));
        }
        Ok(slots)
    }
}

/// The position of a field name in [`EventField::ALL`], or none when the name is unknown.
struct FieldName(Option<usize>);

impl<'de> serde::Deserialize<'de> for FieldName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Name;

        impl Visitor<'_> for Name {
            type Value = FieldName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field name")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<FieldName, E> {
                Ok(FieldName(
                    EventField::ALL
                        .iter()
                        .position(|field| field.name() == name),
                ))
            }
        }

        deserializer.deserialize_identifier(Name)
    }
}

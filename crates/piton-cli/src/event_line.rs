//! Owns the reading of one event from a line in which two fields may be missing. It touches no
//! store.

use std::fmt;

use piton_ledger::{ChainHead, StateMachine, TransitionEvent, TransitionId};
use serde::Deserializer as _;
use serde::de::{IgnoredAny, MapAccess, Visitor};

use crate::failure::LineError;

/// Mints transition ids in ascending order.
#[derive(Debug)]
pub(crate) struct Mint(ulid::Generator);

impl Mint {
    pub(crate) fn new() -> Self {
        Self(ulid::Generator::new())
    }

    fn next(&mut self) -> Result<TransitionId, LineError> {
        let minted = self.0.generate().map_err(|_| LineError::Mint)?;
        Ok(TransitionId::from_bits(minted.into()))
    }
}

/// Where a field of an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The line has it.
    Line,
    /// It was missing and has been put in.
    FilledIn,
}

/// One event, and which of its fields were put in.
#[derive(Debug, Clone)]
pub(crate) struct EventLine<M: StateMachine> {
    /// The event; genesis stands for a head that is missing.
    pub(crate) event: TransitionEvent<M>,
    /// Where the transition id comes from.
    pub(crate) transition_id: Origin,
    /// Where the chain head comes from.
    pub(crate) chain_head: Origin,
}

impl<M: StateMachine> EventLine<M> {
    /// Parses a line, minting a missing transition id.
    pub(crate) fn parse(line: &[u8], mint: &mut Mint) -> Result<Self, LineError> {
        let text =
            std::str::from_utf8(line).map_err(|error| LineError::NotUtf8(error.valid_up_to()))?;
        let present = Present::find(text)?;
        let mut missing = String::new();
        if present.transition_id == Origin::FilledIn {
            missing = format!("\"transition_id\":\"{}\",", mint.next()?);
        }
        if present.chain_head == Origin::FilledIn {
            missing.push_str(&format!("\"chain_head\":\"{}\",", ChainHead::GENESIS));
        }
        Ok(Self {
            event: TransitionEvent::parse(&splice(text, &missing))?,
            transition_id: present.transition_id,
            chain_head: present.chain_head,
        })
    }

    /// Gives the event with another chain head.
    pub(crate) fn with_chain_head(&self, head: ChainHead) -> Result<TransitionEvent<M>, LineError> {
        let mut transition = self.event.clone().into_transition();
        transition.chain_head = head;
        // The edge is unchanged, so this can't fail for an event that exists.
        TransitionEvent::try_from(transition).map_err(|edge| LineError::Event(edge.into()))
    }
}

/// Puts members first into the text of an object, which keeps everything else as it is: the one
/// parser of events still sees every fault.
fn splice(object: &str, members: &str) -> Vec<u8> {
    let (space, rest) = object.split_at(object.find('{').unwrap_or(0));
    let body = rest.strip_prefix('{').unwrap_or(rest);
    let members = if body.trim_start().starts_with('}') {
        members.trim_end_matches(',')
    } else {
        members
    };
    [space, "{", members, body].concat().into_bytes()
}

/// Which of the two fields that may be missing are there.
struct Present {
    transition_id: Origin,
    chain_head: Origin,
}

impl Present {
    fn find(text: &str) -> Result<Self, LineError> {
        let syntax = |error: serde_json::Error| LineError::Syntax(error.column());
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let present = deserializer.deserialize_map(TopLevel).map_err(syntax)?;
        deserializer.end().map_err(syntax)?;
        Ok(present)
    }
}

struct TopLevel;

impl<'de> Visitor<'de> for TopLevel {
    type Value = Present;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an event object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Present, A::Error> {
        let mut present = Present {
            transition_id: Origin::FilledIn,
            chain_head: Origin::FilledIn,
        };
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "transition_id" => present.transition_id = Origin::Line,
                "chain_head" => present.chain_head = Origin::Line,
                _ => {}
            }
            members.next_value::<IgnoredAny>()?;
        }
        Ok(present)
    }
}

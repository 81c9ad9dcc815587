//! Owns the judgement of an append that could not simply be done: pin, then transition, then
//! expected head. It writes nothing, but may move a lagging pin to the tail.

use piton_store::{AppendStatus, Appended, ExpectedHead, PinFinding, StoreError, Stored, Tail};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::append::{Append, Session, Trouble};
use crate::connection::Connection;
use crate::error::Fault;
use crate::row::StoredTail;
use crate::sql::COMMIT_AND_CHAIN;

/// What one snapshot says about an append.
pub(crate) enum Judgement {
    /// The event is there already.
    Present(Appended),
    /// The event is new and may follow the tail. A pin that lags must be moved there first.
    Follows { tail: Tail, pin: Option<StoredTail> },
}

/// What one snapshot holds of a workflow.
struct Snapshot {
    pin: Option<StoredTail>,
    /// The row at the pinned sequence.
    pinned: Option<StoredTail>,
    tail: Option<StoredTail>,
    /// The row of the event's transition.
    present: Option<StoredTail>,
    /// Whether that row holds the event's bytes.
    content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    Same,
    Other,
}

impl Snapshot {
    fn decode(row: &Row) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            pin: StoredTail::decode(row, 0)?,
            pinned: StoredTail::decode(row, 2)?,
            tail: StoredTail::decode(row, 4)?,
            present: StoredTail::decode(row, 6)?,
            content: if row.try_get(8)? {
                Content::Same
            } else {
                Content::Other
            },
        })
    }
}

/// Looks at everything that decides about an append, in one snapshot, and decides.
pub(crate) async fn judge(
    connection: &Connection,
    append: &Append<'_>,
) -> Result<Judgement, Trouble> {
    let transition = append.event.transition_id().to_string();
    let row = connection
        .one(
            &append.inner.opener.sql.inspect,
            &[
                (&append.workflow().as_str(), Type::TEXT),
                (&transition, Type::TEXT),
                (&append.event.bytes(), Type::BYTEA),
            ],
        )
        .await
        .map_err(Fault::Statement)?;
    let snapshot = Snapshot::decode(&row).map_err(Fault::Statement)?;
    decide(append, snapshot).map_err(Trouble::Refused)
}

fn decide(append: &Append<'_>, snapshot: Snapshot) -> Result<Judgement, StoreError> {
    let workflow = || append.workflow().clone();
    let unreadable = |column| StoreError::UnreadableColumn {
        workflow: workflow(),
        column,
    };
    check_pin(append, &snapshot)?;
    if let Some(present) = &snapshot.present {
        if snapshot.content == Content::Other {
            return Err(StoreError::TransitionConflict {
                workflow: workflow(),
                transition_id: append.event.transition_id(),
            });
        }
        let Tail::At { sequence, head } = present.to_tail().map_err(unreadable)? else {
            return Err(unreadable("sequence"));
        };
        return Ok(Judgement::Present(Appended {
            sequence,
            head,
            status: AppendStatus::AlreadyPresent,
        }));
    }
    let tail = match &snapshot.tail {
        None => Tail::Empty,
        Some(tail) => tail.to_tail().map_err(unreadable)?,
    };
    match append.expected {
        ExpectedHead::Exactly(expected) if expected != tail.head() => {
            return Err(StoreError::StaleHead {
                workflow: workflow(),
                expected,
                actual: tail.head(),
            });
        }
        ExpectedHead::Exactly(_) | ExpectedHead::Any => {}
    }
    if tail.next_sequence().is_none() {
        return Err(StoreError::ChainFull {
            workflow: workflow(),
        });
    }
    let pin = match (&snapshot.pin, &snapshot.tail) {
        (Some(pin), Some(tail)) if pin.sequence < tail.sequence => snapshot.pin.clone(),
        (_, _) => None,
    };
    Ok(Judgement::Follows { tail, pin })
}

/// Rows that contradict the pin, and rows without one, may not grow.
fn check_pin(append: &Append<'_>, snapshot: &Snapshot) -> Result<(), StoreError> {
    let damaged = || StoreError::PinDamaged {
        workflow: append.workflow().clone(),
    };
    let Some(stored) = &snapshot.pin else {
        return if snapshot.tail.is_some() {
            Err(damaged())
        } else {
            Ok(())
        };
    };
    let pin = stored.to_pin().ok_or_else(damaged)?;
    let finding = match (pin, &snapshot.pinned) {
        (Tail::Empty, _) => return Ok(()),
        (Tail::At { .. }, None) => PinFinding::TooShort,
        (Tail::At { head, .. }, Some(pinned)) if pinned.head.to_head() != Some(head) => {
            PinFinding::DifferentHead
        }
        (Tail::At { .. }, Some(_)) => return Ok(()),
    };
    Err(StoreError::PinContradicted {
        workflow: append.workflow().clone(),
        pin,
        finding,
    })
}

impl Append<'_> {
    /// Moves a pin that lags to the tail, unless either has moved.
    pub(crate) async fn catch_up(
        &self,
        connection: &Connection,
        session: Session,
        pin: &StoredTail,
        tail: &Tail,
    ) -> Result<(), Trouble> {
        let (Stored::Bytes(pin_head), Some(tail_sequence)) = (&pin.head, tail.sequence()) else {
            return Ok(());
        };
        connection
            .one(
                &self.inner.opener.sql.catch_up,
                &[
                    (&self.workflow().as_str(), Type::TEXT),
                    (&pin.sequence, Type::INT8),
                    (&&**pin_head, Type::BYTEA),
                    (&tail_sequence.to_i64(), Type::INT8),
                    (&tail.head().as_bytes().as_slice(), Type::BYTEA),
                ],
            )
            .await
            .map_err(Fault::Statement)?;
        match session {
            Session::Autocommit => Ok(()),
            Session::Locked => {
                let committed = connection.run(COMMIT_AND_CHAIN).await;
                Ok(committed.map_err(Fault::Statement)?)
            }
        }
    }
}

//! Owns one walk: each operation is asked of the store and of the model, and the answers and the
//! rows are compared.

use piton_ledger::VulnState;
use piton_store::{
    AppendLock, AppendStatus, Appended, CheckpointStore, CheckpointStoreExt, ExpectedHead,
    SealedEvent, StoreError, Tail, WorkflowCatalog,
};
use piton_verify::{MismatchCause, RepinError, ReplayVerdict, ReplayVerifier, TornReason, repin};

use super::adapter::Adapter;
use super::operation::{Expect, Handle, Operation, Tamper};
use super::plain::{Answer, Integrity, Plain, Verdict};

/// A store of an adapter, and the lock that it may hold.
type Seat<A> = (
    <A as Adapter>::Store,
    Option<<<A as Adapter>::Store as CheckpointStore>::Lock>,
);

/// One ledger with two handles on it, and its model.
pub(crate) struct Walk<'a, A: Adapter> {
    adapter: &'a A,
    ground: A::Ground,
    seats: [Seat<A>; 2],
    model: Plain,
    seats_compared: usize,
}

impl<'a, A: Adapter> Walk<'a, A> {
    pub(crate) async fn begin(adapter: &'a A) -> Self {
        let (ground, workflow) = adapter.ground().await;
        let first = (adapter.open(&ground).await, None);
        let second = (adapter.open(&ground).await, None);
        Self {
            adapter,
            seats: [first, second],
            ground,
            model: Plain::new(workflow),
            seats_compared: 0,
        }
    }

    /// Takes one step; gives what is counted, or nothing when the step meant nothing here.
    pub(crate) async fn step(&mut self, operation: &Operation) -> Result<Option<String>, String> {
        let Some((name, expected, found)) = self.take(operation).await? else {
            return Ok(None);
        };
        if expected != found {
            return Err(format!(
                "{operation:?}: expected {expected:?}, got {found:?}"
            ));
        }
        self.compare()
            .await
            .map_err(|error| format!("after {operation:?}: {error}"))?;
        let kind = match found {
            Answer::Appended(_) => "Appended".to_owned(),
            Answer::Present(_) => "Present".to_owned(),
            Answer::Done
            | Answer::Busy
            | Answer::Stale
            | Answer::Conflict
            | Answer::PinContradicted
            | Answer::NotIntact
            | Answer::NotTheTail
            | Answer::Unknown => format!("{found:?}"),
        };
        Ok(Some(format!("{name}: {kind}")))
    }

    async fn take(
        &mut self,
        operation: &Operation,
    ) -> Result<Option<(&'static str, Answer, Answer)>, String> {
        match *operation {
            Operation::Append(handle, expect) => {
                let event = self.model.fresh();
                let name = match expect {
                    Expect::Any => "append",
                    Expect::Tail | Expect::Earlier(_) | Expect::Foreign => {
                        "append with an expected head"
                    }
                };
                self.append(handle, &event, expect, name).await.map(Some)
            }
            Operation::Retry(handle, at, expect) => {
                let Some(event) = self.earlier(at) else {
                    return Ok(None);
                };
                self.append(handle, &event, expect, "retry").await.map(Some)
            }
            Operation::Conflict(handle, at, expect) => {
                let Some(event) = self.earlier(at) else {
                    return Ok(None);
                };
                let event = self.model.conflicting(&event);
                let is_there =
                    |row: &super::plain::Row| row.event.transition_id() == event.transition_id();
                // An id whose row was taken away is free.
                if !self.model.rows.iter().any(is_there) {
                    return Ok(None);
                }
                self.append(handle, &event, expect, "other bytes")
                    .await
                    .map(Some)
            }
            Operation::Lock(handle) => self.lock(handle).await,
            Operation::Release(handle) => {
                let Some(lock) = self.seats[handle.index()].1.take() else {
                    return Ok(None);
                };
                lock.release().await.map_err(told)?;
                self.model.release(handle);
                Ok(Some(("release", Answer::Done, Answer::Done)))
            }
            Operation::Reopen(handle) => {
                let store = self.adapter.open(&self.ground).await;
                let (old, lock) = std::mem::replace(&mut self.seats[handle.index()], (store, None));
                if let Some(lock) = lock {
                    lock.release().await.map_err(told)?;
                }
                old.close().await.map_err(told)?;
                self.model.release(handle);
                Ok(Some(("reopen", Answer::Done, Answer::Done)))
            }
            Operation::Crash(handle) => {
                let store = self.adapter.open(&self.ground).await;
                drop(std::mem::replace(
                    &mut self.seats[handle.index()],
                    (store, None),
                ));
                let was_holder = self.model.holder == Some(handle);
                self.model.release(handle);
                if was_holder {
                    // The system frees a dropped lock in its own time.
                    let other = self.adapter.open_patient(&self.ground).await;
                    let lock = other.lock(&self.model.workflow).await.map_err(told)?;
                    lock.release().await.map_err(told)?;
                    other.close().await.map_err(told)?;
                }
                Ok(Some(("crash", Answer::Done, Answer::Done)))
            }
            Operation::Tamper(tamper) => self.tamper(tamper).await,
            Operation::Repin(handle) => {
                let accept = self.model.tail();
                self.repin(handle, accept, "repin").await
            }
            Operation::RepinWrongly(handle) => {
                let sequence = self.model.tail().next_sequence().expect("a short chain");
                let head = piton_ledger::ChainHead::from_bytes([0x5a; 32]);
                self.repin(handle, Tail::At { sequence, head }, "repin of another tail")
                    .await
            }
            Operation::Delete(handle) => {
                let expected = self.model.delete();
                let found = match self.seats[handle.index()]
                    .0
                    .delete(&self.model.workflow)
                    .await
                {
                    // What a lock or a refused append made for an empty chain may count as one.
                    Ok(()) if expected == Answer::Unknown => Answer::Unknown,
                    Ok(()) => Answer::Done,
                    Err(error) => refusal(error)?,
                };
                Ok(Some(("delete", expected, found)))
            }
        }
    }

    fn earlier(&self, at: usize) -> Option<SealedEvent> {
        let acknowledged = &self.model.acknowledged;
        let at = at.checked_rem(acknowledged.len())?;
        Some(acknowledged[at].clone())
    }

    async fn append(
        &mut self,
        handle: Handle,
        event: &SealedEvent,
        expect: Expect,
        name: &'static str,
    ) -> Result<(&'static str, Answer, Answer), String> {
        let head = self.model.expected(expect);
        let expected_head = head.map_or(ExpectedHead::Any, ExpectedHead::Exactly);
        let (store, lock) = &mut self.seats[handle.index()];
        let outcome = match lock {
            Some(lock) => lock.append(event, expected_head).await,
            None => store.append(event, expected_head).await,
        };
        let found = match outcome {
            Ok(appended) => appended_answer(appended),
            Err(error) => refusal(error)?,
        };
        let expected = self.model.append(handle, event, head, A::WAITS);
        Ok((name, expected, found))
    }

    async fn lock(
        &mut self,
        handle: Handle,
    ) -> Result<Option<(&'static str, Answer, Answer)>, String> {
        let (store, lock) = &mut self.seats[handle.index()];
        if lock.is_some() {
            return Ok(None);
        }
        let found = match store.lock(&self.model.workflow).await {
            Ok(taken) => {
                *lock = Some(taken);
                Answer::Done
            }
            Err(error) => refusal(error)?,
        };
        Ok(Some(("lock", self.model.lock(handle), found)))
    }

    async fn repin(
        &mut self,
        handle: Handle,
        accept: Tail,
        name: &'static str,
    ) -> Result<Option<(&'static str, Answer, Answer)>, String> {
        // A pin for a workflow that was never there is another question.
        if self.model.rows.is_empty() && self.model.pin == Tail::Empty {
            return Ok(None);
        }
        let store = &self.seats[handle.index()].0;
        let found = match repin::<VulnState, _>(store, &self.model.workflow, accept).await {
            Ok(()) => Answer::Done,
            Err(RepinError::NotIntact(_)) => Answer::NotIntact,
            Err(RepinError::NotTheTail { .. }) => Answer::NotTheTail,
            Err(RepinError::Store(error)) => refusal(error)?,
            Err(error) => return Err(error.to_string()),
        };
        Ok(Some((name, self.model.repin(accept), found)))
    }

    async fn tamper(
        &mut self,
        tamper: Tamper,
    ) -> Result<Option<(&'static str, Answer, Answer)>, String> {
        let rows = self.model.rows.len();
        // A server that waits for the holder's transaction is no damage.
        if rows == 0 || self.model.holder.is_some() || !A::CAN_BE_DAMAGED {
            return Ok(None);
        }
        let workflow = self.model.workflow.clone();
        match tamper {
            Tamper::Cut(keep) => {
                let keep = keep % rows;
                self.adapter.cut(&self.ground, &workflow, keep).await;
                self.model.rows.truncate(keep);
            }
            Tamper::Alter(at) => {
                let at = at % rows;
                let row = &mut self.model.rows[at];
                let bytes = match row.integrity {
                    Integrity::Intact => altered(row.event.bytes()),
                    Integrity::Altered => row.event.bytes().to_vec(),
                };
                row.integrity = match row.integrity {
                    Integrity::Intact => Integrity::Altered,
                    Integrity::Altered => Integrity::Intact,
                };
                self.adapter
                    .alter(&self.ground, &workflow, at + 1, &bytes)
                    .await;
            }
        }
        let name = match tamper {
            Tamper::Cut(_) => "tamper, rows cut",
            Tamper::Alter(_) => "tamper, a row altered or mended",
        };
        Ok(Some((name, Answer::Done, Answer::Done)))
    }

    /// Compares everything that can be read, through one handle after the other in turn.
    async fn compare(&mut self) -> Result<(), String> {
        self.seats_compared += 1;
        let (store, _) = &self.seats[self.seats_compared % 2];
        let workflow = &self.model.workflow;
        let verdict = ReplayVerifier::new(store)
            .verify::<VulnState>(workflow)
            .await
            .map_err(told)?;
        let expected = self.model.verdict();
        let found = verdict_of(&verdict).ok_or_else(|| format!("verdict {verdict:?}"))?;
        if expected != found {
            return Err(format!("verdict: expected {expected:?}, got {found:?}"));
        }
        let rows = store.collect_rows(workflow).await.map_err(told)?;
        if rows.len() != self.model.rows.len() {
            return Err(format!(
                "{} rows, {} in the model",
                rows.len(),
                self.model.rows.len()
            ));
        }
        for (at, (row, model)) in rows.iter().zip(&self.model.rows).enumerate() {
            let bytes = match model.integrity {
                Integrity::Intact => model.event.bytes().to_vec(),
                Integrity::Altered => altered(model.event.bytes()),
            };
            let tail = self.model.tail_after(at + 1);
            if row.event_bytes.as_deref() != Some(bytes.as_slice())
                || row.next_head.to_head() != Some(tail.head())
                || Some(row.sequence) != tail.sequence().map(|sequence| sequence.to_i64())
            {
                return Err(format!("row {} differs", at + 1));
            }
        }
        let head = store.tail_chain_head(workflow).await.map_err(told)?;
        if head != self.model.tail().head() {
            return Err("the tail differs".to_owned());
        }
        let pin = store.pinned_tail(workflow).await.map_err(told)?;
        if pin.unwrap_or(Tail::Empty) != self.model.pin {
            return Err(format!("pin {pin:?}, {:?} in the model", self.model.pin));
        }
        Ok(())
    }
}

/// Other bytes that parse, so that nothing but the chain can tell.
fn altered(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(bytes.to_vec()).expect("sealed bytes are UTF-8");
    let other = text.replacen(
        r#""triggering_outcome":{"#,
        r#""triggering_outcome":{"a":0,"#,
        1,
    );
    assert_ne!(text, other, "there is an outcome to alter");
    other.into_bytes()
}

fn appended_answer(appended: Appended) -> Answer {
    let tail = Tail::At {
        sequence: appended.sequence,
        head: appended.head,
    };
    match appended.status {
        AppendStatus::Appended => Answer::Appended(tail),
        AppendStatus::AlreadyPresent => Answer::Present(tail),
    }
}

/// What a refusal is to the model; an engine's own failure is none.
fn refusal(error: StoreError) -> Result<Answer, String> {
    match error {
        StoreError::Busy { .. } => Ok(Answer::Busy),
        StoreError::StaleHead { .. } => Ok(Answer::Stale),
        StoreError::TransitionConflict { .. } => Ok(Answer::Conflict),
        StoreError::PinContradicted { .. } => Ok(Answer::PinContradicted),
        StoreError::UnknownWorkflow { .. } => Ok(Answer::Unknown),
        other @ (StoreError::PinDamaged { .. }
        | StoreError::UnreadableColumn { .. }
        | StoreError::UnreadableEvent { .. }
        | StoreError::WrongWorkflow { .. }
        | StoreError::ChainFull { .. }
        | StoreError::NewerLayout { .. }
        | StoreError::Unfit { .. }
        | StoreError::Engine { .. }
        | StoreError::Closed
        | _) => Err(other.to_string()),
    }
}

fn verdict_of(verdict: &ReplayVerdict<VulnState>) -> Option<Verdict> {
    match verdict {
        ReplayVerdict::Verified { .. } => Some(Verdict::Intact),
        ReplayVerdict::EmptyWorkflow { .. } => Some(Verdict::Empty),
        ReplayVerdict::ChainMismatch(mismatch) => (mismatch.cause == MismatchCause::NextHead)
            .then_some(Verdict::Mismatch(mismatch.divergence_index)),
        ReplayVerdict::TornWrite(torn) => (torn.reason == TornReason::TruncatedTail)
            .then_some(Verdict::Truncated(torn.offending_sequence)),
    }
}

fn told(error: StoreError) -> String {
    error.to_string()
}

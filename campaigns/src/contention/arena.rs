//! Owns the place of one round, in either engine, and the check that a chain is linear and holds
//! what was acknowledged.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use piton_ledger::{Sequence, VulnState, WorkflowId};
use piton_store::{CheckpointStore, CheckpointStoreExt as _};
use piton_verify::{ReplayVerdict, ReplayVerifier};
use tempfile::TempDir;

use crate::child::Place;
use crate::ledger;
use crate::scratch;
use crate::server::Schema;

/// Which adapter is contended for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    Sqlite,
    Postgres,
}

/// An empty place, removed at the end of its round.
pub(super) enum Arena {
    Sqlite(TempDir),
    Postgres(Schema),
}

impl Arena {
    pub(super) async fn make(engine: Engine, name: &str) -> Result<Self> {
        Ok(match engine {
            Engine::Sqlite => Self::Sqlite(scratch::in_memory()?),
            Engine::Postgres => Self::Postgres(Schema::make(name).await?),
        })
    }

    pub(super) fn place(&self) -> Place {
        match self {
            Self::Sqlite(root) => Place::Sqlite(root.path().to_owned()),
            Self::Postgres(schema) => Place::Postgres(schema.name.to_string()),
        }
    }

    /// Checks a workflow's chain against all that was acknowledged, and gives its number of rows.
    pub(super) async fn check(
        &self,
        workflow: &WorkflowId,
        acknowledged: &[String],
    ) -> Result<usize> {
        match self {
            Self::Sqlite(root) => check(&ledger::open(root.path())?, workflow, acknowledged).await,
            Self::Postgres(schema) => check(&schema.store()?, workflow, acknowledged).await,
        }
    }

    pub(super) async fn remove(self) -> Result<()> {
        match self {
            Self::Sqlite(root) => Ok(root.close()?),
            Self::Postgres(schema) => schema.remove().await,
        }
    }
}

async fn check<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    lines: &[String],
) -> Result<usize> {
    let verdict = ReplayVerifier::new(store)
        .verify::<VulnState>(workflow)
        .await?;
    ensure!(
        matches!(verdict, ReplayVerdict::Verified { .. }),
        "after the contest the chain is not intact: {verdict:?}"
    );
    let mut heads = BTreeMap::new();
    for row in store.collect_rows(workflow).await? {
        let head = row
            .next_head
            .to_head()
            .context("a verified head is readable")?;
        heads.insert(row.sequence, head.to_string());
    }
    let mut taken = BTreeMap::new();
    for line in lines {
        let Some(tail) = line.strip_prefix("acknowledged ") else {
            continue;
        };
        let (sequence, head) = tail.split_once(':').context("a tail has two parts")?;
        let at: Sequence = sequence.parse()?;
        ensure!(
            heads.get(&at.to_i64()).map(String::as_str) == Some(head),
            "row {at} is not the one that was acknowledged"
        );
        ensure!(
            taken.insert(at, head.to_owned()).is_none(),
            "row {at} was acknowledged twice"
        );
    }
    store.close().await?;
    Ok(heads.len())
}

//! Owns what this program does as a second process: the one that is killed, stopped or raced.
//! Each role says what it does, a line at a time, and waits for the word before it begins.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use piton_ledger::{VulnState, WorkflowId};
use piton_sqlite::{SqliteOptions, SqliteStore};
use piton_store::{
    AppendLock as _, CheckpointStore, CheckpointStoreExt as _, ExpectedHead, Repin, StoreError,
    WorkflowCatalog,
};
use piton_testkit::history;
use piton_verify::{ReplayVerdict, ReplayVerifier, repin};

use crate::ledger;
use crate::server::Schema;

/// The first argument of a second process.
pub(crate) const ARGUMENT: &str = "second-process";

/// Where a ledger is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// Beneath this root.
    Sqlite(PathBuf),
    /// In this schema.
    Postgres(String),
}

impl Place {
    /// The place as an argument.
    pub(crate) fn argument(&self) -> String {
        match self {
            Self::Sqlite(root) => format!("sqlite:{}", root.display()),
            Self::Postgres(schema) => format!("postgres:{schema}"),
        }
    }

    fn parse(argument: &str) -> Result<Self> {
        match argument.split_once(':') {
            Some(("sqlite", root)) => Ok(Self::Sqlite(root.into())),
            Some(("postgres", schema)) => Ok(Self::Postgres(schema.to_owned())),
            _ => bail!("`{argument}` is no place"),
        }
    }
}

/// Plays the role that the arguments name.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let [role, place, workflow, rest @ ..] = arguments else {
        bail!("a second process needs a role, a place and a workflow");
    };
    let workflow = ledger::workflow(workflow)?;
    let numbers: Vec<u64> = rest.iter().filter_map(|text| text.parse().ok()).collect();
    let runtime = ledger::runtime()?;
    match Place::parse(place)? {
        Place::Sqlite(root) => {
            let options = SqliteOptions {
                busy_timeout: patience(role),
                ..SqliteOptions::default()
            };
            let store = SqliteStore::with_options(root, options)?;
            runtime.block_on(play(role, &store, &workflow, rest, &numbers))
        }
        Place::Postgres(schema) => runtime.block_on(async {
            let store = Schema::named(&schema)?.store_with(patience(role))?;
            play(role, &store, &workflow, rest, &numbers).await
        }),
    }
}

/// Who is told to give up soon does; all others outwait a machine under load.
fn patience(role: &str) -> Duration {
    if role == "impatient" {
        Duration::from_millis(50)
    } else {
        Duration::from_secs(120)
    }
}

fn say(word: impl std::fmt::Display) {
    println!("{word}");
}

fn wait_for_the_word() -> Result<()> {
    say("ready");
    std::io::stdin().lock().read_line(&mut String::new())?;
    Ok(())
}

async fn play<S>(
    role: &str,
    store: &S,
    workflow: &WorkflowId,
    texts: &[String],
    numbers: &[u64],
) -> Result<()>
where
    S: WorkflowCatalog<Lock: Repin>,
{
    match (role, numbers) {
        ("append" | "impatient", [first, count]) => {
            wait_for_the_word()?;
            append(store, workflow, *first, *count).await
        }
        ("append-and-close", [first, count]) => {
            wait_for_the_word()?;
            append(store, workflow, *first, *count).await?;
            Ok(store.close().await?)
        }
        ("append-until-told", [first]) => append_until_told(store, workflow, *first).await,
        ("append-for-ever", []) => append_for_ever(store, workflow).await,
        ("read", []) => {
            wait_for_the_word()?;
            store.pinned_tail(workflow).await?;
            let rows = store.collect_rows(workflow).await?;
            say(format_args!("rows {}", rows.len()));
            Ok(())
        }
        ("watch", []) => watch(store, workflow).await,
        ("delete", []) => {
            wait_for_the_word()?;
            match store.delete(workflow).await {
                // An earlier one that was killed had come to its end.
                Ok(()) | Err(StoreError::UnknownWorkflow { .. }) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        ("repin", []) => {
            wait_for_the_word()?;
            let tail = texts.first().context("repin needs a tail")?.parse()?;
            Ok(repin::<VulnState, _>(store, workflow, tail).await?)
        }
        ("hold", []) => {
            let lock = store.lock(workflow).await?;
            say("locked");
            wait_for_the_word()?;
            Ok(lock.release().await?)
        }
        ("zombie", [number]) => zombie(store, workflow, *number).await,
        _ => bail!("`{role}` is no role with {} numbers", numbers.len()),
    }
}

async fn append<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    first: u64,
    count: u64,
) -> Result<()> {
    for number in first..first.saturating_add(count) {
        let event = history::nth(workflow, u32::try_from(number)?);
        match store.append(&event, ExpectedHead::Any).await {
            Ok(appended) => say(format_args!(
                "acknowledged {}:{}",
                appended.sequence, appended.head
            )),
            Err(StoreError::Busy { .. }) => say("busy"),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Goes on where the ledger ends, so that an event whose acknowledgement was lost is sent again.
async fn append_for_ever<S: CheckpointStore>(store: &S, workflow: &WorkflowId) -> Result<()> {
    let rows = store.collect_rows(workflow).await?.len();
    for number in u32::try_from(rows)?.. {
        let event = history::nth(workflow, number.saturating_add(1));
        let appended = store.append(&event, ExpectedHead::Any).await?;
        say(format_args!(
            "acknowledged {}:{}",
            appended.sequence, appended.head
        ));
    }
    Ok(())
}

/// Appends event after event until it is told to end.
async fn append_until_told<S: CheckpointStore>(
    store: &S,
    workflow: &WorkflowId,
    first: u64,
) -> Result<()> {
    wait_for_the_word()?;
    let told = until_told();
    for number in first.. {
        append(store, workflow, number, 1).await?;
        if told.try_recv().is_ok() {
            break;
        }
    }
    Ok(())
}

/// Hears the next line, or the end of what is said, without waiting for it.
fn until_told() -> std::sync::mpsc::Receiver<()> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        std::io::stdin().lock().read_line(&mut String::new()).ok();
        sender.send(()).ok();
    });
    receiver
}

/// Reads again and again until it is told to end, and tells of every read that is not intact.
async fn watch<S: CheckpointStore>(store: &S, workflow: &WorkflowId) -> Result<()> {
    wait_for_the_word()?;
    let told = until_told();
    let mut rows = 0;
    loop {
        let verdict = ReplayVerifier::new(store)
            .verify::<VulnState>(workflow)
            .await?;
        let events = match verdict {
            ReplayVerdict::Verified { events, .. } => events.len(),
            ReplayVerdict::EmptyWorkflow { .. } => 0,
            ReplayVerdict::ChainMismatch(_) | ReplayVerdict::TornWrite(_) => {
                bail!("a reader beside writers found {verdict:?}")
            }
        };
        if events < rows {
            bail!("a reader saw {rows} rows and then {events}");
        }
        rows = events;
        say(format_args!("read {rows}"));
        if told.try_recv().is_ok() {
            return Ok(());
        }
    }
}

/// Hydrates under the lock, and acts on what it knew when it wakes: first under the lock that it
/// believes to hold, then by its expected head alone.
async fn zombie<S: CheckpointStore>(store: &S, workflow: &WorkflowId, number: u64) -> Result<()> {
    let mut lock = store.lock(workflow).await?;
    let head = lock.tail().await?.head();
    let event = history::nth(workflow, u32::try_from(number)?);
    wait_for_the_word()?;
    let under_lock = lock.append(&event, ExpectedHead::Exactly(head)).await;
    say(outcome("under the lock", &under_lock));
    drop(lock);
    let alone = store.append(&event, ExpectedHead::Exactly(head)).await;
    say(outcome("by the head", &alone));
    Ok(())
}

fn outcome<T>(attempt: &str, outcome: &Result<T, StoreError>) -> String {
    match outcome {
        Ok(_) => format!("{attempt}: appended"),
        Err(error) => format!("{attempt}: {}", ledger::kind(error)),
    }
}

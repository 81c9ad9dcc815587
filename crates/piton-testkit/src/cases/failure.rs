//! Cases of errors: what was done, to which workflow, whether a retry helps (C15).

use piton_ledger::{ChainHead, Sequence, WorkflowId};
use piton_store::{
    AppendLock, CheckpointStore, ExpectedHead, Repin, Retry, StoreError, Tail, WorkflowCatalog,
};

use crate::harness::{Harness, Settings};
use crate::history::{first, nth, nth_with, workflow};
use crate::observe::{append, append_all, assert_chain};

/// Demands the form of every error: it names the workflow, is one lowercase sentence without a
/// period, and repeats nothing of an outcome.
fn assert_form(error: &StoreError, workflow: &WorkflowId, retry: Retry) {
    assert_eq!(error.retry(), retry, "{error}");
    let text = error.to_string();
    assert!(text.contains(workflow.as_str()), "{text}");
    assert!(!text.ends_with('.'), "{text}");
    assert!(text.starts_with(char::is_lowercase), "{text}");
    for shown in [text, format!("{error:?}")] {
        assert!(!shown.contains(PAYLOAD), "a payload is in {shown}");
    }
}

/// A text that stands in every outcome of this module.
const PAYLOAD: &str = "payload-of-the-outcome";

fn refused<T>(answer: Result<T, StoreError>) -> StoreError {
    match answer {
        Err(error) => error,
        Ok(_) => panic!("the call is refused"),
    }
}

/// Each refusal names the workflow and says whether a retry helps; only `Busy` does.
pub async fn c15_errors_say_what_where_and_whether_to_retry<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let impatient = harness.open(Settings::impatient()).await;
    let [workflow, other] = ["named-in-errors", "another"].map(workflow);
    let outcome = format!(r#"{{"text":"{PAYLOAD}"}}"#);
    append(&store, &nth_with(&workflow, 1, &outcome)).await;

    let conflict = nth_with(&workflow, 1, &format!(r#""{PAYLOAD}""#));
    let answer = store.append(&conflict, ExpectedHead::Any).await;
    assert_form(&refused(answer), &workflow, Retry::IsUseless);

    let next = nth_with(&workflow, 2, &outcome);
    let stale = ExpectedHead::Exactly(ChainHead::GENESIS);
    let answer = store.append(&next, stale).await;
    assert_form(&refused(answer), &workflow, Retry::IsUseless);

    let mut lock = store.lock(&workflow).await.expect("the lock is free");
    let answer = lock
        .append(&nth_with(&other, 1, &outcome), ExpectedHead::Any)
        .await;
    assert_form(&refused(answer), &workflow, Retry::IsUseless);

    let answer = impatient.append(&next, ExpectedHead::Any).await;
    assert_form(&refused(answer), &workflow, Retry::Helps);
    assert_form(
        &refused(impatient.lock(&workflow).await),
        &workflow,
        Retry::Helps,
    );
    assert_form(
        &refused(impatient.delete(&workflow).await),
        &workflow,
        Retry::Helps,
    );

    let beyond = Tail::At {
        sequence: Sequence::FIRST.next().expect("there is a second"),
        head: ChainHead::GENESIS,
    };
    lock.repin(beyond).await.expect("a pin can be replaced");
    let answer = lock.append(&next, ExpectedHead::Any).await;
    assert_form(&refused(answer), &workflow, Retry::IsUseless);
    drop(lock);

    assert_form(
        &refused(store.delete(&other).await),
        &other,
        Retry::IsUseless,
    );
}

/// After a close every operation of the handle says so; closing twice is no error, and other
/// handles go on.
pub async fn c15_closed_store_says_so<H: Harness>() {
    let harness = H::start().await;
    let store = harness.open(Settings::default()).await;
    let workflow = workflow("closed");
    append_all(&store, &first(&workflow, 2)).await;
    let other = harness.open(Settings::default()).await;
    for _ in 0..2 {
        store.close().await.expect("a store can be closed, twice");
        let answers = [
            store
                .append(&nth(&workflow, 3), ExpectedHead::Any)
                .await
                .err(),
            store.iter_persisted_chain(&workflow).await.err(),
            store.tail_chain_head(&workflow).await.err(),
            store.pinned_tail(&workflow).await.err(),
            store.lock(&workflow).await.err(),
            store.list().await.err(),
            store.stats(&workflow).await.err(),
            store.delete(&workflow).await.err(),
        ];
        for answer in answers {
            match answer {
                Some(StoreError::Closed) => {}
                other => panic!("a closed store says so, not {other:?}"),
            }
        }
    }
    // Another handle is another process: it goes on.
    append(&other, &nth(&workflow, 3)).await;
    assert_chain(&other, &workflow, &first(&workflow, 3)).await;
}

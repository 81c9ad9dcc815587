//! Owns the carrying out of attacks and the judgement: each guard must detect exactly what it is
//! declared to detect.

use piton_ledger::VulnState;
use piton_store::StoreError;
use piton_testkit::tamper::{Answer, Specimen, TrueVerifier, Verify};
use piton_verify::{Checked, PinStatus, ReplayVerdict};

use crate::attack::{Attack, Deed, Guard, Left};
use crate::attacks;
use crate::engine::{Engine, Scene};
use crate::table::Table;

/// Carries out every attack in one engine, each on an intact chain of its own.
pub(crate) async fn engine<E: Engine>(table: &mut Table) {
    let mut specimen = Specimen::<E>::make().await;
    control(&specimen).await;
    for attack in attacks::all::<E>().into_iter().chain(E::own()) {
        specimen = E::renew(specimen).await;
        let scene = carry_out(&specimen, &attack).await;
        let mut cells = Vec::new();
        for guard in Guard::ALL {
            let what = format!("{}, in {}, before {guard:?}", attack.name, E::NAME);
            let expectations = guard.expectations(scene.noted);
            let answer = TrueVerifier::verify(&scene.store, &specimen.workflow, expectations).await;
            let outcome = Outcome::of(answer, &specimen);
            if guard < attack.caught_by {
                assert!(
                    outcome == Outcome::Believed(scene.believed.clone()),
                    "{what}: declared to be believed as it is, but {}",
                    outcome.cell()
                );
            } else {
                assert!(
                    matches!(outcome, Outcome::Detected(_)),
                    "{what}: declared to be detected, and it is not"
                );
            }
            cells.push(outcome.cell());
        }
        table.add(attack.name, attack.caught_by, E::NAME, cells);
    }
    specimen.harness().end().await;
}

/// Replaces a ledger by itself, so that no attack is detected by the way in which it is done.
async fn control<E: Engine>(specimen: &Specimen<E>) {
    let left = Left::rows(specimen.rows.clone()).with_pin(specimen.tail);
    let store = E::replace(specimen, &left).await;
    let expectations = Guard::ExpectedHead.expectations(specimen.tail);
    let checked = TrueVerifier::verify(&store, &specimen.workflow, expectations)
        .await
        .expect("an untouched ledger can be checked");
    assert_eq!(checked.pin, PinStatus::Matched, "{}", E::NAME);
    let bytes = specimen.events.iter().map(|event| event.bytes().to_vec());
    assert!(
        Outcome::of(Ok(checked), specimen) == Outcome::Believed(bytes.collect()),
        "{}: an untouched ledger is verified",
        E::NAME
    );
}

async fn carry_out<E: Engine>(specimen: &Specimen<E>, attack: &Attack<E>) -> Scene<E::Attacked> {
    match attack.deed {
        Deed::Replace(leaves) => {
            let left = leaves(specimen);
            let bytes = |row: &piton_store::PersistedRow| row.event_bytes.clone();
            Scene {
                store: E::replace(specimen, &left).await,
                believed: left.rows.iter().filter_map(bytes).collect(),
                noted: left.noted.tail(specimen),
            }
        }
        Deed::Handle(own) => E::handle(specimen, own).await,
    }
}

/// What the verifier makes of an attack.
#[derive(PartialEq, Eq)]
enum Outcome {
    /// It finds nothing wrong, and gives these events.
    Believed(Vec<Vec<u8>>),
    /// It gives another verdict, or none.
    Detected(String),
}

impl Outcome {
    fn of<E>(answer: Answer, specimen: &Specimen<E>) -> Self {
        let verdict = match answer {
            Ok(Checked { verdict, .. }) => verdict,
            Err(error) => return Self::Detected(unchecked(&error, specimen)),
        };
        match verdict {
            ReplayVerdict::<VulnState>::Verified { events, .. } => Self::Believed(
                events
                    .iter()
                    .map(|event| event.to_canonical_json().into())
                    .collect(),
            ),
            ReplayVerdict::EmptyWorkflow { .. } => Self::Believed(Vec::new()),
            ReplayVerdict::ChainMismatch(mismatch) => {
                Self::Detected(format!("`chain_mismatch`, `{}`", mismatch.cause.slug()))
            }
            ReplayVerdict::TornWrite(torn) => {
                Self::Detected(format!("`torn_write`, `{}`", torn.reason.slug()))
            }
        }
    }

    fn cell(&self) -> String {
        match self {
            Self::Believed(_) => "**not detected**".to_owned(),
            Self::Detected(verdict) => verdict.clone(),
        }
    }
}

/// Tells why a chain could not be checked, without the name of the workflow that every such text
/// bears.
fn unchecked<E>(error: &StoreError, specimen: &Specimen<E>) -> String {
    let text = error.to_string();
    let name = format!("{}: ", specimen.workflow);
    let (_, reason) = text.split_once(&name).unwrap_or(("", &text));
    format!("could not check: {reason}")
}

//! Owns what an engine must offer so that attacks can be carried out in it. It judges nothing.

use piton_store::{CheckpointStore, Tail};
use piton_testkit::Harness;
use piton_testkit::tamper::Specimen;

use crate::attack::{Attack, Left};

/// One engine, and how its ledgers are changed past the store.
#[allow(async_fn_in_trait, reason = "nothing here is sent between threads")]
pub(crate) trait Engine: Harness {
    /// What the document calls it.
    const NAME: &'static str;
    /// A store on what an attacker left.
    type Attacked: CheckpointStore;
    /// The names of what can be done to this engine's files or tables alone.
    type Own: Copy;

    /// Lists the attacks on this engine's files or tables.
    fn own() -> Vec<Attack<Self>>;

    /// Replaces rows and pin, past every constraint of the engine.
    async fn replace(specimen: &Specimen<Self>, left: &Left) -> Self::Attacked;

    /// Carries out an attack of its own.
    async fn handle(specimen: &Specimen<Self>, own: Self::Own) -> Scene<Self::Attacked>;

    /// Gives an intact chain again, after an attack.
    async fn renew(_used: Specimen<Self>) -> Specimen<Self> {
        Specimen::make().await
    }

    /// Removes what the drop of the engine would leave.
    async fn end(&self) {}
}

/// What stands after an attack.
pub(crate) struct Scene<S> {
    /// A store on it.
    pub(crate) store: S,
    /// The bytes of the events that somebody would believe who detects nothing.
    pub(crate) believed: Vec<Vec<u8>>,
    /// The tail that the owner noted before.
    pub(crate) noted: Tail,
}

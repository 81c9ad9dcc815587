//! Attacks in memory, which nobody else can reach: the test kit's store serves what they leave.

use std::convert::Infallible;

use piton_memory::MemoryStore;
use piton_testkit::MemoryHarness;
use piton_testkit::tamper::{Specimen, TamperedStore};

use crate::attack::{Attack, Left, PinLeft};
use crate::attacks;
use crate::engine::{Engine, Scene};

impl Engine for MemoryHarness {
    const NAME: &'static str = "memory";
    type Attacked = TamperedStore<MemoryStore>;
    type Own = Infallible;

    fn own() -> Vec<Attack<Self>> {
        attacks::older_copies()
    }

    async fn replace(specimen: &Specimen<Self>, left: &Left) -> Self::Attacked {
        let pin = match left.pin {
            PinLeft::Untouched => Some(specimen.tail),
            PinLeft::SetTo(tail) => Some(tail),
            PinLeft::Gone => None,
        };
        specimen.put(left.rows.clone(), pin).await
    }

    async fn handle(_: &Specimen<Self>, own: Infallible) -> Scene<Self::Attacked> {
        match own {}
    }
}

//! What a change of limits, ports, adapters, exit codes and layouts means: of all that values pass
//! through.

use super::super::delta::Change::{Added, Changed, Removed};
use super::super::question::Question::{IsRaised, IsRequired, IsStricter};
use super::super::rules::Ruling::Always;
use super::super::rules::Rust::{Major, MajorIfClosed, Minor, Nothing};
use super::super::rules::{Rule, additive, breaking, depends, recorded, rule};

const LIMIT: &[&str] = &["limits/*"];
const ERROR_ID: &[&str] = &["error_ids/*"];
const PORT: &[&str] = &["ports/*"];
const PORT_ITEM: &[&str] = &["ports/*/items/*"];
const SIGNATURE: &[&str] = &["ports/*/items/*/signature", "ports/*/bounds"];
const DEFAULT: &[&str] = &["ports/*/items/*/presence"];
const ADAPTER: &[&str] = &["adapters/*"];
const EXIT_CODE: &[&str] = &["exit_codes/codes/*"];
const LAYOUT: &[&str] = &["layouts/*"];
const LAYOUT_VERSION: &[&str] = &["layouts/*/layout_version"];
const TABLE: &[&str] = &["layouts/*/tables/*"];
const COLUMN: &[&str] = &["layouts/*/tables/*/columns/*"];
const COLUMN_FORM: &[&str] = &[
    "layouts/*/tables/*/columns/*/definition",
    "layouts/*/tables/*/columns/*/presence",
];
const CONSTRAINT: &[&str] = &["layouts/*/tables/*/constraints/*"];

pub(super) const RULES: &[Rule] = &[
    rule(
        LIMIT,
        Added,
        Always(recorded(
            Minor,
            "a limit is new; the record says whether it bounds what was unbounded",
        )),
    ),
    rule(
        LIMIT,
        Removed,
        Always(breaking(
            Major,
            "nothing tells any more how much is accepted",
        )),
    ),
    rule(
        LIMIT,
        Changed,
        depends(
            IsRaised,
            additive(Nothing, "more is accepted than before"),
            breaking(Nothing, "what was accepted is refused"),
        ),
    ),
    rule(
        ERROR_ID,
        Added,
        Always(additive(Minor, "an error has an id that had none")),
    ),
    rule(
        ERROR_ID,
        Removed,
        Always(breaking(
            Major,
            "whoever sorts errors by the id no longer meets it",
        )),
    ),
    rule(
        ERROR_ID,
        Changed,
        Always(breaking(
            Nothing,
            "whoever sorts errors by the id no longer meets it",
        )),
    ),
    rule(
        PORT,
        Added,
        Always(additive(
            Minor,
            "a trait is new, and nobody has to implement it",
        )),
    ),
    rule(
        PORT,
        Removed,
        Always(breaking(
            Major,
            "implementations and calls of the trait no longer compile",
        )),
    ),
    rule(
        PORT_ITEM,
        Added,
        depends(
            IsRequired,
            breaking(Major, "every implementation of the trait lacks it"),
            additive(Minor, "implementations get the default"),
        ),
    ),
    rule(
        PORT_ITEM,
        Removed,
        Always(breaking(
            Major,
            "implementations and callers of it no longer compile",
        )),
    ),
    rule(
        SIGNATURE,
        Changed,
        Always(breaking(
            Major,
            "implementations and callers have the old signature",
        )),
    ),
    rule(
        DEFAULT,
        Changed,
        depends(
            IsStricter,
            breaking(Major, "implementations that leaned on the default lack it"),
            additive(Minor, "implementations may lean on a default"),
        ),
    ),
    rule(ADAPTER, Added, Always(additive(Minor, "an engine is new"))),
    rule(
        ADAPTER,
        Removed,
        Always(breaking(
            Major,
            "ledgers in the engine can no longer be reached",
        )),
    ),
    rule(
        ADAPTER,
        Changed,
        Always(breaking(Major, "callers open the store by its old name")),
    ),
    rule(
        EXIT_CODE,
        Added,
        Always(recorded(
            MajorIfClosed,
            "scripts meet a code that they do not know",
        )),
    ),
    rule(
        EXIT_CODE,
        Removed,
        Always(breaking(Major, "scripts wait for a code that never comes")),
    ),
    rule(
        EXIT_CODE,
        Changed,
        Always(breaking(Nothing, "scripts take one end for another")),
    ),
    rule(
        LAYOUT,
        Added,
        Always(additive(Nothing, "an engine's layout is new")),
    ),
    rule(
        LAYOUT,
        Removed,
        Always(breaking(
            Nothing,
            "ledgers in the layout can no longer be read",
        )),
    ),
    rule(
        LAYOUT_VERSION,
        Changed,
        depends(
            IsRaised,
            recorded(
                Nothing,
                "older versions refuse ledgers of the new layout; the record says how one gets there",
            ),
            breaking(Nothing, "ledgers of the newer layout are refused"),
        ),
    ),
    rule(
        TABLE,
        Added,
        Always(recorded(
            Nothing,
            "a table is new; the record says how existing ledgers get it",
        )),
    ),
    rule(
        TABLE,
        Removed,
        Always(breaking(
            Nothing,
            "what the table held is lost, and older versions look for it",
        )),
    ),
    rule(
        COLUMN,
        Added,
        depends(
            IsRequired,
            breaking(
                Nothing,
                "older versions insert rows without the column, which the engine refuses",
            ),
            recorded(
                Nothing,
                "a column is new; the record says what it is in existing rows",
            ),
        ),
    ),
    rule(
        COLUMN,
        Removed,
        Always(breaking(
            Nothing,
            "older versions and people's own queries look for the column",
        )),
    ),
    rule(
        COLUMN_FORM,
        Changed,
        Always(breaking(Nothing, "existing rows have the old form")),
    ),
    rule(
        CONSTRAINT,
        Added,
        Always(breaking(
            Nothing,
            "rows that were accepted may be refused, and existing ones may already break it",
        )),
    ),
    rule(
        CONSTRAINT,
        Removed,
        Always(breaking(
            Nothing,
            "appends lean on the constraint to keep a chain linear",
        )),
    ),
];

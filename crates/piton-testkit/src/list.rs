//! Owns the one list of cases and tampers, and the macros that turn it into tests. It contains no
//! case.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use crate::harness::{Harness, TamperHarness};
use crate::tamper::Verify;

/// A clause of the store contract, as `docs/store-contract.md` numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clause {
    /// Dense: sequences run without gaps, and reads are in that order.
    C1,
    /// Chained: each head is the link of the one before it.
    C2,
    /// Durable on return.
    C3,
    /// Atomic: a refused append changes nothing.
    C4,
    /// Exclusive: one linear chain, whoever appends.
    C5,
    /// Expected head: a moved tail refuses.
    C6,
    /// Idempotent: a retry gives the first answer.
    C7,
    /// Detection only: reads give what is persisted.
    C8,
    /// Snapshot: a read sees one prefix.
    C9,
    /// Quiet reads: an unknown workflow is empty and stays unknown.
    C10,
    /// Contained: no id names anything else.
    C11,
    /// Cancel-safe: a dropped future leaves a usable store.
    C12,
    /// Clock: injected and never hashed.
    C13,
    /// Pinned: the tail is noted outside the rows.
    C14,
    /// Opaque errors: what, where, and whether to retry.
    C15,
}

/// One case, bound to a harness; it panics when the contract is broken.
#[derive(Clone, Copy)]
pub struct Case {
    /// The name of the case function.
    pub name: &'static str,
    /// Starts the case.
    pub start: fn() -> Pin<Box<dyn Future<Output = ()>>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

/// Hands the one list of conformance cases to one arm of the expansion.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_case {
    ($($mode:tt)*) => {
        $crate::expand_cases! { [$($mode)*]
            C1 c01_sequences_are_dense;
            C1 c01_order_is_append_order_whatever_the_ids;
            C1 c01_long_chains_stay_in_order;
            C2 c02_heads_are_the_fold_of_the_bytes;
            C2 c02_interleaved_workflows_stay_apart;
            C2 c02_bytes_and_heads_equal_the_model;
            C2 c02_verified_rows_keep_bytes_and_heads;
            C2 c02_every_code_point_round_trips;
            C2 c02_largest_event_round_trips;
            C2 c02_known_histories_verify;
            C2 c02_batch_is_chained_in_its_order;
            C2 c02_largest_batch_is_one_chain;
            C3 c03_acknowledged_batch_outlives_the_handle;
            C3 c03_acknowledged_rows_outlive_the_handle;
            C3 c03_acknowledged_rows_outlive_a_close;
            C3 c03_other_handles_see_an_acknowledged_row;
            C4 c04_two_moves_leave_two_rows;
            C4 c04_stale_append_changes_nothing;
            C4 c04_conflicting_append_changes_nothing;
            C4 c04_append_against_the_pin_changes_nothing;
            C4 c04_append_to_the_wrong_workflow_changes_nothing;
            C4 c04_refused_batch_changes_nothing;
            C4 c04_refused_first_append_leaves_an_empty_chain;
            C4 c04_stats_count_whole_rows;
            C5 c05_lock_excludes_other_handles;
            C5 c05_append_of_another_handle_is_busy;
            C5 c05_dropping_the_lock_releases_it;
            C5 c05_releasing_the_lock_releases_it;
            C5 c05_waiter_takes_over;
            C5 c05_reads_do_not_wait_for_the_lock;
            C5 c05_workflows_are_locked_apart;
            C5 c05_holder_reads_and_appends;
            C5 c05_sixteen_writers_make_one_linear_chain;
            C5 c05_delete_of_a_locked_workflow_is_busy;
            C6 c06_right_head_is_accepted;
            C6 c06_moved_tail_is_stale;
            C6 c06_genesis_after_the_first_row_is_stale;
            C6 c06_foreign_head_on_an_empty_chain_is_stale;
            C6 c06_own_head_of_the_event_fences;
            C6 c06_race_from_one_head_has_one_winner;
            C6 c06_batch_is_held_against_the_tail;
            C7 c07_batch_retry_gives_the_first_answers;
            C7 c07_retry_gives_the_first_answer;
            C7 c07_retry_after_other_rows_gives_the_first_answer;
            C7 c07_retry_outranks_a_stale_head;
            C7 c07_other_bytes_conflict;
            C7 c07_conflict_outranks_a_stale_head;
            C7 c07_one_id_in_two_workflows_is_two_transitions;
            C7 c07_concurrent_retries_leave_one_row;
            C8 c08_reads_give_the_sealed_bytes;
            C8 c08_reads_go_on_when_the_pin_disagrees;
            C8 c08_secrets_are_stored_redacted;
            C9 c09_open_read_does_not_see_later_appends;
            C9 c09_half_read_chain_ends_where_it_began;
            C10 c10_unknown_workflow_is_an_empty_chain;
            C10 c10_reads_create_nothing;
            C10 c10_list_is_complete_and_sorted;
            C11 c11_awkward_ids_stay_apart;
            C11 c11_ids_that_differ_in_case;
            C11 c11_delete_takes_that_workflow_alone;
            C12 c12_dropped_batch_happened_or_did_not;
            C12 c12_dropped_append_happened_or_did_not;
            C12 c12_dropped_append_under_a_lock_happened_or_did_not;
            C12 c12_dropped_lock_holds_nothing;
            C12 c12_dropped_reads_hold_nothing;
            C13 c13_time_comes_from_the_clock;
            C13 c13_time_is_not_hashed;
            C14 c14_pin_follows_each_append;
            C14 c14_pin_never_leads_the_rows;
            C14 c14_short_chain_contradicts_the_pin;
            C14 c14_other_head_contradicts_the_pin;
            C14 c14_pin_outranks_retry_conflict_and_stale_head;
            C14 c14_lagging_pin_contradicts_nothing;
            C14 c14_accepted_tail_may_grow_again;
            C14 c14_deleted_workflow_starts_again_at_genesis;
            C15 c15_errors_say_what_where_and_whether_to_retry;
            C15 c15_delete_of_an_unknown_workflow_says_so;
            C15 c15_closed_store_says_so;
        }
    };
}

/// Hands the one list of tampers to one arm of the expansion.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_tamper {
    ($($mode:tt)*) => {
        $crate::expand_tampers! { [$($mode)*]
            untouched_chain_is_verified;
            untouched_rows_and_tail_are_served_as_they_are;
            damaged_rows_and_tail_are_served_as_they_are;
            altered_next_head;
            altered_prior_head;
            altered_prior_and_next_head;
            bytes_of_another_event;
            bytes_with_one_bit_flipped;
            bytes_with_one_more_space;
            altered_transition_id_column;
            contents_of_two_rows_swapped;
            middle_row_deleted;
            middle_row_deleted_and_renumbered;
            row_inserted;
            row_inserted_and_relinked;
            gap_in_the_sequence;
            sequence_repeated;
            sequence_shifted_from_the_start;
            row_moved_in_from_another_workflow;
            chain_moved_in_from_another_workflow;
            null_event_bytes;
            truncated_json;
            json_of_the_wrong_shape;
            unknown_field;
            unknown_state;
            illegal_edge;
            two_rows_with_one_next_head;
            row_repeated;
            unreadable_next_head;
            unreadable_prior_head;
            unreadable_transition_id;
            tail_lost;
            every_row_lost;
            rewritten_chain_differs_at_the_pin;
            rows_newer_than_the_pin_are_verified;
            ledger_without_a_pin_is_verified;
            expected_head_is_matched;
            expected_head_differs;
            expected_head_is_beyond_the_tail;
            ignored_pin_hides_a_lost_tail;
            finding_of_the_walk_outranks_the_pin;
            first_of_two_divergences_is_named;
        }
    };
}

/// Expands the list of conformance cases.
#[doc(hidden)]
#[macro_export]
macro_rules! expand_cases {
    ([tests $harness:ty] $($clause:ident $name:ident;)*) => {
        $(
            #[test]
            fn $name() {
                $crate::run($crate::cases::$name::<$harness>());
            }
        )*
    };
    ([table] $($clause:ident $name:ident;)*) => {
        &[$((Clause::$clause, stringify!($name))),*]
    };
    ([bound $harness:ty] $($clause:ident $name:ident;)*) => {
        vec![$($crate::Case {
            name: stringify!($name),
            start: || Box::pin($crate::cases::$name::<$harness>()),
        }),*]
    };
}

/// Expands the list of tampers.
#[doc(hidden)]
#[macro_export]
macro_rules! expand_tampers {
    ([tests $harness:ty, $verifier:ty] $($name:ident;)*) => {
        $(
            #[test]
            fn $name() {
                $crate::run($crate::tamper::matrix::$name::<$harness, $verifier>());
            }
        )*
    };
    ([table] $($name:ident;)*) => {
        &[$(stringify!($name)),*]
    };
    ([bound $harness:ty, $verifier:ty] $($name:ident;)*) => {
        vec![$($crate::Case {
            name: stringify!($name),
            start: || Box::pin($crate::tamper::matrix::$name::<$harness, $verifier>()),
        }),*]
    };
}

/// Makes one test of each conformance case for a [`Harness`].
///
/// ```
/// mod memory {
///     piton_testkit::conformance!(piton_testkit::MemoryHarness);
/// }
/// ```
#[macro_export]
macro_rules! conformance {
    ($harness:ty) => {
        $crate::for_each_case! { tests $harness }
    };
}

/// Makes one test of each tamper for a [`TamperHarness`], judged by the verifier, or by another
/// one that is named second.
///
/// ```
/// mod memory {
///     piton_testkit::tamper_matrix!(piton_testkit::MemoryHarness);
/// }
/// ```
#[macro_export]
macro_rules! tamper_matrix {
    ($harness:ty) => {
        $crate::tamper_matrix! { $harness, $crate::tamper::TrueVerifier }
    };
    ($harness:ty, $verifier:ty) => {
        $crate::for_each_tamper! { tests $harness, $verifier }
    };
}

/// Every conformance case with the clause that it belongs to, in the order of the clauses.
pub const CASES: &[(Clause, &str)] = for_each_case! { table };

/// Every tamper of the matrix.
pub const TAMPERS: &[&str] = for_each_tamper! { table };

/// Gives every conformance case, bound to a harness, in the order of [`CASES`].
pub fn cases<H: Harness>() -> Vec<Case> {
    for_each_case! { bound H }
}

/// Gives every tamper, bound to a harness and a verifier, in the order of [`TAMPERS`].
pub fn tampers<H: TamperHarness, V: Verify>() -> Vec<Case> {
    for_each_tamper! { bound H, V }
}

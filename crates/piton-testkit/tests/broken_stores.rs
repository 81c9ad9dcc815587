//! Proves that the kit notices: each broken store fails a named case that honest stores pass.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use piton_testkit::broken::{self, Broken, Lie};
use piton_testkit::{CASES, Case, Clause, Erased, Harness, MemoryHarness, cases, run};

/// The honest plain store keeps the whole contract.
mod honest {
    piton_testkit::conformance!(piton_testkit::broken::Broken<piton_testkit::broken::Nothing>);
}

/// The honest plain store serves damaged rows as they are.
mod honest_and_tampered {
    piton_testkit::tamper_matrix!(piton_testkit::broken::Broken<piton_testkit::broken::Nothing>);
}

fn named<H: Harness>(name: &str) -> Case {
    cases::<H>()
        .into_iter()
        .find(|case| case.name == name)
        .expect("the case is in the list")
}

fn passes(case: Case) -> bool {
    catch_unwind(AssertUnwindSafe(|| run((case.start)()))).is_ok()
}

fn check<L: broken::Tells>(name: &str) {
    assert!(passes(named::<MemoryHarness>(name)), "the model passes");
    assert!(
        passes(named::<Broken<broken::Nothing>>(name)),
        "the honest plain store passes"
    );
    assert!(
        !passes(named::<Broken<L>>(name)),
        "{name} does not notice {:?}",
        L::LIE
    );
}

macro_rules! noticed {
    ($($test:ident: $lie:ident => $($case:ident),+;)*) => {
        $(
            #[test]
            fn $test() {
                $(check::<broken::$lie>(stringify!($case));)+
            }
        )*

        /// Which cases notice a lie; a lie that is missing here does not compile.
        fn noticing(lie: Lie) -> &'static [&'static str] {
            match lie {
                // It is the matrix that notices: no intact chain could tell.
                Lie::Nothing | Lie::RecomputesTheTail => &[],
                $(Lie::$lie => &[$(stringify!($case)),+],)*
            }
        }

        const LIES: &[Lie] = &[$(Lie::$lie),*];
    };
}

noticed! {
    writes_batches_by_halves: WritesBatchesByHalves => c04_refused_batch_changes_nothing;
    batches_ignore_the_head: BatchesIgnoreTheHead => c04_refused_batch_changes_nothing, c06_batch_is_held_against_the_tail;
    chains_batches_backwards: ChainsBatchesBackwards => c02_batch_is_chained_in_its_order, c07_batch_retry_gives_the_first_answers;
    forgets_the_last_row: ForgetsTheLastRow => c04_two_moves_leave_two_rows, c01_sequences_are_dense;
    forks: Forks => c02_heads_are_the_fold_of_the_bytes;
    reorders_by_id: ReordersById => c01_order_is_append_order_whatever_the_ids;
    numbers_from_zero: NumbersFromZero => c01_sequences_are_dense;
    hashes_the_wrong_prior: HashesTheWrongPrior => c02_heads_are_the_fold_of_the_bytes, c02_bytes_and_heads_equal_the_model;
    hashes_the_time: HashesTheTime => c13_time_is_not_hashed;
    leaks_workflows: LeaksWorkflows => c02_interleaved_workflows_stay_apart;
    keeps_rows_in_the_handle: KeepsRowsInTheHandle => c03_acknowledged_rows_outlive_the_handle, c03_other_handles_see_an_acknowledged_row;
    accepts_a_stale_head: AcceptsAStaleHead => c06_moved_tail_is_stale, c06_genesis_after_the_first_row_is_stale, c06_foreign_head_on_an_empty_chain_is_stale, c06_own_head_of_the_event_fences, c06_race_from_one_head_has_one_winner;
    writes_what_it_refuses: WritesWhatItRefuses => c04_stale_append_changes_nothing, c04_refused_first_append_leaves_an_empty_chain;
    refusal_moves_the_pin: RefusalMovesThePin => c04_stale_append_changes_nothing, c04_conflicting_append_changes_nothing, c04_append_against_the_pin_changes_nothing;
    takes_foreign_events: TakesForeignEvents => c04_append_to_the_wrong_workflow_changes_nothing;
    duplicates_on_retry: DuplicatesOnRetry => c07_retry_gives_the_first_answer, c07_concurrent_retries_leave_one_row;
    answers_retries_with_the_tail: AnswersRetriesWithTheTail => c07_retry_after_other_rows_gives_the_first_answer;
    takes_conflicts_for_retries: TakesConflictsForRetries => c07_other_bytes_conflict, c07_conflict_outranks_a_stale_head;
    judges_the_head_before_the_retry: JudgesTheHeadBeforeTheRetry => c07_retry_outranks_a_stale_head, c07_conflict_outranks_a_stale_head;
    judges_the_retry_before_the_pin: JudgesTheRetryBeforeThePin => c14_pin_outranks_retry_conflict_and_stale_head;
    never_looks_at_the_pin: NeverLooksAtThePin => c14_short_chain_contradicts_the_pin, c14_other_head_contradicts_the_pin;
    looks_for_the_pin_at_the_tail: LooksForThePinAtTheTail => c14_other_head_contradicts_the_pin;
    never_moves_the_pin: NeverMovesThePin => c14_pin_follows_each_append;
    pin_leads: PinLeads => c14_pin_follows_each_append, c14_pin_never_leads_the_rows;
    pins_before_the_row: PinsBeforeTheRow => c12_dropped_append_happened_or_did_not, c12_dropped_append_under_a_lock_happened_or_did_not;
    rewrites_bytes: RewritesBytes => c02_verified_rows_keep_bytes_and_heads;
    drops_nul: DropsNul => c02_every_code_point_round_trips;
    asks_the_system_clock: AsksTheSystemClock => c13_time_comes_from_the_clock;
    ignores_the_lock: IgnoresTheLock => c05_lock_excludes_other_handles, c05_append_of_another_handle_is_busy;
    locks_everything: LocksEverything => c05_workflows_are_locked_apart;
    drop_keeps_the_lock: DropKeepsTheLock => c05_dropping_the_lock_releases_it, c05_waiter_takes_over;
    release_keeps_the_lock: ReleaseKeepsTheLock => c05_releasing_the_lock_releases_it;
    cut_wait_keeps_the_lock: CutWaitKeepsTheLock => c12_dropped_lock_holds_nothing;
    reads_take_the_lock: ReadsTakeTheLock => c05_reads_do_not_wait_for_the_lock, c05_holder_reads_and_appends;
    busy_is_an_engine_error: BusyIsAnEngineError => c05_lock_excludes_other_handles, c15_errors_say_what_where_and_whether_to_retry;
    reads_live: ReadsLive => c09_open_read_does_not_see_later_appends, c09_half_read_chain_ends_where_it_began;
    reads_create: ReadsCreate => c10_reads_create_nothing;
    folds_case: FoldsCase => c11_ids_that_differ_in_case, c10_list_is_complete_and_sorted;
    truncates_ids: TruncatesIds => c11_awkward_ids_stay_apart;
    lists_backwards: ListsBackwards => c10_list_is_complete_and_sorted;
    miscounts: Miscounts => c04_stats_count_whole_rows;
    deletes_by_prefix: DeletesByPrefix => c11_delete_takes_that_workflow_alone;
    deletes_locked_workflows: DeletesLockedWorkflows => c05_delete_of_a_locked_workflow_is_busy;
    delete_leaves_the_pin: DeleteLeavesThePin => c14_deleted_workflow_starts_again_at_genesis;
    deletes_the_unknown: DeletesTheUnknown => c15_delete_of_an_unknown_workflow_says_so;
    goes_on_after_close: GoesOnAfterClose => c15_closed_store_says_so;
    closes_every_handle: ClosesEveryHandle => c15_closed_store_says_so, c03_acknowledged_rows_outlive_a_close;
    close_forgets: CloseForgets => c03_acknowledged_rows_outlive_a_close;
    dropped_reads_use_it_up: DroppedReadsUseItUp => c12_dropped_reads_hold_nothing;
    reads_judge_the_pin: ReadsJudgeThePin => c08_reads_go_on_when_the_pin_disagrees;
    refuses_a_lagging_pin: RefusesALaggingPin => c14_lagging_pin_contradicts_nothing;
}

/// A store that recomputes its tail is told from an honest one by damaged rows alone.
#[test]
fn recomputes_the_tail() {
    use piton_testkit::tamper::{TrueVerifier, matrix};

    let served = |run_it: &dyn Fn()| catch_unwind(AssertUnwindSafe(run_it)).is_ok();
    assert!(served(&|| run(
        matrix::damaged_rows_and_tail_are_served_as_they_are::<Broken<broken::Nothing>, TrueVerifier>(
        )
    )));
    assert!(!served(&|| run(
        matrix::damaged_rows_and_tail_are_served_as_they_are::<
            Broken<broken::RecomputesTheTail>,
            TrueVerifier,
        >()
    )));
}

/// Each clause of the contract has a case, and a store that breaks it fails one of those.
#[test]
fn every_clause_is_guarded() {
    let all: BTreeSet<Clause> = CASES.iter().map(|(clause, _)| *clause).collect();
    assert_eq!(all.len(), 15, "each clause has a case");
    let noticed: BTreeSet<Clause> = CASES
        .iter()
        .filter(|(_, name)| LIES.iter().any(|lie| noticing(*lie).contains(name)))
        .map(|(clause, _)| *clause)
        .collect();
    assert_eq!(noticed, all);
}

/// Case names are unique, and begin with the number of their clause.
#[test]
fn names_tell_the_clause() {
    let names: BTreeSet<_> = CASES.iter().map(|(_, name)| *name).collect();
    assert_eq!(names.len(), CASES.len());
    for (clause, name) in CASES {
        let number = format!("{clause:?}").replace('C', "");
        assert!(name.starts_with(&format!("c{number:0>2}_")), "{name}");
    }
    let bound: Vec<_> = cases::<MemoryHarness>()
        .iter()
        .map(|case| case.name)
        .collect();
    let table: Vec<_> = CASES.iter().map(|(_, name)| *name).collect();
    assert_eq!(bound, table);
}

/// In memory to drop a guard releases as well, so only a store that tells the two apart shows that
/// the erased guard hands a release on.
#[test]
fn an_erased_release_is_the_stores_own() {
    let name = "c05_releasing_the_lock_releases_it";
    assert!(passes(named::<Erased<Broken<broken::Nothing>>>(name)));
    assert!(!passes(
        named::<Erased<Broken<broken::ReleaseKeepsTheLock>>>(name)
    ));
}

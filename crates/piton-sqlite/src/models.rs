//! Models of what several threads or processes do to one ledger at once: this crate's own pool,
//! lock queue, groups and pin slots, run over stand-ins for files and connections by a scheduler that
//! tries interleavings. It owns the stand-ins and the laws, and re-implements nothing.

mod flock;
mod group;
mod pin;
mod pool;

/// How many interleavings of each scenario are tried: some seconds in all.
const INTERLEAVINGS: usize = 1000;

/// Runs a scenario under many interleavings, the same ones each time.
///
/// A task that waits for ever fails the run: patience does not end here, because no one turns the
/// clock.
fn explore(scenario: impl Fn() + Send + Sync + 'static) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    // Time-outs ask for a clock; nobody drives this one.
    let _clock = runtime.enter();
    let seed = 0x7069_746f_6e00_0002;
    let scheduler = shuttle::scheduler::RandomScheduler::new_from_seed(seed, INTERLEAVINGS);
    shuttle::Runner::new(scheduler, shuttle::Config::new()).run(scenario);
}

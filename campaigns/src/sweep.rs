//! Owns the division of many like injections among threads, in an order that the seed gives. What
//! an injection is belongs to the campaigns.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;

/// What a part of a sweep has counted, by label.
pub(crate) type Tally = BTreeMap<String, u64>;

/// How many of each stratum come before all others.
const FIRST: usize = 16;

/// Chooses `most` of the indexes below `total`, in an order that `random` gives, but so that some
/// of each stratum come first: a sample has of everything, and so has a sweep without time.
pub(crate) fn order(
    total: usize,
    most: usize,
    random: &mut fastrand::Rng,
    stratum: impl Fn(usize) -> usize,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..total).collect();
    random.shuffle(&mut order);
    let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
    order.sort_by_cached_key(|index| {
        let rank = seen.entry(stratum(*index)).or_default();
        *rank = rank.saturating_add(1);
        (*rank).min(FIRST)
    });
    order.truncate(most);
    order
}

/// Visits indexes on every core, until all are visited or the time is over. `prepare` makes what
/// one thread works with; `visit` gives the label of an outcome.
///
/// # Errors
///
/// The first failure of either, and no further index is visited.
pub(crate) fn sweep<W>(
    order: &[usize],
    end: Instant,
    prepare: impl Fn(usize) -> Result<W> + Sync,
    visit: impl Fn(&mut W, usize) -> Result<String> + Sync,
) -> Result<Tally> {
    let next = AtomicUsize::new(0);
    let is_over = AtomicBool::new(false);
    let swept = Mutex::new(Tally::new());
    let work = |thread: usize| -> Result<()> {
        let mut worker = prepare(thread)?;
        let mut mine = Tally::new();
        while !is_over.load(Ordering::Relaxed) && Instant::now() < end {
            let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let label = visit(&mut worker, *index)?;
            let count = mine.entry(label).or_default();
            *count = count.saturating_add(1);
        }
        if let Ok(mut all) = swept.lock() {
            for (label, count) in mine {
                let sum = all.entry(label).or_default();
                *sum = sum.saturating_add(count);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads())
            .map(|thread| {
                let (work, is_over) = (&work, &is_over);
                scope.spawn(move || {
                    let outcome = work(thread);
                    if outcome.is_err() {
                        is_over.store(true, Ordering::Relaxed);
                    }
                    outcome
                })
            })
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(anyhow::anyhow!("a thread of the sweep panicked")))
        })
    })?;
    Ok(swept.into_inner().unwrap_or_default())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn visited(total: usize, most: usize, end: Instant) -> (u64, Vec<usize>) {
        let seen = Mutex::new(Vec::new());
        let swept = sweep(
            &order(total, most, &mut fastrand::Rng::with_seed(1), |_| 0),
            end,
            |_| Ok(()),
            |(), index| {
                seen.lock().expect("no thread panics").push(index);
                Ok("seen".to_owned())
            },
        )
        .expect("nothing fails");
        let mut seen = seen.into_inner().expect("no thread panics");
        seen.sort_unstable();
        (swept.values().sum(), seen)
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn every_index_is_visited_once() {
        let (count, seen) = visited(100, usize::MAX, later());
        assert_eq!(count, 100);
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_has_its_size_and_no_repetition() {
        let (count, mut seen) = visited(100, 7, later());
        seen.dedup();
        assert_eq!((count, seen.len()), (7, 7));
    }

    #[test]
    fn a_sample_has_of_every_stratum() {
        let is_rare = |index| usize::from(index == 999);
        let sample = order(1000, 20, &mut fastrand::Rng::with_seed(1), is_rare);
        assert!(sample.contains(&999));
        assert_eq!(sample.len(), 20);
    }

    #[test]
    fn nothing_is_visited_when_the_time_is_over() {
        assert_eq!(visited(100, 100, Instant::now()).0, 0);
    }

    #[test]
    fn a_failure_ends_the_sweep() {
        let swept = sweep(
            &[1, 2, 3, 4],
            later(),
            |_| Ok(()),
            |(), index| {
                anyhow::ensure!(index != 3, "the third");
                Ok(String::new())
            },
        );
        assert_eq!(swept.expect_err("it fails").to_string(), "the third");
    }
}

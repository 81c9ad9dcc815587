//! Owns timing and its presentation. It knows nothing of ledgers.

use std::time::{Duration, Instant};

/// How much to measure: `--smoke` only shows that everything runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// A full measurement.
    Full,
    /// The least that touches every path.
    Smoke,
}

impl Size {
    /// Reads the size from the arguments of the process.
    pub fn from_args() -> Self {
        if std::env::args().any(|argument| argument == "--smoke") {
            Self::Smoke
        } else {
            Self::Full
        }
    }

    /// Gives one of two numbers.
    pub fn pick(self, full: usize, smoke: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Smoke => smoke,
        }
    }
}

/// The spread of one measurement.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// The 5th percentile.
    pub low: Duration,
    /// The median.
    pub median: Duration,
    /// The 95th percentile.
    pub high: Duration,
}

impl Figures {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| {
            times
                .get(times.len().saturating_sub(1) * percent / 100)
                .copied()
        };
        let [low, median, high] = [5, 50, 95].map(|percent| at(percent).unwrap_or_default());
        Self { low, median, high }
    }

    /// Gives this median as a multiple of another.
    pub fn ratio_to(&self, floor: &Self) -> f64 {
        self.median.as_secs_f64() / floor.median.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

/// Times several pieces of work in turn, `rounds` times each after one uncounted round, so that
/// a drift of the machine hits all of them alike.
pub fn alternate(
    rounds: usize,
    work: &mut [(&'static str, &mut dyn FnMut())],
) -> Vec<(&'static str, Figures)> {
    let mut times = vec![Vec::with_capacity(rounds); work.len()];
    for round in 0..=rounds {
        for ((_, run), times) in work.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            run();
            let elapsed = begin.elapsed();
            if round > 0 {
                times.push(elapsed);
            }
        }
    }
    work.iter()
        .zip(times)
        .map(|((name, _), times)| (*name, Figures::of(times)))
        .collect()
}

/// Prints figures as a Markdown table; the first row is the floor.
pub fn print_table(title: &str, rows: &[(&'static str, Figures)], units: u32, unit: &str) {
    println!("\n{title}\n");
    println!("| work | median, µs a {unit} | 5 % | 95 % | ratio |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let Some((_, floor)) = rows.first() else {
        return;
    };
    for (name, figures) in rows {
        let micros = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(units);
        println!(
            "| {name} | {:.2} | {:.2} | {:.2} | {:.2} |",
            micros(figures.median),
            micros(figures.low),
            micros(figures.high),
            figures.ratio_to(floor)
        );
    }
}

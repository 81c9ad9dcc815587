//! Owns the table: which rows engines share, their order, and its text.

use std::fmt;

use crate::attack::Guard;

/// What became of every attack, in the order in which they were carried out.
#[derive(Default)]
pub(crate) struct Table(Vec<Line>);

struct Line {
    attack: &'static str,
    caught_by: Guard,
    engines: Vec<&'static str>,
    cells: Vec<String>,
}

impl Table {
    /// Notes what became of one attack in one engine.
    pub(crate) fn add(
        &mut self,
        attack: &'static str,
        caught_by: Guard,
        engine: &'static str,
        cells: Vec<String>,
    ) {
        let same = |line: &&mut Line| line.attack == attack && line.cells == cells;
        match self.0.iter_mut().find(same) {
            Some(line) => {
                let again = line.engines.contains(&engine);
                assert!(!again, "{attack}: listed twice for {engine}");
                line.engines.push(engine);
            }
            None => self.0.push(Line {
                attack,
                caught_by,
                engines: vec![engine],
                cells,
            }),
        }
    }
}

impl fmt::Display for Table {
    /// Writes what the weakest guard detects first, and what nothing detects last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "| attack | adapter | the chain alone | and the pin | and an expected head |\n\
             | --- | --- | --- | --- | --- |\n",
        )?;
        let mut lines: Vec<&Line> = self.0.iter().collect();
        lines.sort_by_key(|line| line.caught_by);
        for line in lines {
            let engines = line.engines.join(", ");
            let cells = line.cells.join(" | ");
            writeln!(f, "| {} | {engines} | {cells} |", line.attack)?;
        }
        Ok(())
    }
}

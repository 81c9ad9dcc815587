//! Runs one campaign, or all of them, against real ledgers on this machine.
//!
//! Owns the command line and the table of campaigns; each has a module of its own. A campaign
//! injects damage, counts what it injected, and fails as soon as anything false is believed. It
//! is run by `cargo xtask campaign`.

mod bitflip;
mod child;
mod contention;
mod evidence;
#[cfg(target_os = "linux")]
mod io_errors;
mod kill;
mod ledger;
mod model;
mod plan;
#[cfg(target_os = "linux")]
mod powerloss;
mod process;
mod report;
mod scratch;
mod server;
mod sweep;
mod truncate;

use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};

use crate::evidence::Evidence;
use crate::plan::Plan;

/// One campaign.
struct Campaign {
    name: &'static str,
    /// What must never happen, in one sentence.
    claim: &'static str,
    run: fn(&Plan, &mut Evidence) -> Result<()>,
}

const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "bitflip",
        claim: bitflip::CLAIM,
        run: bitflip::run,
    },
    #[cfg(target_os = "linux")]
    Campaign {
        name: "io-errors",
        claim: io_errors::CLAIM,
        run: io_errors::run,
    },
    #[cfg(target_os = "linux")]
    Campaign {
        name: "powerloss",
        claim: powerloss::CLAIM,
        run: powerloss::run,
    },
    Campaign {
        name: "kill",
        claim: kill::CLAIM,
        run: kill::run,
    },
    Campaign {
        name: "contention",
        claim: contention::CLAIM,
        run: contention::run,
    },
    Campaign {
        name: "model",
        claim: model::CLAIM,
        run: model::run,
    },
    Campaign {
        name: "truncate",
        claim: truncate::CLAIM,
        run: truncate::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((first, rest)) if first == child::ARGUMENT => child::run(rest),
        _ => run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let (plan, chosen) = Plan::parse(arguments)?;
    let campaigns: Vec<&Campaign> = match &chosen {
        None => CAMPAIGNS.iter().collect(),
        Some(name) => {
            let Some(campaign) = CAMPAIGNS.iter().find(|campaign| campaign.name == name) else {
                let names: Vec<_> = CAMPAIGNS.iter().map(|campaign| campaign.name).collect();
                bail!("`{name}` is not a campaign; there are {}", names.join(", "));
            };
            vec![campaign]
        }
    };
    for campaign in campaigns {
        let plan = plan.begin();
        let mut evidence = Evidence::new(campaign.name, campaign.claim, &plan);
        (campaign.run)(&plan, &mut evidence)
            .with_context(|| format!("campaign `{}`, seed {}", campaign.name, plan.seed()))?;
        evidence.finish(&plan)?;
    }
    Ok(())
}

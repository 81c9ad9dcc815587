//! The binary `piton`: the command line of the vulnerability ledger.

use std::process::ExitCode;

use piton_cli::Piton;
use piton_ledger::VulnState;

/// The remediation of CVE-2021-44906 in a project that used minimist.
const REMEDIATION: &str = include_str!("../demo/remediation.jsonl");

fn main() -> ExitCode {
    Piton::<VulnState>::new().with_demo(REMEDIATION).main()
}

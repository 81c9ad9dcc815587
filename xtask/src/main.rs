//! Development commands of the workspace: test, ci, fence, bench, campaign, contract, fuzz,
//! goldens, instructions, mutants, postgres.
//!
//! Owns the command line; each command has a file of its own. It must not depend on a product
//! crate: the commands have to work while the product does not compile.

mod bench;
mod campaign;
mod chosen;
mod ci;
mod contract;
mod deny;
mod fence;
mod fuzz;
mod goldens;
mod instructions;
mod mutants;
mod no_std;
mod postgres;
mod process;
mod python;
mod semver;
mod test;
mod tool;
mod workspace;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::process::CommandFailed;
use crate::workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [ARGS]    run every test: doc tests, then the suite; ARGS go to the suite's runner
  ci [STEP]      run every check in order, or one of them
  fence          check the rules that the compiler can't hold, from layers to contract clauses
  bench [ARGS]   run the benchmarks; ARGS (for example --smoke) go to each of them
  contract [OLD NEW]
                 classify what changed in the contract since the last release
  fuzz [TARGET] [--runs N | --minutes N]
                 feed the laws with the fuzzer's bytes; one minute a target by default
  campaign [NAME] [--short] [--budget MINUTES] [--seed N]
                 damage real ledgers on purpose; writes docs/evidence/ unless --short
  goldens        write goldens/ anew from what the code does now
  instructions [--record]
                 count what seal, link, parse and walk execute; compare with the record
  mutants [CRATE… | --record]
                 change the core line by line; a test has to notice each change; --record
                 publishes in docs/mutation.md what the last runs left
  postgres -- COMMAND [ARGS]
                 run a command with the temporary Postgres that the tests get
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            // A failing runner's own code tells a caller more than a general 1 would.
            error
                .downcast_ref::<CommandFailed>()
                .map_or(ExitCode::FAILURE, CommandFailed::exit_code)
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        bail!("no command given\n\n{USAGE}");
    };
    match (command.as_str(), rest) {
        ("test", rest) => test::run(&Workspace::open()?, test::Profile::Local, rest),
        ("ci", []) => ci::run_all(&Workspace::open()?),
        ("ci", [step]) => ci::run_one(&Workspace::open()?, step),
        ("fence", []) => fence::run(&Workspace::open()?),
        ("bench", rest) => bench::run(&Workspace::open()?, rest),
        ("contract", rest) => contract::run(&Workspace::open()?, rest),
        ("fuzz", rest) => fuzz::run(&Workspace::open()?, rest),
        ("campaign", rest) => campaign::run(&Workspace::open()?, rest),
        ("goldens", []) => goldens::run(&Workspace::open()?),
        ("instructions", rest) => instructions::run(&Workspace::open()?, rest),
        ("mutants", [option]) if option == "--record" => mutants::record(&Workspace::open()?),
        ("mutants", packages) => mutants::run(&Workspace::open()?, packages),
        ("postgres", rest) => postgres::run(&Workspace::open()?, rest),
        // Not for people: how this program calls itself.
        ("keep-postgres", [programs, pooler]) => {
            postgres::keep(Path::new(programs), Path::new(pooler))
        }
        ("help" | "--help" | "-h", _) => {
            print!("{USAGE}");
            Ok(())
        }
        _ => bail!("`{}` is not a command\n\n{USAGE}", arguments.join(" ")),
    }
}

//! Owns what people read of the evidence. All of it is made from the JSON files, so that nothing
//! in it can be out of step with them; a test holds the committed texts to that.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

const INDEX: &str = "README.md";

const INTRODUCTION: &str = "\
# Evidence

What the threat model and the store contract claim, tried on real ledgers. Each campaign damages, \
kills or races, counts every injection as seen on the ledger, and fails as soon as anything false \
is believed or a kind of injection that it announced never took place.

`cargo xtask campaign` runs all of them and writes this directory anew; `cargo xtask campaign NAME \
--short` runs one in seconds and writes nothing, as `cargo xtask ci` does. `--seed N` chooses other \
damage, `--budget MINUTES` how long each may take. Where a campaign says how much there was to \
damage and the count is lower, its time was over: it then had tried a random part.

The pages are made from the JSON files beside them; do not edit either.
";

/// Writes a page for each JSON file of a directory, and the index of all.
///
/// # Errors
///
/// A file can't be read or written, or is no evidence.
pub(crate) fn write_all(directory: &Path) -> Result<()> {
    let all = read_all(directory)?;
    for evidence in &all {
        let page = directory.join(format!("{}.md", text(evidence, "campaign")));
        fs::write(page, one(evidence)).context("writing a page of evidence")?;
    }
    fs::write(directory.join(INDEX), index(&all)).context("writing the index of evidence")
}

fn read_all(directory: &Path) -> Result<Vec<Value>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).context("reading the directory of evidence")? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            paths.push(path);
        }
    }
    paths.sort();
    let parse = |path| -> Result<Value> { Ok(serde_json::from_slice(&fs::read(path)?)?) };
    paths.into_iter().map(parse).collect()
}

/// The page of one campaign.
pub(crate) fn one(evidence: &Value) -> String {
    let mut page = format!(
        "# Campaign `{}`\n\n{}\n\n| injected | what came of it | count |\n| --- | --- | ---: |\n",
        text(evidence, "campaign"),
        text(evidence, "claim"),
    );
    for (kind, outcomes) in members(&evidence["injected"]) {
        for (outcome, count) in members(outcomes) {
            writeln!(page, "| {kind} | {outcome} | {count} |").ok();
        }
    }
    writeln!(page, "| all | | {} |", injections(evidence)).ok();
    if members(&evidence["figures"]).next().is_some() {
        page.push_str("\n| figure | count |\n| --- | ---: |\n");
        for (figure, count) in members(&evidence["figures"]) {
            writeln!(page, "| {figure} | {count} |").ok();
        }
    }
    page.push('\n');
    closing(&mut page, evidence);
    page
}

fn index(all: &[Value]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for evidence in all {
        let name = text(evidence, "campaign");
        write!(
            page,
            "\n## [`{name}`]({name}.md)\n\n{}\n\nInjections: {} of {} kinds. Claim broken: never.\n\n",
            text(evidence, "claim"),
            injections(evidence),
            members(&evidence["injected"]).count(),
        )
        .ok();
        closing(&mut page, evidence);
    }
    page
}

/// What both pages say of a run: its limits, and how to have it again.
fn closing(page: &mut String, evidence: &Value) {
    let limits = evidence["not_covered"].as_array();
    let limits: Vec<&str> = limits
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    if !limits.is_empty() {
        page.push_str("Not covered:\n\n");
        for limit in limits {
            writeln!(page, "- {limit}").ok();
        }
        page.push('\n');
    }
    writeln!(
        page,
        "`{}`, {} s, seed {}, on {}, {}.",
        text(evidence, "command"),
        evidence["seconds"],
        evidence["seed"],
        text(evidence, "date"),
        text(evidence, "machine"),
    )
    .ok();
}

fn injections(evidence: &Value) -> u64 {
    members(&evidence["injected"])
        .flat_map(|(_, outcomes)| members(outcomes))
        .filter_map(|(_, count)| count.as_u64())
        .sum()
}

fn text<'a>(evidence: &'a Value, field: &str) -> &'a str {
    evidence[field].as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::CAMPAIGNS;

    fn committed() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/evidence")
    }

    fn page(name: &str) -> String {
        fs::read_to_string(committed().join(name)).expect("the page is committed")
    }

    #[test]
    fn every_page_is_what_its_json_file_says() {
        let all = read_all(&committed()).expect("evidence");
        for evidence in &all {
            let name = text(evidence, "campaign");
            assert_eq!(page(&format!("{name}.md")), one(evidence), "{name}");
        }
        assert_eq!(page(INDEX), index(&all));
    }

    #[test]
    fn every_campaign_has_evidence_for_the_claim_that_it_makes() {
        let all = read_all(&committed()).expect("evidence");
        let found: Vec<_> = all
            .iter()
            .map(|evidence| (text(evidence, "campaign"), text(evidence, "claim")))
            .collect();
        let mut expected: Vec<_> = CAMPAIGNS
            .iter()
            .map(|campaign| (campaign.name, campaign.claim))
            .collect();
        expected.sort_unstable();
        assert_eq!(found, expected, "run `cargo xtask campaign`");
    }

    #[test]
    fn no_committed_evidence_is_from_a_short_run_or_lacks_a_kind() {
        for evidence in read_all(&committed()).expect("evidence") {
            let name = text(&evidence, "campaign");
            assert!(!text(&evidence, "command").contains("--short"), "{name}");
            for (kind, outcomes) in members(&evidence["injected"]) {
                let count: u64 = members(outcomes)
                    .filter_map(|(_, count)| count.as_u64())
                    .sum();
                assert!(count > 0, "{name}: {kind}");
            }
        }
    }
}

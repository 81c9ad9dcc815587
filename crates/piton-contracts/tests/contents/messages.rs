//! Owns the texts of integrity failures. The samples belong to the schemas.

use piton_ledger::VulnState;
use piton_verify::{HydrationResult, ReplayVerdict, integrity_message};

use super::schemas::samples::verdicts;

/// Gives the message of each verdict that forbids resuming, and shows that it is the message of
/// the failure.
pub(crate) fn integrity() -> String {
    let mut messages = Vec::new();
    for verdict in verdicts() {
        let forbids = match verdict {
            ReplayVerdict::Verified { .. } | ReplayVerdict::EmptyWorkflow { .. } => false,
            ReplayVerdict::ChainMismatch(_) | ReplayVerdict::TornWrite(_) => true,
        };
        let message = integrity_message(&verdict);
        assert_eq!(message.is_some(), forbids, "{verdict:?}");
        let told = match HydrationResult::<VulnState>::from(verdict) {
            HydrationResult::Hydrated(_) => None,
            HydrationResult::FailedUnrecoverable(failure) => {
                let error = failure.error.expect("a failure says why");
                Some(format!("{}: {}", failure.reason, error.message))
            }
        };
        let expected = message.map(|message| format!("checkpoint_integrity: {message}"));
        assert_eq!(told, expected);
        messages.extend(told);
    }
    messages.join("\n")
}

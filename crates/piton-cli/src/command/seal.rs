//! Owns `seal`: a dry run that shows what would be persisted. It opens no store.

use piton_ledger::{BlobDigest, ChainHead, StateMachine, TransitionId, WorkflowId};
use piton_store::seal;
use serde::Serialize;

use crate::console::Console;
use crate::event_line::{EventLine, Mint};
use crate::exit::ExitStatus;
use crate::failure::{Failure, LineError};
use crate::input::InputArgument;

/// Show what would be persisted, without a store: one JSON object a line
///
/// `bytes` is the redacted canonical text, `digest` its BLAKE3, `next_head` the head after it on a
/// chain whose tail is the event's `chain_head` (genesis if the line has none).
#[derive(Debug, clap::Args)]
pub(crate) struct Seal {
    #[command(flatten)]
    input: InputArgument,
}

#[derive(Debug, Serialize)]
struct Sealed<'a> {
    workflow_id: &'a WorkflowId,
    transition_id: TransitionId,
    size_bytes: usize,
    digest: BlobDigest,
    next_head: ChainHead,
    redactions: Vec<RuleCount>,
    bytes: &'a str,
}

#[derive(Debug, Serialize)]
struct RuleCount {
    rule: &'static str,
    count: usize,
}

impl Seal {
    pub(crate) fn run<M: StateMachine>(
        self,
        console: &mut Console<'_>,
    ) -> Result<ExitStatus, Failure> {
        let mut lines = self.input.open(console)?;
        let mut mint = Mint::new();
        while let Some(line) = lines.next()? {
            let sealed = EventLine::<M>::parse(line, &mut mint)
                .and_then(|line| seal(&line.event).map_err(LineError::from))
                .map_err(|reason| lines.refuse(reason))?;
            let bytes = std::str::from_utf8(sealed.bytes())
                .map_err(|error| lines.refuse(LineError::NotUtf8(error.valid_up_to())))?;
            console.json(&Sealed {
                workflow_id: sealed.workflow_id(),
                transition_id: sealed.transition_id(),
                size_bytes: sealed.bytes().len(),
                digest: BlobDigest::from_bytes(*blake3::hash(sealed.bytes()).as_bytes()),
                next_head: sealed.link(&sealed.chain_head()),
                redactions: sealed
                    .redactions()
                    .iter()
                    .map(|redaction| RuleCount {
                        rule: redaction.rule,
                        count: redaction.count,
                    })
                    .collect(),
                bytes,
            })?;
            console.flush()?;
            if console.is_output_closed() {
                break;
            }
        }
        Ok(ExitStatus::Done)
    }
}

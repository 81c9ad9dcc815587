//! How the keeper learns that the command it works for is over, however that ended.

use std::io::{self, Read};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// The end of an input that the parent holds open and never writes to.
pub(super) struct Parent {
    ended: Receiver<()>,
}

impl Parent {
    /// Watches an input until it ends, which it also does when the parent is killed.
    pub(super) fn watch(mut input: impl Read + Send + 'static) -> Self {
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            // An input that can't be read is as good as ended.
            let _ = io::copy(&mut input, &mut io::sink());
            drop(sender);
        });
        Self { ended }
    }

    /// Waits at most this long, and tells whether the parent is there still.
    pub(super) fn is_there_after(&self, time: Duration) -> bool {
        self.ended.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }

    /// Waits for the parent's end.
    pub(super) fn wait(&self) {
        // The sender never sends: the only news is that it is gone.
        let _ = self.ended.recv();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_input_is_a_parent_and_a_closed_one_is_none() {
        let (reader, writer) = io::pipe().expect("a pipe is made");
        let parent = Parent::watch(reader);
        assert!(parent.is_there_after(Duration::from_millis(1)));
        drop(writer);
        parent.wait();
        assert!(!parent.is_there_after(Duration::from_secs(60)));
    }
}

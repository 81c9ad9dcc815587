//! Owns stopping a second process before one of its system calls, whichever of its threads makes
//! it, and killing it there. Linux alone can be asked for that.

use anyhow::{Context as _, Result, bail, ensure};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::process::Second;

/// How a traced process came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// It was killed before a system call.
    Killed,
    /// It made fewer calls and ended by itself.
    Ran,
}

/// The number of a system call, as the kernel counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call(u64);

impl Call {
    /// Whether the call can change what is on a file system. Those of the shared memory's pages
    /// are no calls at all.
    pub(super) fn is_write(self) -> bool {
        let Ok(number) = i64::try_from(self.0) else {
            return false;
        };
        WRITES.contains(&number)
    }
}

/// The calls by which files, names and locks are changed or made durable.
const WRITES: &[i64] = &[
    nix::libc::SYS_write,
    nix::libc::SYS_pwrite64,
    nix::libc::SYS_pwritev,
    nix::libc::SYS_openat,
    nix::libc::SYS_ftruncate,
    nix::libc::SYS_fallocate,
    nix::libc::SYS_fsync,
    nix::libc::SYS_fdatasync,
    nix::libc::SYS_flock,
    nix::libc::SYS_unlinkat,
    nix::libc::SYS_mkdirat,
    nix::libc::SYS_renameat2,
    nix::libc::SYS_close,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    nix::libc::SYS_rename,
];

/// Gives a waiting process the word and kills it before its `nth` system call after that, counted
/// from 1 over all threads in the order in which they come.
///
/// # Errors
///
/// The process can't be traced.
pub(super) fn kill_at(second: &mut Second, nth: usize) -> Result<End> {
    let mut seen = 0;
    follow(second, |_| {
        seen += 1;
        if seen == nth {
            Verdict::Kill
        } else {
            Verdict::Go
        }
    })
}

/// Gives a waiting process the word and lists the system calls that it makes to its end.
///
/// # Errors
///
/// As [`kill_at`].
pub(super) fn list(second: &mut Second) -> Result<Vec<Call>> {
    let mut calls = Vec::new();
    follow(second, |call| {
        calls.push(call);
        Verdict::Go
    })?;
    Ok(calls)
}

/// What becomes of a process before a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Go,
    Kill,
}

fn follow(second: &mut Second, mut judge: impl FnMut(Call) -> Verdict) -> Result<End> {
    let leader = Pid::from_raw(i32::try_from(second.id())?);
    let options =
        Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::seize(leader, options).context(
        "tracing a second process of our own; a container may need --cap-add=SYS_PTRACE",
    )?;
    ptrace::interrupt(leader)?;
    second.give_the_word()?;
    let mut end = End::Ran;
    loop {
        // Another thread of this program may trace children of its own.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        let thread = match waitpid(None, Some(flags))? {
            WaitStatus::Exited(thread, code) if thread == leader => {
                second.has_been_reaped();
                ensure!(code == 0, "a traced process failed");
                return Ok(end);
            }
            WaitStatus::Signaled(thread, _, _) if thread == leader => {
                second.has_been_reaped();
                ensure!(end == End::Killed, "a traced process was killed by another");
                return Ok(end);
            }
            WaitStatus::Exited(_, _) | WaitStatus::Signaled(_, _, _) => continue,
            WaitStatus::PtraceSyscall(thread) => {
                if let Some(call) = call_before(thread)
                    && end == End::Ran
                    && judge(call) == Verdict::Kill
                {
                    kill(leader, Signal::SIGKILL)?;
                    end = End::Killed;
                }
                thread
            }
            WaitStatus::PtraceEvent(thread, _, _) => thread,
            WaitStatus::Stopped(thread, signal) => {
                resume(thread, Some(signal));
                continue;
            }
            other @ (WaitStatus::Continued(_) | WaitStatus::StillAlive) => {
                bail!("a traced process is {other:?}")
            }
        };
        resume(thread, None);
    }
}

/// A thread that dies meanwhile can't be resumed, and need not be.
fn resume(thread: Pid, signal: Option<Signal>) {
    ptrace::syscall(thread, signal).ok();
}

/// The call that a stopped thread is about to make; none when it has just made one, or is dead.
/// Before a call the kernel has put "no such call" where the result will be.
#[cfg(target_arch = "x86_64")]
fn call_before(thread: Pid) -> Option<Call> {
    let registers = ptrace::getregs(thread).ok()?;
    let no_such_call = i64::from(nix::libc::ENOSYS).wrapping_neg().cast_unsigned();
    (registers.rax == no_such_call).then_some(Call(registers.orig_rax))
}

/// The call that a stopped thread is about to make; none when it has just made one, or is dead.
/// The kernel shows which in the eighth register.
#[cfg(target_arch = "aarch64")]
fn call_before(thread: Pid) -> Option<Call> {
    let registers = ptrace::getregs(thread).ok()?.regs;
    (registers.get(7) == Some(&0)).then(|| registers.get(8).copied().map(Call))?
}

//! Owns the system calls that this crate stands in for. It decides nothing: it asks the journal,
//! goes to the kernel, and records what the kernel has done.
//!
//! Each function here has the name and the C signature of the one in the C library, whose symbol
//! the linker then leaves alone. The journal of a watched directory stays locked across the call,
//! so that the record has the order in which things happened.
#![expect(
    unsafe_code,
    reason = "a C function can only be stood in for by another, and only the kernel can do its work"
)]

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libc::{c_char, c_int, c_long, c_void, mode_t, off64_t, size_t, ssize_t};

use crate::calls::{Call, Outcome};
use crate::disk::Op;
use crate::watch::{self, Honesty, Watched};

/// Keeps this module in every executable that can watch: the linker takes a library's object only
/// if something in it is named.
pub(crate) fn link() {
    let named: extern "C" fn(c_int) -> c_int = fsync;
    std::hint::black_box(named);
}

/// Who watches the file that is open as `fd`, and its path.
fn of_file(fd: c_int) -> Option<(Arc<Watched>, PathBuf)> {
    if watch::is_idle() {
        return None;
    }
    let path = std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()?;
    Some((watch::find(&path)?, path))
}

/// Who watches a path that a caller names.
fn of_name(name: *const c_char) -> Option<(Arc<Watched>, PathBuf)> {
    if watch::is_idle() || name.is_null() {
        return None;
    }
    // SAFETY: the caller of a system call by name gives a string that ends with a zero byte and
    // lives for the call; null has just been excluded.
    let name = unsafe { CStr::from_ptr(name) };
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    Some((watch::find(path)?, path.to_owned()))
}

/// Gives a failure as the C library does.
fn refuse(errno: c_int) -> c_int {
    // SAFETY: the C library gives a pointer to this thread's own `errno`, valid while it runs.
    unsafe { *libc::__errno_location() = errno };
    -1
}

fn errno_of(outcome: Option<Outcome>) -> Option<c_int> {
    match outcome {
        Some(Outcome::Errno(errno)) => Some(errno),
        Some(Outcome::Short | Outcome::Code(_)) | None => None,
    }
}

/// What the kernel answers to calls that give a C integer fits one.
fn narrow(answer: c_long) -> c_int {
    c_int::try_from(answer).unwrap_or(-1)
}

/// What the kernel answers to calls that give a length fits one.
fn length(answer: c_long) -> ssize_t {
    ssize_t::try_from(answer).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn fsync(fd: c_int) -> c_int {
    // SAFETY: `fsync` takes a number, and the kernel judges it.
    sync(fd, || narrow(unsafe { libc::syscall(libc::SYS_fsync, fd) }))
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(fd: c_int) -> c_int {
    // SAFETY: `fdatasync` takes a number, and the kernel judges it.
    sync(fd, || {
        narrow(unsafe { libc::syscall(libc::SYS_fdatasync, fd) })
    })
}

fn sync(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some((watched, path)) = of_file(fd) else {
        return real();
    };
    let mut journal = watched.journal();
    let at = watched.relative(&path);
    let is_directory = path.is_dir();
    let call = if is_directory {
        Call::SyncDirectory
    } else {
        Call::Sync
    };
    if let Some(errno) = errno_of(journal.decide(call, &path)) {
        journal.push(Op::FailedSync(at));
        return refuse(errno);
    }
    if journal.honesty() == Honesty::Lying {
        return 0;
    }
    let answer = real();
    if answer == 0 {
        journal.push(if is_directory {
            Op::SyncDirectory(at)
        } else {
            Op::Sync(at)
        });
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: the arguments are the caller's, who vouches for `count` bytes at `buffer`.
    let real = |count: size_t| length(unsafe { libc::syscall(libc::SYS_write, fd, buffer, count) });
    let offset = || {
        // SAFETY: `lseek` takes numbers, and the kernel judges them.
        unsafe { libc::syscall(libc::SYS_lseek, fd, 0_i64, libc::SEEK_CUR) }
    };
    // SAFETY: the caller vouches for `count` bytes at `buffer`.
    unsafe { put(fd, buffer, count, offset, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the arguments are the caller's, who vouches for `count` bytes at `buffer`.
    let real = |count: size_t| {
        length(unsafe { libc::syscall(libc::SYS_pwrite64, fd, buffer, count, offset) })
    };
    // SAFETY: the caller vouches for `count` bytes at `buffer`.
    unsafe { put(fd, buffer, count, || offset, real) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the same function under its other name.
    unsafe { pwrite64(fd, buffer, count, offset) }
}

/// Writes, wherever the file stands.
///
/// # Safety
///
/// There are `count` readable bytes at `buffer`.
unsafe fn put(
    fd: c_int,
    buffer: *const c_void,
    count: size_t,
    offset: impl FnOnce() -> c_long,
    real: impl FnOnce(size_t) -> ssize_t,
) -> ssize_t {
    let Some((watched, path)) = of_file(fd) else {
        return real(count);
    };
    let mut journal = watched.journal();
    let offset = u64::try_from(offset()).unwrap_or(0);
    let taken = match journal.decide(Call::Write, &path) {
        Some(Outcome::Errno(errno)) => return ssize_t::try_from(refuse(errno)).unwrap_or(-1),
        Some(Outcome::Short) => count / 2,
        Some(Outcome::Code(_)) | None => count,
    };
    let answer = real(taken);
    if let Ok(written) = usize::try_from(answer)
        && written > 0
    {
        // SAFETY: the kernel has taken `written` bytes from `buffer`, never more than `count`.
        let bytes = unsafe { std::slice::from_raw_parts(buffer.cast::<u8>(), written) };
        journal.push(Op::Write {
            file: watched.relative(&path),
            offset,
            bytes: bytes.to_vec(),
        });
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pread64(
    fd: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    if let Some((watched, path)) = of_file(fd)
        && let Some(errno) = errno_of(watched.journal().decide(Call::Read, &path))
    {
        return ssize_t::try_from(refuse(errno)).unwrap_or(-1);
    }
    // SAFETY: the arguments are the caller's, who vouches for room for `count` bytes at `buffer`.
    length(unsafe { libc::syscall(libc::SYS_pread64, fd, buffer, count, offset) })
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(fd: c_int, to: off64_t) -> c_int {
    // SAFETY: `ftruncate` takes numbers, and the kernel judges them.
    let real = || narrow(unsafe { libc::syscall(libc::SYS_ftruncate, fd, to) });
    let Some((watched, path)) = of_file(fd) else {
        return real();
    };
    let mut journal = watched.journal();
    if let Some(errno) = errno_of(journal.decide(Call::Truncate, &path)) {
        return refuse(errno);
    }
    let answer = real();
    if answer == 0 {
        journal.push(Op::Truncate {
            file: watched.relative(&path),
            length: u64::try_from(to).unwrap_or(0),
        });
    }
    answer
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(fd: c_int, to: off64_t) -> c_int {
    ftruncate64(fd, to)
}

/// The C library's `open64` takes a variable number of arguments; on the machines that Linux runs
/// Rust on, a mode that was not given is merely a register with something in it, and the kernel
/// looks at it only with `O_CREAT` or `O_TMPFILE`.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    let real = || {
        // SAFETY: the arguments are the caller's, who vouches for the string.
        narrow(unsafe { libc::syscall(libc::SYS_openat, libc::AT_FDCWD, name, flags, mode) })
    };
    let Some((watched, path)) = of_name(name) else {
        return real();
    };
    let mut journal = watched.journal();
    if let Some(errno) = errno_of(journal.decide(Call::Open, &path)) {
        return refuse(errno);
    }
    let makes = flags & libc::O_CREAT != 0 && !path.exists();
    let answer = real();
    if makes && answer >= 0 {
        journal.push(Op::Create(watched.relative(&path)));
    }
    answer
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(name: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the same function under its other name.
    unsafe { open64(name, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(name: *const c_char, mode: mode_t) -> c_int {
    let real = || {
        // SAFETY: the arguments are the caller's, who vouches for the string.
        narrow(unsafe { libc::syscall(libc::SYS_mkdirat, libc::AT_FDCWD, name, mode) })
    };
    by_name(name, Call::MakeDirectory, Op::MakeDirectory, real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(name: *const c_char) -> c_int {
    let real = || {
        // SAFETY: the argument is the caller's, who vouches for the string.
        narrow(unsafe { libc::syscall(libc::SYS_unlinkat, libc::AT_FDCWD, name, 0) })
    };
    by_name(name, Call::Unlink, Op::Remove, real)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let real = || {
        // SAFETY: the arguments are the caller's, who vouches for both strings.
        narrow(unsafe {
            libc::syscall(
                libc::SYS_renameat2,
                libc::AT_FDCWD,
                from,
                libc::AT_FDCWD,
                to,
                0,
            )
        })
    };
    let Some((_, target)) = of_name(to) else {
        return real();
    };
    let Some((watched, source)) = of_name(from) else {
        return real();
    };
    let mut journal = watched.journal();
    if let Some(errno) = errno_of(journal.decide(Call::Rename, &target)) {
        return refuse(errno);
    }
    let answer = real();
    if answer == 0 {
        journal.push(Op::Rename {
            from: watched.relative(&source),
            to: watched.relative(&target),
        });
    }
    answer
}

fn by_name(
    name: *const c_char,
    call: Call,
    op: fn(PathBuf) -> Op,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((watched, path)) = of_name(name) else {
        return real();
    };
    let mut journal = watched.journal();
    if let Some(errno) = errno_of(journal.decide(call, &path)) {
        return refuse(errno);
    }
    let answer = real();
    if answer == 0 {
        journal.push(op(watched.relative(&path)));
    }
    answer
}

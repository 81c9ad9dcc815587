//! Owns the VFS that stands before SQLite's own and lets its methods fail on demand. It reads and
//! writes nothing: whatever isn't to fail goes to the wrapped one.
//!
//! A file of this VFS is a [`ShimFile`] with the wrapped VFS's file right behind it, in the one
//! block that SQLite allocates.
#![expect(
    unsafe_code,
    reason = "SQLite's file layer is a table of C functions over memory that SQLite owns"
)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libsqlite3_sys as ffi;
use libsqlite3_sys::{sqlite3_file, sqlite3_io_methods, sqlite3_vfs};

use crate::calls::{Call, Method, Outcome};
use crate::watch;

/// The start of a file of this VFS.
#[repr(C)]
struct ShimFile {
    /// SQLite's own part; it must stand first.
    base: sqlite3_file,
    /// Made by `open` and freed by `close`; null for a file without a name.
    path: *mut PathBuf,
}

/// The name of this VFS, with the zero that C asks for.
const NAME: &CStr = c"piton-faultfs";

/// Makes the VFS the default of this process. Connections opened from now on use it, unless they
/// name another; doing so twice is no error.
///
/// # Errors
///
/// The result code of SQLite, or `SQLITE_ERROR` when it has no VFS to wrap.
pub fn install() -> Result<(), i32> {
    static INSTALLED: OnceLock<c_int> = OnceLock::new();
    match *INSTALLED.get_or_init(register) {
        ffi::SQLITE_OK => Ok(()),
        code => Err(code),
    }
}

fn register() -> c_int {
    // SAFETY: both may be called at any time; a null name asks for the default VFS.
    let real = unsafe {
        let code = ffi::sqlite3_initialize();
        if code != ffi::SQLITE_OK {
            return code;
        }
        ffi::sqlite3_vfs_find(std::ptr::null())
    };
    if real.is_null() {
        return ffi::SQLITE_ERROR;
    }
    // SAFETY: SQLite gave a registered VFS, which lives as long as the process.
    let wrapped = unsafe { *real };
    let Ok(own) = c_int::try_from(size_of::<ShimFile>()) else {
        return ffi::SQLITE_ERROR;
    };
    // What is not replaced here is called with this VFS for its first argument; SQLite's own unix
    // functions do not look at it.
    let shim = sqlite3_vfs {
        szOsFile: wrapped.szOsFile + own,
        pNext: std::ptr::null_mut(),
        zName: NAME.as_ptr(),
        pAppData: real.cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        ..wrapped
    };
    // SAFETY: SQLite keeps the pointer, and a leaked box lives for ever.
    unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(shim)), 1) }
}

/// Gives the wrapped VFS.
///
/// # Safety
///
/// `vfs` is the one that [`register`] has made.
unsafe fn wrapped(vfs: *mut sqlite3_vfs) -> *mut sqlite3_vfs {
    // SAFETY: the caller's promise; `register` has put the wrapped one there.
    unsafe { (*vfs).pAppData.cast() }
}

/// Asks whether a method is to fail on a path.
fn decide(method: Method, path: &Path) -> Option<c_int> {
    if watch::is_idle() {
        return None;
    }
    let watched = watch::find(path)?;
    match watched.journal().decide(Call::Sqlite(method), path) {
        Some(Outcome::Code(code)) => Some(code),
        Some(Outcome::Errno(_) | Outcome::Short) | None => None,
    }
}

/// Reads a path that SQLite names.
///
/// # Safety
///
/// `name` is null or a string that ends with a zero byte.
unsafe fn path_of(name: *const c_char) -> Option<PathBuf> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller's promise, and it is not null.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls a VFS with itself, with a string or null, and with room for
    // `szOsFile` bytes at `file`, which is a `ShimFile` and the wrapped VFS's file. The wrapped
    // function gets the same pointer for its name, since SQLite may read parameters behind it.
    unsafe {
        (*file).pMethods = std::ptr::null();
        let path = path_of(name);
        if let Some(code) = path.as_deref().and_then(|path| decide(Method::Open, path)) {
            return code;
        }
        let real = wrapped(vfs);
        let Some(real_open) = (*real).xOpen else {
            return ffi::SQLITE_CANTOPEN;
        };
        let code = real_open(real, name, inner(file), flags, out_flags);
        if !(*inner(file)).pMethods.is_null() {
            let shim = file.cast::<ShimFile>();
            (*shim).path = path.map_or(std::ptr::null_mut(), |path| Box::into_raw(Box::new(path)));
            (*file).pMethods = &METHODS;
        }
        code
    }
}

unsafe extern "C" fn delete(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    sync_directory: c_int,
) -> c_int {
    // SAFETY: SQLite calls a VFS with itself and a string.
    unsafe {
        if let Some(code) = path_of(name).and_then(|path| decide(Method::Delete, &path)) {
            return code;
        }
        let real = wrapped(vfs);
        (*real).xDelete.map_or(ffi::SQLITE_IOERR_DELETE, |delete| {
            delete(real, name, sync_directory)
        })
    }
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls a VFS with itself, a string and a place for the answer.
    unsafe {
        if let Some(code) = path_of(name).and_then(|path| decide(Method::Access, &path)) {
            return code;
        }
        let real = wrapped(vfs);
        (*real).xAccess.map_or(ffi::SQLITE_IOERR_ACCESS, |access| {
            access(real, name, flags, out)
        })
    }
}

/// Gives the wrapped VFS's file.
///
/// # Safety
///
/// `file` is one that SQLite has allocated for this VFS.
unsafe fn inner(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: the block has room for a `ShimFile` and the wrapped file behind it; `ShimFile` holds
    // pointers alone, so what stands behind it is aligned for a struct of pointers and integers.
    unsafe { file.cast::<ShimFile>().add(1).cast() }
}

/// Asks whether a method is to fail on an open file.
///
/// # Safety
///
/// `file` is one that [`open`] has opened.
unsafe fn decide_on(method: Method, file: *mut sqlite3_file) -> Option<c_int> {
    // SAFETY: `open` has set `path` to null or to a box that only `close` frees.
    let path = unsafe { (*file.cast::<ShimFile>()).path.as_ref() }?;
    decide(method, path)
}

/// Calls a method of the wrapped file, or gives an error when it has none.
macro_rules! forward {
    ($file:ident, $method:ident ( $($argument:expr),* )) => {
        (*(*inner($file)).pMethods)
            .$method
            .map_or(ffi::SQLITE_ERROR, |method| method(inner($file), $($argument),*))
    };
}

/// Defines a method that only forwards, or one that may fail before it does.
macro_rules! method {
    ($name:ident => $method:ident ( $($argument:ident : $type:ty),* )) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls a method with the file that `open` has opened; the arguments
            // are SQLite's.
            unsafe { forward!(file, $method($($argument),*)) }
        }
    };
    ($name:ident => $method:ident ( $($argument:ident : $type:ty),* ) fails as $call:ident) => {
        unsafe extern "C" fn $name(file: *mut sqlite3_file $(, $argument: $type)*) -> c_int {
            // SAFETY: SQLite calls a method with the file that `open` has opened; the arguments
            // are SQLite's.
            unsafe {
                match decide_on(Method::$call, file) {
                    Some(code) => code,
                    None => forward!(file, $method($($argument),*)),
                }
            }
        }
    };
}

method!(read => xRead(to: *mut c_void, count: c_int, at: i64) fails as Read);
method!(write => xWrite(from: *const c_void, count: c_int, at: i64) fails as Write);
method!(truncate => xTruncate(length: i64) fails as Truncate);
method!(sync => xSync(flags: c_int) fails as Sync);
method!(file_size => xFileSize(length: *mut i64) fails as FileSize);
method!(lock => xLock(level: c_int) fails as Lock);
method!(unlock => xUnlock(level: c_int));
method!(check_reserved_lock => xCheckReservedLock(out: *mut c_int));
method!(file_control => xFileControl(op: c_int, argument: *mut c_void));
method!(sector_size => xSectorSize());
method!(device_characteristics => xDeviceCharacteristics());
method!(shm_map => xShmMap(page: c_int, size: c_int, extend: c_int, out: *mut *mut c_void) fails as ShmMap);
method!(shm_unmap => xShmUnmap(delete: c_int));
method!(fetch => xFetch(at: i64, count: c_int, out: *mut *mut c_void));
method!(unfetch => xUnfetch(at: i64, page: *mut c_void));

unsafe extern "C" fn shm_lock(
    file: *mut sqlite3_file,
    offset: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: as for every method.
    unsafe {
        // To let go never fails.
        if flags & ffi::SQLITE_SHM_LOCK != 0
            && let Some(code) = decide_on(Method::ShmLock, file)
        {
            return code;
        }
        forward!(file, xShmLock(offset, count, flags))
    }
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: as for every method.
    unsafe {
        if let Some(barrier) = (*(*inner(file)).pMethods).xShmBarrier {
            barrier(inner(file));
        }
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once and does not use it afterwards, so the box is freed once.
    unsafe {
        let code = forward!(file, xClose());
        let shim = file.cast::<ShimFile>();
        if !(*shim).path.is_null() {
            drop(Box::from_raw((*shim).path));
            (*shim).path = std::ptr::null_mut();
        }
        (*file).pMethods = std::ptr::null();
        code
    }
}

/// The third version of the table, as SQLite's own unix files have it.
static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

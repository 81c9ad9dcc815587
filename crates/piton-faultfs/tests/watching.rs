//! What is recorded of SQLite and of std, what an image keeps of it, and what is made to fail.

#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;

use piton_faultfs::{
    Call, Disk, Failure, Filler, Honesty, Image, Keep, Loss, Method, Op, Outcome, Watch,
};

fn place() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn disk_of(record: &[Op]) -> Disk {
    let mut disk = Disk::new();
    record.iter().for_each(|op| disk.apply(op));
    disk
}

fn loss(keep: Keep) -> Loss {
    Loss {
        files: keep,
        names: keep,
        filler: Filler::Zeros,
        seed: 7,
    }
}

/// Commits one row in write-ahead mode with full synchronisation and leaves the log behind.
fn commit(directory: &Path) -> rusqlite::Connection {
    piton_faultfs::install().expect("SQLite takes the VFS");
    let connection = rusqlite::Connection::open(directory.join("db")).expect("a database");
    let mode: String = connection
        .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
        .expect("a mode");
    assert_eq!(mode, "wal");
    connection
        .execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t (n); INSERT INTO t VALUES (1);")
        .expect("a commit");
    connection
}

fn rows(image: &Image) -> Option<i64> {
    let place = place();
    image.write_to(place.path()).expect("a written image");
    let connection = rusqlite::Connection::open(place.path().join("db")).ok()?;
    let count = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0));
    count.ok()
}

#[test]
fn an_honest_disk_keeps_a_commit_whatever_else_it_loses() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let connection = commit(watch.root());
    let disk = disk_of(&watch.take_record());
    for keep in Keep::ALL {
        for seed in 0..8 {
            let loss = Loss { seed, ..loss(keep) };
            assert_eq!(rows(&disk.lose_power(&loss)), Some(1), "{loss:?}");
        }
    }
    drop(connection);
}

#[test]
fn a_lying_disk_loses_a_commit() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Lying).expect("a watch");
    let connection = commit(watch.root());
    let disk = disk_of(&watch.take_record());
    assert_ne!(rows(&disk.lose_power(&loss(Keep::Nothing))), Some(1));
    assert_eq!(rows(&disk.lose_power(&loss(Keep::Everything))), Some(1));
    drop(connection);
}

#[test]
fn a_kept_image_is_what_stands_there() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let connection = commit(watch.root());
    let directory = watch.root().join("made");
    fs::create_dir(&directory).expect("a directory");
    fs::write(directory.join("a"), b"one").expect("a file");
    fs::rename(directory.join("a"), directory.join("b")).expect("a move");
    File::create(directory.join("gone")).expect("a file");
    fs::remove_file(directory.join("gone")).expect("a removal");
    let image = disk_of(&watch.take_record()).lose_power(&loss(Keep::Everything));
    assert_eq!(image.file("made/b"), Some(&b"one"[..]));
    assert_eq!(
        (image.file("made/a"), image.file("made/gone")),
        (None, None)
    );
    for name in ["db", "db-wal"] {
        let stands = fs::read(watch.root().join(name)).expect("a file");
        assert_eq!(image.file(name), Some(stands.as_slice()), "{name}");
    }
    drop(connection);
}

#[test]
fn a_name_needs_a_sync_of_its_directory_and_data_one_of_its_file() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let path = watch.root().join("a");
    let mut file = File::create(&path).expect("a file");
    file.write_all(b"data").expect("a write");
    file.sync_all().expect("a sync");
    let mut disk = disk_of(&watch.take_record());
    assert_eq!(disk.lose_power(&loss(Keep::Nothing)).file("a"), None);
    File::open(watch.root())
        .and_then(|root| root.sync_all())
        .expect("a sync");
    file.write_all(b" and more").expect("a write");
    watch.take_record().iter().for_each(|op| disk.apply(op));
    let image = disk.lose_power(&loss(Keep::Nothing));
    assert!(!disk.is_settled());
    assert_eq!(image.file("a").map(|bytes| &bytes[..4]), Some(&b"data"[..]));
    assert_ne!(image.file("a"), Some(&b"data and more"[..]));
}

#[test]
fn what_a_failed_sync_left_in_doubt_stays_so() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let file = File::create(watch.root().join("a")).expect("a file");
    File::open(watch.root())
        .and_then(|root| root.sync_all())
        .expect("a sync");
    file.write_all_at(b"first", 0).expect("a write");
    watch.fail(Failure::once(Call::Sync, 1, Outcome::Errno(libc::EIO)));
    let error = file.sync_all().expect_err("an ordered failure");
    assert_eq!(error.raw_os_error(), Some(libc::EIO));
    file.sync_all().expect("a sync");
    file.write_all_at(b"later", 1000).expect("a write");
    file.sync_all().expect("a sync");
    assert_eq!(watch.heal(), 1);
    let disk = disk_of(&watch.take_record());
    let image = disk.lose_power(&loss(Keep::Nothing));
    let content = image.file("a").expect("a file");
    assert_eq!(&content[..5], &[0; 5]);
    assert_eq!(&content[1000..], b"later");
}

#[test]
fn sectors_are_torn_apart_and_whole() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let file = File::create(watch.root().join("a")).expect("a file");
    file.write_all_at(&[1; 4096], 0).expect("a write");
    file.sync_all().expect("a sync");
    File::open(watch.root())
        .and_then(|root| root.sync_all())
        .expect("a sync");
    file.write_all_at(&[2; 4096], 0).expect("a write");
    let disk = disk_of(&watch.take_record());
    let mut mixed = 0;
    for seed in 0..20 {
        let image = disk.lose_power(&Loss {
            seed,
            ..loss(Keep::Sectors)
        });
        let content = image.file("a").expect("a file");
        let sectors: Vec<_> = content.chunks(512).collect();
        for sector in &sectors {
            assert!(sector.iter().all(|byte| *byte == sector[0]));
        }
        if sectors.iter().any(|sector| sector[0] != sectors[0][0]) {
            mixed += 1;
        }
    }
    assert!(mixed > 10, "{mixed}");
}

#[test]
fn a_short_write_is_recorded_as_short() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let file = File::create(watch.root().join("a")).expect("a file");
    watch.fail(Failure::once(Call::Write, 1, Outcome::Short));
    let full = Failure::once(Call::Write, 2, Outcome::Errno(libc::ENOSPC));
    watch.fail(full.lasting());
    let error = file.write_all_at(b"12345678", 0).expect_err("a full disk");
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let image = disk_of(&watch.take_record()).lose_power(&loss(Keep::Everything));
    assert_eq!(image.file("a"), Some(&b"1234"[..]));
}

#[test]
fn only_the_named_file_fails() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let eio = Outcome::Errno(libc::EIO);
    watch.fail(Failure::once(Call::Write, 1, eio).only("b"));
    fs::write(watch.root().join("a"), b"a").expect("a write");
    fs::write(watch.root().join("b"), b"b").expect_err("an ordered failure");
    assert_eq!(watch.heal(), 1);
    fs::write(watch.root().join("b"), b"b").expect("a write");
}

#[test]
fn a_method_of_sqlite_fails_as_ordered() {
    let place = place();
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    let connection = commit(watch.root());
    let fsync = libsqlite3_sys::SQLITE_IOERR_FSYNC;
    watch.fail(Failure::once(
        Call::Sqlite(Method::Sync),
        1,
        Outcome::Code(fsync),
    ));
    let error = connection
        .execute("INSERT INTO t VALUES (2)", [])
        .expect_err("an ordered failure");
    let rusqlite::Error::SqliteFailure(error, _) = error else {
        panic!("{error}");
    };
    assert_eq!(error.extended_code, fsync);
    assert_eq!(watch.heal(), 1);
    assert!(watch.take_counts()[&Call::Sqlite(Method::Write)] > 0);
}

#[test]
fn nothing_beside_the_watched_directory_is_recorded() {
    let (place, beside) = (place(), place());
    let watch = Watch::begin(place.path(), Honesty::Honest).expect("a watch");
    fs::write(beside.path().join("a"), b"a").expect("a write");
    assert_eq!(watch.take_record(), []);
}

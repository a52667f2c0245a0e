//! Resume locks on real files.

use std::fs;
use std::os::unix::fs::{symlink, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use harnery_native::files::Sharing;
use harnery_native::javascript::json::parse;
use harnery_native::workflow::resume::{acquire, ResumeLock};
use harnery_native::workflow::{Error, RunId};
use tempfile::TempDir;

use crate::mortal::{real, scratch};

pub fn run() -> RunId {
    RunId::new("run-1").unwrap()
}

pub fn directory(root: &TempDir) -> PathBuf {
    root.path().join(".harnery/workflows/run-1")
}

pub fn lock_file(root: &TempDir) -> PathBuf {
    directory(root).join("resume.lock")
}

pub fn take(root: &Path) -> Result<ResumeLock, Error> {
    acquire(&real(), root, &run(), Sharing::Private)
}

pub fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_lock_names_its_owner_in_one_private_line() {
    let root = scratch();
    let lock = take(root.path()).unwrap();
    let text = fs::read_to_string(lock_file(&root)).unwrap();
    let owner = parse(text.as_bytes()).unwrap();
    let keys: Vec<_> =
        owner.as_object().unwrap().iter().map(|(key, _)| key.to_string_lossy().into_owned()).collect();
    assert_eq!(keys, ["owner_id", "pid", "host", "created_at"]);
    assert_eq!(
        owner.as_object().unwrap().get("pid").unwrap().as_number(),
        Some(f64::from(std::process::id()))
    );
    assert!(text.ends_with("}\n") && text.lines().count() == 1);
    assert_eq!(fs::metadata(lock_file(&root)).unwrap().mode() & 0o7777, 0o600);
    assert_eq!(fs::metadata(lock_file(&root)).unwrap().nlink(), 1);
    lock.release();
    assert_eq!(names(&directory(&root)), ["resume-mutation.lease"]);
    assert_eq!(names(&directory(&root).join("resume-mutation.lease")), [""; 0]);
}

#[test]
fn h4_two_resumes_of_one_run_at_once_give_one_holder_and_the_other_names_it() {
    let root = scratch();
    let first = take(root.path()).unwrap();
    let refused = take(root.path()).unwrap_err();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let message = format!(
        "workflow run run-1 resume lease is already held by pid {} on {host}; its liveness has not been verified",
        std::process::id()
    );
    assert!(matches!(&refused, Error::Held(_)));
    assert_eq!(refused.to_string(), message);
    first.release();
    take(root.path()).unwrap().release();
}

#[test]
fn h4_of_eight_resumes_that_begin_at_once_one_holds_and_the_others_name_it() {
    let root = scratch();
    let (begin, end) = (std::sync::Barrier::new(8), std::sync::Barrier::new(8));
    let resume = || {
        begin.wait();
        let taken = take(root.path());
        // Nobody lets go before all have tried.
        end.wait();
        match taken {
            Ok(lock) => {
                lock.release();
                None
            }
            Err(error) => Some(error.to_string()),
        }
    };
    let said: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(resume)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(said.iter().filter(|refusal| refusal.is_none()).count(), 1, "{said:?}");
    let me = format!("pid {} ", std::process::id());
    assert!(said.iter().flatten().all(|refusal| refusal.contains(&me)), "{said:?}");
    take(root.path()).unwrap().release();
}

#[test]
fn h5_a_lock_that_exists_refuses_whoever_holds_it_and_however_old_it_is() {
    let root = scratch();
    fs::create_dir_all(directory(&root)).unwrap();
    let owned = |text: &str| {
        fs::write(lock_file(&root), text).unwrap();
        let refused = take(root.path()).unwrap_err().to_string();
        assert_eq!(fs::read_to_string(lock_file(&root)).unwrap(), text);
        refused.strip_prefix("workflow run run-1 resume lease is already held").unwrap().to_owned()
    };
    let dead =
        r#"{"owner_id":"a","pid":2147483647,"host":"elsewhere","created_at":"2000-01-01T00:00:00.000Z"}"#;
    assert_eq!(owned(dead), " by pid 2147483647 on elsewhere; its liveness has not been verified");
    for unknown in [
        "",
        "{",
        r#"{"pid":"12","host":"h","created_at":"2000-01-01T00:00:00.000Z"}"#,
        r#"{"pid":-1,"host":"h","created_at":"2000-01-01T00:00:00.000Z"}"#,
        r#"{"pid":1.5,"host":"h","created_at":"2000-01-01T00:00:00.000Z"}"#,
        r#"{"pid":1,"host":"","created_at":"2000-01-01T00:00:00.000Z"}"#,
        r#"{"pid":1,"host":"h","created_at":"long ago"}"#,
    ] {
        assert_eq!(owned(unknown), "; its owner could not be verified", "{unknown}");
    }
}

#[test]
fn s1_a_lock_that_is_a_symbolic_link_is_refused_and_what_it_leads_to_is_not_touched() {
    for target in ["missing", "file", "directory"] {
        let (root, outside) = (scratch(), scratch());
        fs::write(outside.path().join("file"), "kept").unwrap();
        fs::create_dir(outside.path().join("directory")).unwrap();
        fs::create_dir_all(directory(&root)).unwrap();
        symlink(outside.path().join(target), lock_file(&root)).unwrap();
        let refused = take(root.path()).unwrap_err().to_string();
        assert!(refused.contains("resume lock is not a bounded regular file"), "{refused}");
        assert_eq!(names(outside.path()), ["directory", "file"]);
        assert_eq!(fs::read(outside.path().join("file")).unwrap(), b"kept");
        assert!(fs::symlink_metadata(lock_file(&root)).unwrap().is_symlink());
    }
}

#[test]
fn releasing_after_a_replacement_removes_nothing() {
    let root = scratch();
    let lock = take(root.path()).unwrap();
    let bytes = fs::read(lock_file(&root)).unwrap();
    // The same bytes, and another file.
    fs::remove_file(lock_file(&root)).unwrap();
    fs::write(lock_file(&root), &bytes).unwrap();
    lock.release();
    assert_eq!(fs::read(lock_file(&root)).unwrap(), bytes);

    fs::remove_file(lock_file(&root)).unwrap();
    let lock = take(root.path()).unwrap();
    // The same file, and other bytes.
    fs::write(lock_file(&root), "{}\n").unwrap();
    lock.release();
    assert_eq!(fs::read(lock_file(&root)).unwrap(), b"{}\n");
}

#[test]
fn a_lock_that_somebody_removed_is_released_without_a_word() {
    let root = scratch();
    let lock = take(root.path()).unwrap();
    fs::remove_dir_all(directory(&root)).unwrap();
    lock.release();
    assert!(!directory(&root).exists());
}

#[test]
fn a_shared_project_has_the_group_s_modes() {
    let root = scratch();
    let lock = acquire(&real(), root.path(), &run(), Sharing::Group).unwrap();
    assert_eq!(fs::metadata(lock_file(&root)).unwrap().mode() & 0o7777, 0o660);
    assert_eq!(fs::metadata(directory(&root)).unwrap().mode() & 0o7777, 0o770);
    lock.release();
}

#[test]
fn a_directory_that_may_not_be_written_is_a_clear_error() {
    let root = scratch();
    fs::write(root.path().join(".harnery"), "a file").unwrap();
    let error = take(root.path()).unwrap_err();
    let Error::Path(error) = error else { panic!("{error}") };
    assert_eq!(error.code().as_deref(), Some("ENOTDIR"));
}

const CONTENDER: &str = "WORKFLOW_TEST_CONTENDER";

#[test]
fn one_of_eight_contenders() {
    let Ok(root) = std::env::var(CONTENDER) else { return };
    match take(Path::new(&root)) {
        // It is never given back: the lock outlives its owner.
        Ok(_) => {}
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}

#[test]
fn of_eight_processes_at_once_one_holds() {
    let root = scratch();
    let contenders: Vec<_> = (0..8)
        .map(|_| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "resume::one_of_eight_contenders", "--nocapture"])
                .env(CONTENDER, root.path())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    let held = contenders.into_iter().map(|mut child| child.wait().unwrap().success());
    assert_eq!(held.filter(|held| *held).count(), 1);
    assert_eq!(names(&directory(&root)), ["resume-mutation.lease", "resume.lock"]);
}

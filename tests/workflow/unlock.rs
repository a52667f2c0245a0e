//! Recovering a dead owner's lock: previewed, exact, audited.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use harnery_native::files::Sharing;
use harnery_native::javascript::json::{sha256_hex, stringify, Value};
use harnery_native::workflow::audit::{self, Request};
use harnery_native::workflow::recovery::{preview, unlock, Authorization, OwnerState, Unlocked};
use harnery_native::workflow::{Error, RunId};
use tempfile::TempDir;

use crate::mortal::{fated, real, scratch, Fate};
use crate::resume::{directory, lock_file, names, run, take};

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn owner(pid: &str, host: &str) -> String {
    format!("{{\"owner_id\":\"a\",\"pid\":{pid},\"host\":\"{host}\",\"created_at\":\"2026-01-01T00:00:00.000Z\"}}\n")
}

/// A project whose run has a lock with these bytes.
fn locked(bytes: &str) -> TempDir {
    let root = scratch();
    fs::create_dir_all(directory(&root)).unwrap();
    fs::write(lock_file(&root), bytes).unwrap();
    root
}

fn dead() -> TempDir {
    locked(&owner("2147483647", &host_name()))
}

fn state(root: &TempDir) -> OwnerState {
    preview(&real(), root.path(), &run()).unwrap().owner_state
}

fn open_it(root: &TempDir, digest: Option<&str>) -> Result<Unlocked, Error> {
    let authorization = Authorization { lock_sha256: digest, actor: " op ", reason: "its host is gone" };
    unlock(&real(), root.path(), &run(), &authorization, Sharing::Private)
}

fn digest(root: &TempDir) -> String {
    preview(&real(), root.path(), &run()).unwrap().lock_sha256.unwrap()
}

fn recoveries(root: &TempDir) -> Vec<audit::Recorded> {
    audit::list(&real(), root.path(), &run()).unwrap()
}

fn member(value: &Value, name: &str) -> String {
    stringify(value.as_object().unwrap().get(name).unwrap())
}

#[test]
fn a_preview_says_what_is_there_and_changes_nothing() {
    let root = scratch();
    assert_eq!(state(&root), OwnerState::Absent);
    assert!(!root.path().join(".harnery").exists());

    let root = dead();
    let before = names(&directory(&root));
    let found = preview(&real(), root.path(), &run()).unwrap();
    assert_eq!(found.owner_state, OwnerState::Dead);
    assert_eq!(
        stringify(&found.owner.unwrap().to_value()),
        format!(r#"{{"pid":2147483647,"host":"{}","created_at":"2026-01-01T00:00:00.000Z"}}"#, host_name())
    );
    assert_eq!(names(&directory(&root)), before);
}

#[test]
fn only_a_readable_owner_of_this_host_is_live_or_dead() {
    let me = std::process::id().to_string();
    assert_eq!(state(&locked(&owner(&me, &host_name()))), OwnerState::Live);
    assert_eq!(state(&locked(&owner(&me, "elsewhere"))), OwnerState::Unknown);
    assert_eq!(state(&locked(&owner("2147483647", "elsewhere"))), OwnerState::Unknown);
    for pid in ["0", "-1", "1.5", "\"12\"", "4294967297", "1e300", "null"] {
        assert_eq!(state(&locked(&owner(pid, &host_name()))), OwnerState::Unknown, "{pid}");
    }
    assert_eq!(state(&locked("")), OwnerState::Unknown);
}

#[test]
fn a_zombie_is_dead() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = harnery_native::process::Pid::new(i64::from(child.id())).unwrap();
    let held = real().processes.open(pid).unwrap().unwrap();
    let root = locked(&owner(&child.id().to_string(), &host_name()));
    while !held.has_ended() {
        std::thread::yield_now();
    }
    assert_eq!(state(&root), OwnerState::Dead);
    child.wait().unwrap();
}

#[test]
fn what_is_no_bounded_plain_file_is_an_error() {
    let root = locked(&"x".repeat(8 * 1024));
    assert_eq!(state(&root), OwnerState::Unknown);
    let too_large = locked(&"x".repeat(8 * 1024 + 1));
    let link = scratch();
    fs::create_dir_all(directory(&link)).unwrap();
    std::os::unix::fs::symlink("/nowhere", lock_file(&link)).unwrap();
    let dir = scratch();
    fs::create_dir_all(lock_file(&dir)).unwrap();
    for root in [too_large, link, dir] {
        let error = preview(&real(), root.path(), &run()).unwrap_err().to_string();
        assert_eq!(error, "resume lock is not a bounded regular file");
    }
}

#[test]
fn h5_a_dead_owner_s_lock_is_removed_once_its_recovery_is_on_record() {
    let root = dead();
    let digest = digest(&root);
    let unlocked = open_it(&root, Some(&digest)).unwrap();
    assert_eq!(unlocked.was.lock_sha256.as_deref(), Some(digest.as_str()));
    assert!(!lock_file(&root).exists());
    let recoveries = recoveries(&root);
    let [recorded] = recoveries.as_slice() else { panic!("{recoveries:?}") };
    let intent = recorded.intent.as_object().unwrap();
    let keys: Vec<_> = intent.iter().map(|(key, _)| key.to_string_lossy().into_owned()).collect();
    let expected = [
        "schema_version",
        "operation_id",
        "run_id",
        "action",
        "target_sha256",
        "target",
        "actor",
        "reason",
        "created_at",
        "pid",
        "host",
    ];
    assert_eq!(keys, expected);
    assert_eq!(member(&recorded.intent, "action"), r#""unlock_resume""#);
    assert_eq!(member(&recorded.intent, "actor"), r#""op""#);
    assert_eq!(member(&recorded.intent, "target_sha256"), format!("{digest:?}"));
    assert!(
        member(&recorded.intent, "target").starts_with(r#"{"lock":"resume.lock","owner":{"pid":2147483647,"#)
    );
    let completion = recorded.completion.as_ref().unwrap();
    let file = directory(&root).join("recovery").join(&unlocked.recovery_id).join("intent.json");
    let bytes = fs::read(file).unwrap();
    assert!(bytes.starts_with(b"{\n  \"schema_version\": 1,\n") && bytes.ends_with(b"}\n"));
    assert_eq!(member(completion, "intent_sha256"), format!("{:?}", sha256_hex(&bytes)));
    take(root.path()).unwrap().release();
}

#[test]
fn h5_a_live_an_unknown_and_an_absent_owner_are_refused_and_nothing_is_recorded() {
    let live = locked(&owner(&std::process::id().to_string(), &host_name()));
    let unknown = locked(&owner("2147483647", "elsewhere"));
    for (root, state) in [(live, "live"), (unknown, "unknown"), (scratch(), "absent")] {
        let before = fs::read(lock_file(&root)).ok();
        let error = open_it(&root, Some(&"0".repeat(64))).unwrap_err();
        assert_eq!(error.to_string(), format!("workflow resume unlock refused: owner is {state}"));
        assert_eq!(fs::read(lock_file(&root)).ok(), before);
        assert!(recoveries(&root).is_empty());
        assert!(!directory(&root).join("resume-mutation.lease").exists());
    }
}

#[test]
fn an_unlock_needs_the_digest_of_exactly_what_is_there() {
    let root = dead();
    let old = digest(&root);
    // The same bytes in another file.
    let bytes = fs::read(lock_file(&root)).unwrap();
    fs::write(directory(&root).join("copy"), &bytes).unwrap();
    fs::rename(directory(&root).join("copy"), lock_file(&root)).unwrap();
    assert_ne!(digest(&root), old);
    for given in [None, Some(""), Some(old.as_str()), Some(&digest(&root).to_uppercase())] {
        let error = open_it(&root, given).unwrap_err();
        assert_eq!(error.to_string(), "workflow resume unlock requires the exact current preview digest");
    }
    assert_eq!(fs::read(lock_file(&root)).unwrap(), bytes);
    assert!(recoveries(&root).is_empty());
}

#[test]
fn an_unlock_without_an_actor_or_a_reason_is_refused_before_anything_is_written() {
    let root = dead();
    let digest = digest(&root);
    let long = |length: usize| "\u{e9}".repeat(length);
    for (actor, reason, what) in [
        ("", "r", "actor must have 1 to 200"),
        (" \n\u{feff}", "r", "actor must have 1 to 200"),
        (&long(201), "r", "actor must have 1 to 200"),
        ("a", "\t", "reason must have 1 to 2000"),
        ("a", &long(2001), "reason must have 1 to 2000"),
    ] {
        let authorization = Authorization { lock_sha256: Some(&digest), actor, reason };
        let error = unlock(&real(), root.path(), &run(), &authorization, Sharing::Private).unwrap_err();
        assert_eq!(error.to_string(), format!("workflow recovery {what} characters"));
    }
    assert!(lock_file(&root).exists() && !directory(&root).join("recovery").exists());
    let authorization = Authorization { lock_sha256: Some(&digest), actor: &long(200), reason: &long(2000) };
    unlock(&real(), root.path(), &run(), &authorization, Sharing::Private).unwrap();
}

fn request<'a>(target_sha256: &'a str) -> Request<'a> {
    Request { action: "test", target_sha256, target: Value::Null, actor: "me", reason: "why" }
}

#[test]
fn an_intent_that_was_changed_is_neither_current_nor_completed() {
    let root = scratch();
    let digest = "a".repeat(64);
    let begun = audit::begin(&real(), root.path(), &run(), &request(&digest), Sharing::Private).unwrap();
    begun.assert_current(&real()).unwrap();
    let file = directory(&root).join("recovery").join(begun.operation_id()).join("intent.json");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, [&bytes[..], b" "].concat()).unwrap();
    let message = format!("workflow recovery intent changed: {}", file.display());
    assert_eq!(begun.assert_current(&real()).unwrap_err().to_string(), message);
    assert_eq!(begun.complete(&real()).unwrap_err().to_string(), message);
    fs::remove_file(&file).unwrap();
    assert_eq!(begun.assert_current(&real()).unwrap_err().to_string(), message);
    fs::write(&file, &bytes).unwrap();
    begun.complete(&real()).unwrap();
    let completion = fs::read(file.with_file_name("completion.json")).unwrap();
    let again = begun.complete(&real()).err().map(|error| error.to_string());
    assert!(again.is_none_or(|error| error.starts_with("immutable record already exists at ")));
    assert_eq!(fs::read(file.with_file_name("completion.json")).unwrap(), completion);
    assert_eq!(names(file.parent().unwrap()), ["completion.json", "intent.json"]);
}

#[test]
fn recoveries_are_listed_oldest_first_the_unfinished_ones_too() {
    let root = scratch();
    assert!(recoveries(&root).is_empty());
    let digests: Vec<_> = ["a", "b", "c"].iter().map(|letter| letter.repeat(64)).collect();
    for (number, digest) in digests.iter().enumerate() {
        let begun = audit::begin(&real(), root.path(), &run(), &request(digest), Sharing::Private).unwrap();
        let file = directory(&root).join("recovery").join(begun.operation_id()).join("intent.json");
        if number == 1 {
            begun.complete(&real()).unwrap();
        }
        // Written as they were begun: an hour apart, the last one first.
        let text = fs::read_to_string(&file).unwrap();
        let (start, rest) = text.split_once("\"created_at\": \"").unwrap();
        let rest = rest.split_once('"').unwrap().1;
        let hour = 12 - number;
        fs::write(&file, format!("{start}\"created_at\": \"2026-01-01T{hour:02}:00:00.000Z\"{rest}"))
            .unwrap();
    }
    let found = recoveries(&root);
    let targets: Vec<_> = found.iter().map(|recorded| member(&recorded.intent, "target_sha256")).collect();
    assert_eq!(targets, [2, 1, 0].map(|number: usize| format!("{:?}", digests[number])));
    assert_eq!(
        found.iter().map(|recorded| recorded.completion.is_some()).collect::<Vec<_>>(),
        [false, true, false]
    );
}

#[test]
fn a_record_that_cannot_be_read_is_named_and_never_left_out() {
    let root = scratch();
    let digest = "a".repeat(64);
    let begun = audit::begin(&real(), root.path(), &run(), &request(&digest), Sharing::Private).unwrap();
    let file = directory(&root).join("recovery").join(begun.operation_id()).join("intent.json");
    fs::write(&file, "{").unwrap();
    let error = audit::list(&real(), root.path(), &run()).unwrap_err().to_string();
    assert_eq!(error, format!("workflow recovery record is corrupt: {}", file.display()));
}

#[test]
fn what_is_no_record_is_named_and_a_stray_file_hides_nothing() {
    let root = scratch();
    let digest = "a".repeat(64);
    let begun = audit::begin(&real(), root.path(), &run(), &request(&digest), Sharing::Private).unwrap();
    begun.complete(&real()).unwrap();
    let all = directory(&root).join("recovery");
    fs::write(all.join(".DS_Store"), "").unwrap();
    std::os::unix::fs::symlink(".", all.join("latest")).unwrap();
    fs::create_dir(all.join("unfinished")).unwrap();
    assert_eq!(recoveries(&root).len(), 1);

    let refused = |path: &Path| {
        let error = audit::list(&real(), root.path(), &run()).unwrap_err().to_string();
        assert_eq!(error, format!("workflow recovery record is corrupt: {}", path.display()));
    };
    let [intent, completion] = ["intent.json", "completion.json"].map(|name| begun.path.join(name));
    let whole = [&intent, &completion].map(|file| fs::read_to_string(file).unwrap());
    for (file, text) in [&intent, &completion].into_iter().zip(&whole) {
        let lines: Vec<_> = text.lines().collect();
        let without =
            |left_out: &str| lines.iter().filter(|line| **line != left_out).copied().collect::<String>();
        for line in lines.iter().filter(|line| line.ends_with(',')) {
            fs::write(file, without(line)).unwrap();
            refused(file);
        }
        fs::write(file, text.replace(&begun.operation_id(), "another")).unwrap();
        refused(file);
        fs::write(file, text).unwrap();
    }
    assert_eq!(recoveries(&root).len(), 1);

    let moved = all.join("moved");
    fs::rename(&begun.path, &moved).unwrap();
    refused(&moved.join("intent.json"));
    fs::remove_dir_all(moved).unwrap();
    fs::write(&begun.path, "").unwrap();
    refused(&begun.path);
}

#[test]
fn an_invalid_run_id_builds_no_path() {
    for id in ["", "..", "a/b", &"a".repeat(201)] {
        assert!(matches!(RunId::new(id), Err(Error::Input(_))));
    }
}

/// Puts another lock in the place of the dead owner's before one of the calls.
struct Replaced {
    left: Cell<Option<usize>>,
    lock: PathBuf,
}

impl Fate for Replaced {
    fn before(&self, _call: &'static str) {
        match self.left.get() {
            Some(0) => {
                self.left.set(None);
                fs::remove_file(&self.lock).unwrap_or_default();
                fs::write(&self.lock, owner("1", "elsewhere")).unwrap();
            }
            left => self.left.set(left.map(|left| left - 1)),
        }
    }
}

/// No call looks and unlinks in one; so the last look, which opens and reads the lock, is right before the unlink.
#[test]
fn a_lock_that_was_replaced_meanwhile_stays_but_between_the_last_look_and_the_unlink() {
    let (mut refused, mut lost) = (0, 0);
    for at in 0.. {
        let root = dead();
        let digest = digest(&root);
        let fate = Rc::new(Replaced { left: Cell::new(Some(at)), lock: lock_file(&root) });
        let host = fated(&real(), Rc::clone(&fate) as Rc<dyn Fate>);
        let authorization =
            Authorization { lock_sha256: Some(&digest), actor: "op", reason: "its host is gone" };
        let outcome = unlock(&host, root.path(), &run(), &authorization, Sharing::Private);
        if fate.left.get().is_some() {
            break;
        }
        let stays = fs::read_to_string(lock_file(&root)).is_ok_and(|text| text == owner("1", "elsewhere"));
        match outcome {
            Ok(_) if !stays => lost += 1,
            // Replaced once the dead one's was gone.
            Ok(_) => {}
            Err(error) => {
                assert!(stays, "call {at}: {error}");
                refused += usize::from(error.to_string().contains("authority changed before unlock"));
            }
        }
    }
    assert!(refused > 10, "{refused} times it was replaced after the first look");
    assert!(lost <= 3, "lost {lost} times");
}

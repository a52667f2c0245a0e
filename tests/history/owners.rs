//! Whose lease may be taken, on the simulated machine.

use std::path::Path;
use std::time::Duration;

use harnery_native::files::Access;
use harnery_native::history::lease::torn::{inspect, State};
use harnery_native::history::repair::repair;
use harnery_native::history::{Error, Result, Writing};
use harnery_native::lease::repair::Request;
use harnery_native::sim::Machine;

use crate::lease::{add, home, is_busy, layout, put_owner, records, EMPTY, FILE, LEASE, STALE};

#[test]
fn an_owner_is_dead_only_when_it_is_old_and_its_process_is_provably_gone() {
    let dead = [
        // As the TypeScript writes it.
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":2147483647,"acquired_at":"2000-01-01T00:00:00.000Z","more":1}"#,
        // The number is in use again.
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pidfd_inode":"7","pid_namespace":"1"}}"#,
        // The machine has restarted, whatever the clock says.
        r#"{"owner_id":"a","pid":101,"acquired_at":"2999-01-01T00:00:00.000Z","witness":{"start_token":"lffffffff.1"}}"#,
    ];
    let unknown = [
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.001Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-02T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":101,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pidfd_inode":"1001","pid_namespace":"1"}}"#,
        r#"{"owner_id":"a","pid":0,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":-5,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":4294967446,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":1.5,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":"150","acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"pid":150,"acquired_at":"2026-01-01T00:00:00.000Z"}"#,
        r#"{"owner_id":"a","pid":150,"acquired_at":"long ago"}"#,
        r#"{"owner_id":"a","pid":150"#,
        "",
    ];
    let attempt = |owner: &str, end: &str| {
        let machine = Machine::default();
        let contender = machine.start(1);
        contender.host().files.make_dir(Path::new("/h"), 0o700).unwrap();
        put_owner(&contender, &format!("{owner}{end}"));
        machine.pass(STALE);
        add(&contender.host(), "{}")
    };
    for owner in dead {
        assert!(attempt(owner, "\n").is_ok(), "{owner}");
        assert!(is_busy(attempt(owner, "")), "torn: {owner}");
    }
    for owner in unknown {
        assert!(is_busy(attempt(owner, "\n")), "{owner}");
    }
}

const ELSEWHERE: &str = r#"{"owner_id":"a","pid":150,"acquired_at":"2026-01-01T00:00:00.000Z","witness":{"pid_namespace":"2"}}
"#;

#[test]
fn an_owner_of_another_pid_namespace_is_never_robbed_and_moved_aside_on_somebody_s_word() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    put_owner(&contender, ELSEWHERE);
    let look = || inspect(&host, &layout()).unwrap();
    machine.pass(STALE - Duration::from_millis(1));
    assert_eq!(look().state, State::Held, "it is young");
    assert!(is_busy(add(&host, "{}")));
    machine.pass(Duration::from_millis(1));
    assert_eq!(look().state, State::Elsewhere);
    let refused = add(&host, "{}").unwrap_err();
    assert_eq!(refused.code().as_deref(), Some("HISTORY_BUSY"));
    let refused = refused.to_string();
    assert!(refused.starts_with("durable history lease busy: /h/x.jsonl.lease; "), "{refused}");
    assert!(
        refused.contains("in another pid namespace") && refused.contains("confirm \"elsewhere\""),
        "{refused}"
    );

    let word = |elsewhere_is_gone| Request {
        digest: look().digest,
        actor: "op".to_owned(),
        reason: "the container is gone".to_owned(),
        elsewhere_is_gone,
    };
    let repair = |request: &Request| repair(&host, Path::new(FILE), Writing::default(), Some(request));
    let refused = repair(&word(false)).unwrap_err().to_string();
    assert!(refused.contains("it takes confirm \"elsewhere\""), "{refused}");
    assert!(is_elsewhere(add(&host, "{}")), "it is still there");
    repair(&word(true)).unwrap().unwrap();
    add(&host, r#"{"n":1}"#).unwrap();
    assert_eq!(records(&contender), [r#"{"n":1}"#]);
}

fn is_elsewhere<T: std::fmt::Debug>(outcome: Result<T>) -> bool {
    matches!(outcome, Err(Error::Elsewhere(_)))
}

#[test]
fn a_directory_that_was_found_empty_is_taken_only_after_five_seconds() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).make_dir(LEASE, 0o700).unwrap();
    machine.pass(EMPTY - Duration::from_millis(1));
    assert!(is_busy(add(&host, "{}")));
    machine.pass(Duration::from_millis(1));
    assert!(add(&host, "{}").is_ok());
}

#[test]
fn a_directory_with_something_else_in_it_is_never_taken() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).make_dir(LEASE, 0o700).unwrap();
    home(&contender).open_dir(LEASE).unwrap().make_dir("other", 0o700).unwrap();
    machine.pass(EMPTY);
    assert!(is_busy(add(&host, "{}")));
    assert_eq!(home(&contender).list().unwrap(), [LEASE], "the own claim is cleared away");
}

#[test]
fn what_is_no_directory_is_no_lease() {
    let machine = Machine::default();
    let contender = machine.start(1);
    let host = contender.host();
    host.files.make_dir(Path::new("/h"), 0o700).unwrap();
    home(&contender).open_file(LEASE, Access::CreateNew { mode: 0o600 }).unwrap();
    let error = add(&host, "{}").unwrap_err().to_string();
    assert_eq!(error, "durable history path is not a directory: /h/x.jsonl.lease");
}

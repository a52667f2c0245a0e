//! The supervisor's status, and the request to stop, on real files and processes.

use std::cell::RefCell;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command};

use harnery_native::files::Sharing;
use harnery_native::javascript::json::{parse, stringify};
use harnery_native::javascript::timestamp;
use harnery_native::process::signal::Signalled;
use harnery_native::process::{Asked, Dependencies, Generation, NoDependencies, Pid, Signal};
use harnery_native::supervisor::{paths, read_status, request_stop, Status, Stop};
use tempfile::TempDir;

#[path = "mortal/mod.rs"]
mod mortal;
use mortal::{real, scratch};

/// A process that plays the supervisor; ended when dropped.
struct Supervisor(Child);

impl Supervisor {
    fn start() -> Supervisor {
        Supervisor(Command::new("sleep").arg("600").spawn().unwrap())
    }
    fn pid(&self) -> Pid {
        Pid::new(i64::from(self.0.id())).unwrap()
    }
    fn record(&self) -> Vec<(&'static str, String)> {
        let token = real().processes.start_token(self.pid()).unwrap();
        let now = timestamp::format(real().clock.now_ms()).unwrap();
        [
            ("schema_version", "1".to_owned()),
            ("pid", self.pid().to_string()),
            ("start_token", format!("{token:?}")),
            ("host", format!("{:?}", real().processes.host_name())),
            ("nonce", "\"n\"".to_owned()),
            ("state", "\"running\"".to_owned()),
            ("heartbeat_at", format!("{now:?}")),
            ("keep_alive", "true".to_owned()),
            ("more", "[1]".to_owned()),
        ]
        .into()
    }
    /// How it ended: the signal that ended it.
    fn ended_by(&mut self) -> Option<i32> {
        use std::os::unix::process::ExitStatusExt;
        self.0.wait().unwrap().signal()
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn directory(root: &TempDir) -> PathBuf {
    root.path().join(".harnery/supervisor")
}

fn write(root: &TempDir, record: &[(&str, String)]) -> String {
    let members: Vec<_> = record.iter().map(|(name, value)| format!("{name:?}:{value}")).collect();
    let text = format!("{{{}}}", members.join(","));
    fs::create_dir_all(directory(root)).unwrap();
    fs::write(directory(root).join("service.json"), &text).unwrap();
    text
}

fn status(root: &TempDir) -> Status {
    read_status(&real(), root.path(), real().clock.now_ms(), &NoDependencies)
}

fn stop(root: &TempDir, dependencies: &dyn Dependencies) -> Stop {
    request_stop(&real(), root.path(), Sharing::Private, dependencies).unwrap()
}

/// The record with one member changed, or left out.
fn with(supervisor: &Supervisor, name: &str, value: Option<&str>) -> Vec<(&'static str, String)> {
    let mut record = supervisor.record();
    let place = record.iter().position(|(member, _)| *member == name).unwrap();
    match value {
        Some(value) => value.clone_into(&mut record[place].1),
        None => drop(record.remove(place)),
    }
    record
}

#[test]
fn the_paths_are_the_harness_s() {
    let paths = paths(std::path::Path::new("/p"));
    let all = [paths.root, paths.service, paths.lease, paths.stop, paths.snapshot];
    let names = ["", "/service.json", "/service.lease.json", "/stop.json", "/snapshot.json"];
    assert_eq!(
        all.map(|path| path.to_str().unwrap().to_owned()),
        names.map(|name| format!("/p/.harnery/supervisor{name}"))
    );
}

#[test]
fn a_fresh_heartbeat_of_a_living_process_is_a_running_supervisor() {
    let (root, supervisor) = (scratch(), Supervisor::start());
    let text = write(&root, &supervisor.record());
    let status = status(&root);
    assert!(status.is_running && !status.is_stale);
    assert_eq!(stringify(&status.record.unwrap()), text);
    for state in ["starting", "stopping"] {
        write(&root, &with(&supervisor, "state", Some(&format!("{state:?}"))));
        assert!(self::status(&root).is_running, "{state}");
    }
    write(&root, &with(&supervisor, "start_token", None));
    assert!(self::status(&root).is_running, "an unverified token is no mismatch");
}

#[test]
fn another_state_host_or_generation_is_not_running() {
    let (root, supervisor) = (scratch(), Supervisor::start());
    for (name, value) in [
        ("state", "\"stopped\""),
        ("state", "\"error\""),
        ("host", "\"elsewhere\""),
        ("start_token", "\"l00000000.1\""),
        ("pid", "2147483647"),
        ("pid", "4294967297"),
    ] {
        write(&root, &with(&supervisor, name, Some(value)));
        let status = status(&root);
        assert!(!status.is_running && !status.is_stale && status.record.is_some(), "{name} {value}");
    }
}

#[test]
fn a_heartbeat_older_than_fifteen_seconds_or_none_at_all_is_stale() {
    let (root, supervisor) = (scratch(), Supervisor::start());
    let record = with(&supervisor, "heartbeat_at", Some("\"2026-01-01T00:00:00.000Z\""));
    write(&root, &record);
    let at = |after: i64| {
        let status = read_status(&real(), root.path(), 1_767_225_600_000 + after, &NoDependencies);
        (status.is_running, status.is_stale)
    };
    assert_eq!([at(-1), at(15_000), at(15_001)], [(true, false), (true, false), (false, true)]);
    write(&root, &with(&supervisor, "heartbeat_at", Some("\"a while ago\"")));
    assert_eq!(at(0), (false, true));
}

#[test]
fn what_is_no_record_is_no_supervisor() {
    let (root, supervisor) = (scratch(), Supervisor::start());
    let nothing = Status { is_running: false, is_stale: false, record: None };
    assert_eq!(status(&root), nothing);
    for (name, value) in [
        ("schema_version", Some("2")),
        ("pid", Some("0")),
        ("pid", Some("\"7\"")),
        ("pid", Some("1.5")),
        ("host", Some("null")),
        ("heartbeat_at", Some("1")),
        ("keep_alive", Some("\"true\"")),
        ("keep_alive", None),
    ] {
        write(&root, &with(&supervisor, name, value));
        assert_eq!(status(&root), nothing, "{name} {value:?}");
    }
    let service = directory(&root).join("service.json");
    for text in ["", "{", "[]", "null", &format!("{}{}", "{}", " ".repeat(64 * 1024))] {
        fs::write(&service, text).unwrap();
        assert_eq!(status(&root), nothing);
    }
    fs::remove_file(&service).unwrap();
    let elsewhere = root.path().join("elsewhere.json");
    write(&root, &supervisor.record());
    fs::rename(&service, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &service).unwrap();
    assert_eq!(status(&root), nothing);
}

#[test]
fn a_running_supervisor_is_asked_on_disk_and_by_a_signal() {
    let (root, mut supervisor) = (scratch(), Supervisor::start());
    write(&root, &supervisor.record());
    let stop = stop(&root, &NoDependencies);
    let signal = stop.signal.unwrap();
    assert!(signal.sent() && signal.verdict == Generation::Same);
    assert_eq!(supervisor.ended_by(), Some(15));
    let text = fs::read_to_string(directory(&root).join("stop.json")).unwrap();
    let expected =
        format!(r#"{{"requested_at":"{}","requested_by_pid":{}}}"#, stop.requested_at, std::process::id());
    assert_eq!(text, expected + "\n");
    assert!(timestamp::parse(&stop.requested_at).is_some());
    assert_eq!(fs::metadata(directory(&root).join("stop.json")).unwrap().mode() & 0o7777, 0o600);
    assert!(!status(&root).is_running);
}

#[test]
fn without_a_running_supervisor_the_request_is_on_disk_all_the_same() {
    let root = scratch();
    for _ in 0..2 {
        let stop = stop(&root, &NoDependencies);
        assert_eq!((stop.signal, stop.status.is_running), (None, false));
    }
    let left: Vec<_> =
        fs::read_dir(directory(&root)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["stop.json"]);
    assert_eq!(fs::metadata(directory(&root)).unwrap().mode() & 0o7777, 0o700);
    assert!(parse(&fs::read(directory(&root).join("stop.json")).unwrap()).is_ok());
}

#[test]
fn a_process_that_is_not_the_one_of_the_record_is_never_signalled() {
    for (name, value) in
        [("start_token", Some("\"l00000000.1\"")), ("start_token", None), ("host", Some("\"elsewhere\""))]
    {
        let (root, mut supervisor) = (scratch(), Supervisor::start());
        write(&root, &with(&supervisor, name, value));
        let stop = stop(&root, &NoDependencies);
        assert!(stop.signal.is_none_or(|signal| !signal.sent()), "{name} {value:?}");
        assert!(supervisor.0.try_wait().unwrap().is_none());
        assert!(directory(&root).join("stop.json").exists());
    }
}

/// Stand-ins that say what they were asked.
struct StandIns {
    token: Option<String>,
    asked: RefCell<Vec<String>>,
    kill_throws: bool,
    stop_file: PathBuf,
}

impl Dependencies for StandIns {
    fn read_token(&self, _pid: Pid) -> Asked<Option<String>> {
        Asked::Answered(self.token.clone())
    }
    fn probe_pid(&self, _pid: Pid) -> Asked<bool> {
        Asked::Answered(true)
    }
    fn kill(&self, pid: i32, signal: Signal) -> Asked<()> {
        let requested = self.stop_file.exists();
        self.asked.borrow_mut().push(format!("kill {pid} {signal}, requested: {requested}"));
        if self.kill_throws {
            Asked::Threw
        } else {
            Asked::Answered(())
        }
    }
    fn replaces_kill(&self) -> bool {
        true
    }
}

#[test]
fn the_caller_s_functions_take_the_machine_s_place_after_the_request_is_on_disk() {
    for kill_throws in [false, true] {
        let (root, supervisor) = (scratch(), Supervisor::start());
        let mut record = with(&supervisor, "start_token", Some("\"t\""));
        record[1].1 = "2147483647".to_owned();
        write(&root, &record);
        let stop_file = directory(&root).join("stop.json");
        let stand_ins =
            StandIns { token: Some("t".into()), asked: RefCell::default(), kill_throws, stop_file };
        let stop = stop(&root, &stand_ins);
        let Signalled { verdict, .. } = stop.signal.unwrap();
        assert_eq!((verdict, stop.signal.unwrap().sent()), (Generation::Same, !kill_throws));
        assert_eq!(*stand_ins.asked.borrow(), ["kill 2147483647 SIGTERM, requested: true"]);
    }
}

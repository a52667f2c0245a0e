//! Stopping servers, on real processes: who is hit, who is not, and what the result says.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests are the caller")]

mod real;
mod registry_support;

use std::cell::RefCell;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::time::{Duration, Instant};

use harnery_native::host::Host;
use harnery_native::lease::Progress;
use harnery_native::process::handle::kernel::{Kernel, Scope, SystemKernel};
use harnery_native::process::machine::Machine;
use harnery_native::process::{Asked, Dependencies, Generation, NoDependencies, Pid, Presence, Signal};
use harnery_native::servers::stop::{Method, Stop, StopOptions, StopResult};
use harnery_native::servers::{Schema, ServerRecord, Sharing, Site};
use nix::errno::Errno;
use nix::libc;
use real::*;
use registry_support::{input, planted, Bench};

const GRACE: Duration = Duration::from_secs(20);

/// A registry with one server in it.
struct Stopped {
    bench: Bench,
    record: ServerRecord,
}

impl Stopped {
    fn registered(pid: Pid, port: Option<u16>) -> Stopped {
        let bench = Bench::new();
        let mut input = input("it");
        input.pid = Some(f64::from(pid.get()));
        input.port = port.map(f64::from);
        let record = bench.register(&input).unwrap();
        Stopped { bench, record }
    }

    fn options(&self, grace: Duration) -> StopOptions {
        let site = Site { coord_root: self.bench.dir.path().to_owned(), sharing: Sharing::Private };
        StopOptions { site: Some(site), schema: Schema::Current, grace }
    }

    fn begin(&self, grace: Duration) -> Stop {
        Stop::new(self.record.clone(), self.options(grace))
    }

    fn stop(&self, grace: Duration) -> StopResult {
        finish(&self.bench.host, &mut self.begin(grace), &NoDependencies)
    }

    fn has_record(&self) -> bool {
        self.bench.file("it").exists()
    }
}

/// Wait out every pause.
fn finish(host: &Host, stop: &mut Stop, dependencies: &dyn Dependencies) -> StopResult {
    loop {
        match stop.advance(host, dependencies).unwrap() {
            Progress::Done(result) => return result,
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

fn stopped() -> StopResult {
    StopResult { id: "it".to_owned(), stopped: true, method: Method::Signal, generation: None, detail: None }
}

fn not_running() -> StopResult {
    StopResult { stopped: false, method: Method::NotRunning, ..stopped() }
}

fn refused(generation: Generation, detail: &str) -> StopResult {
    let (generation, detail) = (Some(generation), Some(detail.to_owned()));
    StopResult { stopped: false, method: Method::Refused, generation, detail, ..stopped() }
}

fn refused_pid(pid: Pid, generation: Generation) -> StopResult {
    let word = generation.as_str();
    refused(generation, &format!("pid {pid} generation is {word}; left the server record in place"))
}

fn present(pid: Pid) -> bool {
    use harnery_native::process::Processes;
    Machine::new(|| None).presence(pid) == Presence::Present
}

fn lead() {
    rustix::process::setsid().unwrap();
}

fn pid(text: &str) -> Pid {
    Pid::new(text.parse().unwrap()).unwrap()
}

type Answer<T> = Option<Box<dyn Fn() -> Asked<T>>>;
type Kill = Option<Box<dyn Fn(i32, Signal) -> Asked<()>>>;

/// Answers by functions, and notes what `kill` was asked for.
#[derive(Default)]
struct Mine {
    token: Answer<Option<String>>,
    presence: Answer<bool>,
    kill: Kill,
    killed: RefCell<Vec<(i32, Signal)>>,
}

impl Dependencies for Mine {
    fn read_token(&self, _pid: Pid) -> Asked<Option<String>> {
        self.token.as_ref().map_or(Asked::NotSupplied, |token| token())
    }

    fn probe_pid(&self, _pid: Pid) -> Asked<bool> {
        self.presence.as_ref().map_or(Asked::NotSupplied, |presence| presence())
    }

    fn kill(&self, pid: i32, signal: Signal) -> Asked<()> {
        self.killed.borrow_mut().push((pid, signal));
        self.kill.as_ref().map_or(Asked::NotSupplied, |kill| kill(pid, signal))
    }

    fn replaces_kill(&self) -> bool {
        self.kill.is_some()
    }
}

fn same(token: &str) -> Answer<Option<String>> {
    let token = token.to_owned();
    Some(Box::new(move || Asked::Answered(Some(token.clone()))))
}

/// A kernel without pidfds.
#[derive(Debug)]
struct Old;

impl Kernel for Old {
    fn open(&self, _pid: Pid) -> io::Result<OwnedFd> {
        Err(Errno::ENOSYS.into())
    }

    fn signal(&self, hold: BorrowedFd<'_>, signal: Option<Signal>, scope: Scope) -> io::Result<()> {
        SystemKernel.signal(hold, signal, scope)
    }

    fn kill(&self, pid: i32, signal: Option<Signal>) -> io::Result<()> {
        SystemKernel.kill(pid, signal)
    }
}

fn without_pidfds(host: &Host) -> Host {
    Host { processes: Rc::new(Machine::with_kernel(Box::new(Old), || None)), ..host.clone() }
}

#[test]
fn p8_a_wrapper_and_its_server_are_stopped_as_a_group_and_the_port_is_free() {
    let (child, port) = server("(echo ready; exec sleep 60); true");
    let it = Stopped::registered(child.pid(), Some(port));
    assert!(is_listened_on(port));
    assert_eq!(it.stop(GRACE), stopped());
    assert!(!is_listened_on(port));
    assert!(!it.has_record());
}

#[test]
fn p3_a_server_that_nobody_collects_is_not_running_and_answers_at_once() {
    let mut child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    child.end();
    let begun = Instant::now();
    assert_eq!(it.stop(GRACE), not_running());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(!it.has_record());
}

#[test]
fn a_stop_never_sleeps_and_wakes_when_the_process_ends() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    // Stopped, it does not end on SIGTERM before it is let go.
    send(child.pid(), libc::SIGSTOP);
    await_stop(child.pid());
    let mut stop = it.begin(GRACE);
    let Progress::Wait(pause) = stop.advance(&it.bench.host, &NoDependencies).unwrap() else {
        panic!("it waits for the process")
    };
    assert_eq!(pause.wake.len(), 1);
    assert!(pause.at_most > Duration::from_secs(10), "nothing is polled");
    send(child.pid(), libc::SIGCONT);
    it.bench.host.clock.pause(&pause);
    let mut result = stop.advance(&it.bench.host, &NoDependencies).unwrap();
    while let Progress::Wait(pause) = result {
        it.bench.host.clock.pause(&pause);
        result = stop.advance(&it.bench.host, &NoDependencies).unwrap();
    }
    assert!(matches!(result, Progress::Done(result) if result == stopped()));
}

#[test]
fn a_stop_that_is_dropped_sends_nothing_more_and_leaves_the_record() {
    let (child, _) = Real::shell("trap '' TERM; echo; while :; do sleep 1; done");
    let it = Stopped::registered(child.pid(), None);
    let mut stop = it.begin(Duration::from_millis(1));
    assert!(matches!(stop.advance(&it.bench.host, &NoDependencies).unwrap(), Progress::Wait(_)));
    drop(stop);
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn members_that_outlive_their_leader_are_killed_through_its_hold() {
    for collected in [false, true] {
        let (mut child, _) = Real::shell("(trap '' TERM; echo; exec sleep 60) & wait");
        let it = Stopped::registered(child.pid(), None);
        let mut stop = it.begin(Duration::from_millis(300));
        let first = stop.advance(&it.bench.host, &NoDependencies).unwrap();
        assert!(matches!(first, Progress::Wait(_)));
        if collected {
            child.collect();
        } else {
            await_end(child.pid());
        }
        let second = stop.advance(&it.bench.host, &NoDependencies).unwrap();
        assert!(matches!(second, Progress::Wait(_)), "a member lives on");
        assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
        assert!(!it.has_record());
    }
}

#[test]
fn p12_a_stopped_process_is_killed_after_the_grace_period() {
    let child = Real::spawn_leader("sleep", &["60"]);
    send(child.pid(), libc::SIGSTOP);
    await_stop(child.pid());
    let it = Stopped::registered(child.pid(), None);
    let begun = Instant::now();
    assert_eq!(it.stop(Duration::from_millis(200)), stopped());
    assert!(begun.elapsed() >= Duration::from_millis(200), "no SIGCONT lets SIGTERM through");
}

#[test]
fn p9_a_process_of_the_callers_own_group_is_signalled_alone() {
    let child = Real::spawn("sleep", &["60"]);
    let beside = Real::spawn("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    assert_eq!(it.stop(GRACE), stopped());
    assert!(present(beside.pid()));
}

#[test]
fn p9_the_leader_of_the_callers_own_group_is_signalled_alone() {
    let seen = in_a_fork(|| {
        let leader = forked(|| assert_eq!(unsafe_setpgid(0, 0), 0));
        assert_eq!(unsafe_setpgid(0, leader.pid().get()), 0, "the caller joins its group");
        let it = Stopped::registered(leader.pid(), None);
        format!("{:?}", it.stop(GRACE) == stopped())
    });
    assert_eq!(seen.as_deref(), Ok("true"));
}

fn unsafe_setpgid(pid: i32, group: i32) -> i32 {
    // SAFETY: setpgid touches no memory.
    unsafe { libc::setpgid(pid, group) }
}

#[test]
fn p11_a_child_in_a_session_of_its_own_and_a_daemon_are_left_alone() {
    let child = "setsid sh -c 'echo $$; exec sleep 60' & wait";
    // Forked twice, so that the system is its parent by then.
    let daemon = "(setsid sh -c 'sleep 60 & echo $!' &); while :; do sleep 1; done";
    for script in [child, daemon] {
        let (child, of_its_own) = Real::shell(script);
        let of_its_own = pid(&of_its_own);
        let it = Stopped::registered(child.pid(), None);
        assert_eq!(it.stop(GRACE), stopped());
        assert!(present(of_its_own), "{script}");
        send(of_its_own, libc::SIGKILL);
    }
}

#[test]
fn p13_stopping_one_of_two_equal_servers_leaves_the_other() {
    let (one, two) = (Real::spawn_leader("sleep", &["60"]), Real::spawn_leader("sleep", &["60"]));
    let (first, second) = (Stopped::registered(one.pid(), None), Stopped::registered(two.pid(), None));
    assert_eq!(first.stop(GRACE), stopped());
    assert!(present(two.pid()) && second.has_record());
}

#[test]
fn p14_the_result_names_the_new_listener_of_a_server_that_is_started_again() {
    let (mut wrapper, port) =
        server("echo ready; while :; do setsid sh -c 'echo $$; exec sleep 60'; done 2>/dev/null");
    let first = pid(&wrapper.line());
    let it = Stopped::registered(first, Some(port));
    let result = it.stop(GRACE);
    let detail = result.detail.clone().unwrap();
    assert_eq!(StopResult { detail: None, ..result }, stopped());
    assert!(detail.starts_with(&format!("port {port} is still listened on by pid ")), "{detail}");
    assert!(detail.contains(&format!("pid {} (sh -c", wrapper.pid())), "{detail}");
    assert!(is_listened_on(port) && !it.has_record());
    let second = pid(&wrapper.line());
    assert!(present(second));
    send(second, libc::SIGKILL);
}

#[test]
fn r3_a_child_that_inherited_the_socket_is_not_touched() {
    let (mut child, port) = server("exec 3<&0; setsid sleep 60 <&3 & echo ready; echo $!; wait");
    let heir = pid(&child.line());
    let it = Stopped::registered(child.pid(), Some(port));
    child.end();
    child.collect();
    assert_eq!(it.stop(GRACE), not_running());
    assert!(present(heir) && is_listened_on(port) && !it.has_record());
    send(heir, libc::SIGKILL);
}

#[test]
fn p1_a_record_of_another_generation_is_refused_and_its_process_serves_on() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let mut it = Stopped::registered(child.pid(), None);
    let good = it.record.clone();
    for (record, generation) in [
        (good.clone().with("start_token", "l0.0"), Generation::Different),
        (good.clone().with("start_token", ""), Generation::Unknown),
    ] {
        it.record = record;
        assert_eq!(it.stop(GRACE), refused_pid(child.pid(), generation));
    }
    let witness = harnery_native::javascript::json::Object::new().with("pidfd_inode", Some("1"));
    it.record = good.with("witness", witness);
    assert_eq!(it.stop(GRACE), refused_pid(child.pid(), Generation::Different), "the witness is asked too");
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn a_number_that_no_process_has_is_refused_before_any_system_call() {
    let bench = Bench::new();
    for number in ["0", "-1", "4294967297", "1.5"] {
        let text =
            planted("it", 7, r#","start_token":"l1""#).replace(r#""pid":7"#, &format!(r#""pid":{number}"#));
        let harnery_native::javascript::json::Value::Object(object) =
            harnery_native::javascript::json::parse(text.as_bytes()).unwrap()
        else {
            panic!("an object")
        };
        let it = Stopped { bench: Bench::new(), record: ServerRecord::given(object) };
        let detail = format!("pid {number} generation is unknown; left the server record in place");
        assert_eq!(it.stop(GRACE), refused(Generation::Unknown, &detail));
    }
    drop(bench);
}

#[test]
fn what_runs_elsewhere_is_refused() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let mut it = Stopped::registered(child.pid(), None);
    let good = it.record.clone();
    it.record = good.clone().with("host", "other.example");
    let elsewhere = StopResult { generation: None, ..refused(Generation::Unknown, "runs on other.example") };
    assert_eq!(it.stop(GRACE), elsewhere);
    let witness = harnery_native::javascript::json::Object::new().with("pid_namespace", Some("1"));
    it.record = good.with("witness", witness);
    let elsewhere = StopResult { detail: Some("runs in another pid namespace".to_owned()), ..elsewhere };
    assert_eq!(it.stop(GRACE), elsewhere);
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn every_helper_is_verified_before_anyone_is_signalled_and_stopped_by_itself() {
    let (child, helper) = (Real::spawn_leader("sleep", &["60"]), Real::spawn_leader("sleep", &["60"]));
    let bench = Bench::new();
    let mut input = input("it");
    input.pid = Some(f64::from(child.pid().get()));
    input.pids = vec![f64::from(helper.pid().get())];
    let record = bench.register(&input).unwrap();
    let mut it = Stopped { bench, record };
    let good = it.record.clone();
    let tokens =
        harnery_native::javascript::json::Object::new().with(&helper.pid().to_string(), Some("l0.0"));
    it.record = good.clone().with("pids_start_tokens", tokens);
    assert_eq!(it.stop(GRACE), refused_pid(helper.pid(), Generation::Different));
    assert!(present(child.pid()) && present(helper.pid()) && it.has_record());
    it.record = good;
    assert_eq!(it.stop(GRACE), stopped());
    assert!(!present(child.pid()) && !present(helper.pid()) && !it.has_record());
}

#[test]
fn p4_a_process_that_may_not_be_signalled_is_refused_at_once_and_nothing_is_removed() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let pid = child.pid();
    let seen = in_a_fork(|| {
        become_nobody();
        let it = Stopped::registered(pid, None);
        let begun = Instant::now();
        let right = it.stop(GRACE) == refused(Generation::Same, "permission denied");
        format!("{right} {} {}", it.has_record(), begun.elapsed() < Duration::from_secs(5))
    });
    assert_eq!(seen.as_deref(), Ok("true true true"));
    assert!(present(child.pid()));
}

#[test]
fn p15_a_record_of_another_user_is_no_warrant_for_what_he_may_not_signal() {
    if !is_root() {
        return left_out("only root can give a file away");
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    std::os::unix::fs::chown(it.bench.file("it"), Some(NOBODY), Some(NOBODY)).unwrap();
    let result = it.stop(GRACE);
    assert_eq!((result.method, result.stopped), (Method::Refused, false));
    assert!(result.detail.unwrap().contains("belongs to uid 65534"));
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn p15_a_record_of_another_user_is_a_warrant_for_his_own_process() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = forked(|| {
        rustix::process::setsid().unwrap();
        become_nobody();
    });
    let it = Stopped::registered(child.pid(), None);
    std::os::unix::fs::chown(it.bench.file("it"), Some(NOBODY), Some(NOBODY)).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
}

/// Whose word the file of a record is, and whether root goes by it for a process of root's own.
fn root_stops_by(change: impl FnOnce(&mut Stopped)) -> Option<StopResult> {
    if !is_root() {
        left_out("only root can give a file away");
        return None;
    }
    let child = Real::spawn_leader("sleep", &["60"]);
    let mut it = Stopped::registered(child.pid(), None);
    change(&mut it);
    let result = it.stop(GRACE);
    assert_eq!(present(child.pid()), !result.stopped, "{result:?}");
    Some(result)
}

#[track_caller]
fn refused_for(result: Option<StopResult>, why: &str) {
    let Some(result) = result else { return };
    assert_eq!(result.method, Method::Refused);
    assert!(result.detail.as_ref().unwrap().contains(why), "{result:?}");
}

fn give_away(path: &std::path::Path) {
    std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn set_mode(path: &std::path::Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn p15_a_file_of_root_s_that_a_group_can_write_is_no_warrant_for_root() {
    let in_group = |group| {
        move |it: &mut Stopped| {
            let file = it.bench.file("it");
            std::os::unix::fs::chown(&file, Some(0), Some(group)).unwrap();
            set_mode(&file, 0o660);
        }
    };
    refused_for(root_stops_by(in_group(NOBODY)), "anyone can have written it");
    assert!(root_stops_by(in_group(0)).is_none_or(|result| result.stopped));
}

#[test]
fn p15_a_file_is_a_warrant_for_the_record_that_it_holds_and_no_other() {
    // Another user's was listed; by now there is root's own again.
    let other = |it: &mut Stopped| {
        give_away(&it.bench.servers());
        it.record = it.record.clone().with("registration_id", "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c");
    };
    refused_for(root_stops_by(other), "belongs to uid 65534");
    // The id is no file's name, or another file's.
    for id in ["Any Id", "web"] {
        let strange = |it: &mut Stopped| {
            it.bench.register(&input("web")).unwrap();
            give_away(&it.bench.servers());
            it.record = it.record.clone().with("id", id);
        };
        refused_for(root_stops_by(strange), "belongs to uid 65534");
    }
}

#[test]
fn p15_a_registry_that_can_have_been_another_is_no_warrant() {
    let above = |it: &mut Stopped| {
        std::fs::remove_file(it.bench.file("it")).unwrap();
        give_away(it.bench.dir.path());
    };
    refused_for(root_stops_by(above), "belongs to uid 65534");
}

#[test]
fn p15_a_record_that_anyone_can_have_put_there_and_taken_away_is_no_warrant() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    std::fs::remove_file(it.bench.file("it")).unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(it.bench.servers(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(it.stop(GRACE).method, Method::Refused);
    assert!(present(child.pid()));
    std::fs::set_permissions(it.bench.servers(), std::fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
}

#[test]
fn without_a_root_the_process_is_stopped_all_the_same() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let options = StopOptions { site: None, ..it.options(GRACE) };
    let mut stop = Stop::new(it.record.clone(), options);
    assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
    assert!(it.has_record());
}

#[test]
fn a_replacement_that_was_registered_meanwhile_survives() {
    let (child, newer) = (Real::spawn_leader("sleep", &["60"]), Real::spawn_leader("sleep", &["60"]));
    let it = Stopped::registered(child.pid(), None);
    let mut input = input("it");
    input.pid = Some(f64::from(newer.pid().get()));
    it.bench.register(&input).unwrap();
    assert_eq!(it.stop(GRACE), stopped());
    assert!(present(newer.pid()) && it.has_record());
}

#[test]
fn the_registrys_lock_is_waited_for_without_sleeping() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let lock = std::fs::File::open(it.bench.servers().join(".registry.lock")).unwrap();
    lock.lock().unwrap();
    let mut stop = it.begin(GRACE);
    let mut pauses = 0;
    let result = loop {
        match stop.advance(&it.bench.host, &NoDependencies).unwrap() {
            Progress::Done(result) => break result,
            Progress::Wait(pause) => {
                pauses += 1;
                if pauses == 5 {
                    assert!(!present(child.pid()) && it.has_record());
                    lock.unlock().unwrap();
                }
                it.bench.host.clock.pause(&pause);
            }
        }
    };
    assert_eq!(result, stopped());
    assert!(pauses >= 5 && !it.has_record());
}

#[test]
fn p7_a_newcomer_with_the_number_is_never_signalled() {
    let seen = in_a_pid_namespace(true, || {
        let server = forked(lead);
        let pid = server.pid();
        let it = Stopped::registered(pid, None);
        server.end_and_collect();
        if let Err(error) = next_number_is(pid) {
            return format!("left out: {error}");
        }
        let newcomer = forked(lead);
        assert_eq!(newcomer.pid(), pid);
        assert_eq!(it.stop(GRACE), refused_pid(pid, Generation::Different));
        assert!(present(pid) && it.has_record());
        String::new()
    });
    assert_seen(seen, "");
}

#[test]
fn p10_a_newcomer_within_the_grace_period_gets_no_sigkill() {
    let seen = in_a_pid_namespace(true, || {
        let server = forked(lead);
        let pid = server.pid();
        let it = Stopped::registered(pid, None);
        send(pid, libc::SIGSTOP);
        await_stop(pid);
        let mut stop = it.begin(Duration::from_millis(100));
        assert!(matches!(stop.advance(&it.bench.host, &NoDependencies).unwrap(), Progress::Wait(_)));
        send(pid, libc::SIGCONT);
        await_end(pid);
        server.end_and_collect();
        if let Err(error) = next_number_is(pid) {
            return format!("left out: {error}");
        }
        let newcomer = forked(lead);
        assert_eq!(newcomer.pid(), pid);
        assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
        assert!(present(pid));
        String::new()
    });
    assert_seen(seen, "");
}

#[test]
fn p10_without_pidfds_a_target_that_stops_being_the_same_is_refused() {
    let (child, _) = Real::shell("trap '' TERM; echo; while :; do sleep 1; done");
    let it = Stopped::registered(child.pid(), None);
    let host = without_pidfds(&it.bench.host);
    let asked = Rc::new(RefCell::new(0));
    let token = it.record.start_token().unwrap().to_owned();
    let count = Rc::clone(&asked);
    // The number is handed out again once SIGTERM is on its way.
    let mine = Mine {
        token: Some(Box::new(move || {
            *count.borrow_mut() += 1;
            let now = if *count.borrow() <= 4 { token.clone() } else { "la.9".to_owned() };
            Asked::Answered(Some(now))
        })),
        ..Mine::default()
    };
    let mut stop = it.begin(Duration::from_millis(100));
    assert_eq!(finish(&host, &mut stop, &mine), refused_pid(child.pid(), Generation::Different));
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn without_pidfds_a_server_is_stopped_by_polling() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let host = without_pidfds(&it.bench.host);
    send(child.pid(), libc::SIGSTOP);
    await_stop(child.pid());
    let mut stop = it.begin(GRACE);
    let Progress::Wait(pause) = stop.advance(&host, &NoDependencies).unwrap() else { panic!("it waits") };
    assert!(pause.wake.is_empty() && pause.at_most <= Duration::from_millis(25));
    send(child.pid(), libc::SIGCONT);
    assert_eq!(finish(&host, &mut stop, &NoDependencies), stopped());
}

#[test]
fn the_callers_functions_are_asked_every_25_ms_and_the_end_of_a_process_is_not_missed_for_them() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    send(child.pid(), libc::SIGSTOP);
    await_stop(child.pid());
    let reading = Mine { token: same(it.record.start_token().unwrap()), ..Mine::default() };
    let Progress::Wait(pause) = it.begin(GRACE).advance(&it.bench.host, &reading).unwrap() else {
        panic!("it waits")
    };
    assert!(pause.wake.len() == 1 && pause.at_most <= Duration::from_millis(25));

    let probing = Mine { presence: Some(Box::new(|| Asked::Answered(true))), ..Mine::default() };
    let Progress::Wait(pause) = it.begin(GRACE).advance(&it.bench.host, &probing).unwrap() else {
        panic!("it waits")
    };
    assert!(pause.wake.is_empty(), "to the probe it may live on after its end");
    assert!(pause.at_most <= Duration::from_millis(25));
}

#[test]
fn with_the_callers_kill_group_signals_arrive_as_a_negative_pid() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let gone = Rc::new(RefCell::new(false));
    let (killed, probed) = (Rc::clone(&gone), Rc::clone(&gone));
    let mine = Mine {
        kill: Some(Box::new(move |_, signal| {
            *killed.borrow_mut() = signal == Signal::SIGKILL;
            Asked::Answered(())
        })),
        presence: Some(Box::new(move || Asked::Answered(!*probed.borrow()))),
        token: same(it.record.start_token().unwrap()),
        ..Mine::default()
    };
    let mut stop = it.begin(Duration::from_millis(50));
    assert_eq!(finish(&it.bench.host, &mut stop, &mine), stopped());
    let group = -child.pid().get();
    assert_eq!(*mine.killed.borrow(), [(group, Signal::SIGTERM), (group, Signal::SIGKILL)]);
    assert!(present(child.pid()), "nobody but the caller's function signals");
}

#[test]
fn a_kill_that_throws_falls_back_to_the_leader_alone() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let mine = Mine { kill: Some(Box::new(|_, _| Asked::Threw)), ..Mine::default() };
    let mut stop = it.begin(Duration::ZERO);
    let result = {
        let mut result = stop.advance(&it.bench.host, &mine).unwrap();
        while let Progress::Wait(pause) = result {
            it.bench.host.clock.pause(&pause);
            result = stop.advance(&it.bench.host, &mine).unwrap();
        }
        result
    };
    let Progress::Done(result) = result else { panic!("it is over") };
    let survived = Some("process survived SIGKILL".to_owned());
    assert_eq!(result, StopResult { stopped: false, detail: survived, ..stopped() });
    let pid = child.pid().get();
    let expected =
        [(-pid, Signal::SIGTERM), (pid, Signal::SIGTERM), (-pid, Signal::SIGKILL), (pid, Signal::SIGKILL)];
    assert_eq!(*mine.killed.borrow(), expected);
    assert!(it.has_record());
}

#[test]
fn a_probe_that_throws_is_refused_as_unknown() {
    let child = Real::spawn_leader("sleep", &["60"]);
    let it = Stopped::registered(child.pid(), None);
    let mine = Mine { presence: Some(Box::new(|| Asked::Threw)), ..Mine::default() };
    let mut stop = it.begin(GRACE);
    assert_eq!(finish(&it.bench.host, &mut stop, &mine), refused_pid(child.pid(), Generation::Unknown));
    let mine = Mine { token: Some(Box::new(|| Asked::Threw)), ..Mine::default() };
    let mut stop = it.begin(GRACE);
    assert_eq!(finish(&it.bench.host, &mut stop, &mine), refused_pid(child.pid(), Generation::Unknown));
    assert!(present(child.pid()) && it.has_record());
}

#[test]
fn under_custody_only_the_exact_receipt_is_stopped_and_no_group_is_signalled() {
    let (child, member) = Real::shell("sleep 60 & echo $!; wait");
    let member = pid(&member);
    let bench = Bench::of(Schema::Custody);
    let mut input = input("it");
    input.pid = Some(f64::from(child.pid().get()));
    let record = bench.register(&input).unwrap();
    let mut it = Stopped { bench, record };
    let custody = |it: &Stopped| StopOptions { schema: Schema::Custody, ..it.options(GRACE) };
    let good = it.record.clone();

    it.record = good.clone().with("registration_id", "00000000-0000-4000-8000-000000000000");
    let mut stop = Stop::new(it.record.clone(), custody(&it));
    assert_eq!(
        finish(&it.bench.host, &mut stop, &NoDependencies),
        refused_pid(child.pid(), Generation::Unknown)
    );
    assert!(present(child.pid()) && it.has_record());

    it.record = good;
    let mut stop = Stop::new(it.record.clone(), custody(&it));
    assert_eq!(finish(&it.bench.host, &mut stop, &NoDependencies), stopped());
    assert!(present(member) && !it.has_record());
    send(member, libc::SIGKILL);
}

#[test]
fn stops_leave_no_descriptors_behind() {
    let seen = in_a_fork(|| {
        let before = open_descriptors();
        for _ in 0..5 {
            let server = forked(lead);
            let it = Stopped::registered(server.pid(), None);
            assert_eq!(it.stop(GRACE), stopped());
        }
        format!("{}", open_descriptors() as i64 - before as i64)
    });
    assert_eq!(seen.as_deref(), Ok("0"));
}

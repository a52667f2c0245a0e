//! Another process has the number, or may have it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::lease::Progress;
use harnery_native::process::{Asked, Generation, NoDependencies};
use harnery_native::servers::stop::StopResult;
use harnery_native::servers::ServerRecord;
use nix::libc;

use crate::real::*;
use crate::registry_support::{planted, Bench};
use crate::support::{
    finish, lead, present, refused, refused_pid, stopped, without_pidfds, Mine, Stopped, GRACE,
};

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

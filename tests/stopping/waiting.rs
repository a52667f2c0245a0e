//! When a stop is over, and what it does until then.

use std::time::{Duration, Instant};

use harnery_native::lease::Progress;
use harnery_native::process::NoDependencies;
use nix::libc;

use crate::real::*;
use crate::support::{finish, lead, not_running, present, stopped, without_pidfds, Stopped, GRACE};

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

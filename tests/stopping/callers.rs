//! The caller's own functions in the place of the machine's.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use harnery_native::lease::Progress;
use harnery_native::process::{Asked, Generation, Signal};
use harnery_native::servers::stop::StopResult;
use nix::libc;

use crate::real::*;
use crate::support::{finish, present, refused_pid, same, stopped, Mine, Stopped, GRACE};

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

//! Who is hit beside the process that is named, and who is not.

use std::time::Duration;

use harnery_native::lease::Progress;
use harnery_native::process::{Generation, NoDependencies};
use harnery_native::servers::stop::StopResult;
use nix::libc;

use crate::real::*;
use crate::registry_support::{input, Bench};
use crate::support::{finish, not_running, pid, present, refused_pid, stopped, Stopped, GRACE};

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

//! Waiting for a lease: woken by what changes, quiet while nothing does, gone without a trace.

#![cfg(feature = "sim")]

mod support;

use std::time::{Duration, Instant};

use harnery_native::clock::Pause;
use harnery_native::lease::{acquire_within, Error, Input, NoHooks, Probed, Progress, Waiter};
use harnery_native::sim::START_MS;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use support::contender::{serve, Contender};
use support::{real, refused, simulated, Planted, Scene, Script};

const LONG: Duration = Duration::from_secs(60);

/// What other tests start as a process of its own.
#[test]
fn contender() {
    serve();
}

fn waiter(scene: &Scene, wait: Duration) -> Waiter {
    Waiter::begin(&scene.host, &scene.input(), &NoHooks, wait).unwrap()
}

#[track_caller]
fn pause(waiter: &mut Waiter, scene: &Scene) -> Pause {
    match waiter.advance(&scene.host, &NoHooks) {
        Ok(Progress::Wait(pause)) => pause,
        other => panic!("expected a pause, got {other:?}"),
    }
}

/// Whether one of a pause's descriptors is readable at once, or becomes so within this time.
fn wakes(pause: &Pause, within: Duration) -> bool {
    let mut fds: Vec<_> = pause.wake.iter().map(|fd| PollFd::new(fd.as_ref(), PollFlags::IN)).collect();
    let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: within.subsec_nanos().into() };
    poll(&mut fds, Some(&timeout)).unwrap() > 0
}

#[test]
fn without_time_to_wait_there_is_one_try() {
    let (_root, scene) = real();
    let _held = scene.acquire().unwrap();
    refused(acquire_within(&scene.host, &scene.input(), &NoHooks, Duration::ZERO), "LEASE_HELD");
}

#[test]
fn a_probe_that_never_answers_twice_the_same_does_not_keep_a_waiter_from_its_end() {
    let (machine, scene) = simulated();
    let _held = scene.acquire().unwrap();
    machine.pass(Duration::from_secs(3600));
    let other = scene.of_process(&machine, 2);
    let mut probes = 0;
    let script = Script::default().probe(move |_| {
        probes += 1;
        assert!(probes < 10_000, "it goes round and round");
        match probes % 2 {
            0 => Probed::Threw { code: Some("ESRCH".into()) },
            _ => Probed::Returned,
        }
    });
    let start = other.host.clock.monotonic();
    refused(acquire_within(&other.host, &other.input(), &script, Duration::from_millis(700)), "LEASE_HELD");
    assert_eq!(other.host.clock.monotonic() - start, Duration::from_millis(700));
}

#[test]
fn a_waiter_is_refused_as_it_was_first_when_its_time_is_over() {
    let (machine, scene) = simulated();
    let _held = scene.acquire().unwrap();
    let other = scene.of_process(&machine, 2);
    let start = other.host.clock.monotonic();
    refused(acquire_within(&other.host, &other.input(), &NoHooks, Duration::from_millis(700)), "LEASE_HELD");
    assert_eq!(other.host.clock.monotonic() - start, Duration::from_millis(700));
}

#[test]
fn what_is_no_contention_is_not_waited_for() {
    let (_machine, scene) = simulated();
    scene.assert_acquirable();
    scene.write("current", b"torn");
    refused(acquire_within(&scene.host, &scene.input(), &NoHooks, LONG), "LEASE_CORRUPT");
    let input = Input { scope: "a b".into(), ..scene.input() };
    assert!(matches!(Waiter::begin(&scene.host, &input, &NoHooks, LONG), Err(Error::Input(_))));
}

#[test]
fn a_waiter_leaves_no_owner_file_and_is_woken_by_a_release() {
    let (_root, scene) = real();
    let mut held = scene.acquire().unwrap();
    let before = scene.names();
    let mut waiter = waiter(&scene, LONG);
    let waits = pause(&mut waiter, &scene);
    assert_eq!(scene.names(), before);
    assert!(!wakes(&waits, Duration::ZERO), "nothing has happened");
    held.release(&scene.host).unwrap();
    assert!(wakes(&waits, Duration::ZERO), "it was released");
    let Progress::Done(lease) = waiter.advance(&scene.host, &NoHooks).unwrap() else { panic!("it is free") };
    assert!(lease.holds(&scene.host));
}

#[test]
fn waiters_do_not_keep_each_other_awake() {
    let (_root, scene) = real();
    let _held = scene.acquire().unwrap();
    let mut first = waiter(&scene, LONG);
    let waits = pause(&mut first, &scene);
    let mut second = waiter(&scene, LONG);
    let _ = pause(&mut second, &scene);
    // The second one's first try was a change. Looking at it is none.
    assert!(wakes(&waits, Duration::ZERO));
    let (first_waits, second_waits) = (pause(&mut first, &scene), pause(&mut second, &scene));
    assert!(!wakes(&first_waits, Duration::ZERO) && !wakes(&second_waits, Duration::ZERO));
}

#[test]
fn a_waiter_looks_again_when_an_unexpired_owner_s_time_is_over() {
    let (_machine, scene) = simulated();
    Planted::new(&scene, "D").created(START_MS - 600).holds(&scene);
    let mut waiter = waiter(&scene, LONG);
    assert_eq!(
        pause(&mut waiter, &scene).at_most,
        Duration::from_millis(50),
        "there is nothing to watch here"
    );
    let lease = acquire_within(&scene.host, &scene.input(), &NoHooks, LONG).unwrap();
    assert_eq!(lease.recovered_owner.unwrap().owner_id, "D");
}

#[test]
fn a_waiter_is_woken_by_the_end_of_the_holder_s_process() {
    let (_root, scene) = real();
    let mut holder = Contender::start(&scene.path);
    holder.ask("acquire");
    // By this clock the holder's time is over, and only its process keeps the lease.
    let later = Script::at(f64::from(u32::MAX) * 1000.0);
    let mut waiter = Waiter::begin(&scene.host, &scene.input(), &later, LONG).unwrap();
    let Ok(Progress::Wait(waits)) = waiter.advance(&scene.host, &later) else { panic!("it waits") };
    assert!(!wakes(&waits, Duration::ZERO));
    holder.kill();
    assert!(wakes(&waits, Duration::from_secs(5)));
    let Ok(Progress::Done(lease)) = waiter.advance(&scene.host, &later) else { panic!("the holder is dead") };
    assert!(lease.recovered_owner.is_some());
}

#[test]
fn l9_a_clock_that_jumps_under_a_waiter_neither_ends_its_wait_nor_gives_it_the_lease() {
    let (machine, scene) = simulated();
    let mut held = scene.acquire().unwrap();
    let other = scene.of_process(&machine, 2);
    let mut waiter = waiter(&other, LONG);
    for jump in [8, -16, 8] {
        assert!(pause(&mut waiter, &other).at_most <= LONG);
        machine.world().now_ms += jump * 3_600_000;
    }
    assert!(pause(&mut waiter, &other).at_most <= LONG);
    held.release(&scene.host).unwrap();
    assert!(matches!(waiter.advance(&other.host, &NoHooks), Ok(Progress::Done(_))));
}

#[test]
fn a_waiter_that_meets_recoveries_again_and_again_waits_longer_each_time() {
    let (machine, scene) = simulated();
    scene.assert_acquirable();
    scene.make("recovery");
    let start = scene.host.clock.monotonic();
    // Empty for less than 5 s: in progress, as far as anyone can tell.
    let (tap, tapped) = scene.tapped();
    let lease = acquire_within(&tapped.host, &tapped.input(), &NoHooks, LONG).unwrap();
    assert!(lease.holds(&scene.host));
    assert!(scene.host.clock.monotonic() - start < Duration::from_secs(6));
    let tries = tap.take_log().iter().filter(|call| call.starts_with("create owner-")).count();
    assert!((5..60).contains(&tries), "{tries} tries");
    drop(machine);
}

#[test]
fn a_claim_of_a_living_process_is_waited_for_without_a_try() {
    let (machine, scene) = simulated();
    let seat = machine.start(2);
    let dead = Planted::new(&scene, "D").holds(&scene);
    Planted::new(&scene, "C").with("pid", "102").claims(&scene, &dead);
    let mut waiter = waiter(&scene, LONG);
    let _ = pause(&mut waiter, &scene);
    let before = scene.names();
    for _ in 0..5 {
        let _ = pause(&mut waiter, &scene);
    }
    assert_eq!(scene.names(), before);
    seat.kill();
    let Progress::Done(lease) = waiter.advance(&scene.host, &NoHooks).unwrap() else { panic!("it is stale") };
    assert_eq!(lease.recovered_owner.unwrap().owner_id, "D");
}

#[test]
fn an_aborted_waiter_leaves_nothing_even_in_the_middle_of_a_recovery() {
    let (machine, scene) = simulated();
    scene.dead_holder();
    machine.start(2);
    Planted::new(&scene, "B").with("pid", "102").created(START_MS).contends(&scene);
    let before = scene.names();
    let mut waiter = waiter(&scene, LONG);
    let _ = pause(&mut waiter, &scene);
    assert!(scene.has("recovery"));
    waiter.abort();
    assert_eq!(scene.names(), before);
    assert!(matches!(waiter.advance(&scene.host, &NoHooks), Err(Error::Lost(_))));
}

#[test]
fn a_removed_directory_is_a_free_lease_to_a_waiter() {
    let (_root, scene) = real();
    let _held = scene.acquire().unwrap();
    let mut waiter = waiter(&scene, LONG);
    let waits = pause(&mut waiter, &scene);
    std::fs::remove_dir_all(&scene.path).unwrap();
    assert!(wakes(&waits, Duration::ZERO));
    assert!(matches!(waiter.advance(&scene.host, &NoHooks), Ok(Progress::Done(_))));
}

#[test]
fn a_release_wakes_a_waiting_process_at_once() {
    let (_root, scene) = real();
    let mut held = scene.acquire().unwrap();
    let mut other = Contender::start(&scene.path);
    other.tell("wait");
    assert_eq!(other.answer(), "waiting");
    held.release(&scene.host).unwrap();
    let released = Instant::now();
    assert!(other.answer().starts_with("held "));
    // The poll that backs the watch comes after a second.
    assert!(released.elapsed() < Duration::from_millis(900), "{:?}", released.elapsed());
}

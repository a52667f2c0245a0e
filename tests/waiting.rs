//! The one waiting thread: whoever waits is told, at the right time, once, and nobody else.

#![cfg(target_os = "linux")]

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use harnery_native::clock::waiting::Waiting;
use harnery_native::clock::Pause;
use harnery_native::files::disk::Disk;
use harnery_native::files::{Dir, Files};
use rustix::event::{eventfd, EventfdFlags};
use rustix::process::{Resource, Rlimit};

const LONG: Duration = Duration::from_secs(600);
/// Far above what a wake-up takes, far below [`LONG`].
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_wait_is_over_when_its_descriptor_becomes_readable() {
    let event = event();
    let (waiting, told) = wait(LONG, &[&event]);
    assert_eq!(told.try_recv().ok(), None);
    ring(&event);
    assert_eq!(told.recv_timeout(SOON), Ok(()));
    drop(waiting);
}

#[test]
fn a_descriptor_that_is_readable_already_is_told_at_once() {
    let event = event();
    ring(&event);
    let (_waiting, told) = wait(LONG, &[&event]);
    assert_eq!(told.recv_timeout(SOON), Ok(()));
}

#[test]
fn a_wait_is_over_when_its_time_is_and_not_before() {
    let (start, time) = (Instant::now(), Duration::from_millis(30));
    let (_waiting, told) = wait(time, &[]);
    assert_eq!(told.recv_timeout(SOON), Ok(()));
    assert!(start.elapsed() >= time);
}

#[test]
fn a_time_beyond_all_clocks_is_no_time_limit() {
    let event = event();
    let (_waiting, told) = wait(Duration::MAX, &[&event]);
    ring(&event);
    assert_eq!(told.recv_timeout(SOON), Ok(()));
}

#[test]
fn two_who_wait_for_one_descriptor_are_both_told() {
    let event = event();
    let (_one, one_told) = wait(LONG, &[&event]);
    let (_two, two_told) = wait(LONG, &[&event, &event]);
    ring(&event);
    assert_eq!(one_told.recv_timeout(SOON), Ok(()));
    assert_eq!(two_told.recv_timeout(SOON), Ok(()));
}

#[test]
fn a_wait_is_told_once_however_many_of_its_descriptors_are_readable() {
    let events = [event(), event(), event()];
    events.iter().for_each(ring);
    let (_waiting, told) = wait(Duration::from_millis(1), &events.each_ref());
    assert_eq!(told.recv_timeout(SOON), Ok(()));
    assert_eq!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected), "the one who tells is gone");
}

#[test]
fn a_wait_that_was_called_off_is_not_told_and_its_descriptor_is_free_again() {
    let event = event();
    let (waiting, told) = wait(LONG, &[&event]);
    drop(waiting);
    assert_eq!(told.recv_timeout(SOON), Err(RecvTimeoutError::Disconnected));
    let (_again, told_again) = wait(LONG, &[&event]);
    ring(&event);
    assert_eq!(told_again.recv_timeout(SOON), Ok(()));
}

#[test]
fn what_cannot_be_waited_for_is_an_error_and_leaves_the_others_usable() {
    let (event, file) = (event(), tempfile::tempfile().unwrap());
    let file = Rc::new(OwnedFd::from(file));
    let pause = Pause { at_most: LONG, wake: vec![Rc::clone(&event), file] };
    let refused = Waiting::begin(&pause, || {}).expect_err("a plain file is always readable");
    assert_eq!(refused.raw_os_error(), Some(nix::errno::Errno::EPERM as i32));
    let (_waiting, told) = wait(LONG, &[&event]);
    ring(&event);
    assert_eq!(told.recv_timeout(SOON), Ok(()));
}

#[test]
fn two_hundred_waits_share_one_thread() {
    let events: Vec<_> = (0..200).map(|_| event()).collect();
    let waits: Vec<_> = events.iter().map(|event| wait(LONG, &[event])).collect();
    assert_eq!(waiting_threads(), 1);
    events.iter().for_each(ring);
    for (_waiting, told) in &waits {
        assert_eq!(told.recv_timeout(SOON), Ok(()));
    }
}

fn wait(at_most: Duration, wake: &[&Rc<OwnedFd>]) -> (Waiting, Receiver<()>) {
    let (tell, told) = channel();
    let pause = Pause { at_most, wake: wake.iter().map(|event| Rc::clone(event)).collect() };
    let waiting = Waiting::begin(&pause, move || tell.send(()).expect("somebody listens"));
    (waiting.expect("the thread starts and the kernel takes the descriptors"), told)
}

fn event() -> Rc<OwnedFd> {
    Rc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap())
}

fn ring(event: &Rc<OwnedFd>) {
    rustix::io::write(event, &1_u64.to_ne_bytes()).unwrap();
}

fn waiting_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default());
    names.filter(|name| name.trim() == "harnery-waits").count()
}

const WITHOUT_DESCRIPTORS: &str = "WAITING_TEST_WITHOUT_DESCRIPTORS";

/// In a process of its own: it uses up its descriptors.
#[test]
fn without_descriptors() {
    let Ok(path) = std::env::var(WITHOUT_DESCRIPTORS) else { return };
    let disk: Rc<dyn Files> = Rc::new(Disk::default());
    let dir = Dir::open(&disk, Path::new(&path)).unwrap();
    let limit = Rlimit { current: Some(64), maximum: Some(64) };
    rustix::process::setrlimit(Resource::Nofile, limit).unwrap();
    let mut used = Vec::new();
    while let Ok(file) = fs::File::open("/dev/null") {
        used.push(file);
    }
    assert!(dir.watch().unwrap().is_none());
}

#[test]
fn a_directory_is_polled_where_it_cannot_be_watched() {
    let dir = tempfile::tempdir().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "without_descriptors", "--quiet"])
        .env(WITHOUT_DESCRIPTORS, dir.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{child:?}");
}

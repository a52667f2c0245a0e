//! The waiting thread sleeps until the first time that is over, also when that one comes in last.
//!
//! In a process of its own: whatever else woke the thread would hide that it was not woken for this.

#![cfg(target_os = "linux")]

use std::sync::mpsc::channel;
use std::time::Duration;

use harnery_native::clock::waiting::Waiting;
use harnery_native::clock::Pause;

#[test]
fn a_later_wait_with_an_earlier_time_is_not_kept_behind_the_first() {
    let (tell, told) = channel();
    let wait = |at_most, name| {
        let (pause, tell) = (Pause { at_most, wake: Vec::new() }, tell.clone());
        Waiting::begin(&pause, move || tell.send(name).expect("somebody listens")).expect("the thread starts")
    };
    let short = Duration::from_millis(50);
    // The first of them is over when the thread has been through a whole round, and is about to sleep again.
    let _first = wait(short, "first");
    let _long = wait(Duration::from_secs(600), "long");
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok("first"));
    let _last = wait(short, "last");
    assert_eq!(told.recv_timeout(Duration::from_secs(20)), Ok("last"));
}

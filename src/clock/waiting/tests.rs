//! Both ways to sleep do the same. (`tests/waiting.rs` tests the whole, on this system's way.)

use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::pipe::pipe;

/// The same claims for each way.
macro_rules! claims {
    ($way:ident) => {
        mod $way {
            use super::super::$way::Set;
            use super::{readable, unreadable, ALREADY, LONG};

            #[test]
            fn what_is_readable_is_told_by_its_number_and_once() {
                let set = Set::new().unwrap();
                let (quiet, _open) = unreadable();
                let loud = readable();
                let _watched = [set.watch(&quiet, 7).unwrap(), set.watch(&loud, 8).unwrap()];
                while_poked(&set, &[8]);
                assert_eq!(set.sleep(Some(ALREADY)), []);
            }

            #[test]
            fn one_descriptor_is_told_to_both_who_wait_for_it() {
                let set = Set::new().unwrap();
                let loud = readable();
                let _watched = [set.watch(&loud, 1).unwrap(), set.watch(&loud, 2).unwrap()];
                while_poked(&set, &[1, 2]);
            }

            #[test]
            fn what_is_forgotten_is_not_told() {
                let set = Set::new().unwrap();
                let loud = readable();
                drop(set.forget(set.watch(&loud, 1).unwrap()));
                assert_eq!(set.sleep(Some(ALREADY)), []);
            }

            #[test]
            fn a_poke_before_the_sleep_ends_it_and_is_over_with_it() {
                let set = Set::new().unwrap();
                set.poke();
                set.poke();
                assert_eq!(set.sleep(Some(LONG)), []);
                assert_eq!(set.sleep(Some(ALREADY)), []);
            }

            /// Sleep until all of these were told: watching may count as a poke.
            fn while_poked(set: &Set, wanted: &[u64]) {
                let mut told = Vec::new();
                while told.len() < wanted.len() {
                    told.extend(set.sleep(Some(LONG)));
                }
                told.sort();
                assert_eq!(told, wanted);
            }
        }
    };
}

#[cfg(target_os = "linux")]
claims!(epoll);
claims!(poll);

const LONG: Duration = Duration::from_secs(600);
const ALREADY: Duration = Duration::ZERO;

fn readable() -> Rc<OwnedFd> {
    let (reader, writer) = pipe().unwrap();
    rustix::io::write(&writer, &[0]).unwrap();
    Rc::new(reader)
}

fn unreadable() -> (Rc<OwnedFd>, OwnedFd) {
    let (reader, writer) = pipe().unwrap();
    (Rc::new(reader), writer)
}

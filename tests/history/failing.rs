//! Calls that fail, and a disk that fills, on the simulated machine.

use harnery_native::history::Error;
use nix::errno::Errno;

use crate::lease::{add, home, machine, records, Start, EMPTY, STALE};

#[test]
fn h3_a_disk_that_fills_at_any_byte_leaves_the_file_as_long_as_before() {
    let record = format!("\"{}\"", "x".repeat(200));
    for room in 0.. {
        let machine = machine(Start::Nothing);
        let seat = machine.start(1);
        add(&seat.host(), "1").unwrap();
        machine.world().disk.room = Some(room);
        let added = add(&seat.host(), &record);
        machine.world().disk.room = None;
        let expected =
            if added.is_ok() { vec!["1".to_owned(), record.clone()] } else { vec!["1".to_owned()] };
        assert_eq!(records(&seat), expected, "with room for {room} bytes");
        match added {
            Ok(_) => break,
            Err(Error::Path(error)) => assert_eq!(error.code().as_deref(), Some("ENOSPC")),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(home(&seat).list().unwrap(), ["x.jsonl"], "with room for {room} bytes");
        add(&seat.host(), "2").unwrap();
    }
}

#[test]
fn whatever_call_fails_an_append_is_whole_or_not_there_and_the_next_one_succeeds() {
    for errno in [Errno::EIO, Errno::ENOSPC, Errno::EACCES] {
        for start in Start::ALL {
            for call in 0.. {
                let machine = machine(start);
                let failing = machine.start(1);
                let before = failing.calls().len();
                failing.fail(before + call, errno);
                let outcome = add(&failing.host(), r#"{"n":1}"#);
                let reached = failing.calls().len() > before + call;
                // What a failed clearing leaves is the failing process's, which ends one day.
                failing.kill();
                machine.pass(STALE + EMPTY);
                let next = machine.start(2);
                add(&next.host(), r#"{"n":2}"#).unwrap();
                let found = records(&next);
                let whole = [r#"{"n":1}"#, r#"{"n":2}"#];
                match outcome {
                    Ok(_) => assert_eq!(found, whole, "{start:?}, {errno} at call {call}"),
                    Err(_) => {
                        assert!(found == whole || found == whole[1..], "{start:?}, {errno} at call {call}")
                    }
                }
                if !reached {
                    break;
                }
            }
        }
    }
}

//! Writers that are killed at random moments.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use harnery_native::history::append::append;
use harnery_native::history::repair::repair;
use harnery_native::history::{Error, Layout, NoSeams, Writing};

use crate::proof::{effort, row};
use crate::support::{later, read_all, reading, real, scratch};
use crate::writers::{options, record, start};

const WRITER: &str = "HISTORY_TEST_KILLED_WRITER";

#[test]
fn a_writer_to_be_killed() {
    let Ok(dir) = std::env::var(WRITER) else { return };
    let layout = Layout::directory(Path::new(&dir));
    for number in 0.. {
        append(&real(), &layout, &[record(7, number)], options(), Writing::default(), &NoSeams).unwrap();
        println!("acknowledged {number}");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn killed_five_hundred_times_every_acknowledged_record_is_there_and_nothing_half() {
    let rounds = 500 * effort();
    let mut torn = 0;
    for round in 0..rounds {
        let dir = scratch();
        let mut writer = start("kills::a_writer_to_be_killed", WRITER, dir.path().to_str().unwrap());
        let mut output = BufReader::new(writer.stdout.take().unwrap());
        let mut line = String::new();
        // It is killed somewhere in the middle of what it does after so many acknowledgements.
        let mut heard = 0;
        while heard < round % 7 {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0);
            heard += usize::from(line.contains("acknowledged"));
        }
        writer.kill().unwrap();
        writer.wait().unwrap();
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        let acknowledged = heard + rest.matches("acknowledged").count();

        let (layout, host) = (Layout::directory(dir.path()), later(Duration::from_secs(35)));
        let read = || read_all(&host, layout.clone(), reading(100_000.0));
        let records = match read() {
            Err(Error::Partial { .. }) => {
                torn += 1;
                repair(&host, dir.path(), Writing::default(), None).unwrap().unwrap();
                read().unwrap()
            }
            records => records.unwrap(),
        };
        assert!(
            records.len() >= acknowledged,
            "round {round}: {acknowledged} acknowledged, {}",
            records.len()
        );
        for (number, text) in records.iter().enumerate() {
            assert_eq!(*text, record(7, number), "round {round}");
        }
        append(&host, &layout, &["{}"], options(), Writing::default(), &NoSeams).unwrap();
    }
    row(
        "history, killed by SIGKILL while it appends",
        format!("{rounds} kills, {torn} of them tore a line"),
        0,
    );
}

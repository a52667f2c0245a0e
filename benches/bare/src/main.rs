//! The bare system calls: what the addon is measured against.
//!
//! ```text
//! bare calls FILE DIR   each line of standard input is a number of rounds: make the calls that FILE lists that many
//!                       times in DIR, and write the nanoseconds that it took
//! bare victim           wait for SIGTERM, write CLOCK_MONOTONIC in nanoseconds, and end
//! bare crowd P D L      P processes with D descriptors each, of which the newest L listen; until standard input ends
//! bare unseen           a listening socket that no descriptor stands for; until standard input ends
//! bare connected C P    C connections to P listening ports, which are written; until standard input ends
//! ```

mod calls;
mod crowd;
mod processor;

use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use nix::sys::signal::{SigSet, Signal};
use nix::time::{clock_gettime, ClockId};

use processor::OneProcessor;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["calls", file, dir] => calls(file, PathBuf::from(dir)),
        ["victim"] => victim(),
        ["crowd", processes, descriptors, listeners] => {
            numbers([processes, descriptors, listeners]).and_then(|[p, d, l]| crowd::crowd(p, d, l))
        }
        ["unseen"] => crowd::unseen(),
        ["connected", connections, ports] => {
            numbers([connections, ports]).and_then(|[c, p]| crowd::connected(c, p))
        }
        _ => Err(io::Error::other(
            "usage: bare calls FILE DIR | victim | crowd P D L | unseen | connected C P",
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn calls(file: &str, dir: PathBuf) -> io::Result<()> {
    let text = std::fs::read_to_string(file)?;
    let mut replay = calls::Replay::new(&text, &dir)?;
    let _shared = OneProcessor::share()?;
    for line in io::stdin().lock().lines() {
        let rounds: u64 = line?.trim().parse().map_err(io::Error::other)?;
        let start = Instant::now();
        for _ in 0..rounds {
            replay.round()?;
        }
        answer(start.elapsed().as_nanos())?;
    }
    Ok(())
}

fn victim() -> io::Result<()> {
    let term = SigSet::from(Signal::SIGTERM);
    term.thread_block()?;
    answer("ready")?;
    term.wait()?;
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    answer(i128::from(now.tv_sec()) * 1_000_000_000 + i128::from(now.tv_nsec()))
}

fn numbers<const N: usize>(words: [&str; N]) -> io::Result<[usize; N]> {
    let mut numbers = [0; N];
    for (number, word) in numbers.iter_mut().zip(words) {
        *number = word.parse().map_err(io::Error::other)?;
    }
    Ok(numbers)
}

fn answer(text: impl std::fmt::Display) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

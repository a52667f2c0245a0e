//! Eight processes contend for one lease while they are killed at random moments.
//!
//! Whoever holds the lease goes inside a room of its own making, which only one living process can be in: the kernel
//! lets go of its lock when its process has ended, and not before. A second holder beside a living one is turned away
//! there, and says so.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use harnery_native::host::Host;
use harnery_native::lease::{acquire, Error, Input, Lease, NoHooks, Progress, Waiter};

use crate::mortal::real;
use crate::places::{prove_with, Tally};
use crate::proof::effort;
use crate::support::{Scene, Script};

const ROLE: &str = "HARNERY_KILLS_SOAK";
const SEED: &str = "HARNERY_SOAK_SEED";
const CONTENDERS: usize = 8;
const STALE_AFTER_MS: i64 = 30;
/// What a dead one leaves is replaced once its time is over: nobody waits longer, on a machine as busy as it gets.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

#[test]
fn l21_eight_processes_that_are_killed_at_random_never_hold_twice_and_all_get_on() {
    let seed = std::env::var(SEED).unwrap_or_else(|_| any_seed().to_string());
    println!("{SEED}={seed} draws the same victims and pauses again");
    let claim = format!("SIGKILL at random to eight processes with one lease, seed {seed}");
    prove_with(&claim, &[(SEED, &seed)], |place| {
        soak(place, seed.parse().expect("a number"), Duration::from_secs(2) * effort() as u32)
    });
}

fn soak(at: &Path, seed: u64, time: Duration) -> Tally {
    let mut dice = Dice(seed);
    let (say, heard) = channel();
    let start = |number| contender(number, at, &say);
    let mut children: Vec<_> = (0..CONTENDERS).map(start).collect();
    let mut seen = Seen::new();
    let begun = Instant::now();
    while begun.elapsed() < time {
        seen.listen(&heard, Duration::from_millis(1 + dice.roll(20)));
        let number = dice.roll(CONTENDERS as u64) as usize;
        children[number].kill().expect("it can be killed");
        children[number].wait().expect("it ends");
        seen.kills += 1;
        children[number] = start(number);
    }
    // From now on nobody is killed: all of them come inside once more.
    let turns = seen.turns;
    let patience = Instant::now();
    while seen.turns.iter().zip(turns).any(|(now, then)| *now == then) && patience.elapsed() < LONGEST_WAIT {
        seen.listen(&heard, Duration::from_millis(10));
    }
    seen.expect(seen.turns.iter().zip(turns).all(|(now, then)| *now > then), "somebody does not get on");
    std::fs::write(at.join("stop"), "").expect("a file");
    for mut child in children {
        seen.expect(child.wait().expect("it ends").success(), "a contender failed");
    }
    seen.listen(&heard, Duration::ZERO);
    seen.expect(seen.longest_wait < LONGEST_WAIT, "for a long time nobody had the lease");
    seen.expect(is_left_in_order(at), "the next one does not get on");
    println!("{}", seen.told());
    Tally { kills: seen.kills, turns: seen.turns.iter().sum(), violations: seen.violations, skipped: false }
}

/// The next one has the lease at its first try, and only texts that were not written to their end are left.
fn is_left_in_order(at: &Path) -> bool {
    let host = real();
    let scene = Scene { path: at.join("x.lease"), host };
    let now = Script::at((scene.host.clock.now_ms() + 1_000) as f64);
    let taken = acquire(&scene.host, &input(at), &now).and_then(|mut lease| lease.release(&scene.host));
    if let Err(error) = taken {
        println!("{error}");
        return false;
    }
    let left = scene.names();
    left.iter().all(|name| !std::fs::read(scene.path.join(name)).is_ok_and(|text| text.ends_with(b"\n")))
}

fn input(at: &Path) -> Input {
    let scene = Scene { path: at.join("x.lease"), host: real() };
    Input { stale_after_ms: STALE_AFTER_MS as f64, ..scene.input() }
}

/// What was heard.
struct Seen {
    kills: usize,
    turns: [usize; CONTENDERS],
    /// Killed while they held the lease: the next one inside has seen it.
    killed_inside: usize,
    recovered: usize,
    last_turn: Instant,
    longest_wait: Duration,
    violations: usize,
}

impl Seen {
    fn new() -> Seen {
        Seen {
            kills: 0,
            turns: [0; CONTENDERS],
            killed_inside: 0,
            recovered: 0,
            last_turn: Instant::now(),
            longest_wait: Duration::ZERO,
            violations: 0,
        }
    }

    fn listen(&mut self, heard: &Receiver<(usize, String)>, time: Duration) {
        let until = Instant::now() + time;
        loop {
            match heard.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok((number, line)) => self.hear(number, &line),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn hear(&mut self, number: usize, line: &str) {
        match line {
            "inside" | "inside after a dead one" => {
                self.killed_inside += usize::from(line != "inside");
                self.turns[number] += 1;
                self.longest_wait = self.longest_wait.max(self.last_turn.elapsed());
                self.last_turn = Instant::now();
            }
            "recovered" => self.recovered += 1,
            wrong => self.expect(false, wrong),
        }
    }

    fn expect(&mut self, is_so: bool, otherwise: &str) {
        if !is_so {
            eprintln!("{otherwise}");
            self.violations += 1;
        }
    }

    fn told(&self) -> String {
        let Seen { kills, turns, killed_inside, recovered, longest_wait, .. } = self;
        format!(
            "{kills} kills, {killed_inside} of them of a holder, {recovered} takeovers, turns {turns:?}, the longest \
             wait for one {longest_wait:?}"
        )
    }
}

fn contender(number: usize, at: &Path, say: &Sender<(usize, String)>) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("a test has a program"))
        .args(["--exact", "soak::one_of_eight", "--nocapture", "--test-threads=1"])
        .env(ROLE, at)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process starts");
    let (output, say) = (child.stdout.take().expect("a pipe"), say.clone());
    std::thread::spawn(move || {
        // What a killed one did not say to the end is no line.
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(text) = line.strip_prefix('@') {
                let _ = say.send((number, text.to_owned()));
            }
        }
    });
    child
}

#[test]
fn one_of_eight() {
    let Some(at) = std::env::var_os(ROLE).map(PathBuf::from) else { return };
    let host = real();
    let mut dice = Dice(any_seed());
    println!();
    while !at.join("stop").exists() {
        let taken = if dice.roll(2) == 0 { acquire(&host, &input(&at), &NoHooks) } else { wait(&host, &at) };
        let mut lease = match taken {
            Ok(lease) => lease,
            Err(error) if error.is_contention() => {
                std::thread::sleep(Duration::from_micros(dice.roll(3_000)));
                continue;
            }
            Err(error) => return println!("@{error}"),
        };
        if lease.recovered_owner.is_some() {
            println!("@recovered");
        }
        match Room::enter(&at) {
            Ok(room) => {
                println!("@inside{}", if room.was_left_by_a_dead_one { " after a dead one" } else { "" });
                // A living holder keeps its lease beyond its time.
                let beyond = if dice.roll(10) == 0 { 2 * STALE_AFTER_MS as u64 } else { 0 };
                std::thread::sleep(Duration::from_millis(beyond + dice.roll(3)));
                room.leave();
            }
            Err(who) => println!("@two hold the lease: {who} is inside"),
        }
        if let Err(error) = lease.release(&host) {
            println!("@a holder could not let go: {error}");
        }
        // The lease has no queue: whoever takes it again at once leaves the others no moment.
        std::thread::sleep(Duration::from_millis(2 + dice.roll(8)));
    }
}

fn wait(host: &Host, at: &Path) -> Result<Lease, Error> {
    let mut waiter = Waiter::begin(host, &input(at), &NoHooks, Duration::from_millis(200))?;
    loop {
        match waiter.advance(host, &NoHooks)? {
            Progress::Done(lease) => return Ok(lease),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

/// Where only one living process can be.
struct Room {
    door: File,
    was_left_by_a_dead_one: bool,
}

impl Room {
    /// Go inside, or say who is there.
    fn enter(at: &Path) -> Result<Room, String> {
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(at.join("room"));
        let mut door = open.expect("a file");
        let is_free = rustix::fs::flock(&door, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok();
        let mut stamp = String::new();
        door.read_to_string(&mut stamp).expect("a stamp");
        if !is_free {
            return Err(stamp);
        }
        door.set_len(0).expect("a file");
        door.seek(SeekFrom::Start(0)).expect("a file");
        write!(door, "process {}", std::process::id()).expect("a file");
        Ok(Room { door, was_left_by_a_dead_one: !stamp.is_empty() })
    }

    fn leave(self) {
        self.door.set_len(0).expect("a file");
    }
}

#[test]
fn the_room_turns_a_second_living_one_away_and_is_left_by_the_dead() {
    let dir = crate::mortal::scratch();
    let first = Room::enter(dir.path()).expect("nobody is inside");
    let inside = format!("process {}", std::process::id());
    assert_eq!(Room::enter(dir.path()).err(), Some(inside));
    // As the kernel does it at a process's end.
    drop(first.door);
    let second = Room::enter(dir.path()).expect("it is dead");
    assert!(second.was_left_by_a_dead_one);
    second.leave();
    assert!(!Room::enter(dir.path()).expect("it has left").was_left_by_a_dead_one);
}

/// Xorshift: as many seeds, and no more than that.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn any_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock");
    now.as_nanos() as u64 ^ u64::from(std::process::id())
}

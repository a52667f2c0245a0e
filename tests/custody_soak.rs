//! Eight processes register, touch, hold, remove and stop one id for twenty seconds: nothing fails but by the documented
//! refusals, no moment shows an invalid record, and the last state is explained by some order of the calls.
//!
//! `HARNERY_SOAK_SECONDS` makes it shorter or longer.

mod registry_support;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use harnery_native::host::{Host, ProcessEnvironment};
use harnery_native::lease::Progress;
use harnery_native::process::NoDependencies;
use harnery_native::servers::custody::hold::Custody;
use harnery_native::servers::custody::stop::CustodyStop;
use harnery_native::servers::custody::unregister::unregister;
use harnery_native::servers::read::read_server;
use harnery_native::servers::register::register;
use harnery_native::servers::stop::Method;
use harnery_native::servers::touch::touch;
use harnery_native::servers::{CoordRoot, Error, NoAnswers, Options, Registry, Schema, ServerRecord};
use registry_support::{input, Bench};

const WORKERS: usize = 8;
const ROLE: &str = "HARNERY_SOAK_ROOT";

fn seconds() -> u64 {
    std::env::var("HARNERY_SOAK_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(20)
}

#[test]
fn eight_processes_on_one_id_leave_what_some_order_of_their_calls_explains() {
    let bench = Bench::of(Schema::Custody);
    let mut workers: Vec<Child> = (0..WORKERS).map(|_| start(bench.root())).collect();
    let outputs: Vec<_> = workers.iter_mut().map(|worker| worker.stdout.take().expect("a pipe")).collect();
    let readers: Vec<_> = outputs
        .into_iter()
        .map(|output| {
            std::thread::spawn(move || {
                BufReader::new(output)
                    .lines()
                    .map(|line| line.expect("a line"))
                    .filter_map(event)
                    .collect::<Vec<_>>()
            })
        })
        .collect();

    let clock = &bench.host.clock;
    let (started, mut looks, mut seen) = (clock.monotonic(), 0, 0);
    while clock.monotonic() - started < Duration::from_secs(seconds()) {
        // Throws for what is registered and no record.
        let record =
            read_server(&bench.registry(), "a", &bench.options()).expect("no moment shows an invalid record");
        (looks, seen) = (looks + 1, seen + usize::from(record.is_some()));
    }
    let mut events = Vec::new();
    for (mut worker, reader) in workers.into_iter().zip(readers) {
        events.extend(reader.join().expect("the worker's lines are read"));
        assert!(worker.wait().expect("a worker ends").success(), "a worker met an undocumented failure");
    }
    let last = read_server(&bench.registry(), "a", &bench.options()).expect("a record or none");
    explain(&events, last.as_ref());
    assert!(seen > 0 && seen < looks, "{seen} of {looks} looks saw a record");
    let left = bench.names().into_iter().filter(|name| name.contains(".tmp.")).collect::<Vec<_>>();
    assert_eq!(left, Vec::<String>::new());
}

/// What a worker tells of a call that changed something: when it was begun and over, and whose registration it was.
#[derive(Debug)]
struct Event {
    what: What,
    receipt: String,
    begun: u128,
    over: u128,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Registered,
    Removed,
}

fn event(line: String) -> Option<Event> {
    let mut words = line.split("event:").nth(1)?.split_whitespace();
    let what = match words.next()? {
        "registered" => What::Registered,
        _ => What::Removed,
    };
    let receipt = words.next()?.to_owned();
    Some(Event { what, receipt, begun: words.next()?.parse().ok()?, over: words.next()?.parse().ok()? })
}

/// Each registration is made once and removed at most once, after it was made. The last state is that of a
/// registration that no other one follows for certain.
fn explain(events: &[Event], last: Option<&ServerRecord>) {
    let mut made = BTreeMap::new();
    for event in events.iter().filter(|event| event.what == What::Registered) {
        assert!(made.insert(event.receipt.as_str(), event).is_none(), "registered twice: {event:?}");
    }
    let mut removed = BTreeMap::new();
    for event in events.iter().filter(|event| event.what == What::Removed) {
        let made =
            made.get(event.receipt.as_str()).unwrap_or_else(|| panic!("removed, never made: {event:?}"));
        assert!(made.begun < event.over, "removed before it was made: {event:?}");
        assert!(removed.insert(event.receipt.as_str(), event).is_none(), "removed twice: {event:?}");
    }
    assert!(
        made.len() > WORKERS && removed.len() > WORKERS,
        "{} made, {} removed",
        made.len(),
        removed.len()
    );
    let is_last = |it: &Event| made.values().all(|other| other.begun <= it.over);
    match last.and_then(ServerRecord::registration_id) {
        Some(receipt) => {
            assert!(!removed.contains_key(receipt), "{receipt} stands and was removed");
            assert!(is_last(made[receipt]), "{receipt} stands, and another was registered after it");
        }
        None => {
            let mut possible = made.values().filter(|it| is_last(it));
            assert!(
                possible.any(|it| removed.contains_key(it.receipt.as_str())),
                "nobody removed the last one"
            );
        }
    }
}

fn start(root: &str) -> Child {
    Command::new(std::env::current_exe().expect("a test has a program"))
        .args(["--exact", "--nocapture", "--test-threads=1", "one_of_eight"])
        .env(ROLE, root)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a child starts")
}

/// What each of the eight processes does.
#[test]
fn one_of_eight() {
    let Ok(root) = std::env::var(ROLE) else { return };
    let host = Host::real(std::rc::Rc::new(ProcessEnvironment));
    let registry = Registry { host: &host, schema: Schema::Custody, answers: &NoAnswers };
    let options = Options { coord_root: CoordRoot::At(root), ..Options::default() };
    let end = host.clock.monotonic() + Duration::from_secs(seconds());
    let mut servers: Vec<Child> = Vec::new();
    let mut dice = Dice(u64::from(std::process::id()));
    while host.clock.monotonic() < end {
        let begun = host.clock.monotonic().as_nanos();
        let tell = |what: &str, record: &ServerRecord| {
            let receipt = record.registration_id().expect("a custody record has a receipt");
            println!("event:{what} {receipt} {begun} {}", host.clock.monotonic().as_nanos());
        };
        let Ok(current) = read_server(&registry, "a", &options) else { panic!("an invalid record") };
        match (dice.roll(10), current) {
            (0..=3, _) => {
                let mut server = Command::new("sleep").arg("60").spawn().expect("a server starts");
                let mut given = input("a");
                given.pid = Some(f64::from(server.id()));
                match register(&registry, &given, &options) {
                    Ok(record) => {
                        tell("registered", &record.expect("there is a project"));
                        servers.push(server);
                    }
                    Err(error) => {
                        assert_documented(&error);
                        let _ = server.kill();
                        let _ = server.wait();
                    }
                }
            }
            (4..=5, _) => {
                touch(&registry, "a", &options, host.clock.now_ms()).unwrap_or_else(|e| assert_documented(&e))
            }
            (6, Some(record)) => match Custody::take(&registry, &record, &options).and_then(Custody::release)
            {
                Ok(()) => {}
                Err(error) => assert_documented(&error),
            },
            (7, Some(record)) => match unregister(&registry, &record, &options) {
                Ok(true) => tell("removed", &record),
                Ok(false) => {}
                Err(error) => assert_documented(&error),
            },
            (8.., Some(record)) => {
                let grace = Duration::from_secs(5);
                let mut stop = CustodyStop::new(&registry, record.clone(), &options, grace).expect("a stop");
                let result = loop {
                    match stop.advance(&host, &NoDependencies).expect("a stop goes on") {
                        Progress::Done(result) => break result,
                        Progress::Wait(pause) => host.clock.pause(&pause),
                    }
                };
                match result.method {
                    Method::Signal | Method::NotRunning => tell("removed", &record),
                    Method::Refused => assert!(result.detail.is_some(), "{result:?}"),
                }
            }
            _ => {}
        }
        servers.retain_mut(|server| matches!(server.try_wait(), Ok(None)));
    }
    for mut server in servers {
        let _ = server.kill();
        let _ = server.wait();
    }
}

fn assert_documented(error: &Error) {
    let is_documented = match error {
        Error::Custody(_) | Error::Busy(_) => true,
        Error::Lease(error) => error.is_contention(),
        _ => false,
    };
    assert!(is_documented, "{error:?}");
}

/// Xorshift: different in each process, and no more than that.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

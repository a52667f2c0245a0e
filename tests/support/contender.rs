//! A contender that is a process of its own: this test program again, told by lines what to do.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use harnery_native::host::{Host, ProcessEnvironment};
use harnery_native::lease::{Error, Lease, NoHooks, Progress, Waiter};

use super::{Scene, Script};

const PATH: &str = "LEASE_CONTENDER";

/// The process, as its parent has it. Killed when dropped.
pub struct Contender {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Contender {
    /// Start one. Its test program has a test `contender` that calls [`serve`].
    pub fn start(path: &Path) -> Contender {
        Contender::start_by(&[], path)
    }

    /// Start one through another program, such as one that changes the user first.
    pub fn start_by(through: &[&str], path: &Path) -> Contender {
        let program = std::env::current_exe().unwrap();
        let mut words: Vec<&OsStr> = through.iter().map(OsStr::new).collect();
        words.push(program.as_os_str());
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .args(["contender", "--exact", "--nocapture", "--quiet"])
            .env(PATH, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        Contender { child, to, from }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.to, "{line}").unwrap();
    }

    /// The next line that it answers with.
    pub fn answer(&mut self) -> String {
        loop {
            let mut line = String::new();
            assert!(self.from.read_line(&mut line).unwrap() > 0, "the contender has ended");
            // Behind what the test program itself prints.
            if let Some((_, answer)) = line.split_once('@') {
                return answer.trim_end().to_owned();
            }
        }
    }

    pub fn ask(&mut self, line: &str) -> String {
        self.tell(line);
        self.answer()
    }

    /// Kill it with SIGKILL and collect it.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Be a contender, if this process was started as one.
pub fn serve() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let scene = Scene { host: Host::real(Rc::new(ProcessEnvironment)), path: path.into() };
    let mut lease = None;
    while let Some(line) = next_line() {
        match line.as_str() {
            "acquire" => say(&took(scene.acquire(), &mut lease)),
            // Says when it has judged the holder stale, and goes on when it is told to.
            "judge" => {
                let hooks = Script::default().validate(|_| {
                    say("judged");
                    next_line();
                    Ok(true)
                });
                say(&took(scene.acquire_with(&hooks), &mut lease));
            }
            // Says when it has been refused once.
            "wait" => say(&took(wait(&scene), &mut lease)),
            "release" => say(&match lease.as_mut().map(|lease: &mut Lease| lease.release(&scene.host)) {
                Some(Ok(())) => "released".to_owned(),
                Some(Err(error)) => refusal(&error),
                None => "nothing to release".to_owned(),
            }),
            step => {
                let stop = step.to_owned();
                let hooks = Script::default().on_step(move |step| {
                    if format!("{step:?}") == stop {
                        say("stopped");
                        next_line();
                    }
                    Ok(())
                });
                say(&took(scene.acquire_with(&hooks), &mut lease));
            }
        }
    }
}

fn wait(scene: &Scene) -> Result<Lease, Error> {
    let mut waiter = Waiter::begin(&scene.host, &scene.input(), &NoHooks, Duration::from_secs(60))?;
    let mut told = false;
    loop {
        match waiter.advance(&scene.host, &NoHooks)? {
            Progress::Done(lease) => return Ok(lease),
            Progress::Wait(pause) => {
                if !std::mem::replace(&mut told, true) {
                    say("waiting");
                }
                scene.host.clock.pause(&pause);
            }
        }
    }
}

fn took(outcome: Result<Lease, Error>, lease: &mut Option<Lease>) -> String {
    match outcome {
        Ok(taken) => {
            let id = taken.owner.owner_id.clone();
            *lease = Some(taken);
            format!("held {id}")
        }
        Err(error) => refusal(&error),
    }
}

fn refusal(error: &Error) -> String {
    format!("refused {} {error}", error.code().unwrap_or_default())
}

fn say(text: &str) {
    println!("@{text}");
    std::io::stdout().flush().unwrap();
}

fn next_line() -> Option<String> {
    let mut line = String::new();
    (std::io::stdin().lock().read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
}

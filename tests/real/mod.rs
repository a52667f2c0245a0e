//! Real processes in awkward states, made on purpose.

#![allow(dead_code, reason = "each test file uses its own part of it")]
#![allow(clippy::disallowed_methods, reason = "tests are the caller")]

use std::ffi::{CString, OsStr};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harnery_native::process::{Pid, Target};
use nix::libc;

/// The user that owns nothing.
pub const NOBODY: u32 = 65534;

/// A child that is ended, with its group, and collected when the test lets go of it.
#[derive(Debug)]
pub struct Real {
    child: Child,
    leads: bool,
}

impl Real {
    /// A child in the test's own process group.
    pub fn spawn(program: &str, arguments: &[impl AsRef<OsStr>]) -> Real {
        Real { child: command(program, arguments).spawn().unwrap(), leads: false }
    }

    /// A child that leads a session and a group of its own.
    pub fn spawn_leader(program: &str, arguments: &[impl AsRef<OsStr>]) -> Real {
        let mut command = command(program, arguments);
        // SAFETY: setsid is safe to call between fork and exec.
        unsafe { command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into)) };
        Real { child: command.spawn().unwrap(), leads: true }
    }

    /// A shell in a session of its own, once it has printed its first line; the line comes along.
    pub fn shell(script: &str) -> (Real, String) {
        let mut real = Real::spawn_leader("sh", &["-c", script]);
        let line = real.line();
        (real, line)
    }

    pub fn pid(&self) -> Pid {
        Pid::new(i64::from(self.child.id())).unwrap()
    }

    /// The next line that it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.child.stdout.as_mut().unwrap();
        let mut byte = [0];
        while stdout.read(&mut byte).unwrap() == 1 && byte[0] != b'\n' {
            line.push(char::from(byte[0]));
        }
        line
    }

    /// End it and leave it uncollected.
    pub fn end(&mut self) {
        send(self.pid(), libc::SIGKILL);
        await_end(self.pid());
    }

    pub fn collect(&mut self) {
        self.child.wait().unwrap();
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let number = self.pid().get();
        // SAFETY: the number is this child's, or its group's, until the child is collected below.
        unsafe { libc::kill(if self.leads { -number } else { number }, libc::SIGKILL) };
        let _ = self.child.wait();
    }
}

fn command(program: &str, arguments: &[impl AsRef<OsStr>]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

pub fn send(pid: Pid, signal: i32) {
    // SAFETY: kill touches no memory.
    assert_eq!(unsafe { libc::kill(pid.get(), signal) }, 0, "kill {pid} {signal}");
}

/// Block until a child has ended; it stays uncollected.
pub fn await_end(pid: Pid) {
    let id = rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(pid.get()).unwrap());
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(id, options).unwrap();
}

/// Block until a child has been stopped by a signal.
pub fn await_stop(pid: Pid) {
    let id = rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(pid.get()).unwrap());
    let options = rustix::process::WaitIdOptions::STOPPED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(id, options).unwrap();
}

/// Block until the process of a hold has ended, by its readiness.
pub fn await_target(target: &dyn Target) {
    let wake = target.wake().expect("a pidfd");
    let mut ready = [rustix::event::PollFd::new(&*wake, rustix::event::PollFlags::IN)];
    let limit = rustix::event::Timespec { tv_sec: 20, tv_nsec: 0 };
    assert_eq!(rustix::event::poll(&mut ready, Some(&limit)).unwrap(), 1, "it did not end");
}

/// Ask until the answer is yes, for what the system does in its own time.
#[track_caller]
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Why a test that this machine does not allow is left out.
pub fn left_out(reason: &str) {
    println!("left out: {reason}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Run `body` in a forked child and give back what it returned. It may become another user or enter namespaces
/// without a trace in the test itself. Only one thread lives in there: no output, no programs.
pub fn in_a_fork(body: impl FnOnce() -> String) -> Result<String, String> {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the child runs `body` and leaves by `_exit`; glibc keeps its allocator usable after a fork.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: alarm touches no memory. It ends a child that hangs.
            unsafe { libc::alarm(60) };
            let (mark, text) = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                Ok(text) => ('+', text),
                Err(panic) => ('-', message(&*panic)),
            };
            let _ = writer.write_all(format!("{mark}{text}\0").as_bytes());
            // SAFETY: leaving without the test's own clean-up is the purpose.
            unsafe { libc::_exit(0) };
        }
        pid => {
            let mut status = 0;
            // SAFETY: `status` lives for the call.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            // Children of tests beside this one may have inherited the writing end, so it is not read to its end.
            if status == 0 {
                let text = read_to_nul(&mut reader);
                return text.strip_prefix('+').map(str::to_owned).ok_or(text);
            }
            Err(format!("the forked child ended with status {status}"))
        }
    }
}

fn read_to_nul(reader: &mut impl Read) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while reader.read(&mut byte).unwrap() == 1 && byte[0] != 0 {
        text.push(byte[0]);
    }
    String::from_utf8(text).unwrap()
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// [`in_a_fork`] as the first process of a new pid namespace, with a `/proc` of its own if `own_proc`.
/// `None`, and a printed reason, where the machine does not allow it.
pub fn in_a_pid_namespace(own_proc: bool, body: impl FnOnce() -> String) -> Option<String> {
    let answer = in_a_fork(|| {
        // SAFETY: unshare touches no memory.
        if unsafe { libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWNS) } != 0 {
            return format!("no: unshare: {}", std::io::Error::last_os_error());
        }
        let inside = in_a_fork(|| match own_proc.then(|| mount_proc("")) {
            Some(Err(error)) => format!("no: mount: {error}"),
            Some(Ok(())) | None => format!("yes{}", body()),
        });
        inside.unwrap_or_else(|error| panic!("{error}"))
    });
    let answer = answer.unwrap_or_else(|error| panic!("{error}"));
    let inside = answer.strip_prefix("yes").map(str::to_owned);
    if inside.is_none() {
        left_out(&answer);
    }
    inside
}

/// Mount `/proc` anew, in a mount namespace that the caller has to itself.
pub fn mount_proc(options: &str) -> std::io::Result<()> {
    let options = CString::new(options).unwrap();
    let private = libc::MS_REC | libc::MS_PRIVATE;
    let null = std::ptr::null();
    // SAFETY: all strings end in NUL and live for the calls.
    let done = unsafe {
        libc::mount(null, c"/".as_ptr(), null, private, null.cast()) == 0
            && libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), 0, options.as_ptr().cast())
                == 0
    };
    if done {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

/// Become a user that owns nothing; only in a fork.
pub fn become_nobody() {
    // SAFETY: these calls touch no memory.
    let done = unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(NOBODY, NOBODY, NOBODY) == 0
            && libc::setresuid(NOBODY, NOBODY, NOBODY) == 0
    };
    assert!(done, "become nobody: {}", std::io::Error::last_os_error());
}

/// Fork a child that does `before` and then waits for its end.
pub fn forked(before: impl FnOnce()) -> Forked {
    // SAFETY: waiting for a signal touches no memory.
    forked_until(before, || unsafe {
        libc::pause();
    })
}

/// Fork a child whose main thread has left while another one stays.
pub fn forked_without_main_thread() -> Forked {
    let stay = || std::thread::sleep(Duration::from_secs(60));
    let child = forked_until(
        || drop(std::thread::spawn(stay)),
        // SAFETY: it ends the calling thread only, which returns to nobody.
        || unsafe {
            libc::syscall(libc::SYS_exit, 0);
        },
    );
    let stat = format!("/proc/{}/stat", child.pid());
    eventually("the main thread leaves", || std::fs::read_to_string(&stat).unwrap().contains(") Z "));
    child
}

/// Fork a child that does `before`, tells so, and then `wait`s, over and over.
fn forked_until(before: impl FnOnce(), wait: impl Fn()) -> Forked {
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    // SAFETY: the child does `before`, tells so, and waits; glibc keeps its allocator usable after a fork.
    match unsafe { libc::fork() } {
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(before)).is_ok();
            let _ = writer.write_all(if done { b"+" } else { b"-" });
            loop {
                wait();
            }
        }
        pid => {
            let child = Forked(Pid::new(i64::from(pid)).unwrap());
            let mut mark = [0];
            reader.read_exact(&mut mark).unwrap();
            assert_eq!(mark, *b"+", "the forked child failed");
            child
        }
    }
}

/// A forked child; ended and collected when the test lets go of it.
#[derive(Debug)]
pub struct Forked(Pid);

impl Forked {
    pub fn pid(&self) -> Pid {
        self.0
    }

    pub fn end_and_collect(self) {}
}

impl Drop for Forked {
    fn drop(&mut self) {
        // SAFETY: the number is this child's until it is collected, which happens here only.
        unsafe {
            libc::kill(self.0.get(), libc::SIGKILL);
            libc::waitpid(self.0.get(), std::ptr::null_mut(), 0);
        }
    }
}

/// Whether a body in a pid namespace said `expected`; one that says `left out…` was not allowed what it needs.
#[track_caller]
pub fn assert_seen(seen: Option<String>, expected: &str) {
    match seen {
        Some(seen) if seen.starts_with("left out") => println!("{seen}"),
        Some(seen) => assert_eq!(seen, expected),
        // Told already.
        None => {}
    }
}

/// Let the next forked process have this number; only as root, in a pid namespace of one's own.
pub fn next_number_is(pid: Pid) -> std::io::Result<()> {
    std::fs::write("/proc/sys/kernel/ns_last_pid", (pid.get() - 1).to_string())
}

/// Descriptors that this process has open.
pub fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A descriptor that the test owns.
pub fn own(fd: i32) -> OwnedFd {
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the caller has just opened it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A program that holds a listening socket as its standard input, in a session of its own, and its port.
pub fn server(script: &str) -> (Real, u16) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(OwnedFd::from(listener)).stdout(Stdio::piped());
    // SAFETY: setsid is safe to call between fork and exec.
    unsafe { command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into)) };
    let mut real = Real { child: command.spawn().unwrap(), leads: true };
    assert_eq!(real.line(), "ready");
    (real, port)
}

/// Whether somebody listens on a port of the loopback address.
pub fn is_listened_on(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

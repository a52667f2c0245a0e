//! A list of system calls, made again and again.
//!
//! One call a line: its name, its arguments, `=`, and what it answered.
//!
//! ```text
//! have 18 "$DIR/x"                                 a directory that is open beforehand
//! openat fd:18 "owner.json" 0x800c1 0x180 = fd:21  the descriptor that it gives is called 21 from here on
//! write fd:21 in:812 812 = 812                     812 bytes of whatever
//! fstat fd:21 out:144 = 0                          room for 144 bytes
//! ppoll poll:21 1 out:16 0 0 = 0                   whether 21 is readable now
//! linkat fd:18 "owner.json" fd:18 "current" 0x0 = -17
//! ```
//!
//! In a path `$DIR` is the directory to work in and `$PID` this process, which `pid` alone is too. A call that answers
//! otherwise than listed ends the replay: it would no longer be the same path through the kernel.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::Path;

use nix::libc;

/// A list, ready to be made.
pub(crate) struct Replay {
    calls: Vec<Call>,
    /// By the number that the list calls them.
    descriptors: Vec<i64>,
}

struct Call {
    line: String,
    number: libc::c_long,
    arguments: [Argument; 6],
    answer: Answer,
}

enum Argument {
    Number(i64),
    Descriptor(usize),
    Text(CString),
    Buffer(Vec<u8>),
    /// One `struct pollfd` that asks for input.
    Polled(usize, Box<libc::pollfd>),
}

enum Answer {
    Descriptor(usize),
    Number(i64),
}

impl Replay {
    pub(crate) fn new(list: &str, dir: &Path) -> io::Result<Replay> {
        let dir = dir.to_str().ok_or_else(|| io::Error::other("the directory's name is not UTF-8"))?;
        let reader = Reader { dir, pid: i64::from(std::process::id()) };
        let mut replay = Replay { calls: Vec::new(), descriptors: vec![-1; 4096] };
        for line in list.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match reader.line(line).ok_or_else(|| io::Error::other(format!("not understood: {line}")))? {
                Line::Have(name, path) => {
                    // SAFETY: the path ends with its NUL.
                    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
                    if fd < 0 {
                        return Err(io::Error::other(format!("{line}: {}", io::Error::last_os_error())));
                    }
                    *replay.descriptor(name)? = i64::from(fd);
                }
                Line::Call(call) => replay.calls.push(call),
            }
        }
        Ok(replay)
    }

    /// Make every call once.
    pub(crate) fn round(&mut self) -> io::Result<()> {
        for call in &mut self.calls {
            let descriptors = &self.descriptors;
            let [a, b, c, d, e, f] = call.arguments.each_mut().map(|argument| match argument {
                Argument::Number(number) => *number,
                Argument::Descriptor(name) => descriptors[*name],
                Argument::Text(text) => text.as_ptr() as i64,
                Argument::Buffer(buffer) => buffer.as_mut_ptr() as i64,
                Argument::Polled(name, polled) => {
                    polled.fd = descriptors[*name] as i32;
                    std::ptr::from_mut(&mut **polled) as i64
                }
            });
            // SAFETY: every pointer is of a text or buffer that the call has for itself; a buffer has the room that the
            // list says the kernel was given. A list is as trusted as this program.
            let answer = unsafe { libc::syscall(call.number, a, b, c, d, e, f) };
            let answer = if answer < 0 { -i64::from(nix::errno::Errno::last_raw()) } else { answer as i64 };
            match call.answer {
                Answer::Descriptor(name) if answer >= 0 => self.descriptors[name] = answer,
                Answer::Number(listed) if answer == listed => {}
                // What is read may be longer or shorter here than where the list was made.
                Answer::Number(listed) if answer > 0 && listed > 0 => {}
                _ => return Err(io::Error::other(format!("{} (answered {answer} here)", call.line))),
            }
        }
        Ok(())
    }

    fn descriptor(&mut self, name: usize) -> io::Result<&mut i64> {
        self.descriptors.get_mut(name).ok_or_else(|| io::Error::other(format!("fd:{name} is too high")))
    }
}

enum Line {
    Have(usize, CString),
    Call(Call),
}

struct Reader<'a> {
    dir: &'a str,
    pid: i64,
}

impl Reader<'_> {
    fn line(&self, line: &str) -> Option<Line> {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        if name == "have" {
            return Some(Line::Have(words.next()?.parse().ok()?, self.text(words.next()?)?));
        }
        let mut arguments: Vec<Argument> = Vec::new();
        for word in words.by_ref().take_while(|word| *word != "=") {
            arguments.push(self.argument(word)?);
        }
        arguments.resize_with(6, || Argument::Number(0));
        let answer = match words.next()? {
            fd if fd.starts_with("fd:") => Answer::Descriptor(fd[3..].parse().ok()?),
            "pid" => Answer::Number(self.pid),
            number => Answer::Number(number.parse().ok()?),
        };
        let (number, arguments) = (number(name)?, arguments.try_into().ok()?);
        Some(Line::Call(Call { line: line.to_owned(), number, arguments, answer }))
    }

    fn argument(&self, word: &str) -> Option<Argument> {
        if word.starts_with('"') {
            return self.text(word).map(Argument::Text);
        }
        Some(match word.split_once(':') {
            Some(("fd", name)) => Argument::Descriptor(name.parse().ok().filter(|name| *name < 4096)?),
            Some(("in", size)) => Argument::Buffer(vec![b'x'; size.parse().ok()?]),
            Some(("out", size)) => Argument::Buffer(vec![0; size.parse().ok()?]),
            Some(("poll", name)) => {
                let polled = libc::pollfd { fd: -1, events: libc::POLLIN, revents: 0 };
                Argument::Polled(name.parse().ok().filter(|name| *name < 4096)?, Box::new(polled))
            }
            Some(_) => return None,
            None if word == "pid" => Argument::Number(self.pid),
            None => Argument::Number(whole_number(word)?),
        })
    }

    /// A quoted text without blanks or escapes.
    fn text(&self, word: &str) -> Option<CString> {
        let text = word.strip_prefix('"')?.strip_suffix('"')?;
        let text = text.replace("$DIR", self.dir).replace("$PID", &self.pid.to_string());
        CString::new(text).ok()
    }
}

fn whole_number(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|number| number as i64),
        None => word.parse().ok(),
    }
}

/// The calls that the addon makes.
fn number(name: &str) -> Option<libc::c_long> {
    let numbers = BTreeMap::from([
        ("close", libc::SYS_close),
        ("faccessat", libc::SYS_faccessat),
        ("fchmod", libc::SYS_fchmod),
        ("fcntl", libc::SYS_fcntl),
        ("fdatasync", libc::SYS_fdatasync),
        ("flock", libc::SYS_flock),
        ("fstat", libc::SYS_fstat),
        ("fstatfs", libc::SYS_fstatfs),
        ("fsync", libc::SYS_fsync),
        ("getdents64", libc::SYS_getdents64),
        ("geteuid", libc::SYS_geteuid),
        ("getpid", libc::SYS_getpid),
        ("getrandom", libc::SYS_getrandom),
        ("kill", libc::SYS_kill),
        ("linkat", libc::SYS_linkat),
        ("lseek", libc::SYS_lseek),
        ("mkdirat", libc::SYS_mkdirat),
        ("newfstatat", libc::SYS_newfstatat),
        ("openat", libc::SYS_openat),
        ("pidfd_open", libc::SYS_pidfd_open),
        ("poll", libc::SYS_poll),
        ("ppoll", libc::SYS_ppoll),
        ("pread64", libc::SYS_pread64),
        ("pwrite64", libc::SYS_pwrite64),
        ("read", libc::SYS_read),
        ("readlinkat", libc::SYS_readlinkat),
        ("renameat", libc::SYS_renameat),
        ("renameat2", libc::SYS_renameat2),
        ("statx", libc::SYS_statx),
        ("uname", libc::SYS_uname),
        ("unlinkat", libc::SYS_unlinkat),
        ("write", libc::SYS_write),
    ]);
    numbers.get(name).copied()
}

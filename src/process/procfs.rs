//! `/proc`: what Linux tells about a process. The parsers are pure; the readers are one open, read and close each.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::rc::Rc;

use rustix::fs::{Mode, OFlags, CWD};

use super::{Info, Pid};
use crate::javascript::text::is_white_space;

/// The parts of `/proc/<pid>/stat` that are used here (proc_pid_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// Field 3, such as `b'Z'`.
    pub state: u8,
    /// Field 4.
    pub parent: i64,
    /// Field 20.
    pub threads: u64,
    /// Field 22: clock ticks after boot, as the reader's time namespace counts them.
    pub start_ticks: u64,
}

impl Stat {
    /// Whether nobody runs in it any more. State `Z` alone is not enough: a main thread may exit while others serve on.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }
}

/// The parts of `/proc/<pid>/status` that are used here (proc_pid_status(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// `Tgid`: the process that the number belongs to; another number than its own for a mere thread.
    pub process: i64,
    /// The first of `Uid`: the real user.
    pub uid: u32,
}

/// Parse `/proc/<pid>/stat`.
///
/// The fields are counted after the last `") "`, because the second is the process's name in parentheses, and a
/// name may hold blanks, parentheses and line feeds.
pub fn parse_stat(text: &[u8]) -> Option<Stat> {
    let mut fields = after_name(text)?.split(|byte| *byte == b' ');
    let &[state] = fields.next()? else { return None };
    Some(Stat {
        state,
        parent: number(fields.next()?)?,
        threads: number(fields.nth(15)?)?,
        start_ticks: number(fields.nth(1)?)?,
    })
}

/// What follows the last `") "`.
fn after_name(text: &[u8]) -> Option<&[u8]> {
    let mut end = text.len();
    loop {
        let parenthesis = text[..end].iter().rposition(|byte| *byte == b')')?;
        match text[parenthesis + 1..].split_first() {
            Some((b' ', rest)) => return Some(rest),
            _ => end = parenthesis,
        }
    }
}

/// Parse the beginning of `/proc/<pid>/status`. Its first line is the name, in which line feeds are escaped.
pub fn parse_status(text: &[u8]) -> Option<Status> {
    let value = |key: &[u8]| {
        let line = text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(key))?;
        line.split(|byte| *byte == b'\t').next()
    };
    Some(Status { process: number(value(b"Tgid:\t")?)?, uid: number(value(b"Uid:\t")?)? })
}

/// The argument list of `/proc/<pid>/cmdline`, joined with blanks and trimmed.
pub fn parse_cmdline(arguments: &[u8]) -> String {
    let joined: Vec<u8> = arguments.iter().map(|byte| if *byte == 0 { b' ' } else { *byte }).collect();
    String::from_utf8_lossy(&joined).trim_matches(is_white_space).to_owned()
}

/// The first eight hexadecimal digits of a boot id.
pub fn parse_boot_id(text: &[u8]) -> Option<String> {
    let digits: String =
        std::str::from_utf8(text).ok()?.trim().chars().filter(|character| *character != '-').collect();
    let is_lower_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (digits.len() >= 8 && digits.bytes().all(is_lower_hex)).then(|| digits[..8].to_owned())
}

/// When the machine started, in seconds since the epoch: `btime` of `/proc/stat`, rounded down.
pub fn parse_boot_time(text: &[u8]) -> Option<i64> {
    text.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"btime ")).and_then(number)
}

/// The start token of ticks since a boot.
pub fn token(boot: Option<&str>, start_ticks: u64) -> String {
    let mut token = String::with_capacity(32);
    token.push('l');
    if let Some(boot) = boot {
        token.push_str(boot);
        token.push('.');
    }
    token.push_str(Decimal::of(start_ticks).as_str());
    token
}

/// This machine's `/proc`, and what of it is remembered.
#[derive(Debug, Default)]
pub struct Procfs {
    ours: Cell<bool>,
    /// `None`: not read yet.
    boot_id: RefCell<Option<Option<Rc<str>>>>,
}

impl Procfs {
    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        rustix::fs::stat(c"/proc/self/stat").is_ok()
    }

    /// Whether its numbers are those of this process's own pid namespace.
    ///
    /// They are not in a new namespace that kept the outer `/proc`: there a number names one process to `kill(2)` and
    /// another one to whoever reads the directory, so nothing may be read by number.
    pub fn is_ours(&self) -> bool {
        if !self.ours.get() {
            let me = rustix::process::getpid().as_raw_nonzero().get().to_string();
            let link = rustix::fs::readlinkat(CWD, c"/proc/self", Vec::new());
            self.ours.set(link.is_ok_and(|link| link.to_bytes() == me.as_bytes()));
        }
        self.ours.get()
    }

    /// `/proc/<pid>/stat`; `None` when it cannot be read, for whatever reason.
    pub fn stat(&self, pid: Pid) -> Option<Stat> {
        // 52 numbers of at most 20 digits and a name of at most 64 bytes fit.
        let mut text = [MaybeUninit::uninit(); 1280];
        parse_stat(self.read(pid, "stat", &mut text)?)
    }

    /// The beginning of `/proc/<pid>/status`; `None` when it cannot be read, for whatever reason.
    pub fn status(&self, pid: Pid) -> Option<Status> {
        // What is looked for stands above the list of groups, which can be long.
        let mut text = [MaybeUninit::uninit(); 1024];
        parse_status(self.read(pid, "status", &mut text)?)
    }

    /// Whether the number is that of a mere thread, as far as can be seen.
    pub fn is_a_threads(&self, number: Pid) -> bool {
        self.status(number).is_some_and(|status| status.process != i64::from(number.get()))
    }

    /// The start token of the process that has the number now; `None`: cannot say.
    pub fn start_token(&self, pid: Pid) -> Option<String> {
        let start_ticks = self.stat(pid)?.start_ticks;
        Some(token(self.boot_id().as_deref(), start_ticks))
    }

    /// What can be told about a process; `None` when there is none.
    pub fn info(&self, pid: Pid) -> Option<Info> {
        let parent = self.stat(pid)?.parent;
        let arguments = read_all(Entry::of(pid, "cmdline").path()).ok()?;
        let cwd = rustix::fs::readlinkat(CWD, Entry::of(pid, "cwd").path(), Vec::new()).ok();
        Some(Info {
            pid,
            parent: Some(parent),
            command: parse_cmdline(&arguments),
            cwd: cwd.map(|path| path.to_string_lossy().into_owned()),
        })
    }

    /// The numbers of all processes that can be seen.
    ///
    /// # Errors
    /// `/proc` cannot be read, or its numbers are another namespace's (`ENOENT`).
    pub fn all(&self) -> io::Result<Vec<Pid>> {
        if !self.is_ours() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, c"/proc", flags, Mode::empty())?;
        let mut pids = Vec::new();
        for entry in rustix::fs::Dir::new(dir)? {
            pids.extend(number(entry?.file_name().to_bytes()).and_then(Pid::new));
        }
        Ok(pids)
    }

    /// The boot part of start tokens; `None` where the kernel has none.
    pub fn boot_id(&self) -> Option<Rc<str>> {
        let read_id = || {
            let mut text = [MaybeUninit::uninit(); 64];
            parse_boot_id(read(c"/proc/sys/kernel/random/boot_id", &mut text).ok()?).map(Rc::from)
        };
        self.boot_id.borrow_mut().get_or_insert_with(read_id).clone()
    }

    /// Forget what is remembered.
    pub fn forget(&self) {
        self.ours.set(false);
        self.boot_id.replace(None);
    }

    /// When the machine started, in seconds since the epoch.
    pub fn boot_time(&self) -> Option<i64> {
        parse_boot_time(&read_all(c"/proc/stat").ok()?)
    }

    /// The inode of one of this process's own namespaces, such as `pid`.
    pub fn namespace(&self, kind: &str) -> Option<String> {
        let found = rustix::fs::stat(format!("/proc/self/ns/{kind}")).ok()?;
        Some(found.st_ino.to_string())
    }

    fn read<'b>(&self, pid: Pid, name: &str, buffer: &'b mut [MaybeUninit<u8>]) -> Option<&'b [u8]> {
        if !self.is_ours() {
            return None;
        }
        read(Entry::of(pid, name).path(), buffer).ok()
    }
}

/// A path below `/proc/<pid>`, made without allocating.
struct Entry([u8; 40]);

impl Entry {
    fn of(pid: Pid, name: &str) -> Entry {
        // It fits, with a NUL behind it: the longest number has 10 digits and the longest name 7 letters.
        let (mut path, mut end) = ([0; 40], 0);
        let number = Decimal::of(pid.get().unsigned_abs().into());
        for part in ["/proc/", number.as_str(), "/", name] {
            path[end..end + part.len()].copy_from_slice(part.as_bytes());
            end += part.len();
        }
        Entry(path)
    }

    fn path(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or(c"")
    }
}

/// A number in decimal. Start tokens are asked for so often that the formatting machinery shows.
struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    fn of(mut number: u64) -> Decimal {
        let (mut digits, mut start) = ([0; 20], 20);
        loop {
            start -= 1;
            digits[start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Decimal { digits, start };
            }
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.digits[self.start..]).unwrap_or_default()
    }
}

/// One read, which for these files is all of it or as much as fits.
fn read<'b>(path: &CStr, buffer: &'b mut [MaybeUninit<u8>]) -> io::Result<&'b [u8]> {
    let file = open(path)?;
    // These files are never waited for, so no signal interrupts the read.
    let (text, _unfilled) = rustix::io::read(&file, buffer)?;
    Ok(text)
}

fn read_all(path: &CStr) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::with_capacity(4096);
    while rustix::io::retry_on_intr(|| rustix::io::read(&file, rustix::buffer::spare_capacity(&mut bytes)))?
        > 0
    {
        // The read that finds the end needs no more room than there is.
        bytes.reserve(512);
    }
    Ok(bytes)
}

fn open(path: &CStr) -> io::Result<rustix::fd::OwnedFd> {
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(Into::into)
}

fn number<T: std::str::FromStr>(digits: &[u8]) -> Option<T> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat_of(name: &str) -> Option<Stat> {
        let numbers =
            "S 7 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 3 0 123456789 9 9 18446744073709551615 1 1";
        parse_stat(format!("42 ({name}) {numbers}\n").as_bytes())
    }

    #[test]
    fn p5_names_with_parentheses_blanks_and_line_feeds_are_parsed_right() {
        let expected = Stat { state: b'S', parent: 7, threads: 3, start_ticks: 123_456_789 };
        for name in ["node", "(sd-pam)", "a) b (c", "a) S 1 1 1 (", ") ) ) ", "a\n(b) ", "", "\u{FFFD}"] {
            assert_eq!(stat_of(name), Some(expected), "{name:?}");
        }
    }

    #[test]
    fn a_name_that_is_not_utf8_is_parsed_right() {
        let mut text = b"42 (\xff\xfe) ".to_vec();
        text.extend_from_slice(b"R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 0 77 0");
        assert_eq!(parse_stat(&text).map(|stat| stat.start_ticks), Some(77));
    }

    #[test]
    fn numbers_are_written_as_rust_writes_them() {
        for number in [0, 7, 10, 99, 4_194_304, u64::MAX] {
            assert_eq!(Decimal::of(number).as_str(), number.to_string());
        }
        assert_eq!(
            Entry::of(Pid::new(i64::from(i32::MAX)).unwrap(), "cmdline").path(),
            c"/proc/2147483647/cmdline"
        );
    }

    #[test]
    fn a_torn_or_strange_stat_says_nothing() {
        for text in ["", "42 (node", "42 (node) ", "42 (node) S 1 2 3", "42 (node) SS 1", "x) S a b c"] {
            assert_eq!(parse_stat(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(stat_of("node").map(|stat| stat.start_ticks + 1), Some(123_456_790));
    }

    #[test]
    fn a_zombie_has_ended_only_when_no_other_thread_is_left() {
        let stat = |state, threads| Stat { state, parent: 1, threads, start_ticks: 1 };
        assert!(stat(b'Z', 1).has_ended());
        assert!(stat(b'X', 0).has_ended());
        assert!(!stat(b'Z', 2).has_ended());
        assert!(!stat(b'T', 1).has_ended());
    }

    #[test]
    fn a_status_names_the_process_of_a_thread_and_its_real_user() {
        let text = b"Name:\ta\\nTgid:\t9\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t41\nNgid:\t0\nPid:\t42\nUid:\t1000\t0\t0\t0\n";
        assert_eq!(parse_status(text), Some(Status { process: 41, uid: 1000 }));
        assert_eq!(parse_status(b"Name:\tnode\n"), None);
    }

    #[test]
    fn the_argument_list_is_joined_with_blanks_and_trimmed() {
        assert_eq!(parse_cmdline(b"node\0server.js\0--port\0\x38\0"), "node server.js --port 8");
        assert_eq!(parse_cmdline(b"\0\0a\0 \0"), "a");
        assert_eq!(parse_cmdline(b"a\xffb\0"), "a\u{FFFD}b");
        assert_eq!(parse_cmdline(b""), "");
    }

    #[test]
    fn a_boot_id_is_cut_to_eight_lower_case_digits() {
        assert_eq!(parse_boot_id(b"1b671a64-40d5-491e-99b0-da01ff1f3341\n").as_deref(), Some("1b671a64"));
        assert_eq!(parse_boot_id(b"1b671a6\n"), None);
        assert_eq!(parse_boot_id(b"1B671A64-40d5\n"), None);
        assert_eq!(parse_boot_id(b"not a boot id"), None);
    }

    #[test]
    fn a_token_without_a_boot_id_is_the_ticks_alone() {
        assert_eq!(token(Some("1b671a64"), 5), "l1b671a64.5");
        assert_eq!(token(None, 5), "l5");
    }

    #[test]
    fn the_boot_time_is_found_between_the_other_lines() {
        assert_eq!(
            parse_boot_time(b"cpu  1 2\nintr 5\nctxt 8\nbtime 1764589000\nprocesses 9\n"),
            Some(1_764_589_000)
        );
        assert_eq!(parse_boot_time(b"cpu  1 2\n"), None);
    }
}

//! `ps`, for machines without `/proc`: when a process started, and what it is.
//!
//! `ps` formats a start time through `TZ` and `LC_ALL`; both are pinned, so the text is the process's and not its
//! reader's.

use std::io;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use super::{Info, Pid};
use crate::javascript::text::is_white_space;

/// What a run of `ps` gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// `None` when it was ended by a signal or by the time limit.
    pub status: Option<i32>,
    pub stdout: String,
}

/// The token in the output of `ps -o lstart=`: its first line, white space folded to single blanks.
pub fn parse_start(output: &Output) -> Option<String> {
    if output.status != Some(0) {
        return None;
    }
    let words: Vec<&str> =
        output.stdout.split('\n').next()?.split(is_white_space).filter(|word| !word.is_empty()).collect();
    (!words.is_empty()).then(|| format!("p{}", words.join(" ")))
}

/// The parent and the command in the output of `ps -o ppid=,command=`.
pub fn parse_info(stdout: &str) -> Option<(Option<i64>, String)> {
    let text = stdout.trim();
    let (parent, command) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match parent.parse() {
        Ok(parent) => Some((Some(parent), command.trim_start().to_owned())),
        Err(_) => (!text.is_empty()).then(|| (None, text.to_owned())),
    }
}

/// The working directory in the output of `lsof -d cwd -Fn`.
pub fn parse_cwd(stdout: &str) -> Option<String> {
    stdout.lines().find_map(|line| line.strip_prefix('n')).map(str::to_owned)
}

/// One process in the output of `ps -A -o pid=,pgid=,stat=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    pub pid: Pid,
    pub group: i64,
    pub is_zombie: bool,
}

/// The rows that can be read; others are left out.
pub fn parse_everyone(stdout: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let pid = words.next()?.parse().ok().and_then(Pid::new)?;
        let group = words.next()?.parse().ok()?;
        Some(Row { pid, group, is_zombie: words.next()?.starts_with('Z') })
    };
    stdout.lines().filter_map(row).collect()
}

/// The start token of a process by `ps`.
pub fn start_token(pid: Pid) -> Option<String> {
    parse_start(&run("ps", &["-o", "lstart=", "-p", &pid.to_string()]).ok()?)
}

/// What can be told about a process; `None` when there is none.
pub fn info(pid: Pid) -> Option<Info> {
    let number = pid.to_string();
    let (parent, command) = parse_info(&run("ps", &["-o", "ppid=,command=", "-p", &number]).ok()?.stdout)?;
    let cwd = run("lsof", &["-a", "-p", &number, "-d", "cwd", "-Fn"]).ok();
    Some(Info { pid, parent, command, cwd: cwd.and_then(|output| parse_cwd(&output.stdout)) })
}

/// Everyone's number, group and state.
pub fn everyone() -> io::Result<Vec<Row>> {
    Ok(parse_everyone(&run("ps", &["-A", "-o", "pid=,pgid=,stat="])?.stdout))
}

/// The first letter of a process's state, such as `Z`.
pub fn state(pid: Pid) -> Option<char> {
    run("ps", &["-o", "stat=", "-p", &pid.to_string()]).ok()?.stdout.trim_start().chars().next()
}

/// The real user of a process.
pub fn uid(pid: Pid) -> Option<u32> {
    run("ps", &["-o", "ruid=", "-p", &pid.to_string()]).ok()?.stdout.trim().parse().ok()
}

/// The time limit of a run is this many pauses of [`PAUSE`]: 2 s.
const PAUSES: usize = 2000;
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
/// No line that we ask for is longer; it bounds the run of a program that never stops writing.
const MAX_OUTPUT: usize = 1 << 20;

#[expect(clippy::disallowed_methods, reason = "a probe: where there is no procfs, ps has to tell")]
fn run(program: &str, arguments: &[&str]) -> io::Result<Output> {
    let mut child = Command::new(program)
        .args(arguments)
        .envs([("TZ", "UTC"), ("LC_ALL", "C")])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut pauses = PAUSES;
    let stdout = read_to_end(&mut child, &mut pauses);
    let status = wait(&mut child, &mut pauses);
    Ok(Output { status: status?, stdout: String::from_utf8_lossy(&stdout?).into_owned() })
}

fn read_to_end(child: &mut Child, pauses: &mut usize) -> io::Result<Vec<u8>> {
    let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut bytes = Vec::with_capacity(4096);
    while *pauses > 0 && bytes.len() < MAX_OUTPUT {
        let mut ready = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
        match poll(&mut ready, Some(&PAUSE)) {
            Ok(0) => *pauses -= 1,
            Ok(_) => {
                bytes.reserve(4096);
                if rustix::io::retry_on_intr(|| {
                    rustix::io::read(&pipe, rustix::buffer::spare_capacity(&mut bytes))
                })? == 0
                {
                    break;
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(bytes)
}

/// The exit status; a program that outlives the time limit is ended and has none.
fn wait(child: &mut Child, pauses: &mut usize) -> io::Result<Option<i32>> {
    while *pauses > 0 {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        // Nothing to wait on but the time: the pipe closes a moment before the program has ended.
        let _ = poll(&mut [], Some(&PAUSE));
        *pauses -= 1;
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(status: i32, stdout: &str) -> Output {
        Output { status: Some(status), stdout: stdout.to_owned() }
    }

    #[test]
    fn the_token_is_the_first_line_with_white_space_folded() {
        let text = "Sat Jul 26  2:54:33 2026\nsecond line\n";
        assert_eq!(parse_start(&output(0, text)).as_deref(), Some("pSat Jul 26 2:54:33 2026"));
        assert_eq!(parse_start(&output(0, "  Sat \t Jul\r\n")).as_deref(), Some("pSat Jul"));
    }

    #[test]
    fn a_run_that_failed_or_printed_nothing_has_no_token() {
        assert_eq!(parse_start(&output(1, "Sat Jul 26 2:54:33 2026\n")), None);
        assert_eq!(parse_start(&output(0, "  \n")), None);
        assert_eq!(parse_start(&output(0, "\nSat\n")), None);
        assert_eq!(parse_start(&Output { status: None, stdout: "Sat\n".to_owned() }), None);
    }

    #[test]
    fn parent_and_command_are_split_at_the_first_blank() {
        assert_eq!(
            parse_info("  501 node server.js  --x\n"),
            Some((Some(501), "node server.js  --x".to_owned()))
        );
        assert_eq!(parse_info("1\n"), Some((Some(1), String::new())));
        assert_eq!(parse_info("odd\n"), Some((None, "odd".to_owned())));
        assert_eq!(parse_info(" \n"), None);
    }

    #[test]
    fn the_working_directory_is_the_first_name() {
        assert_eq!(parse_cwd("p42\nfcwd\nn/srv/a b\nn/other\n").as_deref(), Some("/srv/a b"));
        assert_eq!(parse_cwd("p42\nfcwd\n"), None);
    }

    #[test]
    fn rows_that_cannot_be_read_are_left_out() {
        let row = |number, group, is_zombie| Row { pid: Pid::new(number).unwrap(), group, is_zombie };
        let rows = parse_everyone("  1   1 Ss\n 42  40 Z+\n\nodd\n 43\n");
        assert_eq!(rows, [row(1, 1, false), row(42, 40, true)]);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(run("no-such-program-anywhere", &[]).is_err());
    }

    #[test]
    fn a_program_that_never_ends_is_ended_after_the_time_limit() {
        let slow = run("sh", &["-c", "echo begun; exec sleep 60"]).unwrap();
        assert_eq!(slow, Output { status: None, stdout: "begun\n".to_owned() });
    }

    #[test]
    fn a_program_that_never_stops_writing_is_ended() {
        let endless = run("yes", &[]).unwrap();
        assert_eq!(endless.status, None);
        assert!(endless.stdout.len() >= MAX_OUTPUT);
    }

    #[test]
    fn the_time_zone_and_the_language_are_pinned() {
        let pinned = run("sh", &["-c", "echo $TZ $LC_ALL"]).unwrap();
        assert_eq!(pinned, output(0, "UTC C\n"));
    }
}

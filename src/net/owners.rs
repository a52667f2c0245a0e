//! Who holds a socket: the descriptors of every process, by `/proc/<pid>/fd`.
//!
//! A socket says nothing of its holders, so a process must be looked through to know that it is none. What may end the
//! walk early is in the question: it goes from the lowest pid up, so the first holder met is the lowest.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;

use rustix::fs::{open, openat, readlinkat_raw, Mode, OFlags, RawDir};
use rustix::io::Errno;

use crate::files::PathError;
use crate::process::Pid;

/// Every holder of each of these sockets, ascending, in the order of `inodes`. Every process is looked through.
pub(super) fn all(inodes: &[u64]) -> Result<Vec<Vec<Pid>>, PathError> {
    let wanted = Wanted::new(inodes);
    let mut holders = vec![Vec::new(); inodes.len()];
    if inodes.is_empty() {
        return Ok(holders);
    }
    walk(|pid, inode| {
        for index in wanted.places(inode) {
            let known: &mut Vec<Pid> = &mut holders[index];
            // A process may have several descriptors for one socket.
            if known.last() != Some(&pid) {
                known.push(pid);
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(holders)
}

/// The lowest holder of each of these sockets, in the order of `inodes`. Ends when each has been met.
pub(super) fn lowest(inodes: &[u64]) -> Result<Vec<Option<Pid>>, PathError> {
    let wanted = Wanted::new(inodes);
    let mut holders = vec![None; inodes.len()];
    // Inode 0 stands for no descriptor.
    let mut missing = inodes.iter().filter(|inode| **inode != 0).count();
    if missing == 0 {
        return Ok(holders);
    }
    walk(|pid, inode| {
        for index in wanted.places(inode) {
            if holders[index].is_none() {
                holders[index] = Some(pid);
                missing -= 1;
            }
        }
        if missing == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    Ok(holders)
}

/// The inodes looked for, ascending, each with its places in the question.
struct Wanted(Vec<(u64, usize)>);

impl Wanted {
    fn new(inodes: &[u64]) -> Wanted {
        let mut places: Vec<_> = inodes.iter().copied().zip(0..).collect();
        places.sort_unstable();
        Wanted(places)
    }

    fn places(&self, inode: u64) -> impl Iterator<Item = usize> + '_ {
        let first = self.0.partition_point(|(wanted, _)| *wanted < inode);
        self.0[first..].iter().take_while(move |(wanted, _)| *wanted == inode).map(|(_, place)| *place)
    }
}

/// Show `found` each socket of each process that may be read, from the lowest pid up, until it has enough.
///
/// Works through open directories, with nothing allocated per process or descriptor.
fn walk(mut found: impl FnMut(Pid, u64) -> ControlFlow<()>) -> Result<(), PathError> {
    let mut buffer = vec![MaybeUninit::uninit(); 32 * 1024];
    let directory = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = match open("/proc", directory, Mode::empty()) {
        Ok(proc) => proc,
        // Without a proc file system no owner can be seen.
        Err(Errno::NOENT) => return Ok(()),
        Err(errno) => return Err(PathError::new("open", "/proc", errno.into())),
    };
    for pid in pids(&proc, &mut buffer)? {
        let mut path = [0; 16];
        let descriptors = openat(&proc, descriptors_of(pid, &mut path), directory, Mode::empty());
        let looked =
            descriptors.map(|descriptors| sockets(&descriptors, &mut buffer, |inode| found(pid, inode)));
        match looked.unwrap_or_else(Err) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => return Ok(()),
            // It has ended meanwhile.
            Err(Errno::NOENT | Errno::SRCH) => {}
            // Another user's, or one that hides itself: its sockets stay without an owner that can be seen.
            Err(Errno::ACCESS | Errno::PERM) => {}
            Err(errno) => return Err(PathError::new("open", format!("/proc/{pid}/fd"), errno.into())),
        }
    }
    Ok(())
}

/// The processes that can be seen, ascending.
fn pids(proc: &OwnedFd, buffer: &mut [MaybeUninit<u8>]) -> Result<Vec<Pid>, PathError> {
    let mut pids = Vec::with_capacity(1024);
    let mut entries = RawDir::new(proc, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(|errno| PathError::new("scandir", "/proc", errno.into()))?;
        pids.extend(number(entry.file_name().to_bytes()).and_then(|pid| Pid::new(pid.try_into().ok()?)));
    }
    pids.sort_unstable();
    Ok(pids)
}

/// The inodes of a process's sockets, one for each descriptor.
fn sockets(
    descriptors: &OwnedFd,
    buffer: &mut [MaybeUninit<u8>],
    mut found: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Errno> {
    let mut entries = RawDir::new(descriptors, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        // `.` and `..`, which a kernel thread has alone.
        if entry.file_name().to_bytes().starts_with(b".") {
            continue;
        }
        let mut target = [MaybeUninit::uninit(); 32];
        // A longer target is cut, and no socket's.
        let target = match readlinkat_raw(descriptors, entry.file_name(), &mut target) {
            Ok((target, _)) => target,
            // Closed meanwhile.
            Err(Errno::NOENT) => continue,
            // A path of more than a page, which the kernel does not spell out: a file's, and no socket's.
            Err(Errno::NAMETOOLONG) => continue,
            Err(errno) => return Err(errno),
        };
        let inode = target.strip_prefix(b"socket:[").and_then(|rest| number(rest.strip_suffix(b"]")?));
        if let Some(ControlFlow::Break(())) = inode.map(&mut found) {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// `<pid>/fd`, written into `path`.
fn descriptors_of(pid: Pid, path: &mut [u8; 16]) -> &CStr {
    use std::io::Write;
    write!(&mut path[..], "{pid}/fd\0").expect("ten digits and four bytes fit into sixteen");
    CStr::from_bytes_until_nul(path).expect("the terminator has just been written")
}

/// A decimal number, digits alone.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.is_ascii_digit().then(|| digit - b'0')?;
        number.checked_mul(10)?.checked_add(digit.into())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_digits_alone() {
        assert_eq!(number(b"4294967295"), Some(4_294_967_295));
        for text in [&b""[..], b"self", b"-1", b"+1", b"1 ", b"99999999999999999999"] {
            assert_eq!(number(text), None);
        }
    }

    #[test]
    fn an_inode_has_every_place_that_asks_for_it() {
        let wanted = Wanted::new(&[9, 7, 9]);
        assert_eq!(wanted.places(9).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(wanted.places(7).collect::<Vec<_>>(), [1]);
        assert_eq!(wanted.places(8).count(), 0);
    }

    #[test]
    fn the_longest_pid_fits() {
        let mut path = [0; 16];
        let pid = Pid::new(i64::from(i32::MAX)).unwrap();
        assert_eq!(descriptors_of(pid, &mut path), c"2147483647/fd");
    }
}

//! Linux: the kernel's own lists, joined with the processes that hold the sockets.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use nix::errno::Errno;

use super::{diag, owners, procfs};
use super::{once_per_pid_and_port, Error, Listener, ListeningSocket, ScanSupport, Socket, Sockets};
use crate::files::PathError;

/// The sockets of the calling thread's network namespace.
#[derive(Debug, Default)]
pub struct Kernel {
    diagnostics: Cell<Diagnostics>,
}

/// Whether the socket diagnostics are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Diagnostics {
    /// First; the text files stand in for a failure.
    #[default]
    Tried,
    /// No more: this kernel, or the sandbox, has none. Remembering it spares a module look-up by each question.
    Refused,
    /// Alone.
    Required,
}

impl Kernel {
    /// By the text files alone, as on a kernel without socket diagnostics.
    pub fn by_text_files() -> Kernel {
        Kernel { diagnostics: Cell::new(Diagnostics::Refused) }
    }

    /// By socket diagnostics alone: their failure is an error.
    pub fn by_diagnostics() -> Kernel {
        Kernel { diagnostics: Cell::new(Diagnostics::Required) }
    }

    /// Every listening socket, sorted by port, tcp before tcp6.
    fn listening(&self) -> Result<Vec<Socket>, Error> {
        let mut sockets = self.ask(diag::listening, procfs::listening)?;
        sockets.sort_unstable();
        // A dump may show a socket twice when others come and go meanwhile.
        sockets.dedup();
        Ok(sockets)
    }

    fn ask<T>(
        &self,
        diagnostics: impl FnOnce() -> io::Result<T>,
        text_files: impl FnOnce() -> Result<T, PathError>,
    ) -> Result<T, Error> {
        if self.diagnostics.get() == Diagnostics::Refused {
            return Ok(text_files()?);
        }
        match diagnostics() {
            Ok(answer) => Ok(answer),
            Err(error) if self.diagnostics.get() == Diagnostics::Required => Err(Error::Diagnostics(error)),
            Err(error) => {
                if is_for_good(&error) {
                    self.diagnostics.set(Diagnostics::Refused);
                }
                Ok(text_files()?)
            }
        }
    }
}

/// Without those that nobody was seen to hold and that are closed by now: their holder ended in between.
fn without_closed(
    mut listeners: Vec<Listener>,
    now: impl FnOnce() -> Result<Vec<Socket>, Error>,
) -> Result<Vec<Listener>, Error> {
    if listeners.iter().any(|listener| listener.pids.is_empty()) {
        let open: BTreeSet<u64> = now()?.iter().map(|socket| socket.inode).collect();
        listeners.retain(|listener| !listener.pids.is_empty() || open.contains(&listener.inode));
    }
    Ok(listeners)
}

/// Whether a kernel or sandbox that says this will say it again.
fn is_for_good(error: &io::Error) -> bool {
    use Errno::{EACCES, EAFNOSUPPORT, EINVAL, ENOENT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT};
    let for_good = [EACCES, EAFNOSUPPORT, EINVAL, ENOENT, ENOSYS, EOPNOTSUPP, EPERM, EPROTONOSUPPORT];
    error.raw_os_error().is_some_and(|number| for_good.contains(&Errno::from_raw(number)))
}

fn inodes(sockets: &[Socket]) -> Vec<u64> {
    sockets.iter().map(|socket| socket.inode).collect()
}

impl Sockets for Kernel {
    fn support(&self) -> ScanSupport {
        if procfs::is_readable() || diag::is_answered() {
            ScanSupport::Procfs
        } else {
            ScanSupport::Unsupported
        }
    }

    fn listeners(&self) -> Result<Vec<Listener>, Error> {
        let sockets = self.listening()?;
        let owners = owners::all(&inodes(&sockets))?;
        let listener = |(socket, pids): (Socket, _)| Listener {
            port: socket.port,
            address: socket.address.to_string(),
            family: socket.address.family(),
            inode: socket.inode,
            uid: socket.uid,
            pids,
        };
        without_closed(sockets.into_iter().zip(owners).map(listener).collect(), || self.listening())
    }

    fn listening_sockets(&self) -> Result<Vec<ListeningSocket>, Error> {
        let sockets = self.listening()?;
        let owners = owners::lowest(&inodes(&sockets))?;
        let owned = sockets.iter().zip(owners).filter_map(|(socket, pid)| {
            Some(ListeningSocket { pid: pid?, port: socket.port, address: socket.address.to_string() })
        });
        Ok(once_per_pid_and_port(owned))
    }

    fn listening_ports(&self) -> Result<Vec<u16>, Error> {
        let mut ports: Vec<u16> = self.listening()?.iter().map(|socket| socket.port).collect();
        ports.dedup();
        Ok(ports)
    }

    fn connections(&self, ports: &[u16]) -> Result<BTreeMap<u16, usize>, Error> {
        let mut ports = ports.to_vec();
        ports.sort_unstable();
        ports.dedup();
        self.ask(|| diag::connections(&ports), || procfs::connections(&ports))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::{Address, Family};
    use crate::process::Pid;

    fn listener(inode: u64, pids: &[i64]) -> Listener {
        let pids = pids.iter().filter_map(|pid| Pid::new(*pid)).collect();
        Listener { port: 80, address: "0.0.0.0".into(), family: Family::Tcp, inode, uid: 0, pids }
    }

    fn open(inode: u64) -> Socket {
        Socket { port: 80, address: Address::from_hex("00000000").unwrap(), inode, uid: 0 }
    }

    #[test]
    fn an_ownerless_socket_that_is_closed_by_now_is_dropped_and_an_open_one_stays() {
        let listeners = vec![listener(1, &[7]), listener(2, &[]), listener(3, &[])];
        let left = without_closed(listeners, || Ok(vec![open(3)])).unwrap();
        assert_eq!(left, [listener(1, &[7]), listener(3, &[])]);
    }

    #[test]
    fn sockets_that_all_have_owners_are_not_looked_at_again() {
        let listeners = vec![listener(1, &[7])];
        let left = without_closed(listeners.clone(), || panic!("a second look")).unwrap();
        assert_eq!(left, listeners);
    }

    #[test]
    fn a_lack_of_descriptors_does_not_give_up_the_diagnostics_for_good() {
        let failed = |errno: Errno| io::Error::from_raw_os_error(errno as i32);
        assert!(is_for_good(&failed(Errno::ENOENT)));
        assert!(!is_for_good(&failed(Errno::EMFILE)));
        assert!(!is_for_good(&io::Error::other("disturbed")));
    }

    #[test]
    fn text_files_stand_in_for_diagnostics_that_fail_unless_those_are_required() {
        let refused = || Err(io::Error::from_raw_os_error(Errno::EPROTONOSUPPORT as i32));
        let kernel = Kernel::default();
        assert_eq!(kernel.ask(refused, || Ok(1)).unwrap(), 1);
        assert_eq!(kernel.ask(|| panic!("asked again"), || Ok(2)).unwrap(), 2);
        assert!(matches!(Kernel::by_diagnostics().ask(refused, || Ok(3)), Err(Error::Diagnostics(_))));
    }
}

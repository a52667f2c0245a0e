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

    /// Without those that nobody was seen to hold and that are gone by now: their holder ended in between.
    fn drop_closed(&self, listeners: &mut Vec<Listener>) -> Result<(), Error> {
        if listeners.iter().any(|listener| listener.pids.is_empty()) {
            let open: BTreeSet<u64> = self.listening()?.iter().map(|socket| socket.inode).collect();
            listeners.retain(|listener| !listener.pids.is_empty() || open.contains(&listener.inode));
        }
        Ok(())
    }
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
        let mut listeners: Vec<_> = sockets.into_iter().zip(owners).map(listener).collect();
        self.drop_closed(&mut listeners)?;
        Ok(listeners)
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

//! The kernel's socket diagnostics (sock_diag(7)): TCP sockets by family, filtered by state and local port before
//! they leave the kernel. Linux 3.3 and later; any failure means that the text files are asked instead.

mod filter;
mod message;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    netlink, recv, send, socket_with, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType,
};

use super::{Family, Socket};
use message::{Reply, Told};

/// `TCP_ESTABLISHED` and `TCP_SYN_RECV`, where a deferred-accept server parks a connected client until its first
/// bytes arrive.
const CONNECTED: u32 = 1 << 1 | 1 << 3;
/// `TCP_LISTEN`.
const LISTEN: u32 = 1 << 10;

/// The kernel fills at most 32 KiB per read of a dump (`netlink_dump`, af_netlink.c).
const READ_SIZE: usize = 32 * 1024;

/// Every listening socket of the calling thread's network namespace.
pub(super) fn listening() -> io::Result<Vec<Socket>> {
    let mut sockets = Vec::new();
    Question::new()?.ask_both(LISTEN, &[], |told| {
        sockets.push(Socket { port: told.port, address: told.address, inode: told.inode, uid: told.uid });
    })?;
    Ok(sockets)
}

/// Connections by local port, for these ports alone (ascending, each once).
pub(super) fn connections(ports: &[u16]) -> io::Result<BTreeMap<u16, usize>> {
    let mut counts = BTreeMap::new();
    Question::new()?.ask_both(CONNECTED, &filter::local_ports(ports), |told| {
        // The filter may be coarser than the ports.
        if ports.binary_search(&told.port).is_ok() {
            *counts.entry(told.port).or_insert(0) += 1;
        }
    })?;
    Ok(counts)
}

/// Whether the kernel takes such questions at all.
pub(super) fn is_answered() -> bool {
    Question::new().and_then(|mut question| question.ask(Family::Tcp, 0, &[], |_| {})).is_ok()
}

/// A line to the kernel.
struct Question {
    line: OwnedFd,
    buffer: Vec<u8>,
    sequence: u32,
}

impl Question {
    fn new() -> io::Result<Question> {
        let flags = SocketFlags::CLOEXEC;
        let line = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
        Ok(Question { line, buffer: vec![0; READ_SIZE], sequence: 0 })
    }

    fn ask_both(&mut self, states: u32, filter: &[u8], mut each: impl FnMut(Told)) -> io::Result<()> {
        self.ask(Family::Tcp, states, filter, &mut each)?;
        self.ask(Family::Tcp6, states, filter, &mut each)
    }

    fn ask(
        &mut self,
        family: Family,
        states: u32,
        filter: &[u8],
        mut each: impl FnMut(Told),
    ) -> io::Result<()> {
        self.sequence += 1;
        send(&self.line, &message::request(family, states, filter, self.sequence), SendFlags::empty())?;
        loop {
            // With TRUNC the length is that of the whole datagram, however much of it fitted.
            let (_, length) =
                rustix::io::retry_on_intr(|| recv(&self.line, self.buffer.as_mut_slice(), RecvFlags::TRUNC))?;
            let datagram = self.buffer.get(..length).ok_or_else(|| message::odd("longer than the buffer"))?;
            for reply in message::replies(datagram, self.sequence) {
                match reply? {
                    Reply::Socket(told) => each(told),
                    Reply::Done => return Ok(()),
                }
            }
        }
    }
}

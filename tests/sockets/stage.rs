//! What the claims stand on: real sockets, real processes that hold them, and both of the kernel's lists.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use harnery_native::net::kernel::Kernel;
use harnery_native::net::{Listener, ListeningSocket, Sockets};
use rustix::net::{bind, listen, socket_with, sockopt, AddressFamily, Protocol, SocketFlags, SocketType};

/// One claim at a time: a child that another one starts holds a copy of every descriptor for a moment.
pub fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The two lists, each by itself.
pub fn both() -> [(&'static str, Kernel); 2] {
    [("diagnostics", Kernel::by_diagnostics()), ("text files", Kernel::by_text_files())]
}

/// What both lists say of this port; they must agree.
pub fn listeners_on(port: u16) -> Vec<Listener> {
    let [diagnostics, text] = both().map(|(_, kernel)| {
        let mut listeners = kernel.listeners().unwrap();
        listeners.retain(|listener| listener.port == port);
        listeners
    });
    assert_eq!(diagnostics, text, "both lists give the same answer");
    diagnostics
}

pub fn listening_sockets_on(port: u16) -> Vec<ListeningSocket> {
    let [diagnostics, text] = both().map(|(_, kernel)| {
        let mut sockets = kernel.listening_sockets().unwrap();
        sockets.retain(|socket| socket.port == port);
        sockets
    });
    assert_eq!(diagnostics, text, "both lists give the same answer");
    diagnostics
}

pub fn is_listened_on(port: u16) -> bool {
    let [diagnostics, text] = both().map(|(_, kernel)| kernel.listening_ports().unwrap().contains(&port));
    assert_eq!(diagnostics, text, "both lists give the same answer");
    diagnostics
}

pub fn connections(ports: &[u16]) -> BTreeMap<u16, usize> {
    let [diagnostics, text] = both().map(|(_, kernel)| kernel.connections(ports).unwrap());
    assert_eq!(diagnostics, text, "both lists give the same answer");
    diagnostics
}

/// A listener on this address; port 0 is any free one.
pub fn listener(address: &str) -> TcpListener {
    TcpListener::bind(address).unwrap()
}

pub fn port(listener: &TcpListener) -> u16 {
    listener.local_addr().unwrap().port()
}

/// A listener that is made ready by hand before it is bound.
pub fn prepared_listener(
    address: SocketAddr,
    protocol: Option<Protocol>,
    prepare: impl FnOnce(&OwnedFd),
) -> rustix::io::Result<TcpListener> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let fd = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol)?;
    prepare(&fd);
    bind(&fd, &address)?;
    listen(&fd, 16)?;
    Ok(fd.into())
}

/// One of several sockets on the same address and port.
pub fn shared_port_listener(address: SocketAddr) -> TcpListener {
    prepared_listener(address, None, |fd| sockopt::set_socket_reuseport(fd, true).unwrap()).unwrap()
}

/// A process that holds a descriptor and does nothing; ended with the value.
pub struct Holder(Child);

impl Holder {
    pub fn of(socket: impl AsFd) -> Holder {
        let held = socket.as_fd().try_clone_to_owned().unwrap();
        let child = Command::new("sleep").arg("600").stdin(Stdio::from(held)).spawn().unwrap();
        Holder(child)
    }

    pub fn pid(&self) -> i32 {
        self.0.id() as i32
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

pub fn me() -> i32 {
    std::process::id() as i32
}

pub fn pids(listener: &Listener) -> Vec<i32> {
    listener.pids.iter().map(|pid| pid.get()).collect()
}

/// Say why a claim could not be tried here.
pub fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

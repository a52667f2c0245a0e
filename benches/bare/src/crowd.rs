//! A machine with much on it: many processes with many descriptors, many connections, a socket without an owner.

use std::fs::File;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;

use nix::libc;
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::Signal;
use nix::sys::socket::{sendmsg, setsockopt, sockopt::Linger, ControlMessage, MsgFlags};
use nix::unistd::{fork, ForkResult, Pid};

/// Processes with so many descriptors each, of which the newest listen on a port of their own.
pub(crate) fn crowd(processes: usize, descriptors: usize, listeners: usize) -> io::Result<()> {
    let mut children = Vec::new();
    let (mut ready, tell) = UnixStream::pair()?;
    for number in 0..processes {
        // SAFETY: this program has one thread.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => children.push(child),
            ForkResult::Child => {
                let stayed = member(descriptors, number + listeners >= processes, &tell);
                std::process::exit(i32::from(stayed.is_err()));
            }
        }
    }
    let mut told = vec![0; processes];
    ready.read_exact(&mut told)?;
    super::answer("ready")?;
    until_the_end()?;
    for child in children {
        end(child);
    }
    Ok(())
}

fn member(descriptors: usize, listens: bool, tell: &UnixStream) -> io::Result<()> {
    // SAFETY: a plain call; when the parent ends, so does this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let listener = if listens { Some(TcpListener::bind("127.0.0.1:0")?) } else { None };
    // The three standard ones, the two ends of the line, and the socket.
    let more = descriptors.saturating_sub(5 + usize::from(listens));
    let files = (0..more).map(|_| File::open("/dev/null")).collect::<io::Result<Vec<_>>>()?;
    io::Write::write_all(&mut &*tell, &[1])?;
    loop {
        nix::unistd::pause();
        let _ = (&listener, &files);
    }
}

/// A listening socket that is on its way to another process, and stays there.
pub(crate) fn unseen() -> io::Result<()> {
    let (one, _other) = UnixStream::pair()?;
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let sent = [listener.as_raw_fd()];
    sendmsg::<()>(
        one.as_raw_fd(),
        &[io::IoSlice::new(b"x")],
        &[ControlMessage::ScmRights(&sent)],
        MsgFlags::empty(),
        None,
    )?;
    let port = listener.local_addr()?.port();
    drop(listener);
    super::answer(port)?;
    until_the_end()
}

/// Connections, both ends of them in one of a few processes: there are limits to what one may have open.
pub(crate) fn connected(connections: usize, ports: usize) -> io::Result<()> {
    const EACH: usize = 1000;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    let listeners = (0..ports).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<Vec<_>>>()?;
    let mut children = Vec::new();
    let (mut ready, tell) = UnixStream::pair()?;
    for first in (0..connections).step_by(EACH) {
        // SAFETY: this program has one thread.
        match unsafe { fork() }? {
            ForkResult::Parent { child } => children.push(child),
            ForkResult::Child => {
                let stayed = connect(&listeners, first..connections.min(first + EACH), &tell);
                std::process::exit(i32::from(stayed.is_err()));
            }
        }
    }
    let mut told = vec![0; children.len()];
    ready.read_exact(&mut told)?;
    let ports: Vec<_> = listeners
        .iter()
        .map(|one| one.local_addr().map(|at| at.port().to_string()))
        .collect::<io::Result<_>>()?;
    super::answer(ports.join(" "))?;
    until_the_end()?;
    for child in children {
        end(child);
    }
    Ok(())
}

fn connect(listeners: &[TcpListener], numbers: std::ops::Range<usize>, tell: &UnixStream) -> io::Result<()> {
    // SAFETY: a plain call; when the parent ends, so does this process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    let mut ends = Vec::new();
    for number in numbers {
        let listener = &listeners[number % listeners.len()];
        ends.push(TcpStream::connect(listener.local_addr()?)?);
        // Perhaps another one's: there are as many as there are connections.
        ends.push(listener.accept()?.0);
        // Reset at the end: what would linger for a minute is not there for the cases that follow.
        for end in ends.iter().rev().take(2) {
            setsockopt(end, Linger, &libc::linger { l_onoff: 1, l_linger: 0 })?;
        }
    }
    io::Write::write_all(&mut &*tell, &[1])?;
    loop {
        nix::unistd::pause();
        let _ = &ends;
    }
}

fn until_the_end() -> io::Result<()> {
    io::stdin().lock().read_to_end(&mut Vec::new()).map(drop)
}

fn end(child: Pid) {
    // What has ended already needs no ending.
    let _ = nix::sys::signal::kill(child, Signal::SIGKILL);
    let _ = nix::sys::wait::waitpid(child, None);
}

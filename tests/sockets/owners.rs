//! Who holds a listening socket.

use std::fs::File;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};

use harnery_native::net::kernel::Kernel;
use harnery_native::net::{ScanSupport, Sockets};
use rustix::fs::{mkdirat, openat, Mode, OFlags};
use rustix::io::Errno;

use crate::stage::*;

#[test]
fn r4_every_worker_that_shares_a_socket_is_known() {
    let _alone = alone();
    let listener = listener("127.0.0.1:0");
    let workers: Vec<_> = (0..5).map(|_| Holder::of(&listener)).collect();
    let mut expected: Vec<i32> = workers.iter().map(Holder::pid).chain([me()]).collect();
    expected.sort_unstable();
    let rows = listeners_on(port(&listener));
    assert_eq!(rows.len(), 1);
    assert_eq!(pids(&rows[0]), expected);
    let sockets = listening_sockets_on(port(&listener));
    let short: Vec<i32> = sockets.iter().map(|socket| socket.pid.get()).collect();
    assert_eq!(short, [expected[0]], "a shared socket has its lowest pid in the short list");
}

#[test]
fn r4_two_sockets_on_one_port_have_each_their_owner() {
    let _alone = alone();
    let first = shared_port_listener(SocketAddr::from(([127, 0, 0, 1], 0)));
    let second = shared_port_listener(first.local_addr().unwrap());
    let holder = Holder::of(&second);
    drop(second);
    let rows = listeners_on(port(&first));
    assert_eq!(rows.len(), 2);
    assert_ne!(rows[0].inode, rows[1].inode);
    let mut owners: Vec<_> = rows.iter().map(pids).collect();
    owners.sort();
    let mut expected = vec![vec![me()], vec![holder.pid()]];
    expected.sort();
    assert_eq!(owners, expected);
    let mut short: Vec<_> =
        listening_sockets_on(port(&first)).iter().map(|socket| socket.pid.get()).collect();
    short.sort_unstable();
    assert_eq!(short, expected.concat());
}

#[test]
fn r3_a_listener_is_its_heirs_when_the_server_is_gone() {
    let _alone = alone();
    let server = listener("127.0.0.1:0");
    let port = port(&server);
    let heir = Holder::of(&server);
    assert_eq!(pids(&listeners_on(port)[0]).len(), 2);
    drop(server);
    assert_eq!(pids(&listeners_on(port)[0]), [heir.pid()]);
    drop(heir);
    assert_eq!(listeners_on(port), []);
}

#[test]
fn a_socket_with_many_descriptors_in_one_process_has_that_owner_once() {
    let _alone = alone();
    let listener = listener("127.0.0.1:0");
    let _copies: Vec<_> = (0..50).map(|_| listener.try_clone().unwrap()).collect();
    assert_eq!(pids(&listeners_on(port(&listener))[0]), [me()]);
}

#[test]
fn owners_are_found_behind_many_descriptors() {
    let _alone = alone();
    // More entries than one reading of the directory gives.
    let many: Vec<_> = (0..900).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    let listener = listener("127.0.0.1:0");
    assert_eq!(pids(&listeners_on(port(&listener))[0]), [me()]);
    drop(many);
}

#[test]
fn a_descriptor_whose_path_is_too_long_to_spell_out_hides_no_owner() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut deepest = File::open(folder.path()).unwrap().into();
    for _ in 0..20 {
        deepest = deeper(&deepest);
    }
    let number = format!("/proc/self/fd/{}", deepest.as_raw_fd());
    assert_eq!(
        std::fs::read_link(number).unwrap_err().raw_os_error(),
        Some(Errno::NAMETOOLONG.raw_os_error())
    );
    let listener = listener("127.0.0.1:0");
    assert_eq!(pids(&listeners_on(port(&listener))[0]), [me()]);
}

/// A directory in this one, with a name as long as names may be.
fn deeper(directory: &OwnedFd) -> OwnedFd {
    let name = "d".repeat(255);
    mkdirat(directory, &name, Mode::RWXU).unwrap();
    openat(directory, &name, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).unwrap()
}

#[test]
fn looking_leaves_no_descriptor_open() {
    let _alone = alone();
    let listener = listener("127.0.0.1:0");
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    for _ in 0..20 {
        listeners_on(port(&listener));
        connections(&[port(&listener)]);
        assert_eq!(Kernel::default().support(), ScanSupport::Procfs);
    }
    assert_eq!(open(), before);
}

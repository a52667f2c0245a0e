//! Which sockets are listed, and how they are written.

use std::net::{Ipv6Addr, SocketAddr, TcpStream};
use std::thread;

use harnery_native::net::Family::{Tcp, Tcp6};
use rustix::net::{ipproto, sockopt};
use rustix::thread::{set_thread_res_uid, unshare_unsafe, UnshareFlags};

use crate::stage::*;

fn shown(port: u16) -> Vec<(String, harnery_native::net::Family)> {
    listeners_on(port).into_iter().map(|listener| (listener.address, listener.family)).collect()
}

#[test]
fn every_kind_of_address_is_written_the_same_by_both_lists() {
    let _alone = alone();
    for (address, written, family) in [
        ("127.0.0.1:0", "127.0.0.1", Tcp),
        ("127.8.9.10:0", "127.8.9.10", Tcp),
        ("0.0.0.0:0", "0.0.0.0", Tcp),
        ("[::]:0", "::", Tcp6),
        ("[::1]:0", "::1", Tcp6),
        ("[::ffff:127.0.0.1]:0", "127.0.0.1", Tcp6),
    ] {
        let listener = listener(address);
        assert_eq!(shown(port(&listener)), [(written.to_owned(), family)], "{address}");
        let sockets = listening_sockets_on(port(&listener));
        assert_eq!(sockets.len(), 1);
        assert_eq!((sockets[0].pid.get(), sockets[0].address.as_str()), (me(), written));
    }
}

#[test]
fn any_other_ipv6_address_has_the_kernels_own_digits() {
    let _alone = alone();
    // An address that this machine need not have.
    let address: Ipv6Addr = "2001:db8:1:2:3:4:5:abcd".parse().unwrap();
    let listener = prepared_listener(SocketAddr::from((address, 0)), None, |fd| {
        sockopt::set_ip_freebind(fd, true).unwrap();
    });
    let listener = listener.unwrap();
    let text = std::fs::read_to_string("/proc/net/tcp6").unwrap();
    let port_digits = format!(":{:04X}", port(&listener));
    let local = text.lines().filter_map(|line| line.split_whitespace().nth(1));
    let digits = local.filter_map(|local| local.strip_suffix(&port_digits)).next().unwrap();
    assert_eq!(shown(port(&listener)), [(format!("ipv6:{}", digits.to_lowercase()), Tcp6)]);
}

#[test]
fn r5_one_port_in_both_families_is_two_rows() {
    let _alone = alone();
    let (v4, port) = loop {
        let v4 = listener("127.0.0.1:0");
        let port = port(&v4);
        if !is_listened_on_v6(port) {
            break (v4, port);
        }
    };
    let v6 = listener(&format!("[::1]:{port}"));
    let holder = Holder::of(&v6);
    drop(v6);
    assert_eq!(shown(port), [("127.0.0.1".into(), Tcp), ("::1".into(), Tcp6)]);
    let sockets = listening_sockets_on(port);
    let rows: Vec<_> = sockets.iter().map(|socket| (socket.pid.get(), socket.address.as_str())).collect();
    assert_eq!(rows, [(me(), "127.0.0.1"), (holder.pid(), "::1")]);
    drop(v4);
    assert!(is_listened_on(port), "a port is free only when it is free in both families");
    drop(holder);
    assert!(!is_listened_on(port));
}

fn is_listened_on_v6(port: u16) -> bool {
    TcpStream::connect(("::1", port)).is_ok()
}

#[test]
fn one_process_with_one_port_in_both_families_is_one_row_of_the_short_list() {
    let _alone = alone();
    let (v4, port) = loop {
        let v4 = listener("127.0.0.1:0");
        let port = port(&v4);
        if !is_listened_on_v6(port) {
            break (v4, port);
        }
    };
    let _v6 = listener(&format!("[::1]:{port}"));
    let sockets = listening_sockets_on(port);
    assert_eq!(sockets.len(), 1);
    assert_eq!(sockets[0].address, "127.0.0.1", "tcp comes before tcp6");
    drop(v4);
}

#[test]
fn r1_a_client_of_a_port_is_not_its_owner() {
    let _alone = alone();
    let server = listener("127.0.0.1:0");
    let port = port(&server);
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let accepted = server.accept().unwrap();
    let client_process = Holder::of(&client);
    let connection_process = Holder::of(&accepted.0);
    let rows = listeners_on(port);
    assert_eq!(rows.len(), 1);
    assert_eq!(pids(&rows[0]), [me()]);
    let client_port = client.local_addr().unwrap().port();
    assert!(!is_listened_on(client_port));
    drop((client_process, connection_process));
}

#[test]
fn a_multipath_listener_is_listed_with_its_owner() {
    let _alone = alone();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let Ok(listener) = prepared_listener(address, Some(ipproto::MPTCP), |_| {}) else {
        return skip("this kernel has no multipath TCP");
    };
    let rows = listeners_on(port(&listener));
    assert_eq!(rows.len(), 1);
    assert_eq!(pids(&rows[0]), [me()]);
}

#[test]
fn lists_are_sorted_by_port_and_name_every_port() {
    let _alone = alone();
    let listeners: Vec<_> = (0..100).map(|_| listener("127.0.0.1:0")).collect();
    for (name, kernel) in both() {
        use harnery_native::net::Sockets;
        let ports: Vec<u16> = kernel.listening_ports().unwrap();
        assert!(ports.windows(2).all(|pair| pair[0] < pair[1]), "{name}");
        assert!(listeners.iter().all(|listener| ports.contains(&port(listener))), "{name}");
        let rows = kernel.listeners().unwrap();
        assert!(rows.windows(2).all(|pair| (pair[0].port, pair[0].family) <= (pair[1].port, pair[1].family)));
        assert!(kernel.listening_sockets().unwrap().windows(2).all(|pair| pair[0].port <= pair[1].port));
    }
}

#[test]
fn r2_a_listener_whose_owner_cannot_be_read_is_listed_with_its_user_and_no_pids() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skip("only root can look at its own sockets as another user");
    }
    let listener = listener("127.0.0.1:0");
    let port = port(&listener);
    let holder = Holder::of(&listener);
    drop(listener);
    // This thread alone becomes nobody; the holder stays root's.
    let as_nobody = thread::spawn(move || {
        let nobody = rustix::fs::Uid::from_raw(65534);
        set_thread_res_uid(nobody, nobody, nobody).unwrap();
        (listeners_on(port), listening_sockets_on(port), is_listened_on(port))
    });
    let (rows, sockets, taken) = as_nobody.join().unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].uid, pids(&rows[0])), (0, vec![]));
    assert_ne!(rows[0].inode, 0);
    assert!(sockets.is_empty(), "the short list has owned sockets alone");
    assert!(taken, "a port with an unseen owner is taken, not free");
    assert_eq!(pids(&listeners_on(port)[0]), [holder.pid()], "root sees the owner");
}

#[test]
fn r12_a_listener_in_another_network_namespace_is_not_listed() {
    let _alone = alone();
    let outside = listener("0.0.0.0:0");
    let outside_port = port(&outside);
    let elsewhere = thread::spawn(move || {
        // SAFETY: no memory is shared by namespace; the thread ends with this closure.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.ok()?;
        let inside = listener("0.0.0.0:0");
        let port = port(&inside);
        assert_eq!(pids(&listeners_on(port)[0]), [me()], "listed where it is");
        assert_eq!(listeners_on(outside_port), [], "the outer one is not listed here");
        Some((inside, port))
    });
    let Some((inside, inside_port)) = elsewhere.join().unwrap() else {
        return skip("no network namespace may be made here");
    };
    if inside_port != outside_port {
        assert_eq!(listeners_on(inside_port), []);
        assert!(!is_listened_on(inside_port));
    }
    assert_eq!(listeners_on(outside_port).len(), 1);
    drop(inside);
}

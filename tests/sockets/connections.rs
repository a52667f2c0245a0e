//! How many connections a port has.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use crate::stage::*;

fn connected(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (client, listener.accept().unwrap().0)
}

#[test]
fn connections_count_on_the_servers_side_and_ports_without_any_are_left_out() {
    let _alone = alone();
    let (busy, idle) = (listener("127.0.0.1:0"), listener("127.0.0.1:0"));
    let pairs: Vec<_> = (0..3).map(|_| connected(&busy)).collect();
    let client_port = pairs[0].0.local_addr().unwrap().port();
    let counts = connections(&[port(&busy), port(&idle), port(&busy)]);
    assert_eq!(counts, BTreeMap::from([(port(&busy), 3)]));
    assert!(!is_listened_on(client_port));
    drop(pairs);
    assert_eq!(connections(&[port(&busy)]), BTreeMap::new(), "closed ones do not count");
}

#[test]
fn connections_of_every_family_count() {
    let _alone = alone();
    let dual = listener("[::]:0");
    let port = port(&dual);
    let over_v4 = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let over_v6 = TcpStream::connect(("::1", port)).unwrap();
    assert_eq!(connections(&[port]), BTreeMap::from([(port, 2)]), "accepted or not");
    drop((over_v4, over_v6));
}

#[test]
fn a_client_that_a_deferred_accept_server_keeps_waiting_counts() {
    let _alone = alone();
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = prepared_listener(address, None, |fd| {
        let seconds: nix::libc::c_int = 30;
        // SAFETY: the option takes one int, whose address and size are given.
        let done = unsafe {
            nix::libc::setsockopt(
                fd.as_raw_fd(),
                nix::libc::IPPROTO_TCP,
                nix::libc::TCP_DEFER_ACCEPT,
                std::ptr::from_ref(&seconds).cast(),
                size_of_val(&seconds) as u32,
            )
        };
        assert_eq!(done, 0);
    });
    let listener = listener.unwrap();
    let port = port(&listener);
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let text = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let local = format!("0100007F:{port:04X}");
    let states: Vec<_> = text.lines().filter(|line| line.contains(&format!(" {local} "))).collect();
    assert!(states.iter().any(|line| line.split_whitespace().nth(3) == Some("03")), "parked: {states:?}");
    assert_eq!(connections(&[port]), BTreeMap::from([(port, 1)]));
    client.write_all(b"now").unwrap();
    let accepted = listener.accept().unwrap();
    assert_eq!(connections(&[port]), BTreeMap::from([(port, 1)]));
    drop(accepted);
}

#[test]
fn more_ports_than_the_kernels_filter_takes_are_counted_exactly() {
    let _alone = alone();
    let listeners: Vec<_> = (0..200).map(|_| listener("127.0.0.1:0")).collect();
    let pairs: Vec<_> = listeners.iter().map(connected).collect();
    let uncounted = listener("127.0.0.1:0");
    let other = connected(&uncounted);
    let ports: Vec<u16> = listeners.iter().map(port).collect();
    let counts = connections(&ports);
    assert_eq!(counts, ports.iter().map(|port| (*port, 1)).collect());
    for few in ports.chunks(10) {
        assert_eq!(connections(few), few.iter().map(|port| (*port, 1)).collect());
    }
    drop((pairs, other));
}

//! R11: `lsof` missing, slow, failing with rows, writing warnings.

use std::collections::BTreeMap;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use harnery_native::clock::{Clock, SystemClock};
use harnery_native::net::lsof::Lsof;
use harnery_native::net::{Error, Listener, ScanSupport, Sockets};

use crate::stage::*;

/// An `lsof` that does what the lines of shell say.
fn scripted(lines: &str, look: impl FnOnce(&Lsof)) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("lsof");
    std::fs::write(&program, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    look(&Lsof { program: program.into(), deadline: Duration::from_secs(10) });
}

fn rows(listeners: Result<Vec<Listener>, Error>) -> Vec<(u16, String, Vec<i32>)> {
    listeners.unwrap().iter().map(|row| (row.port, row.address.clone(), pids(row))).collect()
}

const ONE_ROW: &str = "echo p7; echo f3; echo 'n*:80'";

#[test]
fn r11_a_missing_lsof_is_a_clear_error() {
    let _alone = alone();
    let lsof = Lsof { program: "/nonexistent/lsof".into(), ..Lsof::default() };
    let error = lsof.listeners().unwrap_err();
    assert!(matches!(error, Error::LsofMissing(_)), "{error:?}");
    assert!(error.to_string().contains("install lsof"), "{error}");
}

#[test]
fn r11_a_slow_lsof_is_ended_at_the_deadline_and_its_rows_count() {
    let _alone = alone();
    scripted("echo p$$; echo 'n*:80'; printf 'n*:8'; exec sleep 600", |lsof| {
        let lsof = Lsof { deadline: Duration::from_millis(300), ..lsof.clone() };
        let start = SystemClock.monotonic();
        let rows = lsof.listeners().unwrap();
        assert!(SystemClock.monotonic() - start < Duration::from_secs(30));
        assert_eq!((rows.len(), rows[0].port), (1, 80), "without the line that was cut");
        let child = rustix::process::Pid::from_raw(pids(&rows[0])[0]).unwrap();
        assert_eq!(
            rustix::process::test_kill_process(child),
            Err(rustix::io::Errno::SRCH),
            "ended and reaped"
        );
    });
}

#[test]
fn r11_a_slow_lsof_without_rows_is_a_clear_error() {
    let _alone = alone();
    for hang in ["exec sleep 600", "exec >&-; exec 2>&-; exec sleep 600"] {
        scripted(hang, |lsof| {
            let lsof = Lsof { deadline: Duration::from_millis(200), ..lsof.clone() };
            let error = lsof.listening_ports().unwrap_err();
            assert!(matches!(error, Error::LsofSlow(_)), "{error:?}");
            assert!(error.to_string().contains("200 ms"), "{error}");
        });
    }
}

#[test]
fn r11_a_failing_lsof_with_rows_gives_its_rows() {
    let _alone = alone();
    scripted(&format!("{ONE_ROW}; echo 'lsof: status error on /x' >&2; exit 1"), |lsof| {
        assert_eq!(rows(lsof.listeners()), [(80, "*".into(), vec![7])]);
        assert_eq!(lsof.listening_ports().unwrap(), [80]);
    });
}

#[test]
fn r11_a_failing_lsof_without_rows_is_a_clear_error() {
    let _alone = alone();
    scripted("echo 'lsof: WARNING: x' >&2; echo 'lsof: unknown option' >&2; exit 1", |lsof| {
        let error = lsof.listeners().unwrap_err();
        assert!(matches!(error, Error::LsofFailed(_)), "{error:?}");
        assert!(error.to_string().contains("unknown option"), "{error}");
    });
    scripted("kill -9 $$", |lsof| assert!(matches!(lsof.listeners(), Err(Error::LsofFailed(_)))));
}

#[test]
fn r11_an_lsof_that_found_nothing_and_only_warns_has_no_rows() {
    let _alone = alone();
    let warning = "echo \"lsof: WARNING: can't stat() fuse\" >&2; \
                   echo '      Output information may be incomplete.' >&2";
    for ending in ["exit 1", "exit 0"] {
        scripted(&format!("{warning}; {ending}"), |lsof| {
            assert_eq!(lsof.listeners().unwrap(), []);
            assert_eq!(lsof.connections(&[80]).unwrap(), BTreeMap::new());
        });
    }
}

#[test]
fn r11_an_lsof_that_writes_much_to_both_outputs_does_not_hang() {
    let _alone = alone();
    let much = "i=0; while [ $i -lt 3000 ]; do echo p7; echo \"n*:$((i + 1))\"; \
                echo 'lsof: WARNING: a long line of complaint about nothing at all' >&2; i=$((i + 1)); done";
    scripted(much, |lsof| assert_eq!(lsof.listening_ports().unwrap().len(), 3000));
}

#[test]
fn r11_linux_lists_its_sockets_without_any_lsof() {
    let _alone = alone();
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "listeners::every_kind_of_address_is_written_the_same_by_both_lists"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn the_real_lsof_agrees_with_the_kernel() {
    let _alone = alone();
    let lsof = Lsof::default();
    let server = listener("127.0.0.1:0");
    let port = port(&server);
    let worker = Holder::of(&server);
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let accepted = server.accept().unwrap();
    let listed = match lsof.listeners() {
        Err(Error::LsofMissing(_)) => return skip("lsof is not installed"),
        listed => rows(listed),
    };
    let mut holders = vec![me(), worker.pid()];
    holders.sort_unstable();
    let expected = (port, "127.0.0.1".to_owned(), holders);
    assert!(listed.contains(&expected), "{listed:?}");
    assert_eq!(pids(&listeners_on(port)[0]), expected.2);
    let lowest = |sockets: Vec<harnery_native::net::ListeningSocket>| {
        sockets.iter().filter(|socket| socket.port == port).map(|socket| socket.pid.get()).min()
    };
    assert_eq!(lowest(lsof.listening_sockets().unwrap()), lowest(listening_sockets_on(port)));
    assert!(lsof.listening_ports().unwrap().contains(&port));
    assert_eq!(lsof.connections(&[port]).unwrap(), connections(&[port]));
    assert_eq!(lsof.support(), ScanSupport::Lsof);
    drop((worker, client, accepted));
}

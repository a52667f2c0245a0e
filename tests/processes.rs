//! What is said of processes, on real ones: presence, generation, witness, information.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "tests are the caller")]

mod real;

use std::ffi::OsStr;

use harnery_native::process::ancestry::{ancestry, lineage};
use harnery_native::process::generation::{check_pid_token, verify, PidToken};
use harnery_native::process::machine::Machine;
use harnery_native::process::witness::judge;
use harnery_native::process::{
    Generation, Judgement, NoDependencies, Pid, Presence, Probe, Processes, Witness,
};
use nix::libc;
use real::*;

fn machine() -> Machine {
    Machine::new(|| None)
}

fn pid(number: i64) -> Pid {
    Pid::new(number).unwrap()
}

#[test]
fn p3_a_child_that_nobody_collects_is_absent_once_it_has_ended() {
    let mut child = Real::spawn("sleep", &["60"]);
    assert_eq!(machine().presence(child.pid()), Presence::Present);
    let target = machine().open(child.pid()).unwrap().unwrap();
    assert!(!target.has_ended());
    send(child.pid(), libc::SIGKILL);
    await_target(&*target);
    assert!(target.has_ended());
    assert_eq!(machine().presence(child.pid()), Presence::Absent);
    assert_eq!(machine().witness(child.pid()), None);
    child.collect();
    assert_eq!(machine().presence(child.pid()), Presence::Absent);
    assert!(machine().open(child.pid()).unwrap().is_none());
}

#[test]
fn a_process_whose_main_thread_has_left_is_present_while_others_serve_on() {
    let child = forked_without_main_thread();
    assert_eq!(machine().presence(child.pid()), Presence::Present);
    assert!(!machine().open(child.pid()).unwrap().unwrap().has_ended());
}

#[test]
fn the_number_of_a_mere_thread_is_absent() {
    let (tell, told) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        tell.send(rustix::thread::gettid()).unwrap();
        let _ = gone.recv();
    });
    let number = pid(i64::from(told.recv().unwrap().as_raw_nonzero().get()));
    assert_eq!(machine().presence(number), Presence::Absent);
    assert!(machine().open(number).unwrap().is_none());
    assert_eq!(machine().witness(number), None);
    drop(go);
    thread.join().unwrap();
}

#[test]
fn a_stopped_process_is_present() {
    let child = Real::spawn("sleep", &["60"]);
    send(child.pid(), libc::SIGSTOP);
    await_stop(child.pid());
    assert_eq!(machine().presence(child.pid()), Presence::Present);
}

#[test]
fn p4_a_process_that_may_not_be_signalled_is_present() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = Real::spawn("sleep", &["60"]);
    let pid = child.pid();
    let seen = in_a_fork(|| {
        become_nobody();
        format!("{:?} {:?}", machine().presence(pid), machine().start_token(pid).is_some())
    });
    assert_eq!(seen.as_deref(), Ok("Present true"));
}

#[test]
fn a_process_that_proc_hides_is_present_with_an_unreadable_identity() {
    if !is_root() {
        return left_out("only root can become another user");
    }
    let child = Real::spawn("sleep", &["60"]);
    let pid = child.pid();
    let token = machine().start_token(pid);
    let seen = in_a_fork(|| {
        // SAFETY: unshare touches no memory.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 || mount_proc("hidepid=2").is_err() {
            return "no mount namespace here".to_owned();
        }
        become_nobody();
        let machine = machine();
        assert!(machine.start_token(machine.me()).is_some());
        let verdict = verify(&machine, pid, token.as_deref(), &NoDependencies);
        format!("{:?} {:?} {verdict:?}", machine.presence(pid), machine.start_token(pid))
    });
    let seen = seen.unwrap();
    if seen.starts_with("no ") {
        return left_out(&seen);
    }
    assert_eq!(seen, "Present None Unknown");
}

#[test]
fn p5_strange_names_do_not_shift_the_start_token() {
    for name in ["(sd-pam)", "a) b (c", "x) S 1 2 3 (", "two\nlines) ", ") ) ) "] {
        let child = forked(|| std::fs::write("/proc/self/comm", name).unwrap());
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.pid())).unwrap();
        assert!(stat.contains(&format!("({name})")), "{stat}");
        let ticks = stat.rsplit(") ").next().unwrap().split(' ').nth(19).unwrap();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
        assert_eq!(machine().start_token(child.pid()), Some(format!("l{}.{ticks}", &boot[..8])), "{name}");
        assert_eq!(machine().parent(child.pid()), Some(i64::from(std::process::id())), "{name}");
    }
}

#[test]
fn p2_a_token_is_made_of_ticks_since_boot_and_the_boot_id_alone() {
    let machine = machine();
    let token = machine.start_token(machine.me()).unwrap();
    let (boot, ticks) = token.strip_prefix('l').unwrap().split_once('.').unwrap();
    assert_eq!(Some(boot), machine.boot().as_deref());
    let started = machine.started_at_ms(machine.me()).unwrap();
    let expected = machine.booted_at_ms().unwrap() + ticks.parse::<i64>().unwrap() * 10;
    assert_eq!(started, expected, "a tick is ten milliseconds on every Linux that there is");
    assert_eq!(check_pid_token(Some(&token), Some(&token)), PidToken::Match);
}

#[test]
fn a_start_time_is_close_to_when_the_process_was_started() {
    let before = now_ms();
    let child = Real::spawn("sleep", &["60"]);
    let started = machine().started_at_ms(child.pid()).unwrap();
    // The boot is known to the second, rounded down.
    assert!((before - 1_100..=now_ms()).contains(&started), "{started} {before}");
}

fn now_ms() -> i64 {
    std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as i64
}

#[test]
fn nobody_has_a_token_and_nobody_is_verified() {
    let mut child = Real::spawn("sleep", &["60"]);
    let token = machine().start_token(child.pid());
    assert_eq!(verify(&machine(), child.pid(), token.as_deref(), &NoDependencies), Generation::Same);
    assert_eq!(verify(&machine(), child.pid(), Some("l1.1"), &NoDependencies), Generation::Different);
    assert_eq!(verify(&machine(), child.pid(), None, &NoDependencies), Generation::Unknown);
    child.end();
    child.collect();
    assert_eq!(machine().start_token(child.pid()), None);
    assert_eq!(verify(&machine(), child.pid(), token.as_deref(), &NoDependencies), Generation::Unknown);
}

#[test]
fn the_probe_is_forced_and_never_falls_back() {
    let forced = |probe: &'static str| Machine::new(move || Some(probe.to_owned()));
    let child = Real::spawn("sleep", &["60"]);
    assert_eq!(machine().probe(), Probe::Procfs);
    assert_eq!(forced("ps").probe(), Probe::Ps);
    assert_eq!(forced("procfs").probe(), Probe::Procfs);
    assert_eq!(forced("sysctl").probe(), Probe::Procfs);
    let Some(token) = forced("ps").start_token(child.pid()) else {
        return left_out("there is no ps here");
    };
    assert!(token.starts_with('p') && !token.contains("  "), "{token}");
    assert_eq!(forced("ps").start_token(child.pid()), Some(token));
    assert_eq!(forced("ps").start_token_by(Probe::Procfs, child.pid()), machine().start_token(child.pid()));
}

#[test]
fn a_witness_is_the_same_only_for_the_process_that_was_seen() {
    let machine = machine();
    let mut child = Real::spawn("sleep", &["60"]);
    let witness = machine.witness(child.pid()).unwrap();
    assert_eq!(witness.start_token, machine.start_token(child.pid()));
    assert_eq!(judge(&machine, child.pid(), &witness), Judgement::Same);
    assert_eq!(judge(&machine, machine.me(), &witness), Judgement::Different);

    let boot = Witness { start_token: Some("l00000000.1".to_owned()), ..witness.clone() };
    assert_eq!(judge(&machine, child.pid(), &boot), Judgement::Gone);
    let elsewhere = Witness { pid_namespace: Some("1".to_owned()), ..witness.clone() };
    assert_eq!(judge(&machine, child.pid(), &elsewhere), Judgement::Elsewhere);
    let both = Witness { pid_namespace: Some("1".to_owned()), ..boot };
    assert_eq!(judge(&machine, child.pid(), &both), Judgement::Gone, "the boot is asked first");

    child.end();
    assert_eq!(judge(&machine, child.pid(), &witness), Judgement::Gone);
    assert_eq!(
        judge(&machine, child.pid(), &elsewhere),
        Judgement::Elsewhere,
        "the namespace is asked first"
    );
}

#[test]
fn a_witness_that_says_nothing_is_unknown() {
    let machine = machine();
    assert_eq!(judge(&machine, machine.me(), &Witness::default()), Judgement::Unknown);
}

#[test]
fn a_pidfd_has_an_inode_of_its_own_where_the_kernel_says_so() {
    let machine = machine();
    let (one, two) = (Real::spawn("sleep", &["60"]), Real::spawn("sleep", &["60"]));
    let Some(inode) = machine.witness(one.pid()).unwrap().pidfd_inode else {
        return left_out("pidfds share one inode before Linux 6.9");
    };
    assert_eq!(machine.witness(one.pid()).unwrap().pidfd_inode.as_deref(), Some(inode.as_str()));
    assert_ne!(machine.witness(two.pid()).unwrap().pidfd_inode.as_deref(), Some(inode.as_str()));
}

#[test]
fn a_process_of_another_pid_namespace_is_elsewhere() {
    let child = Real::spawn("sleep", &["60"]);
    let (pid, witness) = (child.pid(), machine().witness(child.pid()).unwrap());
    let seen = in_a_pid_namespace(true, || {
        let machine = machine();
        assert_ne!(machine.namespaces().0, witness.pid_namespace);
        format!("{:?} {:?}", judge(&machine, pid, &witness), machine.presence(pid))
    });
    assert_seen(seen, "Elsewhere Absent");
}

#[test]
fn numbers_are_not_looked_up_in_the_proc_of_another_pid_namespace() {
    let child = Real::spawn("sleep", &["60"]);
    let pid = child.pid();
    let seen = in_a_pid_namespace(false, || {
        let machine = machine();
        let me = machine.me();
        let token_here = machine.start_token(pid).is_some() || machine.start_token(me).is_some();
        format!(
            "{me} {token_here} {:?} {:?} {:?}",
            machine.info(me),
            machine.parent(me),
            machine.presence(me)
        )
    });
    assert_seen(seen, "1 false None None Present");
}

#[test]
fn information_names_the_command_the_parent_and_the_directory() {
    let child = Real::spawn("sh", &["-c", "sleep 60; true", ""]);
    // A program that is just being started has no arguments yet.
    let expected = "sh -c sleep 60; true";
    eventually("it has a command", || machine().info(child.pid()).unwrap().command == expected);
    let info = machine().info(child.pid()).unwrap();
    assert_eq!(info.parent, Some(i64::from(std::process::id())));
    assert_eq!(info.cwd, Some(std::env::current_dir().unwrap().to_str().unwrap().to_owned()));
    assert_eq!(machine().uid(child.pid()), Some(rustix::process::getuid().as_raw()));
    assert_eq!(ancestry(&machine(), child.pid(), 32)[..2], [child.pid(), machine().me()]);
}

#[test]
fn a_directory_that_was_removed_is_told_as_the_kernel_tells_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap().to_owned();
    let (child, _) = Real::shell(&format!("cd '{path}' && echo there && exec sleep 60"));
    drop(directory);
    assert_eq!(machine().info(child.pid()).unwrap().cwd, Some(format!("{path} (deleted)")));
}

#[test]
fn the_command_of_a_process_that_is_not_utf8_is_replaced() {
    use std::os::unix::ffi::OsStrExt;
    let arguments = [&b"-c"[..], b"sleep 60; true", b"\xff!"].map(OsStr::from_bytes);
    let child = Real::spawn("sh", &arguments);
    let expected = "sh -c sleep 60; true \u{FFFD}!";
    eventually("it has a command", || machine().info(child.pid()).unwrap().command == expected);
}

#[test]
fn ancestry_ends_before_the_first_process_and_at_its_limit() {
    let machine = machine();
    let whole = ancestry(&machine, machine.me(), 32);
    assert_eq!(whole[0], machine.me());
    assert!(!whole.contains(&pid(1)));
    assert_eq!(ancestry(&machine, machine.me(), 1), [machine.me()]);
    assert_eq!(ancestry(&machine, machine.me(), 0), []);
    assert_eq!(ancestry(&machine, pid(1), 32), []);
    let nobody = pid(i64::from(i32::MAX));
    assert_eq!(ancestry(&machine, nobody, 32), [nobody]);
    assert_eq!(lineage(&machine, pid(1), 32), [pid(1)]);
}

//! What belongs to other users: whose word is a warrant, and what root makes among a user's files.

#![cfg(target_os = "linux")]

mod real;
mod registry_support;

use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::path::Path;

use harnery_native::files::disk::Disk;
use harnery_native::files::{Files, Sharing};
use harnery_native::host::Host;
use harnery_native::javascript::timestamp;
use harnery_native::process::{Generation, NoDependencies};
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::Schema;
use harnery_native::supervisor::{paths, request_stop};
use real::{is_root, left_out, Real, NOBODY};
use registry_support::{input, planted, Bench, NOBODY as NO_PID};
use std::rc::Rc;

fn give_away(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
}

fn owner(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().uid()
}

/// A registry of another user's with the record of a server that has ended, or `None` for whoever cannot make one.
fn of_another_user(schema: Schema) -> Option<Bench> {
    if !is_root() {
        left_out("only root can give files away");
        return None;
    }
    let bench = Bench::of(schema);
    let dead = planted("dead", NO_PID, "");
    let receipt = r#""registration_id":"0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c","kind""#;
    bench.plant(
        "dead",
        &match schema {
            Schema::Current => dead,
            Schema::Custody => {
                dead.replace("\"schema_version\":1", "\"schema_version\":2").replace("\"kind\"", receipt)
            }
        },
    );
    for path in [bench.dir.path(), &bench.dir.path().join(".harnery"), &bench.servers(), &bench.file("dead")]
    {
        give_away(path);
    }
    Some(bench)
}

#[test]
fn what_root_makes_in_a_user_s_registry_is_the_user_s() {
    for schema in [Schema::Current, Schema::Custody] {
        let Some(bench) = of_another_user(schema) else { return };
        let options = ListOptions { options: bench.options(), scan: false, ..ListOptions::default() };
        assert_eq!(list_servers(&bench.registry(), &options).unwrap().pruned, ["dead"]);
        bench.register(&input("new")).unwrap();
        let lock = bench.servers().join(".registry.lock");
        assert_eq!(owner(&lock), NOBODY, "{schema:?}");
        if schema == Schema::Custody {
            for name in ["", "dead", "new"] {
                assert_eq!(owner(&bench.servers().join(".custody").join(name)), NOBODY, "{name}");
            }
        }
        assert_eq!(owner(&bench.file("new")), 0, "what root has registered is root's");
    }
}

/// A supervisor's record that names a process of this user's.
fn service(root: &Path, pid: harnery_native::process::Pid, host: &Host) -> std::path::PathBuf {
    let service = paths(root).service;
    std::fs::create_dir_all(service.parent().unwrap()).unwrap();
    let token = host.processes.start_token(pid).unwrap();
    let (name, now) = (host.processes.host_name(), timestamp::format(host.clock.now_ms()).unwrap());
    let text = format!(
        r#"{{"schema_version":1,"pid":{pid},"start_token":"{token}","host":"{name}","nonce":"n","state":"running","heartbeat_at":"{now}","keep_alive":true}}"#
    );
    std::fs::write(&service, text).unwrap();
    service
}

#[test]
fn p15_a_supervisor_s_record_of_another_user_is_no_warrant_for_what_he_may_not_signal() {
    if !is_root() {
        return left_out("only root can give files away");
    }
    let bench = Bench::new();
    let child = Real::spawn_leader("sleep", &["60"]);
    let service = service(bench.dir.path(), child.pid(), &bench.host);
    let directory = service.parent().unwrap();
    give_away(directory);
    let stop = || request_stop(&bench.host, bench.dir.path(), Sharing::Private, &NoDependencies).unwrap();
    let written_by_others = || {
        chown(&service, Some(0), Some(NOBODY)).unwrap();
        std::fs::set_permissions(&service, std::fs::Permissions::from_mode(0o660)).unwrap();
    };
    for not_root_s in [&(|| give_away(&service)) as &dyn Fn(), &written_by_others] {
        not_root_s();
        let stop = stop();
        let signal = stop.signal.unwrap();
        assert_eq!(
            (signal.sent(), signal.verdict, stop.status.is_running),
            (false, Generation::Unknown, true)
        );
        assert_eq!(owner(&directory.join("stop.json")), NOBODY, "the user can read it");
    }
    chown(&service, Some(0), Some(0)).unwrap();
    assert!(stop().signal.unwrap().sent());
}

#[test]
fn a_project_of_a_group_stays_the_group_s_below_its_directory() {
    if !is_root() {
        return left_out("only root can give files away");
    }
    let root = tempfile::tempdir().unwrap();
    chown(root.path(), None, Some(NOBODY)).unwrap();
    std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o2770)).unwrap();
    let files: Rc<dyn Files> = Rc::new(Disk::default());
    let path = root.path().join(".harnery/servers");
    Sharing::Group.make_dirs(&files, &path).unwrap();
    for made in [path.parent().unwrap(), &path] {
        let stat = made.metadata().unwrap();
        assert_eq!((stat.gid(), stat.mode() & 0o7777), (NOBODY, 0o2770), "{made:?}");
    }
}

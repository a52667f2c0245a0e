//! What registering, touching and removing do to the files of a registry.

mod registry_support;
mod umask;

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};

use harnery_native::servers::read::{read_records, read_server};
use harnery_native::servers::register::{register, GivenOwner};
use harnery_native::servers::touch::{touch, touch_sparingly};
use harnery_native::servers::unregister::unregister;
use harnery_native::servers::{CoordRoot, Error, Kind, Options, Owner, ServerRecord};
use registry_support::{input, mode, planted, process, Bench, NOBODY};

const NOW: i64 = 1_767_225_600_123;

fn keys(record: &ServerRecord) -> Vec<String> {
    record.object().iter().map(|(key, _)| key.to_string()).collect()
}

#[test]
fn a_registration_is_one_line_in_the_field_order_of_the_harness() {
    let bench = Bench::new();
    let helper = process::idle();
    let mut given = input("a");
    given.kind = Kind::Service;
    given.url = Some("http://x/".into());
    given.port = Some(8080.0);
    given.pids = vec![helper.pid(), f64::NAN, helper.pid(), -1.0, 1.5];
    given.scope = Some("sub/../scope".to_owned());
    given.cwd = Some("/tmp/".to_owned());
    given.log = Some("x.log".to_owned());
    given.owner = GivenOwner::Named(Owner { instance_id: "agent".into(), name: Some("me".into()) });
    let record = bench.register(&given).unwrap();
    assert_eq!(bench.text("a"), record.text());
    assert!(bench.text("a").ends_with("}\n") && bench.text("a").lines().count() == 1);
    let order = "schema_version id kind type label url port pid start_token pids pids_start_tokens host scope cwd log \
                 owner started_at registered_at last_active_at registration_id witness pids_witnesses";
    assert_eq!(keys(&record).join(" "), order);
    assert_eq!(record.object().get("scope").unwrap().as_str().unwrap(), format!("{}/scope", bench.root()));
    assert_eq!(record.object().get("cwd").unwrap().as_str(), Some("/tmp"));
    assert_eq!(record.helpers().len(), 1);
    assert_eq!(record.helpers()[0].number, helper.pid());
    assert!(record.helpers()[0].start_token.is_some() && record.helpers()[0].witness.is_some());
}

#[test]
fn absent_members_are_left_out_and_the_label_is_the_id() {
    let bench = Bench::new();
    let record = bench.register(&input("a")).unwrap();
    let order =
        "schema_version id kind type label pid start_token host started_at registered_at last_active_at \
                 registration_id witness";
    assert_eq!(keys(&record).join(" "), order);
    assert_eq!(record.object().get("label").unwrap().as_str(), Some("a"));
    assert_eq!(record.witness().unwrap().start_token.as_deref(), record.start_token());
}

#[test]
fn what_is_no_server_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    let refused = |change: &dyn Fn(&mut harnery_native::servers::register::Input)| {
        let mut given = input("a");
        change(&mut given);
        bench.register(&given).unwrap_err().to_string()
    };
    assert_eq!(refused(&|given| given.pid = Some(0.0)), "invalid server pid: 0");
    assert_eq!(refused(&|given| given.pid = Some(-1.0)), "invalid server pid: -1");
    assert_eq!(refused(&|given| given.pid = Some(1.5)), "invalid server pid: 1.5");
    assert_eq!(refused(&|given| given.pid = Some(f64::NAN)), "invalid server pid: NaN");
    assert_eq!(refused(&|given| given.pid = Some(4_294_967_297.0)), "invalid server pid: 4294967297");
    assert_eq!(refused(&|given| given.port = Some(0.0)), "invalid server port: 0");
    assert_eq!(refused(&|given| given.port = Some(65_536.0)), "invalid server port: 65536");
    assert_eq!(refused(&|given| given.port = Some(80.5)), "invalid server port: 80.5");
    assert_eq!(refused(&|given| given.port = Some(f64::NAN)), "invalid server port: NaN");
    assert_eq!(refused(&|given| given.id = Some("../a".to_owned())), "invalid server id: ../a");
    assert_eq!(refused(&|given| given.id = Some(String::new())), "invalid server id: ");
    let text = "a path must be a string without null bytes";
    assert_eq!(refused(&|given| given.scope = Some("a\0b".to_owned())), text);
    assert_eq!(refused(&|given| given.log = Some("a\0b".to_owned())), text);
    let me = std::process::id();
    let token = format!("pid {me} generation could not be verified before registration");
    assert_eq!(refused(&|given| given.start_token = Some("l1.1".to_owned())), token);
    assert_eq!(refused(&|given| given.start_token = Some(String::new())), token);
    let large = refused(&|given| given.label = Some("x".repeat(66_000).into()));
    assert!(large.contains("readers take at most 65536"), "{large}");
    assert!(!bench.servers().join("a.json").exists());
    assert!(!bench.servers().exists() || bench.names().iter().all(|name| name == ".registry.lock"));
}

#[test]
fn a_start_token_that_is_the_process_s_own_is_recorded() {
    let bench = Bench::new();
    let token = bench.host.processes.start_token(bench.host.processes.me());
    let mut given = input("a");
    given.start_token = token.clone();
    let record = bench.register(&given).unwrap();
    assert_eq!(record.start_token(), token.as_deref());
    assert!(record.witness().is_some());
}

#[test]
fn without_a_project_nothing_is_registered_read_touched_or_removed() {
    let bench = Bench::new();
    let options = Options { coord_root: CoordRoot::None, ..Options::default() };
    let registry = bench.registry();
    assert!(register(&registry, &input("a"), &options).unwrap().is_none());
    assert!(read_server(&registry, "a", &options).unwrap().is_none());
    assert!(read_records(&registry, &options).unwrap().is_empty());
    touch(&registry, "a", &options, NOW).unwrap();
    assert!(!unregister(&registry, "a", None, &options).unwrap());
}

#[test]
fn the_project_is_the_nearest_directory_with_a_harnery_directory() {
    let bench = Bench::new();
    let registry = bench.registry();
    let found = || registry.project(&CoordRoot::Unset).unwrap().map(|project| project.coord_root);
    let under = |path: &str| format!("{}/{path}", bench.root());
    std::fs::create_dir_all(under("one/.harnery")).unwrap();
    std::fs::create_dir_all(under("one/deep/er")).unwrap();
    std::fs::create_dir_all(under("two/.harnery")).unwrap();
    *bench.environment.current.borrow_mut() = under("two").into();
    assert_eq!(found(), Some(under("two")));
    bench.environment.set("CLAUDE_PROJECT_DIR", &under("one/deep/er"));
    assert_eq!(found(), Some(under("one")));
    bench.environment.set("HARNERY_COORD_ROOT_OVERRIDE", &under("three"));
    assert_eq!(found(), Some(under("three")));
}

#[test]
fn s5_a_project_whose_name_is_no_text_is_found_where_it_is() {
    let bench = Bench::new();
    let root = bench.dir.path().join(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    std::fs::create_dir_all(root.join(".harnery")).unwrap();
    *bench.environment.current.borrow_mut() = root.clone();
    register(&bench.registry(), &input("a"), &Options::default()).unwrap().unwrap();
    assert!(root.join(".harnery/servers/a.json").exists());
    assert_eq!(std::fs::read_dir(bench.dir.path()).unwrap().count(), 1, "and nowhere else");
}

#[test]
fn a_root_with_a_nul_is_an_error_and_no_shorter_path() {
    let bench = Bench::new();
    let options = Options { coord_root: CoordRoot::At(format!("{}\0x", bench.root())), ..Options::default() };
    assert!(matches!(register(&bench.registry(), &input("a"), &options), Err(Error::Nul(_))));
    assert!(!bench.servers().exists());
}

#[test]
fn an_id_that_is_not_valid_never_reaches_the_file_system() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.servers()).unwrap();
    std::fs::write(bench.dir.path().join(".harnery/x.json"), planted("x", 1, "")).unwrap();
    let (registry, options) = (bench.registry(), bench.options());
    assert!(read_server(&registry, "../x", &options).unwrap().is_none());
    assert!(!unregister(&registry, "../x", None, &options).unwrap());
    touch(&registry, "../x", &options, NOW).unwrap();
    assert!(bench.dir.path().join(".harnery/x.json").exists());
}

#[test]
fn a_touch_changes_its_own_field_alone() {
    let bench = Bench::new();
    let text = planted("a", 7, r#","mine":{"b":1,"a":"\ud83d"},"last_active_at":"x","zzz":1e+21"#);
    bench.plant("a", &text);
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert_eq!(bench.text("a"), text.replace(r#""x""#, r#""2026-01-01T00:00:00.123Z""#) + "\n");
    touch(&bench.registry(), "b", &bench.options(), NOW).unwrap();
    assert!(!bench.file("b").exists());
}

#[test]
fn a_touch_of_what_is_no_record_leaves_it() {
    let bench = Bench::new();
    bench.plant("a", "{");
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert_eq!(bench.text("a"), "{");
}

#[test]
fn a_sparing_touch_touches_once_a_minute_and_never_fails() {
    let bench = Bench::new();
    bench.plant("a", &planted("a", 7, ""));
    let last = touch_sparingly(&bench.registry(), "a", &bench.options(), None);
    let first = bench.text("a");
    assert!(first.contains("last_active_at"));
    bench.plant("a", &planted("a", 7, ""));
    assert_eq!(touch_sparingly(&bench.registry(), "a", &bench.options(), Some(last)), last);
    assert!(!bench.text("a").contains("last_active_at"), "the minute is not over");
    let earlier = last.saturating_sub(std::time::Duration::from_secs(60));
    assert!(touch_sparingly(&bench.registry(), "a", &bench.options(), Some(earlier)) > earlier);
    assert!(bench.text("a").contains("last_active_at"));
    let nowhere = Options { coord_root: CoordRoot::At("/dev/null/x".to_owned()), ..Options::default() };
    touch_sparingly(&bench.registry(), "a", &nowhere, None);
}

#[test]
fn r8_a_removal_with_a_pid_takes_only_the_record_that_names_it() {
    let bench = Bench::new();
    bench.plant("a", &planted("a", 7, ""));
    let remove = |pid| unregister(&bench.registry(), "a", pid, &bench.options()).unwrap();
    assert!(!remove(Some(8.0)));
    assert!(remove(Some(7.0)));
    assert!(!remove(Some(7.0)));
    bench.plant("a", "{");
    assert!(!remove(Some(7.0)), "what cannot be read may name any process");
    assert!(remove(None));
    assert!(!bench.file("a").exists());
}

#[test]
fn records_are_sorted_as_local_compare_sorts_kind_type_and_id() {
    let bench = Bench::new();
    for (id, kind, server_type) in [
        ("b", Kind::Session, "a"),
        ("a1", Kind::Session, "B"),
        ("a-1", Kind::Session, "B"),
        ("a_1", Kind::Session, "B"),
        ("z", Kind::Service, "z"),
        ("c", Kind::Session, "_"),
    ] {
        let mut given = input(id);
        (given.kind, given.server_type) = (kind, server_type.into());
        bench.register(&given).unwrap();
    }
    let ids: Vec<_> = read_records(&bench.registry(), &bench.options())
        .unwrap()
        .iter()
        .map(|record| record.id().into_owned())
        .collect();
    assert_eq!(ids, ["z", "c", "b", "a_1", "a-1", "a1"]);
}

#[test]
fn r9_a_thousand_good_records_are_read_among_everything_that_is_none() {
    let bench = Bench::new();
    for number in 0..1000 {
        bench.plant(&format!("good-{number}"), &planted(&format!("good-{number}"), NOBODY, ""));
    }
    bench.plant("empty", "");
    bench.plant("torn", &planted("torn", 1, "")[..40]);
    bench.plant("large", &planted("large", 1, &format!(r#","x":"{}""#, "x".repeat(1 << 20))));
    std::fs::write(bench.file("bytes"), b"{\"schema_version\":1,\xff\xfe").unwrap();
    std::fs::create_dir(bench.file("directory")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(bench.file("fifo")).status().unwrap().success());
    let target = bench.dir.path().join("target");
    std::fs::write(&target, planted("link", 1, "")).unwrap();
    symlink(&target, bench.file("link")).unwrap();
    bench.plant("schema", &planted("schema", 1, "").replace("version\":1", "version\":9"));
    let before = bench.names();
    let records = read_records(&bench.registry(), &bench.options()).unwrap();
    assert_eq!(records.len(), 1000);
    assert_eq!(bench.names(), before);
    for id in ["empty", "torn", "large", "bytes", "directory", "fifo", "link", "schema"] {
        assert!(read_server(&bench.registry(), id, &bench.options()).unwrap().is_none(), "{id}");
    }
}

#[test]
fn a_record_of_64_kib_is_read_and_one_byte_more_is_not() {
    let bench = Bench::new();
    let text = planted("a", 1, "");
    bench.plant("a", &(text.clone() + &" ".repeat(65_536 - text.len())));
    assert!(read_server(&bench.registry(), "a", &bench.options()).unwrap().is_some());
    bench.plant("a", &(text.clone() + &" ".repeat(65_537 - text.len())));
    assert!(read_server(&bench.registry(), "a", &bench.options()).unwrap().is_none());
}

#[test]
fn s1_a_symbolic_link_as_a_record_is_refused_and_its_target_unchanged() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.servers()).unwrap();
    let target = bench.dir.path().join("target");
    let directory = bench.dir.path().join("directory");
    std::fs::create_dir(&directory).unwrap();
    std::fs::write(&target, planted("a", 7, "")).unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    let state = || {
        let stat = std::fs::metadata(&target).unwrap();
        (std::fs::read(&target).unwrap(), stat.mode(), stat.mtime_nsec(), stat.ino())
    };
    let before = state();
    for to in [&target, &directory, &bench.dir.path().join("missing")] {
        symlink(to, bench.file("a")).unwrap();
        let (registry, options) = (bench.registry(), bench.options());
        assert!(matches!(bench.register(&input("a")), Err(Error::Retained(_))));
        assert!(read_server(&registry, "a", &options).unwrap().is_none());
        touch(&registry, "a", &options, NOW).unwrap();
        assert!(!unregister(&registry, "a", Some(7.0), &options).unwrap());
        assert!(matches!(unregister(&registry, "a", None, &options), Err(Error::Retained(_))));
        assert!(std::fs::symlink_metadata(bench.file("a")).unwrap().is_symlink());
        assert_eq!(state(), before);
        std::fs::remove_file(bench.file("a")).unwrap();
    }
    assert!(!bench.dir.path().join("missing").exists());
    assert_eq!(bench.names(), [".registry.lock"], "no temporary file is left");
}

#[test]
fn s1_a_registry_that_is_a_symbolic_link_is_refused() {
    let bench = Bench::new();
    let elsewhere = bench.dir.path().join("elsewhere");
    std::fs::create_dir_all(&elsewhere).unwrap();
    std::fs::create_dir(bench.dir.path().join(".harnery")).unwrap();
    symlink(&elsewhere, bench.servers()).unwrap();
    let error = bench.register(&input("a")).unwrap_err().to_string();
    assert!(error.contains("is a symbolic link; make it a real directory"), "{error}");
    assert!(read_records(&bench.registry(), &bench.options()).is_err());
    assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn s2_a_symbolic_link_among_the_parents_works() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.dir.path().join("real/.h")).unwrap();
    symlink(bench.dir.path().join("real/.h"), bench.dir.path().join("real/.harnery")).unwrap();
    symlink(bench.dir.path().join("real"), bench.dir.path().join("link")).unwrap();
    let options =
        Options { coord_root: CoordRoot::At(format!("{}/link", bench.root())), ..Options::default() };
    register(&bench.registry(), &input("a"), &options).unwrap().unwrap();
    assert!(bench.dir.path().join("real/.h/servers/a.json").exists());
}

#[test]
fn s3_private_and_shared_modes_are_exact() {
    let bench = Bench::new();
    bench.register(&input("a")).unwrap();
    assert_eq!(mode(&bench.servers()), 0o700);
    assert_eq!(mode(&bench.dir.path().join(".harnery")), 0o700);
    assert_eq!(mode(&bench.file("a")), 0o600);
    assert_eq!(mode(&bench.servers().join(".registry.lock")), 0o600);

    let bench = Bench::new();
    bench.environment.set("HARNERY_STORAGE_SHARING", "group");
    bench.register(&input("a")).unwrap();
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert_eq!(mode(&bench.servers()), 0o770);
    assert_eq!(mode(&bench.dir.path().join(".harnery")), 0o770);
    assert_eq!(mode(&bench.file("a")), 0o660);
    assert_eq!(mode(&bench.servers().join(".registry.lock")), 0o660);
}

#[test]
fn s3_the_modes_are_the_same_whatever_the_umask() {
    umask::passes_under_any("s3_private_and_shared_modes_are_exact");
}

#[test]
fn sharing_is_the_project_s_own_configuration_and_not_the_user_s() {
    let bench = Bench::new();
    let user = bench.dir.path().join("user/harnery");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join("config.jsonc"), r#"{"storage":{"sharing":"group"}}"#).unwrap();
    bench.environment.set("XDG_CONFIG_HOME", &format!("{}/user", bench.root()));
    bench.register(&input("a")).unwrap();
    assert_eq!(mode(&bench.file("a")), 0o600);
    let own = bench.dir.path().join(".harnery/config.jsonc");
    std::fs::write(own, "{ // shared\n \"storage\": { \"sharing\": \"group\" } }").unwrap();
    bench.register(&input("b")).unwrap();
    assert_eq!(mode(&bench.file("b")), 0o660);
    bench.environment.set("HARNERY_STORAGE_SHARING", "private");
    bench.register(&input("c")).unwrap();
    assert_eq!(mode(&bench.file("c")), 0o600);
}

#[test]
fn a_failed_write_leaves_the_old_record_and_no_temporary_file() {
    let bench = Bench::new();
    bench.register(&input("a")).unwrap();
    let before = bench.text("a");
    // The lock's name is a directory's, so what is written cannot be published.
    std::fs::remove_file(bench.servers().join(".registry.lock")).unwrap();
    let lock = bench.servers().join(".registry.lock");
    let refused = || {
        let error = bench.register(&input("a")).unwrap_err();
        assert!(matches!(error, Error::Retained(_)), "{error:?}");
        let what_to_do =
            format!("{} is no plain file; nothing was changed, remove it by hand", lock.display());
        assert_eq!(error.to_string(), what_to_do);
        assert_eq!(bench.text("a"), before);
        assert_eq!(bench.names(), [".registry.lock", "a.json"]);
    };
    std::fs::create_dir(&lock).unwrap();
    refused();
    std::fs::remove_dir(&lock).unwrap();
    std::os::unix::fs::symlink("elsewhere", &lock).unwrap();
    refused();
}

#[test]
fn a_touch_by_root_keeps_the_file_s_owner() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can touch for another user");
        return;
    }
    let bench = Bench::new();
    bench.plant("a", &planted("a", 7, ""));
    std::os::unix::fs::chown(bench.file("a"), Some(65_534), Some(65_533)).unwrap();
    touch(&bench.registry(), "a", &bench.options(), NOW).unwrap();
    assert!(bench.text("a").contains("00.123Z"));
    let stat = std::fs::metadata(bench.file("a")).unwrap();
    assert_eq!((stat.uid(), stat.gid()), (65_534, 65_533));
}

//! What a listing says of real processes and sockets, and what it removes.
//!
//! The states that they need are staged with Linux's namespaces and `/proc`.

#![cfg(target_os = "linux")]

mod real;
mod registry_support;

use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::rc::Rc;
use std::time::{Duration, Instant};

use harnery_native::javascript::text::Text;
use harnery_native::net::ScanSupport;
use harnery_native::servers::adopt::{adopt, Adoption};
use harnery_native::servers::list::{list_servers, ListOptions, Report, View};
use harnery_native::servers::ports::allocate;
use harnery_native::servers::register::GivenOwner;
use harnery_native::servers::{
    server_state, CoordRoot, Error, Kind, Options, Schema, ServerRecord, ServerState,
};
use registry_support::{input, planted, process, Bench, NOBODY};

fn list(bench: &Bench) -> Report {
    list_with(bench, |_| {})
}

fn list_with(bench: &Bench, change: impl FnOnce(&mut ListOptions)) -> Report {
    let mut options = ListOptions { options: bench.options(), ..ListOptions::default() };
    change(&mut options);
    list_servers(&bench.registry(), &options).unwrap()
}

fn only(report: &Report) -> &View {
    assert_eq!(report.servers.len(), 1, "{report:?}");
    &report.servers[0]
}

fn state(bench: &Bench, text: &str) -> ServerState {
    let record = ServerRecord::read(text.as_bytes(), Schema::Current).expect("a record");
    server_state(bench.host.processes.as_ref(), &record)
}

#[test]
fn without_a_project_there_is_nothing_to_list() {
    let bench = Bench::new();
    let options = Options { coord_root: CoordRoot::None, ..Options::default() };
    let error =
        list_servers(&bench.registry(), &ListOptions { options, ..ListOptions::default() }).unwrap_err();
    assert!(matches!(error, Error::NoProject));
    assert_eq!(error.to_string(), "no Harnery project found (coordination root did not resolve)");
}

#[test]
fn a_process_that_lives_is_running_until_it_ends_and_then_its_record_is_pruned() {
    let bench = Bench::new();
    let mut helper = process::idle();
    let mut given = input("a");
    given.pid = Some(helper.pid());
    bench.register(&given).unwrap();
    assert_eq!(only(&list(&bench)).state, ServerState::Running);
    helper.end_and_reap();
    let kept = list_with(&bench, |options| options.prune = false);
    assert_eq!((only(&kept).state, kept.pruned.len()), (ServerState::Dead, 0));
    let report = list(&bench);
    assert_eq!((report.servers.len(), report.pruned), (0, vec!["a".to_owned()]));
    assert!(!bench.file("a").exists());
}

#[test]
fn p3_a_child_that_nobody_reaps_is_dead_and_its_port_is_free() {
    let bench = Bench::new();
    let (mut helper, ports) = process::listening("127.0.0.1:0", "/", &[]);
    let port = ports[0];
    let mut given = input("a");
    (given.pid, given.port) = (Some(helper.pid()), Some(f64::from(port)));
    bench.register(&given).unwrap();
    configure(&bench, &format!(r#"{{"servers":{{"port_ranges":{{"web":[{port},{port}]}}}}}}"#));
    let taken = allocate(&bench.registry(), "web", &bench.options()).unwrap_err();
    assert_eq!(taken.to_string(), format!("no free port for web in {port}-{port}"));
    helper.end();
    // The kernel closes the socket before the process can be waited for.
    rustix::process::waitid(
        rustix::process::WaitId::Pid(rustix::process::Pid::from_raw(helper.number() as i32).unwrap()),
        rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT,
    )
    .unwrap();
    assert_eq!(only(&list_with(&bench, |options| options.prune = false)).state, ServerState::Dead);
    assert_eq!(allocate(&bench.registry(), "web", &bench.options()).unwrap(), Some(port));
    assert_eq!(list(&bench).pruned, ["a"]);
}

#[test]
fn the_first_process_of_a_container_is_a_server_like_any_other() {
    let seen = real::in_a_pid_namespace(true, || {
        let bench = Bench::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut given = input("a");
        given.port = Some(f64::from(port));
        bench.register(&given).unwrap();
        let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let report = list(&bench);
        let used = only(&report).connections;
        format!(
            "pid {}, {used:?} connections, {} unregistered",
            bench.host.processes.me(),
            report.unregistered.len()
        )
    });
    let Some(seen) = seen else { return };
    assert_eq!(seen, "pid 1, Some(1) connections, 0 unregistered");
}

#[test]
fn p1_a_record_whose_pid_is_another_process_s_is_dead_and_kept() {
    let bench = Bench::new();
    let helper = process::idle();
    bench.plant("a", &planted("a", helper.number(), r#","start_token":"l00000000.1""#));
    let report = list(&bench);
    assert_eq!((only(&report).state, report.pruned.len()), (ServerState::Dead, 0));
    assert!(bench.file("a").exists());
}

#[test]
fn a_dead_server_whose_helper_lives_is_kept() {
    let bench = Bench::new();
    let helper = process::idle();
    bench.plant("a", &planted("a", NOBODY, &format!(r#","pids":[{}]"#, helper.number())));
    let report = list(&bench);
    assert_eq!((only(&report).state, report.pruned.len()), (ServerState::Dead, 0));
}

#[test]
fn r10_what_cannot_be_known_is_not_dead_and_not_pruned() {
    let bench = Bench::new();
    bench.plant("pid", &planted("pid", 4_294_967_297, ""));
    bench.plant("helper", &planted("helper", NOBODY, r#","pids":["x"]"#));
    bench.plant("helpers", &planted("helpers", NOBODY, r#","pids":7"#));
    let elsewhere = r#","pids":[2147483631],"pids_witnesses":{"2147483631":{"pid_namespace":"1"}}"#;
    bench.plant("elsewhere", &planted("elsewhere", NOBODY, elsewhere));
    let report = list(&bench);
    assert_eq!(report.pruned, Vec::<String>::new());
    let states: Vec<_> = report.servers.iter().map(|view| (view.record.id(), view.state)).collect();
    assert!(states.contains(&("pid".into(), ServerState::Running)), "{states:?}");
    assert_eq!(states.len(), 4);
}

#[test]
fn a_witness_decides_before_the_token() {
    let bench = Bench::new();
    let me = bench.host.processes.me();
    let my = bench.host.processes.witness(me).expect("this process can be observed");
    let token = my.start_token.clone().unwrap();
    let pid = i64::from(me.get());
    let with = |witness: &str| {
        state(&bench, &planted("a", pid, &format!(r#","start_token":"l1.1","witness":{witness}"#)))
    };
    assert_eq!(with(&format!(r#"{{"start_token":"{token}"}}"#)), ServerState::Running);
    assert_eq!(with(r#"{"pid_namespace":"1"}"#), ServerState::OtherHost);
    assert_eq!(with(r#"{"start_token":"l00000000.1"}"#), ServerState::Dead);
    assert_eq!(with("{}"), ServerState::Running);
    let boot = token.split('.').next().unwrap();
    let time = my.time_namespace.clone().unwrap();
    let other = format!(r#"{{"start_token":"{boot}.1","time_namespace":"{time}"}}"#);
    assert_eq!(with(&other), ServerState::Dead);
}

#[test]
fn without_a_witness_presence_and_token_decide() {
    let bench = Bench::new();
    let me = bench.host.processes.me();
    let pid = i64::from(me.get());
    let token = bench.host.processes.start_token(me).unwrap();
    assert_eq!(state(&bench, &planted("a", pid, "")), ServerState::Running);
    assert_eq!(
        state(&bench, &planted("a", pid, &format!(r#","start_token":"{token}""#))),
        ServerState::Running
    );
    let old = format!("l{}", token.split('.').nth(1).unwrap());
    assert_eq!(
        state(&bench, &planted("a", pid, &format!(r#","start_token":"{old}""#))),
        ServerState::Running
    );
    assert_eq!(state(&bench, &planted("a", pid, r#","start_token":"l1.1""#)), ServerState::Dead);
    assert_eq!(state(&bench, &planted("a", NOBODY, "")), ServerState::Dead);
    let elsewhere = planted("a", pid, "").replace(r#""host":""#, r#""host":"not-"#);
    assert_eq!(state(&bench, &elsewhere), ServerState::OtherHost);
    bench.plant("a", &elsewhere.replace(&pid.to_string(), &NOBODY.to_string()));
    assert_eq!(list(&bench).pruned.len(), 0);
}

#[test]
fn connections_count_as_use_and_are_written_back() {
    let bench = Bench::new();
    if list(&bench).scan == ScanSupport::Unsupported {
        eprintln!("skipped: sockets cannot be scanned here");
        return;
    }
    let (helper, ports) = process::listening("127.0.0.1:0", "/", &[]);
    bench.plant("a", &planted("a", helper.number(), &format!(r#","port":{},"mine":1"#, ports[0])));
    let now = 1_767_225_660_000;
    let quiet = list_with(&bench, |options| options.now_ms = Some(now));
    assert_eq!((only(&quiet).connections, only(&quiet).idle_ms), (Some(0), 60_000));
    assert_eq!(only(&quiet).last_active_at, "2026-01-01T00:00:00.000Z");
    let _client = TcpStream::connect(("127.0.0.1", ports[0])).unwrap();
    let unsampled = list_with(&bench, |options| (options.now_ms, options.sample) = (Some(now), false));
    assert_eq!((only(&unsampled).connections, only(&unsampled).idle_ms), (Some(1), 60_000));
    assert!(!bench.text("a").contains("last_active_at"));
    let used = list_with(&bench, |options| options.now_ms = Some(now));
    assert_eq!((only(&used).connections, only(&used).idle_ms), (Some(1), 0));
    assert_eq!(only(&used).last_active_at, "2026-01-01T00:01:00.000Z");
    assert!(bench.text("a").contains(r#""last_active_at":"2026-01-01T00:01:00.000Z""#));
    assert!(bench.text("a").contains(r#""mine":1"#));
}

#[test]
fn r6_connections_of_somebody_else_on_the_port_are_not_the_server_s() {
    let bench = Bench::new();
    let (_other, ports) = process::listening("127.0.0.1:0", "/", &[]);
    let helper = process::idle();
    bench.plant("a", &planted("a", helper.number(), &format!(r#","port":{}"#, ports[0])));
    let _client = TcpStream::connect(("127.0.0.1", ports[0])).unwrap();
    let report = list(&bench);
    assert_eq!(only(&report).connections, Some(0));
    assert!(!bench.text("a").contains("last_active_at"));
}

#[test]
fn idle_time_is_never_negative_and_nothing_for_an_invalid_instant() {
    let bench = Bench::new();
    let pid = i64::from(std::process::id());
    bench.plant("a", &planted("a", pid, r#","last_active_at":"2099-01-01T00:00:00Z""#));
    assert_eq!(only(&list(&bench)).idle_ms, 0);
    bench.plant("a", &planted("a", pid, r#","last_active_at":"yesterday""#));
    let report = list(&bench);
    assert_eq!((only(&report).idle_ms, only(&report).last_active_at.as_str()), (0, "yesterday"));
}

#[test]
fn an_unregistered_listener_of_the_project_is_found_and_adopted() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.servers()).unwrap();
    let (helper, mut ports) = process::listening("127.0.0.1:0 127.0.0.1:0 [::1]:0", bench.root(), &[]);
    ports.sort_unstable();
    let report = list(&bench);
    let found: Vec<_> = report.unregistered.iter().map(|listener| listener.port).collect();
    assert_eq!(found, ports);
    let listener = &report.unregistered[0];
    assert_eq!(f64::from(listener.pid.get()), helper.pid());
    assert_eq!(listener.cwd.as_deref(), Some(bench.root()));
    assert!(listener.command.chars().count() <= 300 && listener.command.contains("a_child_plays_its_role"));
    assert_eq!(list_with(&bench, |options| options.scan = false).unregistered, []);

    let record = adopt(&bench.registry(), helper.pid(), &Adoption::default(), &bench.options()).unwrap();
    let field = |key: &str| record.object().get(key).and_then(|value| value.as_str()).unwrap().to_owned();
    assert_eq!(record.port(), Some(ports[0]));
    assert_eq!((field("cwd"), field("scope")), (bench.root().to_owned(), bench.root().to_owned()));
    let expected: String = format!("Adopted: {}", &listener.command[..80]);
    assert_eq!(field("label"), expected);
    assert_eq!((field("type").as_str(), field("kind").as_str()), ("adopted", "session"));
    let place = std::path::PathBuf::from(format!("{}#{}", bench.root(), helper.pid()));
    assert_eq!(record.id(), harnery_native::servers::names::server_id("adopted", Some(&place)));
    assert_eq!(list(&bench).unregistered, []);

    let again = adopt(&bench.registry(), helper.pid(), &Adoption::default(), &bench.options()).unwrap_err();
    let text = format!("pid {} is not an unregistered listener inside this project", helper.pid());
    assert_eq!(again.to_string(), text);
    let nobody = adopt(&bench.registry(), f64::NAN, &Adoption::default(), &bench.options()).unwrap_err();
    assert_eq!(nobody.to_string(), "pid NaN is not an unregistered listener inside this project");
}

#[test]
fn a_listener_on_the_ipv6_loopback_alone_is_adopted_with_its_url() {
    let bench = Bench::new();
    let (helper, ports) = process::listening("[::1]:0", bench.root(), &[]);
    let adoption =
        Adoption { server_type: Text::from("web"), owner: GivenOwner::Nobody, ..Adoption::default() };
    let record = adopt(&bench.registry(), helper.pid(), &adoption, &bench.options()).unwrap();
    assert_eq!(
        record.object().get("url").unwrap().as_str(),
        Some(format!("http://[::1]:{}/", ports[0]).as_str())
    );
}

#[test]
fn a_listener_is_the_project_s_by_an_argument_and_through_a_symbolic_link() {
    let bench = Bench::new();
    let path = format!("{}/x", bench.root());
    let (_outside, _) = process::listening("127.0.0.1:0", "/", &[]);
    assert_eq!(list(&bench).unregistered, []);
    let (by_argument, _) = process::listening("127.0.0.1:0", "/", &[&path]);
    let found = list(&bench).unregistered;
    assert_eq!(found.iter().map(|l| f64::from(l.pid.get())).collect::<Vec<_>>(), [by_argument.pid()]);

    let other = Bench::new();
    let link = other.dir.path().join("link");
    symlink(bench.root(), &link).unwrap();
    let (by_directory, _) = process::listening("127.0.0.1:0", bench.root(), &[]);
    let report = list_with(&bench, |options| {
        options.options.coord_root = CoordRoot::At(link.to_str().unwrap().to_owned());
    });
    assert!(report.unregistered.iter().any(|l| f64::from(l.pid.get()) == by_directory.pid()));
}

#[test]
fn r5_two_servers_on_one_port_in_two_families_are_two_rows() {
    let bench = Bench::new();
    let (first, ports) = process::listening("127.0.0.1:0", bench.root(), &[]);
    let (second, _) = process::listening(&format!("[::1]:{}", ports[0]), bench.root(), &[]);
    let mut rows: Vec<_> = list(&bench)
        .unregistered
        .into_iter()
        .map(|listener| (listener.port, listener.address, f64::from(listener.pid.get())))
        .collect();
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    let port = ports[0];
    assert_eq!(rows, [(port, "127.0.0.1".to_owned(), first.pid()), (port, "::1".to_owned(), second.pid())]);
}

#[test]
fn r5_a_port_that_is_listened_on_in_one_family_is_not_free() {
    for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0", "[::]:0"] {
        let bench = Bench::new();
        let listener = std::net::TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        configure(&bench, &format!(r#"{{"servers":{{"port_ranges":{{"web":[{port},{port}]}}}}}}"#));
        let taken = allocate(&bench.registry(), "web", &bench.options()).unwrap_err();
        assert_eq!(taken.to_string(), format!("no free port for web in {port}-{port}"), "{address}");
    }
}

#[test]
fn r4_a_socket_that_several_processes_share_is_the_server_s_when_one_of_them_is() {
    let bench = Bench::new();
    // Both hold the socket: the server and a child that it has started.
    let (server, ports) = process::inheriting("127.0.0.1:0", bench.root());
    let recorded = |pid: f64| {
        bench.plant("a", &planted("a", pid as i64, &format!(r#","port":{}"#, ports[0])));
        list(&bench)
    };
    let _client = TcpStream::connect(("127.0.0.1", ports[0])).unwrap();
    for pid in [server.pid(), server.heir()] {
        let report = recorded(pid);
        assert_eq!((only(&report).connections, report.unregistered), (Some(1), vec![]));
    }
    // A server on another port does not account for it by its number, but by its descent.
    bench.plant("a", &planted("a", server.number(), r#","port":1"#));
    assert_eq!(list(&bench).unregistered, []);
    bench.plant("a", &planted("a", i64::from(std::process::id()), r#","port":1"#));
    assert_eq!(list(&bench).unregistered, [], "this process's descendants are its own");
    std::fs::remove_file(bench.file("a")).unwrap();
    assert_eq!(list(&bench).unregistered.len(), 1, "one row, with the lowest pid");
}

#[test]
fn r3_a_descriptor_inherited_by_an_unrelated_child_does_not_keep_the_record_alive() {
    let bench = Bench::new();
    // The listening process leaves its socket to a child and is killed.
    let (mut parent, ports) = process::inheriting("127.0.0.1:0", bench.root());
    bench.plant("a", &planted("a", parent.number(), &format!(r#","port":{}"#, ports[0])));
    parent.end_and_reap();
    let report = list(&bench);
    assert_eq!(report.pruned, ["a"]);
    let holder =
        report.unregistered.iter().find(|listener| listener.port == ports[0]).expect("the port is held");
    assert_eq!(f64::from(holder.pid.get()), parent.heir());
}

#[test]
fn p13_two_equal_servers_in_two_work_trees_are_two_records() {
    let bench = Bench::new();
    let (one, two) = (process::idle(), process::idle());
    for (helper, scope) in [(&one, "/w/one"), (&two, "/w/two")] {
        let mut given = input("x");
        (given.id, given.pid, given.scope) = (None, Some(helper.pid()), Some(scope.to_owned()));
        bench.register(&given).unwrap();
    }
    let report = list(&bench);
    assert_eq!(report.servers.len(), 2);
    assert!(report.servers.iter().all(|view| view.state == ServerState::Running));
}

fn configure(bench: &Bench, text: &str) {
    std::fs::create_dir_all(bench.servers()).unwrap();
    std::fs::write(bench.dir.path().join(".harnery/config.jsonc"), text).unwrap();
}

/// List until a record is remembered: it is not while its file was changed a moment ago.
fn remembered(bench: &Bench) -> Rc<ServerRecord> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let [before, after] = [list(bench), list(bench)].map(|report| Rc::clone(&only(&report).record));
        if Rc::ptr_eq(&before, &after) {
            return after;
        }
        assert!(Instant::now() < end, "the record is never remembered");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_record_that_stands_is_not_read_again_and_one_that_was_changed_in_place_is() {
    let bench = Bench::new();
    bench.register(&input("a")).unwrap();
    assert_eq!(remembered(&bench).id(), "a");
    let text = bench.text("a");
    // Of the same size, in the same file.
    bench.plant("a", &text.replace("\"session\"", "\"service\""));
    assert_eq!(only(&list(&bench)).record.kind(), Some(Kind::Service));
    remembered(&bench);
    bench.plant("a", "{}");
    assert_eq!(list(&bench).servers.len(), 0);
    bench.plant("a", &text);
    remembered(&bench);
    std::fs::remove_file(bench.file("a")).unwrap();
    assert_eq!(list(&bench).servers.len(), 0);
}

#[test]
fn what_is_remembered_of_one_contract_or_project_says_nothing_of_another() {
    let mut bench = Bench::new();
    bench.register(&input("a")).unwrap();
    remembered(&bench);
    bench.schema = Schema::Custody;
    let refused =
        list_servers(&bench.registry(), &ListOptions { options: bench.options(), ..ListOptions::default() });
    assert!(matches!(refused, Err(Error::Retained(_))));
    let mut other = Bench::new();
    other.host = bench.host.clone();
    other.plant("a", &planted("a", 1, r#","port":80"#));
    remembered(&other);
    bench.schema = Schema::Current;
    assert_eq!(only(&list(&bench)).record.port(), None);
}

//! What the caller's host answers, and what is configured: owners, sharing, ports, the plan of garbage collection.

mod registry_support;

use std::os::unix::fs::symlink;

use harnery_native::files::Sharing;
use harnery_native::javascript::json;
use harnery_native::javascript::text::Text;
use harnery_native::process::Asked;
use harnery_native::servers::gc::{decide, Decision, Policy, Subject};
use harnery_native::servers::list::{list_servers, ListOptions, Report};
use harnery_native::servers::ports::allocate;
use harnery_native::servers::register::GivenOwner;
use harnery_native::servers::{Answers, CoordRoot, Owner, OwnerState, OwnerStates};
use registry_support::{input, planted, Bench, NOBODY};

fn list_with(bench: &Bench, change: impl FnOnce(&mut ListOptions)) -> Report {
    let mut options = ListOptions { options: bench.options(), ..ListOptions::default() };
    change(&mut options);
    list_servers(&bench.registry(), &options).unwrap()
}

#[test]
fn ports_come_from_the_configured_range_project_over_user_field_by_field() {
    let bench = Bench::new();
    let options = bench.options();
    let free = |server_type: &str| allocate(&bench.registry(), server_type, &options);
    assert_eq!(free("web").unwrap(), None);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let user = bench.dir.path().join("user/harnery");
    std::fs::create_dir_all(&user).unwrap();
    bench.environment.set("HOME", "/nowhere");
    bench.environment.set("XDG_CONFIG_HOME", &format!("{}/user", bench.root()));
    let user_text = r#"{"servers":{"port_ranges":{"web":[1,2],"api":[7001,7001]}}}"#;
    std::fs::write(user.join("config.jsonc"), user_text).unwrap();
    configure(
        &bench,
        &format!(r#"/* mine */ {{"servers":{{"port_ranges":{{"web":[{port},{}]}}}}}}"#, port + 1),
    );
    assert_eq!(free("web").unwrap(), Some(port + 1));
    assert_eq!(free("api").unwrap(), Some(7001));
    let me = i64::from(std::process::id());
    bench.plant("a", &planted("a", me, r#","port":7001"#));
    assert_eq!(free("api").unwrap_err().to_string(), "no free port for api in 7001-7001");
    bench.plant("a", &planted("a", NOBODY, r#","port":7001"#));
    assert_eq!(free("api").unwrap(), Some(7001));
    configure(&bench, r#"{"servers":{"port_ranges":{"web":[9,8],"api":["a",7]}},}"#);
    assert_eq!(free("web").unwrap(), Some(1), "a torn file counts as empty");
    for range in ["[9,8]", "[0,5]", "[1]", "[1,2,3]", "[1.5,2]", r#"["1",2]"#, "7"] {
        configure(&bench, &format!(r#"{{"servers":{{"port_ranges":{{"web":{range}}}}}}}"#));
        assert_eq!(free("web").unwrap(), Some(1), "{range} is malformed");
    }
}

#[test]
fn a_configuration_file_may_be_a_symbolic_link() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.servers()).unwrap();
    let kept = bench.dir.path().join("dotfiles.jsonc");
    std::fs::write(&kept, r#"{"servers":{"port_ranges":{"web":[7002,7002]}}}"#).unwrap();
    symlink(&kept, bench.dir.path().join(".harnery/config.jsonc")).unwrap();
    assert_eq!(allocate(&bench.registry(), "web", &bench.options()).unwrap(), Some(7002));
}

fn configure(bench: &Bench, text: &str) {
    std::fs::create_dir_all(bench.servers()).unwrap();
    std::fs::write(bench.dir.path().join(".harnery/config.jsonc"), text).unwrap();
}

/// A host that knows everybody whose name it can read.
#[derive(Debug)]
struct Known {
    throws: bool,
}

struct Names;

impl OwnerStates for Names {
    fn of(&self, instance_id: &Text) -> Asked<OwnerState> {
        match instance_id.to_str() {
            Some("gone") => Asked::Answered(OwnerState::Ended),
            Some("here") => Asked::Answered(OwnerState::Live),
            _ => Asked::Threw,
        }
    }
}

impl Answers for Known {
    fn resolve_coord_root(&self) -> Asked<Option<String>> {
        Asked::Threw
    }
    fn calling_owner(&self, coord_root: &str) -> Asked<Option<Owner>> {
        match self.throws {
            true => Asked::Threw,
            false => Asked::Answered(Some(Owner { instance_id: coord_root.into(), name: None })),
        }
    }
    fn owner_states(&self, _root: &str, stale_ms: f64, now_ms: i64) -> Asked<Box<dyn OwnerStates + '_>> {
        assert_eq!((stale_ms, now_ms), (3_600_000.0, 7));
        match self.throws {
            true => Asked::Threw,
            false => Asked::Answered(Box::new(Names)),
        }
    }
    fn sharing(&self) -> Asked<Sharing> {
        Asked::Answered(Sharing::Group)
    }
}

#[test]
fn owners_states_are_the_host_s_and_a_throw_cannot_say() {
    let mut bench = Bench::new();
    let owner = |name: &str| format!(r#","owner":{{"instance_id":"{name}"}}"#);
    let pid = i64::from(std::process::id());
    bench.plant("a", &planted("a", pid, &owner("gone")));
    bench.plant("b", &planted("b", pid, &owner("here")));
    bench.plant("c", &planted("c", pid, &owner("who")));
    bench.plant("d", &planted("d", pid, ""));
    bench.plant("e", &planted("e", pid, r#","owner":{}"#));
    let states = |bench: &Bench| -> Vec<OwnerState> {
        let report = list_with(bench, |options| (options.owner_stale_hours, options.now_ms) = (1.0, Some(7)));
        report.servers.iter().map(|view| view.owner_state).collect()
    };
    use OwnerState::{Ended, Live, None, Unknown};
    assert_eq!(states(&bench), [Unknown, Unknown, Unknown, None, Unknown]);
    bench.answers = Box::new(Known { throws: false });
    assert_eq!(states(&bench), [Ended, Live, Unknown, None, Unknown]);
    bench.answers = Box::new(Known { throws: true });
    assert_eq!(states(&bench), [Unknown, Unknown, Unknown, None, Unknown]);
}

#[test]
fn a_host_that_throws_has_no_owner_and_no_root() {
    let mut bench = Bench::new();
    bench.environment.set("HARNERY_AGENT_COORD_OWNER", "agent");
    bench.answers = Box::new(Known { throws: true });
    let mut given = input("a");
    given.owner = GivenOwner::Calling;
    assert!(!bench.register(&given).unwrap().has_owner());
    assert_eq!(bench.registry().project(&CoordRoot::Unset).unwrap(), None);
    bench.answers = Box::new(Known { throws: false });
    assert!(bench.register(&given).unwrap().has_owner());
    assert_eq!(registry_support::mode(&bench.file("a")), 0o660);
}

#[test]
fn only_an_idle_session_of_a_gone_agent_is_planned_to_stop() {
    let bench = Bench::new();
    let pid = i64::from(std::process::id());
    bench.plant("a", &planted("a", pid, r#","owner":{"instance_id":"gone"}"#));
    let report = list_with(&bench, |_| {});
    let view = &report.servers[0];
    let subject = |owner_state| Subject {
        state: view.state.as_str().to_owned(),
        kind: view.record.kind().unwrap(),
        owner_state,
        idle_ms: view.idle_ms as f64,
    };
    assert!(matches!(decide(&subject(OwnerState::Ended), &Policy::default()), Decision::Stop(_)));
    assert!(matches!(decide(&subject(view.owner_state), &Policy::default()), Decision::Keep(_)));
}

#[test]
fn the_calling_owner_is_the_environment_s_unless_a_bridge_is_set() {
    let bench = Bench::new();
    let owner = |bench: &Bench| {
        let mut given = input("a");
        given.owner = GivenOwner::Calling;
        let record = bench.register(&given).unwrap();
        record.object().get("owner").map(json::stringify)
    };
    assert_eq!(owner(&bench), None);
    bench.environment.set("HARNERY_AGENT_COORD_OWNER", "agent-7");
    assert_eq!(owner(&bench).as_deref(), Some(r#"{"instance_id":"agent-7"}"#));
    bench.environment.set("HARNERY_AGENT_COORD_BRIDGE", "1");
    assert_eq!(owner(&bench), None);
}

//! Each verb, and how it is seen that it did what it says.

use harnery_native::host::Host;
use harnery_native::lease::Progress;
use harnery_native::process::NoDependencies;
use harnery_native::servers::adopt::{adopt, Adoption};
use harnery_native::servers::custody::hold::Custody;
use harnery_native::servers::custody::stop::CustodyStop;
use harnery_native::servers::custody::unregister::unregister as unregister_receipt;
use harnery_native::servers::gc::{decide, Policy, Subject};
use harnery_native::servers::list::{list_servers, ListOptions};
use harnery_native::servers::migrate::migrate;
use harnery_native::servers::ports::allocate;
use harnery_native::servers::read::read_records;
use harnery_native::servers::stop::{Stop, StopOptions, StopResult, DEFAULT_GRACE};
use harnery_native::servers::touch::{touch, touch_sparingly};
use harnery_native::servers::unregister::unregister;
use harnery_native::servers::{Error, Kind, Schema};

use super::{current, options, put, registry, Scene, ROOT};
use crate::failing::staged::{staged, PORT, SERVER};

/// What is done, and what is true once it says that it was done.
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) schema: Schema,
    pub(super) scenes: &'static [Scene],
    /// Whether it did what it is for; an answer that it did not is no failure.
    pub(super) act: fn(&Host) -> Result<bool, Error>,
    pub(super) is_done: fn(&Host) -> bool,
}

pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "register",
        schema: Schema::Current,
        scenes: &[Scene::NoRegistry, Scene::Bystander, Scene::Dead, Scene::Running],
        act: |host| put(host, Schema::Current, "x", None).map(|_| true),
        is_done: |host| is_registered(host, Schema::Current),
    },
    Operation {
        name: "touch",
        schema: Schema::Current,
        scenes: &[Scene::Bystander, Scene::Running],
        act: |host| {
            touch(&registry(host, Schema::Current), "x", &options(), host.clock.now_ms()).map(|()| false)
        },
        is_done: |_| true,
    },
    Operation {
        name: "a server's own use marker",
        schema: Schema::Current,
        scenes: &[Scene::Running],
        act: |host| {
            touch_sparingly(&registry(host, Schema::Current), "x", &options(), None);
            Ok(false)
        },
        is_done: |_| true,
    },
    Operation {
        name: "unregister",
        schema: Schema::Current,
        scenes: &[Scene::Bystander, Scene::Dead],
        act: |host| unregister(&registry(host, Schema::Current), "x", None, &options()),
        is_done: |host| none_is_registered(host, Schema::Current),
    },
    Operation {
        name: "list, prune and plan of gc",
        schema: Schema::Current,
        scenes: &[Scene::NoRegistry, Scene::Dead],
        act: |host| prune(host, Schema::Current),
        is_done: |host| none_is_registered(host, Schema::Current),
    },
    Operation {
        name: "adopt",
        schema: Schema::Current,
        scenes: &[Scene::NoRegistry],
        act: |host| {
            let host = &staged(host, ROOT);
            let registry = registry(host, Schema::Current);
            adopt(&registry, SERVER as f64, &Adoption::default(), &options()).map(|_| true)
        },
        is_done: |host| {
            let all = read_records(&registry(host, Schema::Current), &options());
            all.is_ok_and(|records| records.iter().any(|record| record.server_type() == "adopted"))
        },
    },
    Operation {
        name: "configuration and ports",
        schema: Schema::Current,
        scenes: &[Scene::NoRegistry, Scene::Running],
        act: |host| {
            let host = &staged(host, ROOT);
            match allocate(&registry(host, Schema::Current), "web", &options())? {
                Some(port) if port == PORT => panic!("a port that is listened on"),
                port => Ok(port == Some(PORT + 1)),
            }
        },
        is_done: |_| true,
    },
    Operation {
        name: "stop",
        schema: Schema::Current,
        scenes: &[Scene::Dead, Scene::Running],
        act: |host| {
            let host = &staged(host, ROOT);
            let registry = registry(host, Schema::Current);
            let Some(record) = current(host, Schema::Current, "x")? else { return Ok(false) };
            let site = registry.project(&options().coord_root)?.map(|project| registry.site(&project));
            let options = StopOptions { site, schema: Schema::Current, grace: DEFAULT_GRACE };
            let mut stop = Stop::new(record, options);
            run_out(|| stop.advance(host, &NoDependencies), host)
        },
        is_done: |host| none_is_registered(host, Schema::Current),
    },
    Operation {
        name: "custody, register",
        schema: Schema::Custody,
        scenes: &[Scene::NoRegistry, Scene::Bystander, Scene::Dead, Scene::Running],
        act: |host| put(host, Schema::Custody, "x", None).map(|_| true),
        is_done: |host| is_registered(host, Schema::Custody),
    },
    Operation {
        name: "custody, touch",
        schema: Schema::Custody,
        scenes: &[Scene::Bystander, Scene::Running],
        act: |host| {
            touch(&registry(host, Schema::Custody), "x", &options(), host.clock.now_ms()).map(|()| false)
        },
        is_done: |_| true,
    },
    Operation {
        name: "custody, unregister",
        schema: Schema::Custody,
        scenes: &[Scene::Dead, Scene::Running],
        act: |host| {
            let Some(record) = current(host, Schema::Custody, "x")? else { return Ok(false) };
            unregister_receipt(&registry(host, Schema::Custody), &record, &options())
        },
        is_done: |host| none_is_registered(host, Schema::Custody),
    },
    Operation {
        name: "custody, list and prune",
        schema: Schema::Custody,
        scenes: &[Scene::NoRegistry, Scene::Dead],
        act: |host| prune(host, Schema::Custody),
        is_done: |host| none_is_registered(host, Schema::Custody),
    },
    Operation {
        name: "custody, hold and release",
        schema: Schema::Custody,
        scenes: &[Scene::Dead, Scene::Running],
        act: |host| {
            let Some(record) = current(host, Schema::Custody, "x")? else { return Ok(false) };
            Custody::take(&registry(host, Schema::Custody), &record, &options())?.release()?;
            Ok(true)
        },
        is_done: |host| is_registered(host, Schema::Custody),
    },
    Operation {
        name: "custody, stop",
        schema: Schema::Custody,
        scenes: &[Scene::Dead, Scene::Running],
        act: |host| {
            let host = &staged(host, ROOT);
            let registry = registry(host, Schema::Custody);
            let Some(record) = current(host, Schema::Custody, "x")? else { return Ok(false) };
            let mut stop = CustodyStop::new(&registry, record, &options(), DEFAULT_GRACE)?;
            run_out(|| stop.advance(host, &NoDependencies), host)
        },
        is_done: |host| none_is_registered(host, Schema::Custody),
    },
    Operation {
        name: "migrate to custody",
        schema: Schema::Current,
        scenes: &[Scene::NoRegistry, Scene::Running],
        act: |host| migrate_to(host, Schema::Custody),
        is_done: |host| is_registered(host, Schema::Custody),
    },
    Operation {
        name: "migrate back",
        schema: Schema::Custody,
        scenes: &[Scene::NoRegistry, Scene::Running],
        act: |host| migrate_to(host, Schema::Current),
        is_done: |host| is_registered(host, Schema::Current),
    },
];

fn none_is_registered(host: &Host, schema: Schema) -> bool {
    current(host, schema, "x").is_ok_and(|record| record.is_none())
}

fn is_registered(host: &Host, schema: Schema) -> bool {
    current(host, schema, "x").is_ok_and(|record| record.is_some())
}

fn run_out(
    mut advance: impl FnMut() -> Result<Progress<StopResult>, Error>,
    host: &Host,
) -> Result<bool, Error> {
    loop {
        match advance()? {
            Progress::Done(result) => return Ok(result.stopped),
            Progress::Wait(pause) => host.clock.pause(&pause),
        }
    }
}

fn prune(host: &Host, schema: Schema) -> Result<bool, Error> {
    let host = &staged(host, ROOT);
    let listing = ListOptions { options: options(), ..ListOptions::default() };
    let report = list_servers(&registry(host, schema), &listing)?;
    for view in &report.servers {
        let subject = Subject {
            state: view.state.as_str().to_owned(),
            kind: Kind::Session,
            owner_state: view.owner_state,
            idle_ms: view.idle_ms as f64,
        };
        let _ = decide(&subject, &Policy::default());
    }
    Ok(report.pruned == ["x"])
}

fn migrate_to(host: &Host, schema: Schema) -> Result<bool, Error> {
    let registry = registry(host, schema);
    let Some(project) = registry.project(&options().coord_root)? else { return Ok(false) };
    Ok(migrate(&registry, &project, &options())?.migrated.iter().any(|id| id == "x"))
}

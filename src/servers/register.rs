//! Registering a server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::answers::Owner;
use super::custody::claim::claim;
use super::registry::{Options, Project, Registry};
use super::store::{Changed, Found, Invalid, Replacement, Synced};
use super::{names, Error, Kind, Schema, ServerId, ServerRecord, Store};
use crate::javascript::json::{self, Object, Value};
use crate::javascript::text::Text;
use crate::javascript::{paths, timestamp};
use crate::process::{generation, Generation, NoDependencies, Pid, Witness};

/// What a caller registers. Numbers are JavaScript's: they are judged here.
#[derive(Debug, Clone)]
pub struct Input {
    pub id: Option<String>,
    pub kind: Kind,
    pub server_type: Text,
    pub label: Option<Text>,
    pub url: Option<Text>,
    pub port: Option<f64>,
    /// This process when left out.
    pub pid: Option<f64>,
    /// Must be the process's own; read now when left out.
    pub start_token: Option<String>,
    /// Helpers; what is no positive safe integer is left out.
    pub pids: Vec<f64>,
    pub scope: Option<String>,
    pub cwd: Option<String>,
    pub log: Option<String>,
    pub started_at: Option<Text>,
    pub owner: GivenOwner,
}

/// `owner` as a caller gave it.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum GivenOwner {
    /// Left out: whoever is calling.
    #[default]
    Calling,
    /// `null`: none is recorded.
    Nobody,
    Named(Owner),
}

/// Write a server's record; `None` when there is no project. What comes back is what stands in the registry.
///
/// # Errors
/// [`Error::Input`] before anything is written; [`Error::Custody`] when another registration has the id (custody
/// only); a busy registry, a failed system call. The old record stands.
pub fn register(
    registry: &Registry<'_>,
    input: &Input,
    options: &Options,
) -> Result<Option<ServerRecord>, Error> {
    let Some(project) = registry.project(&options.coord_root)? else { return Ok(None) };
    let checked = check(registry, input)?;
    let record = draft(registry, &project, input, &checked)?;
    match registry.schema {
        Schema::Current => put(registry, &project, &checked.id, record).map(Some),
        Schema::Custody => claim(registry, &project, options, &checked.id, record).map(Some),
    }
}

fn put(
    registry: &Registry<'_>,
    project: &Project,
    id: &ServerId,
    record: ServerRecord,
) -> Result<ServerRecord, Error> {
    let site = registry.site(project);
    let store = Store::ensure(registry.host, &site)?;
    let replacement = Replacement {
        record: &record,
        schema: registry.schema,
        synced: Synced::No,
        sharing: site.sharing,
        owner: None,
    };
    let replaceable = |found: &Found| !matches!(found, Found::Invalid(Invalid::NotAFile));
    match store.replace(id, &replacement, replaceable)? {
        Changed::Done => Ok(record),
        Changed::Superseded => Err(store.not_a_file(id)),
        Changed::Busy => Err(store.busy()),
    }
}

/// What was judged of an input.
struct Checked {
    id: ServerId,
    pid: Pid,
    scope: Option<PathBuf>,
}

fn check(registry: &Registry<'_>, input: &Input) -> Result<Checked, Error> {
    let pid = match input.pid {
        None => registry.host.processes.me(),
        Some(pid) => Pid::from_number(pid)
            .ok_or_else(|| Error::Input(format!("invalid server pid: {}", names::number(pid))))?,
    };
    if let Some(port) = input.port.filter(|port| port.trunc() != *port || !(1.0..=65535.0).contains(port)) {
        return Err(Error::Input(format!("invalid server port: {}", names::number(port))));
    }
    let scope = resolved(registry, input.scope.as_deref())?;
    let id = match &input.id {
        Some(id) => id.clone(),
        None => names::server_id(&input.server_type.to_string_lossy(), scope.as_deref()),
    };
    let id = ServerId::new(&id).ok_or_else(|| Error::Input(format!("invalid server id: {id}")))?;
    Ok(Checked { id, pid, scope })
}

/// A path that is recorded; an empty one is none.
fn resolved(registry: &Registry<'_>, path: Option<&str>) -> Result<Option<PathBuf>, Error> {
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Ok(None) };
    Ok(Some(registry.resolve(paths::without_nul(path)?)))
}

fn draft(
    registry: &Registry<'_>,
    project: &Project,
    input: &Input,
    checked: &Checked,
) -> Result<ServerRecord, Error> {
    let host = registry.host;
    let now = timestamp::format(host.clock.now_ms())
        .ok_or_else(|| Error::Input("the system clock is outside a Date's range".to_owned()))?;
    let cwd = resolved(registry, input.cwd.as_deref())?;
    let log = resolved(registry, input.log.as_deref())?;
    let owner = match &input.owner {
        GivenOwner::Calling => registry.calling_owner(project),
        GivenOwner::Nobody => None,
        GivenOwner::Named(owner) => Some(owner.clone()),
    };
    let leader = observe(registry, checked.pid, input.start_token.as_deref())?;
    let helpers = Helpers::of(registry, &input.pids);

    let text = |text: &Text| Value::String(text.clone());
    let shown = |path: PathBuf| Value::from(lossy(&path));
    let receipt = || Some(host.processes.fresh_id());
    let receipt_as = |schema| if registry.schema == schema { receipt() } else { None };
    let object = Object::new()
        .with("schema_version", Some(registry.schema.version()))
        .with("id", Some(checked.id.as_str()))
        .with("registration_id", receipt_as(Schema::Custody))
        .with("kind", Some(input.kind.as_str()))
        .with("type", Some(text(&input.server_type)))
        .with("label", Some(input.label.as_ref().map_or_else(|| checked.id.as_str().into(), text)))
        .with("url", input.url.as_ref().filter(|url| !url.is_empty()).map(text))
        .with("port", input.port.map(Value::Number))
        .with("pid", Some(i64::from(checked.pid.get())))
        .with("start_token", leader.start_token)
        .with("pids", helpers.numbers)
        .with("pids_start_tokens", helpers.start_tokens)
        .with("host", Some(host.processes.host_name()))
        .with("scope", checked.scope.clone().map(shown))
        .with("cwd", cwd.map(shown))
        .with("log", log.map(shown))
        .with("owner", owner.map(|owner| owner.to_value()))
        .with("started_at", Some(input.started_at.as_ref().map_or_else(|| now.as_str().into(), text)))
        .with("registered_at", Some(now.as_str()))
        .with("last_active_at", Some(now.as_str()))
        .with("registration_id", receipt_as(Schema::Current))
        .with("witness", leader.witness.as_ref().map(Witness::to_value))
        .with("pids_witnesses", helpers.witnesses);
    Ok(ServerRecord::given(object))
}

/// A process as it is recorded.
struct Observed {
    start_token: Option<String>,
    witness: Option<Witness>,
}

/// Look at the server's process. A token that the caller brings must be its own.
fn observe(registry: &Registry<'_>, pid: Pid, given: Option<&str>) -> Result<Observed, Error> {
    let processes = registry.host.processes.as_ref();
    if given.is_some() && generation::verify(processes, pid, given, &NoDependencies) != Generation::Same {
        return Err(Error::Input(format!("pid {pid} generation could not be verified before registration")));
    }
    let observed = look_at(registry, pid);
    match given {
        // The number may have changed hands since it was verified: a witness of the newcomer is not this one's.
        Some(token) if observed.start_token.as_deref() != Some(token) => {
            Ok(Observed { start_token: Some(token.to_owned()), witness: None })
        }
        _ => Ok(observed),
    }
}

/// A process's token and witness, from one look where there is a witness.
fn look_at(registry: &Registry<'_>, pid: Pid) -> Observed {
    let processes = &registry.host.processes;
    let witness = processes.witness(pid);
    let start_token = match &witness {
        Some(witness) => witness.start_token.clone(),
        None => processes.start_token(pid),
    };
    Observed { start_token, witness }
}

/// The helpers' three fields, each left out when there is nothing for it.
#[derive(Default)]
struct Helpers {
    numbers: Option<Value>,
    start_tokens: Option<Object>,
    witnesses: Option<Object>,
}

impl Helpers {
    fn of(registry: &Registry<'_>, pids: &[f64]) -> Helpers {
        let mut seen = BTreeSet::new();
        let is_new =
            |number: &f64| json::safe_integer(*number).is_some_and(|pid| pid > 0 && seen.insert(pid));
        let numbers: Vec<f64> = pids.iter().copied().filter(is_new).collect();
        if numbers.is_empty() {
            return Helpers::default();
        }
        let (mut start_tokens, mut witnesses) = (Object::new(), Object::new());
        for number in &numbers {
            let Some(pid) = Pid::from_number(*number) else { continue };
            let observed = look_at(registry, pid);
            if let Some(token) = observed.start_token.filter(|token| !token.is_empty()) {
                start_tokens.set(pid.to_string(), token);
            }
            if let Some(witness) = observed.witness {
                witnesses.set(pid.to_string(), witness.to_value());
            }
        }
        Helpers {
            numbers: Some(Value::Array(numbers.into_iter().map(Value::Number).collect())),
            start_tokens: Some(start_tokens),
            witnesses: (!witnesses.is_empty()).then_some(witnesses),
        }
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

//! Repairing: moving aside what makes a lease corrupt, on somebody's word, with a note of who, why and what.
//!
//! Nothing is deleted and no healthy lease is touched. A repair happens only while the lease is exactly what its
//! digest says and nobody in it is live. On somebody's word that it is gone for good, an expired owner of another pid
//! namespace, of whom nothing can be told from here, is moved aside too.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use nix::errno::Errno;

use super::contender::{not_opened, resolve};
use super::inspect::{inspect_dir, Inspection};
use super::inventory::{self, Item};
use super::liveness::{explain, Judge, Liveness};
use super::look::{self, OwnerFile};
use super::owner::{is_owner_file, is_sha256};
use super::{Error, NoHooks, Owner, Reason, CURRENT, RECOVERY};
use crate::files::record::write_new;
use crate::files::{Dir, Kind, PathError};
use crate::host::Host;
use crate::javascript::json::{stringify, Object, Value};
use crate::javascript::timestamp;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of the lease as it was looked at.
    pub digest: String,
    pub actor: String,
    pub reason: String,
    /// Whether owners of other pid namespaces are known to be gone for good.
    pub elsewhere_is_gone: bool,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    pub moved_to: PathBuf,
    pub moved: Vec<String>,
}

/// Move aside what makes the lease corrupt.
///
/// # Errors
/// [`Error::Input`] when the digest is not the lease's (any more), when nothing needs repair, or when nobody says who
/// repairs it and why; [`Error::Held`] when an owner in it is live; [`Error::Recovering`] when another process repairs
/// it, or somebody took it meanwhile (then it is theirs still).
pub fn repair(host: &Host, path: &Path, request: &Request) -> Result<Repaired, Error> {
    let path = resolve(host, path)?;
    let refuse = |why: String| Error::Input(format!("lease at {} is not repaired: {why}", path.display()));
    if !is_sha256(&request.digest) || request.actor.trim().is_empty() || request.reason.trim().is_empty() {
        return Err(refuse("it takes a digest, an actor and a reason".into()));
    }
    let dir = Dir::open(&host.files, &path).map_err(|source| not_opened(host, &path, source))?;
    if !dir.try_lock()? {
        return Err(Error::Recovering(format!(
            "lease at {} is being repaired by another process",
            path.display()
        )));
    }
    let this_host = host.processes.host_name();
    let judge = Judge { host, hooks: &NoHooks, this_host: &this_host, stale_after_ms: None };
    let now = host.clock.now_ms();
    let items = inventory::read(&dir)?;
    let seen = inspect_dir(&dir, &judge, now)?;
    if [&inventory::digest(&items), &seen.digest] != [&request.digest; 2] {
        return Err(refuse("it is not what the digest was made of; look at it again".into()));
    }
    let names = to_move(&dir, &judge, &seen, now, request.elsewhere_is_gone)?;
    if names.is_empty() {
        let acting = seen.owner.as_ref().or(seen.claim.as_ref().map(|claim| &claim.claimant));
        let is_elsewhere = acting.is_some_and(|owner| judge.is_elsewhere(owner, now));
        return Err(refuse(match is_elsewhere {
            true => {
                "its owner is elsewhere, and it takes confirm \"elsewhere\" to say that it is gone for good"
                    .into()
            }
            false => "there is nothing in it to repair".into(),
        }));
    }
    refuse_live(&dir, &judge, &seen, now, &names)?;
    move_aside(host, &dir, &items, &names, request)
}

/// The names that are to go, in the order in which they go.
fn to_move(
    dir: &Dir,
    judge: &Judge<'_>,
    seen: &Inspection,
    now: i64,
    elsewhere_is_gone: bool,
) -> Result<Vec<String>, Error> {
    let is_elsewhere = |owner: &Owner| elsewhere_is_gone && judge.is_elsewhere(owner, now);
    let is_flawed = |name| seen.flaws.iter().any(|(flawed, _)| *flawed == name);
    let mut names = Vec::new();
    if is_flawed(RECOVERY) || seen.claim.as_ref().is_some_and(|claim| is_elsewhere(&claim.claimant)) {
        names.push(RECOVERY.to_owned());
    }
    if is_flawed(CURRENT) || seen.owner.as_ref().is_some_and(is_elsewhere) {
        names.push(CURRENT.to_owned());
    }
    for (name, file) in owner_files(dir)? {
        if is_elsewhere(&file.owner) {
            names.push(name);
        }
    }
    Ok(names)
}

/// Refuse when anybody who would stay is live.
fn refuse_live(
    dir: &Dir,
    judge: &Judge<'_>,
    seen: &Inspection,
    now: i64,
    names: &[String],
) -> Result<(), Error> {
    let stays = |name: &str| !names.iter().any(|moved| moved == name);
    let refuse = |owner: &Owner, reason| {
        let why = explain(reason, owner, judge, now);
        let message =
            format!("lease at {} is not repaired: an owner in it is live, {why}", dir.path().display());
        Err(Error::Held { message, holder: Box::new(owner.clone()), reason })
    };
    let holder = seen.owner.as_ref().filter(|_| stays(CURRENT));
    let claimant = seen.claim.as_ref().map(|claim| &claim.claimant).filter(|_| stays(RECOVERY));
    for owner in holder.into_iter().chain(claimant) {
        if let Liveness::Live(reason) = judge.verdict(owner, now) {
            return refuse(owner, reason);
        }
    }
    for (name, file) in owner_files(dir)? {
        if stays(&name) && judge.may_act(&file.owner, file.stat.modified_ms) {
            return refuse(&file.owner, Reason::Alive);
        }
    }
    Ok(())
}

fn owner_files(dir: &Dir) -> Result<Vec<(String, OwnerFile)>, Error> {
    let mut found = Vec::new();
    for name in
        dir.list()?.into_iter().filter_map(|name| name.into_string().ok()).filter(|name| is_owner_file(name))
    {
        if let Some(file) = look::contender(dir, &name)? {
            found.push((name, file));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(found)
}

/// The note first, then the names, each looked at again once it is where nobody else looks.
fn move_aside(
    host: &Host,
    dir: &Dir,
    items: &[Item],
    names: &[String],
    request: &Request,
) -> Result<Repaired, Error> {
    let at = timestamp::format(host.clock.now_ms()).unwrap_or_default();
    let (aside_name, aside) = make_aside(dir, format!("repaired-{}", at.replace(':', "-")).as_ref())?;
    write_new(&aside, "repair.json", note(items, names, request, &at).as_bytes(), 0o600)?;
    aside.sync()?;
    dir.sync()?;
    for name in names {
        dir.move_into(name, &aside, name)?;
        if inventory::read_name(&aside, name)? != below(items, name) {
            put_back(dir, &aside, name)?;
            let path = dir.path().display();
            return Err(Error::Recovering(format!(
                "lease at {path} is not repaired: {name} was replaced meanwhile"
            )));
        }
    }
    aside.sync()?;
    dir.sync()?;
    Ok(Repaired { moved_to: dir.path().join(aside_name), moved: names.to_vec() })
}

/// A lease that was taken meanwhile is its taker's; a name that is taken again by now stays that.
fn put_back(dir: &Dir, aside: &Dir, name: &str) -> Result<(), PathError> {
    let back = if aside.stat_at(name)?.kind == Kind::Directory {
        aside.move_into(name, dir, name)
    } else {
        aside.link(name, dir, name).and_then(|()| aside.unlink(name))
    };
    match back {
        Err(error) if error.is_taken() || error.is(Errno::ENOTEMPTY) => Ok(()),
        back => back,
    }
}

/// A new directory of this name, and a number where that name is taken: by a repair of the same millisecond.
pub(crate) fn make_aside(dir: &Dir, first: &OsStr) -> Result<(OsString, Dir), PathError> {
    let mut name = first.to_owned();
    let mut number = 2;
    loop {
        match dir.make_dir(&name, 0o700) {
            Ok(()) => break,
            Err(error) if error.is_taken() => {
                name = first.to_owned();
                name.push(format!("-{number}"));
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
    let made = dir.open_dir(&name)?;
    Ok((name, made))
}

/// What of a list is the entry of this name, or in it.
pub(crate) fn below<'a>(items: &'a [Item], name: &str) -> Vec<Item> {
    let is_below = |item: &&'a Item| {
        item.name.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    items.iter().filter(is_below).cloned().collect()
}

/// Who moved what aside, and why.
pub(crate) fn note(items: &[Item], names: &[String], request: &Request, at: &str) -> String {
    let moved = names.iter().flat_map(|name| below(items, name)).map(|item| {
        let size = i64::try_from(item.size).unwrap_or(i64::MAX);
        Value::Object(
            Object::new().with("name", Some(item.name)).with("size", Some(size)).with("sha256", item.sha256),
        )
    });
    let note = Object::new()
        .with("schema_version", Some(1_i64))
        .with("actor", Some(request.actor.as_str()))
        .with("reason", Some(request.reason.as_str()))
        .with("repaired_at", Some(at))
        .with("digest", Some(request.digest.as_str()))
        .with("moved", Some(Value::Array(moved.collect())));
    format!("{}\n", stringify(&Value::Object(note)))
}

//! The registry as a caller sees it: a machine, a contract, what the caller's host answers, and a project.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::answers::{Answers, Owner};
use super::config::Configuration;
use super::{Error, Schema, Sharing, Site};
use crate::host::Host;
use crate::javascript::paths;
use crate::process::Asked;

/// What every verb works on.
#[derive(Debug, Clone, Copy)]
pub struct Registry<'a> {
    pub host: &'a Host,
    pub schema: Schema,
    pub answers: &'a dyn Answers,
}

/// `coordRoot` as a caller gave it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CoordRoot {
    /// Left out: it is looked for.
    #[default]
    Unset,
    /// `null`: none, and none is looked for.
    None,
    At(String),
}

/// What every verb may be told.
#[derive(Debug, Clone)]
pub struct Options {
    pub coord_root: CoordRoot,
    /// How long an id's mutation lease is waited for (custody only).
    pub custody_wait: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options { coord_root: CoordRoot::Unset, custody_wait: Duration::from_millis(2000) }
    }
}

/// A coordination root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// As it was given or found, for answers.
    pub coord_root: String,
    /// The same, absolute.
    pub path: PathBuf,
}

impl Registry<'_> {
    /// The project that a caller means; `None` when there is none.
    ///
    /// # Errors
    /// A root with a NUL in it.
    pub fn project(&self, given: &CoordRoot) -> Result<Option<Project>, Error> {
        let coord_root = match given {
            CoordRoot::None => None,
            CoordRoot::At(root) => Some(root.clone()),
            CoordRoot::Unset => match self.answers.resolve_coord_root() {
                Asked::Answered(root) => root,
                Asked::Threw => None,
                Asked::NotSupplied => return self.nearest_project(),
            },
        };
        coord_root.filter(|root| !root.is_empty()).map(|root| self.project_at(root)).transpose()
    }

    fn project_at(&self, coord_root: String) -> Result<Project, Error> {
        let path = self.resolve(paths::without_nul(&coord_root)?);
        Ok(Project { coord_root, path })
    }

    /// `path.resolve`
    pub fn resolve(&self, path: &str) -> PathBuf {
        paths::resolve(&self.host.environment.current_dir(), path)
    }

    /// The project with who may look into it: what a change needs to know.
    pub fn site(&self, project: &Project) -> Site {
        Site { coord_root: project.path.clone(), sharing: self.sharing(project) }
    }

    /// Who may look into a project: the host's answer, else `HARNERY_STORAGE_SHARING`, else the project's own
    /// configuration (a user's global file must not open every project), else only its user.
    pub fn sharing(&self, project: &Project) -> Sharing {
        let configured = || Configuration::of_project(self.host, &project.path).sharing();
        self.sharing_anywhere().or_else(configured).unwrap_or_default()
    }

    /// What the host or the environment says about sharing, for every project.
    pub fn sharing_anywhere(&self) -> Option<Sharing> {
        if let Asked::Answered(sharing) = self.answers.sharing() {
            return Some(sharing);
        }
        match self.host.environment.get("HARNERY_STORAGE_SHARING")?.as_str() {
            "private" => Some(Sharing::Private),
            "group" => Some(Sharing::Group),
            _ => None,
        }
    }

    /// Who is calling, as far as anybody can say.
    pub fn calling_owner(&self, project: &Project) -> Option<Owner> {
        match self.answers.calling_owner(&project.coord_root) {
            Asked::Answered(owner) => owner,
            Asked::Threw => None,
            Asked::NotSupplied => {
                let get = |name| self.host.environment.get(name).filter(|value| !value.is_empty());
                match get("HARNERY_AGENT_COORD_BRIDGE") {
                    Some(_) => None,
                    None => get("HARNERY_AGENT_COORD_OWNER")
                        .map(|instance| Owner { instance_id: instance.into(), name: None }),
                }
            }
        }
    }

    fn nearest_project(&self) -> Result<Option<Project>, Error> {
        let environment = &self.host.environment;
        let get = |name| environment.get(name).filter(|value| !value.is_empty());
        if let Some(root) = get("HARNERY_COORD_ROOT_OVERRIDE") {
            return self.project_at(root).map(Some);
        }
        let project = get("CLAUDE_PROJECT_DIR").filter(|path| paths::without_nul(path).is_ok());
        let starts = [project.map(|path| self.resolve(&path)), Some(environment.current_dir())];
        let found = starts.into_iter().flatten().find_map(|start| {
            let holds = |dir: &&Path| self.host.files.stat_followed(&dir.join(".harnery")).is_ok();
            start.ancestors().find(holds).map(Path::to_owned)
        });
        // The path as it is: shown as text, a name that is not UTF-8 would be another's.
        Ok(found.map(|path| Project { coord_root: path.to_string_lossy().into_owned(), path }))
    }
}

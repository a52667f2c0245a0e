//! What the caller's host answers: the harness owns agent identity, not the registry.

use std::fmt;

use crate::files::Sharing;
use crate::javascript::json::{Object, Value};
use crate::javascript::text::Text;
use crate::process::Asked;

/// Who started a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Owner {
    pub instance_id: Text,
    pub name: Option<Text>,
}

impl Owner {
    pub(super) fn to_value(&self) -> Value {
        let instance = Value::String(self.instance_id.clone());
        let name = self.name.clone().map(Value::String);
        Object::new().with("instance_id", Some(instance)).with("name", name).into()
    }
}

/// What is known of the agent that started a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerState {
    Live,
    /// Not observed for longer than the stale window.
    Abandoned,
    Ended,
    Unknown,
    /// No owner is recorded.
    None,
}

impl OwnerState {
    pub fn as_str(self) -> &'static str {
        match self {
            OwnerState::Live => "live",
            OwnerState::Abandoned => "abandoned",
            OwnerState::Ended => "ended",
            OwnerState::Unknown => "unknown",
            OwnerState::None => "none",
        }
    }
}

/// The host's functions. Each is optional, called at the time of need, and a throw means "cannot say".
pub trait Answers: fmt::Debug {
    fn resolve_coord_root(&self) -> Asked<Option<String>> {
        Asked::NotSupplied
    }
    fn calling_owner(&self, _coord_root: &str) -> Asked<Option<Owner>> {
        Asked::NotSupplied
    }
    /// A reader of owners' states as of `now_ms`.
    fn owner_states(
        &self,
        _coord_root: &str,
        _owner_stale_ms: f64,
        _now_ms: i64,
    ) -> Asked<Box<dyn OwnerStates + '_>> {
        Asked::NotSupplied
    }
    fn sharing(&self) -> Asked<Sharing> {
        Asked::NotSupplied
    }
}

/// What [`Answers::owner_states`] gives.
pub trait OwnerStates {
    fn of(&self, instance_id: &Text) -> Asked<OwnerState>;
}

/// No host.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAnswers;

impl Answers for NoAnswers {}

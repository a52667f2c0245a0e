//! What the caller's host answers (`configureHost`).

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use napi::Result;

use crate::files::Sharing;
use crate::javascript::text::Text;
use crate::node::arguments::{Argument, Members};
use crate::node::call::{Callback, KeptCallback};
use crate::node::instance::Instance;
use crate::node::value::{Js, Scope};
use crate::process::Asked;
use crate::servers::{Answers, Owner, OwnerState, OwnerStates};

pub(super) const OWNER_STATES: [(&str, OwnerState); 5] = [
    ("live", OwnerState::Live),
    ("abandoned", OwnerState::Abandoned),
    ("ended", OwnerState::Ended),
    ("unknown", OwnerState::Unknown),
    ("none", OwnerState::None),
];

/// The host's functions, as the last `configureHost` gave them.
#[derive(Default)]
struct Configured {
    functions: RefCell<Option<Rc<HostFunctions>>>,
}

struct HostFunctions {
    resolve_coord_root: Option<KeptCallback>,
    calling_owner: Option<KeptCallback>,
    owner_states: Option<KeptCallback>,
    sharing: Option<KeptCallback>,
}

/// Take a host's functions; `null` forgets them.
pub(super) fn configure(host: Argument<'_>) -> Result<()> {
    let scope = host.scope();
    let functions = host.or_null(Argument::object)?.map(|members| HostFunctions::of(&members)).transpose()?;
    *Instance::of(scope)?.part::<Configured>().functions.borrow_mut() = functions.map(Rc::new);
    Ok(())
}

impl HostFunctions {
    fn of(members: &Members<'_>) -> Result<HostFunctions> {
        let function = |name| -> Result<Option<KeptCallback>> {
            members.optional(name, Argument::function)?.map(|function| function.keep()).transpose()
        };
        Ok(HostFunctions {
            resolve_coord_root: function("resolveCoordRoot")?,
            calling_owner: function("callingOwner")?,
            owner_states: function("ownerStates")?,
            sharing: function("sharing")?,
        })
    }
}

/// The configured host within one native call. A throw, and an answer of another type, cannot say anything.
pub(super) struct JsAnswers<'env> {
    scope: Scope<'env>,
    functions: Option<Rc<HostFunctions>>,
}

impl<'env> JsAnswers<'env> {
    pub(super) fn new(scope: Scope<'env>) -> Result<Self> {
        let functions = Instance::of(scope)?.part::<Configured>().functions.borrow().clone();
        Ok(JsAnswers { scope, functions })
    }

    fn ask<T>(
        &self,
        function: impl Fn(&HostFunctions) -> Option<&KeptCallback>,
        arguments: impl FnOnce() -> Result<Vec<Js<'env>>>,
        read: impl FnOnce(Js<'env>) -> Option<T>,
    ) -> Asked<T> {
        let Some(function) = self.functions.as_deref().and_then(function) else { return Asked::NotSupplied };
        let called = function.get(self.scope).and_then(|function| Ok((function, arguments()?)));
        match called.map(|(function, arguments)| function.call(&arguments)) {
            Ok(Ok(answer)) => read(answer).map_or(Asked::Threw, Asked::Answered),
            Ok(Err(_)) | Err(_) => Asked::Threw,
        }
    }
}

impl fmt::Debug for JsAnswers<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configured host")
    }
}

impl Answers for JsAnswers<'_> {
    fn resolve_coord_root(&self) -> Asked<Option<String>> {
        self.ask(
            |functions| functions.resolve_coord_root.as_ref(),
            || Ok(Vec::new()),
            |root| if is_nothing(root) { Some(None) } else { root.as_string().map(Some) },
        )
    }

    fn calling_owner(&self, coord_root: &str) -> Asked<Option<Owner>> {
        self.ask(
            |functions| functions.calling_owner.as_ref(),
            || Ok(vec![self.scope.string(coord_root)?]),
            |owner| if is_nothing(owner) { Some(None) } else { read_owner(owner).map(Some) },
        )
    }

    fn owner_states(
        &self,
        coord_root: &str,
        owner_stale_ms: f64,
        now_ms: i64,
    ) -> Asked<Box<dyn OwnerStates + '_>> {
        let arguments = || {
            let stale = self.scope.number(owner_stale_ms)?;
            Ok(vec![self.scope.string(coord_root)?, stale, self.scope.number(now_ms as f64)?])
        };
        self.ask(
            |functions| functions.owner_states.as_ref(),
            arguments,
            |reader| {
                let this = self.scope.undefined().ok()?;
                let reader = reader.is_function().then(|| Callback::new(reader, this))?;
                Some(Box::new(JsOwnerStates { reader }) as Box<dyn OwnerStates + '_>)
            },
        )
    }

    fn sharing(&self) -> Asked<Sharing> {
        self.ask(
            |functions| functions.sharing.as_ref(),
            || Ok(Vec::new()),
            |sharing| match sharing.as_string()?.as_str() {
                "private" => Some(Sharing::Private),
                "group" => Some(Sharing::Group),
                _ => None,
            },
        )
    }
}

struct JsOwnerStates<'env> {
    reader: Callback<'env>,
}

impl OwnerStates for JsOwnerStates<'_> {
    fn of(&self, instance_id: &Text) -> Asked<OwnerState> {
        let Ok(instance_id) = self.reader.scope().text(instance_id) else { return Asked::Threw };
        let Ok(answer) = self.reader.call(&[instance_id]) else { return Asked::Threw };
        let word = answer.as_string();
        let known = OWNER_STATES.iter().find(|(name, _)| word.as_deref() == Some(name));
        known.map_or(Asked::Threw, |(_, state)| Asked::Answered(*state))
    }
}

/// An owner that the host names; `None` for what is none. Getters that throw count as none.
fn read_owner(owner: Js<'_>) -> Option<Owner> {
    let member = |name| match owner.get(name) {
        Ok(value) => value.as_text(),
        Err(_) => {
            // Taking it is what clears it.
            let _ = owner.scope().take_exception();
            None
        }
    };
    owner.is_object().then(|| Some(Owner { instance_id: member("instance_id")?, name: member("name") }))?
}

fn is_nothing(value: Js<'_>) -> bool {
    value.is_null() || value.is_undefined()
}

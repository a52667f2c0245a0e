//! What a caller asks for, and the caller's functions.

use napi::Result;

use crate::javascript::Thrown;
use crate::lease::{Durability, Hooks, Input, Owner, Probe, Probed, RecoveryStep};
use crate::node::arguments::{Argument, Members};
use crate::node::call::{code_of, thrown_by, Callback, KeptCallback};
use crate::node::objects::value_to_js;
use crate::node::value::{Js, Scope};

/// A request, read before anything happens.
pub(super) struct Given<'env> {
    pub(super) input: Input,
    pub(super) functions: Functions<'env>,
}

impl<'env> Given<'env> {
    pub(super) fn read(scope: Scope<'env>, members: &Members<'env>) -> Result<Given<'env>> {
        let durability = [("power", Durability::Power), ("process", Durability::Process)];
        let input = Input {
            path: members.required("path", Argument::path)?,
            scope: members.required("scope", Argument::string)?,
            authority_sha256: members.required("authoritySha256", Argument::string)?,
            metadata: members.optional("metadata", |record| record.object()?.entries(Argument::text))?,
            stale_after_ms: members.required("staleAfterMs", Argument::number)?,
            pid: members.optional("pid", Argument::number)?,
            host: members.optional("host", Argument::string)?,
            durability: members.optional("durability", |word| word.word(&durability))?.unwrap_or_default(),
        };
        Ok(Given { input, functions: Functions::read(scope, members)? })
    }
}

/// The caller's functions, in one native call.
pub(super) struct Functions<'env> {
    scope: Scope<'env>,
    now: Option<Callback<'env>>,
    probe_pid: Option<Callback<'env>>,
    validate_stale_owner: Option<Callback<'env>>,
    on_lease_directory_create: Option<Callback<'env>>,
    on_contention: Option<Callback<'env>>,
    on_recovery_step: Option<Callback<'env>>,
}

/// The same functions, from one native call to another.
pub(super) struct KeptFunctions {
    now: Option<KeptCallback>,
    probe_pid: Option<KeptCallback>,
    validate_stale_owner: Option<KeptCallback>,
    on_lease_directory_create: Option<KeptCallback>,
    on_contention: Option<KeptCallback>,
    on_recovery_step: Option<KeptCallback>,
}

impl<'env> Functions<'env> {
    fn read(scope: Scope<'env>, members: &Members<'env>) -> Result<Self> {
        let function = |name| members.optional(name, Argument::function);
        Ok(Functions {
            scope,
            now: function("now")?,
            probe_pid: function("probePid")?,
            validate_stale_owner: function("validateStaleOwner")?,
            on_lease_directory_create: function("onLeaseDirectoryCreate")?,
            on_contention: function("onContention")?,
            on_recovery_step: function("onRecoveryStep")?,
        })
    }

    /// Those that a mere look takes.
    pub(super) fn to_look_by(scope: Scope<'env>, members: &Members<'env>) -> Result<Self> {
        let function = |name| members.optional(name, Argument::function);
        Ok(Functions {
            scope,
            now: function("now")?,
            probe_pid: function("probePid")?,
            validate_stale_owner: None,
            on_lease_directory_create: None,
            on_contention: None,
            on_recovery_step: None,
        })
    }

    pub(super) fn keep(&self) -> Result<KeptFunctions> {
        let keep = |function: &Option<Callback<'_>>| function.as_ref().map(Callback::keep).transpose();
        Ok(KeptFunctions {
            now: keep(&self.now)?,
            probe_pid: keep(&self.probe_pid)?,
            validate_stale_owner: keep(&self.validate_stale_owner)?,
            on_lease_directory_create: keep(&self.on_lease_directory_create)?,
            on_contention: keep(&self.on_contention)?,
            on_recovery_step: keep(&self.on_recovery_step)?,
        })
    }

    fn call(
        &self,
        function: &Callback<'env>,
        argument: Option<Js<'env>>,
    ) -> std::result::Result<Js<'env>, Thrown> {
        match argument {
            Some(argument) => function.call(&[argument]),
            None => function.call(&[]),
        }
    }

    /// Call a function that answers nothing; whether there was one.
    fn tell(&self, function: Option<&Callback<'env>>) -> std::result::Result<bool, Thrown> {
        let Some(function) = function else { return Ok(false) };
        self.call(function, None).map(|_| true)
    }

    /// A value for JavaScript; what goes wrong with it is thrown.
    fn value(&self, made: Result<Js<'env>>) -> std::result::Result<Js<'env>, Thrown> {
        made.map_err(|error| thrown_by(self.scope, error))
    }
}

impl KeptFunctions {
    pub(super) fn get<'env>(&self, scope: Scope<'env>) -> Result<Functions<'env>> {
        let get = |kept: &Option<KeptCallback>| kept.as_ref().map(|kept| kept.get(scope)).transpose();
        Ok(Functions {
            scope,
            now: get(&self.now)?,
            probe_pid: get(&self.probe_pid)?,
            validate_stale_owner: get(&self.validate_stale_owner)?,
            on_lease_directory_create: get(&self.on_lease_directory_create)?,
            on_contention: get(&self.on_contention)?,
            on_recovery_step: get(&self.on_recovery_step)?,
        })
    }
}

impl Hooks for Functions<'_> {
    fn now(&self) -> std::result::Result<Option<f64>, Thrown> {
        let Some(now) = &self.now else { return Ok(None) };
        // What is no number is no time; the core says so.
        self.call(now, None).map(|value| Some(value.as_number().unwrap_or(f64::NAN)))
    }

    fn probe_pid(&self) -> Option<&dyn Probe> {
        self.probe_pid.is_some().then_some(self)
    }

    fn validate_stale_owner(&self, owner: &Owner) -> std::result::Result<Option<bool>, Thrown> {
        let Some(validate) = &self.validate_stale_owner else { return Ok(None) };
        let owner = self.value(value_to_js(self.scope, &owner.value))?;
        let answer = self.call(validate, Some(owner))?;
        // A promise is true, whatever it promises.
        let answer = Argument::new(answer, "validateStaleOwner()").synchronous();
        Ok(Some(answer.map_err(|error| thrown_by(self.scope, error))?.value().is_truthy()))
    }

    fn on_lease_directory_create(&self) -> std::result::Result<bool, Thrown> {
        self.tell(self.on_lease_directory_create.as_ref())
    }

    fn on_contention(&self) -> std::result::Result<(), Thrown> {
        self.tell(self.on_contention.as_ref()).map(drop)
    }

    fn on_recovery_step(&self, step: RecoveryStep) -> std::result::Result<(), Thrown> {
        let Some(on_step) = &self.on_recovery_step else { return Ok(()) };
        let step = self.value(self.scope.string(step.as_str()))?;
        self.call(on_step, Some(step)).map(drop)
    }
}

impl Probe for Functions<'_> {
    fn probe(&self, pid: i64) -> Probed {
        let Some(probe) = &self.probe_pid else { return Probed::Threw { code: None } };
        let called = self.value(self.scope.number(pid as f64)).and_then(|pid| self.call(probe, Some(pid)));
        match called {
            Ok(_) => Probed::Returned,
            Err(thrown) => Probed::Threw { code: code_of(self.scope, &thrown) },
        }
    }
}

//! Hooks as closures.

use std::cell::{Cell, RefCell};

use harnery_native::javascript::Thrown;
use harnery_native::lease::{Hooks, Owner, Probe, Probed, RecoveryStep};

type Callback<A, R> = RefCell<Option<Box<dyn FnMut(A) -> R>>>;

#[derive(Default)]
pub struct Script {
    pub now: Cell<Option<f64>>,
    probe: Callback<i64, Probed>,
    validate: Callback<Owner, Result<bool, Thrown>>,
    on_create: Callback<(), Result<(), Thrown>>,
    on_contention: Callback<(), Result<(), Thrown>>,
    on_step: Callback<RecoveryStep, Result<(), Thrown>>,
}

impl Script {
    pub fn at(now: f64) -> Script {
        let script = Script::default();
        script.now.set(Some(now));
        script
    }

    pub fn on_step(self, call: impl FnMut(RecoveryStep) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_step.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn on_contention(self, call: impl FnMut(()) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_contention.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn on_create(self, call: impl FnMut(()) -> Result<(), Thrown> + 'static) -> Script {
        *self.on_create.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn validate(self, call: impl FnMut(Owner) -> Result<bool, Thrown> + 'static) -> Script {
        *self.validate.borrow_mut() = Some(Box::new(call));
        self
    }

    pub fn probe(self, call: impl FnMut(i64) -> Probed + 'static) -> Script {
        *self.probe.borrow_mut() = Some(Box::new(call));
        self
    }

    /// A probe that says of these processes that they are there, and of no other.
    pub fn only_alive(self, alive: &'static [i64]) -> Script {
        self.probe(move |pid| {
            if alive.contains(&pid) {
                Probed::Returned
            } else {
                Probed::Threw { code: Some("ESRCH".into()) }
            }
        })
    }
}

fn call<A, R>(callback: &Callback<A, R>, argument: A) -> Option<R> {
    // Taken out while it runs, so that it may come back here.
    let mut taken = callback.borrow_mut().take()?;
    let result = taken(argument);
    *callback.borrow_mut() = Some(taken);
    Some(result)
}

impl Probe for Script {
    fn probe(&self, pid: i64) -> Probed {
        call(&self.probe, pid).unwrap()
    }
}

impl Hooks for Script {
    fn now(&self) -> Result<Option<f64>, Thrown> {
        Ok(self.now.get())
    }
    fn probe_pid(&self) -> Option<&dyn Probe> {
        self.probe.borrow().is_some().then_some(self)
    }
    fn validate_stale_owner(&self, owner: &Owner) -> Result<Option<bool>, Thrown> {
        call(&self.validate, owner.clone()).transpose()
    }
    fn on_lease_directory_create(&self) -> Result<bool, Thrown> {
        call(&self.on_create, ()).transpose().map(|called| called.is_some())
    }
    fn on_contention(&self) -> Result<(), Thrown> {
        call(&self.on_contention, ()).unwrap_or(Ok(()))
    }
    fn on_recovery_step(&self, step: RecoveryStep) -> Result<(), Thrown> {
        call(&self.on_step, step).unwrap_or(Ok(()))
    }
}

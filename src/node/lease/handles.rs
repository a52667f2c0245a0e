//! The leases that JavaScript holds handles of.
//!
//! A handle is a plain object with a `release` of its own, so that spreading or taking it apart keeps it working. Its
//! Rust side stands in a table under a number, and goes when it is released: no handle has a finalizer. What is in the
//! table of a worker that ends is let go, since its process lives on and nobody else could.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use napi::Result;

use super::done;
use crate::host::Host;
use crate::javascript::json::stringify;
use crate::lease::Lease;
use crate::node::instance::{host, Instance};
use crate::node::native::native;
use crate::node::objects::Factory;
use crate::node::value::{Js, Scope};

#[derive(Default)]
pub(super) struct Handles {
    last: Cell<u64>,
    leases: RefCell<BTreeMap<u64, Held>>,
}

/// A lease that is released by its handle, or when its worker ends. With the main thread the process ends, and leaves
/// its leases as any process does that dies.
struct Held {
    lease: Lease,
    host: Host,
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.lease.is_over() {
            return;
        }
        // A lease in another process's name is that process's: it stays.
        let is_ours = self.lease.owner.pid == i64::from(self.host.processes.me().get());
        if is_ours && self.host.processes.outlives_this_thread() {
            // A failure has nobody to hear of it.
            let _ = self.lease.let_go(&self.host);
        }
    }
}

/// Two literals, so that a lease that recovered nobody has no such member.
const HANDLE: Factory = Factory(
    "(() => {
        const make = (release, number, owner) => ({ owner: parse(owner), release() { release(number) } })
        const makeRecovered = (release, number, owner, recovered) =>
            ({ owner: parse(owner), recovered_owner: parse(recovered), release() { release(number) } })
        return (release, number, owner, recovered) => {
            const lease =
                recovered === undefined ? make(release, number, owner) : makeRecovered(release, number, owner, recovered)
            if (typeof dispose === 'symbol') lease[dispose] = lease.release
            return lease
        }
    })()",
);

impl Handles {
    pub(super) fn of(scope: Scope<'_>) -> Result<Rc<Handles>> {
        Ok(Instance::of(scope)?.part())
    }

    /// The handle of a lease that has been acquired. When none can be made (no stack is left, say), the lease is let go:
    /// nobody would have anything to release it by.
    pub(super) fn hand_out<'env>(&self, scope: Scope<'env>, mut lease: Lease) -> Result<Js<'env>> {
        self.last.set(self.last.get() + 1);
        let number = self.last.get();
        let host = host(scope)?;
        let handle = self.handle(scope, number, &lease);
        match handle {
            Ok(_) => drop(self.leases.borrow_mut().insert(number, Held { lease, host })),
            // Best effort: the failure that is reported is the first one.
            Err(_) => drop(lease.release(&host)),
        }
        handle
    }

    fn handle<'env>(&self, scope: Scope<'env>, number: u64, lease: &Lease) -> Result<Js<'env>> {
        let owner = scope.string(&lease.owner.text)?;
        let recovered = match &lease.recovered_owner {
            Some(recovered) => scope.string(&stringify(&recovered.value))?,
            None => scope.undefined()?,
        };
        let release = native(scope, release)?;
        HANDLE.call(scope, &[release, scope.number(number as f64)?, owner, recovered])
    }

    pub(super) fn holds(&self, host: &Host, owner_id: &str) -> bool {
        let leases = self.leases.borrow();
        leases.values().any(|held| held.lease.owner.owner_id == owner_id && held.lease.holds(host))
    }
}

/// JavaScript's `release(number)`. Releasing again finds nothing, which is fine.
fn release<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let number = arguments.first().and_then(|number| number.as_number()).unwrap_or_default() as u64;
    let handles = Handles::of(scope)?;
    let held = handles.leases.borrow_mut().remove(&number);
    if let Some(mut held) = held {
        let released = held.lease.release(&held.host);
        if !held.lease.is_over() {
            // Something failed on the way: it can be tried again.
            handles.leases.borrow_mut().insert(number, held);
        }
        done(scope, released)?;
    }
    scope.undefined()
}

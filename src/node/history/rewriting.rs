//! A rewrite, as a promise.

use napi::Result;

use super::done;
use super::given::{json, lease_wait, resolved, writing, Functions};
use crate::history::rewrite::Rewrite;
use crate::host::Host;
use crate::lease::Progress;
use crate::node::arguments::Argument;
use crate::node::call::KeptCallback;
use crate::node::instance::host;
use crate::node::value::{Js, Scope};
use crate::node::waits::{Step, Task};

pub(super) struct Rewriting {
    host: Host,
    rewrite: Rewrite,
    fault: Option<KeptCallback>,
}

/// Read the request and check it.
pub(super) fn begin<'env>(scope: Scope<'env>, given: [Js<'env>; 5]) -> Result<Rewriting> {
    let [path, records, max_record_bytes, fault, options] = given;
    let path = resolved(Argument::new(path, "path"))?;
    let limit = Argument::new(max_record_bytes, "maxRecordBytes").number()?;
    let fault = Functions::fault_alone(fault)?.fault().map(|fault| fault.keep()).transpose()?;
    let wait = lease_wait(&Argument::new(options, "options").options()?)?;
    let records = Argument::new(records, "records").array(json)?;
    let writing = writing(scope, &path, wait)?;
    let host = host(scope)?;
    let rewrite = done(scope, Rewrite::begin(&host, &path, &records, limit, writing))?;
    Ok(Rewriting { host, rewrite, fault })
}

impl Task for Rewriting {
    fn advance<'env>(&mut self, scope: Scope<'env>) -> Result<Step<'env>> {
        let fault = self.fault.as_ref().map(|fault| fault.get(scope)).transpose()?;
        match done(scope, self.rewrite.advance(&self.host, &Functions::kept(fault)))? {
            Progress::Done(()) => Ok(Step::Done(scope.undefined()?)),
            Progress::Wait(pause) => Ok(Step::Wait(pause)),
        }
    }

    fn abort(&mut self, _scope: Scope<'_>) {
        self.rewrite.abort(&self.host);
    }
}

impl Drop for Rewriting {
    /// An environment that ends while a dead writer's lease is being taken over leaves its process alive: the lease
    /// would be busy for everyone until that ends, too.
    fn drop(&mut self) {
        self.rewrite.abort(&self.host);
    }
}

//! Stopping a server: a promise that goes on when a process ends.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::context::{options, record, Servers};
use crate::javascript::json::{Object, Value};
use crate::lease::Progress;
use crate::node::arguments::Argument;
use crate::node::errors::raise;
use crate::node::instance::host;
use crate::node::objects::value_to_js;
use crate::node::process::{KeptStandIns, StandIns};
use crate::node::value::{Js, Scope};
use crate::node::waits::{promise, AbortSignal, Step, Task};
use crate::servers::custody::stop::CustodyStop;
use crate::servers::stop::{Method, Stop, StopOptions, StopResult, DEFAULT_GRACE};
use crate::servers::Schema;

/// Stop a server: SIGTERM to it, its process group and its helpers, SIGKILL to what is left after `graceMs` (5000).
///
/// Each process is held before it is verified, and nobody but the one that was recorded is ever signalled. Resolves as
/// soon as the last process has ended; no thread waits meanwhile, and the event loop is never blocked. A refused or
/// failed stop leaves the record. If the port of a stopped server is still listened on, `detail` says by whom.
///
/// Aborting `signal` rejects with its reason, sends nothing more and leaves the record. Rejects with the system
/// error (`EMFILE`) when there are no descriptors left to hold a process.
#[napi(
    catch_unwind,
    ts_args_type = "record: ServerRecord, options?: StopServerOptions",
    ts_return_type = "Promise<StopResult>"
)]
pub(crate) fn stop_server<'env>(env: &'env Env, record: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    promise(scope, || {
        let servers = Servers::new(scope, Schema::Current)?;
        begin(&servers, Argument::new(record, "record"), Argument::new(options, "options"))
    })
}

pub(super) fn begin<'env>(
    servers: &Servers<'env>,
    given: Argument<'env>,
    options_given: Argument<'env>,
) -> Result<(Stopping, Option<AbortSignal<'env>>)> {
    let members = options_given.options()?;
    let record = record(given)?;
    let options = options(&members)?;
    let grace = members.optional("graceMs", Argument::milliseconds)?.unwrap_or(DEFAULT_GRACE);
    let stand_ins = members.optional("signalDependencies", Argument::object)?;
    let stand_ins = stand_ins.map(|members| StandIns::of_a_server(&members)).transpose()?;
    let signal = members.optional("signal", AbortSignal::read)?;
    let registry = servers.registry();
    let stop = servers.done(match servers.schema {
        Schema::Custody => {
            CustodyStop::new(&registry, record, &options, grace).map(|stop| Under::Custody(Box::new(stop)))
        }
        Schema::Current => registry.project(&options.coord_root).map(|project| {
            let site = project.map(|project| registry.site(&project));
            Under::Current(Stop::new(record, StopOptions { site, schema: Schema::Current, grace }))
        }),
    })?;
    let stand_ins = stand_ins.unwrap_or_default().keep()?;
    Ok((Stopping { stop, stand_ins }, signal))
}

/// A stop that a promise stands for.
pub(super) struct Stopping {
    stop: Under,
    stand_ins: KeptStandIns,
}

enum Under {
    Current(Stop),
    Custody(Box<CustodyStop>),
}

impl Task for Stopping {
    fn advance<'env>(&mut self, scope: Scope<'env>) -> Result<Step<'env>> {
        let stand_ins = self.stand_ins.get(scope)?;
        let host = host(scope)?;
        let gone_on = match &mut self.stop {
            Under::Current(stop) => stop.advance(&host, &stand_ins),
            Under::Custody(stop) => stop.advance(&host, &stand_ins),
        };
        match gone_on {
            Ok(Progress::Done(result)) => Ok(Step::Done(value_to_js(scope, &described(result))?)),
            Ok(Progress::Wait(pause)) => Ok(Step::Wait(pause)),
            Err(error) => Err(raise(scope, error)),
        }
    }

    fn abort(&mut self, _scope: Scope<'_>) {
        // Nothing is half done between two steps: what was sent was sent, the record stands, and dropping a stop
        // lets go of its lease.
    }
}

/// `StopResult`
fn described(result: StopResult) -> Value {
    let method = match result.method {
        Method::NotRunning => "not-running",
        Method::Signal => "signal",
        Method::Refused => "refused",
    };
    Value::Object(
        Object::new()
            .with("id", Some(result.id))
            .with("stopped", Some(Value::Bool(result.stopped)))
            .with("method", Some(method))
            .with("generation", result.generation.map(|generation| generation.as_str()))
            .with("detail", result.detail),
    )
}

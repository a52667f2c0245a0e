//! Holding a registration's custody while a function of the caller's runs, and until what it promises is settled.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::custody;
use crate::node::arguments::Argument;
use crate::node::call::Callback;
use crate::node::errors::raise;
use crate::node::instance::Instance;
use crate::node::native::native;
use crate::node::objects::Factory;
use crate::node::servers::context::{options, record};
use crate::node::value::{Js, Scope};
use crate::servers::custody::hold::Custody;

/// Run the effect and let go exactly once: when it has returned or thrown, or when what it returned is settled. A
/// failure to let go is told unless the effect's own failure is.
///
/// `await` in an async function is what makes any thenable a promise of this realm that settles once.
const RUN: Factory = Factory(
    "(effect, letGo, number) => {
       const settle = async (result) => {
         let value
         try {
           value = await result
         } catch (error) {
           try { letGo(number) } catch {}
           throw error
         }
         letGo(number)
         return value
       }
       let result
       let isThenable
       try {
         result = effect()
         isThenable = result !== null && (typeof result === 'object' || typeof result === 'function') && typeof result.then === 'function'
       } catch (error) {
         try { letGo(number) } catch {}
         throw error
       }
       if (isThenable) return settle(result)
       letGo(number)
       return result
     }",
);

/// What one environment holds. Its end lets everything go: no effect of it will be settled any more.
#[derive(Default)]
struct Held {
    last: Cell<u32>,
    custodies: RefCell<BTreeMap<u32, Custody>>,
}

/// Run `effect` under a custody.
pub(super) fn run<'env>(scope: Scope<'env>, custody: Custody, effect: Callback<'env>) -> Result<Js<'env>> {
    let held = Instance::of(scope)?.part::<Held>();
    let number = held.last.get().wrapping_add(1);
    held.last.set(number);
    held.custodies.borrow_mut().insert(number, custody);
    let done = native(scope, let_go)
        .and_then(|let_go| RUN.call(scope, &[effect.function(), let_go, scope.number(f64::from(number))?]));
    if done.is_err() {
        // JavaScript has let go, unless it could not run (no stack is left, say).
        let custody = held.custodies.borrow_mut().remove(&number);
        // Best effort: the failure that is reported is the first one.
        let _ = custody.map(Custody::release);
    }
    done
}

/// The body of what lets a custody go.
fn let_go<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let number = arguments.first().and_then(|number| number.as_number()).unwrap_or_default() as u32;
    let custody = Instance::of(scope)?.part::<Held>().custodies.borrow_mut().remove(&number);
    if let Some(custody) = custody {
        custody.release().map_err(|error| raise(scope, error))?;
    }
    scope.undefined()
}

/// Hold the exact registration that `record` is the receipt of while `effect` runs, and while what it returns is
/// unsettled. Nobody else registers, touches, removes or stops its id meanwhile; a call for the same id from `effect`
/// is refused at once; a `stopServer`, which blocks nobody, when `custodyWaitMs` are over. Custody is let go exactly once, whatever comes of the effect, and when its environment ends.
///
/// Throws `registration custody root is unavailable` without a project, and `registration … custody changed` when the
/// receipt is no longer current (both `SERVER_CUSTODY`); `LEASE_HELD` while another process changes the id.
#[napi(
    namespace = "custody",
    catch_unwind,
    ts_generic_types = "T",
    ts_args_type = "record: ServerRecord, options: ServerOptions, effect: () => PromiseLike<T>",
    ts_return_type = "Promise<T>\nexport function withServerRegistrationCustody<T>(record: ServerRecord, options: ServerOptions, effect: () => T): T"
)]
pub(crate) fn with_server_registration_custody<'env>(
    env: &'env Env,
    record: Js<'env>,
    options: Js<'env>,
    effect: Js<'env>,
) -> Result<Js<'env>> {
    let servers = custody(env)?;
    let record = self::record(Argument::new(record, "record"))?;
    let options = self::options(&Argument::new(options, "options").options()?)?;
    let effect = Argument::new(effect, "effect").function()?;
    let custody = servers.done(Custody::take(&servers.registry(), &record, &options))?;
    run(servers.scope, custody, effect)
}

//! A history as an asynchronous iterable: a generator of JavaScript's own over reads of one block each.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use napi::Result;

use super::done;
use super::given::{resolved, ReadLimits};
use crate::history::read::Reader;
use crate::history::Layout;
use crate::node::arguments::Argument;
use crate::node::instance::{host, Instance};
use crate::node::native::native;
use crate::node::objects::Factory;
use crate::node::paths::{given_back, held};
use crate::node::value::{Js, Scope};

/// Records are handed over once there are so many bytes of them.
const BLOCK: usize = 64 * 1024;

/// The event loop turns after each block; a generator alone would only let promises go on. A stream that is left
/// early, or that fails, is closed by `finally`; one that was never begun has nothing open. One that nobody goes on
/// with is closed when the garbage collector takes its generator, which no `finally` of it hears of.
const STREAM: Factory = Factory(
    "(() => {
        const turn = () => new Promise((resolve) => later(resolve))
        const abandoned = new FinalizationRegistry((shut) => shut())
        return (open, next, close, directory, limits) => {
            let stream
            const shut = () => { if (stream !== undefined) close(stream) }
            const records = (async function* () {
                stream = open(directory, limits)
                try {
                    for (let text = next(stream); text !== undefined; text = next(stream)) {
                        yield* parse(text)
                        await turn()
                    }
                } finally {
                    shut()
                }
            })()
            abandoned.register(records, shut)
            return records
        }
    })()",
);

/// What was read of the caller's options when the stream was made.
const LIMITS: Factory = Factory("(max_record_bytes, max_records) => ({ max_record_bytes, max_records })");

/// Check everything now; nothing is opened before the first record is asked for.
pub(super) fn stream<'env>(scope: Scope<'env>, object_dir: Js<'env>, options: Js<'env>) -> Result<Js<'env>> {
    let directory = held(scope, &resolved(Argument::new(object_dir, "objectDir"))?)?;
    let limits = ReadLimits::of(&Argument::new(options, "options").object()?)?;
    done(scope, limits.check())?;
    let max_records = limits.max_records.map_or_else(|| scope.undefined(), |limit| scope.number(limit))?;
    let limits = LIMITS.call(scope, &[scope.number(limits.max_record_bytes)?, max_records])?;
    let (open, next, close) = (native(scope, open)?, native(scope, next)?, native(scope, close)?);
    STREAM.call(scope, &[open, next, close, directory, limits])
}

/// The streams of one environment that have been begun.
#[derive(Default)]
struct Streams {
    last: Cell<u64>,
    open: RefCell<BTreeMap<u64, Reader>>,
}

impl Streams {
    fn of(scope: Scope<'_>) -> Result<Rc<Streams>> {
        Ok(Instance::of(scope)?.part())
    }
}

/// JavaScript's `open(directory, limits)`.
fn open<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let [directory, limits] = arguments else { return scope.undefined() };
    let layout = Layout::directory(&given_back(Some(directory)));
    let limits = ReadLimits::of(&Argument::new(*limits, "options").object()?)?;
    let reader = Reader::open(&host(scope)?, layout, done(scope, limits.check())?);
    let streams = Streams::of(scope)?;
    let number = streams.last.get() + 1;
    streams.last.set(number);
    streams.open.borrow_mut().insert(number, done(scope, reader)?);
    scope.number(number as f64)
}

/// JavaScript's `next(stream)`: the next records as JSON, `undefined` after the last.
fn next<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let (streams, host) = (Streams::of(scope)?, host(scope)?);
    let mut open = streams.open.borrow_mut();
    let Some(reader) = open.get_mut(&number(arguments)) else { return scope.undefined() };
    let batch = reader.batch(&host, BLOCK);
    drop(open);
    done(scope, batch)?.map_or_else(|| scope.undefined(), |text| scope.string(&text))
}

/// JavaScript's `close(stream)`.
fn close<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    Streams::of(scope)?.open.borrow_mut().remove(&number(arguments));
    scope.undefined()
}

fn number(arguments: &[Js<'_>]) -> u64 {
    arguments.first().and_then(|number| number.as_number()).unwrap_or_default() as u64
}

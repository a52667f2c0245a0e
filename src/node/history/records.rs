//! Records as JavaScript has them: parsed by its own parser, many at a time.

use napi::Result;

use super::done;
use super::given::{json, ReadLimits};
use crate::history::read::Reader;
use crate::history::update::Decision;
use crate::history::{self, Layout};
use crate::host::Host;
use crate::node::arguments::Argument;
use crate::node::call::{thrown_by, Callback};
use crate::node::instance::host;
use crate::node::objects::{parse_json, Factory};
use crate::node::value::{Js, Scope};

/// So many bytes of JSON are handed over at once: enough to make the calls cheap, few enough to stay in the processor's
/// cache.
const ENOUGH: usize = 256 * 1024;

/// `DurableHistoryReadOptions` applied to a whole history.
pub(super) fn read_all<'env>(scope: Scope<'env>, layout: Layout, options: Js<'env>) -> Result<Js<'env>> {
    let limits = ReadLimits::of(&Argument::new(options, "options").object()?)?;
    let limits = done(scope, limits.check())?;
    let host = host(scope)?;
    let mut reader = done(scope, Reader::open(&host, layout, limits))?;
    rest(scope, &host, &mut reader)
}

/// Let the caller's function decide what follows from the records.
pub(super) fn decide<'env>(
    scope: Scope<'env>,
    host: &Host,
    reader: &mut Reader,
    update: Callback<'env>,
) -> history::Result<Decision<Js<'env>>> {
    let thrown = |error| thrown_by(scope, error);
    let records = rest(scope, host, reader).map_err(thrown)?;
    let decision = update.call(&[records])?;
    let read = || {
        let members = Argument::new(decision, "update()").synchronous()?.object()?;
        let append = members.optional("append", |records| records.array(json))?;
        Ok(Decision {
            append: append.unwrap_or_default(),
            result: members.required("result", |result| Ok(result.value()))?,
        })
    };
    read().map_err(thrown).map_err(Into::into)
}

/// What a reader has not read yet.
fn rest<'env>(scope: Scope<'env>, host: &Host, reader: &mut Reader) -> Result<Js<'env>> {
    const APPEND: Factory = Factory("(all, more) => { for (const record of more) all.push(record) }");
    let mut next = || done(scope, reader.batch(host, ENOUGH));
    let all = match next()? {
        Some(text) => parse_json(scope, &text)?,
        None => return scope.array(std::iter::empty()),
    };
    while let Some(text) = next()? {
        APPEND.call(scope, &[all, parse_json(scope, &text)?])?;
    }
    Ok(all)
}

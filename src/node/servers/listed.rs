//! Listings for JavaScript. A record that stands as it did in the listing before is not parsed again but copied, which
//! costs a tenth of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use napi::Result;

use crate::node::instance::Instance;
use crate::node::objects::{json_parser, Factory};
use crate::node::value::{Js, Scope};
use crate::servers::list::Report;
use crate::servers::ServerRecord;

/// The records of the listing before are kept untouched; whoever is given one may change it.
const REPORT: Factory = Factory(
    "(() => {
       const { keys } = Object
       const { isArray } = Array
       const copy = (value) => {
         const list = isArray(value)
         const made = list ? [] : { ...value }
         const names = keys(value)
         for (let at = 0; at < names.length; at++) {
           const member = value[names[at]]
           const nested = typeof member === 'object' && member !== null
           if (list || nested) made[names[at]] = nested ? copy(member) : member
         }
         return made
       }
       let kept = []
       return (parse, text) => {
         const report = parse(text)
         const { servers } = report
         const records = []
         for (let at = 0; at < servers.length; at++) {
           const view = servers[at]
           const record = typeof view.record === 'number' ? kept[view.record] : view.record
           records[at] = record
           view.record = copy(record)
         }
         kept = records
         return report
       }
     })()",
);

/// The records that an environment's JavaScript keeps, in the order in which it does.
#[derive(Default)]
struct Kept(RefCell<Vec<Rc<ServerRecord>>>);

/// A listing as JavaScript's object.
pub(super) fn report_to_js<'env>(scope: Scope<'env>, report: &Report) -> Result<Js<'env>> {
    let kept = Instance::of(scope)?.part::<Kept>();
    let before = kept.0.take();
    let numbers: HashMap<_, usize> = before.iter().map(Rc::as_ptr).zip(0..).collect();
    let text = report.to_json(|record| numbers.get(&Rc::as_ptr(record)).copied());
    let made = REPORT.call(scope, &[json_parser(scope)?, scope.string(&text)?])?;
    kept.0.replace(report.servers.iter().map(|view| Rc::clone(&view.record)).collect());
    Ok(made)
}

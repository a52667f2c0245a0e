//! The registry's functions, for either contract.

use std::time::Duration;

use napi::Result;

use super::context::{hours, instant, kind, options, owner, Servers};
use super::listed::report_to_js;
use crate::node::arguments::Argument;
use crate::node::errors::exception;
use crate::node::native::native;
use crate::node::objects::{parse_json, Factory};
use crate::node::value::{Js, Scope};
use crate::servers::adopt::{adopt, Adoption};
use crate::servers::list::{list_servers, ListOptions};
use crate::servers::ports::allocate;
use crate::servers::read::{read_server, shared_records};
use crate::servers::register::{register, GivenOwner, Input};
use crate::servers::touch::{touch, touch_sparingly};
use crate::servers::Schema;

const TOUCHER: Factory = Factory(
    "(touch, schema, id, coordRoot, custodyWaitMs) => {
       const options = { coordRoot, custodyWaitMs }
       let last
       return () => { last = touch(schema, id, options, last) }
     }",
);

impl<'env> Servers<'env> {
    pub(super) fn register(&self, input: Js<'env>, given: Js<'env>) -> Result<Js<'env>> {
        let input = read_input(Argument::new(input, "input"))?;
        let options = options(&Argument::new(given, "options").options()?)?;
        let record = self.done(register(&self.registry(), &input, &options))?;
        self.record_or_null(record)
    }

    /// [`Servers::register`], with `null` for whatever it throws.
    pub(super) fn try_register(&self, input: Js<'env>, given: Js<'env>) -> Result<Js<'env>> {
        self.register(input, given).or_else(|error| {
            let _ = exception(self.scope, error)?;
            self.scope.null()
        })
    }

    pub(super) fn read(&self, id: Js<'env>, given: Js<'env>) -> Result<Js<'env>> {
        let id = Argument::new(id, "id").string()?;
        let options = options(&Argument::new(given, "options").options()?)?;
        let record = self.done(read_server(&self.registry(), &id, &options))?;
        self.record_or_null(record)
    }

    pub(super) fn read_all(&self, given: Js<'env>) -> Result<Js<'env>> {
        let options = options(&Argument::new(given, "options").options()?)?;
        let records = self.done(shared_records(&self.registry(), &options))?;
        let texts: Vec<_> = records.iter().map(|record| record.json()).collect();
        parse_json(self.scope, &format!("[{}]", texts.join(",")))
    }

    pub(super) fn touch(&self, id: Js<'env>, given: Js<'env>) -> Result<()> {
        let id = Argument::new(id, "id").string()?;
        let members = Argument::new(given, "options").options()?;
        let options = options(&members)?;
        let now_ms = members.optional("now", instant)?.unwrap_or_else(|| self.host.clock.now_ms());
        self.done(touch(&self.registry(), &id, &options, now_ms))
    }

    /// A function that touches at most once a minute. What it must remember is JavaScript's own, so that nothing is
    /// left behind when it goes.
    pub(super) fn toucher(&self, id: Js<'env>, given: Js<'env>) -> Result<Js<'env>> {
        Argument::new(id, "id").string()?;
        let members = Argument::new(given, "options").options()?;
        options(&members)?;
        let member = |name| {
            members.optional(name, |value| Ok(value.value()))?.map_or_else(|| self.scope.undefined(), Ok)
        };
        let schema = self.scope.number(self.schema.version() as f64)?;
        let touch = native(self.scope, touch_once_a_minute)?;
        TOUCHER.call(self.scope, &[touch, schema, id, member("coordRoot")?, member("custodyWaitMs")?])
    }

    pub(super) fn list(&self, given: Js<'env>) -> Result<Js<'env>> {
        let members = Argument::new(given, "options").options()?;
        let flag = |name| members.optional(name, Argument::boolean);
        let defaults = ListOptions::default();
        let options = ListOptions {
            options: options(&members)?,
            scan: flag("scan")?.unwrap_or(defaults.scan),
            sample: flag("sample")?.unwrap_or(defaults.sample),
            prune: flag("prune")?.unwrap_or(defaults.prune),
            owner_stale_hours: members
                .optional("ownerStaleHours", hours)?
                .unwrap_or(defaults.owner_stale_hours),
            now_ms: members.optional("now", instant)?,
        };
        let report = self.done(list_servers(&self.registry(), &options))?;
        report_to_js(self.scope, &report)
    }

    pub(super) fn adopt(&self, pid: Js<'env>, given: Js<'env>) -> Result<Js<'env>> {
        let pid = Argument::new(pid, "pid").number()?;
        let members = Argument::new(given, "options").options()?;
        let defaults = Adoption::default();
        let owner = members.optional("owner", |owner| owner.word(&[("self", true), ("none", false)]))?;
        let adoption = Adoption {
            server_type: members.optional("type", Argument::text)?.unwrap_or(defaults.server_type),
            kind: members.optional("kind", kind)?.unwrap_or(defaults.kind),
            label: members.optional("label", Argument::text)?,
            scope: members.optional("scope", Argument::string)?,
            owner: if owner.unwrap_or(true) { GivenOwner::Calling } else { GivenOwner::Nobody },
        };
        let record = self.done(adopt(&self.registry(), pid, &adoption, &options(&members)?))?;
        self.record_or_null(Some(record))
    }

    pub(super) fn allocate(&self, server_type: Js<'env>, given: Js<'env>) -> Result<Option<u16>> {
        let server_type = Argument::new(server_type, "type").string()?;
        let options = options(&Argument::new(given, "options").options()?)?;
        self.done(allocate(&self.registry(), &server_type, &options))
    }
}

/// `RegisterServerInput`
fn read_input(input: Argument<'_>) -> Result<Input> {
    let members = input.object()?;
    let text = |name| members.optional(name, Argument::text);
    let path = |name| members.optional(name, Argument::string);
    let owner = match members.optional("owner", |given| given.or_null(owner))? {
        None => GivenOwner::Calling,
        Some(None) => GivenOwner::Nobody,
        Some(Some(owner)) => GivenOwner::Named(owner),
    };
    Ok(Input {
        id: members.optional("id", Argument::string)?,
        kind: members.required("kind", kind)?,
        server_type: members.required("type", Argument::text)?,
        label: text("label")?,
        url: text("url")?,
        port: members.optional("port", Argument::number)?,
        pid: members.optional("pid", Argument::number)?,
        start_token: members.optional("start_token", Argument::string)?,
        pids: members.optional("pids", |pids| pids.array(Argument::number))?.unwrap_or_default(),
        scope: path("scope")?,
        cwd: path("cwd")?,
        log: path("log")?,
        started_at: text("started_at")?,
        owner,
    })
}

/// The body of a toucher, whose arguments were read when it was made: schema, id, options, and what the call before
/// gave.
fn touch_once_a_minute<'env>(scope: Scope<'env>, arguments: &[Js<'env>]) -> Result<Js<'env>> {
    let [schema, id, given, last] = arguments else { return scope.undefined() };
    let is_custody = schema.as_number() == Some(Schema::Custody.version() as f64);
    let servers = Servers::new(scope, if is_custody { Schema::Custody } else { Schema::Current })?;
    let id = Argument::new(*id, "id").string()?;
    let options = options(&Argument::new(*given, "options").options()?)?;
    let last = last.as_number().map(Duration::from_secs_f64);
    let touched = touch_sparingly(&servers.registry(), &id, &options, last);
    scope.number(touched.as_secs_f64())
}

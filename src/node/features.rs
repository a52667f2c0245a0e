//! What the kernel offers.

use napi::bindgen_prelude::{Env, Result};
use napi_derive::napi;

use super::instance::host;
use super::objects::value_to_js;
use super::value::{Js, Scope};
use crate::host::features::features;
use crate::javascript::json::{Object, Value};

/// What this process can have from its kernel, found out by asking it. Whatever is missing has a fallback.
#[napi(catch_unwind, ts_return_type = "KernelFeatures")]
pub(crate) fn kernel_features<'env>(env: &'env Env) -> Result<Js<'env>> {
    let scope = Scope::from(env);
    let features = features(&host(scope)?);
    let text = |text: Option<String>| text.map_or(Value::Null, Value::from);
    let object = Object::new()
        .with("pidfd", Some(Value::Bool(features.pidfd)))
        .with("group_signals", Some(Value::Bool(features.group_signals)))
        .with("pidfs", Some(Value::Bool(features.pidfs)))
        .with("socket_diagnostics", Some(Value::Bool(features.socket_diagnostics)))
        .with("boot_id", Some(text(features.boot_id)))
        .with("pid_namespace", Some(text(features.pid_namespace)))
        .with("time_namespace", Some(text(features.time_namespace)));
    value_to_js(scope, &Value::Object(object))
}

//! A listing as the value that JavaScript is given.

use super::{Report, View};
use crate::javascript::json::{Object, Value};
use crate::net::ScanSupport;
use crate::servers::listeners::UnregisteredListener;

impl Report {
    /// `ServersReport`
    pub fn into_value(self) -> Value {
        let scan = match self.scan {
            ScanSupport::Procfs => "procfs",
            ScanSupport::Lsof => "lsof",
            ScanSupport::Unsupported => "unsupported",
        };
        Object::new()
            .with("schema_version", Some(1))
            .with("coord_root", Some(self.coord_root))
            .with("scan", Some(scan))
            .with("servers", Some(list(self.servers, View::into_value)))
            .with("unregistered", Some(list(self.unregistered, UnregisteredListener::into_value)))
            .with("pruned", Some(list(self.pruned, Value::from)))
            .into()
    }
}

impl View {
    /// `ServerView`
    pub fn into_value(self) -> Value {
        Object::new()
            .with("record", Some(self.record.into_object()))
            .with("state", Some(self.state.as_str()))
            .with("owner_state", Some(self.owner_state.as_str()))
            .with(
                "connections",
                Some(self.connections.map_or(Value::Null, |count| Value::from(count as i64))),
            )
            .with("last_active_at", Some(self.last_active_at))
            .with("idle_ms", Some(self.idle_ms))
            .into()
    }
}

impl UnregisteredListener {
    /// `UnregisteredListener`
    pub fn into_value(self) -> Value {
        Object::new()
            .with("pid", Some(i64::from(self.pid.get())))
            .with("port", Some(i64::from(self.port)))
            .with("address", Some(self.address))
            .with("command", Some(self.command))
            .with("cwd", Some(self.cwd.map_or(Value::Null, Value::from)))
            .into()
    }
}

fn list<T>(items: Vec<T>, value: impl Fn(T) -> Value) -> Value {
    Value::Array(items.into_iter().map(value).collect())
}

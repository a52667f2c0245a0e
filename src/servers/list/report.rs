//! A listing as the JSON text that JavaScript is given. Records are handed on as they were read: most of the text is theirs,
//! and `JSON.parse` is where it ends.

use std::fmt::Write;

use super::{Report, View};
use crate::javascript::json::{stringify, Object, Value};
use crate::net::ScanSupport;
use crate::servers::listeners::UnregisteredListener;

impl Report {
    /// The text of a `ServersReport`.
    pub fn to_json(&self) -> String {
        let scan = match self.scan {
            ScanSupport::Procfs => "procfs",
            ScanSupport::Lsof => "lsof",
            ScanSupport::Unsupported => "unsupported",
        };
        let mut text = String::new();
        let root = quoted(&self.coord_root);
        // Writing to a string does not fail.
        let _ = write!(text, r#"{{"schema_version":1,"coord_root":{root},"scan":"{scan}","servers":["#);
        for (number, view) in self.servers.iter().enumerate() {
            text.push_str(if number == 0 { "" } else { "," });
            view.write_json(&mut text);
        }
        let unregistered = self.unregistered.iter().map(UnregisteredListener::to_value).collect();
        let pruned = self.pruned.iter().map(|id| Value::from(id.as_str())).collect();
        let (unregistered, pruned) =
            (stringify(&Value::Array(unregistered)), stringify(&Value::Array(pruned)));
        let _ = write!(text, r#"],"unregistered":{unregistered},"pruned":{pruned}}}"#);
        text
    }
}

impl View {
    /// The text of a `ServerView`.
    fn write_json(&self, text: &mut String) {
        let View { record, state, owner_state, connections, last_active_at, idle_ms } = self;
        let (record, last) = (record.json(), quoted(last_active_at));
        let (state, owner_state) = (state.as_str(), owner_state.as_str());
        let _ = write!(
            text,
            r#"{{"record":{record},"state":"{state}","owner_state":"{owner_state}","connections":"#
        );
        let _ = match connections {
            Some(count) => write!(text, "{count}"),
            None => write!(text, "null"),
        };
        let _ = write!(text, r#","last_active_at":{last},"idle_ms":{idle_ms}}}"#);
    }
}

impl UnregisteredListener {
    /// `UnregisteredListener`
    pub fn to_value(&self) -> Value {
        Object::new()
            .with("pid", Some(i64::from(self.pid.get())))
            .with("port", Some(i64::from(self.port)))
            .with("address", Some(self.address.as_str()))
            .with("command", Some(self.command.as_str()))
            .with("cwd", Some(self.cwd.as_deref().map_or(Value::Null, Value::from)))
            .into()
    }
}

fn quoted(text: &str) -> String {
    stringify(&Value::from(text))
}

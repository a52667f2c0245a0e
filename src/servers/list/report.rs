//! A listing as the JSON text that JavaScript is given. Records are handed on as they were read: most of the text is theirs,
//! and `JSON.parse` is where it ends.

use std::fmt::Write;
use std::rc::Rc;

use super::{Report, View};
use crate::javascript::json::{push_quoted, stringify, Object, Value};
use crate::net::ScanSupport;
use crate::servers::listeners::UnregisteredListener;
use crate::servers::ServerRecord;

impl Report {
    /// The text of a `ServersReport`, with a number in the place of a record that its reader has by that number.
    pub fn to_json(&self, number_of: impl Fn(&Rc<ServerRecord>) -> Option<usize>) -> String {
        // What is written around a record is shorter than this.
        const AROUND: usize = 192;
        let records: usize = self.servers.iter().map(|view| view.record.json().len() + AROUND).sum();
        let mut text = String::with_capacity(records + 4096);
        text.push_str(r#"{"schema_version":1,"coord_root":"#);
        push_quoted(&mut text, &self.coord_root);
        text.push_str(match self.scan {
            ScanSupport::Procfs => r#","scan":"procfs","servers":["#,
            ScanSupport::Lsof => r#","scan":"lsof","servers":["#,
            ScanSupport::Unsupported => r#","scan":"unsupported","servers":["#,
        });
        for (number, view) in self.servers.iter().enumerate() {
            text.push_str(if number == 0 { "" } else { "," });
            view.push_json(&mut text, number_of(&view.record));
        }
        let unregistered = self.unregistered.iter().map(UnregisteredListener::to_value).collect();
        let pruned = self.pruned.iter().map(|id| Value::from(id.as_str())).collect();
        text.push_str(r#"],"unregistered":"#);
        text.push_str(&stringify(&Value::Array(unregistered)));
        text.push_str(r#","pruned":"#);
        text.push_str(&stringify(&Value::Array(pruned)));
        text.push('}');
        text
    }
}

impl View {
    /// The text of a `ServerView`.
    fn push_json(&self, text: &mut String, number: Option<usize>) {
        // Writing to a string does not fail.
        let _ = match number {
            Some(number) => write!(text, r#"{{"record":{number},"state":""#),
            None => write!(text, r#"{{"record":{},"state":""#, self.record.json()),
        };
        text.push_str(self.state.as_str());
        text.push_str(r#"","owner_state":""#);
        text.push_str(self.owner_state.as_str());
        let _ = match self.connections {
            Some(count) => write!(text, r#"","connections":{count}"#),
            None => write!(text, r#"","connections":null"#),
        };
        text.push_str(r#","last_active_at":"#);
        push_quoted(text, &self.last_active_at);
        let _ = write!(text, r#","idle_ms":{}}}"#, self.idle_ms);
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

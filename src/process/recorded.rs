//! A witness as records and owner files hold it: one object, unknown members ignored.

use super::Witness;
use crate::javascript::json::{Object, Value};

impl Witness {
    /// The witness in a record; `None` for what is no object. A member that is no string counts as not recorded.
    pub fn from_value(value: &Value) -> Option<Witness> {
        let object = value.as_object()?;
        let field = |key| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Witness {
            start_token: field("start_token"),
            pidfd_inode: field("pidfd_inode"),
            pid_namespace: field("pid_namespace"),
            time_namespace: field("time_namespace"),
        })
    }

    /// The object to record; what was not observed is left out.
    pub fn to_value(&self) -> Value {
        let members = Object::new()
            .with("start_token", self.start_token.as_deref())
            .with("pidfd_inode", self.pidfd_inode.as_deref())
            .with("pid_namespace", self.pid_namespace.as_deref())
            .with("time_namespace", self.time_namespace.as_deref());
        Value::Object(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::javascript::json::{parse, stringify};

    #[test]
    fn a_witness_is_read_as_it_was_written() {
        let text = r#"{"start_token":"la.1","pid_namespace":"4026531836"}"#;
        let witness = Witness::from_value(&parse(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(witness.pidfd_inode, None);
        assert_eq!(stringify(&witness.to_value()), text);
    }

    #[test]
    fn a_member_that_is_no_string_was_not_recorded() {
        let value = parse(br#"{"start_token":7,"pidfd_inode":"3","more":true}"#).unwrap();
        let witness = Witness::from_value(&value).unwrap();
        assert_eq!((witness.start_token, witness.pidfd_inode.as_deref()), (None, Some("3")));
        assert_eq!(Witness::from_value(&Value::Null), None);
    }
}

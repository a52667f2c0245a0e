//! The names of servers and of their files.

use std::fmt;
use std::path::Path;

use crate::javascript::json::{sha256_hex, stringify, Value};
use crate::javascript::paths;

/// A server's id that may become a file name: `^[a-z0-9][a-z0-9._-]{0,95}$`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ServerId(String);

impl ServerId {
    /// `None` for what is no id; such a text never reaches the file system.
    pub fn new(text: &str) -> Option<ServerId> {
        let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let (first, rest) = text.as_bytes().split_first()?;
        let valid = plain(first)
            && rest.len() <= 95
            && rest.iter().all(|byte| plain(byte) || matches!(byte, b'.' | b'_' | b'-'));
        valid.then(|| ServerId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `<id>.json`
    pub fn file_name(&self) -> String {
        format!("{}.json", self.0)
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of a server that was given none: its type's slug, and with a scope also the slug of the scope's last
/// component and six digits of the whole scope's digest. `scope` is resolved.
pub fn server_id(server_type: &str, scope: Option<&Path>) -> String {
    let slugged = slug(server_type);
    let mut parts = vec![if slugged.is_empty() { "server".to_owned() } else { slugged }];
    if let Some(scope) = scope {
        let name: String = slug(&paths::basename(scope).to_string_lossy()).chars().take(32).collect();
        parts.extend((!name.is_empty()).then_some(name));
        parts.push(sha256_hex(scope.to_string_lossy().as_bytes())[..6].to_owned());
    }
    parts.join("-")
}

/// A number as JavaScript prints it.
pub(super) fn number(number: f64) -> String {
    // JSON has no word for these.
    match number {
        _ if number.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => stringify(&Value::Number(number)),
    }
}

/// Lower-cased, runs of anything but `a-z0-9` as one dash, none at the ends.
fn slug(text: &str) -> String {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_one_to_ninety_six_plain_characters() {
        for good in ["a", "0", "a.b_c-d", &"a".repeat(96), "preview-2.x"] {
            assert!(ServerId::new(good).is_some(), "{good}");
        }
        for bad in ["", ".", "..", "-a", "_a", ".a", "A", "a/b", "a b", "a\n", "ä", "a\0", &"a".repeat(97)] {
            assert!(ServerId::new(bad).is_none(), "{bad:?}");
        }
    }

    #[test]
    fn an_id_is_made_of_type_scope_and_digest() {
        // As Node printed them.
        let scope = Path::new("/home/me/My Project");
        assert_eq!(server_id("Preview Gate!", None), "preview-gate");
        assert_eq!(server_id("", None), "server");
        assert_eq!(server_id("ÄÖÜ", None), "server");
        assert_eq!(server_id("preview", Some(scope)), "preview-my-project-42276b");
        assert_eq!(server_id("preview", Some(Path::new("/"))), "preview-8a5eda");
        let long = format!("/a/{}", "Long_name-".repeat(6));
        assert_eq!(server_id("x", Some(Path::new(&long))), "x-long-name-long-name-long-name-lo-189c04");
        assert_eq!(server_id("K\u{212A}", Some(Path::new("/\u{130}x\u{e9}"))), "kk-i-x-4b2d36");
    }
}

//! Configuration files: JSON with comments, which are taken out once more, character by character.

use std::path::Path;

use harnery_native::files::Sharing;
use harnery_native::javascript::json::{parse, Value};
use harnery_native::servers::config::Configuration;

use super::stage::Stage;

pub fn hold(bytes: &[u8]) {
    let stage = Stage::new();
    for dir in ["/project", "/project/.harnery"] {
        stage.make_dir(dir);
    }
    stage.write("/project/.harnery", "config.jsonc", bytes);
    let read = Configuration::of_project(&stage.host, Path::new("/project"));

    let file = without_comments(&String::from_utf8_lossy(bytes)).and_then(|text| parse(text.as_bytes()).ok());
    let at = |keys: &[&str]| keys.iter().try_fold(file.as_ref()?, |value, key| value.as_object()?.get(key));
    let hours = |key| {
        at(&["servers", key])
            .and_then(Value::as_number)
            .filter(|hours| *hours > 0.0 && *hours < f64::INFINITY)
    };
    assert_eq!(read.gc().idle_hours, hours("idle_hours"));
    assert_eq!(read.gc().owner_stale_hours, hours("owner_stale_hours"));

    let range = at(&["servers", "port_ranges", "preview"]).and_then(Value::as_array);
    let ports: Vec<f64> = range.unwrap_or_default().iter().filter_map(Value::as_number).collect();
    let expected = match (range.map(<[Value]>::len), ports.as_slice()) {
        (Some(2), &[low, high]) if low <= high && [low, high].iter().all(|port| is_port(*port)) => {
            Some((low as u16, high as u16))
        }
        _ => None,
    };
    assert_eq!(read.port_range("preview"), expected);

    let sharing = match at(&["storage", "sharing"]).and_then(Value::as_str) {
        Some("private") => Some(Sharing::Private),
        Some("group") => Some(Sharing::Group),
        _ => None,
    };
    assert_eq!(read.sharing(), sharing);
}

fn is_port(number: f64) -> bool {
    number.fract() == 0.0 && (1.0..=65_535.0).contains(&number)
}

enum In {
    Text,
    String,
    Escape,
    Line,
    Block,
}

fn without_comments(text: &str) -> Option<String> {
    let mut kept = String::new();
    let mut place = In::Text;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        place = match (place, c, characters.peek()) {
            (In::Text, '/', Some('/')) => In::Line,
            (In::Text, '/', Some('*')) => {
                characters.next();
                In::Block
            }
            (In::Line, '\n' | '\r', _) => {
                kept.push(c);
                In::Text
            }
            (In::Block, '*', Some('/')) => {
                characters.next();
                kept.push(' ');
                In::Text
            }
            (In::Line, ..) => In::Line,
            (In::Block, ..) => In::Block,
            (place, ..) => {
                kept.push(c);
                match (place, c) {
                    (In::String, '\\') => In::Escape,
                    (In::String, '"') => In::Text,
                    (In::String | In::Escape, _) | (_, '"') => In::String,
                    _ => In::Text,
                }
            }
        };
    }
    (!matches!(place, In::Block)).then_some(kept)
}

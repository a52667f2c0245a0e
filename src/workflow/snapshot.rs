//! Snapshots of a repository: what counts as one, and what two of them establish.

use super::{Error, Result};
use crate::javascript::json::{Object, Value};
use crate::javascript::text::Text;

/// A snapshot from before observations were recorded says that it has none.
pub fn normalize(snapshot: &Value) -> Value {
    match snapshot {
        Value::Object(members) if members.get("observation").is_none() => {
            let mut members = members.clone();
            members.set("observation", "unavailable");
            members.set("observation_detail", "No repository observation was recorded.");
            Value::Object(members)
        }
        other => other.clone(),
    }
}

/// Whether a value has the shape of a snapshot.
pub fn is_snapshot(value: &Value) -> bool {
    let Some(members) = value.as_object() else { return false };
    let all = |name: &str, rule: fn(&Value) -> bool| members.get(name).is_none_or(rule);
    let known = |value: &Value| matches!(value.as_str(), Some("ok" | "partial" | "unavailable"));
    let is_short = |value: &Value| value.as_text().is_some_and(|text| text.length() <= 500);
    let is_absolute = |value: &Value| value.as_text().is_some_and(|text| text.units().next() == Some(0x2F));
    let is_text = |value: &Value| value.as_text().is_some();
    all("observation", known)
        && all("observation_detail", is_short)
        && members.get("cwd").is_some_and(is_absolute)
        && all("root", is_absolute)
        && all("branch", is_text)
        && all("head", is_text)
        && members.get("dirty_paths").and_then(Value::as_array).is_some_and(|paths| paths.iter().all(is_text))
        && all("dirty_paths_truncated", |value| value.as_bool().is_some())
}

/// What two snapshots establish about what changed between them. What they do not establish is `null`.
///
/// # Errors
/// [`Error::Input`] for a value that is no snapshot.
pub fn compare(before: &Value, after: &Value) -> Result<Value> {
    let (before, after) = (normalize(before), normalize(after));
    let first = View::of(&before, "before")?;
    let second = View::of(&after, "after")?;
    let drift = drift(&first, &second);
    let evidence = Object::new()
        .with("source", Some("engine"))
        .with("before", Some(before.clone()))
        .with("after", Some(after.clone()))
        .with("drift", Some(drift));
    Ok(Value::Object(evidence))
}

/// What a snapshot says for sure.
struct View<'a> {
    when: &'static str,
    is_whole: bool,
    branch: Option<&'a Text>,
    head: Option<&'a Text>,
    /// `None` unless the observation is whole: a part may lack any of them.
    dirty: Option<Vec<&'a Text>>,
    is_truncated: bool,
}

impl<'a> View<'a> {
    fn of(snapshot: &'a Value, when: &'static str) -> Result<View<'a>> {
        let members = snapshot.as_object().filter(|_| is_snapshot(snapshot));
        let Some(members) = members else {
            return Err(Error::Input(format!("{when} is no repository snapshot")));
        };
        let observation = members.get("observation").and_then(Value::as_str);
        let text = |name: &str| members.get(name).and_then(Value::as_text);
        let observed = |text: Option<&'a Text>| text.filter(|_| observation != Some("unavailable"));
        let is_whole = observation == Some("ok");
        let paths = members.get("dirty_paths").and_then(Value::as_array).unwrap_or_default();
        Ok(View {
            when,
            is_whole,
            branch: observed(text("branch")),
            head: observed(text("head")),
            dirty: is_whole.then(|| paths.iter().filter_map(Value::as_text).collect()),
            is_truncated: members.get("dirty_paths_truncated").and_then(Value::as_bool) == Some(true),
        })
    }

    /// Whether a path that is not in the list was clean.
    fn establishes_absence(&self) -> bool {
        self.dirty.is_some() && !self.is_truncated
    }
}

fn drift(before: &View<'_>, after: &View<'_>) -> Value {
    let changed = |before: Option<&Text>, after: Option<&Text>| Some(before? != after?);
    let branch = changed(before.branch, after.branch);
    let head = changed(before.head, after.head);
    let lists = before.dirty.as_ref().zip(after.dirty.as_ref());
    let keep = |from: &[&Text], others: &[&Text], wanted: bool| -> Vec<Value> {
        let kept = from.iter().filter(|path| others.contains(path) == wanted);
        kept.map(|path| Value::String((*path).clone())).collect()
    };
    let added = lists.filter(|_| before.establishes_absence()).map(|(old, new)| keep(new, old, false));
    let cleared = lists.filter(|_| after.establishes_absence()).map(|(old, new)| keep(old, new, false));
    let retained = lists.map(|(old, new)| keep(new, old, true));

    let mut notes = Vec::new();
    for view in [before, after] {
        if !view.is_whole {
            notes.push(format!("the repository was not fully observed {} the run", view.when));
        } else if view.is_truncated {
            notes.push(format!("the list of dirty paths {} the run was truncated", view.when));
        }
    }
    if branch.is_none() {
        notes.push("the branches cannot be compared".to_owned());
    }
    if head.is_none() {
        notes.push("the commits cannot be compared".to_owned());
    }
    if retained.as_ref().is_some_and(|paths| !paths.is_empty()) {
        notes.push("snapshots cannot prove whether retained dirty paths changed during the run".to_owned());
    }
    let or_null = |paths: Option<Vec<Value>>| Some(paths.map_or(Value::Null, Value::Array));
    let members = Object::new()
        .with("branch_changed", Some(branch.map_or(Value::Null, Value::Bool)))
        .with("head_changed", Some(head.map_or(Value::Null, Value::Bool)))
        .with("dirty_paths_added", or_null(added))
        .with("dirty_paths_cleared", or_null(cleared))
        .with("dirty_paths_retained", or_null(retained))
        .with("incomplete", Some(Value::Bool(!notes.is_empty())))
        .with("note", (!notes.is_empty()).then(|| sentence(&notes)));
    Value::Object(members)
}

/// The notes as one sentence.
fn sentence(notes: &[String]) -> String {
    let text = notes.join("; ");
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    first + letters.as_str() + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::javascript::json::{parse, stringify};

    fn value(text: &str) -> Value {
        parse(text.as_bytes()).unwrap()
    }

    fn drift_of(before: &str, after: &str) -> String {
        let evidence = compare(&value(before), &value(after)).unwrap();
        stringify(evidence.as_object().unwrap().get("drift").unwrap())
    }

    const CLEAN: &str =
        r#"{"cwd":"/w","observation":"ok","root":"/w","branch":"main","head":"a","dirty_paths":[]}"#;

    fn dirty(paths: &str, truncated: bool) -> String {
        let truncated = if truncated { r#","dirty_paths_truncated":true"# } else { "" };
        CLEAN.replace("[]}", &format!("[{paths}]{truncated}}}"))
    }

    #[test]
    fn two_whole_snapshots_establish_everything() {
        assert_eq!(
            drift_of(CLEAN, CLEAN),
            r#"{"branch_changed":false,"head_changed":false,"dirty_paths_added":[],"dirty_paths_cleared":[],"dirty_paths_retained":[],"incomplete":false}"#
        );
        let after = dirty(r#""new""#, false).replace("\"a\"", "\"b\"").replace("main", "HEAD");
        assert_eq!(
            drift_of(&dirty(r#""old""#, false), &after),
            r#"{"branch_changed":true,"head_changed":true,"dirty_paths_added":["new"],"dirty_paths_cleared":["old"],"dirty_paths_retained":[],"incomplete":false}"#
        );
    }

    #[test]
    fn a_path_that_stayed_dirty_may_have_changed() {
        assert_eq!(
            drift_of(&dirty(r#""a","b""#, false), &dirty(r#""b""#, false)),
            r#"{"branch_changed":false,"head_changed":false,"dirty_paths_added":[],"dirty_paths_cleared":["a"],"dirty_paths_retained":["b"],"incomplete":true,"note":"Snapshots cannot prove whether retained dirty paths changed during the run."}"#
        );
    }

    #[test]
    fn a_truncated_list_establishes_nothing_about_absence() {
        assert_eq!(
            drift_of(&dirty(r#""a""#, true), &dirty(r#""b""#, false)),
            r#"{"branch_changed":false,"head_changed":false,"dirty_paths_added":null,"dirty_paths_cleared":["a"],"dirty_paths_retained":[],"incomplete":true,"note":"The list of dirty paths before the run was truncated."}"#
        );
        let drift = drift_of(&dirty(r#""a""#, false), &dirty(r#""b""#, true));
        assert!(drift.contains(r#""dirty_paths_added":["b"],"dirty_paths_cleared":null"#), "{drift}");
    }

    #[test]
    fn what_was_not_observed_is_null() {
        let unavailable = r#"{"cwd":"/w","observation":"unavailable","observation_detail":"no git","branch":"main","dirty_paths":[]}"#;
        assert_eq!(
            drift_of(unavailable, CLEAN),
            r#"{"branch_changed":null,"head_changed":null,"dirty_paths_added":null,"dirty_paths_cleared":null,"dirty_paths_retained":null,"incomplete":true,"note":"The repository was not fully observed before the run; the branches cannot be compared; the commits cannot be compared."}"#
        );
        let partial = r#"{"cwd":"/w","observation":"partial","branch":"main","dirty_paths":[]}"#;
        let drift = drift_of(CLEAN, partial);
        assert!(
            drift.starts_with(r#"{"branch_changed":false,"head_changed":null,"dirty_paths_added":null"#),
            "{drift}"
        );
    }

    #[test]
    fn a_snapshot_without_an_observation_counts_as_unavailable() {
        let old = value(r#"{"cwd":"/w","branch":"main","dirty_paths":[],"more":1}"#);
        assert_eq!(
            stringify(&normalize(&old)),
            r#"{"cwd":"/w","branch":"main","dirty_paths":[],"more":1,"observation":"unavailable","observation_detail":"No repository observation was recorded."}"#
        );
        assert_eq!(normalize(&value(CLEAN)), value(CLEAN));
        let drift = drift_of(&stringify(&old), CLEAN);
        assert!(drift.starts_with(r#"{"branch_changed":null"#), "{drift}");
    }

    #[test]
    fn the_shape_of_a_snapshot_is_the_harness_s() {
        let long = "x".repeat(501);
        for (good, text) in [
            (true, CLEAN.to_owned()),
            (true, r#"{"cwd":"/","dirty_paths":[]}"#.to_owned()),
            (true, r#"{"cwd":"/","dirty_paths":["a"],"dirty_paths_truncated":false,"more":null}"#.to_owned()),
            (true, format!(r#"{{"cwd":"/","dirty_paths":[],"observation_detail":"{}"}}"#, &long[1..])),
            (false, format!(r#"{{"cwd":"/","dirty_paths":[],"observation_detail":"{long}"}}"#)),
            (false, r#"{"cwd":"/","dirty_paths":[],"observation":null}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[],"observation":"maybe"}"#.to_owned()),
            (false, r#"{"cwd":"w","dirty_paths":[]}"#.to_owned()),
            (false, r#"{"dirty_paths":[]}"#.to_owned()),
            (false, r#"{"cwd":"/"}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[1]}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[],"root":"w"}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[],"branch":7}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[],"head":null}"#.to_owned()),
            (false, r#"{"cwd":"/","dirty_paths":[],"dirty_paths_truncated":"no"}"#.to_owned()),
            (false, "null".to_owned()),
            (false, "[]".to_owned()),
            (false, "\"/\"".to_owned()),
        ] {
            assert_eq!(is_snapshot(&value(&text)), good, "{text}");
        }
        assert!(compare(&Value::Null, &value(CLEAN)).is_err());
    }
}

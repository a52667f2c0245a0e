//! Server records: what is accepted is written back unchanged, and a touch changes its one field.

use harnery_native::javascript::json::{parse, stringify, Object, Value};
use harnery_native::javascript::timestamp;
use harnery_native::servers::read::read_server;
use harnery_native::servers::touch::touch;
use harnery_native::servers::{server_state, CoordRoot, NoAnswers, Options, Registry, Schema, ServerRecord};
use harnery_native::sim::START_MS;

use super::stage::Stage;

const SERVERS: &str = "/project/.harnery/servers";

pub fn hold(bytes: &[u8]) {
    for schema in [Schema::Current, Schema::Custody] {
        let record = ServerRecord::read(bytes, schema);
        let expected =
            parse(bytes).ok().filter(|value| value.as_object().is_some_and(|it| is_record(it, schema)));
        assert_eq!(record.as_ref().map(|record| Value::Object(record.object().clone())), expected);
        let Some(record) = record else { continue };
        assert_eq!(record.text(), format!("{}\n", stringify(&Value::Object(record.object().clone()))));
        assert_eq!(ServerRecord::read(record.text().as_bytes(), schema), Some(finite(record.clone())));
        assert!(record.is_same_registration(&record.clone()));
        // Whatever the fields hold, each question has an answer.
        let _ = (record.id(), record.url(), record.port(), record.owner_instance(), record.last_activity());
        assert!(record.processes().len() == 1 + record.helpers().len());
        is_touched(bytes, record);
    }
}

/// In a registry under its current contract.
fn is_touched(bytes: &[u8], record: ServerRecord) {
    let stage = Stage::new();
    for dir in ["/project", "/project/.harnery", SERVERS] {
        stage.make_dir(dir);
    }
    stage.write(SERVERS, "a.json", bytes);
    let registry = Registry { host: &stage.host, schema: Schema::Current, answers: &NoAnswers };
    let options = Options { coord_root: CoordRoot::At("/project".into()), ..Options::default() };
    let found = read_server(&registry, "a", &options).expect("a directory that can be read");
    let is_readable = record.is_of(Schema::Current) && bytes.len() <= 64 * 1024;
    assert_eq!(found.is_some(), is_readable);

    touch(&registry, "a", &options, START_MS).expect("a touch is silent");
    let now = timestamp::format(START_MS).expect("a time");
    let touched = stage.read(SERVERS, "a.json").expect("it is still there");
    let after = record.with("last_active_at", now.as_str()).text();
    if is_readable && after.len() <= 64 * 1024 {
        assert_eq!(String::from_utf8_lossy(&touched), after);
        let found = read_server(&registry, "a", &options).expect("a directory that can be read");
        let found = found.expect("what is written is read");
        assert_eq!(found.text(), after);
        let _ = server_state(stage.host.processes.as_ref(), &found);
    } else {
        assert_eq!(touched, bytes);
    }
    let names: Vec<_> = stage.tree(SERVERS).into_iter().map(|(name, _)| name).collect();
    assert!(
        names.iter().all(|name| name.ends_with("/a.json") || name.ends_with("/.registry.lock")),
        "{names:?}"
    );
}

fn is_record(object: &Object, schema: Schema) -> bool {
    let get = |key| object.get(key);
    let has_receipt = || {
        let receipt = get("registration_id").and_then(Value::as_str).unwrap_or_default();
        receipt.len() == 36 && receipt.chars().all(|c| "0123456789abcdef-".contains(c))
    };
    get("schema_version").and_then(Value::as_number)
        == Some(if schema == Schema::Current { 1.0 } else { 2.0 })
        && matches!(get("id"), Some(Value::String(_)))
        && get("pid")
            .and_then(Value::as_number)
            .is_some_and(|pid| pid.fract() == 0.0 && pid.abs() < 9_007_199_254_740_992.0)
        && matches!(get("kind").and_then(Value::as_str), Some("service" | "session"))
        && (schema == Schema::Current || has_receipt())
}

/// As it is written: a number that is not finite is `null`.
fn finite(record: ServerRecord) -> ServerRecord {
    let Ok(Value::Object(object)) = parse(record.text().as_bytes()) else {
        unreachable!("it was just printed")
    };
    ServerRecord::given(object)
}

//! What a record says, read from its text or parsed.

use super::*;

const RECEIPT: &str = "0b5e0d5c-6f0f-4f0e-9a51-0a5c5c5c5c5c";

fn read(text: &str) -> Option<ServerRecord> {
    ServerRecord::read(text.as_bytes(), Schema::Current)
}

#[test]
fn a_reader_takes_only_its_own_schema() {
    let one = r#"{"schema_version":1,"id":"a","kind":"service","pid":5}"#;
    let two =
        format!(r#"{{"schema_version":2,"id":"a","registration_id":"{RECEIPT}","kind":"service","pid":5}}"#);
    let custody = |text: &str| ServerRecord::read(text.as_bytes(), Schema::Custody);
    assert!(read(one).is_some() && custody(one).is_none());
    assert!(read(&two).is_none() && custody(&two).is_some());
    assert!(custody(&two.replace(RECEIPT, &RECEIPT.to_uppercase())).is_none());
    assert!(custody(&two.replace(RECEIPT, &RECEIPT[1..])).is_none());
}

#[test]
fn what_is_no_record_reads_as_none() {
    let good = r#"{"schema_version":1.0,"id":"a","kind":"session","pid":5e0}"#;
    assert!(read(good).is_some());
    for (from, to) in [
        ("1.0", "\"1\""),
        ("1.0", "1.5"),
        ("\"a\"", "7"),
        ("5e0", "5.5"),
        ("5e0", "\"5\""),
        ("5e0", "9007199254740992"),
        ("session", "daemon"),
        ("}", ""),
        ("{", "\u{feff}{"),
    ] {
        assert!(read(&good.replace(from, to)).is_none(), "{from} → {to}");
    }
    assert!(read("[]").is_none() && read("").is_none() && read("null").is_none());
}

#[test]
fn unknown_fields_and_lone_surrogates_survive_a_change_in_their_places() {
    let text = r#"{"z":{"b":1,"a":[null]},"schema_version":1,"id":"a","label":"\ud800","kind":"service","pid":5,"last_active_at":"x","mine":1e+21}"#;
    let changed = read(text).unwrap().with("last_active_at", "y").text();
    assert_eq!(changed, text.replace(r#""x""#, r#""y""#) + "\n");
}

#[test]
fn helpers_carry_their_own_token_and_witness() {
    let record = read(
        r#"{"schema_version":1,"id":"a","kind":"service","pid":5,"start_token":"l1","pids":[7,7.5,"8"],
        "pids_start_tokens":{"7":"l2","7.5":9},"pids_witnesses":{"7":{"pidfd_inode":"11","x":1}}}"#,
    )
    .unwrap();
    let all = record.processes();
    assert_eq!(all[0].pid(), Pid::new(5));
    assert_eq!(all[0].start_token.as_deref(), Some("l1"));
    assert_eq!(all[1].start_token.as_deref(), Some("l2"));
    assert_eq!(all[1].witness.as_ref().unwrap().pidfd_inode.as_deref(), Some("11"));
    assert_eq!((all[2].pid(), all[2].number), (None, 7.5));
    assert!(all[3].number.is_nan() && all[3].pid().is_none());
}

#[test]
fn what_is_found_in_the_text_is_what_parsing_gives() {
    let plain = r#"{"schema_version":1,"id":"a","kind":"service","type":"t","port":80,"pid":5,"start_token":"l1","host":"h","owner":{"instance_id":"i"},"registered_at":"r","witness":{"start_token":"l1","x":"\n"}}"#;
    for (from, to) in [
        ("", ""),
        ("\"a\"", "\"\\u0061\""),
        ("\"t\"", "\"\\ud800\""),
        ("\"t\"", "7"),
        ("80", "80.0"),
        ("80", "8e1"),
        ("80", "-1"),
        ("80", "1e400"),
        ("80", "\"80\""),
        ("\"h\"", "\"\\n\""),
        ("\"h\"", "null"),
        ("{\"instance_id\":\"i\"}", "null"),
        ("{\"instance_id\":\"i\"}", "7"),
        ("{\"instance_id\":\"i\"}", "[\"instance_id\"]"),
        ("{\"instance_id\":\"i\"}", "{\"instance_id\":\"\\ud800\",\"name\":\"n\"}"),
        ("{\"instance_id\":\"i\"}", "{\"instance_id\":\"i\",\"instance_id\":null}"),
        ("\"x\":\"\\n\"", "\"pidfd_inode\":\"\\n\""),
        ("\"x\":\"\\n\"", "\"pidfd_inode\":7"),
        ("\"x\":\"\\n\"", "\"start_token\":\"l2\""),
        ("\"registered_at\"", "\"last_active_at\":\"l\",\"registered_at\""),
        ("\"registered_at\"", "\"host\":\"other\",\"registered_at\""),
        ("\"registered_at\"", "\"h\\u006fst\":\"other\",\"registered_at\""),
        ("\"h\"", "\"h\u{FFFD}\""),
    ] {
        let text = plain.replacen(from, to, 1);
        let (found, parsed) = (read(&text).unwrap(), ServerRecord::given(parsed(text.as_bytes()).unwrap()));
        let told = |record: &ServerRecord| {
            let owner = (record.has_owner(), record.owner_instance());
            let times = [record.registered_at(), record.last_activity()].map(|time| time.map(str::to_owned));
            let names = (record.id().into_owned(), record.kind(), record.server_type().into_owned());
            (names, record.host().map(str::to_owned), record.port(), record.leader(), owner, times)
        };
        assert_eq!(told(&found), told(&parsed), "{text}");
        assert_eq!(found, parsed, "{text}");
    }
    let (before, after) = plain.split_once("\"h\"").unwrap();
    let broken = [before.as_bytes(), b"\"h\xff\"", after.as_bytes()].concat();
    assert_eq!(ServerRecord::read(&broken, Schema::Current).unwrap().host(), Some("h\u{FFFD}"));
}

#[test]
fn numbers_that_no_process_has_are_no_pid() {
    for number in ["0", "-1", "4294967297", "2147483648"] {
        let record = read(&format!(r#"{{"schema_version":1,"id":"a","kind":"service","pid":{number}}}"#));
        assert_eq!(record.unwrap().leader().pid(), None, "{number}");
    }
}

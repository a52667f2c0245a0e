//! Owners and claims written by hand, as a harness of any age may have left them.

use harnery_native::files::record::write_new;
use harnery_native::files::Dir;
use harnery_native::javascript::json::{parse, sha256_hex, stringify, Object, Value};
use harnery_native::javascript::timestamp;

use super::{Scene, AUTHORITY, DEAD_PID, LONG_AGO, SCOPE, STALE_AFTER_MS};

/// An owner, at first dead and long expired, without a witness.
#[derive(Clone)]
pub struct Planted {
    pub id: String,
    object: Object,
}

impl Planted {
    pub fn new(scene: &Scene, id: &str) -> Planted {
        let at = |ms| timestamp::format(ms).unwrap();
        let created = LONG_AGO as i64;
        let object = Object::new()
            .with("schema_version", Some(1_i64))
            .with("owner_id", Some(id))
            .with("owner_file", Some(format!("owner-{id}.json")))
            .with("scope", Some(SCOPE))
            .with("authority_sha256", Some(AUTHORITY))
            .with("pid", Some(DEAD_PID))
            .with("host", Some(scene.host.processes.host_name()))
            .with("created_at", Some(at(created)))
            .with("expires_at", Some(at(created + STALE_AFTER_MS)));
        Planted { id: id.to_owned(), object }
    }

    /// The same owner with a field of this JSON.
    pub fn with(mut self, field: &str, json: &str) -> Planted {
        self.object.set(field, parse(json.as_bytes()).unwrap());
        self
    }

    /// Created at this time, in milliseconds since the epoch.
    pub fn created(self, ms: i64) -> Planted {
        let at = |ms| format!("\"{}\"", timestamp::format(ms).unwrap());
        self.with("created_at", &at(ms)).with("expires_at", &at(ms + STALE_AFTER_MS))
    }

    pub fn value(&self) -> Value {
        Value::Object(self.object.clone())
    }

    pub fn text(&self) -> String {
        format!("{}\n", stringify(&self.value()))
    }

    pub fn file(&self) -> String {
        format!("owner-{}.json", self.id)
    }

    /// Write its owner file.
    pub fn contends(self, scene: &Scene) -> Planted {
        if !scene.path_exists() {
            scene.host.files.make_dir(&scene.path, 0o700).unwrap();
        }
        scene.write(&self.file(), self.text().as_bytes());
        self
    }

    /// Write its owner file and link it to `current`.
    pub fn holds(self, scene: &Scene) -> Planted {
        let planted = self.contends(scene);
        let dir = scene.dir();
        dir.link(planted.file(), &dir, "current").unwrap();
        planted
    }

    /// The text of its claim on another owner.
    pub fn claim_on(&self, observed: &Planted) -> String {
        let claim = Object::new()
            .with("schema_version", Some(1_i64))
            .with("claimant", Some(self.value()))
            .with("observed_owner", Some(observed.value()))
            .with("observed_sha256", Some(sha256_hex(observed.text().as_bytes())))
            .with("created_at", self.object.get("created_at").cloned());
        format!("{}\n", stringify(&Value::Object(claim)))
    }

    /// Publish its claim on another owner, without a pin.
    pub fn claims(&self, scene: &Scene, observed: &Planted) -> Dir {
        let recovery = scene.make("recovery");
        let text = self.claim_on(observed);
        write_new(&recovery, "claim.json", text.as_bytes(), 0o600).unwrap();
        recovery
    }
}

impl Scene {
    /// One of everything that a kill leaves behind, whole or emptied in part.
    pub fn plant_leftovers(&self) {
        let dead = Planted::new(self, "D").contends(self);
        let claimant = Planted::new(self, "C").contends(self);
        let text = claimant.claim_on(&dead);
        for prefix in ["recovery-claim", "recovery-retired", "quarantine"] {
            let whole = self.make(&format!("{prefix}-whole"));
            write_new(&whole, "claim.json", text.as_bytes(), 0o600).unwrap();
            self.dir().link(dead.file(), &whole, "stale-pin").unwrap();
            let without_pin = self.make(&format!("{prefix}-without-pin"));
            write_new(&without_pin, "claim.json", text.as_bytes(), 0o600).unwrap();
            let without_claim = self.make(&format!("{prefix}-without-claim"));
            self.dir().link(dead.file(), &without_claim, "stale-pin").unwrap();
            self.make(&format!("{prefix}-empty"));
        }
    }

    fn path_exists(&self) -> bool {
        self.host.files.stat(&self.path).is_ok()
    }
}

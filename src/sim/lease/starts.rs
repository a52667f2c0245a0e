//! The states that a lease directory may be found in, all of them made by processes that have gone.

use std::ffi::OsStr;
use std::path::Path;
use std::rc::Rc;

use super::{authority, SCOPE, STALE_AFTER_MS};
use crate::files::{Access, Files};
use crate::javascript::json::sha256_hex;
use crate::sim::{Machine, World, START_MS};

/// A machine with a lease directory in some state.
#[derive(Debug, Clone)]
pub struct StartState {
    pub name: &'static str,
    pub world: World,
}

/// What is in the directory. `D` is the dead holder, `C` a dead contender that was recovering the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Piece {
    /// `D`'s owner file.
    Holder,
    /// `D`'s owner file, cut in the middle.
    TornHolder,
    /// `current` is `D`.
    Held,
    /// `D`'s owner file has gone; what links to it stays.
    NoHolder,
    /// `C`'s owner file.
    Claimant,
    /// `current` is `C`.
    Taken,
    /// A directory, with `C`'s claim on `D` in it, and with `D` pinned.
    Directory(&'static str),
    Claim(&'static str),
    Pin(&'static str),
    /// A pin of a third owner, `E`, that has let the lease go since.
    StrangePin(&'static str),
}

const PREPARED: &str = "recovery-claim-cccccccc-0000-4000-8000-000000000001";
const RETIRED: &str = "recovery-retired-cccccccc-0000-4000-8000-000000000001";
const QUARANTINE: &str = "quarantine-eeeeeeee-0000-4000-8000-000000000002";
const RECOVERY: &str = "recovery";

/// Every start state, on a disk that is set up by `disk`.
pub fn start_states() -> Vec<StartState> {
    use Piece::*;
    let states: &[(&'static str, &[Piece])] = &[
        ("nothing", &[]),
        ("dead holder", &[Holder, Held]),
        ("dead holder without its owner file", &[Holder, Held, NoHolder]),
        ("claim without a pin", &[Holder, Held, Claimant, Directory(RECOVERY), Claim(RECOVERY)]),
        ("claim with a pin", &[Holder, Held, Claimant, Directory(RECOVERY), Claim(RECOVERY), Pin(RECOVERY)]),
        ("claim, current removed", &[Holder, Claimant, Directory(RECOVERY), Claim(RECOVERY), Pin(RECOVERY)]),
        (
            "claim, new current linked",
            &[Holder, Claimant, Directory(RECOVERY), Claim(RECOVERY), Pin(RECOVERY), Taken],
        ),
        ("empty preparation", &[Holder, Held, Claimant, Directory(PREPARED)]),
        ("preparation with its claim", &[Holder, Held, Claimant, Directory(PREPARED), Claim(PREPARED)]),
        (
            "preparation with its pin",
            &[Holder, Held, Claimant, Directory(PREPARED), Claim(PREPARED), Pin(PREPARED)],
        ),
        ("retired claim", &[Holder, Claimant, Directory(RETIRED), Claim(RETIRED), Pin(RETIRED), Taken]),
        ("retired claim, pin removed", &[Holder, Claimant, Directory(RETIRED), Claim(RETIRED), Taken]),
        ("retired claim, empty", &[Claimant, Directory(RETIRED), Taken]),
        ("quarantine", &[Holder, Held, Claimant, Directory(QUARANTINE), Claim(QUARANTINE), Pin(QUARANTINE)]),
        ("quarantine, pin removed", &[Holder, Held, Claimant, Directory(QUARANTINE), Claim(QUARANTINE)]),
        ("quarantine, empty, no holder", &[Claimant, Directory(QUARANTINE)]),
        ("empty recovery", &[Directory(RECOVERY)]),
        ("empty recovery, dead holder", &[Holder, Held, Directory(RECOVERY)]),
        ("lone owner file", &[Holder]),
        ("lone owner file, dead holder", &[Holder, Held, Claimant]),
        ("torn owner file", &[TornHolder]),
        ("torn owner file, dead holder", &[Claimant, Taken, TornHolder]),
        // Beyond those of the findings.
        (
            "claim with a strange pin",
            &[Holder, Claimant, Directory(RECOVERY), Claim(RECOVERY), StrangePin(RECOVERY)],
        ),
        ("recovery with only a pin", &[Holder, Held, Directory(RECOVERY), Pin(RECOVERY)]),
    ];
    states.iter().map(|(name, pieces)| StartState { name, world: build(pieces) }).collect()
}

fn build(pieces: &[Piece]) -> World {
    let machine = Machine::default();
    {
        // Long ago, so that what must not have changed for a while has not.
        let mut world = machine.world();
        world.now_ms -= 3_600_000;
        world.disk.now_ms = world.now_ms;
    }
    let seat = machine.start(90);
    let scene = Scene::new(seat.host().files);
    pieces.iter().for_each(|piece| scene.put(*piece));
    drop(scene);
    seat.kill();
    let world = machine.world();
    let mut world = world.clone();
    world.now_ms = START_MS;
    world.disk.now_ms = START_MS;
    world
}

struct Scene {
    files: Rc<dyn Files>,
    holder: String,
    claimant: String,
}

impl Scene {
    fn new(files: Rc<dyn Files>) -> Self {
        files.make_dir(Path::new("/lease"), 0o700).expect("a new disk takes a directory");
        Scene { files, holder: owner("dddddddd", 80), claimant: owner("cccccccc", 81) }
    }

    fn put(&self, piece: Piece) {
        let (d, c) = (file_of("dddddddd"), file_of("cccccccc"));
        match piece {
            Piece::Holder => self.write(&d, &self.holder),
            Piece::TornHolder => self.write(&file_of("ffffffff"), &self.holder[..self.holder.len() / 2]),
            Piece::Held => self.link(&d, "current"),
            Piece::NoHolder => self.remove(&d),
            Piece::Claimant => self.write(&c, &self.claimant),
            Piece::Taken => self.link(&c, "current"),
            Piece::Directory(name) => {
                self.files.make_dir(Path::new(&format!("/lease/{name}")), 0o700).expect("a new name");
            }
            Piece::Claim(dir) => self.write(&format!("{dir}/claim.json"), &self.claim()),
            Piece::Pin(dir) => self.link(&d, &format!("{dir}/stale-pin")),
            Piece::StrangePin(dir) => {
                self.write("e", &owner("eeeeeeee", 82));
                self.link("e", &format!("{dir}/stale-pin"));
                self.remove("e");
            }
        }
    }

    fn claim(&self) -> String {
        let (claimant, observed) = (self.claimant.trim_end(), self.holder.trim_end());
        let sha256 = sha256_hex(self.holder.as_bytes());
        let created = format_time(created_ms());
        format!(
            "{{\"schema_version\":1,\"claimant\":{claimant},\"observed_owner\":{observed},\
             \"observed_sha256\":\"{sha256}\",\"created_at\":\"{created}\"}}\n"
        )
    }

    fn write(&self, name: &str, text: &str) {
        let dir = self.dir();
        let access = Access::CreateNew { mode: 0o600 };
        let file = self.files.open_at(dir, OsStr::new(name), access).expect("a new name");
        self.files.write_at(file, 0, text.as_bytes()).expect("a disk with room");
        self.files.sync(file).expect("an open file");
        self.files.close(file);
        self.files.close(dir);
    }

    fn link(&self, name: &str, new: &str) {
        let dir = self.dir();
        self.files.link(dir, OsStr::new(name), dir, OsStr::new(new)).expect("a file and a new name");
        self.files.close(dir);
    }

    fn remove(&self, name: &str) {
        let dir = self.dir();
        self.files.unlink(dir, OsStr::new(name)).expect("a file");
        self.files.close(dir);
    }

    fn dir(&self) -> crate::files::Handle {
        self.files.open_dir(Path::new("/lease")).expect("the lease directory")
    }
}

/// An owner as the TypeScript writes it.
fn owner(id: &str, pid: i64) -> String {
    owner_text(&format!("{id}-0000-4000-8000-000000000001"), pid, created_ms())
}

pub(super) fn owner_text(id: &str, pid: i64, created_ms: i64) -> String {
    let (created, expires) = (format_time(created_ms), format_time(created_ms + STALE_AFTER_MS));
    let authority = authority();
    format!(
        "{{\"schema_version\":1,\"owner_id\":\"{id}\",\"owner_file\":\"owner-{id}.json\",\"scope\":\"{SCOPE}\",\
         \"authority_sha256\":\"{authority}\",\"pid\":{pid},\"host\":\"host\",\"created_at\":\"{created}\",\
         \"expires_at\":\"{expires}\"}}\n"
    )
}

fn file_of(id: &str) -> String {
    format!("owner-{id}-0000-4000-8000-000000000001.json")
}

fn created_ms() -> i64 {
    START_MS - 3_600_000
}

pub(super) fn format_time(ms: i64) -> String {
    crate::javascript::timestamp::format(ms).expect("a time in this century")
}

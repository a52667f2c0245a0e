//! The simulated disk answers every call as the real one does: random sequences of calls, run on both.
#![cfg(feature = "sim")]

mod proof;

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::rc::Rc;

use harnery_native::files::disk::Disk as RealDisk;
use harnery_native::files::{Access, Files, Handle, Kind, Stat};
use harnery_native::sim::{Machine, Place};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use proof::{effort, row};

/// A call on one of the open handles, by place in the list of those that are open.
#[derive(Debug, Clone)]
enum Step {
    OpenDir(usize, &'static str),
    Open(usize, &'static str, Access),
    MakeDir(usize, &'static str),
    Stat(usize, &'static str),
    StatHandle(usize),
    Read(usize, u64, usize),
    Write(usize, u64, usize),
    SetSize(usize, u64),
    SetMode(usize, u32),
    Sync(usize),
    Link(usize, &'static str, usize, &'static str),
    Rename(usize, &'static str, usize, &'static str),
    RenameNew(usize, &'static str, usize, &'static str),
    Unlink(usize, &'static str),
    RemoveDir(usize, &'static str),
    List(usize),
    TryLock(usize),
    Close(usize),
    MakeSymlink(&'static str, &'static str),
    MakeFifo(&'static str),
}

const LONG: &str = match std::str::from_utf8(&[b'n'; 256]) {
    Ok(long) => long,
    Err(_) => unreachable!(),
};
const NAMES: [&str; 12] = ["a", "b", "c", "d", "a/x", "b/x", "a/x/y", ".", "..", "", "a/../b", LONG];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    // The first names are taken most often, so that calls meet.
    let name = || prop_oneof![8 => prop::sample::select(&NAMES[..4]), 3 => prop::sample::select(&NAMES[..])];
    let slot = || 0..5_usize;
    let access = prop_oneof![
        Just(Access::Read),
        Just(Access::ReadWrite),
        Just(Access::CreateNew { mode: 0o666 }),
        Just(Access::CreateIfMissing { mode: 0o600 }),
        Just(Access::Append { mode: 0o660 }),
    ];
    let two = || (slot(), name(), slot(), name());
    prop::collection::vec(
        prop_oneof![
            2 => (slot(), name()).prop_map(|(slot, name)| Step::OpenDir(slot, name)),
            4 => (slot(), name(), access).prop_map(|(slot, name, access)| Step::Open(slot, name, access)),
            4 => (slot(), name()).prop_map(|(slot, name)| Step::MakeDir(slot, name)),
            3 => (slot(), name()).prop_map(|(slot, name)| Step::Stat(slot, name)),
            2 => slot().prop_map(Step::StatHandle),
            2 => (slot(), 0..9_u64, 0..9_usize).prop_map(|(slot, at, count)| Step::Read(slot, at, count)),
            2 => (slot(), 0..9_u64, 0..9_usize).prop_map(|(slot, at, count)| Step::Write(slot, at, count)),
            1 => (slot(), 0..9_u64).prop_map(|(slot, size)| Step::SetSize(slot, size)),
            1 => (slot(), 0..0o1000_u32).prop_map(|(slot, mode)| Step::SetMode(slot, mode)),
            1 => slot().prop_map(Step::Sync),
            4 => two().prop_map(|(slot, name, to, new)| Step::Link(slot, name, to, new)),
            6 => two().prop_map(|(slot, name, to, new)| Step::Rename(slot, name, to, new)),
            2 => two().prop_map(|(slot, name, to, new)| Step::RenameNew(slot, name, to, new)),
            2 => (slot(), name()).prop_map(|(slot, name)| Step::Unlink(slot, name)),
            2 => (slot(), name()).prop_map(|(slot, name)| Step::RemoveDir(slot, name)),
            2 => slot().prop_map(Step::List),
            1 => slot().prop_map(Step::TryLock),
            1 => slot().prop_map(Step::Close),
            1 => (prop::sample::select(&NAMES[..4]), name())
                .prop_map(|(name, target)| Step::MakeSymlink(name, target)),
            1 => prop::sample::select(&NAMES[..4]).prop_map(Step::MakeFifo),
        ],
        1..60,
    )
}

/// Make a symbolic link to a target, or a FIFO.
type MakeSpecial = dyn Fn(&str, Option<&str>) -> io::Result<()>;

/// One of the two disks with what is open on it. The first handle is the directory that all happens in.
struct Side {
    files: Rc<dyn Files>,
    open: Vec<Handle>,
    special: Box<MakeSpecial>,
}

/// What a step was answered, without what may differ.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Done,
    Stat { kind: Kind, links: Option<u64>, size: Option<u64>, mode: u32 },
    Bytes(Vec<u8>),
    Count(usize),
    Names(Vec<String>),
    Flag(bool),
    Failed(Option<i32>),
}

impl Side {
    fn real(base: &Path) -> Side {
        let files: Rc<dyn Files> = Rc::new(RealDisk::default());
        let open = vec![files.open_dir(base).unwrap()];
        let base = base.to_owned();
        let special = move |name: &str, target: Option<&str>| {
            let path = base.join(name);
            match target {
                Some(target) => std::os::unix::fs::symlink(target, &path),
                None => make_fifo(&path),
            }
        };
        Side { files, open, special: Box::new(special) }
    }

    fn simulated(base: &Path) -> Side {
        let machine = Machine::default();
        let seat = machine.start(1);
        let files = seat.host().files;
        harnery_native::files::make_dirs(&files, base, 0o755).unwrap();
        let open = vec![files.open_dir(base).unwrap()];
        let base = open[0];
        let special = move |name: &str, target: Option<&str>| {
            let place = Place::at(base, OsStr::new(name));
            let made = machine.world().disk.make_special(seat.caller(), &place, target.map(OsStr::new));
            made.map_err(|errno| io::Error::from_raw_os_error(errno as i32))
        };
        Side { files, open, special: Box::new(special) }
    }

    fn slot(&self, slot: usize) -> Handle {
        self.open[slot.min(self.open.len() - 1)]
    }

    /// The answer, and which inode it spoke of.
    fn run(&mut self, step: &Step) -> (Seen, Option<u64>) {
        let mut inode = None;
        let seen = match self.try_run(step, &mut inode) {
            Ok(seen) => seen,
            Err(error) => Seen::Failed(error.raw_os_error()),
        };
        (seen, inode)
    }

    fn try_run(&mut self, step: &Step, inode: &mut Option<u64>) -> io::Result<Seen> {
        let files = Rc::clone(&self.files);
        let name = OsStr::new;
        let mut stat = |stat: Stat| {
            *inode = Some(stat.identity.inode);
            let file = (stat.kind == Kind::File).then_some(stat.links);
            let sized = matches!(stat.kind, Kind::File | Kind::Symlink);
            Seen::Stat { kind: stat.kind, links: file, size: sized.then_some(stat.size), mode: stat.mode }
        };
        let done = |()| Seen::Done;
        match *step {
            Step::OpenDir(slot, path) => {
                let opened = files.open_dir_at(self.slot(slot), name(path))?;
                self.open.push(opened);
                Ok(Seen::Done)
            }
            Step::Open(slot, path, access) => {
                let opened = files.open_at(self.slot(slot), name(path), access)?;
                self.open.push(opened);
                Ok(Seen::Done)
            }
            Step::MakeDir(slot, path) => files.make_dir_at(self.slot(slot), name(path), 0o777).map(done),
            Step::Stat(slot, path) => files.stat_at(self.slot(slot), name(path)).map(stat),
            Step::StatHandle(slot) => files.stat_handle(self.slot(slot)).map(&mut stat),
            Step::Read(slot, at, count) => {
                let mut buffer = vec![0; count];
                let count = files.read_at(self.slot(slot), at, &mut buffer)?;
                buffer.truncate(count);
                Ok(Seen::Bytes(buffer))
            }
            Step::Write(slot, at, count) => {
                files.write_at(self.slot(slot), at, &b"abcdefghi"[..count]).map(Seen::Count)
            }
            Step::SetSize(slot, size) => files.set_size(self.slot(slot), size).map(done),
            Step::SetMode(slot, mode) => files.set_mode(self.slot(slot), mode).map(done),
            Step::Sync(slot) => files.sync(self.slot(slot)).map(done),
            Step::Link(slot, from, to_slot, to) => {
                files.link(self.slot(slot), name(from), self.slot(to_slot), name(to)).map(done)
            }
            Step::Rename(slot, from, to_slot, to) => {
                files.rename(self.slot(slot), name(from), self.slot(to_slot), name(to)).map(done)
            }
            Step::RenameNew(slot, from, to_slot, to) => {
                files.rename_new(self.slot(slot), name(from), self.slot(to_slot), name(to)).map(done)
            }
            Step::Unlink(slot, path) => files.unlink(self.slot(slot), name(path)).map(done),
            Step::RemoveDir(slot, path) => files.remove_dir(self.slot(slot), name(path)).map(done),
            Step::List(slot) => {
                let mut names: Vec<_> = files
                    .list(self.slot(slot))?
                    .iter()
                    .map(|name| name.to_string_lossy().into_owned())
                    .collect();
                names.sort();
                Ok(Seen::Names(names))
            }
            Step::TryLock(slot) => files.try_lock(self.slot(slot)).map(Seen::Flag),
            // The first handle stays, so that there is always a directory to work in.
            Step::Close(slot) if self.open.len() > 1 && slot > 0 => {
                let handle = self.open.remove(slot.min(self.open.len() - 1));
                files.close(handle);
                Ok(Seen::Done)
            }
            Step::Close(_) => Ok(Seen::Done),
            Step::MakeSymlink(path, target) => (self.special)(path, Some(target)).map(done),
            Step::MakeFifo(path) => (self.special)(path, None).map(done),
        }
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        for handle in std::mem::take(&mut self.open) {
            self.files.close(handle);
        }
    }
}

fn memory_dir() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

#[test]
fn the_simulated_disk_answers_as_the_real_one() {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let cases = 256 * u32::try_from(effort()).unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() });
    let calls = Cell::new(0);
    let same = runner.run(&steps(), |steps| {
        calls.set(calls.get() + steps.len());
        run_on_both(&steps)
    });
    same.unwrap_or_else(|failure| panic!("{failure}"));
    row("the simulated disk answers as the real one", format!("{cases} sequences, {} calls", calls.get()), 0);
}

fn run_on_both(steps: &[Step]) -> Result<(), TestCaseError> {
    let dir = memory_dir();
    // Two levels down, so that `..` leads to a directory on both sides.
    let (real_base, base) = (dir.path().join("up/base"), Path::new("/tmp/up/base"));
    std::fs::create_dir_all(&real_base).unwrap();
    let (mut real, mut simulated) = (Side::real(&real_base), Side::simulated(base));
    let mut numbers = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        let (wanted, real_inode) = real.run(step);
        let (got, inode) = simulated.run(step);
        prop_assert_eq!(&got, &wanted, "step {} {:?}", at, step);
        if let (Some(real_inode), Some(inode)) = (real_inode, inode) {
            prop_assert_eq!(*numbers.entry(real_inode).or_insert(inode), inode, "identity at step {}", at);
        }
    }
    Ok(())
}

#[test]
fn a_process_that_has_a_removed_directory_open_twice_ends_like_any_other() {
    let machine = Machine::default();
    let seat = machine.start(1);
    let files = seat.host().files;
    files.make_dir(Path::new("/a"), 0o700).unwrap();
    let opened = || files.open_dir(Path::new("/a")).unwrap();
    let _twice = [opened(), opened()];
    files.remove_dir(files.open_dir(Path::new("/")).unwrap(), OsStr::new("a")).unwrap();
    seat.kill();
    assert_eq!(machine.world().disk.names(&Place::absolute(OsStr::new("/"))), Some(Vec::new()));
}

fn make_fifo(path: &std::path::Path) -> std::io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()).unwrap();
    // SAFETY: the path ends in NUL and lives for the call.
    match unsafe { nix::libc::mkfifo(path.as_ptr(), 0o600) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

//! The file systems of this machine that are worth a look each.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::proof::{effort, row};

/// Set in a process that was started to look at this one place.
const INNER: &str = "HARNERY_KILLS_PLACE";

/// Before what such a process has to say.
const SAID: &str = "in this place: ";

/// What was gone through, and how often it was not as claimed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub kills: usize,
    /// How often somebody held the lease, where that is counted.
    pub turns: usize,
    pub violations: usize,
    /// Whether some calls were left out, see [`stride`].
    pub skipped: bool,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.kills += other.kills;
        self.turns += other.turns;
        self.violations += other.violations;
        self.skipped |= other.skipped;
    }
}

/// Kill in a directory of each file system, and say where and how often it was done. Called with a closure of the test
/// itself, whose name it has to know: a file system that must be mounted first is visible to a process of its own only.
pub fn prove<F: Fn(&Path) -> Tally>(claim: &str, kill_in: F) {
    prove_with(claim, &[], kill_in);
}

/// [`prove`], with these variables for such a process.
pub fn prove_with<F: Fn(&Path) -> Tally>(claim: &str, variables: &[(&str, &str)], kill_in: F) {
    let path = std::any::type_name::<F>();
    let test = path.strip_prefix("kills::").and_then(|path| path.strip_suffix("::{{closure}}"));
    let test = test.unwrap_or_else(|| panic!("{path} is no closure of a test"));
    let once = |place: &Path| {
        let dir = tempfile::Builder::new().prefix("harnery-kills-").tempdir_in(place).expect("a directory");
        kill_in(dir.path())
    };
    if let Some(place) = inner() {
        let Tally { kills, turns, violations, skipped } = once(&place);
        println!("\n{SAID}{kills} {turns} {violations} {}", usize::from(skipped));
        return;
    }
    let mut total = Tally::default();
    let mut explored = Vec::new();
    for kind in ["ext4", "tmpfs", "overlay"] {
        let tally = match here(kind) {
            Some(place) => Ok(once(&place)),
            None if kind == "overlay" => on_an_overlay(test, variables),
            None => Err("no directory of this machine that may be written to lies on one".to_owned()),
        };
        match tally {
            Ok(tally) => {
                let turns =
                    if tally.turns > 0 { format!("{} turns and ", tally.turns) } else { String::new() };
                let some = if tally.skipped { " (before each third)" } else { "" };
                explored.push(format!("{turns}{} kills on {kind}{some}", tally.kills));
                total.add(tally);
            }
            Err(reason) => explored.push(format!("no {kind} here ({reason})")),
        }
    }
    if total.kills == 0 {
        let tally = once(&std::env::temp_dir());
        explored.push(format!("{} kills on another file system", tally.kills));
        total.add(tally);
    }
    row(claim, explored.join(", "), total.violations);
    assert!(total.kills > 0, "nothing was killed: {explored:?}");
    assert_eq!(total.violations, 0, "{claim}");
}

/// A directory on a file system of this kind.
fn here(kind: &str) -> Option<PathBuf> {
    let shared_memory = PathBuf::from("/dev/shm");
    let candidates = [
        std::env::temp_dir(),
        shared_memory,
        PathBuf::from("/var/tmp"),
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")),
    ];
    candidates.into_iter().find(|place| kind_of(place) == Some(kind) && tempfile::tempdir_in(place).is_ok())
}

/// A process is killed before its first call there, and then before every so many-th. Where each sync waits for a disk,
/// `npm test` is content with some.
pub fn stride(place: &Path) -> usize {
    if effort() > 1 || is_in_memory(place) {
        1
    } else {
        3
    }
}

/// Whether a sync costs next to nothing there.
pub fn is_in_memory(place: &Path) -> bool {
    kind_of(place) == Some("tmpfs")
}

#[cfg(target_os = "linux")]
fn kind_of(place: &Path) -> Option<&'static str> {
    // linux/magic.h; ext2 and ext3 have the number of ext4, whose driver serves them.
    match rustix::fs::statfs(place).ok()?.f_type {
        0xef53 => Some("ext4"),
        0x0102_1994 => Some("tmpfs"),
        0x794c_7630 => Some("overlay"),
        _ => None,
    }
}

#[cfg(not(target_os = "linux"))]
fn kind_of(_place: &Path) -> Option<&'static str> {
    None
}

/// What a test of this program sees on an overlay.
fn on_an_overlay(test: &str, variables: &[(&str, &str)]) -> Result<Tally, String> {
    let said = Overlay::new().run(test, variables)?;
    let numbers = said.lines().find_map(|line| line.strip_prefix(SAID)).expect("the test says what it saw");
    let numbers: Vec<usize> = numbers.split(' ').map(|number| number.parse().expect("a number")).collect();
    let &[kills, turns, violations, skipped] = numbers.as_slice() else { panic!("{numbers:?}") };
    if violations > 0 {
        eprintln!("{said}");
    }
    Ok(Tally { kills, turns, violations, skipped: skipped > 0 })
}

/// An overlay that is mounted over directories of the temporary one, in a mount namespace of its own.
pub struct Overlay {
    layers: tempfile::TempDir,
    options: &'static str,
}

impl Overlay {
    pub fn new() -> Overlay {
        let layers = tempfile::Builder::new().prefix("harnery-overlay-").tempdir().expect("a directory");
        for layer in ["lower", "upper", "work", "merged"] {
            std::fs::create_dir(layers.path().join(layer)).expect("a directory");
        }
        Overlay { layers, options: "" }
    }

    /// One where a directory of the lower layer cannot be renamed, as it is where the kernel is not built otherwise.
    pub fn without_redirects() -> Overlay {
        Overlay { options: ",redirect_dir=off", ..Overlay::new() }
    }

    /// What an image brings along.
    pub fn lower(&self) -> PathBuf {
        self.layers.path().join("lower")
    }

    /// What the test with this name says, where [`inner`] answers with the mounted directory; why it cannot be mounted.
    pub fn run(&self, test: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        // As root a mount namespace is enough, as anybody else it takes a user namespace in which one is root.
        let user: &[&str] =
            if rustix::process::geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
        let script = r#"cd "$1" && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work"$2" merged || exit 77
            shift 2; exec "$@""#;
        let output = Command::new("unshare")
            .args(user)
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(self.layers.path())
            .arg(self.options)
            .arg(std::env::current_exe().expect("a test has a program"))
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .envs(variables.iter().copied())
            .env(INNER, self.layers.path().join("merged"))
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("unshare: {error}"))?;
        let (said, complaint) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match output.status.code() {
            Some(0) if said.contains("1 passed") => Ok(said.into_owned() + &complaint),
            Some(0) => panic!("there is no test {test}"),
            // The test itself failed, wherever it ran.
            Some(101) => panic!("{said}\n{complaint}"),
            // The script ends with 77, `unshare` with 1.
            _ => Err(complaint.lines().next().unwrap_or("no reason given").to_owned()),
        }
    }
}

/// The directory that a test is to look at, where it was started for that.
pub fn inner() -> Option<PathBuf> {
    std::env::var_os(INNER).map(PathBuf::from)
}

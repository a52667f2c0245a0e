//! A simulated machine with files in it.

use std::path::Path;

use harnery_native::files::record::{read, write_new, Read};
use harnery_native::files::{Dir, Kind};
use harnery_native::host::Host;
use harnery_native::sim::Machine;

/// The first process of a machine.
pub struct Stage {
    pub host: Host,
}

impl Stage {
    pub fn new() -> Stage {
        Stage { host: Machine::default().start(1).host() }
    }

    pub fn make_dir(&self, path: &str) {
        self.host.files.make_dir(Path::new(path), 0o700).expect("a new directory");
    }

    pub fn write(&self, dir: &str, name: &str, bytes: &[u8]) {
        write_new(&self.dir(dir), name, bytes, 0o600).expect("a new file");
    }

    pub fn read(&self, dir: &str, name: &str) -> Option<Vec<u8>> {
        match read(&self.dir(dir), name, 1 << 20).expect("a file that can be read") {
            Read::Bytes { bytes, .. } => Some(bytes),
            _ => None,
        }
    }

    /// Every name below a directory, sorted, with the content of each file.
    pub fn tree(&self, path: &str) -> Vec<(String, Option<Vec<u8>>)> {
        let dir = self.dir(path);
        let mut names = dir.list().expect("a directory can be listed");
        names.sort();
        let mut tree = Vec::new();
        for name in names {
            let below = format!("{path}/{}", name.to_string_lossy());
            let kind = dir.look(&name).expect("a name can be looked at").expect("it is there").kind;
            if kind == Kind::Directory {
                tree.push((below.clone(), None));
                tree.extend(self.tree(&below));
            } else {
                tree.push((below, self.read(path, &name.to_string_lossy())));
            }
        }
        tree
    }

    fn dir(&self, path: &str) -> Dir {
        Dir::open(&self.host.files, Path::new(path)).expect("a directory")
    }
}

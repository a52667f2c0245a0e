//! The inputs that fuzzing began with or stumbled over, held to the same properties: `fuzz/seeds/<target>/`.

#![cfg(feature = "sim")]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use targets::TARGETS;

fn seeds() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds")
}

/// Each seed, and as many cuts of it as there are lengths: files are torn in practice.
#[test]
fn every_seed_and_every_beginning_of_it_holds() {
    for (name, hold) in TARGETS {
        let mut files: Vec<_> =
            fs::read_dir(seeds().join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            let bytes = fs::read(&file).unwrap();
            eprintln!("{}", file.display());
            let step = (bytes.len() / 200).max(1);
            (0..bytes.len()).step_by(step).chain([bytes.len()]).for_each(|length| hold(&bytes[..length]));
        }
    }
}

#[test]
fn every_target_is_one_of_the_fuzzer_s_and_has_its_seeds() {
    let names = |path: &str, end: &str| {
        let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap().replace(end, "")).collect();
        names.sort();
        names
    };
    let targets: Vec<_> = TARGETS.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(names("fuzz/fuzz_targets", ".rs"), targets);
    assert_eq!(names("fuzz/seeds", "/"), targets);
}

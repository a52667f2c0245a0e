//! The house stands as `src/lib.rs` draws it, and the doors that only some files may use are used by those only.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn arrows_point_down_only() {
    let floors = floors();
    let mut wrong = Vec::new();
    for file in sources() {
        let from = file.module();
        if from == "lib" {
            continue;
        }
        let Some(here) = floors.get(&from) else { panic!("{} is in no row of the picture", file.name) };
        for to in file.named_modules() {
            let there = floors.get(&to).unwrap_or_else(|| panic!("{}: crate::{to} is in no row", file.name));
            if to != from && there >= here {
                wrong.push(format!("{}: {from} → {to} does not point down", file.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_module_stands_in_the_picture_once() {
    let lib = read("src/lib.rs");
    let declared = lib.lines().filter_map(|line| {
        let name = line.strip_prefix("pub mod ").or_else(|| line.strip_prefix("mod "))?;
        name.strip_suffix(';').map(str::to_owned)
    });
    let mut declared: Vec<_> = declared.collect();
    declared.sort();
    let drawn: Vec<_> = floors().into_keys().collect();
    assert_eq!(drawn, declared);
}

#[test]
fn only_node_names_napi() {
    assert_only("napi", |code| code.contains("napi"), &["src/node/", "src/lib.rs"]);
}

#[test]
fn only_the_disk_changes_files() {
    // Probes read /proc and the like by themselves; what changes a file goes through the trait.
    const VERBS: &[&str] = &[
        "linkat",
        "renameat",
        "renameat_with",
        "unlinkat",
        "mkdirat",
        "symlinkat",
        "mknodat",
        "fchmod",
        "fchmodat",
        "fchown",
        "chownat",
        "ftruncate",
        "fallocate",
        "fsync",
        "fdatasync",
        "flock",
        "utimensat",
        "futimens",
    ];
    let changes = |code: &str| words(code).any(|word| VERBS.contains(&word));
    assert_only("a verb that changes files", changes, &["src/files/disk.rs"]);
    let writable =
        |code: &str| ["WRONLY", "RDWR", "CREATE"].iter().any(|f| code.contains(&format!("OFlags::{f}")));
    assert_only("a file opened for writing", writable, &["src/files/disk.rs"]);
}

#[test]
fn every_export_catches_a_panic() {
    let mut exports = 0;
    for file in sources().filter(|file| file.name.starts_with("src/node/")) {
        for (start, _) in file.code.match_indices("#[napi") {
            let after = &file.code[start..];
            let (attribute, item) = after.split_at(after.find(")]").or_else(|| after.find(']')).unwrap());
            let signature = item.split('{').next().unwrap();
            if !words(signature).any(|word| word == "fn") || attribute.contains("module_exports") {
                continue;
            }
            exports += 1;
            assert!(
                attribute.contains("catch_unwind"),
                "{}: a panic there would end the process:\n{after:.80}",
                file.name
            );
        }
    }
    assert!(exports > 0, "no export was found to be looked at");
}

#[test]
fn no_source_file_is_longer_than_four_hundred_lines() {
    let long =
        sources().filter(|file| file.lines > 400).map(|file| format!("{}: {} lines", file.name, file.lines));
    let long: Vec<_> = long.collect();
    assert!(long.is_empty(), "split by verb: {}", long.join(", "));
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let manifest = read("Cargo.toml");
    let contributing = read("CONTRIBUTING.md");
    let table = contributing.split("## Dependencies").nth(1).expect("a section of its own");
    let sections =
        manifest.split("\n[").filter(|section| section.split(']').next().unwrap().ends_with("dependencies"));
    let named =
        sections.flat_map(|section| section.lines().skip(1).filter_map(|line| line.split_once(" = ")));
    let unexplained: Vec<_> =
        named.map(|(name, _)| name).filter(|name| !words_of(table).any(|w| w == *name)).collect();
    assert!(unexplained.is_empty(), "no line in CONTRIBUTING.md for {}", unexplained.join(", "));
}

/// How high each module stands, as the picture in `src/lib.rs` has it: one row a line, top to bottom.
fn floors() -> BTreeMap<String, usize> {
    let lib = read("src/lib.rs");
    let picture = lib.split("//! ```").nth(1).expect("a picture");
    let rows: Vec<_> = picture.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let height = rows.len();
    let mut floors = BTreeMap::new();
    for (depth, row) in rows.into_iter().enumerate() {
        let names = row.split("  ").next().expect("the names stand first");
        for name in names.split(" · ") {
            let twice = floors.insert(name.trim().to_owned(), height - depth);
            assert!(twice.is_none(), "{name} stands in two rows");
        }
    }
    floors
}

fn assert_only(what: &str, found: impl Fn(&str) -> bool, allowed: &[&str]) {
    let wrong = sources().filter(|file| !allowed.iter().any(|allowed| file.name.starts_with(allowed)));
    let wrong: Vec<_> = wrong.filter(|file| file.code.lines().any(&found)).map(|file| file.name).collect();
    assert!(wrong.is_empty(), "{what} in {}, and allowed in {} only", wrong.join(", "), allowed.join(", "));
}

struct Source {
    /// From the project's folder.
    name: String,
    /// Without comments, without what strings say, and without the tests at its end.
    code: String,
    lines: usize,
}

impl Source {
    fn read(path: &Path) -> Self {
        let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(path).unwrap();
        let code = without_comments_and_strings(text.split("#[cfg(test)]\nmod tests {").next().unwrap());
        Source { name, code, lines: text.lines().count() }
    }

    /// The top-level module that the file is part of.
    fn module(&self) -> String {
        let inside = self.name.strip_prefix("src/").unwrap();
        inside.split(['/', '.']).next().unwrap().to_owned()
    }

    /// The top-level modules that its `crate::` paths name, `use crate::{a::…, b::…}` included.
    fn named_modules(&self) -> Vec<String> {
        let mut named = Vec::new();
        for (start, path) in self.code.match_indices("crate::") {
            let after = &self.code[start + path.len()..];
            match after.strip_prefix('{') {
                None => named.extend(words(after).next().map(str::to_owned)),
                Some(group) => named.extend(top_of_group(group)),
            }
        }
        named
    }
}

/// The first word of each member of a `{…}`, whose opening brace is already behind.
fn top_of_group(group: &str) -> Vec<String> {
    let (mut depth, mut start, mut tops) = (0, 0, Vec::new());
    for (at, character) in group.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' | ',' if depth == 0 => {
                tops.extend(words(&group[start..at]).next().map(str::to_owned));
                start = at + 1;
            }
            _ => {}
        }
        if character == '}' && depth == 0 && start == at + 1 {
            break;
        }
    }
    tops
}

fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').unwrap() + 2
        } else if next == '"' {
            end_of_string(rest)
        } else {
            code.push(next);
            next.len_utf8()
        };
        rest = &rest[skipped..];
    }
    code
}

/// How long the string literal is that starts here.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '"' if !escaped => return at + 1,
            _ => escaped = character == '\\' && !escaped,
        }
    }
    text.len()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Words as crates are named.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').filter(|word| !word.is_empty())
}

fn sources() -> impl Iterator<Item = Source> {
    let mut files = Vec::new();
    collect(&project().join("src"), &mut files);
    files.sort();
    files.into_iter().map(|path| Source::read(&path))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("tests.rs") {
            files.push(path);
        }
    }
}

fn read(name: &str) -> String {
    fs::read_to_string(project().join(name)).unwrap()
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

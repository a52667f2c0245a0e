//! Observing real Git repositories.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use harnery_native::host::{Environment, Host, ProcessEnvironment};
use harnery_native::javascript::json::{stringify, Value};
use harnery_native::workflow::repository::observe;
use harnery_native::workflow::snapshot::is_snapshot;
use tempfile::TempDir;

use crate::mortal::{real, scratch};

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false", "-C"])
        .arg(dir)
        .args(arguments)
        .env_remove("GIT_INDEX_FILE")
        .env_remove("GIT_WORK_TREE")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository with one commit of one file.
fn repository() -> TempDir {
    let dir = scratch();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("a"), "a").unwrap();
    git(dir.path(), &["add", "a"]);
    git(dir.path(), &["commit", "-qm", "one"]);
    dir
}

fn seen(host: &Host, dir: &Path, max_paths: usize) -> Value {
    let snapshot = observe(host, dir.to_str().unwrap(), max_paths).unwrap();
    assert!(is_snapshot(&snapshot), "{}", stringify(&snapshot));
    snapshot
}

fn member(snapshot: &Value, name: &str) -> Option<String> {
    snapshot.as_object().unwrap().get(name).map(|value| match value {
        Value::String(text) => text.to_string_lossy().into_owned(),
        other => stringify(other),
    })
}

fn members(dir: &Path, names: &[&str]) -> Vec<Option<String>> {
    let snapshot = seen(&real(), dir, 15);
    names.iter().map(|name| member(&snapshot, name)).collect()
}

fn some(texts: &[&str]) -> Vec<Option<String>> {
    texts.iter().map(|text| Some((*text).to_owned())).collect()
}

#[test]
fn a_clean_work_tree_is_seen_whole_from_any_directory_in_it() {
    let dir = repository();
    fs::create_dir(dir.path().join("sub")).unwrap();
    let head = git(dir.path(), &["rev-parse", "HEAD"]);
    let root = dir.path().canonicalize().unwrap();
    for cwd in [dir.path().to_owned(), dir.path().join("sub")] {
        let snapshot = seen(&real(), &cwd, 15);
        let expected = format!(
            r#"{{"cwd":"{}","observation":"ok","root":"{}","branch":"main","head":"{head}","dirty_paths":[]}}"#,
            cwd.display(),
            root.display()
        );
        assert_eq!(stringify(&snapshot), expected);
    }
}

#[test]
fn changed_new_renamed_and_removed_paths_are_dirty_and_ignored_ones_are_not() {
    let dir = repository();
    let write = |name: &str| fs::write(dir.path().join(name), "b").unwrap();
    for name in [".gitignore", "old", "gone"] {
        write(name);
    }
    fs::write(dir.path().join(".gitignore"), "ignored\n").unwrap();
    git(dir.path(), &["add", "."]);
    git(dir.path(), &["commit", "-qm", "two"]);
    write("a");
    write("ignored");
    fs::create_dir(dir.path().join("new")).unwrap();
    write("new/file");
    git(dir.path(), &["mv", "old", "renamed"]);
    fs::remove_file(dir.path().join("gone")).unwrap();
    let found = members(dir.path(), &["observation", "dirty_paths", "dirty_paths_truncated"]);
    assert_eq!(found, [some(&["ok", r#"["a","gone","renamed","new/"]"#]), vec![None]].concat());
}

#[test]
fn paths_beyond_the_limit_are_left_out_and_said_to_be() {
    let dir = repository();
    for number in 0..20 {
        fs::write(dir.path().join(format!("new-{number:02}")), "").unwrap();
    }
    let snapshot = seen(&real(), dir.path(), 15);
    let paths = snapshot.as_object().unwrap().get("dirty_paths").unwrap().as_array().unwrap();
    assert_eq!((paths.len(), paths[14].as_str()), (15, Some("new-14")));
    assert_eq!(member(&snapshot, "dirty_paths_truncated").as_deref(), Some("true"));
    assert_eq!(member(&seen(&real(), dir.path(), 20), "dirty_paths_truncated"), None);
}

#[test]
fn a_path_with_line_feeds_and_bytes_that_are_no_utf_8_is_one_path() {
    let dir = repository();
    fs::write(dir.path().join(OsStr::from_bytes(b"one\ntwo \"\xff\"")), "").unwrap();
    assert_eq!(members(dir.path(), &["dirty_paths"]), some(&["[\"one\\ntwo \\\"\u{fffd}\\\"\"]"]));
}

#[test]
fn a_work_tree_with_a_line_feed_in_its_name_has_that_root() {
    let dir = scratch();
    let odd = dir.path().join("odd\nname\n");
    fs::create_dir(&odd).unwrap();
    git(&odd, &["init", "-q"]);
    assert_eq!(members(&odd, &["root"]), [Some(odd.canonicalize().unwrap().to_str().unwrap().to_owned())]);
}

#[test]
fn a_detached_head_has_head_for_a_branch() {
    let dir = repository();
    git(dir.path(), &["checkout", "-q", "--detach"]);
    assert_eq!(members(dir.path(), &["observation", "branch"]), some(&["ok", "HEAD"]));
}

#[test]
fn an_unborn_branch_has_no_commit_and_is_seen_in_part() {
    let dir = scratch();
    git(dir.path(), &["init", "-q"]);
    fs::write(dir.path().join("new"), "").unwrap();
    let found = members(dir.path(), &["observation", "observation_detail", "branch", "dirty_paths", "head"]);
    assert_eq!(
        found,
        [some(&["partial", "there is no commit yet", "main", r#"["new"]"#]), vec![None]].concat()
    );
}

#[test]
fn a_bare_repository_has_a_commit_and_no_work_tree() {
    let (from, dir) = (repository(), scratch());
    let bare = dir.path().join("bare.git");
    git(from.path(), &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let head = git(from.path(), &["rev-parse", "HEAD"]);
    let found = members(&bare, &["observation", "branch", "head", "root"]);
    assert_eq!(found, [some(&["partial", "main", &head]), vec![None]].concat());
    let detail = members(&bare, &["observation_detail"]).remove(0).unwrap();
    assert!(detail.contains("must be run in a work tree"), "{detail}");
}

#[test]
fn a_submodule_is_a_work_tree_of_its_own_and_dirty_in_the_one_that_it_is_in() {
    let (inner, outer) = (repository(), repository());
    git(outer.path(), &["submodule", "add", "-q", inner.path().to_str().unwrap(), "sub"]);
    git(outer.path(), &["commit", "-qm", "with a submodule"]);
    let sub = outer.path().join("sub");
    assert_eq!(members(outer.path(), &["observation", "dirty_paths"]), some(&["ok", "[]"]));
    fs::write(sub.join("new"), "").unwrap();
    assert_eq!(members(outer.path(), &["dirty_paths"]), some(&[r#"["sub"]"#]));
    let root = sub.canonicalize().unwrap();
    assert_eq!(members(&sub, &["root", "dirty_paths"]), some(&[root.to_str().unwrap(), r#"["new"]"#]));
}

#[test]
fn without_git_a_repository_or_the_directory_nothing_is_available() {
    let dir = scratch();
    let found = members(dir.path(), &["observation", "dirty_paths", "root", "branch", "head"]);
    assert_eq!(found, [some(&["unavailable", "[]"]), vec![None; 3]].concat());
    let detail = |host: &Host, dir: &Path| member(&seen(host, dir, 15), "observation_detail").unwrap();
    assert!(detail(&real(), dir.path()).contains("not a git repository"));
    let missing = dir.path().join("missing");
    assert!(detail(&real(), &missing).contains("cannot change to"), "{}", detail(&real(), &missing));
    let nowhere = with_path(dir.path());
    assert!(detail(&nowhere, dir.path()).starts_with("git could not be started: "));
}

#[test]
fn a_repository_that_the_caller_s_variables_name_is_not_the_one_that_is_observed() {
    // What a Git hook that calls us has in its environment.
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "repository::a_clean_work_tree_is_seen_whole_from_any_directory_in_it"])
        .envs([("GIT_INDEX_FILE", "/nowhere/index"), ("GIT_WORK_TREE", "/")])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn observing_takes_no_lock_and_runs_nothing_that_the_repository_names() {
    let dir = repository();
    let hook = dir.path().join("hook");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", dir.path().join("ran").display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o700)).unwrap();
    git(dir.path(), &["config", "core.fsmonitor", hook.to_str().unwrap()]);
    // Stale times, which a status with locks would write back.
    fs::write(dir.path().join("a"), "a").unwrap();
    let index = fs::read(dir.path().join(".git/index")).unwrap();
    assert_eq!(members(dir.path(), &["observation", "dirty_paths"]), some(&["ok", r#"["hook"]"#]));
    assert!(!dir.path().join("ran").exists());
    assert_eq!(fs::read(dir.path().join(".git/index")).unwrap(), index);
}

#[test]
fn a_file_that_its_clean_filter_makes_what_was_committed_is_not_dirty() {
    let dir = repository();
    fs::write(dir.path().join(".gitattributes"), "a filter=upper\n").unwrap();
    git(dir.path(), &["config", "filter.upper.clean", "tr a-z A-Z"]);
    git(dir.path(), &["add", "--renormalize", "."]);
    git(dir.path(), &["add", ".gitattributes"]);
    git(dir.path(), &["commit", "-qm", "two"]);
    let file = dir.path().join("a");
    fs::write(&file, "a").unwrap();
    let later = std::time::SystemTime::now() + Duration::from_secs(60);
    fs::File::options().append(true).open(&file).unwrap().set_modified(later).unwrap();
    assert_eq!(members(dir.path(), &["observation", "dirty_paths"]), some(&["ok", "[]"]));
    fs::write(&file, "b").unwrap();
    assert_eq!(members(dir.path(), &["dirty_paths"]), some(&[r#"["a"]"#]));
}

#[test]
fn a_path_that_is_not_absolute_is_refused() {
    for cwd in ["", "relative", "/a\0b"] {
        assert!(observe(&real(), cwd, 15).is_err());
    }
}

#[derive(Debug)]
struct WithPath(PathBuf);

impl Environment for WithPath {
    fn get(&self, name: &str) -> Option<String> {
        match name {
            "PATH" => Some(self.0.to_str().unwrap().to_owned()),
            other => ProcessEnvironment.get(other),
        }
    }
    fn current_dir(&self) -> PathBuf {
        ProcessEnvironment.current_dir()
    }
}

/// The real machine, where programs are looked for in this directory alone.
fn with_path(dir: &Path) -> Host {
    Host { environment: Rc::new(WithPath(dir.to_owned())), ..real() }
}

#[test]
fn a_git_that_hangs_is_ended_with_everything_that_it_started() {
    let dir = scratch();
    let (program, pids) = (dir.path().join("git"), dir.path().join("pids"));
    // It leaves a child with its output open, as a hook or a pager would be.
    fs::write(&program, format!("#!/bin/sh\n/bin/sleep 600 &\necho $$ $! >> '{}'\nwait\n", pids.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    let host = crate::mortal::hurried(&with_path(dir.path()), 50);
    let started = Instant::now();
    let found = seen(&host, dir.path(), 15);
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(member(&found, "observation").as_deref(), Some("unavailable"));
    assert_eq!(member(&found, "observation_detail").as_deref(), Some("git did not answer in time"));
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.split_whitespace().count() % 2, 0);
    for pid in pids.split_whitespace() {
        let pid = harnery_native::process::Pid::new(pid.parse().unwrap()).unwrap();
        let ended = host.processes.open(pid).unwrap().is_none_or(|held| {
            let deadline = Instant::now() + Duration::from_secs(5);
            while !held.has_ended() && Instant::now() < deadline {
                std::thread::yield_now();
            }
            held.has_ended()
        });
        assert!(ended, "{pid} lives on");
    }
}

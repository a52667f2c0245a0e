//! `git status --porcelain=v2 --branch -z`, read.

use crate::javascript::text::Text;

/// A longer path is cut, in UTF-16 code units.
const PATH_LIMIT: usize = 500;

/// What the answer to `status` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Status {
    /// `HEAD` when it is detached.
    pub(super) branch: Option<String>,
    /// `None` when there is no commit yet.
    pub(super) head: Option<String>,
    pub(super) dirty_paths: Vec<Text>,
    /// There are more paths, or longer ones.
    pub(super) is_truncated: bool,
}

/// Read entries that end with a NUL each; a renamed one is followed by its old path. `is_cut` says that there is more
/// than was read.
pub(super) fn read(stdout: &[u8], is_cut: bool, max_paths: usize) -> Status {
    let mut status = Status { is_truncated: is_cut, ..Status::default() };
    let mut entries: Vec<&[u8]> = stdout.split(|byte| *byte == 0).collect();
    // After the last NUL there is nothing, or what was cut off in the middle.
    entries.pop();
    let mut entries = entries.into_iter();
    while let Some(entry) = entries.next() {
        // How many fields stand before the path.
        let fields = match entry.first() {
            Some(b'#') => {
                read_header(entry, &mut status);
                continue;
            }
            Some(b'1') => 8,
            Some(b'2') => {
                entries.next();
                9
            }
            Some(b'u') => 10,
            Some(b'?') => 1,
            _ => continue,
        };
        let Some(path) = entry.splitn(fields + 1, |byte| *byte == b' ').nth(fields) else { continue };
        if status.dirty_paths.len() == max_paths {
            status.is_truncated = true;
            break;
        }
        let path = Text::from(String::from_utf8_lossy(path).into_owned());
        let kept = path.first(PATH_LIMIT);
        status.is_truncated |= kept != path;
        status.dirty_paths.push(kept);
    }
    status
}

fn read_header(entry: &[u8], status: &mut Status) {
    let text = String::from_utf8_lossy(entry);
    if let Some(head) = text.strip_prefix("# branch.oid ") {
        status.head = (head != "(initial)").then(|| head.to_owned());
    } else if let Some(branch) = text.strip_prefix("# branch.head ") {
        status.branch = Some(if branch == "(detached)" { "HEAD" } else { branch }.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(entries: &[&[u8]], max_paths: usize) -> Status {
        let stdout: Vec<u8> = entries.iter().flat_map(|entry| [entry, &b"\0"[..]].concat()).collect();
        read(&stdout, false, max_paths)
    }

    #[test]
    fn every_kind_of_entry_names_its_path() {
        let found = status(
            &[
                b"# branch.oid 0123456789abcdef0123456789abcdef01234567",
                b"# branch.head main",
                b"# branch.ab +1 -0",
                b"1 .M N... 100644 100644 100644 aaaa bbbb with blank",
                b"2 R. N... 100644 100644 100644 aaaa bbbb R100 new",
                b"old",
                b"u UU N... 100644 100644 100644 100644 aaaa bbbb cccc both",
                b"? new\nfile",
                b"? \xff",
                b"! ignored",
            ],
            15,
        );
        assert_eq!(found.branch.as_deref(), Some("main"));
        assert_eq!(found.head.as_deref(), Some("0123456789abcdef0123456789abcdef01234567"));
        assert_eq!(found.dirty_paths, ["with blank", "new", "both", "new\nfile", "\u{fffd}"]);
        assert!(!found.is_truncated);
    }

    #[test]
    fn a_detached_branch_is_head_and_an_unborn_one_has_none() {
        assert_eq!(status(&[b"# branch.head (detached)"], 1).branch.as_deref(), Some("HEAD"));
        let unborn = status(&[b"# branch.oid (initial)", b"# branch.head main"], 1);
        assert_eq!((unborn.branch.as_deref(), unborn.head), (Some("main"), None));
    }

    #[test]
    fn more_paths_or_longer_ones_are_truncated() {
        assert!(!status(&[b"? a", b"? b"], 2).is_truncated);
        let cut = status(&[b"? a", b"? b", b"? c"], 2);
        assert_eq!((cut.dirty_paths.len(), cut.is_truncated), (2, true));
        let long = format!("? {}\u{1F600}", "x".repeat(499));
        let cut = status(&[long.as_bytes()], 2);
        assert_eq!((cut.dirty_paths[0].length(), cut.is_truncated), (499, true));
    }

    #[test]
    fn what_was_cut_off_in_the_middle_is_no_entry() {
        assert_eq!(read(b"? whole\0? ha", true, 9).dirty_paths, ["whole"]);
    }
}

//! Whether a process looks like a server of a project, by its working directory and command line.

use std::path::{Path, PathBuf};

use crate::javascript::paths;
use crate::process::Info;
use crate::servers::sockets::SocketView;

const BROWSERS: [&str; 6] =
    ["chrome", "chromium", "chrome-headless-shell", "headless_shell", "msedge", "firefox"];
const BROWSER_TYPES: [&str; 3] = ["--type=renderer", "--type=gpu-process", "--type=utility"];
const EDITOR_SERVERS: [&str; 3] = [".vscode-server", ".cursor-server", ".windsurf-server"];

/// A project's root, as it is called and as the system knows it.
#[derive(Debug)]
pub(super) struct Project {
    roots: Vec<PathBuf>,
}

impl Project {
    pub(super) fn new(sockets: &SocketView<'_>, coord_root: &Path) -> Project {
        let mut roots = vec![coord_root.to_owned()];
        roots.extend(sockets.real_path(coord_root).filter(|real| real != coord_root));
        Project { roots }
    }

    /// Whether the process works in the project or was told a path of it, and is no browser and no editor's server.
    pub(super) fn has(&self, info: &Info) -> bool {
        let works_here = info.cwd.as_deref().is_some_and(|cwd| self.holds(cwd));
        (works_here || self.is_named_in(&info.command))
            && !is_browser(&info.command)
            && !is_editor(&info.command)
    }

    fn holds(&self, path: &str) -> bool {
        let path = paths::resolve(Path::new("/"), path);
        self.roots.iter().any(|root| path.starts_with(root))
    }

    /// The arguments are joined with blanks, and so may a root hold some: each place where an argument may begin is
    /// tried to the next blank, and with a root there to the blank after it.
    fn is_named_in(&self, command: &str) -> bool {
        let starts = command
            .char_indices()
            .filter(|(at, c)| *c == '/' && (*at == 0 || command[..*at].ends_with(char::is_whitespace)));
        starts.map(|(at, _)| &command[at..]).any(|argument| {
            let roots = self.roots.iter().filter_map(|root| root.to_str());
            let lengths = roots.filter(|root| argument.starts_with(root)).map(str::len);
            lengths.chain([0]).any(|length| self.holds(to_blank(argument, length)))
        })
    }
}

/// The text up to the first blank at or after `from`.
fn to_blank(text: &str, from: usize) -> &str {
    let end = text[from..].find(char::is_whitespace).map_or(text.len(), |blank| from + blank);
    &text[..end]
}

/// A browser's name as the command or at the end of a path in it, or an argument that only its processes have.
fn is_browser(command: &str) -> bool {
    let lower = command.to_lowercase();
    lower.split_whitespace().any(|word| BROWSER_TYPES.contains(&word))
        || BROWSERS.iter().any(|name| {
            lower.match_indices(name).any(|(at, _)| {
                let begins = at == 0 || lower[..at].ends_with('/');
                let ends = lower[at + name.len()..].chars().next().is_none_or(char::is_whitespace);
                begins && ends
            })
        })
}

/// A path with a directory of an editor's remote server in it.
fn is_editor(command: &str) -> bool {
    EDITOR_SERVERS.iter().any(|name| {
        command.match_indices(name).any(|(at, _)| {
            let before = command[..at].chars().next_back();
            let after = command[at + name.len()..].chars().next();
            let is_edge = |c: Option<char>| c.is_none_or(|c| c == '/' || c.is_whitespace());
            is_edge(before) && is_edge(after)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Pid;

    fn info(command: &str, cwd: Option<&str>) -> Info {
        let pid = Pid::new(7).unwrap();
        Info { pid, parent: None, command: command.to_owned(), cwd: cwd.map(str::to_owned) }
    }

    fn has(root: &str, command: &str, cwd: Option<&str>) -> bool {
        Project { roots: vec![root.into()] }.has(&info(command, cwd))
    }

    #[test]
    fn a_process_belongs_by_its_directory_or_an_argument() {
        assert!(has("/w/p", "node x", Some("/w/p")));
        assert!(has("/w/p", "node x", Some("/w/p/sub")));
        assert!(!has("/w/p", "node x", Some("/w/pp")));
        assert!(has("/w/p", "node /w/p/server.js --port 1", None));
        assert!(has("/w/p", "/w/p/bin/serve", Some("/")));
        assert!(!has("/w/p", "node /w/p/../q/server.js", None));
        assert!(!has("/w/p", "node --x=/w/p/server.js", None));
        assert!(!has("/w/p", "node server.js", None));
    }

    #[test]
    fn a_root_with_blanks_is_found_among_arguments_joined_with_blanks() {
        assert!(has("/w/my p", "node /w/my p/server.js", None));
        assert!(!has("/w/my p", "node /w/my px/server.js", None));
        assert!(!has("/w/my p", "node /w/my p/../q/server.js x", None));
    }

    #[test]
    fn browsers_and_editor_servers_are_none_of_the_project_s() {
        let cwd = Some("/w/p");
        for command in [
            "/opt/google/chrome/chrome --remote-debugging-port=1",
            "Chromium",
            "/usr/lib/firefox/firefox",
            "/x/chrome-headless-shell --y",
            "/x/app --type=renderer",
            "node /home/me/.vscode-server/bin/x/server.js",
            "/home/me/.cursor-server/node",
        ] {
            assert!(!has("/w/p", command, cwd), "{command}");
        }
        for command in
            ["node chrome.js", "node open chrome", "chromedriver", "node x.vscode-server", "x --type=x"]
        {
            assert!(has("/w/p", command, cwd), "{command}");
        }
    }
}

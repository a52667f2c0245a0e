//! A test again, in processes that may create anything and next to nothing.

use std::process::Command;

/// Let the test of this program with this name pass under both ends of what a umask can be.
pub fn passes_under_any(test: &str) {
    for umask in ["000", "077"] {
        let done = Command::new("sh")
            .args(["-c", &format!("umask {umask} && exec \"$@\""), "sh"])
            .arg(std::env::current_exe().expect("a test has a program"))
            .args(["--exact", test])
            .output()
            .expect("a shell");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "umask {umask}: {said}");
    }
}

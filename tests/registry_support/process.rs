//! Processes to register: this test's own program again, doing what the environment says, until it is dropped.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

const ROLE: &str = "HARNERY_TEST_ROLE";

/// A child that is killed and reaped when dropped.
pub struct Helper {
    child: Child,
    said: String,
    /// A process that it leaves behind.
    heir: Option<i32>,
}

impl Helper {
    pub fn pid(&self) -> f64 {
        f64::from(self.child.id())
    }

    pub fn number(&self) -> i64 {
        i64::from(self.child.id())
    }

    /// The process that it leaves behind.
    pub fn heir(&self) -> f64 {
        f64::from(self.heir.expect("it has one"))
    }

    /// Kill it without reaping it.
    pub fn end(&mut self) {
        self.child.kill().expect("it can be killed");
    }

    pub fn end_and_reap(&mut self) {
        self.end();
        self.child.wait().expect("it ends");
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(heir) = self.heir.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(heir, rustix::process::Signal::KILL);
        }
    }
}

/// A process that does nothing.
pub fn idle() -> Helper {
    start("idle", "/", &[])
}

/// A process that listens on free ports at these addresses and says which; its own arguments name `extra`.
pub fn listening(addresses: &str, cwd: &str, extra: &[&str]) -> (Helper, Vec<u16>) {
    let helper = start(&format!("listen {addresses}"), cwd, extra);
    let ports = helper.said.split_whitespace().map(|port| port.parse().expect("a port")).collect();
    (helper, ports)
}

/// A process that listens and leaves its socket to a child of its own, which lives on after it.
pub fn inheriting(address: &str, cwd: &str) -> (Helper, Vec<u16>) {
    let mut helper = start(&format!("bequeath {address}"), cwd, &[]);
    let (port, heir) = helper.said.split_once(' ').expect("a port and a pid");
    let port = port.parse().expect("a port");
    helper.heir = Some(heir.parse().expect("a pid"));
    (helper, vec![port])
}

fn start(role: &str, cwd: &str, extra: &[&str]) -> Helper {
    let program = std::env::current_exe().expect("a test has a program");
    // The filter names the test in which a child plays its role; further filters match nothing.
    let mut child = Command::new(program)
        .args([
            "--exact",
            "--nocapture",
            "--test-threads=1",
            "registry_support::process::a_child_plays_its_role",
        ])
        .args(extra)
        .env(ROLE, role)
        .current_dir(cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let said = lines
        .find_map(|line| line.expect("a line").split_once("ready:").map(|(_, said)| said.to_owned()))
        .expect("the child gets ready");
    Helper { child, said, heir: None }
}

#[test]
fn a_child_plays_its_role() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut words = role.split_whitespace();
    let listeners: Vec<_> = match words.next() {
        Some("listen" | "bequeath") => {
            words.map(|at| std::net::TcpListener::bind(at).expect("a free port")).collect()
        }
        _ => Vec::new(),
    };
    let mut said: Vec<_> =
        listeners.iter().map(|l| l.local_addr().expect("an address").port().to_string()).collect();
    if role.starts_with("bequeath") {
        rustix::io::fcntl_setfd(&listeners[0], rustix::io::FdFlags::empty()).expect("it can be left");
        #[expect(clippy::zombie_processes, reason = "it outlives this process, which is killed")]
        let heir = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().expect("a child");
        said.push(heir.id().to_string());
    }
    println!("ready:{}", said.join(" "));
    std::io::stdout().flush().expect("the test listens");
    // Until it is killed, or the test that started it is gone.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    std::process::exit(0);
}

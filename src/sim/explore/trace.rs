//! A run, told as a numbered list of calls.

use std::collections::HashMap;
use std::fmt::{self, Write as _};

use super::event::Event;
use super::state::{Cast, State};
use crate::files::Handle;
use crate::sim::call::{Answer, Call, Place};

/// The events of a run from its start. They replay it exactly.
#[derive(Debug, Clone)]
pub struct Trace {
    pub events: Vec<Event>,
    /// Of a run by chance: what makes it again.
    pub seed: Option<u64>,
    text: String,
}

impl Trace {
    pub(super) fn new(events: Vec<Event>) -> Self {
        Trace { events, seed: None, text: String::new() }
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Replay the run to tell what happened in it.
    pub(super) fn tell(&mut self, cast: &mut Cast, start: &State) {
        let mut state = start.clone();
        let mut paths: HashMap<(u8, Handle), String> = HashMap::new();
        let mut text = String::new();
        for (at, event) in self.events.iter().enumerate() {
            let who = event.who();
            let name = format!("{}{}", cast.setting.names[usize::from(who)], who + 1);
            let note = event.describe().map(|note| format!("  [{note}]")).unwrap_or_default();
            let happened = state.apply(cast, *event);
            let mut first = Some(format!("{:4} {name}{note}", at + 1));
            if happened.calls.is_empty() {
                let _ = writeln!(text, "{}", first.take().unwrap_or_default());
            }
            for (call, answer) in &happened.calls {
                let told = tell(call, &|handle| paths.get(&(who, handle)).cloned().unwrap_or_default());
                let start = first.take().unwrap_or_else(|| format!("     {name}"));
                let _ = writeln!(text, "{start}  {told}: {answer:?}");
                if let (Call::OpenDir(place) | Call::Open(place, _), Answer::Handle(handle)) = (call, answer)
                {
                    let above = place.dir.and_then(|dir| paths.get(&(who, dir))).cloned().unwrap_or_default();
                    paths.insert((who, *handle), join(&above, &place.path.to_string_lossy()));
                }
            }
            if let (Event::Step { .. }, Some(ending)) = (event, state.ending(usize::from(who))) {
                let fault = ending.fault.as_deref().map(|fault| format!(": {fault}")).unwrap_or_default();
                let _ = writeln!(text, "     {name}  ends: {}{fault}", ending.outcome);
            }
        }
        let _ = writeln!(text, "left on disk:\n{}", state.disk.listing());
        self.text = shorten(&text, cast);
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(seed) = self.seed {
            writeln!(f, "seed {seed}")?;
        }
        f.write_str(&self.text)
    }
}

fn tell(call: &Call, path_of: &dyn Fn(Handle) -> String) -> String {
    let at = |place: &Place| {
        let above = place.dir.map(path_of).unwrap_or_default();
        join(&above, &place.path.to_string_lossy())
    };
    match call {
        Call::OpenDir(place) => format!("open directory {}", at(place)),
        Call::Open(place, access) => format!("open {} {access:?}", at(place)),
        Call::MakeDir(place, _) => format!("mkdir {}", at(place)),
        Call::Stat(place) => format!("lstat {}", at(place)),
        Call::StatFollowed(place) => format!("stat {}", at(place)),
        Call::StatHandle(handle) => format!("fstat {}", path_of(*handle)),
        Call::ReadAt(handle, offset, _) => format!("read {} at {offset}", path_of(*handle)),
        Call::WriteAt(handle, offset, bytes) => {
            format!("write {} at {offset}: {} bytes", path_of(*handle), bytes.len())
        }
        Call::SetSize(handle, size) => format!("ftruncate {} to {size}", path_of(*handle)),
        Call::SetMode(handle, mode) => format!("fchmod {} {mode:o}", path_of(*handle)),
        Call::SetOwner(handle, ..) => format!("fchown {}", path_of(*handle)),
        Call::Sync(handle) => format!("fsync {}", path_of(*handle)),
        Call::Link(from, to) => format!("link {} as {}", at(from), at(to)),
        Call::Rename(from, to) => format!("rename {} to {}", at(from), at(to)),
        Call::RenameNew(from, to) => format!("rename {} to new {}", at(from), at(to)),
        Call::Unlink(place) => format!("unlink {}", at(place)),
        Call::RemoveDir(place) => format!("rmdir {}", at(place)),
        Call::List(handle) => format!("list {}", path_of(*handle)),
        Call::TryLock(handle) => format!("flock {}", path_of(*handle)),
        Call::Close(handle) => format!("close {}", path_of(*handle)),
        other => format!("{other:?}"),
    }
}

fn join(above: &str, path: &str) -> String {
    match above {
        "" | "/" => format!("{above}{path}"),
        _ => format!("{above}/{path}"),
    }
}

/// Ids as the names of those who drew them.
fn shorten(text: &str, cast: &Cast) -> String {
    let mut text = text.to_owned();
    for (at, name) in cast.setting.names.iter().enumerate() {
        for drawn in 1..5 {
            let id = crate::sim::machine::id_of(crate::sim::disk::Caller(at as u8), drawn);
            let mark = if drawn == 1 { String::new() } else { format!(".{drawn}") };
            text = text.replace(&id, &format!("{name}{}{mark}", at + 1));
        }
    }
    text
}

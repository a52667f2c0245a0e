//! The records of the last listing: the next one reads only what has changed since.
//!
//! A file that is the same object, with the same size and times, has the content that it had, once those times lie far
//! enough back: what is written within one tick of a file system's clock leaves no trace in them.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::rc::Rc;

use super::{Schema, ServerRecord};
use crate::files::Stat;

/// More text than this is not kept.
const LIMIT_BYTES: u64 = 4 * 1024 * 1024;

/// Longer than a tick of a file system's clock, milliseconds.
const TICK_MS: i64 = 100;

/// The same for one that knows whole seconds only, or two of them.
const COARSE_TICK_MS: i64 = 3000;

/// What a process remembers of one registry.
#[derive(Debug, Default)]
pub(super) struct Remembered(RefCell<Vec<Known>>);

/// A record as it was last read.
#[derive(Debug)]
pub(super) struct Known {
    name: OsString,
    schema: Schema,
    stat: Stat,
    record: Rc<ServerRecord>,
}

impl Known {
    /// Whether its file, as it looks now, is as it was.
    pub(super) fn stands(&self, schema: Schema, now: &Stat) -> bool {
        self.schema == schema && self.stat == *now
    }

    pub(super) fn record(&self) -> Rc<ServerRecord> {
        Rc::clone(&self.record)
    }
}

/// A listing on its way through the directory, in the order of names.
pub(super) struct Listing<'a> {
    remembered: &'a Remembered,
    now_ms: i64,
    before: std::iter::Peekable<std::vec::IntoIter<Known>>,
    after: Vec<Known>,
    bytes: u64,
}

impl Remembered {
    /// Begin a listing at `now_ms`. What was remembered goes with it, until it ends.
    pub(super) fn listing(&self, now_ms: i64) -> Listing<'_> {
        let before = self.0.take().into_iter().peekable();
        Listing { remembered: self, now_ms, before, after: Vec::new(), bytes: 0 }
    }
}

impl Listing<'_> {
    /// What was read under this name. Names are asked for in ascending order.
    pub(super) fn known(&mut self, name: &OsStr) -> Option<Known> {
        while self.before.next_if(|known| *known.name < *name).is_some() {}
        self.before.next_if(|known| *known.name == *name)
    }

    /// It stands as it did.
    pub(super) fn keep(&mut self, known: Known) {
        self.bytes += known.stat.size;
        if self.bytes <= LIMIT_BYTES {
            self.after.push(known);
        }
    }

    /// It was read anew. `stat` was taken before that.
    pub(super) fn read(&mut self, name: OsString, schema: Schema, stat: Stat, record: &Rc<ServerRecord>) {
        if is_settled(&stat, self.now_ms) {
            self.keep(Known { name, schema, stat, record: Rc::clone(record) });
        }
    }

    /// Remember it for the next one.
    pub(super) fn end(self) {
        self.remembered.0.replace(self.after);
    }
}

/// Whether a later change would show in the file's times.
fn is_settled(stat: &Stat, now_ms: i64) -> bool {
    let changed = stat.changed_ms.max(stat.modified_ms);
    let tick = if changed % 1000 == 0 { COARSE_TICK_MS } else { TICK_MS };
    changed.saturating_add(tick) <= now_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Identity, Kind};
    use crate::javascript::json::Object;

    fn stat(changed_ms: i64, size: u64) -> Stat {
        let identity = Identity { device: 1, inode: 2 };
        let (links, mode, uid, gid) = (1, 0o600, 0, 0);
        Stat { kind: Kind::File, identity, links, size, mode, uid, gid, modified_ms: 5, changed_ms }
    }

    fn listed(remembered: &Remembered, name: &str, stat: Stat, now_ms: i64) {
        let mut listing = remembered.listing(now_ms);
        let record = Rc::new(ServerRecord::given(Object::new()));
        listing.read(name.into(), Schema::Current, stat, &record);
        listing.end();
    }

    #[test]
    fn what_changed_a_moment_ago_is_read_again() {
        let remembered = Remembered::default();
        let is_known = |changed_ms, now_ms| {
            listed(&remembered, "a", stat(changed_ms, 10), now_ms);
            remembered.listing(now_ms).known(OsStr::new("a")).is_some()
        };
        assert!(is_known(90_001, 90_101) && !is_known(90_001, 90_100));
        // A file system with whole seconds alone.
        assert!(is_known(90_000, 93_000) && !is_known(90_000, 92_999));
        // A clock that was set back.
        assert!(!is_known(90_001, 10_000));
    }

    #[test]
    fn any_difference_of_the_file_or_another_contract_is_a_change() {
        let remembered = Remembered::default();
        let then = stat(1, 10);
        listed(&remembered, "a", then, 10_000);
        let known = remembered.listing(10_000).known(OsStr::new("a")).unwrap();
        assert!(known.stands(Schema::Current, &then) && !known.stands(Schema::Custody, &then));
        let other = Identity { device: 1, inode: 3 };
        for now in [stat(2, 10), stat(1, 11), Stat { identity: other, ..then }, Stat { mode: 0o660, ..then }]
        {
            assert!(!known.stands(Schema::Current, &now), "{now:?}");
        }
    }

    #[test]
    fn names_are_found_between_others_that_came_and_went() {
        let remembered = Remembered::default();
        let mut listing = remembered.listing(10_000);
        for name in ["a", "c", "d"] {
            let record = Rc::new(ServerRecord::given(Object::new()));
            listing.read(name.into(), Schema::Current, stat(1, 1), &record);
        }
        listing.end();
        let mut listing = remembered.listing(10_000);
        let found = ["0", "a", "b", "d", "e"].map(|name| listing.known(OsStr::new(name)).is_some());
        assert_eq!(found, [false, true, false, true, false]);
    }

    #[test]
    fn no_more_than_a_few_megabytes_are_kept() {
        let remembered = Remembered::default();
        listed(&remembered, "a", stat(1, LIMIT_BYTES + 1), 10_000);
        assert!(remembered.listing(10_000).known(OsStr::new("a")).is_none());
    }
}

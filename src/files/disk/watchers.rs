//! Inotify instances, kept for the next watch: closing one waits until the kernel has seen every processor do something
//! else, which takes milliseconds.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

/// More than so many watches at once are rare; their instances are closed.
const KEPT: usize = 8;

/// The instances of one environment.
#[derive(Debug, Default)]
pub(super) struct Watchers(RefCell<Vec<Watcher>>);

#[derive(Debug)]
struct Watcher {
    instance: Rc<OwnedFd>,
    /// What it watched last.
    watch: Cell<Option<i32>>,
}

impl Watchers {
    /// Watch a directory by its handle for one change of its names; `None` where there can be no watch.
    pub(super) fn watch(&self, dir: BorrowedFd<'_>) -> io::Result<Option<Rc<OwnedFd>>> {
        // One: whoever waits for the change has told its end, or has gone.
        let changes = WatchFlags::ONESHOT
            | WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        // Through the handle, so that it is this directory that is watched and not what its path names by now.
        let through = format!("/proc/self/fd/{}", dir.as_raw_fd());
        let watcher = self.idle()?;
        let watched = inotify::add_watch(&watcher.instance, through, changes);
        let instance = Rc::clone(&watcher.instance);
        watcher.watch.set(watched.ok());
        let mut kept = self.0.borrow_mut();
        if kept.len() < KEPT {
            kept.push(watcher);
        }
        match watched {
            Ok(_) => Ok(Some(instance)),
            // No procfs, or the user's watches are used up: the poll that backs every watch has to do.
            Err(Errno::NOENT | Errno::NOSPC | Errno::ACCESS) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// An instance that watches nothing and has nothing to tell, taken out of those that are kept.
    fn idle(&self) -> io::Result<Watcher> {
        let mut kept = self.0.borrow_mut();
        let Some(place) = kept.iter().position(|watcher| Rc::strong_count(&watcher.instance) == 1) else {
            let instance = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
            return Ok(Watcher { instance: Rc::new(instance), watch: Cell::new(None) });
        };
        let watcher = kept.swap_remove(place);
        if let Some(watch) = watcher.watch.take() {
            // One that has told its change is gone already.
            let _ = inotify::remove_watch(&watcher.instance, watch);
        }
        let mut told = [0; 4096];
        while rustix::io::read(&watcher.instance, &mut told).is_ok_and(|size| size > 0) {}
        Ok(watcher)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    use std::os::fd::AsFd;

    fn has_changed(watch: &OwnedFd) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(watch, PollFlags::IN)], Some(&now)).unwrap() > 0
    }

    #[test]
    fn a_watch_tells_of_its_own_directory_alone_whatever_its_instance_watched_before() {
        let [first, second] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [a, b] = [&first, &second].map(|dir| std::fs::File::open(dir.path()).unwrap());
        let watchers = Watchers::default();
        let watch = |dir: &std::fs::File| watchers.watch(dir.as_fd()).unwrap().unwrap();
        let one = watch(&a);
        let (two, instance) = (watch(&b), one.as_raw_fd());
        assert_ne!(instance, two.as_raw_fd());
        std::fs::write(first.path().join("x"), "").unwrap();
        assert!(has_changed(&one) && !has_changed(&two));
        drop(one);
        // Told, and taken again for another directory and for the same one.
        for dir in [&b, &a, &a] {
            let again = watch(dir);
            assert_eq!((again.as_raw_fd(), has_changed(&again)), (instance, false));
        }
        let again = watch(&b);
        std::fs::write(first.path().join("y"), "").unwrap();
        assert!(!has_changed(&again));
        std::fs::write(second.path().join("y"), "").unwrap();
        assert!(has_changed(&again));
    }

    #[test]
    fn no_more_instances_than_a_few_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let open = std::fs::File::open(dir.path()).unwrap();
        let watchers = Watchers::default();
        let many: Vec<_> = (0..2 * KEPT).map(|_| watchers.watch(open.as_fd()).unwrap()).collect();
        drop(many);
        assert_eq!(watchers.0.borrow().len(), KEPT);
    }
}

//! Witnesses: what a record says about the process that has its number now.
//!
//! A start token has ten-millisecond grain, shifts with the reader's time namespace and changes when a container is
//! restored; a number means nothing in another pid namespace. A witness is several observations at once, and they are
//! asked in an order that never lets a weak one overrule a strong one.
//!
//! Whoever deletes or takes over acts only on [`Judgement::Gone`] and [`Judgement::Different`]; whoever signals acts
//! only on [`Judgement::Same`]. A process restored from a checkpoint has a new inode and new ticks, and reads as
//! [`Judgement::Different`].

use super::generation::{boot_part, tokens_agree};
use super::observer::Observer;
use super::{Judgement, Pid, Processes, Witness};

/// Judge the process that has the number now by what was recorded.
pub fn judge(processes: &dyn Processes, pid: Pid, recorded: &Witness) -> Judgement {
    Observer::new(processes).judge(pid, recorded)
}

/// Whether it was recorded in another boot than this one. One host name is taken to be one machine, so the machine has
/// restarted, and whatever was recorded is gone.
pub fn is_of_another_boot(processes: &dyn Processes, recorded: &Witness) -> bool {
    both_known(recorded_boot(recorded), processes.boot().as_deref()) == Some(false)
}

/// The boot that it was recorded in, where its token tells.
pub(super) fn recorded_boot(recorded: &Witness) -> Option<&str> {
    recorded.start_token.as_deref().and_then(boot_part)
}

/// Two observations of one number, made in one pid namespace and one boot.
pub fn compare(recorded: &Witness, current: &Witness) -> Judgement {
    match both_known(recorded.pidfd_inode.as_deref(), current.pidfd_inode.as_deref()) {
        Some(true) => return Judgement::Same,
        Some(false) => return Judgement::Different,
        None => {}
    }
    let (Some(token), Some(now)) = (&recorded.start_token, &current.start_token) else {
        return Judgement::Unknown;
    };
    if token == now {
        return Judgement::Same;
    }
    let one_time = both_known(recorded.time_namespace.as_deref(), current.time_namespace.as_deref());
    if one_time == Some(true) && comparable(token, now) {
        return Judgement::Different;
    }
    Judgement::Unknown
}

/// Whether two tokens that are not equal contradict each other: read by one probe, and not only lacking a boot part.
fn comparable(a: &str, b: &str) -> bool {
    a.chars().next() == b.chars().next() && !tokens_agree(a, b)
}

/// Whether two observations are the same; `None` when either was not made.
pub(super) fn both_known(a: Option<&str>, b: Option<&str>) -> Option<bool> {
    Some(a? == b?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn witness(token: &str, inode: &str, time: &str) -> Witness {
        let known = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Witness {
            start_token: known(token),
            pidfd_inode: known(inode),
            pid_namespace: None,
            time_namespace: known(time),
        }
    }

    #[test]
    fn the_inode_of_the_pidfd_decides_before_the_token() {
        assert_eq!(compare(&witness("la.1", "7", "t"), &witness("la.2", "7", "t")), Judgement::Same);
        assert_eq!(compare(&witness("la.1", "7", "t"), &witness("la.1", "8", "t")), Judgement::Different);
    }

    #[test]
    fn equal_tokens_are_the_same_process_in_whatever_time_namespace() {
        assert_eq!(compare(&witness("la.1", "", "t"), &witness("la.1", "8", "u")), Judgement::Same);
    }

    #[test]
    fn tokens_that_differ_are_proof_only_in_one_known_time_namespace() {
        assert_eq!(compare(&witness("la.1", "", "t"), &witness("la.2", "8", "t")), Judgement::Different);
        assert_eq!(compare(&witness("la.1", "", "t"), &witness("la.2", "", "u")), Judgement::Unknown);
        assert_eq!(compare(&witness("la.1", "", ""), &witness("la.2", "", "t")), Judgement::Unknown);
        assert_eq!(compare(&witness("la.1", "", "t"), &witness("la.2", "", "")), Judgement::Unknown);
    }

    #[test]
    fn tokens_that_cannot_contradict_each_other_are_unknown() {
        assert_eq!(compare(&witness("l1", "", "t"), &witness("la.1", "", "t")), Judgement::Unknown);
        assert_eq!(compare(&witness("pSat", "", "t"), &witness("la.1", "", "t")), Judgement::Unknown);
        assert_eq!(compare(&witness("", "", "t"), &witness("la.1", "", "t")), Judgement::Unknown);
        assert_eq!(compare(&witness("la.1", "", "t"), &witness("", "", "t")), Judgement::Unknown);
    }
}

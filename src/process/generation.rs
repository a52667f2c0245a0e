//! Generations: is the process that has a number now the one that was recorded?
//!
//! A start token is opaque. It is compared for equality, and with one concession: a record from before tokens carried
//! the boot's part is compared by its ticks, which is good enough to list it, never to signal it.

use super::{Asked, Dependencies, Generation, Pid, Presence, Processes};

/// What a recorded token says of the process that has the number now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PidToken {
    Match,
    Mismatch,
    /// No recorded token, or none can be read now.
    Unverified,
}

/// Whether two tokens describe one run: equal, or both of procfs with equal ticks and one of them without a boot part.
pub fn tokens_agree(recorded: &str, current: &str) -> bool {
    recorded == current || differ_only_in_missing_boot(recorded, current)
}

/// [`PidToken`] of a recorded and a current token.
pub fn check_pid_token(recorded: Option<&str>, current: Option<&str>) -> PidToken {
    match (some_text(recorded), some_text(current)) {
        (Some(recorded), Some(current)) if tokens_agree(recorded, current) => PidToken::Match,
        (Some(_), Some(_)) => PidToken::Mismatch,
        _ => PidToken::Unverified,
    }
}

/// The verdict on a recorded and a current token, for whoever signals or forgets: agreeing ticks without a boot part
/// are no proof.
pub fn verdict(recorded: Option<&str>, current: Option<&str>) -> Generation {
    match (some_text(recorded), some_text(current)) {
        (Some(recorded), Some(current)) if recorded == current => Generation::Same,
        (Some(recorded), Some(current)) if differ_only_in_missing_boot(recorded, current) => {
            Generation::Unknown
        }
        (Some(_), Some(_)) => Generation::Different,
        _ => Generation::Unknown,
    }
}

/// Whether the process that has the number now is the one that `token` was recorded of.
pub fn verify(
    processes: &dyn Processes,
    pid: Pid,
    token: Option<&str>,
    dependencies: &dyn Dependencies,
) -> Generation {
    if some_text(token).is_none() {
        return Generation::Unknown;
    }
    match dependencies.read_token(pid) {
        Asked::NotSupplied => verdict(token, processes.start_token(pid).as_deref()),
        Asked::Answered(current) => verdict(token, current.as_deref()),
        Asked::Threw => Generation::Unknown,
    }
}

/// Whether a process with this number is there now, by the caller's probe or else the machine.
pub fn presence(processes: &dyn Processes, pid: Pid, dependencies: &dyn Dependencies) -> Presence {
    match dependencies.probe_pid(pid) {
        Asked::NotSupplied => processes.presence(pid),
        Asked::Answered(true) => Presence::Present,
        Asked::Answered(false) => Presence::Absent,
        Asked::Threw => Presence::Unknown,
    }
}

/// The boot part of a procfs token; `None` without one, or for another kind of token.
pub(super) fn boot_part(token: &str) -> Option<&str> {
    Some(token.strip_prefix('l')?.split_once('.')?.0)
}

fn differ_only_in_missing_boot(a: &str, b: &str) -> bool {
    let (Some(a), Some(b)) = (a.strip_prefix('l'), b.strip_prefix('l')) else { return false };
    match (a.split_once('.'), b.split_once('.')) {
        (Some((_, ticks)), None) => ticks == b,
        (None, Some((_, ticks))) => ticks == a,
        _ => false,
    }
}

/// An empty token is a missing one.
fn some_text(token: Option<&str>) -> Option<&str> {
    token.filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_agree_when_they_are_equal() {
        assert!(tokens_agree("labcd1234.5000", "labcd1234.5000"));
        assert!(!tokens_agree("labcd1234.5000", "labcd1234.5001"));
        assert!(tokens_agree("pSat Jul 26 02:54:33 2026", "pSat Jul 26 02:54:33 2026"));
        assert!(!tokens_agree("pSat Jul 26 02:54:33 2026", "pSat Jul 26 02:54:34 2026"));
    }

    #[test]
    fn equal_ticks_of_two_boots_do_not_agree() {
        assert!(!tokens_agree("labcd1234.5000", "ldeadbeef.5000"));
    }

    #[test]
    fn a_token_from_before_boot_parts_agrees_by_its_ticks() {
        assert!(tokens_agree("l5000", "labcd1234.5000"));
        assert!(tokens_agree("labcd1234.5000", "l5000"));
        assert!(!tokens_agree("l5001", "labcd1234.5000"));
    }

    #[test]
    fn tokens_of_the_two_probes_never_agree() {
        assert!(!tokens_agree("l5000", "p5000"));
        assert!(!tokens_agree("pa.5000", "l5000"));
    }

    #[test]
    fn a_token_is_unverified_when_either_side_is_missing_or_empty() {
        assert_eq!(check_pid_token(None, Some("l1.2")), PidToken::Unverified);
        assert_eq!(check_pid_token(Some(""), Some("l1.2")), PidToken::Unverified);
        assert_eq!(check_pid_token(Some("l1.2"), None), PidToken::Unverified);
        assert_eq!(check_pid_token(Some("l1.2"), Some("l2")), PidToken::Match);
        assert_eq!(check_pid_token(Some("l1.2"), Some("l1.3")), PidToken::Mismatch);
    }

    #[test]
    fn only_exact_equality_is_the_same_generation() {
        assert_eq!(verdict(Some("la.1"), Some("la.1")), Generation::Same);
        assert_eq!(verdict(Some("l1"), Some("l1")), Generation::Same);
        assert_eq!(verdict(Some("la.1"), Some("la.2")), Generation::Different);
        assert_eq!(verdict(Some("la.1"), Some("lb.1")), Generation::Different);
        assert_eq!(verdict(Some("l1"), Some("la.2")), Generation::Different);
    }

    #[test]
    fn agreeing_ticks_without_a_boot_part_are_no_proof() {
        assert_eq!(verdict(Some("l1"), Some("la.1")), Generation::Unknown);
        assert_eq!(verdict(Some("la.1"), Some("l1")), Generation::Unknown);
    }

    #[test]
    fn a_missing_or_empty_token_is_unknown() {
        assert_eq!(verdict(None, Some("la.1")), Generation::Unknown);
        assert_eq!(verdict(Some(""), Some("")), Generation::Unknown);
        assert_eq!(verdict(Some("la.1"), None), Generation::Unknown);
    }
}

//! Leases: one holder at any time, whoever is killed and whatever fails.

use std::path::Path;

use harnery_native::lease::inspect::State;
use harnery_native::lease::{acquire as take, inspect as look, Durability, Error, Input, NoHooks};

use super::super::owner::input;
use super::actor::{Actor, Fate, Script};

const LEASE: &str = "/x.lease";

pub fn acquire(actors: &mut [Actor], who: usize, script: &mut Script<'_>) {
    let held = actors.iter().any(|actor| actor.is_holder);
    let durability = if script.below(2) == 0 { Durability::Power } else { Durability::Process };
    let fate = script.fate();
    let actor = &mut actors[who];
    match actor.run(fate, |host, _| take(host, &Input { durability, ..input(LEASE) }, &NoHooks)) {
        None | Some(Err(Error::Held { .. } | Error::Recovering(_))) => {}
        Some(Ok(lease)) => {
            assert!(!held, "two holders");
            actor.lease = Some(lease);
            actor.is_holder = true;
        }
        Some(Err(error)) => {
            assert!(matches!(fate, Fate::Fails { .. }), "no refusal among contenders: {error}");
        }
    }
}

pub fn release(actor: &mut Actor, script: &mut Script<'_>) {
    let fate = script.fate();
    if actor.lease.is_none() {
        return;
    }
    match actor.run(fate, |host, lease| lease.as_mut().expect("it has a lease").release(host)) {
        None => {}
        Some(Ok(())) => {
            actor.lease = None;
            actor.is_holder = false;
        }
        Some(Err(error)) => {
            assert!(matches!(fate, Fate::Fails { .. }), "a holder lets go: {error}");
            actor.is_holder = actor.lease.as_ref().is_some_and(|lease| lease.holds(&actor.host));
        }
    }
}

/// Looking changes nothing, and finds nothing that nobody could have made.
pub fn inspect(actors: &[Actor], who: usize) {
    let look =
        || look(&actors[who].host, Path::new(LEASE), None, &NoHooks).expect("a lease that can be read");
    let seen = look();
    assert!(seen.state != State::Corrupt, "{:?}", seen.flaws);
    if actors.iter().any(|actor| actor.is_holder) {
        assert!(seen.state != State::Free);
    }
    assert_eq!(seen.digest, look().digest);
}

pub fn check(actors: &[Actor]) {
    for actor in actors.iter().filter(|actor| actor.is_holder) {
        let lease = actor.lease.as_ref().expect("a holder has a lease");
        assert!(lease.holds(&actor.host), "a holder that nobody ended was robbed");
    }
}

/// Nobody else is left.
pub fn goes_on(fresh: &Actor) {
    let mut lease = take(&fresh.host, &input(LEASE), &NoHooks).expect("nobody is in the way any more");
    lease.release(&fresh.host).expect("a holder lets go");
}

//! The seven rules of the lease's protocol, each left out.

use harnery_native::sim::explore::Until;
use harnery_native::sim::lease::Group;

use crate::finding::{finds, finds_along, leg};
use crate::proof::effort;

const QUIET: &str = "rule 1: nobody is waited for";
const PIN_IS_CORRUPT: &str = "stuck: a fresh typescript ends: recovery pin is corrupt before its claim ";

#[test]
fn without_rule_1_a_typescript_contender_pins_the_holder_that_came_after_its_look() {
    let group = Group::new("NT").kills(1).coarse().fresh_typescript();
    finds(QUIET, &group, "dead holder", PIN_IS_CORRUPT);
}

#[test]
fn without_rule_1_a_claimant_whose_claim_was_taken_away_removes_the_next_holder() {
    let (group, from) = (Group::new("NNN").kills(0).coarse(), "claim with a pin");
    let plan = [
        // Both look at a dead claim. The first one stops with it in its hands, the second one publishes its own.
        leg(0, Until::Rename("recovery")),
        leg(1, Until::Unlink("current")),
        // The first one takes that away, and a third one finds none.
        leg(0, Until::Ended),
        leg(2, Until::LettingGo),
        leg(1, Until::Ended),
        leg(2, Until::Ended),
    ];
    let robbed = "native removes a live native's current";
    finds_along(QUIET, &group, from, &plan, robbed);
    // A shortest way to it is a minute's search.
    if effort() > 1 {
        finds(QUIET, &group.preemptions(3), from, robbed);
    }
}

#[test]
fn without_its_second_half_a_claimant_that_waited_removes_the_next_holder() {
    let plan = [
        leg(0, Until::Rename("recovery")),
        // It waits for the first one, which takes its claim away.
        leg(1, Until::Waiting),
        leg(0, Until::Ended),
        leg(1, Until::Unlink("current")),
        // A native one would wait for it.
        leg(2, Until::LettingGo),
        leg(1, Until::Ended),
    ];
    let mutation = "rule 1: nobody looks whether the claim still is there";
    let robbed = "native removes a live typescript's current";
    finds_along(mutation, &Group::new("NNT").kills(0).coarse(), "claim with a pin", &plan, robbed);
}

#[test]
fn without_rule_2_a_claimant_killed_after_its_pin_stops_typescript_contenders_for_good() {
    let group = Group::new("NT").kills(1).coarse().fresh_typescript();
    finds("rule 2: the holder is pinned after the claim is published", &group, "dead holder", PIN_IS_CORRUPT);
}

#[test]
fn without_rule_3_what_a_typescript_claimant_left_stops_native_ones_for_good() {
    let stuck = "stuck: a fresh native ends: failed LEASE_CORRUPT stale lease scope recovery pin is corrupt";
    let group = Group::new("TT").kills(1).coarse();
    finds("rule 3: a pin of another owner is corruption", &group, "dead holder", stuck);
}

#[test]
fn without_rule_4_a_link_lands_in_the_gap_of_a_typescript_claimant() {
    let group = Group::new("NT").kills(0).coarse();
    let fails = "typescript fails: EEXIST at link after its claim";
    finds("rule 4: the link is tried before anything is looked at", &group, "dead holder", fails);
}

#[test]
fn without_rule_5_an_owner_file_goes_while_a_typescript_claimant_looks_at_it() {
    let group = Group::new("NT").kills(0).coarse();
    let mutation = "rule 5: whoever clears a claim away removes the owner files that it names";
    let fails = "typescript fails: ENOENT at stat of an owner file after its claim";
    finds(mutation, &group, "claim, new current linked", fails);
}

#[test]
fn without_rule_6_a_sweep_takes_a_directory_from_under_a_live_typescript_contender() {
    let group = Group::new("NT").kills(0).coarse();
    let harm = "native removes a live typescript's directory";
    finds("rule 6: a sweep does not ask who else is there", &group, "claim, current removed", harm);
}

#[test]
fn without_rule_7_an_everyday_retire_is_an_error() {
    let group = Group::new("NN").kills(0).coarse();
    let fails = "native ENOENT ENOENT: no such file or directory, open '/lease/recovery'";
    finds("rule 7: what has moved away is an error", &group, "claim with a pin", fails);
}

//! The TypeScript's own steps are a mutation, too: among themselves they have the faults that the rules cure.

use harnery_native::sim::explore::Until;
use harnery_native::sim::lease::Group;

use crate::finding::{leg, start, tell, Only, FIRST};

const V1: &str = "V1, the TypeScript's own steps";

#[test]
fn v1_a_typescript_reclaimer_that_comes_late_takes_a_living_claim_away() {
    let (group, from) = (Group::new("TT").kills(0).coarse(), "claim with a pin");
    let finding = "typescript removes a live typescript's claim";
    let report = group.explore_by(&start(from), FIRST, &mut Only(group.check(), finding));
    tell(V1, &format!("TT from {from}, {} states", report.states), &report, finding);
}

/// Two look at a dead claim. The second stops before it takes it away; the first clears it, publishes its own and stops
/// before it removes the dead holder. The second takes that claim away, living as it is, and publishes its own: the first
/// one comes to hold the lease, and the second one removes it.
#[test]
fn v1_so_it_robs_the_holder() {
    let (group, from) = (Group::new("TT").kills(0).coarse().preemptions(4), "claim with a pin");
    let robbed = "typescript release failed: ownership changed";
    let report = group.explore_by(&start(from), FIRST, &mut Only(group.check(), robbed));
    tell(V1, &format!("TT from {from}, {} states", report.states), &report, robbed);
}

/// A third one looked for a claim when there was none, and links where the late one has just removed the holder.
#[test]
fn v1_with_a_third_one_two_hold_the_lease_at_once() {
    let plan = [
        leg(1, Until::Rename("recovery")),
        leg(0, Until::Link("current")),
        leg(2, Until::Link("current")),
        leg(0, Until::Unlink("current")),
        leg(1, Until::Unlink("current")),
        leg(0, Until::LettingGo),
        leg(1, Until::Link("current")),
        leg(2, Until::LettingGo),
    ];
    let report = Group::new("TTT").kills(0).coarse().along(&start("claim with a pin"), &plan);
    tell(V1, "TTT from claim with a pin, along a plan", &report, "two holders");
}

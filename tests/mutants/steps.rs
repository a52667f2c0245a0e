//! Steps of the lease's protocol that are no rule of their own, done in another way.

use harnery_native::sim::lease::Group;

use crate::finding::finds;

#[test]
fn taken_by_a_rename_the_lease_is_taken_from_whoever_has_it() {
    finds(
        "the lease is taken by a rename",
        &Group::new("NN").kills(0).coarse(),
        "dead holder",
        "two holders",
    );
}

#[test]
fn emptied_under_its_public_name_a_claim_is_left_where_no_typescript_contender_gets_past_it() {
    let group = Group::new("N").fresh_typescript();
    let stuck = "stuck: a fresh typescript ends: ENOENT at stat before its claim ";
    finds("a claim is emptied under its public name", &group, "dead holder", stuck);
}

#[test]
fn cleared_away_unjudged_a_claim_is_taken_from_a_live_claimant() {
    let group = Group::new("NT").kills(0).coarse();
    let mutation = "a claim is cleared away whether or not its claimant lives";
    finds(mutation, &group, "dead holder", "native removes a live typescript's claim");
}

#[test]
fn put_back_a_native_claim_stays_where_nobody_retires_it() {
    let group = Group::new("NN").kills(0).coarse();
    let mutation = "a claim that was taken away is put back, whosever it is";
    finds(mutation, &group, "claim with a pin", "native leaves its claim behind");
}

#[test]
fn taken_for_dead_a_holder_that_is_only_late_is_robbed() {
    let group = Group::new("NN").kills(0).coarse();
    finds("who is beyond its time is dead", &group, "nothing", "native removes a live native's current");
}

#[test]
fn taken_back_by_name_current_is_taken_from_its_holder() {
    let group = Group::new("NN").kills(0).coarse();
    let mutation = "current is taken back without looking whose it is";
    finds(mutation, &group, "nothing", "native removes a live native's current");
}

#[test]
fn known_by_its_number_alone_a_dead_contender_is_waited_for_for_ever() {
    let group = Group::new("N").reused_pids();
    let stuck = "stuck: a fresh native ends: recovery raced ";
    finds("a process is known by its number alone", &group, "dead holder", stuck);
}

#[test]
fn left_by_a_call_that_fails_an_owner_file_is_in_everyones_way() {
    let group = Group::new("NN").kills(0).coarse();
    let left = "native leaves its owner file behind";
    finds("a call that fails leaves its owner file", &group, "nothing", left);
}

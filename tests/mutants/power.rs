//! Syncs left out: the power is cut, and what is left on disk is in everyone's way.

use harnery_native::mutant;
use harnery_native::sim::lease::{Group, PowerCheck};

use crate::finding::{start, tell, Only, FIRST};

/// How many disks are mounted for one moment, at most.
const LIMIT: usize = 256;

/// The TypeScript's steps do not get past an empty `recovery`.
const EMPTY: &str = "after a power cut stuck: a fresh typescript ends: ENOENT at stat before its claim ";

fn finds(mutation: &'static str, from: &str, finding: &str) {
    let (group, start) = (Group::new("N"), start(from));
    let mut check = Only(PowerCheck::new(LIMIT).and_for_typescript(), finding);
    let report = mutant::with(mutation, || group.cut_power(&start, FIRST, &mut check));
    let explored = format!("N from {from}, {} states, {} disks", report.states, check.0.images);
    tell(mutation, &explored, &report, finding);
    let without = group.cut_power(&start, FIRST, &mut PowerCheck::new(LIMIT).and_for_typescript());
    assert!(without.findings.is_empty(), "without {mutation}: {without}");
}

#[test]
fn not_synced_before_it_is_linked_an_owner_file_is_a_torn_current() {
    let stuck = "after a power cut stuck: a fresh native ends: \
                 failed LEASE_CORRUPT lease owner at /lease/current bytes are invalid";
    finds("sync left out: an owner file", "nothing", stuck);
}

#[test]
fn not_synced_before_it_is_published_a_claim_is_torn() {
    let stuck = "after a power cut stuck: a fresh native ends: \
                 failed LEASE_CORRUPT lease scope recovery at /lease/recovery has no valid claim.json";
    finds("sync left out: the text of a claim", "dead holder without its owner file", stuck);
}

#[test]
fn with_its_directory_not_synced_a_claim_may_be_empty_and_a_typescript_contender_does_not_get_past_it() {
    finds("sync left out: a claim's directory", "dead holder", EMPTY);
}

#[test]
fn with_its_new_name_not_synced_a_retired_claim_is_emptied_under_its_public_one() {
    finds("sync left out: a claim's new name when it is retired", "dead holder", EMPTY);
}

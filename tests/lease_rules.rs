//! The rules of acquiring, recovering and releasing a lease, on a real file system.

mod support;

use harnery_native::lease::NoHooks;
use support::{names_in, Scene};

#[test]
fn a_lease_is_a_hard_link_to_the_holder_s_owner_file_and_goes_without_a_trace() {
    let scene = Scene::new();
    let mut lease = scene.acquire(&NoHooks).unwrap();
    assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()]);
    assert_eq!(scene.holder(), lease.owner.owner_id);
    assert!(lease.holds(&scene.host));
    lease.release(&scene.host).unwrap();
    lease.release(&scene.host).unwrap();
    assert!(!lease.holds(&scene.host));
    scene.assert_empty();
    assert_eq!(names_in(scene.root.path()), ["x.lease"]);
}

#[test]
fn a_dead_holder_is_replaced_and_named_and_nothing_of_it_is_left() {
    let scene = Scene::new();
    let dead = scene.dead_holder();
    let mut lease = scene.acquire(&NoHooks).unwrap();
    assert_eq!(lease.recovered_owner.as_ref().map(|owner| &owner.owner_id), Some(&dead.owner_id));
    assert_eq!(scene.names(), ["current", lease.owner.owner_file.as_str()]);
    lease.release(&scene.host).unwrap();
    scene.assert_empty();
}

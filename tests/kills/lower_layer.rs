//! A lease that came with a container's image: its directories lie in a layer from which nothing can be renamed.

use crate::mortal::real;
use crate::places::{inner, Overlay};
use crate::support::{names, Planted, Scene};

const TEST: &str = "lower_layer::l13_a_claim_in_an_image_s_layer_is_reported_and_nothing_of_it_is_moved";

#[test]
fn l13_a_claim_in_an_image_s_layer_is_reported_and_nothing_of_it_is_moved() {
    if let Some(merged) = inner() {
        let scene = Scene { host: real(), path: merged.join("x.lease") };
        let before = (scene.names(), names(&scene.below("recovery")));
        let refusal = scene.acquire().expect_err("the recovery cannot be moved aside");
        assert_eq!(refusal.code().as_deref(), Some("EXDEV"), "{refusal}");
        assert!(refusal.to_string().contains("rename"), "{refusal}");
        assert_eq!((scene.names(), names(&scene.below("recovery"))), before);
        return;
    }
    let overlay = Overlay::without_redirects();
    let scene = Scene { host: real(), path: overlay.lower().join("x.lease") };
    let dead = Planted::new(&scene, "D").holds(&scene);
    Planted::new(&scene, "C").contends(&scene).claims(&scene, &dead);
    if let Err(reason) = overlay.run(TEST, &[]) {
        println!("left out: no overlay can be mounted here: {reason}");
    }
}

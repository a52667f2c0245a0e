use harnery_native::mutant;
use harnery_native::sim::explore::{Bounds, Report};
use harnery_native::sim::lease::{start_states, Group, PowerCheck};
fn var(n: &str) -> Option<String> {
    std::env::var(n).ok()
}
#[test]
fn probe() {
    let muts: Vec<&'static str> =
        var("MUT").unwrap().split('|').map(|s| &*Box::leak(s.to_owned().into_boxed_str())).collect();
    for m in muts {
        for who in var("WHO").unwrap().split(',') {
            let who: &'static str = Box::leak(who.to_owned().into_boxed_str());
            let mut g = Group::new(who);
            if let Some(k) = var("KILLS") {
                g = g.kills(k.parse().unwrap());
            }
            if let Some(k) = var("PRE") {
                g = g.preemptions(k.parse().unwrap());
            }
            if var("COARSE").is_some() {
                g = g.coarse();
            }
            if var("FT").is_some() {
                g = g.fresh_typescript();
            }
            if var("REUSE").is_some() {
                g = g.reused_pids();
            }
            if var("CARELESS").is_some() {
                g = g.careless();
            }
            let states = var("STATES").map_or(1_000_000, |s| s.parse().unwrap());
            let first = var("ALLF").is_none();
            for start in start_states() {
                if let Some(s) = var("START") {
                    if !s.split(',').any(|x| x == start.name) {
                        continue;
                    }
                }
                let t = std::time::Instant::now();
                let bounds = Bounds { states, first_finding: first };
                let run = || -> Report {
                    if var("POWER").is_some() {
                        let mut c = PowerCheck::new(256);
                        g.cut_power(&start, bounds, &mut c)
                    } else if let Some(n) = var("CHANCE") {
                        g.by_chance(&start, 0..n.parse().unwrap())
                    } else {
                        g.explore(&start, bounds)
                    }
                };
                let r = if m.is_empty() { run() } else { mutant::with(m, run) };
                println!(
                    "## {m} {who} [{}] {} states complete {} in {:?}",
                    start.name,
                    r.states,
                    r.complete,
                    t.elapsed()
                );
                for (k, f) in &r.findings {
                    println!("   -> {k}  ({} steps, {}x)", f.trace.len(), f.count);
                    if var("TRACE").is_some() {
                        println!("{}", f.trace);
                    }
                }
                if var("OUT").is_some() {
                    for ((n, o), c) in &r.outcomes {
                        println!("      {n} {o}: {c}");
                    }
                }
            }
        }
    }
}

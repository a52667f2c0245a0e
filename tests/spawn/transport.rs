//! The rows that hold for all four adapters: transport is judged before the vendor's own result.

use harnery_native::spawn::OutputSource::Stdout;

use crate::{exited, fails, Run, Want};

/// The names that messages use.
pub(crate) struct Names {
    pub(crate) timed_out: &'static str,
    pub(crate) exited: &'static str,
    pub(crate) missing: &'static str,
}

pub(crate) fn rows(names: &Names) -> Vec<(Run, Want)> {
    let timed_out = |ms: &str| fails(format!("{} timed out after {ms}ms and was killed", names.timed_out));
    let exit = |code: i64, said: &str| fails(format!("{} exited {code}: {said}", names.exited));
    let missing = || fails(names.missing);
    let long = "x".repeat(499);
    vec![
        // Killed for its time, whatever else is there.
        (exited(0).timed_out(), timed_out("12").lost()),
        (exited(0).timed_out().after(300_031.0), timed_out("300031").after(300_031.0).lost()),
        (exited(0).timed_out().after(0.5), timed_out("0.5").after(0.5).lost()),
        (exited(143).timed_out(), timed_out("12").lost()),
        (exited(127).timed_out(), timed_out("12").lost()),
        (exited(1).timed_out().err("HTTP 503"), timed_out("12").lost()),
        (exited(0).timed_out().out("half an answer"), timed_out("12").said(Stdout, "half an answer")),
        (exited(0).timed_out().errno("EACCES"), timed_out("12").lost()),
        // Never started.
        (exited(127).errno("ENOENT"), missing().never_started()),
        (exited(0).errno("ENOENT"), missing().never_started()),
        (exited(-2).errno("ENOENT").err("HTTP 503"), missing().never_started()),
        (exited(1).errno("ENOENT"), missing().never_started()),
        // A 127 of its own, which nobody saw to be a missing program.
        (exited(127), missing()),
        (exited(127).err("sh: nothing: not found"), missing()),
        (exited(127).err("HTTP 503"), missing()),
        (exited(127).out("said"), missing().said(Stdout, "said")),
        // Other errors of a spawn are no missing program.
        (exited(127).errno("EACCES"), exit(127, "")),
        (exited(127).errno("enoent").err("no"), exit(127, "no")),
        (exited(1).errno("E2BIG"), exit(1, "")),
        (exited(1).errno(""), exit(1, "")),
        // Other codes, with the text of the failure: stderr first.
        (exited(1), exit(1, "")),
        (exited(2).err("boom"), exit(2, "boom")),
        (exited(-1).err("  boom\n"), exit(-1, "boom")),
        (exited(128).err("a").out("b"), exit(128, "a\nb").said(Stdout, "b")),
        (exited(126).err("  ").out("b"), exit(126, "b").said(Stdout, "b")),
        (exited(255).err("Invalid API key"), exit(255, "Invalid API key")),
        (exited(1).err(format!("{long}y")), exit(1, &format!("{long}y"))),
        (exited(1).err(format!("{long}yz")), exit(1, &format!("…{}yz", &long[1..]))),
        (exited(1).err(format!("HTTP 503 {long}")), exit(1, &format!("… {long}"))),
        // The vendor refused, or only seems to.
        (exited(1).err("HTTP 429"), exit(1, "HTTP 429").upstream()),
        (exited(1).err("503 Service Unavailable"), exit(1, "503 Service Unavailable").upstream()),
        (exited(1).err("Error: status code 502"), exit(1, "Error: status code 502").upstream()),
        (exited(1).err("circuit_open"), exit(1, "circuit_open").upstream()),
        (
            exited(1).out("the model is Overloaded"),
            exit(1, "the model is Overloaded").upstream().said(Stdout, "the model is Overloaded"),
        ),
        (exited(1).err("line\n529 overload"), exit(1, "line\n529 overload").upstream()),
        (exited(1).err("at line 500"), exit(1, "at line 500")),
        (exited(1).err("got 429 items"), exit(1, "got 429 items")),
        (exited(1).err("HTTP 404"), exit(1, "HTTP 404")),
        (exited(1).err("after 502 seconds"), exit(1, "after 502 seconds")),
        (exited(1).err("out of credits"), exit(1, "out of credits")),
    ]
}

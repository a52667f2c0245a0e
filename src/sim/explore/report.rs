//! What a search has found.

use std::collections::BTreeMap;
use std::fmt;

use super::trace::Trace;

#[derive(Debug, Default)]
pub struct Report {
    /// Different states seen.
    pub states: usize,
    pub steps: usize,
    /// Runs from start to end, where runs are what is counted.
    pub runs: usize,
    /// How many different runs up to some call the contenders had, each for itself.
    pub local_states: usize,
    /// Whether every state was seen.
    pub complete: bool,
    /// How the contenders ended, and how often that was seen.
    pub outcomes: BTreeMap<(&'static str, String), usize>,
    pub findings: BTreeMap<String, Finding>,
}

/// A kind of violation.
#[derive(Debug)]
pub struct Finding {
    /// How many steps led to one.
    pub count: usize,
    /// A shortest way to one; of runs by chance the first.
    pub trace: Trace,
}

impl Report {
    /// Take another search's numbers into this one. It is complete if both are.
    pub fn add(&mut self, other: Report) {
        self.states += other.states;
        self.steps += other.steps;
        self.runs += other.runs;
        self.local_states += other.local_states;
        self.complete &= other.complete;
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        for (kind, finding) in other.findings {
            match self.findings.get_mut(&kind) {
                None => drop(self.findings.insert(kind, finding)),
                Some(known) => {
                    known.count += finding.count;
                    if finding.trace.len() < known.trace.len() {
                        known.trace = finding.trace;
                    }
                }
            }
        }
    }

    /// How many violations there are, of all kinds.
    pub fn violations(&self) -> usize {
        self.findings.values().map(|finding| finding.count).sum()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { states, steps, runs, local_states, .. } = self;
        let extent = if self.complete { "all" } else { "bounded" };
        match runs {
            0 => writeln!(f, "{extent}: {states} states, {steps} steps, {local_states} local states")?,
            _ => writeln!(f, "{runs} runs, {steps} steps")?,
        }
        for ((name, outcome), count) in &self.outcomes {
            writeln!(f, "  {name} {outcome}: {count}")?;
        }
        for (kind, finding) in &self.findings {
            writeln!(
                f,
                "  VIOLATION {kind} ({} times), after {} events:",
                finding.count,
                finding.trace.len()
            )?;
            write!(f, "{}", finding.trace)?;
        }
        Ok(())
    }
}

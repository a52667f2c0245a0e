//! Which servers may be stopped because the agents that started them are gone. Pure: it looks at nothing.

use super::names::number;
use super::{Kind, OwnerState};

/// `SERVER_DEFAULT_IDLE_HOURS`
pub const DEFAULT_IDLE_HOURS: f64 = 2.0;

const HOUR_MS: f64 = 3_600_000.0;
const MINUTE_MS: f64 = 60_000.0;

/// When an idle server may be stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    pub idle_hours: f64,
    /// Only for the reason's text: the states were judged by it when the servers were listed.
    pub owner_stale_hours: Option<f64>,
}

impl Default for Policy {
    fn default() -> Self {
        Policy { idle_hours: DEFAULT_IDLE_HOURS, owner_stale_hours: None }
    }
}

/// What the plan looks at of one listed server.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// `running`, or what else was listed.
    pub state: String,
    pub kind: Kind,
    pub owner_state: OwnerState,
    pub idle_ms: f64,
}

/// What to do with a server, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Stop(String),
    Keep(String),
}

/// Whether one server may be stopped.
pub fn decide(server: &Subject, policy: &Policy) -> Decision {
    let keep = |reason: &str| Decision::Keep(reason.to_owned());
    if server.state != "running" {
        return Decision::Keep(format!("server is {}", server.state));
    }
    if server.kind == Kind::Service {
        return keep("services are only stopped by hand");
    }
    let gone = match server.owner_state {
        OwnerState::None => return keep("no starting agent was recorded"),
        OwnerState::Unknown => return keep("the starting agent's state could not be read"),
        OwnerState::Live => return keep("the starting agent is still active"),
        OwnerState::Ended => "the starting agent has ended".to_owned(),
        OwnerState::Abandoned => match policy.owner_stale_hours {
            Some(hours) => {
                format!("the starting agent was unobserved past the {}h stale window", number(hours))
            }
            None => "the starting agent was unobserved past the stale window".to_owned(),
        },
    };
    // What is not a number compares as not idle enough.
    if server.idle_ms >= policy.idle_hours * HOUR_MS {
        let minutes = number((server.idle_ms / MINUTE_MS).floor());
        return Decision::Stop(format!("{gone}; idle for {minutes} minutes"));
    }
    Decision::Keep(format!("used within the last {}h", number(policy.idle_hours)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> Subject {
        Subject {
            state: "running".to_owned(),
            kind: Kind::Session,
            owner_state: OwnerState::Ended,
            idle_ms: 2.0 * HOUR_MS,
        }
    }

    fn kept(server: &Subject) -> String {
        match decide(server, &Policy::default()) {
            Decision::Keep(reason) => reason,
            Decision::Stop(reason) => panic!("stopped: {reason}"),
        }
    }

    #[test]
    fn an_idle_session_of_an_agent_that_ended_is_stopped() {
        let stop = Decision::Stop("the starting agent has ended; idle for 120 minutes".to_owned());
        assert_eq!(decide(&idle(), &Policy::default()), stop);
    }

    #[test]
    fn an_abandoned_one_names_the_stale_window() {
        let server = Subject { owner_state: OwnerState::Abandoned, ..idle() };
        let policy = Policy { owner_stale_hours: Some(1.5), ..Policy::default() };
        let reason = "the starting agent was unobserved past the 1.5h stale window; idle for 120 minutes";
        assert_eq!(decide(&server, &policy), Decision::Stop(reason.to_owned()));
    }

    #[test]
    fn the_first_reason_to_keep_counts() {
        let mut server = Subject {
            state: "dead".to_owned(),
            kind: Kind::Service,
            owner_state: OwnerState::None,
            idle_ms: 2.0 * HOUR_MS - 1.0,
        };
        assert_eq!(kept(&server), "server is dead");
        server.state = "other-host".to_owned();
        assert_eq!(kept(&server), "server is other-host");
        server.state = "running".to_owned();
        assert_eq!(kept(&server), "services are only stopped by hand");
        server.kind = Kind::Session;
        assert_eq!(kept(&server), "no starting agent was recorded");
        server.owner_state = OwnerState::Unknown;
        assert_eq!(kept(&server), "the starting agent's state could not be read");
        server.owner_state = OwnerState::Live;
        assert_eq!(kept(&server), "the starting agent is still active");
        server.owner_state = OwnerState::Ended;
        assert_eq!(kept(&server), "used within the last 2h");
        server.idle_ms = f64::NAN;
        assert_eq!(kept(&server), "used within the last 2h");
    }
}

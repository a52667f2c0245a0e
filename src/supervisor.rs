//! Asking the supervisor to stop.

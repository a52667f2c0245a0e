//! Resume locks, audited recovery, repository evidence.

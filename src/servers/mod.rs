//! The registry of local servers.

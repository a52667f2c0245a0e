//! Append-only JSON lines under a lease, crash-safe.

//! Instants as `Date` reads and writes them: milliseconds since the Unix epoch.
//! To be filled: format, parse, from_number (truncate; NaN and out of range refused).

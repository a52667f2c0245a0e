//! The binding: the only place that knows JavaScript.

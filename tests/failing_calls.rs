//! Every call of every operation is made to fail, alone or with all that follow, with each of the errors that a system
//! gives: what is reported is documented, nothing stays open, and nothing is left that stands in anybody's way.
#![cfg(feature = "sim")]

mod failing;
mod proof;

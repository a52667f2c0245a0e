//! Every run that several programs can have with one another.
//!
//! What a program does next depends on nothing but the answers that it has had so far. So a program is *unfolded* into
//! the tree of its possible runs (`Unfolding`): a node is a list of answers, and holds the call that follows. To find
//! that call the program itself is run from its start on those answers, once for each node. All the rest is values: a
//! [`State`] is the machine and each contender's node, an [`Event`] leads from one to the next, and a state that was
//! seen before is not followed again.

mod directed;
mod event;
mod program;
mod random;
mod report;
mod search;
mod state;
#[cfg(test)]
mod tests;
mod trace;
mod unfolding;

pub use directed::{Leg, Until};
pub use event::{Choice, Event};
pub use program::{Ending, Program, Stage};
pub use random::Chance;
pub use report::{Finding, Report};
pub use search::{Bounds, Check, Moment, Search};
pub use state::{Contender, Grain, Rules, State};
pub use trace::Trace;

//! What a contender runs, and how it is run on answers.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::time::Duration;

use nix::errno::Errno;

use super::state::GoingOn;
use crate::files::Handle;
use crate::host::Host;
use crate::sim::call::{Answer, Call, Mark};
use crate::sim::disk::Caller;
use crate::sim::machine::id_of;
use crate::sim::port::{self, Answers};
use crate::sim::table::Viewer;

/// What one contender does, from its first call to its end. It may ask nothing but the machine it is given.
pub trait Program: fmt::Debug {
    fn run(&self, stage: &Stage<'_>) -> Ending;
}

/// The machine that a program runs on, and a way to say how far it is.
pub struct Stage<'a> {
    pub host: &'a Host,
    say: &'a dyn Fn(Mark),
}

impl<'a> Stage<'a> {
    pub fn new(host: &'a Host, say: &'a dyn Fn(Mark)) -> Self {
        Stage { host, say }
    }

    /// The program may do what it contends for, from now on.
    pub fn holds(&self) {
        (self.say)(Mark::Holds);
    }

    /// From now on it does not.
    pub fn lets_go(&self) {
        (self.say)(Mark::LetsGo);
    }
}

impl fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stage").field("host", &self.host).finish_non_exhaustive()
    }
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ending {
    /// What it came to, in few words: one of few.
    pub outcome: String,
    /// Why it must not have come to that.
    pub fault: Option<String>,
}

impl Ending {
    pub fn new(outcome: impl Into<String>) -> Self {
        Ending { outcome: outcome.into(), fault: None }
    }

    pub fn fault(outcome: impl Into<String>, fault: impl Into<String>) -> Self {
        Ending { outcome: outcome.into(), fault: Some(fault.into()) }
    }
}

/// Where a program has come to on some answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Position {
    /// What it closed since the last answer.
    pub(super) closes: Rc<[Handle]>,
    pub(super) next: Next,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Next {
    Call(Call),
    Ends(Rc<Ending>),
}

/// Run a program on these answers, and on from there as far as it makes no step of its own: the positions of these
/// calls with what they were answered, and where it stands at last.
pub(super) fn run(
    program: &dyn Program,
    caller: Caller,
    viewer: &Viewer,
    boot: &(String, i64),
    answers: Vec<Answer>,
    going_on: Option<GoingOn>,
) -> (Vec<(Position, Answer)>, Position) {
    let script = Rc::new(Script {
        caller,
        viewer: viewer.clone(),
        boot: boot.clone(),
        answers,
        at: Cell::new(0),
        elapsed: Cell::new(Duration::from_secs(3600)),
        drawn: Cell::new(0),
        closes: RefCell::default(),
        going_on: RefCell::new(going_on),
        silent: RefCell::default(),
        pending: RefCell::default(),
    });
    let host = port::host(script.clone());
    let say = |mark| {
        let _ = script.ask(Call::Mark(mark));
    };
    let ended = panic::catch_unwind(AssertUnwindSafe(|| program.run(&Stage::new(&host, &say))));
    let closes = script.closes.take().into();
    let next = match (script.pending.take(), ended) {
        (Some(call), _) => Next::Call(call),
        (None, Ok(ending)) => Next::Ends(Rc::new(ending)),
        (None, Err(panic)) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
            Next::Ends(Rc::new(Ending::fault("panic", format!("panicked: {text}"))))
        }
    };
    (script.silent.take(), Position { closes, next })
}

/// Answers to play back. At the first call beyond them that is a step the program is unwound.
#[derive(Debug)]
struct Script {
    caller: Caller,
    viewer: Viewer,
    boot: (String, i64),
    answers: Vec<Answer>,
    at: Cell<usize>,
    elapsed: Cell<Duration>,
    drawn: Cell<u32>,
    closes: RefCell<Vec<Handle>>,
    going_on: RefCell<Option<GoingOn>>,
    silent: RefCell<Vec<(Position, Answer)>>,
    /// The call that has no answer yet; what is asked after it is asked by guards of a program that is unwinding.
    pending: RefCell<Option<Call>>,
}

impl Script {
    /// The answer to a call that the program had not come to before.
    fn go_on(&self, call: &Call) -> Option<Answer> {
        let answer = self.going_on.borrow_mut().as_mut()?.answer(call)?;
        let position = Position { closes: self.closes.take().into(), next: Next::Call(call.clone()) };
        self.silent.borrow_mut().push((position, answer.clone()));
        Some(answer)
    }

    fn close(&self, handle: Handle) {
        self.closes.borrow_mut().push(handle);
        if let Some(going_on) = self.going_on.borrow_mut().as_mut() {
            going_on.close(handle);
        }
    }
}

/// What a program is unwound with. Nothing is printed for it.
struct Stopped;

impl Answers for Rc<Script> {
    fn ask(&self, call: Call) -> Answer {
        if self.pending.borrow().is_some() {
            return Errno::EIO.into();
        }
        let at = self.at.get();
        if let Call::Close(handle) = call {
            // Closing cannot fail and tells nothing, so there is no answer to wait for.
            if at == self.answers.len() {
                self.close(handle);
            }
            return Answer::Done;
        }
        let Some(answer) = self.answers.get(at) else {
            return self.go_on(&call).unwrap_or_else(|| {
                *self.pending.borrow_mut() = Some(call);
                panic::resume_unwind(Box::new(Stopped));
            });
        };
        if let Answer::Elapsed(elapsed) = answer {
            self.elapsed.set(self.elapsed.get() + *elapsed);
        }
        self.at.set(at + 1);
        answer.clone()
    }

    fn viewer(&self) -> Viewer {
        self.viewer.clone()
    }

    fn boot(&self) -> (String, i64) {
        self.boot.clone()
    }

    fn monotonic(&self) -> Duration {
        self.elapsed.get()
    }

    fn fresh_id(&self) -> String {
        self.drawn.set(self.drawn.get() + 1);
        id_of(self.caller, self.drawn.get())
    }
}

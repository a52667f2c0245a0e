//! A program as the tree of its possible runs, made as far as it is asked for.

use std::collections::HashMap;
use std::rc::Rc;

use super::program::{self, Position, Program};
use super::state::GoingOn;
use crate::sim::call::Answer;
use crate::sim::disk::{fingerprint_of, Caller};
use crate::sim::table::Viewer;

/// A place in a program's run: what it has been answered so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Node(u32);

/// The tree of all runs of one contender.
#[derive(Debug)]
pub(super) struct Unfolding {
    program: Rc<dyn Program>,
    caller: Caller,
    viewer: Viewer,
    boot: (String, i64),
    nodes: Vec<Entry>,
    children: HashMap<(Node, u128), Node>,
}

#[derive(Debug)]
struct Entry {
    parent: Node,
    /// The last answer; the first node has none.
    answer: Option<Answer>,
    position: Position,
}

impl Unfolding {
    pub(super) const START: Node = Node(0);

    pub(super) fn new(program: Rc<dyn Program>, caller: Caller, viewer: Viewer, boot: (String, i64)) -> Self {
        let (_, position) = program::run(&*program, caller, &viewer, &boot, Vec::new(), None);
        let nodes = vec![Entry { parent: Self::START, answer: None, position }];
        Unfolding { program, caller, viewer, boot, nodes, children: HashMap::new() }
    }

    pub(super) fn position(&self, node: Node) -> &Position {
        &self.nodes[node.0 as usize].position
    }

    /// The node that this answer leads to, if it is known.
    pub(super) fn child(&self, node: Node, answer: &Answer) -> Option<Node> {
        self.children.get(&(node, fingerprint_of(answer))).copied()
    }

    /// Run the program to find out what follows an answer, and what follows that as far as it is no step of its own.
    pub(super) fn grow(&mut self, node: Node, answer: &Answer, going_on: GoingOn) -> Node {
        let mut answers = self.answers(node);
        answers.push(answer.clone());
        let (silent, last) =
            program::run(&*self.program, self.caller, &self.viewer, &self.boot, answers, Some(going_on));
        let (mut node, mut answer, mut first) = (node, answer.clone(), None);
        for (position, next_answer) in silent {
            node = self.add(node, answer, position);
            first.get_or_insert(node);
            answer = next_answer;
        }
        let last = self.add(node, answer, last);
        first.unwrap_or(last)
    }

    fn add(&mut self, parent: Node, answer: Answer, position: Position) -> Node {
        let child = Node(u32::try_from(self.nodes.len()).expect("fewer than 2^32 local states"));
        self.children.insert((parent, fingerprint_of(&answer)), child);
        self.nodes.push(Entry { parent, answer: Some(answer), position });
        child
    }

    /// What has been answered on the way to a node.
    pub(super) fn answers(&self, mut node: Node) -> Vec<Answer> {
        let mut answers = Vec::new();
        while let Some(answer) = &self.nodes[node.0 as usize].answer {
            answers.push(answer.clone());
            node = self.nodes[node.0 as usize].parent;
        }
        answers.reverse();
        answers
    }

    /// How many places there are so far.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Forget all places but the start.
    pub(super) fn forget(&mut self) {
        self.nodes.truncate(1);
        self.children.clear();
    }
}

//! The identity of a checked function.
//!
//! What counts is what the function does: its name, how many parameters it has,
//! and its body. What does not count is where and how it was written: spans,
//! layout, comments, the names of parameters and other locals, the order in which
//! names were first met.

use super::checked::{CheckedFunction, CheckedNode};
use crate::bytes::Writer;
use crate::fingerprint::Fingerprint;
use crate::name::Name;
use crate::name::Names;
use std::iter;

/// What separates these encodings from others. The number changes with the
/// encoding, and with what a node means.
const KIND: &str = "kal 2026 checked function 3";

/// The same for shapes.
const SHAPE: &str = "kal 2026 shape 2";

impl CheckedFunction {
    /// Returns the identity of the function: the same for functions that do the
    /// same in the same way, in every process.
    pub fn fingerprint(&self, names: &Names) -> Fingerprint {
        let encoded = || self.encoded(names, |node, writer| self.encode(node, names, writer), KIND);
        **self.identity.0.get_or_make(|| Box::new(encoded()))
    }

    /// Returns the identity of the function whose nodes are written so.
    fn encoded(&self, names: &Names, write: impl Fn(CheckedNode, &mut Writer), kind: &str) -> Fingerprint {
        // Most nodes take two or three bytes.
        let mut writer = Writer::with_room(64 + 4 * self.nodes.len());
        writer.text(&names.text(self.name));
        writer.number(self.arity());
        writer.number(self.locals);
        self.nodes.iter().for_each(|node| write(*node, &mut writer));
        for function in &self.functions {
            writer.byte(b'g');
            writer.text(&names.text(function.name));
            writer.number(function.position);
            writer.number(function.arity);
        }
        Fingerprint::of(kind, writer)
    }

    /// Returns whether both are the same function, however they were written.
    pub fn means_the_same_as(&self, other: &Self, names: &Names) -> bool {
        let is_alike = || {
            // Most that differ do so here.
            self.name == other.name
                && self.nodes.len() == other.nodes.len()
                && (self.is_numbered_like(other) || self.fingerprint(names) == other.fingerprint(names))
        };
        std::ptr::eq(self, other) || is_alike()
    }

    /// Returns whether both have the same nodes, with the same numbers for what these refer to. They
    /// are the same function then, but may have been written in different places.
    pub fn is_numbered_like(&self, other: &Self) -> bool {
        // Nodes that are the same refer to no more than both have.
        let mut numbers = iter::zip(&self.numbers, &other.numbers);
        self.has_shape_of(other)
            && self.functions == other.functions
            && numbers.all(|(one, other)| one.to_bits() == other.to_bits())
    }

    /// Writes a node with what it refers to. No tag is used for two kinds, so no
    /// two bodies are the same bytes.
    fn encode(&self, node: CheckedNode, names: &Names, writer: &mut Writer) {
        let mut local = |tag: u8, local: u32| {
            writer.byte(tag);
            writer.number(local);
        };
        match node {
            CheckedNode::Local(index) => local(b'l', index),
            CheckedNode::SetLocal(index) => local(b'L', index),
            CheckedNode::ForVariable(index) => local(b'f', index),
            CheckedNode::Bind(index) => local(b'b', index),
            CheckedNode::Number(index) => {
                writer.byte(b'n');
                writer.long(self.numbers[index as usize].to_bits());
            }
            CheckedNode::Variable(name) => {
                writer.byte(b'v');
                writer.text(&names.text(name));
            }
            CheckedNode::SetVariable(name) => {
                writer.byte(b'V');
                writer.text(&names.text(name));
            }
            CheckedNode::Unary(op) => {
                writer.byte(b'1');
                writer.text(op.text());
            }
            CheckedNode::Binary(op) => {
                writer.byte(b'2');
                writer.text(op.text());
            }
            CheckedNode::ShortCircuit(op) => {
                writer.byte(b's');
                writer.text(op.text());
            }
            CheckedNode::Call(index) => {
                let callee = self.callees[index as usize];
                writer.byte(b'c');
                writer.text(&names.text(callee.name));
                writer.number(callee.arity);
            }
            CheckedNode::Then => writer.byte(b't'),
            CheckedNode::Else => writer.byte(b'e'),
            CheckedNode::If => writer.byte(b'I'),
            CheckedNode::ForCondition => writer.byte(b'C'),
            CheckedNode::ForStep => writer.byte(b'S'),
            CheckedNode::For => writer.byte(b'F'),
        }
    }
}

/// For code that functions share.
impl CheckedFunction {
    /// Returns the identity of the function's shape: the same for functions that
    /// [differ in nothing but their numbers](Self::has_shape_of).
    pub fn shape(&self, names: &Names) -> Fingerprint {
        let write = |node, writer: &mut Writer| match node {
            CheckedNode::Number(index) => {
                writer.byte(b'n');
                writer.number(index);
            }
            node => self.encode(node, names, writer),
        };
        self.encoded(names, write, SHAPE)
    }

    /// Returns whether both are the same function but for their numbers.
    pub fn has_shape_of(&self, other: &Self) -> bool {
        self.name == other.name
            && self.arity() == other.arity()
            && self.locals == other.locals
            && self.nodes == other.nodes
            && self.calls().eq(other.calls())
    }

    /// Returns what it calls, with how many arguments.
    pub fn calls(&self) -> impl Iterator<Item = (Name, u32)> {
        self.callees.iter().map(|callee| (callee.name, callee.arity))
    }
}

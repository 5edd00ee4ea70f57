//! The flat array as a tree, for walks that begin at the root.
//!
//! Post-order suits checking, lowering and interpreting; a printer begins at
//! the root, so it needs to find a node's children. Children always come before
//! their parent here, so a loop over increasing indices visits the leaves
//! first.

use super::ast::{Ast, Node};
use crate::name::Name;
use std::ops::Range;

/// A node that leaves a value; marks are not among them.
#[derive(Clone, Debug)]
pub(super) struct TreeNode {
    pub(super) node: Node,
    children: Range<usize>,
    names: Range<usize>,
}

/// An [`Ast`] with its edges.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) entries: Vec<TreeNode>,
    children: Vec<usize>,
    names: Vec<Name>,
    /// The entry of the whole expression; of each initialiser, for variables.
    pub(super) roots: Vec<usize>,
    /// The variables declared beside the roots.
    pub(super) root_names: Vec<Name>,
}

impl Tree {
    pub(super) fn new(ast: &Ast) -> Self {
        let mut tree = Self::default();
        for &node in &ast.nodes {
            match node {
                Node::Number(_) | Node::Text(_) | Node::Function(_) | Node::Variable(_) => {
                    tree.add(node, 0, 0);
                }
                Node::Assign(_) | Node::Unary(_) => tree.add(node, 1, 0),
                Node::Binary(_) | Node::Chained { .. } | Node::Sequence | Node::While => tree.add(node, 2, 0),
                Node::Call { arguments, .. } => tree.add(node, arguments as usize, 0),
                Node::Operator { arguments, .. } => tree.add(node, usize::from(arguments), 0),
                Node::If => tree.add(node, 3, 0),
                Node::For => tree.add(node, 4, 1),
                Node::Var(count) => tree.add(node, count as usize + 1, count as usize),
                Node::ForVariable(name) | Node::Bind(name) => tree.root_names.push(name),
                Node::ShortCircuit(_)
                | Node::Then
                | Node::Else
                | Node::ForCondition
                | Node::ForStep
                | Node::WhileCondition
                | Node::WhileBody
                | Node::Next => {}
            }
        }
        tree
    }

    /// Adds a node, whose children are the last values and names not yet taken.
    fn add(&mut self, node: Node, values: usize, names: usize) {
        let (first_child, first_name) = (self.children.len(), self.names.len());
        let rest = self.roots.len().saturating_sub(values);
        self.children.extend(self.roots.drain(rest..));
        let rest = self.root_names.len().saturating_sub(names);
        self.names.extend(self.root_names.drain(rest..));
        self.roots.push(self.entries.len());
        let (children, names) = (first_child..self.children.len(), first_name..self.names.len());
        self.entries.push(TreeNode { node, children, names });
    }

    /// Returns the entries of a node's parts, in source order.
    pub(super) fn children(&self, entry: usize) -> &[usize] {
        &self.children[self.entries[entry].children.clone()]
    }

    /// Returns the names that a `for` or a `var` declares.
    pub(super) fn names(&self, entry: usize) -> &[Name] {
        &self.names[self.entries[entry].names.clone()]
    }
}

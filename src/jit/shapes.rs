//! Code that top-level expressions of one shape share.
//!
//! Two expressions have one shape if they differ in nothing but their numbers.
//! Their code is that of one function, which takes the numbers as arguments: so
//! each shape is compiled once, however many expressions of it follow. An
//! expression with a loop has code of its own, in which its numbers are
//! constants: it runs long enough to gain from that.
//!
//! The engine keeps the shapes that were used last. A failure names the
//! function of the shape; see [`RunFailure::restate`](crate::failure::RunFailure::restate).

use super::definition::Definition;
use super::worker::{SteadyGuard, locked_steadily};
use crate::name::{Name, Names};
use crate::sema::checked::{Callee, CheckedFunction, CheckedNode, KnownIdentity, Made};
use crate::source::{Source, Span};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};

/// How many of the shapes that were used last are kept; up to twice as many are.
const KEPT: usize = 64;

/// Expressions with more numbers have code of their own.
const MOST_NUMBERS: usize = 64;

/// The shapes whose code is kept.
#[derive(Default)]
pub(super) struct Shapes(Mutex<ShapeTable>);

/// The shapes, by their hashes.
#[derive(Default)]
struct ShapeTable {
    /// Those that were used last.
    young: FxHashMap<u64, KeptShape>,
    /// Those that were used before these were.
    old: FxHashMap<u64, KeptShape>,
}

struct KeptShape {
    nodes: Box<[CheckedNode]>,
    callees: Box<[(Name, u32)]>,
    locals: u32,
    definition: Arc<Definition>,
}

impl Shapes {
    /// Returns the definition whose code runs an expression with its numbers.
    pub(super) fn find(&self, expression: &CheckedFunction) -> Option<Arc<Definition>> {
        let hash = hash(expression);
        let is_same = |kept: &&KeptShape| kept.is_of(expression);
        let mut table = self.table();
        if let Some(kept) = table.young.get(&hash) {
            return Some(kept).filter(is_same).map(|kept| kept.definition.clone());
        }
        table.old.get(&hash).filter(is_same)?;
        let kept = table.old.remove(&hash)?;
        let definition = kept.definition.clone();
        let left = table.add(hash, kept);
        drop(table);
        // Dropping code takes other locks.
        drop(left);
        Some(definition)
    }

    /// Keeps the definition of an expression's shape.
    pub(super) fn keep(&self, expression: &CheckedFunction, definition: Arc<Definition>) {
        let kept = KeptShape {
            nodes: expression.nodes.clone(),
            callees: expression.calls().collect(),
            locals: expression.locals,
            definition,
        };
        let left = self.table().add(hash(expression), kept);
        // Dropping code takes other locks.
        drop(left);
    }

    /// Releases all shapes.
    pub(super) fn clear(&self) {
        let shapes = std::mem::take(&mut *self.table());
        drop(shapes);
    }

    fn table(&self) -> SteadyGuard<'_, ShapeTable> {
        locked_steadily(&self.0)
    }
}

impl ShapeTable {
    /// Adds a shape. Returns what leaves.
    fn add(&mut self, hash: u64, kept: KeptShape) -> (Option<KeptShape>, Self) {
        let mut left = Self::default();
        if self.young.len() >= KEPT {
            left.old = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
        }
        (self.young.insert(hash, kept), left)
    }
}

impl KeptShape {
    /// Returns whether an expression is of this shape.
    fn is_of(&self, expression: &CheckedFunction) -> bool {
        self.nodes == expression.nodes
            && self.locals == expression.locals
            && self.callees.iter().copied().eq(expression.calls())
    }
}

/// Returns the function of its numbers that an expression is, without a source:
/// it outlives this one. `None` if the expression has code of its own.
pub(super) fn generalised(expression: &CheckedFunction, names: &Names) -> Option<CheckedFunction> {
    let count = expression.numbers.len() as u32;
    if expression.numbers.len() > MOST_NUMBERS || expression.has_loop() || expression.arity() > 0 {
        return None;
    }
    // The numbers come first, then the expression's own locals.
    let node = |node: &CheckedNode| match *node {
        CheckedNode::Number(index) => CheckedNode::Local(index),
        CheckedNode::Local(local) => CheckedNode::Local(count + local),
        CheckedNode::SetLocal(local) => CheckedNode::SetLocal(count + local),
        CheckedNode::Bind(local) => CheckedNode::Bind(count + local),
        CheckedNode::ForVariable(local) => CheckedNode::ForVariable(count + local),
        CheckedNode::Variable(_)
        | CheckedNode::SetVariable(_)
        | CheckedNode::Unary(_)
        | CheckedNode::Binary(_)
        | CheckedNode::ShortCircuit(_)
        | CheckedNode::Call(_)
        | CheckedNode::Then
        | CheckedNode::Else
        | CheckedNode::If
        | CheckedNode::ForCondition
        | CheckedNode::ForStep
        | CheckedNode::For => *node,
    };
    Some(CheckedFunction {
        parameters: vec![names.intern("number"); expression.numbers.len()].into(),
        functions: Box::default(),
        made: Made::Written,
        locals: count + expression.locals,
        nodes: expression.nodes.iter().map(node).collect(),
        scope_ends: expression.scope_ends.clone(),
        numbers: Box::default(),
        callees: expression
            .callees
            .iter()
            .map(|callee| Callee { span: Span::default(), ..*callee })
            .collect(),
        name: expression.name,
        name_span: Span::default(),
        spans: expression.nodes.iter().map(|_| Span::default()).collect(),
        source: Source::new(expression.source.name(), ""),
        span: Span::default(),
        names: expression.names.clone(),
        identity: KnownIdentity::default(),
    })
}

fn hash(expression: &CheckedFunction) -> u64 {
    let mut hasher = FxHasher::default();
    expression.nodes.hash(&mut hasher);
    expression.calls().for_each(|callee| callee.hash(&mut hasher));
    hasher.finish()
}

//! One mistake, one error: which of the mistakes in a body are reported.
//!
//! How a body groups around an operator that nothing defines is a guess. So of
//! such an operator and its operands only the first operator in the source is
//! reported, and where that belongs to another language, nothing else is. Nor is anything
//! beside a word of another language, such as `lambda`.

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::syntax::ast::Ast;
use std::ops::Range;

/// The mistakes of one body beside their diagnostics.
pub(super) struct Mistakes {
    /// The number of diagnostics before this body.
    pub(super) earlier: usize,
    /// The node that is being resolved.
    pub(super) at: usize,
    /// For each diagnostic of the body, the node it is about.
    pub(super) nodes: Vec<usize>,
    /// The numbers of the diagnostics about operators and words of other languages.
    foreign: Vec<usize>,
    has_unknown_operator: bool,
    /// The numbers of diagnostics that another one replaces.
    pub(super) dropped: Vec<usize>,
}

impl Mistakes {
    pub(super) fn new(earlier: usize) -> Self {
        Self {
            earlier,
            at: 0,
            nodes: Vec::new(),
            foreign: Vec::new(),
            has_unknown_operator: false,
            dropped: Vec::new(),
        }
    }

    /// Records that the next diagnostic is about a construct of another language.
    pub(super) fn found_foreign(&mut self) {
        self.foreign.push(self.nodes.len());
    }

    /// Records that the next diagnostic is about an undefined operator.
    pub(super) fn found_operator(&mut self, is_foreign: bool) {
        self.has_unknown_operator = true;
        if is_foreign {
            self.found_foreign();
        }
        self.nodes.push(self.at);
    }

    /// Returns the diagnostics about nodes of a range: their numbers and nodes.
    pub(super) fn within(&self, range: &Range<usize>) -> Vec<(usize, usize)> {
        let numbered = self.nodes.iter().copied().enumerate();
        numbered.filter(|(number, node)| range.contains(node) && !self.dropped.contains(number)).collect()
    }

    /// Removes diagnostics that are consequences of another mistake.
    pub(super) fn suppress(&self, body: &Ast, diagnostics: &mut Vec<Diagnostic>) {
        if !self.has_unknown_operator && self.foreign.is_empty() && self.dropped.is_empty() {
            return;
        }
        let own = diagnostics.split_off(self.earlier);
        let first = |chosen: &mut dyn Iterator<Item = usize>| {
            chosen.min_by_key(|index| own[*index].labels[0].span.start)
        };
        let keep: Vec<usize> = match first(&mut self.foreign.iter().copied()) {
            Some(foreign) => vec![foreign],
            None => {
                let operators = |index: &usize| own[*index].code == ErrorCode::UnknownOperator;
                let ranges = outermost(body, (0..own.len()).filter(operators).map(|index| self.nodes[index]));
                let is_in = |index: usize, range: &Range<usize>| range.contains(&self.nodes[index]);
                let firsts = ranges.iter().filter_map(|range| {
                    first(&mut (0..own.len()).filter(operators).filter(|index| is_in(*index, range)))
                });
                let outside = (0..own.len()).filter(|index| !ranges.iter().any(|range| is_in(*index, range)));
                firsts.chain(outside).collect()
            }
        };
        let keep = keep.into_iter().filter(|index| !self.dropped.contains(index));
        diagnostics.extend(keep.map(|index| own[index].clone()));
    }
}

/// Returns the ranges of nodes of each of `roots` with its operands, except for
/// roots inside others.
fn outermost(body: &Ast, roots: impl DoubleEndedIterator<Item = usize>) -> Vec<Range<usize>> {
    let starts = body.starts();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for root in roots.rev() {
        if ranges.last().is_none_or(|outer| root < outer.start) {
            ranges.push(starts[root]..root + 1);
        }
    }
    ranges
}

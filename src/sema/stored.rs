//! Checked functions as bytes, and back.
//!
//! Names and sources are written as indices into tables of the caller.
//! Functions that are read are validated in full, because the back ends rely on
//! their indices, locals, values and marks without further checks.

mod item;

use super::checked::{Callee, CheckedFunction, CheckedNode, KnownIdentity, Made, TakenFunction};
use super::spans::Spans;
use crate::bytes::{Damage, Reader, Writer};
use crate::name::{HeldName, HeldNames, Name};
use crate::source::{Source, Span};
use crate::syntax::operator::{BinaryOp, UnaryOp};
use std::cell::RefCell;

/// The tables of the caller while functions are written: they assign indices to
/// names and sources.
pub trait TableIndices {
    /// Returns the index of a name.
    fn name(&mut self, name: Name) -> u32;

    /// Returns the index of a source.
    fn source(&mut self, source: &Source) -> u32;

    /// Returns the offset from which places are counted.
    fn base(&self) -> u32 {
        0
    }
}

/// The names that were stored.
pub trait StoredNames {
    /// Returns the name of an index, if there is one.
    fn get(&self, index: usize) -> Option<HeldName>;
}

impl StoredNames for Vec<HeldName> {
    fn get(&self, index: usize) -> Option<HeldName> {
        self.as_slice().get(index).cloned()
    }
}

/// The tables of names and sources that were read.
pub struct StoredTables<'a> {
    /// The names by index.
    pub names: &'a dyn StoredNames,
    /// The sources by index.
    pub sources: &'a [Source],
    /// The offset from which places are counted.
    pub base: u32,
    /// The names of what is being read.
    held: RefCell<Vec<HeldName>>,
}

impl<'a> StoredTables<'a> {
    /// Creates the tables of these names and sources.
    pub fn new(names: &'a dyn StoredNames, sources: &'a [Source]) -> Self {
        Self { names, sources, base: 0, held: RefCell::default() }
    }

    /// Counts places from an offset.
    #[must_use]
    pub fn from(self, base: u32) -> Self {
        Self { base, ..self }
    }

    /// Reads the index of a name; returns the name.
    ///
    /// # Errors
    /// When there is no such name.
    pub fn held(&self, reader: &mut Reader<'_>) -> Result<HeldName, Damage> {
        let place = reader.number()? as usize;
        self.names.get(place).ok_or(reader.damage("a name is missing"))
    }

    /// Reads the index of a name that is to be [held](Self::take_held); returns the
    /// name.
    ///
    /// # Errors
    /// When there is no such name.
    pub fn name(&self, reader: &mut Reader<'_>) -> Result<Name, Damage> {
        let held = self.held(reader)?;
        let name = held.name();
        if !held.is_permanent() {
            self.held.borrow_mut().push(held);
        }
        Ok(name)
    }

    /// Returns the names to be held that have been read since the last time.
    pub fn take_held(&self) -> HeldNames {
        let mut held = self.held.take();
        held.sort_unstable_by_key(HeldName::name);
        held.dedup_by_key(|held| held.name());
        held.into()
    }

    /// Reads the index of a source; returns the source.
    ///
    /// # Errors
    /// When there is no such source.
    pub fn source(&self, reader: &mut Reader<'_>) -> Result<Source, Damage> {
        let place = reader.number()? as usize;
        self.sources.get(place).cloned().ok_or(reader.damage("a text is missing"))
    }
}

/// Writes a span, counted from an offset.
pub fn write_span(writer: &mut Writer, span: Span, base: u32) {
    writer.number(span.start.wrapping_sub(base));
    writer.number(span.end.wrapping_sub(base));
}

/// Reads a span of a source, counted from an offset.
///
/// # Errors
/// When it is not within that source.
pub fn read_span(reader: &mut Reader<'_>, source: &Source, base: u32) -> Result<Span, Damage> {
    let [start, end] = [reader.number()?, reader.number()?].map(|at| at.wrapping_add(base));
    let span = Span { start, end };
    reader.expect(source.text().get(span.range()).is_some(), "a place outside the text")?;
    Ok(span)
}

impl CheckedFunction {
    /// Writes the function.
    pub fn write(&self, writer: &mut Writer, places: &mut dyn TableIndices) {
        writer.number(places.name(self.name));
        writer.number(places.source(&self.source));
        write_span(writer, self.name_span, places.base());
        write_span(writer, self.span, places.base());
        writer.count(self.parameters.len());
        self.parameters.iter().for_each(|name| writer.number(places.name(*name)));
        writer.count(self.functions.len());
        for function in &self.functions {
            writer.number(places.name(function.name));
            writer.number(function.position);
            writer.number(function.arity);
        }
        writer.number(self.locals);
        writer.count(self.numbers.len());
        self.numbers.iter().for_each(|number| writer.long(number.to_bits()));
        writer.count(self.callees.len());
        for callee in &self.callees {
            writer.number(places.name(callee.name));
            writer.number(callee.arity);
            write_span(writer, callee.span, places.base());
        }
        writer.count(self.nodes.len());
        self.nodes.iter().for_each(|node| write_node(writer, *node, places));
        self.spans.write(writer, places.base());
        writer.count(self.scope_ends.len());
        self.scope_ends.iter().for_each(|end| writer.number(*end));
    }

    /// Reads a function.
    ///
    /// # Errors
    /// When the bytes are not a function that the check could have made.
    pub fn read(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<Self, Damage> {
        let name = tables.name(reader)?;
        let source = tables.source(reader)?;
        let (name_span, span) =
            (read_span(reader, &source, tables.base)?, read_span(reader, &source, tables.base)?);
        let parameters = reader.many(|reader| tables.name(reader))?;
        let functions = reader.many(|reader| {
            let (name, position) = (tables.name(reader)?, reader.number()?);
            Ok(TakenFunction { name, position, arity: reader.number()? })
        })?;
        let locals = reader.number()?;
        let numbers = reader.many(|reader| reader.long().map(f64::from_bits))?;
        let callees = reader.many(|reader| {
            let (name, arity) = (tables.name(reader)?, reader.number()?);
            Ok(Callee { name, arity, span: read_span(reader, &source, tables.base)? })
        })?;
        let nodes = reader.many(|reader| read_node(reader, tables))?;
        let spans = Spans::read(reader, nodes.len(), &source, tables.base)?;
        let scope_ends = reader.many(Reader::number)?;
        let function = Self {
            name,
            name_span,
            parameters,
            functions,
            made: Made::Written,
            locals,
            nodes,
            spans,
            scope_ends,
            numbers,
            callees,
            source,
            span,
            names: tables.take_held(),
            identity: KnownIdentity::default(),
        };
        match function.fault() {
            None => Ok(function),
            Some(what) => Err(reader.damage(what)),
        }
    }

    /// Returns what makes it a function that the check cannot have made; `None`
    /// if it is valid.
    fn fault(&self) -> Option<&'static str> {
        let declaring = self.nodes.iter().filter_map(CheckedNode::declared).count();
        let declared = self.parameters.len() + declaring;
        let locals = self.locals as usize;
        if locals < self.parameters.len() || locals > declared {
            return Some("another number of locals than are declared");
        }
        let is_scope = |(at, _, end): (usize, u32, usize)| (at..=self.nodes.len()).contains(&end);
        if self.scope_ends.len() != declaring || !self.scopes().all(is_scope) {
            return Some("a scope that does not end");
        }
        if self.callees.iter().any(|callee| callee.arity as usize > self.nodes.len()) {
            return Some("a call with more arguments than there are values");
        }
        let mut set = vec![false; locals];
        set[..self.parameters.len()].fill(true);
        let mut shape = StackCheck { function: self, height: 0, open: Vec::new(), set, order: Vec::new() };
        match self.nodes.iter().try_for_each(|node| shape.node(*node)) {
            Err(what) => Some(what),
            Ok(()) if shape.height != 1 || !shape.open.is_empty() => Some("a body that does not end"),
            Ok(()) => None,
        }
    }
}

/// The part of a construct that the next nodes belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ConstructPart {
    Right(BinaryOp),
    Then,
    Else,
    Condition,
    Step,
    Body,
}

/// A walk over nodes that tracks the number of values on the stack, and which
/// locals are set.
struct StackCheck<'a> {
    function: &'a CheckedFunction,
    height: usize,
    /// The open constructs.
    open: Vec<OpenConstruct>,
    /// For each local, whether it is certainly set at this point.
    set: Vec<bool>,
    /// The locals that are set, in the order in which that happened.
    order: Vec<u32>,
}

/// An open construct, with the state before its present part.
struct OpenConstruct {
    part: ConstructPart,
    height: usize,
    set: usize,
}

type Shaped = Result<(), &'static str>;

impl StackCheck<'_> {
    fn node(&mut self, node: CheckedNode) -> Shaped {
        match node {
            CheckedNode::Number(number) => {
                self.index(number, self.function.numbers.len()).and_then(|()| self.takes(0, 1))
            }
            CheckedNode::Local(local) => self.known(local).and_then(|()| self.takes(0, 1)),
            CheckedNode::Variable(_) => self.takes(0, 1),
            CheckedNode::SetLocal(local) => self.known(local).and_then(|()| self.takes(1, 1)),
            CheckedNode::SetVariable(_) | CheckedNode::Unary(_) => self.takes(1, 1),
            CheckedNode::Binary(op) if op.short_circuits() => {
                self.end(ConstructPart::Right(op)).and_then(|()| self.takes(0, 1))
            }
            CheckedNode::Binary(_) => self.takes(2, 1),
            CheckedNode::ShortCircuit(op) if !op.short_circuits() => {
                Err("an operator that does not short-circuit")
            }
            CheckedNode::ShortCircuit(op) => self.begin(ConstructPart::Right(op)),
            CheckedNode::Call(callee) => {
                self.index(callee, self.function.callees.len())?;
                self.takes(self.function.callees[callee as usize].arity as usize, 1)
            }
            CheckedNode::Then => self.begin(ConstructPart::Then),
            CheckedNode::Else => self.next(ConstructPart::Then, ConstructPart::Else),
            CheckedNode::If => self.end(ConstructPart::Else).and_then(|()| self.takes(0, 1)),
            CheckedNode::ForVariable(local) => {
                self.takes(1, 1)?;
                self.declare(local)?;
                self.begin(ConstructPart::Condition)
            }
            CheckedNode::ForCondition => self.next(ConstructPart::Condition, ConstructPart::Step),
            CheckedNode::ForStep => self.next(ConstructPart::Step, ConstructPart::Body),
            CheckedNode::For => self.end(ConstructPart::Body).and_then(|()| self.takes(0, 1)),
            CheckedNode::Bind(local) => self.takes(1, 0).and_then(|()| self.declare(local)),
        }
    }

    fn index(&self, index: u32, count: usize) -> Shaped {
        if (index as usize) < count { Ok(()) } else { Err("an index outside its table") }
    }

    /// Marks a local as set, up to the end of the part.
    fn declare(&mut self, local: u32) -> Shaped {
        self.index(local, self.set.len())?;
        if !std::mem::replace(&mut self.set[local as usize], true) {
            self.order.push(local);
        }
        Ok(())
    }

    fn known(&self, local: u32) -> Shaped {
        match self.set.get(local as usize) {
            Some(true) => Ok(()),
            Some(false) | None => Err("a local without a value"),
        }
    }

    /// Takes values of the open part, and leaves others.
    fn takes(&mut self, taken: usize, left: usize) -> Shaped {
        let below = self.open.last().map_or(0, |open| open.height);
        if self.height - below < taken {
            return Err("a value is missing");
        }
        self.height = self.height - taken + left;
        Ok(())
    }

    /// Takes a value and begins a part.
    fn begin(&mut self, part: ConstructPart) -> Shaped {
        self.takes(1, 0)?;
        self.push(part);
        Ok(())
    }

    fn push(&mut self, part: ConstructPart) {
        self.open.push(OpenConstruct { part, height: self.height, set: self.order.len() });
    }

    /// Ends a part with its one value.
    fn end(&mut self, part: ConstructPart) -> Shaped {
        match self.open.pop() {
            Some(open) if open.part == part && self.height == open.height + 1 => {
                self.height = open.height;
                for local in self.order.drain(open.set..) {
                    self.set[local as usize] = false;
                }
                Ok(())
            }
            Some(_) | None => Err("a part of an expression is out of place"),
        }
    }

    /// Ends a part and begins the next.
    fn next(&mut self, part: ConstructPart, next: ConstructPart) -> Shaped {
        self.end(part)?;
        self.push(next);
        Ok(())
    }
}

fn write_node(writer: &mut Writer, node: CheckedNode, places: &mut dyn TableIndices) {
    let place = |of: usize| of as u32;
    let unary = |op: UnaryOp| place(UnaryOp::ALL.iter().position(|known| *known == op).unwrap_or(0));
    let binary = |op: BinaryOp| place(BinaryOp::ALL.iter().position(|known| *known == op).unwrap_or(0));
    let (kind, operand) = match node {
        CheckedNode::Number(number) => (0, Some(number)),
        CheckedNode::Local(local) => (1, Some(local)),
        CheckedNode::Variable(name) => (2, Some(places.name(name))),
        CheckedNode::SetLocal(local) => (3, Some(local)),
        CheckedNode::SetVariable(name) => (4, Some(places.name(name))),
        CheckedNode::Unary(op) => (5, Some(unary(op))),
        CheckedNode::Binary(op) => (6, Some(binary(op))),
        CheckedNode::ShortCircuit(op) => (7, Some(binary(op))),
        CheckedNode::Call(callee) => (8, Some(callee)),
        CheckedNode::Then => (9, None),
        CheckedNode::Else => (10, None),
        CheckedNode::If => (11, None),
        CheckedNode::ForVariable(local) => (12, Some(local)),
        CheckedNode::ForCondition => (13, None),
        CheckedNode::ForStep => (14, None),
        CheckedNode::For => (15, None),
        CheckedNode::Bind(local) => (16, Some(local)),
    };
    writer.byte(kind);
    operand.into_iter().for_each(|operand| writer.number(operand));
}

fn read_node(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<CheckedNode, Damage> {
    fn member<T: Copy>(reader: &mut Reader<'_>, all: &[T]) -> Result<T, Damage> {
        let place = reader.number()? as usize;
        all.get(place).copied().ok_or(reader.damage("an operation that does not exist"))
    }
    Ok(match reader.byte()? {
        0 => CheckedNode::Number(reader.number()?),
        1 => CheckedNode::Local(reader.number()?),
        2 => CheckedNode::Variable(tables.name(reader)?),
        3 => CheckedNode::SetLocal(reader.number()?),
        4 => CheckedNode::SetVariable(tables.name(reader)?),
        5 => CheckedNode::Unary(member(reader, &UnaryOp::ALL)?),
        6 => CheckedNode::Binary(member(reader, &BinaryOp::ALL)?),
        7 => CheckedNode::ShortCircuit(member(reader, &BinaryOp::ALL)?),
        8 => CheckedNode::Call(reader.number()?),
        9 => CheckedNode::Then,
        10 => CheckedNode::Else,
        11 => CheckedNode::If,
        12 => CheckedNode::ForVariable(reader.number()?),
        13 => CheckedNode::ForCondition,
        14 => CheckedNode::ForStep,
        15 => CheckedNode::For,
        16 => CheckedNode::Bind(reader.number()?),
        _ => return Err(reader.damage("a node that does not exist")),
    })
}

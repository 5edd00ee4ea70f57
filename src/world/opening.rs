//! The opening of a program: which of its definitions a later start takes over as a whole,
//! and what is known of them.

use crate::bytes::{Damage, Reader, Writer};
use crate::name::{Name, Names};
use crate::sema::asked::{OutsideQuestions, OwnAnswers, ReadingRecord};
use crate::sema::checked::{CheckedFunction, TakenFunction};
use crate::sema::instance::instance_parts;
use crate::sema::stored::{StoredTables, TableIndices};
use crate::sema::{self, CheckedItem};
use crate::syntax::operator::{Fixity, Operators};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;

/// What is known of the opening of a text.
#[derive(Default)]
pub struct StoredOpening {
    /// What it calls and does not define, or with another number of arguments.
    pub calls: FxHashSet<Name>,
    /// The items in it that change the operators in force: definitions and imports.
    pub operators: Vec<usize>,
    /// The items in it that are no definitions, or whose definitions others replace.
    pub others: Vec<usize>,
    /// The variables that items of a program in it declare. To read them is to hold their names: code
    /// that is placed before these items run refers to them.
    pub variables: Vec<Name>,
    /// What reading a module asked that it does not answer itself.
    pub record: ReadingRecord,
    /// The number of nodes of the largest function of a module.
    pub largest: usize,
}

impl StoredOpening {
    /// Writes it.
    pub(super) fn write(&self, writer: &mut Writer, numbering: &mut dyn TableIndices) {
        let mut calls: Vec<_> = self.calls.iter().copied().collect();
        calls.sort_unstable();
        writer.count(calls.len());
        calls.into_iter().for_each(|name| writer.number(numbering.name(name)));
        for numbers in [&self.operators, &self.others] {
            writer.count(numbers.len());
            numbers.iter().for_each(|number| writer.count(*number));
        }
        writer.count(self.variables.len());
        self.variables.iter().for_each(|name| writer.number(numbering.name(*name)));
        writer.count(self.largest);
        self.record.write(writer, numbering);
    }

    /// Reads what was written.
    pub(super) fn read(reader: &mut Reader<'_>, tables: &StoredTables<'_>) -> Result<Self, Damage> {
        let calls = reader.many(|reader| tables.name(reader))?.into_iter().collect();
        let mut numbers = || Ok(reader.many(|reader| Ok(reader.number()? as usize))?.into_vec());
        let (operators, others) = (numbers()?, numbers()?);
        let variables = reader.many(|reader| tables.name(reader))?.into_vec();
        let largest = reader.number()? as usize;
        let record = ReadingRecord::read(reader, tables)?;
        Ok(Self { calls, operators, others, variables, largest, record })
    }
}

/// The search for the opening of a program: the longest run of definitions, nearly. Between
/// them, expressions may be computed and variables declared, as long as these cannot tell that what
/// follows is defined already. A run ends where a name is defined again, or was called before
/// with another number of arguments, or by what was computed; and where something is imported or
/// declared by `extern`.
pub(super) struct OpeningFinder {
    names: Arc<Names>,
    /// The number of nodes of the largest function that can be compiled.
    largest: usize,
    best: (Range<usize>, StoredOpening),
    run: DefinitionRun,
    /// What definitions before the run define and call.
    before: FxHashSet<Name>,
}

/// A run of definitions, as far as they have been met.
struct DefinitionRun {
    range: Range<usize>,
    defined: FxHashMap<Name, u32>,
    called: FxHashMap<Name, Vec<u32>>,
    /// What the patterns in it take.
    patterns: FxHashMap<Name, Box<[TakenFunction]>>,
    /// The functions that calls give, with the number of arguments that they are called with;
    /// `None` if the pattern is not in the run by then.
    given: FxHashMap<Name, Vec<Option<u32>>>,
    operators: Operators,
    /// The operators that it defines, and the items that do so.
    own_operators: FxHashSet<Name>,
    operator_items: Vec<usize>,
    /// The items that define nothing, and the variables that they declare.
    others: Vec<usize>,
    variables: FxHashSet<Name>,
    /// What definitions call since the last of these items.
    called_since: Vec<Name>,
    /// What these items, or definitions before them, have asked about or may call.
    met: FxHashSet<Name>,
    asked: OutsideQuestions,
}

/// How much longer a later run must be to be the opening: an edited text is only compared
/// with an opening at its beginning.
const LONGER: usize = 4;

impl OpeningFinder {
    /// Begins the search, at item 0.
    pub(super) fn new(names: &Arc<Names>, largest: usize) -> Self {
        Self {
            names: names.clone(),
            largest,
            best: (0..0, StoredOpening::default()),
            run: DefinitionRun::new(0, names),
            before: FxHashSet::default(),
        }
    }

    /// Adds the next item.
    pub(super) fn item(&mut self, number: usize, item: &CheckedItem, record: &ReadingRecord) {
        let (function, fixity) = match item {
            CheckedItem::Definition(function, fixity) => (function, fixity),
            CheckedItem::Expression(function) | CheckedItem::Effect(function) => {
                return self.run.pass(number, function, &[], record, &self.names);
            }
            CheckedItem::Variables(function, declared) => {
                return self.run.pass(number, function, declared, record, &self.names);
            }
            CheckedItem::Extern(_) | CheckedItem::Import(_) => return self.end_run(number + 1),
        };
        if !self.add(number, function, *fixity, record) {
            self.end_run(number);
            if !self.add(number, function, *fixity, record) {
                self.run.note_calls(function, &self.names);
                self.before.insert(function.name);
                self.end_run(number + 1);
            }
        }
    }

    /// Adds a definition to the run; returns whether it can be part of that.
    fn add(
        &mut self,
        number: usize,
        function: &CheckedFunction,
        fixity: Option<Fixity>,
        record: &ReadingRecord,
    ) -> bool {
        let names = &self.names;
        let is_simple = !self.before.contains(&function.name)
            && crate::module::parts(&names.text(function.name)).is_none()
            && self.may_be_left_out(function, fixity);
        is_simple && self.run.add(number, function, fixity, record, names)
    }

    /// Ends the run; another one may begin with that item.
    fn end_run(&mut self, next: usize) {
        let ended = std::mem::replace(&mut self.run, DefinitionRun::new(next, &self.names));
        self.before.extend(ended.defined.keys().chain(ended.called.keys()).chain(ended.given.keys()));
        let (range, opening) = &self.best;
        if ended.defined.len() > LONGER * (range.len() - opening.others.len()) {
            self.best = ended.finish();
        }
    }

    /// Returns whether a program that runs the text may leave the outcome of a definition
    /// out: it is not too large to be compiled, and there is nothing to say about it.
    fn may_be_left_out(&self, function: &CheckedFunction, fixity: Option<Fixity>) -> bool {
        function.nodes.len() <= self.largest && sema::uncalled(function, fixity, &self.names).is_none()
    }

    /// Returns the opening, which may be empty, and what is known of it.
    pub(super) fn finish(mut self) -> (Range<usize>, StoredOpening) {
        self.end_run(0);
        self.best
    }
}

impl DefinitionRun {
    /// Begins a run with that item.
    fn new(start: usize, names: &Names) -> Self {
        Self {
            range: start..start,
            defined: FxHashMap::default(),
            called: FxHashMap::default(),
            patterns: FxHashMap::default(),
            given: FxHashMap::default(),
            operators: Operators::new(names),
            own_operators: FxHashSet::default(),
            operator_items: Vec::new(),
            others: Vec::new(),
            variables: FxHashSet::default(),
            called_since: Vec::new(),
            met: FxHashSet::default(),
            asked: OutsideQuestions::default(),
        }
    }

    fn add(
        &mut self,
        number: usize,
        function: &CheckedFunction,
        fixity: Option<Fixity>,
        record: &ReadingRecord,
        names: &Names,
    ) -> bool {
        let own = OwnAnswers {
            defined: &self.defined,
            variables: &self.variables,
            operators: &self.own_operators,
            present: &self.operators,
        };
        let is_met = |name: Name| self.met.contains(&name);
        let fits = |arities: &Vec<u32>| arities.iter().all(|arity| *arity == function.signature());
        let is_added = self.asked.add(record, &own, names)
            && !self.defined.contains_key(&function.name)
            && !is_met(function.name)
            && fixity.is_none_or(|fixity| !is_met(fixity.operator()))
            && self.called.get(&function.name).is_none_or(fits)
            && self
                .given
                .get(&function.name)
                .is_none_or(|given| given.iter().all(|arity| *arity == Some(function.arity())));
        if !is_added {
            return false;
        }
        self.defined.insert(function.name, function.signature());
        if !function.functions.is_empty() {
            self.patterns.insert(function.name, function.functions.clone());
        }
        self.note_calls(function, names);
        if let Some(fixity) = fixity {
            self.own_operators.insert(fixity.operator());
            self.operators.define(fixity, function.name, &function.names);
            self.operator_items.push(number);
        }
        self.range.end = number + 1;
        true
    }

    /// Goes past an item that declares these variables, or none, and may run.
    fn pass(
        &mut self,
        number: usize,
        function: &CheckedFunction,
        declared: &[Name],
        record: &ReadingRecord,
        names: &Names,
    ) {
        if self.range.is_empty() {
            self.range = number + 1..number + 1;
            return;
        }
        self.others.push(number);
        self.variables.extend(declared);
        self.met.extend(self.called_since.drain(..).chain(record.asked_names()));
        for callee in &function.callees {
            self.met.insert(callee.name);
            let text = names.text(callee.name);
            let Some((pattern, given)) = instance_parts(&text) else { continue };
            let parts = given.into_iter().flatten().chain([pattern]);
            self.met.extend(parts.filter_map(|part| names.get(part)));
        }
    }

    /// Notes what a function calls, and what it gives patterns.
    fn note_calls(&mut self, function: &CheckedFunction, names: &Names) {
        for callee in &function.callees {
            let arities = self.called.entry(callee.name).or_default();
            if arities.is_empty() {
                self.called_since.push(callee.name);
            }
            if !arities.contains(&callee.arity) {
                arities.push(callee.arity);
            }
            let text = names.text(callee.name);
            let Some((pattern, given)) = instance_parts(&text) else { continue };
            let pattern = names.get(pattern);
            let taken = pattern.and_then(|pattern| self.patterns.get(&pattern));
            let mut note = |function: Name, arity: Option<u32>| {
                let arities = self.given.entry(function).or_default();
                if arities.is_empty() {
                    self.called_since.push(function);
                }
                if !arities.contains(&arity) {
                    arities.push(arity);
                }
            };
            // A pattern that follows may take something else.
            pattern.filter(|_| taken.is_none()).into_iter().for_each(|pattern| note(pattern, None));
            for (position, given) in given.into_iter().enumerate() {
                let Some(given) = given.and_then(|given| names.get(given)) else { continue };
                let arity = taken.and_then(|taken| {
                    let taken = taken.iter().find(|taken| taken.position as usize == position);
                    taken.map(|taken| taken.arity)
                });
                note(given, arity);
            }
        }
    }

    /// Returns the items, and what is known of them as an opening.
    fn finish(self) -> (Range<usize>, StoredOpening) {
        let Self { range, defined, called, operator_items: operators, mut others, variables, asked, .. } =
            self;
        // What follows the last definition is not between them.
        others.retain(|number| range.contains(number));
        let is_open =
            |(name, arities): &(Name, Vec<u32>)| arities.iter().any(|arity| defined.get(name) != Some(arity));
        let calls = called.into_iter().filter(is_open).map(|(name, _)| name).collect();
        let record = asked.record(|name| defined.contains_key(&name));
        let mut variables: Vec<_> = variables.into_iter().collect();
        variables.sort_unstable();
        (range, StoredOpening { calls, operators, others, variables, record, ..Default::default() })
    }
}

//! Programs that are checked and lowered, to be stored and run later.
//!
//! A stored program begins with a magic number, the identity of the build that
//! made it, its length and a checksum. Then follow the names and the sources it
//! refers to, and its items in order, each function in its checked form and as a
//! tape. All of it is validated when it is read: damaged programs, and those of
//! another build, are refused.

use crate::bytes::{Damage, Reader, Writer, checksum};
use crate::diagnostic::{Diagnostic, ErrorCode, Severity};
use crate::draft::Draft;
use crate::engine::Engine;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::float_environment::DefaultEnvironment;
use crate::host::{HostFunctions, is_sealed, printing};
use crate::name::{Name, Names};
use crate::sema::checked::{CheckedFunction, EXPRESSION};
use crate::sema::instance::{is_made, operands_of};
use crate::sema::stored::{StoredTables, TableIndices};
use crate::sema::{CheckedItem, Extern};
use crate::source::{Source, Span};
use crate::stop::Poll;
use crate::syntax::lexer::fitting;
use crate::syntax::operator::Fixity;
use crate::syntax::{is_identifier_in, is_name_in, is_operator_in};
use crate::tape::{Counts, Linkage, LoweringContext, Tape, TapeCallee, TooMany};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;
use std::sync::Arc;

/// The magic number of a stored program. Its first byte is not valid UTF-8.
const MAGIC: &[u8; 8] = b"\xffKALTAPE";

/// A program that has been read and checked, and not run yet. It can be stored
/// as bytes and run in any context of its engine.
///
/// ```
/// use kal::{Engine, Program, source::Source};
/// use std::ops::ControlFlow;
///
/// let engine = Engine::new()?;
/// let program = Program::new(&engine, &Source::new("area", "def area(w h) w * h; area(3, 4)"))?;
/// let stored = program.to_bytes();
///
/// let mut values = Vec::new();
/// let loaded = Program::from_bytes(&engine, &stored)?;
/// let _ = engine.context()?.run_program(&loaded, &mut |_, outcome| {
///     if let Ok(kal::Outcome::Value(value)) = outcome { values.push(value) }
///     ControlFlow::Continue(())
/// });
/// assert_eq!(values, [12.0]);
/// # Ok::<(), kal::Error>(())
/// ```
pub struct Program {
    pub(crate) engine: Engine,
    pub(crate) parts: Vec<ProgramItem>,
}

/// One item of a program.
#[derive(Clone)]
pub(crate) struct ProgramItem {
    pub(crate) item: CheckedItem,
    /// The tape of its function, if it has one.
    pub(crate) tape: Option<Arc<Tape>>,
}

impl Program {
    /// Parses and checks a whole source, within the limits of the engine.
    /// Nothing is run.
    ///
    /// # Errors
    /// [`Error::Invalid`] with everything that is wrong, up to where
    /// [`Limits::deadline`](crate::Limits::deadline) stopped reading.
    pub fn new(engine: &Engine, source: &Source) -> Result<Self, Error> {
        Self::of(engine, std::slice::from_ref(source))
    }

    /// Parses and checks a program that consists of several sources.
    pub(crate) fn of(engine: &Engine, sources: &[Source]) -> Result<Self, Error> {
        let _environment = DefaultEnvironment::enter();
        let Draft { diagnostics, items, .. } = Draft::new(sources, engine);
        let errors: Vec<_> =
            diagnostics.into_iter().filter(|found| found.severity == Severity::Error).collect();
        if !errors.is_empty() {
            return Err(Error::Invalid(errors));
        }
        let mut known =
            KnownDefinitions { names: engine.names(), hosts: engine.hosts(), defined: FxHashSet::default() };
        let parts = items.into_iter().map(|item| known.part(item)).collect::<Result<_, _>>();
        let parts = parts.map_err(|TooMany(what)| Error::TooMany(what))?;
        Ok(Self { engine: engine.clone(), parts })
    }

    /// Returns whether bytes begin like a stored program; they may still be
    /// damaged.
    pub fn is_stored(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    /// Returns the program as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (mut items, mut tables) = (Writer::default(), Numbering::default());
        items.count(self.parts.len());
        self.parts.iter().for_each(|part| part.write(&mut items, &mut tables));
        let mut body = Writer::default();
        body.count(tables.names.len());
        tables.names.iter().for_each(|name| body.text(&self.engine.names().text(*name)));
        body.count(tables.sources.len());
        for source in &tables.sources {
            body.text(source.name());
            body.text(source.text());
            let (line, column) = source.position(0);
            body.count(line);
            body.count(column);
        }
        body.bytes(&items.finish());
        let body = body.finish();
        let mut writer = Writer::default();
        writer.bytes(MAGIC);
        writer.bytes(Fingerprint::BUILD.as_bytes());
        writer.long(body.len() as u64);
        writer.long(checksum(&body));
        writer.bytes(&body);
        writer.finish()
    }

    /// Reads a program that was stored.
    ///
    /// # Errors
    /// [`Error::Damaged`] for bytes that [`to_bytes`](Self::to_bytes) of this
    /// build cannot have made; [`Error::Invalid`] for a source in it that is
    /// longer than
    /// [`Limits::max_source_bytes`](crate::Limits::max_source_bytes), and if
    /// reading takes longer than the deadline.
    pub fn from_bytes(engine: &Engine, bytes: &[u8]) -> Result<Self, Error> {
        let poll = engine.poll();
        let mut reader = Reader::new(bytes);
        let magic = reader.bytes(MAGIC.len())?;
        reader.expect(magic == MAGIC, "it does not begin like one")?;
        let build = reader.bytes(Fingerprint::BUILD.as_bytes().len())?;
        reader.expect(build == Fingerprint::BUILD.as_bytes(), "made by another build of Kal")?;
        let (length, sum) = (reader.long()?, reader.long()?);
        reader.expect(length == reader.rest().len() as u64, "wrong length")?;
        reader.expect(sum == checksum(reader.rest()), "bad checksum")?;
        let parts = body(&mut reader, engine, &poll)?;
        Ok(Self { engine: engine.clone(), parts })
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("items", &self.parts.len()).finish_non_exhaustive()
    }
}

/// What a program has defined, up to some item.
struct KnownDefinitions<'a> {
    names: &'a Names,
    hosts: &'a HostFunctions,
    defined: FxHashSet<Name>,
}

impl KnownDefinitions<'_> {
    fn part(&mut self, item: CheckedItem) -> Result<ProgramItem, TooMany> {
        let part = ProgramItem { item, tape: None };
        let Some(function) = part.function() else { return Ok(part) };
        if self.names.text(function.name) != EXPRESSION {
            self.defined.insert(function.name);
        }
        let linkage =
            |callee: TapeCallee| Linkage::of(callee, self.hosts, self.defined.contains(&callee.name));
        let environment = LoweringContext { linkage: &linkage, counts_fuel: false, counts: Counts::Nothing };
        let tape = Arc::new(Tape::lower(function, environment)?);
        Ok(ProgramItem { tape: Some(tape), ..part })
    }
}

/// Names and sources, numbered in the order of their first use.
#[derive(Default)]
struct Numbering {
    names: Vec<Name>,
    name_places: FxHashMap<Name, u32>,
    sources: Vec<Source>,
}

impl TableIndices for Numbering {
    fn name(&mut self, name: Name) -> u32 {
        let names = &mut self.names;
        *self.name_places.entry(name).or_insert_with(|| {
            names.push(name);
            names.len() as u32 - 1
        })
    }

    fn source(&mut self, source: &Source) -> u32 {
        // It is nearly always the last one.
        let place = self.sources.iter().rposition(|known| known == source).unwrap_or(self.sources.len());
        if place == self.sources.len() {
            self.sources.push(source.clone());
        }
        place as u32
    }
}

impl ProgramItem {
    /// Returns its function, if it has one.
    pub(crate) fn function(&self) -> Option<&Arc<CheckedFunction>> {
        self.item.function()
    }

    fn write(&self, writer: &mut Writer, tables: &mut Numbering) {
        self.item.write(writer, tables);
        self.tape.iter().for_each(|tape| tape.write(writer, tables));
    }
}

fn body(reader: &mut Reader<'_>, engine: &Engine, poll: &Poll) -> Result<Vec<ProgramItem>, Error> {
    let names = engine.names();
    let texts = reader.many(Reader::text)?;
    let names_of: Result<Vec<_>, _> = texts.iter().map(|text| names.try_hold(text)).collect();
    let names_of = names_of.map_err(|full| {
        refused(Diagnostic::error(
            ErrorCode::TooMany,
            &Source::new("", ""),
            Span::default(),
            full.to_string(),
        ))
    })?;
    let allowed = |text: &&str| {
        let operator = text.strip_prefix("unary").or_else(|| text.strip_prefix("binary"));
        *text == EXPRESSION
            || is_name_in(text, names)
            || is_operator_in(operator.unwrap_or(text), names)
            || is_operator_of_module(text, names)
            || printing::is_part(text)
            || is_sealed(text)
            || is_made(text)
            || (operands_of(text).is_some() && is_operator_in(&text[1..], names))
    };
    reader.expect(texts.iter().all(allowed), "invalid name")?;
    let sources = reader.many(|reader| {
        let (name, text) = (reader.text()?, reader.text()?);
        let first = (reader.number()? as usize, reader.number()? as usize);
        reader.expect(first.0 > 0 && first.1 > 0, "source without a place")?;
        Ok(Source::starting_at(name, text, first))
    })?;
    let longest = engine.config().limits.max_source_bytes;
    sources.iter().try_for_each(|source| fitting(source, longest)).map_err(refused)?;
    let tables = StoredTables::new(&names_of, &sources);
    let mut parts = Vec::new();
    for _ in 0..reader.count()? {
        if let Some(request) = poll.request() {
            return Err(refused(request.while_reading(&Source::new("", ""), Span::default())));
        }
        parts.push(part(reader, &tables, names)?);
    }
    reader.expect(reader.rest().is_empty(), "bytes after the end")?;
    Ok(parts)
}

fn refused(diagnostic: Diagnostic) -> Error {
    Error::Invalid(vec![diagnostic])
}

fn part(reader: &mut Reader<'_>, tables: &StoredTables<'_>, names: &Names) -> Result<ProgramItem, Damage> {
    let item = CheckedItem::read(reader, tables)?;
    match &item {
        CheckedItem::Definition(function, fixity) => {
            reader.expect(fits(*fixity, function, names), "definition of another name")?;
        }
        CheckedItem::Variables(function, declared) => {
            let all_named = declared.iter().all(|name| is_name_in(&names.text(*name), names));
            reader.expect(all_named, "invalid variable")?;
            reader.expect(is_nameless(function, names), "expression with a name")?;
        }
        CheckedItem::Expression(function) | CheckedItem::Effect(function) => {
            reader.expect(is_nameless(function, names), "expression with a name")?;
        }
        CheckedItem::Extern(Extern { name, parameters, .. }) => {
            let is_named = |name: &Name| is_identifier_in(&names.text(*name), names);
            let all_named = is_named(name) && parameters.iter().all(is_named);
            reader.expect(all_named, "a declaration that cannot be written")?;
        }
        // What is imported is a part of the program.
        CheckedItem::Import(_) => return Err(reader.damage("unknown kind of item")),
    }
    let mut part = ProgramItem { item, tape: None };
    if let Some(function) = part.function() {
        part.tape = Some(Arc::new(Tape::read(reader, tables, function)?));
        tables.take_held();
    }
    Ok(part)
}

/// Returns whether a fixity fits its function: an operator's function is named
/// after it.
fn fits(fixity: Option<Fixity>, function: &CheckedFunction, names: &Names) -> bool {
    let name = names.text(function.name);
    let is_of = |kind: &str, operator: Name| name.strip_prefix(kind) == Some(&*names.text(operator));
    match fixity {
        None => is_name_in(&name, names) || is_operator_of_module(&name, names) || is_made(&name),
        Some(Fixity::Unary { operator }) => is_of("unary", operator) && function.arity() == 1,
        Some(Fixity::Binary { operator, precedence }) => {
            is_of("binary", operator) && function.arity() == 2 && (1..=100).contains(&precedence)
        }
    }
}

/// Returns whether a name is that of an operator's function in a module:
/// `stats.binary⊕`.
fn is_operator_of_module(name: &str, names: &Names) -> bool {
    let found = [".unary", ".binary"].iter().find_map(|arity| name.split_once(arity));
    found.is_some_and(|(module, operator)| is_name_in(module, names) && is_operator_in(operator, names))
}

/// Returns whether a function is that of a top-level expression.
fn is_nameless(function: &CheckedFunction, names: &Names) -> bool {
    names.text(function.name) == EXPRESSION && function.arity() == 0
}

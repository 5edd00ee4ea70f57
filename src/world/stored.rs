//! Checked texts as bytes, for later runs, and back.
//!
//! ```text
//! environment 32 | items 4 | names 4 | places 4 | from 4 | until 4 | opening 4
//! for each item: end 4 | offset of the record 4 | offset 4 | name 4
//! for each name: offset 4
//! for each place of the table of defined names: item 4
//! records and items, names, and the opening
//! ```
//!
//! Numbers are little-endian; offsets are from the start. An item is decoded when it
//! is its turn, and a name is interned when it is met. The *opening* of a text is a
//! run of definitions, from one item until another, which can be taken over as a
//! [`Layer`](super::Layer) by a program that begins with the text. It is described by what
//! it calls and does not define, and which of its items define operators.

use super::lazy::LazyTable;
use crate::bytes::{Damage, Reader, SharedBytes, Writer, checksum};
use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, Name, Names};
use crate::sema::CheckedItem;
use crate::sema::asked::ReadingRecord;
use crate::sema::checked::CheckedFunction;
use crate::sema::stored::{StoredNames, StoredTables, TableIndices};
use crate::source::Source;
use crate::syntax::operator::{Fixity, Operators};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes before the first table, and those of an item, and of another entry.
const HEAD: usize = 56;
const ITEM: usize = 16;
const ENTRY: usize = 4;

/// An item of a text, with what its reading asked and the offset where it ends.
pub struct StoredItem<I = CheckedItem, R = ReadingRecord> {
    /// The item.
    pub item: I,
    /// What its reading asked.
    pub record: R,
    /// The offset in the text where it ends.
    pub end: u32,
}

/// Where stored texts are read.
pub struct StoredEnvironment {
    /// The table of names of the engine.
    pub names: Arc<Names>,
    /// What reading a text depends on, besides the program: host functions and limits.
    pub identity: Fingerprint,
    /// How many functions have been decoded.
    pub loaded: AtomicU64,
}

/// A text that an earlier run has checked.
pub struct StoredText {
    bytes: SharedBytes,
    source: [Source; 1],
    items: usize,
    names: StoredNameTable,
    /// The number of places of the table of defined names, and where it begins.
    places: (usize, usize),
    opening: Range<usize>,
    /// Where the opening is described.
    described: usize,
}

/// The names in a stored text.
struct StoredNameTable {
    bytes: SharedBytes,
    environment: Arc<StoredEnvironment>,
    held: LazyTable<HeldName>,
    /// Where their offsets are.
    start: usize,
}

/// What a layer needs to know of the opening.
pub(super) struct StoredOpening {
    /// What it calls and does not define, or with another number of arguments.
    pub(super) calls: FxHashSet<Name>,
    /// The items in it that define operators.
    pub(super) operators: Vec<usize>,
}

/// Returns the items of a text, which has been read in that environment, as bytes; `None`
/// if they take 4 GiB. A definition can be part of the opening if a program that runs the
/// text may leave its outcome out, as `left_out` says.
pub fn encode<'i>(
    items: impl Iterator<Item = StoredItem<&'i CheckedItem, &'i ReadingRecord>>,
    left_out: &dyn Fn(&CheckedFunction, Option<Fixity>) -> bool,
    environment: &StoredEnvironment,
) -> Option<Vec<u8>> {
    let names = &*environment.names;
    let mut numbering = NameNumbering::default();
    let (mut table, mut contents) = (Vec::new(), Writer::default());
    let mut found = OpeningFinder::new(left_out, names);
    for (number, StoredItem { item, record, end }) in items.enumerate() {
        found.item(number, item, record);
        let name = item.function().map_or(0, |function| numbering.name(function.name));
        let asked = contents.len();
        record.write(&mut contents, &mut numbering);
        table.push((end, asked, contents.len(), name));
        item.write(&mut contents, &mut numbering);
    }
    let (opening, description) = found.finish(&mut numbering);
    let mut texts = Vec::new();
    for name in &numbering.names {
        texts.push(contents.len());
        contents.text(&names.text(*name));
    }
    let described = contents.len();
    contents.bytes(&description);
    let count = if opening.is_empty() { 0 } else { (2 * opening.len()).next_power_of_two() };
    let mut places = vec![0_u32; count];
    for number in opening.clone() {
        let text = names.text(numbering.names[table[number].3 as usize]);
        let first = checksum(text.as_bytes()) as usize % count;
        let free = (first..count).chain(0..first).find(|place| places[*place] == 0);
        free.into_iter().for_each(|place| places[place] = number as u32 + 1);
    }
    let start = HEAD + ITEM * table.len() + ENTRY * (texts.len() + places.len());
    u32::try_from(start + contents.len()).ok()?;
    let offset = |at: usize| (start + at) as u32;
    let mut writer = Writer::with_room(start + contents.len());
    writer.bytes(environment.identity.as_bytes());
    let head = [table.len(), texts.len(), places.len(), opening.start, opening.end];
    head.iter().for_each(|word| writer.word(*word as u32));
    writer.word(offset(described));
    for (end, asked, at, name) in table {
        [end, offset(asked), offset(at), name].iter().for_each(|word| writer.word(*word));
    }
    texts.iter().for_each(|at| writer.word(offset(*at)));
    places.iter().for_each(|place| writer.word(*place));
    writer.bytes(&contents.finish());
    Some(writer.finish())
}

/// The definitions of an opening, as far as they have been met. It ends where a name is
/// defined again, or called before with another number of arguments, or something else
/// than a definition follows, or what was asked shows that the program had begun before.
struct OpeningFinder<'a> {
    left_out: &'a dyn Fn(&CheckedFunction, Option<Fixity>) -> bool,
    range: Range<usize>,
    has_ended: bool,
    declared: FxHashMap<Name, u32>,
    defined: FxHashMap<Name, u32>,
    called: FxHashMap<Name, Vec<u32>>,
    operators: Operators,
    operator_items: Vec<usize>,
}

impl<'a> OpeningFinder<'a> {
    fn new(left_out: &'a dyn Fn(&CheckedFunction, Option<Fixity>) -> bool, names: &Names) -> Self {
        Self {
            left_out,
            range: 0..0,
            has_ended: false,
            declared: FxHashMap::default(),
            defined: FxHashMap::default(),
            called: FxHashMap::default(),
            operators: Operators::new(names),
            operator_items: Vec::new(),
        }
    }

    fn item(&mut self, number: usize, item: &CheckedItem, record: &ReadingRecord) {
        let find = |table: &FxHashMap<Name, u32>, name| table.get(&name).copied();
        let defined = |name| find(&self.defined, name);
        if self.has_ended || !record.is_of(defined, |name| find(&self.declared, name), &self.operators) {
            self.has_ended = true;
            return;
        }
        match item {
            CheckedItem::Definition(function, fixity)
                if self.adds(function) && (self.left_out)(function, *fixity) =>
            {
                self.defined.insert(function.name, function.arity());
                for callee in &function.callees {
                    let arities = self.called.entry(callee.name).or_default();
                    if !arities.contains(&callee.arity) {
                        arities.push(callee.arity);
                    }
                }
                if let Some(fixity) = fixity {
                    self.operators.define(*fixity, function.name, &function.names);
                    self.operator_items.push(number);
                }
                self.range.end = number + 1;
            }
            // Declarations that come first are made one by one.
            CheckedItem::Extern(declared) if self.defined.is_empty() => {
                self.declared.insert(declared.name, declared.arity());
                self.range = number + 1..number + 1;
            }
            _ => self.has_ended = true,
        }
    }

    /// Returns whether a function is defined for the first time, and all earlier calls
    /// fit it.
    fn adds(&self, function: &CheckedFunction) -> bool {
        let fits = |arities: &Vec<u32>| arities.iter().all(|arity| *arity == function.arity());
        !self.defined.contains_key(&function.name) && self.called.get(&function.name).is_none_or(fits)
    }

    /// Returns the opening, which may be empty, and its description.
    fn finish(self, numbering: &mut NameNumbering) -> (Range<usize>, Vec<u8>) {
        let Self { range, defined, called, operator_items, .. } = self;
        let called = called
            .into_iter()
            .flat_map(|(name, arities)| arities.into_iter().map(move |arity| (name, arity)));
        let mut open: Vec<_> = called.filter(|(name, arity)| defined.get(name) != Some(arity)).collect();
        open.sort_unstable();
        let mut writer = Writer::default();
        writer.count(open.len());
        for (name, _) in open {
            writer.number(numbering.name(name));
        }
        writer.count(operator_items.len());
        operator_items.iter().for_each(|number| writer.count(*number));
        (range, writer.finish())
    }
}

impl StoredText {
    /// Reads the head of a stored text, which is that of `source`.
    ///
    /// # Errors
    /// When the tables are not there, or it was read in another environment.
    pub fn new(
        bytes: SharedBytes,
        source: &Source,
        environment: &Arc<StoredEnvironment>,
    ) -> Result<Self, Damage> {
        let all = (*bytes).as_ref();
        let mut reader = Reader::new(all);
        let read_in = reader.bytes(32)?;
        reader.expect(read_in == environment.identity.as_bytes(), "read where other functions are known")?;
        let mut word = || reader.word().map(|word| word as usize);
        let [items, texts, places] = [word()?, word()?, word()?];
        let (opening, described) = (word()?..word()?, word()?);
        let tables = [items.checked_mul(ITEM), texts.checked_mul(ENTRY), places.checked_mul(ENTRY)];
        let end = tables.into_iter().try_fold(HEAD, |end, table| end.checked_add(table?));
        reader.expect(end.is_some_and(|end| end <= all.len()), "a table is missing")?;
        let is_whole = opening.start <= opening.end && opening.end <= items;
        reader.expect(is_whole && (places == 0 || places.is_power_of_two()), "no such opening")?;
        let start = HEAD + items * ITEM;
        let places = (places, start + texts * ENTRY);
        let names = StoredNameTable {
            bytes: bytes.clone(),
            environment: environment.clone(),
            held: LazyTable::new(texts),
            start,
        };
        Ok(Self { bytes, source: [source.clone()], items, names, places, opening, described })
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.items
    }

    /// Returns the number of names in it.
    pub fn name_count(&self) -> usize {
        self.names.held.len()
    }

    /// Returns the items that a layer can stand for.
    pub fn opening(&self) -> Range<usize> {
        self.opening.clone()
    }

    /// Returns the table of names that it was made with.
    pub(super) fn names(&self) -> &Arc<Names> {
        &self.names.environment.names
    }

    /// Decodes an item, with what its reading asked.
    ///
    /// # Errors
    /// When its bytes are not those of an item, or there is no such item.
    pub fn item(&self, number: usize) -> Result<StoredItem, Damage> {
        let mut entry = self.entry(number)?;
        let (end, asked) = (entry.word()?, entry.word()? as usize);
        let record = ReadingRecord::read(&mut self.reader(asked)?, &self.tables())?;
        Ok(StoredItem { item: self.checked_item(number)?, record, end })
    }

    /// Decodes an item.
    ///
    /// # Errors
    /// When its bytes are not those of an item of that name, or there is no such item.
    pub(super) fn checked_item(&self, number: usize) -> Result<CheckedItem, Damage> {
        let mut entry = self.entry(number)?;
        entry.bytes(8)?;
        let item = CheckedItem::read(&mut self.reader(entry.word()? as usize)?, &self.tables())?;
        let name = self.names.get(entry.word()? as usize).map(|held| held.name());
        let has_name = item.function().is_none_or(|function| Some(function.name) == name);
        entry.expect(has_name, "a definition of another name")?;
        self.names.environment.loaded.fetch_add(item.function().iter().len() as u64, Ordering::Relaxed);
        Ok(item)
    }

    /// Returns the offset in the text where an item ends.
    ///
    /// # Errors
    /// When there is no such item.
    pub fn end(&self, number: usize) -> Result<u32, Damage> {
        self.entry(number)?.word()
    }

    /// Returns the item of the opening that defines a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let (count, start) = self.places;
        let first = checksum(name.as_bytes()) as usize;
        // A damaged table may be full.
        for step in 0..count {
            let at = start + (first.wrapping_add(step) & (count - 1)) * ENTRY;
            let item = (self.reader(at).ok()?.word().ok()? as usize).checked_sub(1)?;
            let mut entry = self.entry(item).ok()?;
            entry.bytes(12).ok()?;
            if self.names.text(entry.word().ok()? as usize) == Some(name) && self.opening.contains(&item) {
                return Some(item);
            }
        }
        None
    }

    /// Reads the description of the opening.
    ///
    /// # Errors
    /// When it is malformed.
    pub(super) fn described(&self) -> Result<StoredOpening, Damage> {
        let mut reader = self.reader(self.described)?;
        let tables = self.tables();
        let calls = reader.many(|reader| tables.name(reader))?.into_iter().collect();
        let operators = reader.many(|reader| Ok(reader.number()? as usize))?.into_vec();
        Ok(StoredOpening { calls, operators })
    }

    fn tables(&self) -> StoredTables<'_> {
        StoredTables::new(&self.names, &self.source)
    }

    fn entry(&self, number: usize) -> Result<Reader<'_>, Damage> {
        let at = HEAD + number * ITEM;
        if number < self.items { self.reader(at) } else { Err(Damage { what: "no such item", at }) }
    }

    /// Returns a reader from an offset on.
    fn reader(&self, at: usize) -> Result<Reader<'_>, Damage> {
        let rest = (*self.bytes).as_ref().get(at..);
        rest.map(Reader::new).ok_or(Damage { what: "an offset beyond the end", at })
    }
}

impl StoredNameTable {
    fn text(&self, index: usize) -> Option<&str> {
        let bytes = (*self.bytes).as_ref();
        let at = (index < self.held.len()).then(|| self.start + index * ENTRY)?;
        let at = Reader::new(bytes.get(at..)?).word().ok()?;
        Reader::new(bytes.get(at as usize..)?).text().ok()
    }
}

impl StoredNames for StoredNameTable {
    fn get(&self, index: usize) -> Option<HeldName> {
        let hold = || {
            let text = self.text(index).ok_or(Damage { what: "a name is missing", at: 0 })?;
            self.environment.names.try_hold(text).map_err(|_| Damage { what: "too many names", at: 0 })
        };
        self.held.get_or_make(index, hold).cloned()
    }
}

/// Names, numbered in the order of their first use.
#[derive(Default)]
struct NameNumbering {
    names: Vec<Name>,
    /// The number of each name and one more, by its index; 0 of those without one.
    places: Vec<u32>,
}

impl TableIndices for NameNumbering {
    fn name(&mut self, name: Name) -> u32 {
        let index = name.index();
        if index >= self.places.len() {
            self.places.resize((index + 1).max(2 * self.places.len()), 0);
        }
        let place = &mut self.places[index];
        if *place == 0 {
            self.names.push(name);
            *place = self.names.len() as u32;
        }
        *place - 1
    }

    fn source(&mut self, _: &Source) -> u32 {
        0
    }
}

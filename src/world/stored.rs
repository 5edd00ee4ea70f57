//! Checked texts as bytes, for later runs, and back.
//!
//! ```text
//! environment 32 | identity 32 | items 4 | names 4 | places 4 | hashes 4 | from 4 | until 4
//! offset of the opening 4 | of the names 4 | of the tables 4
//! for each item: its record, then itself
//! the opening, the names
//! for each item: end 4 | offset of the record 4 | offset 4 | name 4 | signature 4 | nodes 4
//! for each name: offset of its end 4
//! for each place of the table of defined names: item 4
//! the filter of defined names: 4 bits for each of these places
//! for each item of a program: hash of its text 16
//! ```
//!
//! Numbers are little-endian; offsets are from the start. Places in an item are counted from
//! the end of the one before, so that an item can be read where it is in a
//! [changed](super::edit) text. An item is decoded when it
//! is its turn, and a name is interned when it is met. The *opening* of a text is a long
//! run of definitions, from one item until another, which can be taken over as a
//! [`Layer`](super::Layer) by a program that begins with the text, and runs what is between them;
//! that of a module is all of it. It is described by what it calls and does not define, which of its
//! items change the operators in force, which are no definitions, which variables these declare, and
//! what all of it asked of what comes before and of others.
//!
//! Most names that are looked for are defined elsewhere, such as those of the host. That a text
//! does not define them is mostly found in its filter (a Bloom filter, with two bits for each
//! name), which is small, and not in tables of which each name needs another part.

use super::lazy::LazyTable;
use super::opening::{OpeningFinder, StoredOpening};
use crate::bytes::{Damage, Reader, SharedParts, Writer, checksum};
use crate::fingerprint::Fingerprint;
use crate::name::{HeldName, Name, Names};
use crate::sema::CheckedItem;
use crate::sema::asked::ReadingRecord;
use crate::sema::checked::CheckedFunction;
use crate::sema::stored::{StoredNames, StoredTables, TableIndices};
use crate::source::Source;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// The bytes before the first table, and those of an item, and of another entry.
const HEAD: usize = 100;
const ITEM: usize = 24;
const ENTRY: usize = 4;
const HASH: usize = 16;

/// Where the identity is: that of all bytes, of which it is 0.
const IDENTITY: Range<usize> = 32..64;

/// Returns the size of the filter of defined names beside a table of that many places.
fn filter_bytes(places: usize) -> usize {
    places.div_ceil(2)
}

/// Returns the bits of the filter that are set for a name with that hash; none if no name is defined.
fn filter_bits(hash: u64, places: usize) -> impl Iterator<Item = usize> {
    let bits = 8 * filter_bytes(places) as u64;
    [hash >> 16, hash >> 40]
        .into_iter()
        .filter_map(move |part| part.checked_rem(bits))
        .map(|bit| bit as usize)
}

/// An item of a text, with what its reading asked and the offset where it ends.
#[derive(Clone)]
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
    /// The number of nodes of the largest function that can be compiled.
    pub largest: usize,
    /// How many functions have been decoded.
    pub loaded: AtomicU64,
}

/// A text that an earlier run has checked.
pub struct StoredText {
    bytes: SharedParts,
    source: [Source; 1],
    pub(super) items: usize,
    /// The number of items that were stored.
    stored: usize,
    names: StoredNameTable,
    /// Where the tables begin.
    tables: usize,
    /// The number of places of the table of defined names, and where it begins.
    places: (usize, usize),
    /// Where the filter of defined names begins.
    filter: usize,
    /// Where the hashes of the texts of items are, if it has them.
    hashes: Option<usize>,
    opening: Range<usize>,
    /// Where the opening is described.
    described: usize,
    /// What is different in the text that is read.
    pub(super) edit: Option<TextEdit>,
}

/// How a text differs from the one that was stored.
#[derive(Default)]
pub(super) struct TextEdit {
    /// The definitions that are other ones.
    pub(super) items: FxHashMap<usize, StoredItem>,
    /// How far items are from where they were, from each of these on.
    pub(super) shifts: Vec<(usize, u32)>,
    /// What the definitions call that the text does not define.
    pub(super) calls: Vec<Name>,
    /// Whether something else follows the items.
    pub(super) is_cut: bool,
    pub(super) identity: Option<Fingerprint>,
}

impl TextEdit {
    fn shift(&self, item: usize) -> u32 {
        let after = self.shifts.partition_point(|(from, _)| *from <= item);
        after.checked_sub(1).map_or(0, |last| self.shifts[last].1)
    }
}

/// The names in a stored text.
struct StoredNameTable {
    bytes: SharedParts,
    environment: Arc<StoredEnvironment>,
    held: LazyTable<HeldName>,
    /// Where they begin, and where their ends are.
    texts: usize,
    ends: usize,
}

/// A text as bytes, with its functions as long as these are alive.
#[derive(Clone, Default)]
pub struct WrittenText {
    /// The bytes.
    pub bytes: Arc<Vec<u8>>,
    /// The function of each item, which spares decoding it.
    functions: Arc<[Weak<CheckedFunction>]>,
}

impl WrittenText {
    /// Returns the function of an item; `None` if it has none or that is not alive any more.
    pub fn function(&self, item: usize) -> Option<Arc<CheckedFunction>> {
        self.functions.get(item)?.upgrade()
    }
}

impl From<Vec<u8>> for WrittenText {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(bytes), ..Self::default() }
    }
}

/// A text that is being written, item by item.
pub struct TextWriter {
    encoder: TextEncoder,
    finder: OpeningFinder,
}

impl TextWriter {
    /// Begins the text of a program, which is read in that environment.
    pub fn new(environment: &Arc<StoredEnvironment>, source: &Source) -> Self {
        Self {
            encoder: TextEncoder::new(environment, Some(source)),
            finder: OpeningFinder::new(&environment.names, environment.largest),
        }
    }

    /// Writes the next item.
    pub fn item(&mut self, stored: &StoredItem<&CheckedItem, &ReadingRecord>) {
        self.finder.item(self.encoder.table.len(), stored.item, stored.record);
        self.encoder.item(stored.item, stored.record, stored.end);
    }

    /// Returns the text; `None` if its items take 4 GiB.
    pub fn finish(self) -> Option<WrittenText> {
        let (range, opening) = self.finder.finish();
        self.encoder.finish(range, &opening)
    }
}

/// Returns the text of a module, which has been read in that environment and asked this
/// of others; `None` if its items take 4 GiB. All of it is its opening.
pub fn encode_module(
    items: &[CheckedItem],
    record: ReadingRecord,
    environment: &Arc<StoredEnvironment>,
) -> Option<WrittenText> {
    let mut encoder = TextEncoder::new(environment, None);
    let (mut defined, mut opening) = (FxHashMap::default(), StoredOpening::default());
    for (number, item) in items.iter().enumerate() {
        encoder.item(item, &ReadingRecord::default(), 0);
        match item {
            CheckedItem::Definition(function, fixity) => {
                opening.largest = opening.largest.max(function.nodes.len());
                opening
                    .others
                    .extend(defined.insert(function.name, (number, function.signature())).map(|old| old.0));
                opening.operators.extend(fixity.map(|_| number));
            }
            CheckedItem::Import(_) => {
                opening.operators.push(number);
                opening.others.push(number);
            }
            _ => opening.others.push(number),
        }
    }
    opening.others.sort_unstable();
    opening.record = record;
    for callee in items.iter().filter_map(CheckedItem::function).flat_map(|function| &function.callees) {
        if defined.get(&callee.name).is_none_or(|(_, arity)| *arity != callee.arity) {
            opening.calls.insert(callee.name);
        }
    }
    encoder.finish(0..items.len(), &opening)
}

/// The head and the contents of a stored text, as far as they have been written.
struct TextEncoder {
    environment: Arc<StoredEnvironment>,
    numbering: NameNumbering,
    /// Of each item: the end, the offsets of its record and of itself, its name, and the
    /// numbers of parameters and of nodes.
    table: Vec<[u32; 6]>,
    functions: Vec<Weak<CheckedFunction>>,
    /// The text of a program.
    source: Option<Source>,
    hashes: Vec<[u8; HASH]>,
    writer: Writer,
}

impl TextEncoder {
    fn new(environment: &Arc<StoredEnvironment>, source: Option<&Source>) -> Self {
        let mut writer = Writer::default();
        writer.bytes(&[0; HEAD]);
        let (environment, numbering) = (environment.clone(), NameNumbering::new(environment));
        Self {
            environment,
            numbering,
            table: Vec::new(),
            functions: Vec::new(),
            source: source.cloned(),
            hashes: Vec::new(),
            writer,
        }
    }

    fn item(&mut self, item: &CheckedItem, record: &ReadingRecord, end: u32) {
        let function = item.function();
        let name = function.map_or(0, |function| self.numbering.name(function.name));
        let [arity, nodes] =
            function.map_or([0; 2], |function| [function.signature(), function.nodes.len() as u32]);
        if let Some(source) = &self.source {
            let start = std::mem::replace(&mut self.numbering.end, end);
            self.numbering.start = start;
            self.hashes.push(hash_of(source, start..end));
        }
        let asked = self.writer.len() as u32;
        record.write(&mut self.writer, &mut self.numbering);
        self.table.push([end, asked, self.writer.len() as u32, name, arity, nodes]);
        item.write(&mut self.writer, &mut self.numbering);
        self.functions.push(function.map_or_else(Weak::new, Arc::downgrade));
    }

    /// Returns the text.
    fn finish(self, range: Range<usize>, opening: &StoredOpening) -> Option<WrittenText> {
        let Self { environment, mut numbering, table, functions, hashes, mut writer, .. } = self;
        let described = writer.len();
        opening.write(&mut writer, &mut numbering);
        let texts = writer.len();
        writer.bytes(&numbering.texts);
        let defined = range.len() - opening.others.len();
        let mut places = vec![0_u32; if defined == 0 { 0 } else { (2 * defined).next_power_of_two() }];
        let mut filter = vec![0_u8; filter_bytes(places.len())];
        for number in range.clone().filter(|number| opening.others.binary_search(number).is_err()) {
            let hash = checksum(numbering.text(table[number][3]));
            for bit in filter_bits(hash, places.len()) {
                filter[bit / 8] |= 1 << (bit % 8);
            }
            let first = hash as usize % places.len();
            let free = (first..places.len()).chain(0..first).find(|place| places[*place] == 0);
            free.into_iter().for_each(|place| places[place] = number as u32 + 1);
        }
        let tables = writer.len();
        table.iter().flatten().for_each(|word| writer.word(*word));
        let ends = numbering.ends.iter().map(|end| texts as u32 + end);
        ends.chain(places.iter().copied()).for_each(|word| writer.word(word));
        writer.bytes(&filter);
        hashes.iter().for_each(|hash| writer.bytes(hash));
        u32::try_from(writer.len()).ok()?;
        let mut head = Writer::with_room(HEAD);
        head.bytes(environment.identity.as_bytes());
        head.bytes(&[0; 32]);
        let counts = [table.len(), numbering.ends.len(), places.len(), hashes.len(), range.start, range.end];
        let offsets = [described, texts, tables];
        counts.into_iter().chain(offsets).for_each(|word| head.word(word as u32));
        let mut bytes = writer.finish();
        bytes[..HEAD].copy_from_slice(&head.finish());
        let identity = Fingerprint::of_bytes("kal 2026 checked text", &bytes);
        bytes[IDENTITY].copy_from_slice(identity.as_bytes());
        Some(WrittenText { bytes: Arc::new(bytes), functions: functions.into() })
    }
}

impl StoredText {
    /// Reads the head of a stored text, which is that of `source`.
    ///
    /// # Errors
    /// When the tables are not there, or it was read in another environment.
    pub fn new(
        bytes: SharedParts,
        source: &Source,
        environment: &Arc<StoredEnvironment>,
    ) -> Result<Self, Damage> {
        let head = part(&bytes, 0..HEAD.min(bytes.len()))?;
        let mut reader = Reader::new(&head);
        let read_in = reader.bytes(32)?;
        reader.expect(read_in == environment.identity.as_bytes(), "read where other functions are known")?;
        reader.bytes(IDENTITY.len())?;
        let mut word = || reader.word().map(|word| word as usize);
        let [items, names, places, hashes] = [word()?, word()?, word()?, word()?];
        let opening = word()?..word()?;
        let [described, texts, tables] = [word()?, word()?, word()?];
        let sizes =
            [(items, ITEM), (names, ENTRY), (places, ENTRY), (filter_bytes(places), 1), (hashes, HASH)];
        let sizes = sizes.map(|(count, size)| count.checked_mul(size));
        let end = sizes.into_iter().try_fold(tables, |end, size| end.checked_add(size?));
        reader.expect(end.is_some_and(|end| end <= bytes.len()), "a table is missing")?;
        let is_whole =
            opening.start <= opening.end && opening.end <= items && (hashes == 0 || hashes == items);
        reader.expect(is_whole && (places == 0 || places.is_power_of_two()), "no such opening")?;
        let ends = tables + items * ITEM;
        let filter = ends + (names + places) * ENTRY;
        let hashes = (hashes > 0).then_some(filter + filter_bytes(places));
        drop(head);
        let places = (places, ends + names * ENTRY);
        let held = LazyTable::new(names);
        let names =
            StoredNameTable { bytes: bytes.clone(), environment: environment.clone(), held, texts, ends };
        let (source, edit) = ([source.clone()], None);
        let stored = items;
        Ok(Self {
            bytes,
            source,
            items,
            stored,
            names,
            tables,
            places,
            filter,
            hashes,
            opening,
            described,
            edit,
        })
    }

    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.items
    }

    /// Returns whether nothing follows the items.
    pub fn is_all(&self) -> bool {
        self.edit.as_ref().is_none_or(|edit| !edit.is_cut)
    }

    /// Returns whether the text is another one than was stored.
    pub fn is_edited(&self) -> bool {
        self.edit.is_some()
    }

    /// Returns whether an item is another one than was stored.
    pub fn is_changed(&self, item: usize) -> bool {
        self.changed(item).is_some()
    }

    /// Returns what the writer of the bytes says that they are: what is known of a text
    /// of this identity is about these items.
    pub fn identity(&self) -> Option<Fingerprint> {
        match &self.edit {
            Some(edit) => edit.identity,
            None => self.stored_identity(),
        }
    }

    /// Returns the same of the text that was stored, which may be an earlier one.
    pub fn stored_identity(&self) -> Option<Fingerprint> {
        let identity = self.bytes.part(IDENTITY)?;
        (*identity).try_into().ok().map(Fingerprint::from_bytes)
    }

    /// Returns the number of names in it.
    pub fn name_count(&self) -> usize {
        self.names.held.len()
    }

    /// Returns the items that a layer can stand for.
    pub fn opening(&self) -> Range<usize> {
        self.opening.clone()
    }

    /// Returns the table of names of its engine.
    pub fn names(&self) -> &Arc<Names> {
        &self.names.environment.names
    }

    /// Decodes an item, with what its reading asked.
    ///
    /// # Errors
    /// When its bytes are not those of an item, or there is no such item.
    pub fn item(&self, number: usize) -> Result<StoredItem, Damage> {
        if let Some(changed) = self.changed(number) {
            return Ok(changed.clone());
        }
        let entry = self.entry(number)?;
        let asked = part(&self.bytes, entry.record..entry.item)?;
        let record = ReadingRecord::read(&mut Reader::new(&asked), &self.tables())?;
        Ok(StoredItem { item: self.checked_item(number)?, record, end: self.end(number)? })
    }

    /// Decodes an item.
    ///
    /// # Errors
    /// When its bytes are not those of an item of that name, or there is no such item.
    pub fn checked_item(&self, number: usize) -> Result<CheckedItem, Damage> {
        if let Some(changed) = self.changed(number) {
            return Ok(changed.item.clone());
        }
        let entry = self.entry(number)?;
        let tables = self.tables().from(self.start(number)?);
        // What follows is the record of the next item, or the opening.
        let until = if number + 1 < self.stored { self.entry_of(number + 1)?.record } else { self.described };
        let bytes = part(&self.bytes, entry.item..until)?;
        let item = CheckedItem::read(&mut Reader::new(&bytes), &tables)?;
        let name = self.names.get(entry.name).map(|held| held.name());
        let is_described = item.function().is_none_or(|function| {
            Some(function.name) == name && (function.signature(), function.nodes.len() as u32) == entry.size
        });
        if !is_described {
            return Err(Damage { what: "another definition", at: entry.item });
        }
        self.names.environment.loaded.fetch_add(item.function().iter().len() as u64, Ordering::Relaxed);
        Ok(item)
    }

    /// Returns the offset in the text where an item ends.
    ///
    /// # Errors
    /// When there is no such item.
    pub fn end(&self, number: usize) -> Result<u32, Damage> {
        if let Some(changed) = self.changed(number) {
            return Ok(changed.end);
        }
        Ok(self.stored_end(number)?.wrapping_add(self.edit.as_ref().map_or(0, |edit| edit.shift(number))))
    }

    /// Returns the offset in the text that was stored where an item ends.
    pub(super) fn stored_end(&self, number: usize) -> Result<u32, Damage> {
        Ok(self.entry(number)?.end)
    }

    /// Returns the offset in the text where the item before ends.
    pub fn start(&self, number: usize) -> Result<u32, Damage> {
        if number == 0 { Ok(0) } else { self.end(number - 1) }
    }

    /// Returns the item that is there now.
    fn changed(&self, number: usize) -> Option<&StoredItem> {
        self.edit.as_ref()?.items.get(&number)
    }

    /// Returns the hash of the text of an item; `None` if it is not known.
    pub(super) fn hash(&self, number: usize) -> Option<[u8; HASH]> {
        let at = self.hashes.filter(|_| number < self.items)? + number * HASH;
        (*self.bytes.part(at..at + HASH)?).try_into().ok()
    }

    /// Returns the signature of the definition that an item is,
    /// and the number of its nodes.
    pub(super) fn size_of(&self, item: usize) -> Option<(u32, u32)> {
        if let Some(function) = self.changed(item).and_then(|changed| changed.item.function()) {
            return Some((function.signature(), function.nodes.len() as u32));
        }
        self.entry(item).ok().map(|entry| entry.size)
    }

    /// Returns the item of the opening that defines a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        let (count, start) = self.places;
        let hash = checksum(name.as_bytes());
        for bit in filter_bits(hash, count) {
            let at = self.filter + bit / 8;
            if self.bytes.part(at..at + 1)?.first()? >> (bit % 8) & 1 == 0 {
                return None;
            }
        }
        let first = hash as usize;
        // A damaged table may be full.
        for step in 0..count {
            let at = start + (first.wrapping_add(step) & (count - 1)) * ENTRY;
            let item = (word(&self.bytes, at)? as usize).checked_sub(1)?;
            if self.names.text(self.name_index(item)?)? == name && self.opening.contains(&item) {
                return Some(item);
            }
        }
        None
    }

    /// Returns the name of the function of an item.
    pub fn name(&self, number: usize) -> Option<HeldName> {
        self.names.get(self.name_index(number)?)
    }

    fn name_index(&self, number: usize) -> Option<usize> {
        self.entry(number).ok().map(|entry| entry.name)
    }

    /// Returns the items of the opening that are definitions in force, in order.
    pub fn definitions(&self) -> impl Iterator<Item = usize> {
        let is_found = |number: &usize| {
            let name = self.names.text(self.name_index(*number)?)?;
            Some(self.find(&name)? == *number)
        };
        self.opening.clone().filter(move |number| is_found(number) == Some(true))
    }

    /// Reads what is known of the opening.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn described(&self) -> Result<StoredOpening, Damage> {
        let bytes = part(&self.bytes, self.described..self.names.texts)?;
        let mut opening = StoredOpening::read(&mut Reader::new(&bytes), &self.tables())?;
        let is_within = opening.others.is_sorted_by(|before, after| before < after)
            && opening.others.iter().all(|number| self.opening.contains(number));
        if !is_within {
            return Err(Damage { what: "items out of order", at: self.described });
        }
        opening.calls.extend(self.edit.iter().flat_map(|edit| &edit.calls));
        Ok(opening)
    }

    fn tables(&self) -> StoredTables<'_> {
        StoredTables::new(&self.names, &self.source)
    }

    fn entry(&self, number: usize) -> Result<ItemEntry, Damage> {
        let is_there = number < self.items;
        if is_there { self.entry_of(number) } else { Err(Damage { what: "no such item", at: self.tables }) }
    }

    /// Returns the entry of an item that was stored.
    fn entry_of(&self, number: usize) -> Result<ItemEntry, Damage> {
        let at = self.tables + number * ITEM;
        let bytes = part(&self.bytes, at..at + ITEM)?;
        let mut reader = Reader::new(&bytes);
        let end = reader.word()?;
        let [record, item, name] = [reader.word()?, reader.word()?, reader.word()?].map(|word| word as usize);
        Ok(ItemEntry { end, record, item, name, size: (reader.word()?, reader.word()?) })
    }
}

/// What the table of items says of one.
struct ItemEntry {
    /// The offset in the text where it ends.
    end: u32,
    /// Where its record and the item itself are.
    record: usize,
    item: usize,
    name: usize,
    /// The signature and the number of nodes of its function.
    size: (u32, u32),
}

fn part(bytes: &SharedParts, range: Range<usize>) -> Result<Cow<'_, [u8]>, Damage> {
    let at = range.start;
    bytes.part(range).ok_or(Damage { what: "an offset beyond the end", at })
}

fn word(bytes: &SharedParts, at: usize) -> Option<u32> {
    Reader::new(&bytes.part(at..at.checked_add(ENTRY)?)?).word().ok()
}

impl StoredNameTable {
    fn text(&self, index: usize) -> Option<Cow<'_, str>> {
        let last = (index < self.held.len()).then(|| self.ends + index * ENTRY)?;
        let end = |at| word(&self.bytes, at).map(|end| end as usize);
        let start = if index == 0 { self.texts } else { end(last - ENTRY)? };
        match self.bytes.part(start..end(last)?)? {
            Cow::Borrowed(text) => std::str::from_utf8(text).ok().map(Cow::Borrowed),
            Cow::Owned(text) => String::from_utf8(text).ok().map(Cow::Owned),
        }
    }
}

impl StoredNames for StoredNameTable {
    fn get(&self, index: usize) -> Option<HeldName> {
        let hold = || {
            let text = self.text(index).ok_or(Damage { what: "a name is missing", at: 0 })?;
            self.environment.names.try_hold(&text).map_err(|_| Damage { what: "too many names", at: 0 })
        };
        self.held.get_or_make(index, hold).cloned()
    }
}

/// Names, numbered in the order of their first use, and their texts.
struct NameNumbering {
    environment: Arc<StoredEnvironment>,
    numbers: FxHashMap<Name, u32>,
    /// Nothing holds a name until all is written: the texts of all, one after the other.
    texts: Vec<u8>,
    /// Where each ends.
    ends: Vec<u32>,
    /// The place of the item that is being written, and from where its places are counted.
    start: u32,
    end: u32,
}

impl NameNumbering {
    fn new(environment: &Arc<StoredEnvironment>) -> Self {
        let environment = environment.clone();
        let (numbers, texts, ends) = (FxHashMap::default(), Vec::new(), Vec::new());
        Self { environment, numbers, texts, ends, start: 0, end: 0 }
    }

    fn text(&self, number: u32) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        &self.texts[start as usize..self.ends[number as usize] as usize]
    }
}

impl TableIndices for NameNumbering {
    fn name(&mut self, name: Name) -> u32 {
        let Self { environment, numbers, texts, ends, .. } = self;
        *numbers.entry(name).or_insert_with(|| {
            texts.extend_from_slice(environment.names.text(name).as_bytes());
            ends.push(texts.len() as u32);
            ends.len() as u32 - 1
        })
    }

    fn source(&mut self, _: &Source) -> u32 {
        0
    }

    fn base(&self) -> u32 {
        self.start
    }
}

/// Returns the hash of the text of an item.
pub(super) fn hash_of(source: &Source, range: Range<u32>) -> [u8; HASH] {
    let text = source.text().get(range.start as usize..range.end as usize).unwrap_or_default();
    let mut hash = [0; HASH];
    hash.copy_from_slice(&Fingerprint::of_bytes("kal 2026 item", text.as_bytes()).as_bytes()[..HASH]);
    hash
}

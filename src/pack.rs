//! The pack: code in one file, found by what it was made of.
//!
//! ```text
//! magic 8 | format 4 | sections 4 | build 32 | target 32 | MAC 32
//! for each section: kind 4 | 0 4 | offset 8 | length 8 | hash 32
//! the sections
//! ```
//!
//! Numbers are little-endian. A hash is BLAKE3 of a section; the MAC is BLAKE3 with
//! the user's key of everything before it and of the table of sections, and so of
//! all. What is read is copied first, so what was checked is what is used. A large text stays
//! in the file. All of it is checked at first, unless that is known from earlier, and each piece
//! again when it is read. Large code stays in the file as well, with what is behind it: mostly, all
//! of the code is read to where it will run, and checked there, and little of the rest is needed.
//!
//! | section | contents |
//! |---|---|
//! | meta | JSON: the source, and the earlier text whose packs are needed; blanks, so that large code begins at a page |
//! | index | for each body, sorted by identity: identity 32, code offset 4, code length 4, size of the body 4, first field 4, fields 4, those before the fields of slots 4, origin 4 |
//! | symbols | offset 4, length 4 |
//! | names | UTF-8 |
//! | links | which bodies are the code of which definitions of the text: see [`links`] |
//! | pieces | the hashes of each 16 KiB of the code and each 4 KiB of the fields, if the code is large, and of each 4 KiB of the text, if one of them is |
//! | code | portable code, each at a multiple of 64 bytes |
//! | fields | at 4, kind 4, addend 4, symbol 4 |
//! | origins | what each body was made of, for people; its hash is checked when it is read |
//! | text | the checked items of the text, unless another pack has them |
//!
//! The hash of the code is that of the hashes of these pieces; so are those of the fields and the text.

mod index;
pub mod links;
pub mod origin;
mod pieces;
pub mod portable;
pub mod store;
#[cfg(any(test, fuzzing))]
mod testing;
mod writing;

use crate::bytes::{Damage, Parts, Reader, SharedBytes, SharedParts, StoredBytes};
use crate::fingerprint::Fingerprint;
use crate::process;
use kal_code::{CodeFile, CodePart};
use origin::CodeOrigin;
pub use pieces::ReadAt;
use pieces::{FileSection, LateSection, PieceSize, SectionEntry};
use portable::{Field, FieldKind, PortableCode};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
pub use store::{CodeStore, FoundCode, StoreCounts};
#[cfg(fuzzing)]
pub use testing::damaged_packs;
pub use writing::{PackContents, append, to_bytes, write};

const MAGIC: &[u8; 8] = b"KALPACK\n";

/// The number of this format.
const FORMAT: u32 = 8;

/// The bytes before the MAC.
const HEAD: usize = 80;

/// The bytes before the first section.
const TABLES: usize = HEAD + 32 + SECTIONS.len() * SECTION;

/// The bytes of an entry in the table of sections.
const SECTION: usize = 56;

/// The bytes of a record of the index, of a field, and of a symbol.
const ENTRY: usize = 60;
const FIELD: usize = 16;
const SYMBOL: usize = 8;

/// What a pack contains, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SectionKind {
    Meta = 1,
    Index,
    Symbols,
    Names,
    Links,
    Pieces,
    Code,
    Fields,
    Origins,
    Text,
}

const SECTIONS: [SectionKind; 10] = [
    SectionKind::Meta,
    SectionKind::Index,
    SectionKind::Symbols,
    SectionKind::Names,
    SectionKind::Links,
    SectionKind::Pieces,
    SectionKind::Code,
    SectionKind::Fields,
    SectionKind::Origins,
    SectionKind::Text,
];

/// The size up to which code and a text are read with the rest, in bytes.
const SMALL: u64 = 256 << 10;

/// What the start of large code in a pack is a multiple of, in bytes.
pub const PAGE: usize = 4096;

/// Returns whether a section of that many bytes is left in its file.
pub fn is_large(bytes: u64) -> bool {
    bytes > SMALL
}

/// A secret of the user, with which packs are authenticated.
pub type SecretKey = [u8; 32];

/// What a pack is read from: a file.
pub struct PackInput {
    /// Reads from it.
    pub read: ReadAt,
    /// Its size in bytes.
    pub size: u64,
    /// Whether all of it was found to be whole earlier, and it has not been written since.
    pub is_known: bool,
}

/// A pack that has been checked.
pub struct Pack {
    bytes: StoredBytes,
    sections: [Range<usize>; SECTIONS.len()],
    in_file: LeftInFile,
    /// The code in an image in a file.
    mapped_code: Option<CodePart>,
    /// The hash that the section of origins has, if it is whole.
    origins: blake3::Hash,
    is_trusted: bool,
}

/// What of a pack is not among its bytes.
#[derive(Default)]
struct LeftInFile {
    code: Option<FileSection>,
    fields: Option<FileSection>,
    origins: Option<LateSection>,
    text: Option<FileSection>,
}

impl LeftInFile {
    /// Returns a section of which parts are read.
    fn in_pieces(&self, kind: SectionKind) -> Option<&FileSection> {
        match kind {
            SectionKind::Code => self.code.as_ref(),
            SectionKind::Fields => self.fields.as_ref(),
            SectionKind::Text => self.text.as_ref(),
            _ => None,
        }
    }

    fn has(&self, kind: SectionKind) -> bool {
        self.in_pieces(kind).is_some() || kind == SectionKind::Origins && self.origins.is_some()
    }

    /// Returns how many bytes that is.
    fn len(&self) -> usize {
        let in_pieces = self.code.iter().chain(&self.fields).chain(&self.text).map(Parts::len);
        in_pieces.chain(self.origins.iter().map(LateSection::len)).sum()
    }
}

/// The bodies of a pack, by number.
#[derive(Clone, Copy)]
struct PackedBodies<'a> {
    pack: &'a Pack,
    index: &'a [[u8; ENTRY]],
}

/// The code of a body in a pack.
#[derive(Clone, Copy)]
pub struct PackedBody<'a> {
    pack: &'a Pack,
    /// Where its code and constants are in the code of the pack.
    start: usize,
    len: usize,
    /// The size of the body.
    pub size: u32,
    /// Which fields are to be filled in.
    first_field: usize,
    field_count: usize,
    /// How many of them come before those of slots.
    others: usize,
    entry: &'a [u8],
}

impl Pack {
    /// Reads a pack that this build has made for this target, with this key.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(bytes: impl Into<StoredBytes>, target: Fingerprint, key: &SecretKey) -> Result<Self, Damage> {
        Self::open_known(bytes, target, key, false)
    }

    /// Reads a pack as [`open`](Self::open) does. One that `is_known` to be whole is not checked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open_known(
        bytes: impl Into<StoredBytes>,
        target: Fingerprint,
        key: &SecretKey,
        is_known: bool,
    ) -> Result<Self, Damage> {
        let bytes = bytes.into();
        let head = PackHead::read(bytes.get(), target)?;
        head.authenticate(key)?;
        head.pack(bytes, LeftInFile::default(), |section, contents| {
            is_known || PackHead::is_whole(section, contents)
        })
    }

    /// Returns the pack with its code where it can be mapped: it begins in a file, which does not
    /// change, at an offset.
    pub fn in_file(mut self, file: &CodeFile, start: u64) -> Self {
        let code = self.sections[SectionKind::Code as usize - 1].clone();
        let is_large = is_large(code.len() as u64);
        self.mapped_code = file.part(start + code.start as u64, code.len()).filter(|_| is_large);
        self
    }

    /// Returns all code, if it can be mapped.
    pub fn mapped_code(&self) -> Option<&CodePart> {
        self.mapped_code.as_ref()
    }

    /// Reads a pack in a file of that size that this build has made for this target: with
    /// its code if it was made with this key, or else, if that `is_enough`, only its
    /// checked items, which are validated when they are decoded.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open_file(
        file: PackInput,
        target: Fingerprint,
        key: Option<&SecretKey>,
        is_enough: bool,
    ) -> Result<Self, Damage> {
        let PackInput { read, size, is_known } = file;
        let missing = Damage { what: "unexpected end", at: 0 };
        let mut first = [0; TABLES];
        read(&mut first, 0).ok_or(missing)?;
        let head = PackHead::read(&first, target)?;
        let signed =
            key.map_or(Err(Damage { what: "there is no key", at: HEAD }), |key| head.authenticate(key));
        if let (Err(damage), false) = (signed, is_enough) {
            return Err(damage);
        }
        let read: Arc<ReadAt> = Arc::new(read);
        let section = |kind: SectionKind| head.sections[kind as usize - 1];
        let code = Some(section(SectionKind::Code)).filter(|code| is_large(code.bytes));
        // What is behind large code is left in the file, too.
        let text = Some(section(SectionKind::Text));
        let text = text.filter(|text| is_large(text.bytes) || code.is_some() && text.bytes > 0);
        let in_memory = code.or(text).map_or(size, |first| first.start);
        let in_memory = usize::try_from(in_memory).ok().filter(|_| in_memory <= size).ok_or(missing)?;
        let no_memory = Damage { what: "there is no memory for it", at: 0 };
        let (mut whole, range) = process::zeros(in_memory).ok_or(no_memory)?;
        let contents = &mut whole[range.clone()];
        read(contents, 0).ok_or(missing)?;
        if contents.get(..TABLES) != Some(&first[..]) {
            return Err(Damage { what: "it changed while it was read", at: 0 });
        }
        let hashes =
            head.range(SectionKind::Pieces).and_then(|range| contents.get(range)).unwrap_or_default();
        let fields = code.map(|_| section(SectionKind::Fields));
        let hash_bytes = |section: Option<SectionEntry>, pieces: PieceSize| {
            section.map_or(0, |section| pieces.hash_bytes(section.bytes))
        };
        let of_code = hash_bytes(code, PieceSize::OF_CODE).min(hashes.len());
        let (of_code, hashes) = hashes.split_at(of_code);
        let (of_fields, of_text) = hashes.split_at(hash_bytes(fields, PieceSize::OF_TEXT).min(hashes.len()));
        let code = code.map(|code| FileSection::find(read.clone(), code, PieceSize::OF_CODE, size, of_code));
        let code = code.transpose()?;
        let fields =
            fields.map(|fields| FileSection::find(read.clone(), fields, PieceSize::OF_TEXT, size, of_fields));
        let fields = fields.transpose()?;
        let text = text.map(|text| match is_known && signed.is_ok() && !of_text.is_empty() {
            true => FileSection::find(read.clone(), text, PieceSize::OF_TEXT, size, of_text),
            false => FileSection::check(read.clone(), text, PieceSize::OF_TEXT),
        });
        let text = text.transpose()?;
        let origins = section(SectionKind::Origins);
        let origins = code.as_ref().map(|_| LateSection::find(read.clone(), origins, size)).transpose()?;
        let contents = StoredBytes::part(&(Arc::new(whole) as SharedBytes), range).ok_or(missing)?;
        let in_file = LeftInFile { code, fields, origins, text };
        let mut pack = head.pack(contents, in_file, PackHead::is_whole)?;
        if signed.is_err() {
            pack.is_trusted = false;
            pack.in_file = LeftInFile { text: pack.in_file.text.take(), ..LeftInFile::default() };
            for kind in SECTIONS.into_iter().filter(|kind| *kind != SectionKind::Text) {
                pack.sections[kind as usize - 1] = 0..0;
            }
        }
        Ok(pack)
    }

    /// Returns whether its text is large.
    pub fn leaves_text_in_file(&self) -> bool {
        self.in_file.text.is_some()
    }

    /// Returns whether it was made with this user's key, so that its code may be run.
    pub fn is_trusted(&self) -> bool {
        self.is_trusted
    }

    /// Returns the number of bodies in it.
    pub fn len(&self) -> usize {
        self.section(SectionKind::Index).len() / ENTRY
    }

    /// Returns its size in bytes.
    pub fn size(&self) -> usize {
        self.bytes.get().len() + self.in_file.len()
    }

    /// Returns the code of that identity.
    pub fn find(&self, identity: &Fingerprint) -> Option<PackedBody<'_>> {
        let all = self.all_bodies();
        Some(all.get(index::number_of(all.index, identity)?)?.1)
    }

    /// Returns what is said of it, as JSON.
    pub fn meta(&self) -> &[u8] {
        self.section(SectionKind::Meta)
    }

    /// Returns the checked items of the text; `None` if another pack has them.
    pub fn text(self: &Arc<Self>) -> Option<SharedParts> {
        let is_there = self.in_file.text.is_some() || !self.section(SectionKind::Text).is_empty();
        is_there.then(|| Arc::new(PackedText(self.clone())) as SharedParts)
    }

    /// Returns all bodies with their identities.
    pub fn bodies(&self) -> impl Iterator<Item = (Fingerprint, PackedBody<'_>)> {
        let all = self.all_bodies();
        (0..self.len()).filter_map(move |number| all.get(number))
    }

    fn all_bodies(&self) -> PackedBodies<'_> {
        PackedBodies { pack: self, index: self.section(SectionKind::Index).as_chunks().0 }
    }

    /// Returns the size of all code, in bytes.
    pub fn code_len(&self) -> usize {
        self.len_of(SectionKind::Code)
    }

    /// Copies all code to memory of that size. Returns whether it is not damaged.
    pub fn copy_code(&self, memory: &mut [u8]) -> bool {
        match &self.in_file.code {
            Some(code) => code.copy(memory),
            None => {
                memory.copy_from_slice(self.section(SectionKind::Code));
                true
            }
        }
    }

    /// Returns the length of a section, in bytes.
    fn len_of(&self, kind: SectionKind) -> usize {
        self.in_file.in_pieces(kind).map_or_else(|| self.section(kind).len(), Parts::len)
    }

    /// Returns a part of a section; `None` if it is damaged, or is not there.
    fn part(&self, kind: SectionKind, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        match self.in_file.in_pieces(kind) {
            Some(section) => section.part(range),
            None => self.section(kind).get(range).map(Cow::Borrowed),
        }
    }

    /// Returns whether what the bodies were made of is not damaged.
    pub fn has_origins(&self) -> bool {
        blake3::hash(self.section(SectionKind::Origins)) == self.origins
    }

    /// Returns whether nothing is damaged that is checked only when it is used.
    #[cfg(any(test, feature = "cli"))]
    pub fn is_whole(&self) -> bool {
        let LeftInFile { code, fields, text, .. } = &self.in_file;
        self.has_origins() && code.iter().chain(fields).chain(text).all(FileSection::is_whole)
    }

    /// Returns what the bodies were made of; none if that is damaged.
    #[cfg(any(test, fuzzing, feature = "cli"))]
    pub fn origins(&self) -> Vec<CodeOrigin> {
        if !self.has_origins() {
            return Vec::new();
        }
        let entries = self.section(SectionKind::Index).chunks_exact(ENTRY);
        entries.filter_map(|entry| self.origin(&entry[32..])).collect()
    }

    fn origin(&self, entry: &[u8]) -> Option<CodeOrigin> {
        let at = Reader::new(entry.get(24..)?).word().ok()?;
        let bytes = self.section(SectionKind::Origins).get(at as usize..)?;
        CodeOrigin::read(&mut Reader::new(bytes)).ok()
    }

    /// Returns a symbol by its number.
    fn symbol(&self, number: u32) -> Option<&str> {
        let at = (number as usize).checked_mul(SYMBOL)?;
        let mut reader = Reader::new(self.section(SectionKind::Symbols).get(at..at + SYMBOL)?);
        let (start, length) = (reader.word().ok()? as usize, reader.word().ok()? as usize);
        self.name(start, length)
    }

    fn name(&self, start: usize, length: usize) -> Option<&str> {
        std::str::from_utf8(self.name_bytes(start, length)?).ok()
    }

    fn name_bytes(&self, start: usize, length: usize) -> Option<&[u8]> {
        self.section(SectionKind::Names).get(start..start.checked_add(length)?)
    }

    /// Returns a section of which not only parts are read; origins that are damaged are empty.
    fn section(&self, kind: SectionKind) -> &[u8] {
        match &self.in_file.origins {
            Some(origins) if kind == SectionKind::Origins => origins.get().unwrap_or_default(),
            _ => &self.bytes.get()[self.sections[kind as usize - 1].clone()],
        }
    }
}

/// The text of a pack.
struct PackedText(Arc<Pack>);

impl Parts for PackedText {
    fn len(&self) -> usize {
        self.0.len_of(SectionKind::Text)
    }

    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.0.part(SectionKind::Text, range)
    }
}

/// What comes before the sections of a pack.
struct PackHead {
    /// All of it.
    bytes: [u8; TABLES],
    mac: blake3::Hash,
    sections: [SectionEntry; SECTIONS.len()],
}

impl PackHead {
    /// Reads the head of a pack that this build has made for this target.
    fn read(bytes: &[u8], target: Fingerprint) -> Result<Self, Damage> {
        let mut reader = Reader::new(bytes);
        let is_pack = reader.bytes(8)? == MAGIC;
        reader.expect(is_pack, "not a pack")?;
        let format = reader.word()?;
        reader.expect(format == FORMAT, "another format")?;
        let count = reader.word()? as usize;
        reader.expect(count == SECTIONS.len(), "another number of sections")?;
        let build = reader.bytes(32)?;
        reader.expect(build == Fingerprint::BUILD.as_bytes(), "made by another build")?;
        let made_for = reader.bytes(32)?;
        reader.expect(made_for == target.as_bytes(), "made for another processor")?;
        let mut hash = [0; 32];
        hash.copy_from_slice(reader.bytes(32)?);
        let mac = hash.into();
        let empty = SectionEntry { start: 0, bytes: 0, hash: mac };
        let mut sections = [empty; SECTIONS.len()];
        for (kind, section) in SECTIONS.iter().zip(&mut sections) {
            let found = reader.word()?;
            let is_next = found == *kind as u32 && reader.word()? == 0;
            reader.expect(is_next, "sections out of order")?;
            (section.start, section.bytes) = (reader.long()?, reader.long()?);
            hash.copy_from_slice(reader.bytes(32)?);
            section.hash = hash.into();
        }
        let bytes = bytes[..TABLES].try_into().map_err(|_| reader.damage("unexpected end"))?;
        Ok(Self { bytes, mac, sections })
    }

    /// Checks that it was made with a key.
    fn authenticate(&self, key: &SecretKey) -> Result<(), Damage> {
        let (head, rest) = self.bytes.split_at(HEAD);
        // Compares in constant time.
        let is_ours = self.mac == authenticate(key, head, &rest[32..]);
        if is_ours { Ok(()) } else { Err(Damage { what: "made with another key, or damaged", at: HEAD }) }
    }

    /// Returns whether the hash of a section is that of its contents.
    fn is_whole(section: (SectionKind, blake3::Hash), contents: &[u8]) -> bool {
        match section {
            // It is checked when it is read.
            (SectionKind::Origins, _) => true,
            (SectionKind::Code, hash) => PieceSize::OF_CODE.hash(contents) == hash,
            (SectionKind::Fields | SectionKind::Text, hash) => PieceSize::OF_TEXT.hash(contents) == hash,
            (_, hash) => blake3::hash(contents) == hash,
        }
    }

    /// Returns where a section is.
    fn range(&self, kind: SectionKind) -> Option<Range<usize>> {
        let SectionEntry { start, bytes, .. } = self.sections[kind as usize - 1];
        let start = usize::try_from(start).ok()?;
        Some(start..start.checked_add(usize::try_from(bytes).ok()?)?)
    }

    /// Returns the pack, of which something may be left in its file, if all other sections are
    /// whole.
    fn pack(
        self,
        stored: StoredBytes,
        in_file: LeftInFile,
        is_whole: impl Fn((SectionKind, blake3::Hash), &[u8]) -> bool,
    ) -> Result<Pack, Damage> {
        let bytes = stored.get();
        let damage = |what| Damage { what, at: TABLES };
        let mut sections = [const { 0..0 }; SECTIONS.len()];
        for ((kind, entry), section) in SECTIONS.iter().zip(&self.sections).zip(&mut sections) {
            if in_file.has(*kind) {
                continue;
            }
            // What is empty may be behind what is left in the file.
            let range = self.range(*kind).map(|range| if range.is_empty() { 0..0 } else { range });
            let contents = range.and_then(|range| Some((range.clone(), bytes.get(range)?)));
            let (range, contents) = contents.ok_or(damage("a section beyond the end"))?;
            if !is_whole((*kind, entry.hash), contents) {
                return Err(damage("a damaged section"));
            }
            *section = range;
        }
        let origins = self.sections[SectionKind::Origins as usize - 1].hash;
        let lengths = self.sections.map(|section| section.bytes);
        let pack = Pack { bytes: stored, sections, in_file, mapped_code: None, origins, is_trusted: true };
        let whole = |kind: SectionKind, record| lengths[kind as usize - 1].is_multiple_of(record as u64);
        let is_whole = whole(SectionKind::Index, ENTRY)
            && whole(SectionKind::Fields, FIELD)
            && whole(SectionKind::Symbols, SYMBOL);
        if !is_whole || std::str::from_utf8(pack.section(SectionKind::Names)).is_err() {
            return Err(damage("a malformed section"));
        }
        Ok(pack)
    }
}

impl<'a> PackedBodies<'a> {
    /// Returns the identity and the code of a body; `None` if it is not there as a whole.
    fn get(&self, number: usize) -> Option<(Fingerprint, PackedBody<'a>)> {
        let (identity, entry) = self.index.get(number)?.split_first_chunk()?;
        let word = |at| Some(u32::from_le_bytes(*entry.get(at..)?.first_chunk()?) as usize);
        let (start, length, size) = (word(0)?, word(4)?, word(8)?);
        let (first, count, others) = (word(12)?, word(16)?, word(20)?);
        let is_there = start.checked_add(length).is_some_and(|end| end <= self.pack.code_len());
        let (pack, len, size) = (self.pack, length, size as u32);
        let body =
            PackedBody { pack, start, len, size, first_field: first, field_count: count, others, entry };
        (is_there && size as usize <= len && others <= count)
            .then_some((Fingerprint::from_bytes(*identity), body))
    }
}

impl<'a> PackedBody<'a> {
    /// Returns its code and constants; `None` if they are damaged.
    pub fn code(&self) -> Option<Cow<'a, [u8]>> {
        self.pack.part(SectionKind::Code, self.place())
    }

    /// Returns where its code and constants are in the code of the pack.
    pub fn place(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// Returns what is to be filled in, with what `symbol` makes of each symbol; `None`
    /// if a field is malformed, or `symbol` returns it.
    pub fn fields<S>(&self, mut symbol: impl FnMut(&'a str) -> Option<S>) -> Option<Vec<Field<S>>> {
        let field = |field: Option<Field<u32>>| {
            let Field { at, kind, addend, symbol: number } = field?;
            Some(Field { at, kind, addend, symbol: symbol(self.pack.symbol(number)?)? })
        };
        self.numbered_fields(false)?.map(field).collect()
    }

    /// Returns what is to be filled in, with the numbers of symbols in the pack, and `None`
    /// for a field that is malformed; `None` if they are damaged. Where calls have the slots of
    /// their own numbers, that is what is of no slot.
    pub fn numbered_fields(
        &self,
        have_their_numbers: bool,
    ) -> Option<impl Iterator<Item = Option<Field<u32>>>> {
        let count = if have_their_numbers { self.others } else { self.field_count };
        let place = [self.first_field, self.first_field.checked_add(count)?];
        let [Some(start), Some(end)] = place.map(|number| number.checked_mul(FIELD)) else { return None };
        let fields = self.pack.part(SectionKind::Fields, start..end)?;
        Some((0..count).map(move |number| read_field(fields.as_chunks().0.get(number)?)))
    }

    /// Returns what it was made of.
    pub fn origin(&self) -> Option<CodeOrigin> {
        self.pack.origin(self.entry)
    }

    /// Returns a copy that does not need the pack, and what it was made of.
    pub fn portable(&self) -> Option<(PortableCode, CodeOrigin)> {
        let mut fields: Vec<Field<Box<str>>> = self.fields(|symbol| Some(symbol.into()))?;
        let mut bytes = self.code()?.into_owned();
        let of_slots = fields[self.others..].iter().map(|field| Field { addend: 0, ..field.with(0) });
        PortableCode::fill(of_slots, 0, &mut bytes);
        fields.sort_by_key(|field| field.at);
        Some((PortableCode { bytes, size: self.size, fields }, self.origin()?))
    }
}

/// Returns a field with the number of its symbol; `None` if it is malformed.
fn read_field(bytes: &[u8; FIELD]) -> Option<Field<u32>> {
    let mut reader = Reader::new(bytes);
    let mut word = || reader.word().ok();
    let (at, kind, addend, symbol) = (word()?, word()?, word()?, word()?);
    let kind = match kind {
        0 => FieldKind::Offset,
        1 => FieldKind::Call,
        2 => FieldKind::Cell,
        _ => return None,
    };
    Some(Field { at, kind, addend: addend.cast_signed(), symbol })
}

fn authenticate(key: &SecretKey, head: &[u8], table: &[u8]) -> blake3::Hash {
    blake3::Hasher::new_keyed(key).update(head).update(table).finalize()
}

#[cfg(test)]
mod tests;

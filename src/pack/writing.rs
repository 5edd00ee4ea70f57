//! Writing a pack.

use super::links::{CodeLinks, WrittenBody};
use super::origin::CodeOrigin;
use super::pieces::{PieceSize, SectionWriter};
use super::portable::{ALIGNMENT, Field, FieldKind, PortableCode};
use super::{ENTRY, FIELD, FORMAT, HEAD, MAGIC, PAGE, SECTIONS, SecretKey, TABLES};
use super::{authenticate, is_large, read_field};
use crate::abi::Symbol;
use crate::bytes::Writer;
use crate::fingerprint::Fingerprint;
use rustc_hash::FxHashMap;
use std::io::{self, Cursor, Seek, SeekFrom, Write};

/// What a pack is made of.
pub struct PackContents<'a> {
    /// The bodies, with what they were made of.
    pub bodies: Vec<(Fingerprint, &'a PortableCode, &'a CodeOrigin)>,
    /// The items of the text.
    pub text: &'a [u8],
    pub links: Option<&'a CodeLinks>,
    /// What it says of itself, as JSON.
    pub meta: &'a [u8],
}

/// The bodies that a pack has room for, and where their code is in it. They are placed in the
/// order in which they are given, which mostly is that in which they lie in memory.
#[derive(Default)]
struct PlacedBodies<'a> {
    bodies: Vec<&'a PortableCode>,
    /// What links say of the bodies. In the index, these are in order of their identities.
    known_bodies: FxHashMap<Fingerprint, WrittenBody>,
    /// The length of all code in bytes, with what is between.
    code_bytes: usize,
    index: Vec<(Fingerprint, [u32; ENTRY_WORDS])>,
    fields: Writer,
    symbols: Writer,
    names: Writer,
    origins: Writer,
    symbol_texts: Vec<&'a str>,
    /// The numbers of symbols.
    known: FxHashMap<&'a str, u32>,
}

/// The words of a record of the index.
const ENTRY_WORDS: usize = (ENTRY - 32) / 4;

/// Returns a pack as bytes.
pub fn to_bytes(contents: PackContents<'_>, target: Fingerprint, key: &SecretKey) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(&mut bytes, contents, target, key);
    bytes
}

/// Adds a pack to bytes.
pub fn append(bytes: &mut Vec<u8>, contents: PackContents<'_>, target: Fingerprint, key: &SecretKey) {
    let code = contents.bodies.iter().map(|(_, body, _)| body.bytes.len() + ALIGNMENT);
    bytes.reserve(code.sum::<usize>() + contents.text.len());
    let start = bytes.len() as u64;
    let mut behind = Behind { bytes: Cursor::new(std::mem::take(bytes)), start };
    // Memory takes all that there is room for.
    let _ = write(contents, target, key, &mut behind);
    *bytes = behind.bytes.into_inner();
}

/// What is behind the first bytes, as a file of its own.
struct Behind {
    bytes: Cursor<Vec<u8>>,
    start: u64,
}

impl Write for Behind {
    fn write(&mut self, part: &[u8]) -> io::Result<usize> {
        self.bytes.write(part)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Behind {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => SeekFrom::Start(self.start + at),
            SeekFrom::End(_) | SeekFrom::Current(_) => to,
        };
        Ok(self.bytes.seek(to)?.saturating_sub(self.start))
    }
}

/// Writes a pack, from where a file begins. Bodies without room are left out: the code of a
/// pack has less than 4 GiB.
///
/// # Errors
/// Those of the file.
pub fn write(
    contents: PackContents<'_>,
    target: Fingerprint,
    key: &SecretKey,
    to: &mut (impl Write + Seek),
) -> io::Result<()> {
    let PackContents { bodies, text, links, meta } = contents;
    let placed = PlacedBodies::new(bodies);
    let mut names = placed.names;
    let linked = links.map(|links| links.write(&placed.known_bodies, &placed.symbol_texts, &mut names));
    let (linked, values) = linked.map(|links| (links.bytes, links.values)).unwrap_or_default();
    let PlacedBodies { bodies, code_bytes, index, fields, symbols, origins, .. } = placed;
    let mut entries = Writer::with_room(index.len() * ENTRY);
    for (identity, words) in index {
        entries.bytes(identity.as_bytes());
        words.into_iter().for_each(|word| entries.word(word));
    }
    let [index, fields, symbols, names, origins] =
        [entries, fields, symbols, names, origins].map(Writer::finish);
    let [has_large_code, has_large_text] = [code_bytes, text.len()].map(|bytes| is_large(bytes as u64));
    let hash_bytes = |size: PieceSize, bytes: usize, is_there: bool| match is_there {
        true => size.hash_bytes(bytes as u64),
        false => 0,
    };
    let kept_of_code = hash_bytes(PieceSize::OF_CODE, code_bytes, has_large_code);
    let kept_of_fields = hash_bytes(PieceSize::OF_TEXT, fields.len(), has_large_code);
    let kept_of_text = hash_bytes(PieceSize::OF_TEXT, text.len(), has_large_code || has_large_text);
    let kept_hashes = kept_of_code + kept_of_fields + kept_of_text;
    let parts = [&index, &symbols, &names, &linked];
    let unaligned = TABLES + meta.len() + kept_hashes + parts.iter().map(|part| part.len()).sum::<usize>();
    let blanks = if has_large_code { unaligned.next_multiple_of(PAGE) - unaligned } else { 0 };
    let meta = [meta, &vec![b' '; blanks]].concat();
    let before = [&*meta, &index, &symbols, &names, &linked];
    let lengths = before.iter().map(|section| section.len());
    let code_start = TABLES + lengths.clone().sum::<usize>() + kept_hashes;
    // What is large is written from where it is, before what its hashes are a part of.
    to.seek(SeekFrom::Start(code_start as u64))?;
    let mut code = SectionWriter::new(to, PieceSize::OF_CODE, code_bytes);
    let (mut fields_left, mut filled) = (fields.as_chunks::<FIELD>().0, Vec::new());
    for body in &bodies {
        code.align()?;
        let own;
        (own, fields_left) = fields_left.split_at(body.fields.len());
        filled.clear();
        filled.extend_from_slice(&body.bytes);
        let own = own.iter().filter_map(read_field).filter(|field| field.kind == FieldKind::Offset);
        for field in own {
            let Some(value) = values.get(field.symbol as usize).copied().flatten() else { continue };
            PortableCode::fill([field.with(value as u64)], 0, &mut filled);
        }
        code.write(&filled)?;
    }
    let of_code = code.finish()?;
    to.write_all(&fields)?;
    to.write_all(&origins)?;
    let mut of_text = SectionWriter::new(to, PieceSize::OF_TEXT, text.len());
    of_text.write(text)?;
    let of_text = of_text.finish()?;
    let of_fields = PieceSize::OF_TEXT.hashes(&fields);
    let hashes = [&of_code[..kept_of_code], &of_fields[..kept_of_fields], &of_text[..kept_of_text]].concat();
    let mut head = Writer::with_room(HEAD);
    head.bytes(MAGIC);
    head.word(FORMAT);
    head.word(SECTIONS.len() as u32);
    head.bytes(Fingerprint::BUILD.as_bytes());
    head.bytes(target.as_bytes());
    let (mut table, mut offset) = (Writer::with_room(TABLES), TABLES);
    let lengths = lengths.chain([hashes.len(), code_bytes, fields.len(), origins.len(), text.len()]);
    let hashed = before.into_iter().chain([&hashes[..], &of_code, &of_fields, &origins, &of_text]);
    for ((kind, length), hashed) in SECTIONS.iter().zip(lengths).zip(hashed) {
        table.word(*kind as u32);
        table.word(0);
        table.long(offset as u64);
        table.long(length as u64);
        table.bytes(blake3::hash(hashed).as_bytes());
        offset += length;
    }
    let (head, table) = (head.finish(), table.finish());
    let mac = authenticate(key, &head, &table);
    to.seek(SeekFrom::Start(0))?;
    let first = [&head[..], mac.as_bytes(), &table];
    first.into_iter().chain(before).chain([&hashes[..]]).try_for_each(|part| to.write_all(part))
}

impl<'a> PlacedBodies<'a> {
    /// Places bodies one after the other, each once.
    fn new(bodies: Vec<(Fingerprint, &'a PortableCode, &'a CodeOrigin)>) -> Self {
        let fields = bodies.iter().map(|(_, body, _)| body.fields.len()).sum::<usize>();
        let mut placed = Self {
            bodies: Vec::with_capacity(bodies.len()),
            index: Vec::with_capacity(bodies.len()),
            fields: Writer::with_room(fields * FIELD),
            ..Self::default()
        };
        placed.known_bodies.reserve(bodies.len());
        placed.known.reserve(fields.min(2 * bodies.len()));
        for (identity, body, origin) in bodies {
            let start = placed.code_bytes.next_multiple_of(ALIGNMENT);
            if u32::try_from(start + body.bytes.len()).is_err() {
                break;
            }
            if !placed.known_bodies.contains_key(&identity) {
                placed.add(identity, body, start, origin);
            }
        }
        placed.index.sort_unstable_by_key(|(identity, _)| *identity);
        for ((identity, _), number) in placed.index.iter().zip(0..) {
            placed.known_bodies.entry(*identity).and_modify(|known| known.number = number);
        }
        placed
    }

    fn add(&mut self, identity: Fingerprint, body: &'a PortableCode, start: usize, origin: &CodeOrigin) {
        let [start_word, length] = [start, body.bytes.len()].map(|length| length as u32);
        let first = (self.fields.len() / FIELD) as u32;
        let (count, origin_at) = (body.fields.len() as u32, self.origins.len() as u32);
        // Those of slots are last: where the slots are as written, they need not be filled.
        let is_of_slot =
            |field: &Field<Box<str>>| field.kind == FieldKind::Offset && Symbol::is_of_slot(&field.symbol);
        let (of_slots, others): (Vec<_>, Vec<_>) = body.fields.iter().partition(|field| is_of_slot(field));
        let other_count = others.len() as u32;
        self.index.push((identity, [start_word, length, body.size, first, count, other_count, origin_at]));
        let known = WrittenBody { number: 0, start: start_word, len: length, has_others: other_count > 0 };
        self.known_bodies.insert(identity, known);
        self.code_bytes = start + body.bytes.len();
        origin.write(&mut self.origins);
        for field in others.into_iter().chain(of_slots) {
            let count = self.known.len() as u32;
            let symbol = *self.known.entry(&field.symbol).or_insert_with(|| {
                self.symbols.word(self.names.len() as u32);
                self.symbols.word(field.symbol.len() as u32);
                self.names.bytes(field.symbol.as_bytes());
                self.symbol_texts.push(&field.symbol);
                count
            });
            let words = [field.at, field.kind as u32, field.addend.cast_unsigned(), symbol];
            words.into_iter().for_each(|word| self.fields.word(word));
        }
        self.bodies.push(body);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{KEY, body, identity, origin};
    use super::*;

    /// A file on a disk that is full after a number of bytes.
    struct FullFile {
        contents: Cursor<Vec<u8>>,
        room: usize,
    }

    impl Write for FullFile {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.room < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.room -= bytes.len();
            self.contents.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for FullFile {
        fn seek(&mut self, place: SeekFrom) -> io::Result<u64> {
            self.contents.seek(place)
        }
    }

    #[test]
    fn a_pack_is_written_as_a_whole_or_there_is_an_error() {
        let (made, made_of) = (body(3), origin(3));
        let text: Vec<u8> = (0..700_000_u32).map(|at| (at / 3) as u8).collect();
        let contents = || PackContents {
            bodies: vec![(identity(3), &made, &made_of)],
            text: &text,
            links: None,
            meta: b"{}",
        };
        let whole = to_bytes(contents(), identity(99), &KEY);
        let written = |room| {
            let mut file = FullFile { contents: Cursor::default(), room };
            let written = write(contents(), identity(99), &KEY, &mut file);
            written.map(|()| file.contents.into_inner()).map_err(|error| error.kind())
        };
        assert!(written(whole.len()).expect("it fits") == whole);
        for room in [0, 1, 5_000, text.len(), whole.len() - 1] {
            assert_eq!(written(room).err(), Some(io::ErrorKind::StorageFull), "{room} bytes");
        }
    }
}

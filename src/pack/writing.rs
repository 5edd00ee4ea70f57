//! Writing a pack.

use super::links::CodeLinks;
use super::origin::CodeOrigin;
use super::portable::{ALIGNMENT, PortableCode};
use super::{FORMAT, MAGIC, SECTIONS, SecretKey, SectionKind, TABLES, authenticate, is_large, pieces};
use crate::bytes::Writer;
use crate::fingerprint::Fingerprint;
use crate::process;
use rustc_hash::FxHashMap;

/// Writes bodies as a pack, with the items of the text, and with links; `meta` is JSON.
/// Bodies without room are left out: the code of a pack has less than 4 GiB.
pub fn write<'a>(
    bodies: impl IntoIterator<Item = (Fingerprint, &'a PortableCode, &'a CodeOrigin)>,
    text: &[u8],
    links: Option<&CodeLinks>,
    meta: &[u8],
    target: Fingerprint,
    key: &SecretKey,
) -> Vec<u8> {
    let mut bodies: Vec<_> = bodies.into_iter().collect();
    bodies.sort_by_key(|(identity, ..)| *identity);
    bodies.dedup_by_key(|(identity, ..)| *identity);
    let (mut origins, mut origin_bytes) = (Writer::default(), 0);
    let [mut index, mut fields, mut symbols, mut names] = std::array::from_fn(|_| Writer::default());
    let (mut code, mut field_count, mut name_bytes) = (Vec::<u8>::new(), 0_u32, 0_u32);
    let mut known: FxHashMap<&str, u32> = FxHashMap::default();
    let mut written = Vec::new();
    for (identity, body, origin) in bodies {
        code.resize(code.len().next_multiple_of(ALIGNMENT), 0);
        if u32::try_from(code.len() + body.bytes.len()).is_err() {
            break;
        }
        index.bytes(identity.as_bytes());
        written.push((identity, body));
        let lengths = [code.len(), body.bytes.len()].map(|length| length as u32);
        let counts = [body.size, field_count, body.fields.len() as u32, origin_bytes];
        lengths.into_iter().chain(counts).for_each(|word| index.word(word));
        code.extend_from_slice(&body.bytes);
        origin.write(&mut origins);
        origin_bytes = origins.len() as u32;
        field_count += body.fields.len() as u32;
        for field in &body.fields {
            let count = known.len() as u32;
            let symbol = *known.entry(&field.symbol).or_insert_with(|| {
                symbols.word(name_bytes);
                symbols.word(field.symbol.len() as u32);
                names.bytes(field.symbol.as_bytes());
                name_bytes += field.symbol.len() as u32;
                count
            });
            let words = [field.at, field.kind as u32, field.addend.cast_unsigned(), symbol];
            words.into_iter().for_each(|word| fields.word(word));
        }
    }
    let linked = links.map(|links| links.write(&written, &known, &mut names)).unwrap_or_default();
    let [index, fields, symbols, names, origins] =
        [index, fields, symbols, names, origins].map(Writer::finish);
    let mut head = Writer::default();
    head.bytes(MAGIC);
    head.word(FORMAT);
    head.word(SECTIONS.len() as u32);
    head.bytes(Fingerprint::BUILD.as_bytes());
    head.bytes(target.as_bytes());
    let [of_code, of_text] = [&code, text].map(pieces::hashes);
    let [has_large_code, has_large_text] = [code.len(), text.len()].map(|bytes| is_large(bytes as u64));
    let mut hashes = if has_large_code { of_code.clone() } else { Vec::new() };
    if has_large_code || has_large_text {
        hashes.extend_from_slice(&of_text);
    }
    let (mut table, mut contents) = (Writer::default(), Vec::new());
    let mut offset = TABLES;
    for (kind, section) in SECTIONS
        .iter()
        .zip([meta, &index, &fields, &symbols, &names, &linked, &origins, &hashes, &code, text])
    {
        table.word(*kind as u32);
        table.word(0);
        table.long(offset as u64);
        table.long(section.len() as u64);
        let hash = blake3::hash(match kind {
            SectionKind::Code => &of_code,
            SectionKind::Text => &of_text,
            _ => section,
        });
        table.bytes(hash.as_bytes());
        contents.push(section);
        offset += section.len();
    }
    let (head, table) = (head.finish(), table.finish());
    let mac = authenticate(key, &head, &table);
    let mut bytes = process::room(offset);
    [&head[..], mac.as_bytes(), &table].iter().for_each(|part| bytes.extend_from_slice(part));
    contents.iter().for_each(|section| bytes.extend_from_slice(section));
    bytes
}

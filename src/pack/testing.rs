//! Packs for tests and for `fuzz/`.

use super::links::{CodeLink, CodeLinks};
use super::origin::CodeOrigin;
use super::pieces::PieceSize;
use super::portable::{Field, FieldKind, PortableCode};
use super::{HEAD, Pack, PackContents, SECTION, SecretKey, TABLES, authenticate, to_bytes};
use crate::bytes::Writer;
use crate::fingerprint::Fingerprint;
use crate::tier::Tier;
use std::borrow::Cow;

/// The key of the packs here.
pub(super) const KEY: SecretKey = [7; 32];

/// Returns some fingerprint.
pub(super) fn identity(number: u32) -> Fingerprint {
    let mut writer = Writer::default();
    writer.word(number);
    Fingerprint::of("test", writer)
}

/// Returns some code.
pub(super) fn body(number: u8) -> PortableCode {
    let field = |at, kind, symbol: &str| Field { at, kind, addend: -4, symbol: symbol.into() };
    let mut bytes = vec![number; 16 + usize::from(number)];
    bytes[4..8].fill(0);
    let fields = vec![
        field(0, FieldKind::Offset, "größe$variable"),
        field(4, FieldKind::Offset, "f3$slot$2"),
        field(8, FieldKind::Cell, "fmod"),
    ];
    PortableCode { bytes, size: 10, fields }
}

/// Returns what that was made of.
pub(super) fn origin(number: u8) -> CodeOrigin {
    let other = (format!("g{number}").into(), identity(number.into()));
    let name = format!("f{number}").into();
    CodeOrigin { name, function: identity(1), inlined: vec![other], builtins: vec!["sin".into()] }
}

/// Returns a pack of twenty bodies.
pub(super) fn pack() -> Vec<u8> {
    let bodies: Vec<_> = (0..20).map(|number| (number, body(number), origin(number))).collect();
    let entries = bodies.iter().map(|(number, body, origin)| (identity((*number).into()), body, origin));
    let bodies = entries.collect();
    let link = |number| {
        let tier = if number % 2 == 0 { Tier::Quick } else { Tier::Full };
        let name = format!("f{}", number / 2).into();
        let (item, consulted) = (number / 2, vec![number / 2, 30 + number / 2]);
        (CodeLink { item, name, arity: 2, tier, consulted }, identity(number))
    };
    let links = CodeLinks { assumed: identity(77), bodies: (0..20).map(link).collect(), is_whole: false };
    let contents = PackContents { bodies, text: b"a text", links: Some(&links), meta: b"{}" };
    to_bytes(contents, identity(99), &KEY)
}

/// Makes the hashes of sections, as far as they are in the bytes, and the MAC right.
pub(super) fn sign(bytes: &mut [u8]) {
    let (table, end) = (HEAD + 32, TABLES);
    if bytes.len() < end {
        return;
    }
    for entry in (table..end).step_by(SECTION) {
        let word = |at: usize| bytes[at..at + 8].try_into().map_or(u64::MAX, u64::from_le_bytes);
        let range = usize::try_from(word(entry + 8)).ok().zip(usize::try_from(word(entry + 16)).ok());
        let hash = |contents: &[u8]| match (end - entry) / SECTION {
            1 | 3 => PieceSize::OF_TEXT.hash(contents),
            4 => PieceSize::OF_CODE.hash(contents),
            _ => blake3::hash(contents),
        };
        let contents =
            range.and_then(|(start, length)| bytes.get(start..start.checked_add(length)?)).map(hash);
        if let Some(hash) = contents {
            bytes[entry + 24..entry + SECTION].copy_from_slice(hash.as_bytes());
        }
    }
    let mac = authenticate(&KEY, &bytes[..HEAD], &bytes[table..end]);
    bytes[HEAD..table].copy_from_slice(mac.as_bytes());
}

/// Changes a pack as the bytes say, four for each change (where, what, how much), makes
/// its hashes and MAC right, and uses all that can be read of it.
pub fn damaged_packs(changes: &[u8]) {
    let mut bytes = pack();
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        match change[2] % 4 {
            0 => bytes[at] = change[3],
            1 => bytes[at] ^= 1 << (change[3] % 8),
            2 => bytes.truncate(at.max(1)),
            _ => {
                // Splices another part in.
                let from = usize::from(change[3]) * 16 % bytes.len();
                let length = 16.min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + length, at);
            }
        }
    }
    sign(&mut bytes);
    let Ok(pack) = Pack::open(bytes, identity(99), &KEY) else { return };
    pack.origins();
    (0..20).for_each(|number| _ = pack.find(&identity(number)).map(|body| body.portable()));
    let links = pack.links(&identity(77));
    let linked = links.iter().flat_map(|links| {
        (0..links.target_count() as u32 + 1).for_each(|number| _ = links.target(number));
        ["f3", "größe", ""].into_iter().for_each(|name| links.targets_of(name).for_each(drop));
        (0..links.symbol_count() as u32 + 1).for_each(|number| _ = links.symbol(number));
        let linked = links.unchanged(|item| item == 31).filter_map(|number| links.link(number));
        let bodies = linked.filter_map(|link| links.body(link.body));
        bodies.map(|(_, body)| body)
    });
    for body in pack.bodies().map(|(_, body)| body).chain(linked) {
        let Some(fields) = body.fields(|_| Some(1)) else { continue };
        let Some(mut code) = body.code().map(Cow::into_owned) else { continue };
        PortableCode::fill(fields, 4096, &mut code);
    }
}

//! Links: which bodies of a pack are the code of which definitions of a text.
//!
//! ```text
//! identity of what they assume 32 | targets 4 | symbols 4 | links 4
//! for each target: name offset 4 | length 4 | number of arguments 4
//! the numbers of the targets, sorted by name and number of arguments: 4 each
//! for each symbol of the pack: target and kind 4
//! for each link: item of the text 4 | target 4 | body 4 | tier 4 | code offset 4 | code length 4 | consulted 4
//! for each definition that the plans of the links consulted: item 4
//! ```
//!
//! A link says where those it consulted end; they begin where those of the one before do. With
//! the tier it says whether anything but the slots of targets is to be filled in.
//! As long as these are what they were, so is the code, whatever else a text defines.
//!
//! With them go the calls that linked code makes, and that lead to it: what these are for
//! is found once for each target, and not for each symbol. The code in the pack is as it is
//! where each target has the slot of its own number.

use super::{Pack, PackedBodies, PackedBody, SectionKind};
use crate::abi::Symbol;
use crate::bytes::{Reader, Writer};
use crate::fingerprint::Fingerprint;
use crate::runtime::Slot;
use crate::tier::Tier;
use rustc_hash::FxHashMap;

/// The bytes before the targets, of a target, of a symbol, and of a link.
const HEAD: usize = 44;
const TARGET: usize = 12;
const SORTED: usize = 4;
const SYMBOL: usize = 4;
const LINK: usize = 28;
const CONSULTED: usize = 4;

/// A definition of a text whose code a body is.
#[derive(Clone, Debug)]
pub struct CodeLink {
    /// The item of the text.
    pub item: u32,
    /// What calls of it are for.
    pub name: Box<str>,
    pub arity: u32,
    pub tier: Tier,
    /// The items that were consulted to plan it.
    pub consulted: Vec<u32>,
}

/// Which bodies are the code of which definitions of a text.
#[derive(Debug)]
pub struct CodeLinks {
    /// The identity of what has to hold.
    pub assumed: Fingerprint,
    /// The definitions, with the identities of the bodies.
    pub bodies: Vec<(CodeLink, Fingerprint)>,
    /// Whether these have the optimised code of every definition of the opening of the text.
    pub is_whole: bool,
}

/// The links of a pack.
#[derive(Clone, Copy)]
pub struct PackedLinks<'p> {
    pack: &'p Pack,
    code_len: usize,
    bodies: PackedBodies<'p>,
    targets: &'p [[u8; TARGET]],
    sorted: &'p [[u8; SORTED]],
    symbols: &'p [[u8; SYMBOL]],
    links: &'p [[u8; LINK]],
    consulted: &'p [[u8; CONSULTED]],
}

/// A link in a pack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PackedLink {
    /// The item of the text.
    pub item: u32,
    /// The number of the target of its calls.
    pub target: u32,
    pub tier: Tier,
    /// The number of the body.
    pub body: u32,
    /// Where its code and constants are in the code of the pack, and how long they are.
    pub start: u32,
    pub len: u32,
    /// Whether anything but the slots of targets is to be filled in.
    pub has_others: bool,
}

/// Added to the tier of a link where anything but the slots of targets is to be filled in.
const OTHERS: u32 = 2;

/// What is known of a body when links are written.
#[derive(Clone, Copy, Default)]
pub(super) struct WrittenBody {
    /// Its number in the index.
    pub(super) number: u32,
    pub(super) start: u32,
    pub(super) len: u32,
    pub(super) has_others: bool,
}

/// What a symbol of linked code stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkedSymbol<'p> {
    /// The slot of a target.
    Slot(u32),
    /// The counter of its calls.
    Counter(u32),
    /// The address of its numbers.
    Numbers(u32),
    /// What the symbol says.
    Other(&'p str),
}

/// The kinds of symbols, in the two low bits.
const SLOT: u32 = 0;
const COUNTER: u32 = 1;
const NUMBERS: u32 = 2;
const OTHER: u32 = 3;

/// The targets of calls, numbered in the order of their first use.
#[derive(Default)]
struct Targets<'a> {
    numbers: FxHashMap<(&'a str, u32), u32>,
    writer: Writer,
}

impl<'a> Targets<'a> {
    fn number(&mut self, name: &'a str, arity: u32, names: &mut Writer) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry((name, arity)).or_insert_with(|| {
            [names.len() as u32, name.len() as u32, arity].iter().for_each(|word| self.writer.word(*word));
            names.bytes(name.as_bytes());
            next
        })
    }
}

/// What symbols stand for in code that is linked.
pub(super) struct WrittenLinks {
    /// The links, as bytes.
    pub(super) bytes: Vec<u8>,
    /// For each symbol of the pack, its value where each target has the slot of its own number;
    /// `None` if it is of no target.
    pub(super) values: Vec<Option<usize>>,
}

impl CodeLinks {
    /// Writes them for a pack whose bodies have these numbers, and which refers to these
    /// symbols. Texts are added to the names.
    pub(super) fn write<'s>(
        &'s self,
        bodies: &FxHashMap<Fingerprint, WrittenBody>,
        symbols: &[&'s str],
        names: &mut Writer,
    ) -> WrittenLinks {
        let present = |(link, identity): &'s (CodeLink, _)| Some((link, *bodies.get(identity)?));
        let mut links: Vec<(&CodeLink, WrittenBody)> = self.bodies.iter().filter_map(present).collect();
        links.sort_by_key(|(link, _)| (link.item, link.tier == Tier::Quick));
        let mut targets = Targets::default();
        targets.numbers.reserve(links.len());
        let (mut linked, mut consulted) = (Writer::with_room(links.len() * LINK), Writer::default());
        for (link, body) in links {
            let tier = match link.tier {
                Tier::Quick => 0,
                Tier::Full => 1,
            };
            let target = targets.number(&link.name, link.arity, names);
            link.consulted.iter().for_each(|item| consulted.word(*item));
            let end = (consulted.len() / CONSULTED) as u32;
            let WrittenBody { number, start, len, has_others } = body;
            let tier = tier + if has_others { OTHERS } else { 0 };
            [link.item, target, number, tier, start, len, end].into_iter().for_each(|word| linked.word(word));
        }
        let mut meant = Writer::with_room(symbols.len() * SYMBOL);
        let mut values = Vec::with_capacity(symbols.len());
        for symbol in symbols {
            let mut target = |name, arity| targets.number(name, arity, names);
            let (word, value) = match Symbol::parse(symbol) {
                Some(Symbol::Slot(name, arity)) => {
                    let number = target(name, arity);
                    (number << 2 | SLOT, Some(Slot(number).offset()))
                }
                Some(Symbol::Counter(name, arity)) => {
                    let number = target(name, arity);
                    (number << 2 | COUNTER, Some(Slot(number).counter_offset()))
                }
                Some(Symbol::Numbers(name, arity)) => {
                    let number = target(name, arity);
                    (number << 2 | NUMBERS, Some(Slot(number).numbers_offset()))
                }
                Some(Symbol::Variable(_)) | None => (OTHER, None),
            };
            meant.word(word);
            values.push(value);
        }
        let mut sorted: Vec<_> = targets.numbers.into_iter().collect();
        sorted.sort_unstable();
        let mut writer = Writer::default();
        writer.bytes(self.assumed.as_bytes());
        writer.word(sorted.len() as u32);
        writer.word(symbols.len() as u32);
        writer.word((linked.len() / LINK) as u32);
        writer.bytes(&targets.writer.finish());
        sorted.into_iter().for_each(|(_, number)| writer.word(number));
        writer.bytes(&meant.finish());
        writer.bytes(&linked.finish());
        writer.bytes(&consulted.finish());
        WrittenLinks { bytes: writer.finish(), values }
    }
}

impl Pack {
    /// Returns which of its bodies are the code of which definitions of a text, if it says
    /// so under what is assumed.
    pub fn links(&self, assumed: &Fingerprint) -> Option<PackedLinks<'_>> {
        PackedLinks::read(self, self.section(SectionKind::Links), assumed)
    }
}

impl<'p> PackedLinks<'p> {
    fn read(pack: &'p Pack, section: &'p [u8], assumed: &Fingerprint) -> Option<Self> {
        let rest = section.strip_prefix(assumed.as_bytes())?;
        let mut reader = Reader::new(rest);
        let mut count = || reader.word().ok().map(|count| count as usize);
        let (targets, symbols, links) = (count()?, count()?, count()?);
        let (targets, rest) = records(section.get(HEAD..)?, targets)?;
        let (sorted, rest) = records(rest, targets.len())?;
        let (symbols, rest) = records(rest, symbols)?;
        let (links, rest) = records(rest, links)?;
        let (consulted, _) = rest.as_chunks();
        Some(Self {
            pack,
            code_len: pack.code_len(),
            bodies: pack.all_bodies(),
            targets,
            sorted,
            symbols,
            links,
            consulted,
        })
    }

    /// Returns the number of targets.
    pub fn target_count(self) -> usize {
        self.targets.len()
    }

    /// Returns the name and the number of arguments of a target.
    pub fn target(self, number: u32) -> Option<(&'p str, u32)> {
        let [start, length, arity] = words(self.targets.get(number as usize)?);
        Some((self.pack.name(start as usize, length as usize)?, arity))
    }

    /// Returns the number of the target at a place in the order of names and numbers of arguments.
    pub fn sorted(self, place: u32) -> Option<u32> {
        let [number] = words(self.sorted.get(place as usize)?);
        Some(number)
    }

    /// Returns the numbers of the targets of a name, with their numbers of arguments.
    pub fn targets_of(self, name: &str) -> impl Iterator<Item = (u32, u32)> {
        let at = move |place: &[u8; SORTED]| {
            let [number] = words(place);
            let [start, length, arity] = words(self.targets.get(number as usize)?);
            Some((self.pack.name_bytes(start as usize, length as usize)?, number, arity))
        };
        let name = name.as_bytes();
        let first = self.sorted.partition_point(|place| at(place).is_some_and(|(text, ..)| text < name));
        let of_name = move |place| at(place).filter(|(text, ..)| *text == name);
        self.sorted[first..].iter().map_while(of_name).map(|(_, number, arity)| (number, arity))
    }

    /// Returns the number of symbols.
    pub fn symbol_count(self) -> usize {
        self.symbols.len()
    }

    /// Returns what a symbol of the pack stands for; `None` if there is no such symbol.
    pub fn symbol(self, number: u32) -> Option<LinkedSymbol<'p>> {
        let [word] = words(self.symbols.get(number as usize)?);
        Some(match word & 3 {
            SLOT => LinkedSymbol::Slot(word >> 2),
            COUNTER => LinkedSymbol::Counter(word >> 2),
            NUMBERS => LinkedSymbol::Numbers(word >> 2),
            _ => LinkedSymbol::Other(self.pack.symbol(number)?),
        })
    }

    /// Returns the number of links.
    pub fn len(self) -> usize {
        self.links.len()
    }

    /// Returns the pack.
    pub fn pack(self) -> &'p Pack {
        self.pack
    }

    /// Returns the identity and the code of a body by its number.
    pub fn body(self, number: u32) -> Option<(Fingerprint, PackedBody<'p>)> {
        self.bodies.get(number as usize)
    }

    /// Returns a link; `None` if there is none, or it is malformed.
    pub fn link(self, number: u32) -> Option<PackedLink> {
        let [item, target, body, tier, start, len, _] = words(self.links.get(number as usize)?);
        let (tier, has_others) = (tier & !OTHERS, tier & OTHERS != 0);
        let tier = match tier {
            0 => Tier::Quick,
            1 => Tier::Full,
            _ => return None,
        };
        let is_there = start as usize + len as usize <= self.code_len;
        is_there.then_some(PackedLink { item, target, tier, body, start, len, has_others })
    }

    /// Returns the numbers of the links without those for which a definition was consulted that
    /// `is_changed` selects.
    pub fn unchanged(self, is_changed: impl Fn(u32) -> bool) -> impl Iterator<Item = u32> {
        let mut passed = 0;
        (0..).zip(self.links).filter_map(move |(number, link)| {
            let [.., end] = words::<LINK, 7>(link);
            let until = (end as usize).clamp(passed, self.consulted.len().max(passed));
            let own = self.consulted.get(passed..until).unwrap_or_default();
            passed = until;
            let is_other = |item: &[u8; CONSULTED]| {
                let [item] = words(item);
                is_changed(item)
            };
            (!own.iter().any(is_other)).then_some(number)
        })
    }
}

/// Returns that many records at the start of bytes, and the rest.
fn records<const N: usize>(bytes: &[u8], count: usize) -> Option<(&[[u8; N]], &[u8])> {
    let (records, rest) = bytes.split_at_checked(count.checked_mul(N)?)?;
    Some((records.as_chunks().0, rest))
}

/// Returns the numbers in a record.
fn words<const N: usize, const WORDS: usize>(record: &[u8; N]) -> [u32; WORDS] {
    let (bytes, _) = record.as_chunks();
    std::array::from_fn(|at| bytes.get(at).map_or(0, |word| u32::from_le_bytes(*word)))
}

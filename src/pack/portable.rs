//! Portable code: the code of one body that runs at any address.
//!
//! It is taken from the object that the body was compiled into: the body, what it
//! calls directly, and the constants that these refer to. References among them
//! are relative, and resolved here. What is left are *fields*: places that get the
//! value of a symbol when the code is placed. Relocations are those of the System V
//! ABI for x86-64, section 4.4.

use crate::abi;
use object::elf::{
    R_X86_64_32, R_X86_64_32S, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_PC32, R_X86_64_PLT32,
    R_X86_64_REX_GOTPCRELX, SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE, SHF_STRINGS, SHF_WRITE,
};
use object::read::elf::{ElfFile64, SectionHeader as _};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionFlags,
    SectionIndex, SymbolIndex, SymbolKind,
};
use rustc_hash::FxHashMap;

/// What the start of portable code is a multiple of, in bytes: a cache line.
pub const ALIGNMENT: usize = 64;

/// The code of one body, without addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortableCode {
    /// Code and constants. The body is at their start.
    pub bytes: Vec<u8>,
    /// The size of the body.
    pub size: u32,
    /// What is filled in when the code is placed.
    pub fields: Vec<Field<Box<str>>>,
}

/// A place in code that depends on a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field<S> {
    /// The offset of its first byte.
    pub at: u32,
    pub kind: FieldKind,
    /// What is added to the value of the symbol.
    pub addend: i32,
    /// The symbol, or its value.
    pub symbol: S,
}

/// What a field gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// The value, in four bytes that are sign-extended.
    Offset,
    /// The distance from the field to the value, in four bytes, if it is in reach;
    /// else the field stays as it is, and leads to a jump by way of a cell.
    Call,
    /// The value, in eight bytes.
    Cell,
}

impl<S> Field<S> {
    /// Returns the same field with another symbol, or its value.
    pub fn with<T>(&self, symbol: T) -> Field<T> {
        Field { at: self.at, kind: self.kind, addend: self.addend, symbol }
    }
}

impl FieldKind {
    /// Returns the bytes of a field.
    pub fn width(self) -> usize {
        match self {
            Self::Offset | Self::Call => 4,
            Self::Cell => 8,
        }
    }
}

impl PortableCode {
    /// Returns the code of a body that an object defines; `None` if there is
    /// something in it that only a linker can place.
    pub fn of(object: &[u8], body: &str) -> Option<Self> {
        let file = ElfFile64::<Endianness>::parse(object).ok()?;
        // Calls of functions that only the object knows have no relocation.
        let is_helper = |symbol: &object::read::elf::ElfSymbol64<'_, '_>| {
            symbol.is_definition() && symbol.is_local() && symbol.kind() == SymbolKind::Text
        };
        if file.symbols().any(|symbol| is_helper(&symbol)) {
            return None;
        }
        let symbol = file.symbols().find(|symbol| symbol.is_definition() && symbol.name() == Ok(body))?;
        let entry = Part::of_symbol(&file, symbol.index())?;
        let mut packer =
            Packer { file: &file, parts: Vec::new(), code: Self::empty(entry.size), cells: Cells::default() };
        packer.add(entry)?;
        let mut next = 0;
        while next < packer.parts.len() {
            packer.relocate(next)?;
            next += 1;
        }
        packer.finish()
    }

    fn empty(size: u64) -> Self {
        Self { bytes: Vec::new(), size: size as u32, fields: Vec::new() }
    }

    /// Fills the fields of code that has been copied to `bytes`, to run at
    /// `address`, with the values of their symbols. Returns whether it can run
    /// there.
    pub fn fill(fields: impl IntoIterator<Item = Field<u64>>, address: u64, bytes: &mut [u8]) -> bool {
        fields.into_iter().all(|Field { kind, at, addend, symbol: value }| {
            let value = value.wrapping_add_signed(i64::from(addend));
            let at = at as usize;
            let Some(field) = at.checked_add(kind.width()).and_then(|end| bytes.get_mut(at..end)) else {
                return false;
            };
            match kind {
                FieldKind::Offset => match i32::try_from(value.cast_signed()) {
                    Ok(value) => field.copy_from_slice(&value.to_le_bytes()),
                    Err(_) => return false,
                },
                FieldKind::Call => {
                    let distance = value.wrapping_sub(address.wrapping_add(at as u64)).cast_signed();
                    if let Ok(distance) = i32::try_from(distance) {
                        field.copy_from_slice(&distance.to_le_bytes());
                    }
                }
                FieldKind::Cell => field.copy_from_slice(&value.to_le_bytes()),
            }
            true
        })
    }
}

/// A part of an object: a function, or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    section: SectionIndex,
    start: u64,
    size: u64,
    alignment: u64,
    /// Where it is in the portable code.
    at: u64,
}

impl Part {
    /// Returns the function or the constant that a symbol stands for.
    fn of_symbol(file: &ElfFile64<'_>, symbol: SymbolIndex) -> Option<Self> {
        let symbol = file.symbol_by_index(symbol).ok()?;
        let section = file.section_by_index(symbol.section_index()?).ok()?;
        let SectionFlags::Elf { sh_flags } = section.flags() else { return None };
        let has = |flag: u32| sh_flags & u64::from(flag) != 0;
        if !has(SHF_ALLOC) || has(SHF_WRITE) || has(SHF_STRINGS) {
            return None;
        }
        let whole = Self {
            section: section.index(),
            start: 0,
            size: section.size(),
            alignment: section.align(),
            at: 0,
        };
        let entry = section.elf_section_header().sh_entsize(file.endian());
        let part = if has(SHF_EXECINSTR) {
            let is_function = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
            is_function.then_some(Self { start: symbol.address(), size: symbol.size(), ..whole })?
        } else if has(SHF_MERGE) && entry > 0 && symbol.kind() != SymbolKind::Section {
            // A constant of a size that all have, at the place that it names. What the section
            // is aligned to depends on other functions of the object.
            let start = symbol.address() - symbol.address() % entry;
            Self { start, size: entry, alignment: entry.next_power_of_two(), ..whole }
        } else {
            whole
        };
        part.start.checked_add(part.size).filter(|end| *end <= section.size()).map(|_| part)
    }

    fn contains(&self, section: SectionIndex, offset: u64) -> bool {
        self.section == section && (self.start..self.start + self.size).contains(&offset)
    }
}

/// Cells with the values of symbols, and where they are referred to from.
#[derive(Default)]
struct Cells {
    /// The places that refer to a cell of each symbol, with what is added.
    references: FxHashMap<Box<str>, Vec<(u64, i64)>>,
    /// The calls of each symbol.
    calls: FxHashMap<Box<str>, Vec<(u64, i64)>>,
}

struct Packer<'a> {
    file: &'a ElfFile64<'a>,
    parts: Vec<Part>,
    code: PortableCode,
    cells: Cells,
}

impl Packer<'_> {
    /// Adds a part; returns where it is.
    fn add(&mut self, part: Part) -> Option<u64> {
        let is_it =
            |known: &&Part| (known.section, known.start, known.size) == (part.section, part.start, part.size);
        if let Some(known) = self.parts.iter().find(is_it) {
            return Some(known.at);
        }
        if part.alignment > ALIGNMENT as u64 {
            return None;
        }
        let at = self.align(part.alignment.max(1));
        let contents = self.file.section_by_index(part.section).ok()?.data().ok()?;
        let range = usize::try_from(part.start).ok()?..usize::try_from(part.start + part.size).ok()?;
        self.code.bytes.extend_from_slice(contents.get(range)?);
        self.parts.push(Part { at, ..part });
        Some(at)
    }

    fn align(&mut self, alignment: u64) -> u64 {
        let at = (self.code.bytes.len() as u64).next_multiple_of(alignment);
        self.code.bytes.resize(at as usize, 0);
        at
    }

    /// Resolves the references from a part.
    fn relocate(&mut self, index: usize) -> Option<()> {
        let part = self.parts[index];
        let section = self.file.section_by_index(part.section).ok()?;
        for (offset, relocation) in section.relocations() {
            if !part.contains(part.section, offset) {
                continue;
            }
            let at = part.at + (offset - part.start);
            let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
            let RelocationTarget::Symbol(target) = relocation.target() else { return None };
            let symbol = self.file.symbol_by_index(target).ok()?;
            let addend = relocation.addend();
            if symbol.is_undefined() {
                self.refer(r_type, at, addend, symbol.name().ok()?)?;
                continue;
            }
            if !matches!(r_type, R_X86_64_PC32 | R_X86_64_PLT32) {
                return None;
            }
            let meant = Part::of_symbol(self.file, target)?;
            let target = self.add(meant)? + (symbol.address() - meant.start);
            self.write(at, target.wrapping_add_signed(addend).wrapping_sub(at).cast_signed())?;
        }
        Some(())
    }

    /// Records a reference to a symbol that is not in the object.
    fn refer(&mut self, r_type: u32, at: u64, addend: i64, name: &str) -> Option<()> {
        // Offsets fit into 32 bits, addresses of routines may not.
        let is_offset = abi::Symbol::parse(name).is_some();
        match r_type {
            R_X86_64_32S => self.field(at, FieldKind::Offset, addend, name),
            // Not negative, so that both ways to extend it are the same: a choice of one of two
            // slots loads such constants.
            R_X86_64_32 if is_offset && addend >= 0 => self.field(at, FieldKind::Offset, addend, name),
            R_X86_64_PLT32 => {
                self.cells.calls.entry(name.into()).or_default().push((at, addend));
                Some(())
            }
            R_X86_64_REX_GOTPCRELX if addend == -4 && is_offset && self.load_value(at) => {
                self.field(at, FieldKind::Offset, 0, name)
            }
            R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => {
                self.cells.references.entry(name.into()).or_default().push((at, addend));
                Some(())
            }
            _ => None,
        }
    }

    /// Makes an instruction that loads a register from the cell at `at` load a
    /// constant there: `mov cell(%rip), %reg` becomes `mov $constant, %reg`, which
    /// is as long. Returns whether it is such an instruction. (System V ABI for
    /// x86-64, appendix B.2.)
    fn load_value(&mut self, at: u64) -> bool {
        let at = at as usize;
        let Some([rex, opcode, modrm]) =
            at.checked_sub(3).and_then(|start| self.code.bytes.get_mut(start..at))
        else {
            return false;
        };
        // 64 bits wide, and the register in the field that becomes the other one.
        if *rex & 0xfb != 0x48 || *opcode != 0x8b || *modrm & 0xc7 != 0x05 {
            return false;
        }
        *rex = 0x48 | (*rex & 4) >> 2;
        *opcode = 0xc7;
        *modrm = 0xc0 | (*modrm >> 3 & 7);
        true
    }

    fn field(&mut self, at: u64, kind: FieldKind, addend: i64, symbol: &str) -> Option<()> {
        let (at, addend) = (u32::try_from(at).ok()?, i32::try_from(addend).ok()?);
        self.code.fields.push(Field { at, kind, addend, symbol: symbol.into() });
        Some(())
    }

    fn write(&mut self, at: u64, distance: i64) -> Option<()> {
        let at = at as usize;
        let field = self.code.bytes.get_mut(at..at + 4)?;
        field.copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        Some(())
    }

    /// Adds the cells, and for each symbol that is called a jump by way of one.
    fn finish(mut self) -> Option<PortableCode> {
        let Cells { references, calls } = std::mem::take(&mut self.cells);
        let mut jumps = Vec::new();
        let mut calls: Vec<_> = calls.into_iter().collect();
        calls.sort_unstable();
        for (name, sites) in calls {
            let jump = self.align(1);
            // `jmp *cell(%rip)`
            self.code.bytes.extend([0xff, 0x25, 0, 0, 0, 0]);
            jumps.push((name.clone(), jump + 2));
            for (at, addend) in sites {
                self.write(at, jump.wrapping_add_signed(addend).wrapping_sub(at).cast_signed())?;
                self.field(at, FieldKind::Call, addend, &name)?;
            }
        }
        let mut references: Vec<_> = references.into_iter().collect();
        references.sort_unstable();
        let jumps = jumps.into_iter().map(|(name, at)| (name, vec![(at, -4)]));
        for (name, sites) in jumps.chain(references) {
            let cell = self.align(8);
            self.code.bytes.extend([0; 8]);
            self.field(cell, FieldKind::Cell, 0, &name)?;
            for (at, addend) in sites {
                self.write(at, cell.wrapping_add_signed(addend).wrapping_sub(at).cast_signed())?;
            }
        }
        u32::try_from(self.code.bytes.len()).ok()?;
        self.code.fields.sort_by_key(|field| field.at);
        Some(self.code)
    }
}

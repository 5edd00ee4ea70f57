//! Texts whose packs are parts of images, and what texts are found by.

use crate::bytes::{SharedBytes, StoredBytes, Writer};
use crate::fingerprint::Fingerprint;
use crate::pack::{Pack, SecretKey};
use crate::source::Source;
use kal_code::CodeFile;
use std::ops::Range;
use std::ptr;

/// The key of all packs in images, which is no secret: who loads an image vouches for it.
pub(super) const KEY: SecretKey = *b"packs in images are not signed..";

/// A text whose pack is a part of an image.
#[derive(Clone)]
pub struct ImageText {
    /// What the text is called.
    pub name: String,
    /// The module that it was read as.
    pub module: Option<Box<str>>,
    /// Its identity, as the program or module that it is.
    pub text: Fingerprint,
    /// Where the text is in the image.
    pub place: Range<usize>,
    /// What its code was compiled for.
    pub target: Fingerprint,
    /// Whether this processor, and the engine, can use that code.
    pub has_code: bool,
    /// The image.
    pub image: SharedBytes,
    /// Where the pack is in it.
    pub pack: Range<usize>,
    /// The file that its code can be mapped from, and where the pack begins in it.
    pub file: Option<(CodeFile, usize)>,
    /// Whether the image was found to be whole earlier.
    pub is_known: bool,
}

impl ImageText {
    /// Returns the identity of a text, as a program or as the module of that name.
    pub fn identity(source: &Source, module: Option<&str>) -> Fingerprint {
        identity(source, module)
    }

    /// Returns the identity of a text if it is this one: to compare texts takes less than to hash
    /// one.
    pub(super) fn identity_of(&self, source: &Source, module: Option<&str>) -> Option<Fingerprint> {
        let (own, other) = (self.bytes()?, source.text().as_bytes());
        let same = ptr::eq(own, other) || own == other;
        (same && self.module.as_deref() == module).then_some(self.text)
    }

    fn bytes(&self) -> Option<&[u8]> {
        (*self.image).as_ref().get(self.place.clone())
    }

    /// Returns the pack; `None` if it is damaged, or was made for something else.
    pub(super) fn open(&self) -> Option<Pack> {
        let bytes = StoredBytes::part(&self.image, self.pack.clone())?;
        let pack = Pack::open_known(bytes, self.target, &KEY, self.is_known).ok()?;
        Some(match &self.file {
            Some((file, start)) => pack.in_file(file, *start as u64),
            None => pack,
        })
    }

    /// Returns whether all of the pack is as it was made.
    pub fn is_whole(&self) -> bool {
        let bytes = StoredBytes::part(&self.image, self.pack.clone());
        let pack = bytes.and_then(|bytes| Pack::open(bytes, self.target, &KEY).ok());
        pack.is_some_and(|pack| pack.has_origins())
    }
}

/// Returns what a text is found by: a module of it is something else than a program.
pub(super) fn identity(source: &Source, module: Option<&str>) -> Fingerprint {
    let text = Fingerprint::of_bytes("kal 2026 text", source.text().as_bytes());
    let Some(module) = module else { return text };
    let mut writer = Writer::default();
    writer.text(module);
    writer.bytes(text.as_bytes());
    Fingerprint::of("kal 2026 module", writer)
}

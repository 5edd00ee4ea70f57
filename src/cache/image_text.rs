//! Texts whose packs are parts of images, and what texts are found by.

use crate::bytes::{SharedBytes, StoredBytes, Writer};
use crate::fingerprint::Fingerprint;
use crate::pack::{Pack, SecretKey};
use crate::source::Source;
use std::ops::Range;

/// The key of all packs in images, which is no secret: who loads an image vouches for it.
pub(super) const KEY: SecretKey = *b"packs in images are not signed..";

/// A text whose pack is a part of an image.
#[derive(Clone)]
pub struct ImageText {
    /// What the text is called.
    pub name: String,
    /// Its identity, as the program or module that it is.
    pub text: Fingerprint,
    /// What its code was compiled for.
    pub target: Fingerprint,
    /// The image.
    pub image: SharedBytes,
    /// Where the pack is in it.
    pub pack: Range<usize>,
}

impl ImageText {
    /// Returns the identity of a text, as a program or as the module of that name.
    pub fn identity(source: &Source, module: Option<&str>) -> Fingerprint {
        identity(source, module)
    }

    /// Returns the pack; `None` if it is damaged, or was made for something else.
    pub(super) fn open(&self) -> Option<Pack> {
        let bytes = StoredBytes::part(&self.image, self.pack.clone())?;
        Pack::open(bytes, self.target, &KEY).ok()
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

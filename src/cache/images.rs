//! Packs that are parts of images: found before those in files.

use super::CheckedTexts;
use super::files::{Cache, CachedSource, FindLinks, StoredForm, WHOLE};
use super::image_text::{ImageText, KEY};
use super::pack_file::OwnPack;
use crate::fingerprint::Fingerprint;
use crate::pack::store::MadeCode;
use crate::source::Source;
use crate::world::WrittenText;
use rustc_hash::FxHashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// A text that is to be a part of an image, with its pack.
pub struct BuiltText {
    pub source: Source,
    /// The module that it was read as.
    pub module: Option<Box<str>>,
    pub pack: Vec<u8>,
    /// How many functions have code in it.
    pub functions: usize,
}

/// What a pack of a text has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackParts {
    /// The items of the text.
    Text,
    /// Code.
    Code,
    /// Both.
    All,
}

impl Cache {
    /// Adds the packs of a text that are parts of images to what is found. Returns them.
    pub(super) fn in_images(&self, text: Fingerprint) -> Vec<OwnPack> {
        let of_text = self.images.iter().filter(|image| image.text == text);
        let open = |image: &ImageText| {
            let pack = Arc::new(image.open()?);
            if image.has_code {
                self.store.add(pack.clone());
            }
            Some(pack)
        };
        of_text.filter_map(open).map(|pack| OwnPack { file: PathBuf::new(), number: 0, pack }).collect()
    }

    /// Returns packs of all texts that have been opened, with `parts` of the items that
    /// `text` returns and of the code that was made for that target or found, and links between
    /// the two, to become parts of an image. In the order in which they were opened. What
    /// is kept to be written to files stays kept.
    pub fn packs_for_image(
        &self,
        target: Fingerprint,
        parts: PackParts,
        text: CheckedTexts<'_>,
        links: FindLinks<'_>,
    ) -> Vec<BuiltText> {
        let mut sources = self.sources(std::mem::take);
        let packed = |source: &mut CachedSource| {
            let mut bodies =
                if parts != PackParts::Text { self.kept_code(source.source.name()) } else { Vec::new() };
            let items = self.items_of(source, text);
            let made = bodies.iter().map(|(identity, _, origin)| (&*origin.name, *identity));
            let stored = (!items.bytes.is_empty()).then(|| StoredForm::New(items.clone()));
            let links = stored.and_then(|stored| links(&source.source, stored, &mut { made }));
            let is_whole = links.as_ref().is_some_and(|links| links.is_whole);
            let (name, version) = (source.source.name(), env!("CARGO_PKG_VERSION"));
            let meta = serde_json::json!({ "source": name, "kal": version, WHOLE: is_whole });
            let items = if parts == PackParts::Code { &[][..] } else { &items.bytes };
            // What is near in the text mostly calls each other.
            let items_of = links.iter().flat_map(|links| &links.bodies);
            let items_of: FxHashMap<_, _> = items_of.map(|(link, code)| (*code, link.item)).collect();
            bodies.sort_by_key(|(code, ..)| items_of.get(code).copied().unwrap_or(u32::MAX));
            let pack = Self::pack_of(&meta, &bodies, items, links.as_ref(), target, &KEY);
            let (module, functions) = (source.module.clone(), bodies.len());
            BuiltText { source: source.source.clone(), module, pack, functions }
        };
        let packs = sources.iter_mut().map(packed).collect();
        self.sources(|present| present.append(&mut sources));
        packs
    }

    /// Returns whether code was used that is in no image.
    pub fn uses_code_of_files(&self) -> bool {
        self.sources(|sources| {
            sources.iter().any(|source| {
                let used = self.store.copy(source.source.name()).unwrap_or_default().used();
                let in_image = |code: &_| source.image_packs().any(|pack| pack.find(code).is_some());
                used.iter().any(|code| !in_image(code))
            })
        })
    }

    /// Returns the code that was made of the functions of a source, and what was found of them.
    fn kept_code(&self, source: &str) -> Vec<MadeCode> {
        let kept = self.store.copy(source).unwrap_or_default();
        let mut bodies = self.made_or_used(kept, |_| true);
        bodies.sort_by_key(|(identity, ..)| *identity);
        bodies.dedup_by_key(|(identity, ..)| *identity);
        bodies
    }

    /// Returns the items of a text; none if it was refused.
    fn items_of(&self, source: &mut CachedSource, text: CheckedTexts<'_>) -> WrittenText {
        self.add_written(source);
        if source.unwritten.is_none() {
            source.unwritten = text(&source.source, source.module.as_deref());
        }
        let known = || source.checked_text().and_then(|text| text.all()).map(WrittenText::from);
        source.unwritten.clone().or_else(known).unwrap_or_default()
    }

    /// Returns the programs among the texts that have been opened.
    pub fn opened_programs(&self) -> Vec<Source> {
        self.sources(|sources| {
            let programs = sources.iter().filter(|source| source.module.is_none());
            programs.map(|source| source.source.clone()).collect()
        })
    }

    /// Returns whether a text was opened that is in no pack.
    pub fn has_new_text(&self) -> bool {
        let is_new = |source: &CachedSource| source.written.is_none() && source.checked_text().is_none();
        self.sources(|sources| sources.iter().any(is_new))
    }

    /// Returns the texts that were opened and are in no pack, with their items, which `text`
    /// returns.
    pub fn new_texts(&self, text: CheckedTexts<'_>) -> Vec<(Source, WrittenText)> {
        let mut sources = self.sources(std::mem::take);
        sources.iter_mut().for_each(|source| self.add_written(source));
        let new = sources.iter_mut().filter(|source| source.checked_text().is_none());
        let new = new.map(|source| (source.source.clone(), self.items_of(source, text))).collect();
        self.sources(|present| present.append(&mut sources));
        new
    }

    /// Adds texts with their packs to what is found.
    pub fn add_texts(&mut self, texts: impl IntoIterator<Item = ImageText>) {
        self.images.extend(texts);
    }
}

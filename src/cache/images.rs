//! Packs that are parts of images: found before those in files.

use super::CheckedTexts;
use super::files::{Cache, CachedSource, FindLinks, OwnPack, StoredForm};
use super::image_text::{ImageText, KEY};
use crate::fingerprint::Fingerprint;
use crate::source::Source;
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

impl Cache {
    /// Adds the packs of a text that are parts of images to what is found. Returns them.
    pub(super) fn in_images(&self, text: Fingerprint) -> Vec<OwnPack> {
        let of_text = self.images.iter().filter(|image| image.text == text);
        let packs: Vec<_> = of_text.filter_map(ImageText::open).map(Arc::new).collect();
        packs.iter().for_each(|pack| self.store.add(pack.clone()));
        packs.into_iter().map(|pack| OwnPack { file: PathBuf::new(), number: 0, pack }).collect()
    }

    /// Returns packs of all texts that have been opened, with the code that was made for that
    /// target, to become parts of an image; with the items that `text` returns, and links
    /// between the two. In the order in which they were opened.
    pub fn packs_for_image(
        &self,
        target: Fingerprint,
        text: CheckedTexts<'_>,
        links: FindLinks<'_>,
    ) -> Vec<BuiltText> {
        let mut sources = self.sources(std::mem::take);
        let packed = |source: &CachedSource| {
            let bodies = self.store.take(source.source.name()).unwrap_or_default().made;
            let items = Arc::new(text(&source.source, source.module.as_deref()).unwrap_or_default());
            let made = bodies.iter().map(|(identity, _, origin)| (&*origin.name, *identity));
            let stored = (!items.is_empty()).then(|| StoredForm::New(items.clone()));
            let links = stored.and_then(|stored| links(&source.source, stored, &mut { made }));
            let meta =
                serde_json::json!({ "source": source.source.name(), "kal": env!("CARGO_PKG_VERSION") });
            let pack = Self::pack_of(&meta, &bodies, &items, links.as_ref(), target, &KEY);
            let (module, functions) = (source.module.clone(), bodies.len());
            BuiltText { source: source.source.clone(), module, pack, functions }
        };
        let packs = sources.iter().map(packed).collect();
        self.sources(|present| present.append(&mut sources));
        packs
    }
}

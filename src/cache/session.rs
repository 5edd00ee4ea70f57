//! Packs of saved sessions: the checked items of a script, and its code.

use super::files::{Cache, CachedSource, FindLinks, StoredForm, contents_of, meta};
use crate::fingerprint::Fingerprint;
use crate::pack::origin::CodeOrigin;
use crate::pack::{self, Pack};
use crate::source::Source;
use crate::world::WrittenText;
use std::sync::Arc;

/// What the metadata of a pack calls the hash of the script that it is of.
const SCRIPT: &str = "script";

impl Cache {
    /// Returns whether a source is the script of a session.
    pub(super) fn is_session(&self, source: &Source) -> bool {
        self.sources(|sources| sources.iter().any(|known| is_of(known, source)))
    }

    /// Begins to keep what is made of the script of a session.
    pub fn begin_session(&self, source: &Source) {
        self.add_session(source, None);
    }

    /// Forgets the script of a session.
    pub fn end_session(&self, source: &Source) {
        self.sources(|sources| sources.retain(|known| !is_of(known, source)));
        self.store.forget(source.name());
        self.ends(source);
    }

    /// Adds the code and the checked items of a session to what is found, if the pack is of
    /// this script.
    ///
    /// # Errors
    /// Why the pack cannot be used, for people.
    pub fn resume_session(&self, source: &Source, pack: Vec<u8>) -> Result<(), String> {
        let pack = match &self.key() {
            Some(key) => Pack::open(pack, self.target, key),
            None => return Err("made with another key".to_owned()),
        };
        let pack = Arc::new(pack.map_err(|damage| damage.what.to_owned())?);
        if meta(&pack)[SCRIPT].as_str() != Some(&hash_of(source)) {
            return Err("made of another script".to_owned());
        }
        self.store.add(pack.clone());
        self.add_session(source, Some(pack));
        Ok(())
    }

    fn add_session(&self, source: &Source, pack: Option<Arc<Pack>>) {
        self.store.keep(source.name());
        self.begins(source, None);
        let session = CachedSource::session(source, pack);
        self.sources(|sources| {
            sources.retain(|known| !is_of(known, source));
            sources.push(session);
        });
    }

    /// Adds to bytes a pack of the script of a session, which was checked as these items, with the
    /// code that `is_wanted`.
    ///
    /// # Errors
    /// Why there is no key to sign it with, for people.
    pub fn pack_session(
        &self,
        source: &Source,
        text: WrittenText,
        is_wanted: &dyn Fn(&CodeOrigin) -> bool,
        links: FindLinks<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), String> {
        let key = self.key_or_new()?;
        let bodies = self.store.all(is_wanted);
        let made = bodies.iter().map(|(identity, _, origin)| (&*origin.name, *identity));
        let links = links(source, StoredForm::New(text.clone()), &mut { made });
        let meta = serde_json::json!({ SCRIPT: hash_of(source), "kal": env!("CARGO_PKG_VERSION") });
        let meta = meta.to_string();
        let contents = contents_of(meta.as_bytes(), &bodies, &text.bytes, links.as_ref());
        pack::append(bytes, contents, self.target, &key);
        Ok(())
    }
}

/// Returns whether something is kept of a session whose script has the name of a source.
fn is_of(known: &CachedSource, source: &Source) -> bool {
    known.is_session() && known.source.name() == source.name()
}

fn hash_of(script: &Source) -> String {
    Fingerprint::of_bytes("kal 2026 session", script.text().as_bytes()).to_string()
}

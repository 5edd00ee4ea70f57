//! Packs with a library, in its own folder, for all who use it.
//!
//! ```text
//! LIBRARY/.kal/cache/packs-1/BUILD/TARGET/MODULE/TEXT.kpk        with code
//!                                                TEXT.bindings   without
//! ```
//!
//! Only `kal compile` writes them. They are read after those of the user's cache, and found
//! wherever the library is moved to. Code in them is run if this user has made it; what
//! others have checked is validated as it is decoded.

use super::CheckedTexts;
use super::files::Cache;
use super::folder::{ENDING, ENDING_WITHOUT_CODE, UNFINISHED};
use super::pack_file::{PackFolder, packs};
use crate::world::WrittenText;
use std::fs::{self, DirBuilder, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

/// Everyone may read what a library brings along.
const FOLDER_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;

impl Cache {
    /// Writes what was compiled of the modules of a library to its folder, in place of what
    /// is there, or only what was checked; with the items of their texts that `text`
    /// returns. Returns the numbers of modules and of functions.
    ///
    /// # Errors
    /// What cannot be written, and why.
    pub fn write_library(
        &self,
        library: &Path,
        with_code: bool,
        text: CheckedTexts<'_>,
    ) -> Result<(usize, usize), String> {
        let key = self.key_or_new()?;
        let (mut modules, mut functions) = (0, 0);
        let mut sources = self.sources(std::mem::take);
        let mut failed = Ok(());
        for source in sources.iter_mut().filter(|source| source.source.folder() == Some(library)) {
            self.add_written(source);
            let Some(module) = &source.module else { continue };
            let kept = self.store.take(source.source.name()).unwrap_or_default();
            let mut bodies = self.made_or_used(kept, |_| true);
            if !with_code {
                bodies.clear();
            }
            let known = || source.checked_text().and_then(|text| text.all()).map(WrittenText::from);
            let text = text(&source.source, Some(module)).or_else(known).unwrap_or_default();
            // It was refused.
            if text.bytes.is_empty() {
                continue;
            }
            let meta = Self::meta_of(source, &text.bytes);
            let bytes = Self::pack_of(&meta, &bodies, &text.bytes, None, self.target, &key);
            let ending = if with_code { ENDING } else { ENDING_WITHOUT_CODE };
            let PackFolder { folder, .. } = self.shipped(library, module);
            if let Err(error) = write(&folder, &format!("{}.{ending}", source.text), &bytes) {
                failed = Err(format!("{}: {error}", folder.display()));
                break;
            }
            (modules, functions) = (modules + 1, functions + bodies.len());
        }
        self.sources(|present| present.append(&mut sources));
        failed.map(|()| (modules, functions))
    }
}

/// Writes a file in place of the packs in a folder.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(Permissions::from_mode(FILE_MODE))?;
    let file_name = folder.join(name);
    file.persist(&file_name).map_err(|error| error.error)?;
    let others = packs(folder).into_iter().filter(|pack| pack.path != file_name);
    others.for_each(|pack| _ = fs::remove_file(pack.path));
    Ok(())
}

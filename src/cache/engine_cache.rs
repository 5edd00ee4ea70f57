//! Engine caches: the texts and the code of an engine in one file.
//!
//! ```text
//! magic 8 | target 32 | keyed hash of the rest 32 | an image
//! ```
//!
//! The image is as [`image`](crate::image) describes, for this processor alone. Values of
//! variables are not in it. The hash is made with the user's secret, and all of the file is
//! checked before anything in it is used.

use super::trust;
use crate::fingerprint::Fingerprint;
use crate::pack::SecretKey;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"KALENGIN";

/// The bytes before the image.
const HEAD: usize = 72;

/// Where an engine keeps all its texts and code, in one file, and when it writes them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineCache {
    /// The file that is read when the engine is created, if there is one.
    pub load: Option<PathBuf>,
    /// The file that is written when the last handle to the engine is dropped.
    pub store: Option<PathBuf>,
    /// The file of the user's secret, with which files are authenticated. It is created when
    /// something is first written.
    pub key: PathBuf,
    /// What is compiled before it is stored.
    pub compile: CompilePolicy,
    /// What must have happened for the file to be written.
    pub update: UpdatePolicy,
    /// A larger file, in bytes, is not written.
    pub most_bytes: u64,
}

/// Which code an engine cache has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum CompilePolicy {
    /// None: texts alone, so that a later engine need not read them again.
    None,
    /// What has been compiled.
    Compiled,
    /// The same, after what is being compiled is finished. The default.
    #[default]
    Hot,
    /// All that the texts define, optimised, also what was never called. Without the feature
    /// `compiler`, which optimises, as `Hot`.
    Aot,
    /// What was called, and what that calls, optimised. Without the feature `compiler`, as `Hot`.
    Executed,
}

/// When an engine cache is written again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum UpdatePolicy {
    /// Whenever an engine ends.
    Always,
    /// If something was compiled, or found elsewhere, that was not in it. The default.
    #[default]
    NewCode,
    /// If a text was read that was not in it.
    NewSource,
    /// If a text was read that was not in it and defines functions.
    NewRoot,
    /// Never; [`Engine::store`](crate::Engine::store) still writes.
    Never,
}

/// What an engine has stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct StoredEngine {
    /// The number of texts.
    pub texts: usize,
    /// The number of functions and expressions with code.
    pub functions: usize,
    /// The size of the file in bytes.
    pub bytes: u64,
}

impl EngineCache {
    /// Returns the options of a cache that is read from and written to that file,
    /// authenticated with the secret in the file `key`, of 1 GiB at most.
    pub fn new(file: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        let file = file.into();
        Self {
            load: Some(file.clone()),
            store: Some(file),
            key: key.into(),
            compile: CompilePolicy::default(),
            update: UpdatePolicy::default(),
            most_bytes: 1 << 30,
        }
    }

    /// Returns the image in the file that is to be loaded; `None` if there is no file.
    ///
    /// # Errors
    /// Why it cannot be used, for people.
    pub(crate) fn read(&self, target: Fingerprint) -> Result<Option<Vec<u8>>, String> {
        let Some(path) = self.load.as_ref().filter(|path| path.symlink_metadata().is_ok()) else {
            return Ok(None);
        };
        let (mut file, data) = trust::open(path)?;
        let mut bytes = Vec::with_capacity(usize::try_from(data.len()).unwrap_or(0));
        file.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        let key = trust::key(&self.key).ok_or("there is no key to check it with")?;
        let (head, image) = bytes.split_at_checked(HEAD).ok_or("it is too short")?;
        if &head[..8] != MAGIC {
            return Err("it is no engine cache".into());
        }
        if head[40..] != mac(&key, &head[..40], image) {
            return Err("it was changed, or made with another key".into());
        }
        if &head[8..40] != target.as_bytes() {
            return Err("it was made for another processor".into());
        }
        bytes.drain(..HEAD);
        Ok(Some(bytes))
    }

    /// Writes an image to a file, which keeps its contents if that fails. Returns the size of
    /// the file in bytes.
    ///
    /// # Errors
    /// Why it was not written, for people.
    pub(crate) fn write(&self, file: &Path, target: Fingerprint, image: &[u8]) -> Result<u64, String> {
        let size = (HEAD + image.len()) as u64;
        if size > self.most_bytes {
            return Err(format!("{size} bytes are more than the {} that are allowed", self.most_bytes));
        }
        if !is_replaceable(file) {
            return Err("another file is there, which is no engine cache".into());
        }
        let key = trust::key_or_new(&self.key)?;
        let mut head = MAGIC.to_vec();
        head.extend_from_slice(target.as_bytes());
        head.extend_from_slice(&mac(&key, &head, image));
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Its mode is 0600.
        let written = tempfile::NamedTempFile::new_in(folder).and_then(|mut temporary| {
            temporary.write_all(&head)?;
            temporary.write_all(image)?;
            temporary.persist(file).map_err(|error| error.error)
        });
        written.map(|_| size).map_err(|error| error.to_string())
    }
}

/// Returns whether an engine cache may take the place of what is at a path: nothing, nothing in
/// a file, or an engine cache.
fn is_replaceable(path: &Path) -> bool {
    let Ok(data) = path.metadata() else { return path.symlink_metadata().is_err() };
    let begins_as_one = || {
        let mut magic = [0; MAGIC.len()];
        std::fs::File::open(path)
            .and_then(|mut file| file.read_exact(&mut magic))
            .is_ok_and(|()| magic == *MAGIC)
    };
    data.is_file() && (data.len() == 0 || begins_as_one())
}

/// Returns the keyed hash of what is before it and of the image.
fn mac(key: &SecretKey, head: &[u8], image: &[u8]) -> [u8; 32] {
    *blake3::Hasher::new_keyed(key).update(head).update(image).finalize().as_bytes()
}

//! Images: a program and its modules, checked and compiled ahead for several processors.
//!
//! ```text
//! magic 8 | format 4 | build 32 | length of the head 8 | its hash 32 | the head | the packs
//! head: what is said of the image, as JSON
//!       for each text: name, module or nothing, identity 32, the text
//!       whether the last text is a prelude, and what it has left
//!       for each version: features 4, number of its base 4, functions 4,
//!                         for each text: offset 8, length 8 of its pack
//! ```
//!
//! Numbers are little-endian. A pack whose code is large begins at a page, and so does its code.
//! A *version* is the code of all texts for the processors that
//! have some features: all of it, or clones of some functions, with the other functions, and
//! the checked texts, in another version, its *base*. An image is data in an executable, in a shared object, or in a file
//! alone; its packs are read where they are, and code in a file is mapped to where it runs.

mod mapped;
mod shared_object;

use crate::bytes::{Damage, Reader, SharedBytes, Writer};
use crate::cache::{BuiltText, FileMarks, ImageText};
use crate::fingerprint::Fingerprint;
use crate::pack;
use crate::prelude::{Prelude, Snapshot};
use crate::process::SteadyCell;
use crate::processor::FeatureSet;
use crate::source::Source;
use crate::tier::Level;
use kal_code::CodeFile;
use mapped::MappedFile;
use serde::{Deserialize, Serialize};
#[cfg(feature = "cli")]
pub(crate) use shared_object::{SIZE_SYMBOL, START_SYMBOL};
use std::borrow::Cow;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"KALIMAGE";

/// The number of this format.
const FORMAT: u32 = 5;

/// The number of the base of a version that has none.
const NO_BASE: u32 = u32::MAX;

/// The bytes before the head.
const PREFIX: usize = 84;

/// A program and its modules, checked and compiled ahead for several processors.
///
/// [`ImageBuilder`](crate::ImageBuilder) makes one, and [`Config::image`](crate::Config::image) gives it to an
/// engine.
#[derive(Clone)]
pub struct Image(Arc<ImageInner>);

struct ImageInner {
    /// The file, for people.
    name: String,
    bytes: SharedBytes,
    /// The file that code can be mapped from, and where the image begins in it.
    file: Option<(CodeFile, usize)>,
    /// Whether all of it was found to be whole earlier.
    is_known: bool,
    info: ImageInfo,
    texts: Vec<StoredSource>,
    prelude: Option<Arc<Prelude>>,
    versions: Vec<ImageVersion>,
}

/// What an image says of itself.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ImageInfo {
    /// The version of Kal that has made it.
    pub kal: String,
    /// The optimisation level of its code.
    pub level: u8,
    /// The fuel that each item of a program, and each call, may use; `None` if its code does not
    /// count fuel.
    pub fuel: Option<u64>,
    /// How deep expressions may be nested.
    pub max_nesting: u32,
    /// Whether the first text that is no module is a program, which an executable runs.
    pub is_program: bool,
}

/// A text in an image that has been read.
struct StoredSource {
    name: Box<str>,
    module: Option<Box<str>>,
    /// Its identity, as the program or module that it is.
    identity: Fingerprint,
    /// Where it is in the image.
    text: Range<usize>,
    source: SteadyCell<Source>,
}

impl StoredSource {
    /// Returns the text, which is in these bytes of an image.
    fn source_in(&self, image: &[u8]) -> &Source {
        self.source.get_or_make(|| {
            let text = image.get(self.text.clone()).unwrap_or_default();
            // Looking for what is wrong takes several instructions for each byte.
            let whole = str::from_utf8(text).map(Cow::Borrowed);
            Source::new(&*self.name, whole.unwrap_or_else(|_| String::from_utf8_lossy(text)))
        })
    }
}

/// A text that is to be in an image.
pub(crate) struct ImageSource {
    pub(crate) source: Source,
    /// The module that it was read as.
    pub(crate) module: Option<Box<str>>,
}

impl From<&BuiltText> for ImageSource {
    fn from(built: &BuiltText) -> Self {
        Self { source: built.source.clone(), module: built.module.clone() }
    }
}

/// The code for the processors that have some features.
#[derive(Clone, PartialEq, Eq, Debug)]
struct ImageVersion {
    features: FeatureSet,
    /// The version with the functions that it does not have; `None` if it has all.
    base: Option<usize>,
    functions: u32,
    /// The pack of each text.
    packs: Vec<Range<usize>>,
}

/// A version of an image that is to be written.
pub(crate) struct WrittenVersion {
    pub(crate) features: FeatureSet,
    /// The number of the version that has its other functions.
    pub(crate) base: Option<usize>,
    /// How many functions it has.
    pub(crate) functions: usize,
    /// The pack of each text.
    pub(crate) packs: Vec<Vec<u8>>,
}

/// Why an image cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be loaded.
    #[error("{0}: {1}")]
    Load(PathBuf, String),
    /// It is no image of this build of Kal, or a damaged one.
    #[error("{0}: not an image that can be used: {1}")]
    Damaged(String, Damage),
}

/// A version of an image, in numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct VersionInfo {
    /// The features that processors need for it.
    pub features: FeatureSet,
    /// Those of the version that has its other functions; `None` if it has all of them.
    pub base: Option<FeatureSet>,
    /// How many functions and expressions have code in it.
    pub functions: usize,
    /// The size of its packs, in bytes.
    pub bytes: usize,
}

/// The identity of code for the processors that have these features.
pub(crate) fn target_of(features: FeatureSet) -> Fingerprint {
    Fingerprint::of_bytes("kal 2026 portable target", format!("{} {features}", env!("KAL_TARGET")).as_bytes())
}

#[allow(unsafe_code)]
impl Image {
    /// Loads the image in a shared object, or in a file alone. Nothing of that is executed but
    /// code in the image, when programs call it. Large code runs where it is mapped from the
    /// file: its pages are shared with other processes.
    ///
    /// # Errors
    /// If it cannot be loaded, is no image of this build, or is damaged.
    ///
    /// # Safety
    /// The code in the image may be run: it was made by [`ImageBuilder`](crate::ImageBuilder), and
    /// only trusted users could change it. The file is not written while it is in use: one that
    /// takes its place does no harm.
    pub unsafe fn load(path: &Path) -> Result<Self, ImageError> {
        // SAFETY: as the caller says.
        unsafe { Self::load_marked(path, None) }
    }

    /// Loads the image in a file, and marks that when all of it has been checked: as
    /// long as it has the mark, it is not checked again.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    pub(crate) unsafe fn load_marked(path: &Path, marks: Option<&FileMarks>) -> Result<Self, ImageError> {
        let failed = |reason: String| ImageError::Load(path.to_owned(), reason);
        // SAFETY: the file is not written, as the caller says.
        let file = unsafe { MappedFile::open(path) }.map_err(|error| failed(error.to_string()))?;
        let place = match file.bytes().starts_with(MAGIC) {
            true => 0..file.bytes().len(),
            false => shared_object::find(file.bytes()).map_err(|reason| failed(reason.to_owned()))?,
        };
        let code = file.code().clone();
        let is_known = marks.is_some_and(|marks| marks.are_on(code.as_ref()));
        let (name, start) = (path.display().to_string(), place.start);
        let bytes = Arc::new(LoadedBytes { file, place });
        let image = Self::read_from(name, bytes, Some((code.clone(), start)), is_known)?;
        if is_known {
            return Ok(image);
        }
        let image = image.checked()?;
        marks.iter().for_each(|marks| marks.put(code.as_ref()));
        Ok(image)
    }

    /// Reads an image that is in memory.
    ///
    /// # Errors
    /// If it is no image of this build, or damaged.
    ///
    /// # Safety
    /// The code in the image may be run: it was made by [`ImageBuilder`](crate::ImageBuilder), and only trusted users could change it.
    pub unsafe fn from_bytes(
        name: impl Into<String>,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Result<Self, ImageError> {
        Self::read(name.into(), Arc::new(bytes))?.checked()
    }
}

impl Image {
    /// Reads an image whose code may be run. What is damaged in its packs is found when a program
    /// asks for it, and compiled.
    ///
    /// # Errors
    /// If it is no image of this build, or damaged.
    pub(crate) fn read(name: String, bytes: SharedBytes) -> Result<Self, ImageError> {
        Self::read_from(name, bytes, None, false)
    }

    fn read_from(
        name: String,
        bytes: SharedBytes,
        file: Option<(CodeFile, usize)>,
        is_known: bool,
    ) -> Result<Self, ImageError> {
        let read = read((*bytes).as_ref(), is_known);
        let (info, texts, prelude, versions) = match read {
            Ok(read) => read,
            Err(damage) => return Err(ImageError::Damaged(name, damage)),
        };
        Ok(Self(Arc::new(ImageInner { name, bytes, file, is_known, info, texts, prelude, versions })))
    }

    /// Checks all packs, which is not done again.
    ///
    /// # Errors
    /// If one is damaged.
    fn checked(mut self) -> Result<Self, ImageError> {
        let mut packs = self.0.versions.iter().flat_map(|version| self.0.packs(version, true));
        if let Some(damaged) = packs.find(|pack| !pack.is_whole()) {
            let damage = Damage { what: "a damaged pack", at: damaged.pack.start };
            return Err(ImageError::Damaged(self.0.name.clone(), damage));
        }
        drop(packs);
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.is_known = true;
        }
        Ok(self)
    }

    /// Returns its name, for people: the file that it was loaded from.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns what it says of itself.
    pub fn info(&self) -> &ImageInfo {
        &self.0.info
    }

    /// Returns its versions.
    pub fn versions(&self) -> impl Iterator<Item = VersionInfo> {
        self.0.versions.iter().map(|version| VersionInfo {
            features: version.features,
            base: version.base.map(|base| self.0.versions[base].features),
            functions: version.functions as usize,
            bytes: version.packs.iter().map(Range::len).sum(),
        })
    }

    /// Returns the program in it, if it has one that an executable runs.
    pub fn program(&self) -> Option<&Source> {
        let first = self.0.texts.iter().find(|text| text.module.is_none());
        first.filter(|_| self.0.info.is_program).map(|text| self.0.source(text))
    }

    /// Returns the program that contexts begin with, and what it has left.
    pub(crate) fn prelude(&self) -> Option<&Arc<Prelude>> {
        self.0.prelude.as_ref()
    }

    /// Returns the name of the [prelude](crate::ImageBuilder::prelude) in it, if it has one.
    pub fn prelude_name(&self) -> Option<&str> {
        self.0.prelude.as_ref().map(|prelude| prelude.source.name())
    }

    /// Returns the names of the texts in it, with the module that each was read as.
    pub fn texts(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.texts.iter().map(|text| (&*text.name, text.module.as_deref()))
    }

    /// Returns the text of a module in it.
    pub(crate) fn module(&self, name: &str) -> Option<&Source> {
        let found = self.0.texts.iter().find(|text| text.module.as_deref() == Some(name));
        found.map(|text| self.0.source(text))
    }

    /// Returns the packs of the best version for a processor with these features, and of its base,
    /// in an engine that compiles like that.
    ///
    /// # Errors
    /// Why none can be used, for people.
    pub(crate) fn packs(
        &self,
        present: FeatureSet,
        level: Level,
        counts_fuel: bool,
    ) -> Result<Vec<ImageText>, String> {
        let ImageInner { name, info, versions, .. } = &*self.0;
        if info.level != level as u8 {
            return Err(format!("{name} has code of level {}, not of level {}", info.level, level as u8));
        }
        if info.fuel.is_some() != counts_fuel {
            let (has, is_asked) =
                if counts_fuel { ("does not count", "a limit") } else { ("counts", "no limit") };
            return Err(format!("the code in {name} {has} fuel, and {is_asked} of fuel is set"));
        }
        let fitting = versions.iter().filter(|version| version.features.without(present).is_empty());
        let Some(version) = fitting.max_by_key(|version| version.features.rank()) else {
            let missing = |version: &ImageVersion| {
                let missing: Vec<_> = version.features.without(present).names().collect();
                format!("for {}, {} missing", version.features, missing.join(", "))
            };
            let all: Vec<_> = versions.iter().map(missing).collect();
            return Err(format!("{name} has no code for this processor: {}", all.join("; ")));
        };
        let base = version.base.map(|base| &versions[base]);
        Ok([version].into_iter().chain(base).flat_map(|version| self.0.packs(version, true)).collect())
    }

    /// Returns the packs of a version that has all texts, for what was checked, and not for their
    /// code.
    pub(crate) fn checked_texts(&self) -> Vec<ImageText> {
        let version = self.0.versions.iter().find(|version| version.base.is_none());
        version.into_iter().flat_map(|version| self.0.packs(version, false)).collect()
    }
}

impl ImageInner {
    /// Returns the packs of a version, with code that can be run here or without.
    fn packs(&self, version: &ImageVersion, has_code: bool) -> impl Iterator<Item = ImageText> {
        let target = target_of(version.features);
        self.texts.iter().zip(&version.packs).map(move |(text, pack)| ImageText {
            name: text.name.to_string(),
            module: text.module.clone(),
            text: text.identity,
            place: text.text.clone(),
            target,
            has_code,
            image: self.bytes.clone(),
            file: self.file.as_ref().map(|(file, start)| (file.clone(), start + pack.start)),
            pack: pack.clone(),
            is_known: self.is_known,
        })
    }

    fn source<'t>(&self, text: &'t StoredSource) -> &'t Source {
        text.source_in((*self.bytes).as_ref())
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Image")
            .field("name", &self.0.name)
            .field("info", &self.0.info)
            .finish_non_exhaustive()
    }
}

/// The bytes of an image in a shared object.
struct LoadedBytes {
    file: MappedFile,
    place: Range<usize>,
}

impl AsRef<[u8]> for LoadedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.file.bytes()[self.place.clone()]
    }
}

/// Writes an image, in which the last text is a prelude if it has left that.
pub(crate) fn write(
    info: &ImageInfo,
    texts: &[ImageSource],
    prelude: Option<&Snapshot>,
    versions: &[WrittenVersion],
) -> Vec<u8> {
    let head = |first: usize| {
        let (mut head, mut offset) = (Writer::default(), first);
        head.text(&serde_json::to_string(info).unwrap_or_default());
        head.count(texts.len());
        for text in texts {
            head.text(text.source.name());
            head.text(text.module.as_deref().unwrap_or(""));
            head.bytes(ImageText::identity(&text.source, text.module.as_deref()).as_bytes());
            head.text(text.source.text());
        }
        head.byte(prelude.is_some().into());
        prelude.iter().for_each(|snapshot| snapshot.write(&mut head));
        head.count(versions.len());
        for WrittenVersion { features, base, functions, packs } in versions {
            head.word(features.bits());
            head.word(base.map_or(NO_BASE, |base| base as u32));
            head.word(u32::try_from(*functions).unwrap_or(u32::MAX));
            for pack in packs {
                offset = start_of(pack, offset);
                head.long(offset as u64);
                head.long(pack.len() as u64);
                offset += pack.len();
            }
        }
        head.finish()
    };
    let head = head(PREFIX + head(0).len());
    let mut writer = Writer::default();
    writer.bytes(MAGIC);
    writer.word(FORMAT);
    writer.bytes(Fingerprint::BUILD.as_bytes());
    writer.long(head.len() as u64);
    writer.bytes(hash_of(&head).as_bytes());
    writer.bytes(&head);
    for pack in versions.iter().flat_map(|version| &version.packs) {
        let until = start_of(pack, writer.len());
        writer.bytes(&vec![0; until - writer.len()]);
        writer.bytes(pack);
    }
    writer.finish()
}

/// Returns where a pack begins that is written at that offset or soon behind.
fn start_of(pack: &[u8], offset: usize) -> usize {
    if pack::is_large(pack.len() as u64) { offset.next_multiple_of(pack::PAGE) } else { offset }
}

fn hash_of(head: &[u8]) -> Fingerprint {
    Fingerprint::of_bytes("kal 2026 head of an image", head)
}

type ImageParts = (ImageInfo, Vec<StoredSource>, Option<Arc<Prelude>>, Vec<ImageVersion>);

/// Reads all of an image but its packs. One that `is_known` to be whole is not checked.
fn read(bytes: &[u8], is_known: bool) -> Result<ImageParts, Damage> {
    let mut reader = Reader::new(bytes);
    let is_image = reader.bytes(MAGIC.len())? == MAGIC;
    reader.expect(is_image, "it does not begin like one")?;
    let (format, build) = (reader.word()?, reader.bytes(32)?);
    let is_ours = format == FORMAT && build == Fingerprint::BUILD.as_bytes();
    reader.expect(is_ours, "made by another build of Kal")?;
    let (length, hash) = (reader.long()?, reader.bytes(32)?);
    let length = usize::try_from(length).map_err(|_| reader.damage("wrong length"))?;
    let head = reader.bytes(length)?;
    reader.expect(is_known || hash == hash_of(head).as_bytes(), "its head has another hash")?;
    let (size, mut head) = (head.len(), Reader::new(head));
    let info = head.text()?.to_owned();
    let info: ImageInfo = serde_json::from_str(&info).map_err(|_| head.damage("no metadata"))?;
    let texts = head.many(|head| {
        let (name, module) = (head.text()?, head.text()?);
        let mut identity = [0; 32];
        identity.copy_from_slice(head.bytes(32)?);
        let identity = Fingerprint::from_bytes(identity);
        let length = head.count()?;
        head.bytes(length)?;
        let end = PREFIX + size - head.rest().len();
        let (text, source) = (end - length..end, SteadyCell::new());
        let module = (!module.is_empty()).then(|| module.into());
        Ok(StoredSource { name: name.into(), module, identity, text, source })
    })?;
    let prelude = match head.byte()? {
        0 => None,
        _ => {
            let last: &StoredSource = texts.last().ok_or(head.damage("no prelude"))?;
            let source = last.source_in(bytes).clone();
            Some(Arc::new(Prelude { source, snapshot: Snapshot::read(&mut head)? }))
        }
    };
    let mut before: Vec<(FeatureSet, bool)> = Vec::new();
    let versions = head.many(|head| {
        let (features, base, functions) = (head.word()?, head.word()?, head.word()?);
        let features = FeatureSet::of_bits(features).ok_or(head.damage("unknown features"))?;
        let base = (base != NO_BASE).then_some(base as usize);
        let is_base =
            |(needed, is_complete): &(FeatureSet, bool)| *is_complete && needed.without(features).is_empty();
        let has_base = base.is_none_or(|base| before.get(base).is_some_and(is_base));
        head.expect(has_base, "a version whose base is none")?;
        before.push((features, base.is_none()));
        let pack = |_: &StoredSource| {
            let (start, length) = (head.long()? as usize, head.long()? as usize);
            let end = start.checked_add(length).filter(|end| *end <= bytes.len());
            Ok(start..end.ok_or(head.damage("a pack beyond the end"))?)
        };
        let packs = texts.iter().map(pack).collect::<Result<_, Damage>>()?;
        Ok(ImageVersion { features, base, functions, packs })
    })?;
    head.expect(head.rest().is_empty(), "bytes after the head")?;
    Ok((info, texts.into(), prelude, versions.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processor::features;

    fn image() -> Vec<u8> {
        let info = ImageInfo { kal: "0".into(), level: 2, fuel: None, max_nesting: 10, is_program: true };
        let text = |name: &str, module: Option<&str>| ImageSource {
            source: Source::new(name, format!("# {name}\n")),
            module: module.map(Box::from),
        };
        let texts = [text("größe.kal", None), text("lib/stats.kal", Some("stats"))];
        let version = |name, base| WrittenVersion {
            features: features(name),
            base,
            functions: 1,
            packs: vec![vec![1; 3], vec![2; 5]],
        };
        write(
            &info,
            &texts,
            None,
            &[version("x86-64", None), version("x86-64-v3", None), version("x86-64-v4", Some(1))],
        )
    }

    fn open(bytes: Vec<u8>) -> Result<Image, ImageError> {
        Image::read("app.so".into(), Arc::new(bytes))
    }

    #[test]
    fn the_best_version_that_fits_is_chosen() {
        let image = open(image()).expect("it is whole");
        assert_eq!(image.program().map(Source::name), Some("größe.kal"));
        assert_eq!(image.module("stats").map(Source::text), Some("# lib/stats.kal\n"));
        let sizes: Vec<_> = image.versions().map(|version| version.bytes).collect();
        assert_eq!(sizes, [8, 8, 8]);
        let chosen = |present: &str| {
            let packs = image.packs(features(present), Level::O2, false).expect("one fits");
            packs.iter().map(|pack| pack.target).collect::<Vec<_>>()
        };
        let targets =
            |names: &[&str]| names.iter().flat_map(|name| [target_of(features(name)); 2]).collect::<Vec<_>>();
        assert_eq!(chosen("x86-64-v2"), targets(&["x86-64"]));
        assert_eq!(chosen("x86-64-v3"), targets(&["x86-64-v3"]));
        // The base comes after what is better.
        assert_eq!(chosen("x86-64-v4"), targets(&["x86-64-v4", "x86-64-v3"]));
        assert_eq!(chosen("x86-64-v4,-bmi2"), targets(&["x86-64"]));
        let refused = |present: &str, level, fuel| image.packs(features(present), level, fuel).err();
        let expected = "app.so has code of level 2, not of level 3";
        assert_eq!(refused("x86-64", Level::O3, false).as_deref(), Some(expected));
        let expected = "the code in app.so does not count fuel, and a limit of fuel is set";
        assert_eq!(refused("x86-64", Level::O2, true).as_deref(), Some(expected));
    }

    #[test]
    fn where_no_version_fits_each_says_what_is_missing() {
        let info = open(image()).expect("it is whole").info().clone();
        let texts = [ImageSource { source: Source::new("a.kal", ""), module: None }];
        let version = |name, base| WrittenVersion {
            features: features(name),
            base,
            functions: 0,
            packs: vec![Vec::new()],
        };
        let versions = [version("x86-64-v3", None), version("x86-64-v4", None)];
        let image = open(write(&info, &texts, None, &versions)).expect("it is whole");
        let refused = image.packs(features("x86-64-v3,-bmi2,-fma"), Level::O2, false).err();
        let expected = "app.so has no code for this processor: for x86-64-v3, bmi2, fma missing; for x86-64-v4, \
                        bmi2, fma, avx512f, avx512bw, avx512cd, avx512dq, avx512vl missing";
        assert_eq!(refused.as_deref(), Some(expected));
    }

    #[test]
    fn a_base_is_a_complete_version_before() {
        let info = open(image()).expect("it is whole").info().clone();
        let version =
            |name, base| WrittenVersion { features: features(name), base, functions: 0, packs: vec![] };
        let read = |bases: [Option<usize>; 3]| {
            let names = ["x86-64", "x86-64-v3", "x86-64-v4"];
            let versions: Vec<_> =
                names.into_iter().zip(bases).map(|(name, base)| version(name, base)).collect();
            open(write(&info, &[], None, &versions))
        };
        assert!(read([None, Some(0), Some(0)]).is_ok());
        for wrong in
            [[Some(0), None, None], [None, Some(0), Some(1)], [None, Some(2), None], [None, None, Some(9)]]
        {
            let error = read(wrong).expect_err("there is no such base").to_string();
            assert!(error.contains("a version whose base is none"), "{error}");
        }
    }

    #[test]
    fn whatever_is_changed_or_cut_off_before_the_packs_is_refused() {
        let bytes = image();
        let head = bytes.len() - 24;
        for at in 0..head {
            let mut changed = bytes.clone();
            changed[at] ^= 1 << (at % 8);
            assert!(open(changed).is_err(), "byte {at}");
        }
        (0..bytes.len())
            .for_each(|length| assert!(open(bytes[..length].to_vec()).is_err(), "{length} bytes"));
    }
}

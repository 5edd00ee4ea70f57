//! Where modules are, and reading their files.

use super::project::Project;
use crate::bytes::{SharedBytes, StoredBytes};
use crate::module::standard;
use crate::process;
use crate::source::{Content, Source};
#[cfg(feature = "cli")]
use crate::syntax::is_name;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the files of modules end with.
const MODULE_ENDING: &str = "kal";

/// Returns the files that a module could be, in the order in which they are looked
/// for: beside the program that imports it, in the folder `lib` of its project, in
/// the folders of the engine; but where its project says, if it does.
///
/// # Errors
/// What is wrong with the project, for people.
pub(super) fn places(
    module: &str,
    folder: Option<&Path>,
    folders: &[PathBuf],
) -> Result<Vec<ModulePlace>, String> {
    let mut path: PathBuf = module.split('.').collect();
    path.set_extension(MODULE_ENDING);
    let project = folder.map(Project::around).transpose()?.flatten();
    let import = project.as_ref().map(|project| project.import(module)).transpose()?.flatten();
    let libraries: Vec<PathBuf> = match import {
        Some(library) => vec![library],
        None => {
            let modules = project.map(|project| project.modules());
            folder.map(Path::to_owned).into_iter().chain(modules).chain(folders.iter().cloned()).collect()
        }
    };
    let mut places: Vec<ModulePlace> = Vec::new();
    for library in libraries {
        if places.iter().all(|place| place.library != library) {
            places.push(ModulePlace { file: library.join(&path), library, embedded: None });
        }
    }
    Ok(places)
}

/// A file that a module could be.
#[derive(Clone)]
pub(super) struct ModulePlace {
    /// The folder in which the library is: `stats.robust` is in `stats` there.
    pub(super) library: PathBuf,
    pub(super) file: PathBuf,
    /// The module, if it is in no file.
    embedded: Option<Source>,
}

/// Returns the first of these files that exists, or else the module in an image, or that of
/// the standard library.
pub(super) fn find(places: &[ModulePlace], module: &str, in_images: Option<&Source>) -> Option<ModulePlace> {
    let in_file = places.iter().find(|place| place.file.is_file()).cloned();
    in_file.or_else(|| in_image(in_images)).or_else(|| standard::source(module).map(embedded))
}

/// Returns a module that is in an image.
pub(super) fn in_image(found: Option<&Source>) -> Option<ModulePlace> {
    found.cloned().map(embedded)
}

fn embedded(source: Source) -> ModulePlace {
    ModulePlace { library: PathBuf::new(), file: source.name().into(), embedded: Some(source) }
}

/// Returns what can be read from a file, up to a number of bytes.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn read_up_to(file: File, limit: u64) -> io::Result<StoredBytes> {
    let expected = file.metadata().map_or(0, |data| data.len()).min(limit);
    // One more, so that the end is found.
    let expected = usize::try_from(expected).unwrap_or(usize::MAX).saturating_add(1);
    let (mut whole, range) = process::zeros(expected).ok_or(ErrorKind::OutOfMemory)?;
    let (mut file, mut length) = (file.take(limit), 0);
    while length < expected {
        match file.read(&mut whole[range.clone()][length..]) {
            Ok(0) => {
                let read = range.start..range.start + length;
                return StoredBytes::part(&(Arc::new(whole) as SharedBytes), read)
                    .ok_or_else(|| ErrorKind::UnexpectedEof.into());
            }
            Ok(more) => length += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // It grows, or does not say how long it is.
    let mut bytes = whole[range].to_vec();
    file.read_to_end(&mut bytes)?;
    Ok(bytes.into())
}

/// Reads the file of a module. What it imports is looked for in its library.
///
/// # Errors
/// Why it cannot be read, for people.
pub(super) fn read(place: &ModulePlace, longest: u32) -> Result<Source, String> {
    let name = place.file.display().to_string();
    if let Some(source) = &place.embedded {
        return Ok(source.clone());
    }
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let opened = File::open(&place.file);
    let bytes = opened.and_then(|file| read_up_to(file, u64::from(longest) + 1)).map_err(failed)?;
    let text = Content::new(bytes).map_err(|(error, _)| format!("{name}: {error}"))?;
    Ok(Source::of_file(name, text.without_mark(), Some(place.library.clone())))
}

/// A module in the folder of a library.
#[cfg(feature = "cli")]
pub(crate) struct LibraryModule {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

/// Returns the modules in a folder, by the folder in which they are looked for: that of a
/// project has others in it. Of a file, only that module.
///
/// # Errors
/// What cannot be read.
#[cfg(feature = "cli")]
pub(crate) fn modules_of(library: &Path) -> std::io::Result<Vec<(PathBuf, Vec<LibraryModule>)>> {
    let library = std::fs::canonicalize(library)?;
    if library.is_file() {
        let folder = library.parent().unwrap_or(&library).to_owned();
        let module = module_in(&folder, &library);
        let found =
            module.ok_or_else(|| std::io::Error::other("no program can import a file of that name"))?;
        return Ok(vec![(folder, vec![found])]);
    }
    let own = Project::libraries_in(&library).map_err(std::io::Error::other)?;
    let mut folders = Vec::new();
    for folder in std::iter::once(&library).chain(&own) {
        let (mut modules, mut waiting) = (Vec::new(), vec![folder.clone()]);
        while let Some(inside) = waiting.pop() {
            for entry in std::fs::read_dir(&inside)? {
                let path = entry?.path();
                let is_hidden =
                    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
                if path.is_dir() && !path.is_symlink() && !is_hidden && !own.contains(&path) {
                    waiting.push(path);
                } else {
                    modules.extend(module_in(folder, &path));
                }
            }
        }
        modules.sort_by(|one, other| one.name.cmp(&other.name));
        if !modules.is_empty() {
            folders.push((folder.clone(), modules));
        }
    }
    Ok(folders)
}

/// Returns the module that a file is in a library; `None` if no program can import it.
#[cfg(feature = "cli")]
fn module_in(library: &Path, file: &Path) -> Option<LibraryModule> {
    let is_module = file.extension().is_some_and(|ending| ending == MODULE_ENDING) && file.is_file();
    let path = file.strip_prefix(library).ok().filter(|_| is_module)?.with_extension("");
    let parts: Option<Vec<&str>> =
        path.iter().map(|part| part.to_str().filter(|part| is_name(part))).collect();
    Some(LibraryModule { name: parts?.join("."), file: file.to_owned() })
}

/// Returns the folders in which modules are looked for, besides that of the program:
/// those of `KAL_PATH`, and the user's library.
#[cfg(feature = "cli")]
pub(crate) fn folders_of_user() -> Vec<PathBuf> {
    let listed = std::env::var_os("KAL_PATH");
    let listed = listed.iter().flat_map(std::env::split_paths).filter(|path| !path.as_os_str().is_empty());
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share"));
    listed.chain(data.or_else(home).map(|data| data.join("kal/lib"))).collect()
}

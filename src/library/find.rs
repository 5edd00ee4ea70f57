//! Where modules are, and reading their files.

use super::project::Project;
use super::standard;
use crate::source::Source;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

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
            places.push(ModulePlace { file: library.join(&path), library, standard: None });
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
    /// The module, if it is of the standard library and in no file.
    standard: Option<Source>,
}

/// Returns the first of these files that exists, or else the module of the standard
/// library.
pub(super) fn find(places: &[ModulePlace], module: &str) -> Option<ModulePlace> {
    let in_file = places.iter().find(|place| place.file.is_file()).cloned();
    in_file.or_else(|| {
        let source = standard::source(module)?;
        let file = source.name().into();
        Some(ModulePlace { library: PathBuf::new(), file, standard: Some(source) })
    })
}

/// Reads the file of a module. What it imports is looked for in its library.
///
/// # Errors
/// Why it cannot be read, for people.
pub(super) fn read(place: &ModulePlace, longest: u32) -> Result<Source, String> {
    let name = place.file.display().to_string();
    if let Some(source) = &place.standard {
        return Ok(source.clone());
    }
    let failed = |error: std::io::Error| format!("{name}: {error}");
    let mut bytes = Vec::new();
    let limit = u64::from(longest) + 1;
    File::open(&place.file).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(failed)?;
    let text = String::from_utf8(bytes).map_err(|error| format!("{name}: {}", error.utf8_error()))?;
    Ok(Source::in_folder(name, text, &place.library))
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

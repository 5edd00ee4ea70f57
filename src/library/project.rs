//! Projects: what a file `kal.toml` says of the folder that it is in.
//!
//! ```toml
//! [library]
//! name = "statistics"
//! version = "1.2.0"
//!
//! [imports]
//! linear = { path = "../linear", version = "1.1" }
//! ```
//!
//! All of it may be missing. The module `linear`, and `linear.solve` as well, are in that
//! folder then, and nowhere else.

use semver::{Version, VersionReq};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The name of the file.
const FILE: &str = "kal.toml";

/// The folder of modules in a project.
const MODULES: &str = "lib";

/// What the file says.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Project {
    library: LibraryTable,
    imports: BTreeMap<String, ImportEntry>,
    #[serde(skip)]
    folder: PathBuf,
}

/// What the folder is as a library.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LibraryTable {
    name: Option<String>,
    #[serde(deserialize_with = "version")]
    version: Option<Version>,
}

/// Where modules are that the files of the folder import.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table with a `path`, such as `{ path = \"../linear\" }`")]
struct ImportEntry {
    path: PathBuf,
    version: Option<VersionReq>,
}

/// Reads the version of a library.
fn version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Version>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| D::Error::custom(format!("`{text}` is no version, which has three numbers: \"1.2.0\""));
    Version::parse(&text).map(Some).map_err(wrong)
}

impl Project {
    /// Returns the project that a folder belongs to: that of the nearest folder around it
    /// with such a file.
    ///
    /// # Errors
    /// Why the file cannot be read, for people.
    pub(super) fn around(folder: &Path) -> Result<Option<Self>, String> {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(folder) = folder.canonicalize() else { return Ok(None) };
        let found = folder.ancestors().find(|folder| folder.join(FILE).is_file());
        found.map(Self::of).transpose()
    }

    /// Reads the file of a folder.
    fn of(folder: &Path) -> Result<Self, String> {
        let file = folder.join(FILE);
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let text = std::fs::read_to_string(&file).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => failed(&"it is no text in UTF-8"),
            _ => failed(&error),
        })?;
        let project: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!("{}:{line}: {}", file.display(), error.message())
        })?;
        Ok(Self { folder: folder.to_owned(), ..project })
    }

    /// Returns the folder of modules that every file of the project can import.
    pub(super) fn modules(&self) -> PathBuf {
        self.folder.join(MODULES)
    }

    /// Returns the folders of modules inside the folder of a project that are libraries of their
    /// own: that one, and those that it imports. None if it is no project.
    ///
    /// # Errors
    /// Why its file cannot be read, for people.
    #[cfg(feature = "cli")]
    pub(super) fn libraries_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
        if !folder.join(FILE).is_file() {
            return Ok(Vec::new());
        }
        let project = Self::of(folder)?;
        let imported = project.imports.values().map(|entry| folder.join(&entry.path));
        let all = std::iter::once(project.modules()).chain(imported);
        let inside = all.filter_map(|library| library.canonicalize().ok());
        let mut libraries: Vec<_> = inside
            .filter(|inside| inside.is_dir() && inside.starts_with(folder) && inside != folder)
            .collect();
        libraries.sort();
        libraries.dedup();
        Ok(libraries)
    }

    /// Returns the folder in which a module is, if the project says so.
    ///
    /// # Errors
    /// Why the library there will not do, for people.
    pub(super) fn import(&self, module: &str) -> Result<Option<PathBuf>, String> {
        let first = module.split('.').next().unwrap_or(module);
        let Some(ImportEntry { path, version }) = self.imports.get(first) else { return Ok(None) };
        let folder = self.folder.join(path);
        let Some(wanted) = version else { return Ok(Some(folder)) };
        let asked = format!("{} asks for version {wanted}", self.folder.join(FILE).display());
        let has_file = folder.join(FILE).is_file();
        let library = if has_file { Self::of(&folder)?.library } else { LibraryTable::default() };
        match library.version {
            Some(version) if wanted.matches(&version) => Ok(Some(folder)),
            Some(version) => {
                let name =
                    library.name.map_or_else(|| folder.display().to_string(), |name| format!("`{name}`"));
                Err(format!("{asked}, but {name} is version {version}"))
            }
            None if has_file => Err(format!("{asked}, but {} says no version", folder.join(FILE).display())),
            None => Err(format!("{asked}, but there is no {}", folder.join(FILE).display())),
        }
    }
}

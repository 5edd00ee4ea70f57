//! Where the cache is.

use std::path::PathBuf;

/// Where code is kept between runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CacheOptions {
    /// The folder of the cache. It is created when something is first written.
    pub folder: PathBuf,
    /// The file of the user's secret, with which packs are authenticated. It is
    /// created when something is first written. Who can read it can make code that
    /// this user runs.
    pub key: PathBuf,
    /// Whether code is written, too.
    pub writes: bool,
    /// How much the cache may take, in bytes. More is removed once a day, what was used
    /// longest ago first.
    pub most_bytes: u64,
}

impl CacheOptions {
    /// Returns the options of a cache in that folder, authenticated with the secret in
    /// that file: written, and of 1 GiB.
    pub fn new(folder: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), key: key.into(), writes: true, most_bytes: 1 << 30 }
    }
}

#[cfg(feature = "cli")]
impl CacheOptions {
    /// Returns the cache that the user chooses: `off`, `ro` (the usual folder, which is
    /// not written), or a folder; the usual folder if nothing is chosen, which is `kal`
    /// in `$XDG_CACHE_HOME`, or else in `~/.cache`. `None` for no cache, or if there is
    /// no usual place.
    pub(crate) fn of_user(chosen: Option<&str>) -> Option<Self> {
        let usual = |variable: &str, in_home: &str| {
            let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let home = || std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
            set.or_else(|| Some(home()?.join(in_home))).map(|folder| folder.join("kal"))
        };
        let key = usual("XDG_STATE_HOME", ".local/state")?.join("key");
        match chosen {
            Some("off") => None,
            None | Some("ro" | "") => {
                let folder = usual("XDG_CACHE_HOME", ".cache")?;
                Some(Self { writes: chosen != Some("ro"), ..Self::new(folder, key) })
            }
            Some(folder) => Some(Self::new(folder, key)),
        }
    }
}

//! The prompt's own files, in the XDG base directories.

use std::env;
use std::path::PathBuf;

/// Returns the path of the program that runs before the first prompt.
pub(super) fn init() -> Option<PathBuf> {
    Some(base("XDG_CONFIG_HOME", ".config")?.join("kal/init.kal"))
}

/// Returns the path of the history of earlier sessions.
pub(super) fn history() -> Option<PathBuf> {
    Some(base("XDG_STATE_HOME", ".local/state")?.join("kal/history"))
}

/// Returns the variable's directory if it is absolute, else the one below home.
fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(env::home_dir().filter(|home| !home.as_os_str().is_empty())?.join(below_home)))
}

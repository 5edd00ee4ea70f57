//! The installed library, and running what is built with it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the C library in the repository.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it is in a folder").to_owned()
}

/// Returns the folder that it was installed into.
pub fn prefix() -> PathBuf {
    env::var_os("KAL_PREFIX").map(PathBuf::from).expect("KAL_PREFIX is set, as `make c-test` does")
}

/// Returns the folder in which Node finds koffi.
pub fn node_folder() -> PathBuf {
    env::var_os("KAL_NODE").map(PathBuf::from).expect("KAL_NODE is set, as `make c-test` does")
}

/// Returns the shared library.
pub fn shared() -> PathBuf {
    prefix().join("lib/libkal.so").canonicalize().expect("it is installed")
}

/// Returns a command that finds the installed library.
pub fn command(program: impl AsRef<Path>) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
        .env("LD_LIBRARY_PATH", prefix().join("lib"));
    command
}

/// Returns what a command writes to standard output; it must succeed and write no error.
pub fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).expect("the output is UTF-8");
    assert!(output.status.success(), "{command:?}: {}\n{text}{errors}", output.status);
    text
}

/// Returns the words that pkg-config says.
pub fn package(arguments: &[&str]) -> Vec<String> {
    let text = output(command("pkg-config").args(arguments));
    text.split_whitespace().map(str::to_owned).collect()
}

//! Prepares what the compiler needs, and bakes in the build id.
//!
//! Cargo runs this before it compiles the crate, so that a missing LLVM ends
//! in one message that says what to install. Without the feature `compiler`,
//! nothing of LLVM or C++ is looked for.

#[cfg(feature = "compiler")]
#[path = "build/compiler.rs"]
mod compiler;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    list_standard_library();
    #[cfg(feature = "compiler")]
    let llvm = compiler::prepare();
    #[cfg(not(feature = "compiler"))]
    let llvm = "none".to_owned();
    println!("cargo:rustc-env=KAL_BUILD_ID={}", build_id());
    println!("cargo:rustc-env=KAL_COMPILER_ID={}", compiler_id(&llvm));
    println!("cargo:rustc-env=KAL_TARGET={}", env::var("TARGET").unwrap_or_default());
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

/// Returns the identity of this build, in hexadecimal: a hash over everything that
/// decides how code and what runs it fit together. The command, and the runtime without a
/// compiler that it builds programs with, have the same.
fn build_id() -> String {
    ["build", "src", "crates"].iter().for_each(|folder| println!("cargo:rerun-if-changed={folder}"));
    let rustc = env::var_os("RUSTC").and_then(|rustc| first_line(Command::new(rustc).arg("--version")));
    let mut hasher = blake3::Hasher::new_derive_key("kal 2026 build 2");
    add(&mut hasher, rustc.unwrap_or_default().as_bytes());
    add_settings(&mut hasher, &["TARGET", "CARGO_FEATURE_UNCHECKED"]);
    let mut files = ["Cargo.toml", "Cargo.lock", "build.rs"].map(PathBuf::from).to_vec();
    ["build", "src", "crates"].iter().for_each(|folder| sources(Path::new(folder), &mut files));
    files.sort();
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        add(&mut hasher, file.to_string_lossy().as_bytes());
        // An archive of the crate may come without a lock.
        add(&mut hasher, &fs::read(file).unwrap_or_default());
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the identity of the compiler in this build, in hexadecimal: a hash over
/// what else decides which code it makes.
fn compiler_id(llvm: &str) -> String {
    let mut features: Vec<String> = env::vars().map(|(variable, _)| variable).collect();
    features.retain(|variable| variable.starts_with("CARGO_FEATURE_"));
    features.sort();
    let mut hasher = blake3::Hasher::new_derive_key("kal 2026 compiler 1");
    [llvm, &features.join(" ")].iter().for_each(|part| add(&mut hasher, part.as_bytes()));
    let settings = ["OPT_LEVEL", "CARGO_ENCODED_RUSTFLAGS", "CARGO_CFG_DEBUG_ASSERTIONS"];
    add_settings(&mut hasher, &settings);
    hasher.finalize().to_hex().to_string()
}

/// Adds a part and its length: no two lists of parts are the same bytes.
fn add(hasher: &mut blake3::Hasher, part: &[u8]) {
    hasher.update(&(part.len() as u64).to_le_bytes());
    hasher.update(part);
}

/// Adds variables of the environment, set or not.
fn add_settings(hasher: &mut blake3::Hasher, variables: &[&str]) {
    for variable in variables {
        add(hasher, format!("{:?}", env::var(variable).ok()).as_bytes());
    }
}

/// Writes the functions that each module of the standard library offers, for help in programs
/// that are linked without its texts.
fn list_standard_library() {
    let mut files = Vec::new();
    sources(Path::new("src/module/standard"), &mut files);
    files.retain(|file| file.extension().is_some_and(|ending| ending == "kal"));
    files.sort();
    let name = |line: &str| Some(line.strip_prefix("def ")?.split_once('(')?.0.to_owned());
    let offered = |file: &PathBuf| {
        let text = fs::read_to_string(file).expect("the sources are readable");
        let names: Vec<_> = text.lines().filter_map(name).filter(|name| !name.starts_with('_')).collect();
        let module = file.file_stem().and_then(|name| name.to_str()).expect("it has a name").to_owned();
        format!("({module:?}, &{names:?})")
    };
    let modules: Vec<_> = files.iter().map(offered).collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let text = format!("&[{}]", modules.join(", "));
    fs::write(out.join("standard_library.rs"), text).expect("the folder of the build is writable");
}

/// Adds the files below a folder.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources are readable").flatten() {
        let path = entry.path();
        if path.is_dir() { sources(&path, files) } else { files.push(path) }
    }
}

//! What the libraries show, need and weigh.

use crate::installed::{output, prefix, shared, sources};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = fs::read_to_string(sources().join("include/kal.h")).expect("it is there");
    let code: Vec<&str> = header.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let names = code.iter().filter_map(|line| {
        let (before, _) = line.split_once('(')?;
        let name = before.rsplit([' ', '*']).next()?;
        (name.starts_with("kal_") && !line.starts_with("typedef") && !line.starts_with(' '))
            .then(|| name.to_owned())
    });
    names.collect()
}

/// Returns the symbols of a file, by nm.
fn symbols(path: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let text = output(Command::new("nm").args(arguments).arg(path));
    text.lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| !name.ends_with(':'))
        .map(str::to_owned)
        .collect()
}

#[test]
fn libraries_show_their_interface_only() {
    let declared = declared();
    assert!(declared.len() > 40 && declared.contains("kal_call") && declared.contains("kal_apply_arrow"));
    assert_eq!(symbols(&shared(), &["-D", "--defined-only"]), declared);
    assert_eq!(symbols(&prefix().join("lib/libkal.a"), &["-g", "--defined-only"]), declared);
}

#[test]
fn the_shared_library_has_no_unique_symbols() {
    // The loader makes one of all of that name in the process, hidden or not.
    let text = output(Command::new("readelf").args(["--wide", "--symbols"]).arg(shared()));
    assert!(text.contains("kal_call"));
    let unique: Vec<&str> = text.lines().filter(|line| line.contains(" UNIQUE ")).collect();
    assert!(unique.is_empty(), "{unique:?}");
}

#[test]
fn the_shared_library_needs_the_c_library_only() {
    let text = output(Command::new("readelf").args(["--wide", "--dynamic"]).arg(shared()));
    let needed = text.lines().filter(|line| line.contains("(NEEDED)"));
    let needed: Vec<&str> = needed.filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    for library in &needed {
        let stem = library.split('.').next().unwrap_or_default();
        assert!(["libm", "libc", "libgcc_s", "ld-linux-x86-64"].contains(&stem), "{needed:?}");
    }
    assert!(text.contains("Library soname: [libkal.so.1]"), "{text}");
    // Its threads may be in it when it is unloaded.
    assert!(text.contains("NODELETE"), "{text}");
}

#[test]
fn the_shared_library_is_not_too_large() {
    let size = fs::metadata(shared()).expect("it is there").len();
    assert!(size < 45 << 20, "{size} bytes");
}

//! Names the shared library, and links into it what it would otherwise look for at each start.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that LLVM needs, and that a machine without a C++ compiler may not have.
const STATIC: [&str; 3] = ["libstdc++.a", "libz.a", "libzstd.a"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/lib.rs");
    println!("cargo::rerun-if-env-changed=CXX");
    // Code of the library runs on threads of its own, and when the process ends: it stays after
    // `dlclose`.
    let folder = static_libraries();
    let name = format!("-Wl,-soname,libkal.so.{}", oldest_abi());
    for argument in [name, "-Wl,-z,nodelete".into(), format!("-L{}", folder.display())] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}

/// Returns the number of the oldest interface that is a part of this one.
fn oldest_abi() -> String {
    let source = fs::read_to_string("src/lib.rs").expect("the source is readable");
    let number = source.split_once("KAL_ABI_OLDEST: u32 = ").and_then(|(_, rest)| rest.split_once(';'));
    number.expect("lib.rs defines KAL_ABI_OLDEST").0.to_owned()
}

/// Returns a folder with the static libraries that the C++ compiler has, and nothing else.
fn static_libraries() -> PathBuf {
    let folder = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("static");
    fs::create_dir_all(&folder).expect("the output folder is writable");
    let compiler = env::var_os("CXX").unwrap_or_else(|| "c++".into());
    for library in STATIC {
        let output = Command::new(&compiler).arg(format!("-print-file-name={library}")).output();
        let path = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let path = path.map(PathBuf::from).ok().filter(|path| path.is_absolute());
        let Some(path) = path else {
            println!("cargo::warning={library} is missing, so libkal.so needs the shared one");
            continue;
        };
        let link = folder.join(library);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(path, link).expect("the output folder is writable");
    }
    folder
}

//! Links what LLVM needs into the module, so that a machine without these libraries can
//! import it.

use std::env;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Libraries of which most systems have some version, and containers often none.
const STATIC: [&str; 3] = ["libstdc++.a", "libz.a", "libzstd.a"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("static");
    std::fs::create_dir_all(&folder).expect("the output folder is writable");
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).get_compiler();
    for library in STATIC {
        let asked = compiler.to_command().arg(format!("-print-file-name={library}")).output();
        let found = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok());
        let found = found.map(|path| PathBuf::from(path.trim())).filter(|path| path.is_absolute());
        let link = folder.join(library);
        if let Some(path) = found.filter(|_| !link.exists()) {
            symlink(path, link).expect("the output folder is writable");
        }
    }
    // Searched before the folders of the system, and no shared library is in there.
    println!("cargo::rustc-cdylib-link-arg=-L{}", folder.display());
}

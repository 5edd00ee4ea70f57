//! Finds and links LLVM, and compiles the C++ shims.
//!
//! Cargo runs this before it compiles the crate, so that a missing LLVM ends
//! in one message that says what to install. Build scripts of crates that
//! depend on this one find in their environment what it has found:
//! `DEP_KAL_ORC_LLVM_CONFIG` is the path of llvm-config, `DEP_KAL_ORC_VERSION`
//! LLVM's version, `DEP_KAL_ORC_LIBRARIES` the names of the static libraries
//! that are linked, and `DEP_KAL_ORC_CXXFLAGS` what C++ that includes LLVM's
//! headers must be compiled with.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// The prefix of LLVM 22 in Debian's and apt.llvm.org's packages.
const DEFAULT_PREFIX: &str = "/usr/lib/llvm-22";
/// The variable for LLVM's prefix, which the `llvm-sys` crate reads, too.
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";
const LLVM_MAJOR: &str = "22";
const INCOMPLETE: &str = "The static libraries of LLVM 22 are missing: apt-get install llvm-22-dev";
/// System libraries that only unused parts of LLVM need.
const UNUSED: [&str; 1] = ["xml2"];
/// The parts of LLVM that a JIT compiler for this machine uses.
const COMPONENTS: [&str; 4] = ["orcjit", "orcdebugging", "passes", "x86"];
/// The further parts that its host may use with the feature `host-llvm`: Cargo
/// makes one choice for all users of `llvm-sys`, and with this crate's choice
/// it links nothing.
const FOR_HOSTS: [&str; 6] = ["mcjit", "interpreter", "irreader", "bitwriter", "linker", "all-targets"];
const SHIMS: [&str; 2] = ["src/shim.cpp", "src/memory.cpp"];
/// What `llvm-sys` would compile itself, for `host-llvm`.
const SHIMS_FOR_HOSTS: [&str; 2] = ["src/host/native.cpp", "src/host/targets.cpp"];
const HEADER: &str = "src/memory.h";
/// How C++ that includes LLVM's headers is compiled. Debian's LLVM is built
/// without assertions; a mismatch changes the layout of some of its classes.
const CXXFLAGS: [&str; 8] = [
    "-std=c++17",
    "-fno-rtti",
    "-fno-exceptions",
    "-D_GNU_SOURCE",
    "-D__STDC_CONSTANT_MACROS",
    "-D__STDC_FORMAT_MACROS",
    "-D__STDC_LIMIT_MACROS",
    "-DNDEBUG",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={PREFIX_VARIABLE}");
    let llvm = Llvm::find();
    let flags = llvm.flags();
    compile_shims(&flags);
    let libraries = llvm.link();
    println!("cargo::metadata=LLVM_CONFIG={}", llvm.config.display());
    println!("cargo::metadata=VERSION={}", llvm.version);
    println!("cargo::metadata=LIBRARIES={}", libraries.join(" "));
    println!("cargo::metadata=CXXFLAGS={}", flags.join(" "));
}

/// Ends the build with `message`, without the output of a panic.
fn give_up(message: &str) -> ! {
    eprintln!("\n{message}\n");
    for line in message.lines() {
        println!("cargo::warning={line}");
    }
    exit(1);
}

/// Returns whether the host uses LLVM itself.
fn for_hosts() -> bool {
    env::var_os("CARGO_FEATURE_HOST_LLVM").is_some()
}

/// The LLVM installation that everything is compiled and linked against.
struct Llvm {
    config: PathBuf,
    version: String,
    include: String,
}

impl Llvm {
    fn find() -> Self {
        let prefix = env::var(PREFIX_VARIABLE).unwrap_or_else(|_| DEFAULT_PREFIX.into());
        let config = PathBuf::from(&prefix).join("bin/llvm-config");
        let version = ask(&config, "--version").unwrap_or_else(|| give_up(&missing(&prefix)));
        if version.split('.').next() != Some(LLVM_MAJOR) {
            give_up(&format!("{prefix} holds LLVM {version}.\n{}", missing(&prefix)));
        }
        println!("cargo::rerun-if-changed={}", config.display());
        let include = ask(&config, "--includedir").unwrap_or_else(|| give_up(&missing(&prefix)));
        Self { config, version, include }
    }

    /// Returns how C++ that includes LLVM's headers is compiled. The headers are
    /// not ours to warn about.
    fn flags(&self) -> Vec<String> {
        let include = format!("-isystem{}", self.include);
        [include].into_iter().chain(CXXFLAGS.map(str::to_owned)).collect()
    }

    /// Links the static libraries, after the shims that need them; returns their
    /// names.
    fn link(&self) -> Vec<String> {
        let directory = ask(&self.config, "--libdir").unwrap_or_else(|| give_up(INCOMPLETE));
        println!("cargo::rustc-link-search=native={directory}");
        let components =
            if for_hosts() { [&COMPONENTS[..], &FOR_HOSTS].concat() } else { COMPONENTS.to_vec() };
        let libraries = self.libraries("--libs", &components);
        for library in &libraries {
            // Not copied into the crate's archive: they are large.
            println!("cargo::rustc-link-lib=static:-bundle={library}");
        }
        let used = |library: &String| !UNUSED.contains(&library.as_str());
        for library in self.libraries("--system-libs", &components).into_iter().filter(used) {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
        println!("cargo::rustc-link-lib=dylib=stdc++");
        // LLVM's interpreter, which only hosts use, needs this one.
        if for_hosts() && has_library("libffi.so") {
            println!("cargo::rustc-link-lib=dylib=ffi");
        }
        libraries
    }

    /// Returns the `-l` names that llvm-config prints. Libraries printed with a
    /// path are solvers, which code generation does not use.
    fn libraries(&self, question: &str, components: &[&str]) -> Vec<String> {
        let mut command = Command::new(&self.config);
        let line = first_line(command.arg("--link-static").arg(question).args(components));
        let line = line.unwrap_or_else(|| give_up(INCOMPLETE));
        line.split_whitespace().filter_map(|word| word.strip_prefix("-l")).map(str::to_owned).collect()
    }
}

/// Returns the answer of llvm-config to one question; `None` if it cannot be
/// run.
fn ask(config: &Path, question: &str) -> Option<String> {
    first_line(Command::new(config).arg(question))
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn missing(prefix: &str) -> String {
    format!(
        "The development files of LLVM {LLVM_MAJOR} are needed, and are not in {prefix}.\n\
         On Debian or Ubuntu (with the packages of apt.llvm.org) install them with\n\
         \x20   apt-get install llvm-22-dev zlib1g-dev libzstd-dev\n\
         If LLVM {LLVM_MAJOR} is elsewhere, name the folder that holds `bin/llvm-config`:\n\
         \x20   {PREFIX_VARIABLE}=/opt/llvm-22 cargo build"
    )
}

/// Compiles the shims into one archive.
fn compile_shims(flags: &[String]) {
    let for_hosts: &[&str] = if for_hosts() { &SHIMS_FOR_HOSTS } else { &[] };
    let sources = [&SHIMS[..], for_hosts].concat();
    for source in sources.iter().chain(&[HEADER]) {
        println!("cargo::rerun-if-changed={source}");
    }
    let mut build = cc::Build::new();
    flags.iter().for_each(|flag| _ = build.flag(flag));
    build.cpp(true).cpp_link_stdlib(None).files(sources).opt_level(2).warnings(true).compile("kal_orc_shims");
}

/// Returns whether the C++ compiler finds a library.
fn has_library(name: &str) -> bool {
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).get_compiler();
    let path = first_line(compiler.to_command().arg(format!("-print-file-name={name}")));
    path.is_some_and(|path| Path::new(&path).is_absolute())
}

//! Finds and links LLVM, and compiles the C++ shims.

use super::{add, add_settings, first_line};
use std::collections::{BTreeSet, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The prefix of LLVM 22 in Debian's and apt.llvm.org's packages.
const DEFAULT_PREFIX: &str = "/usr/lib/llvm-22";
/// The variable for LLVM's prefix, which the `llvm-sys` crate reads, too.
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";
const LLVM_MAJOR: &str = "22";
const INCOMPLETE: &str = "The static libraries of LLVM 22 are missing: apt-get install llvm-22-dev";
/// System libraries that only unused parts of LLVM need.
const UNUSED: [&str; 1] = ["xml2"];
/// The parts of LLVM that Kal uses.
const COMPONENTS: [&str; 4] = ["orcjit", "orcdebugging", "passes", "x86"];
/// The further parts that its host may use with the feature `host-llvm`: Cargo
/// makes one choice for all users of `llvm-sys`, and with this crate's choice
/// it links nothing.
const FOR_HOSTS: [&str; 6] = ["mcjit", "interpreter", "irreader", "bitwriter", "linker", "all-targets"];
/// C++ sources of the crate.
const SHIMS: [&str; 5] = [
    "src/orc/shim.cpp",
    "src/orc/slab.cpp",
    "src/orc/trampolines.cpp",
    "src/codegen/pipeline.cpp",
    "src/llvm/start.cpp",
];
/// What `llvm-sys` would compile itself, for `host-llvm`.
const SHIMS_FOR_HOSTS: [&str; 2] = ["src/llvm/native.cpp", "src/llvm/targets.cpp"];
/// Extra linker arguments for the command: no position independence, whose
/// 50,000 relocations take a millisecond of every start, and the functions of a
/// start placed side by side.
const BINARY_ARGUMENTS: [&str; 3] = ["-no-pie", "-static-libgcc", "-Wl,--no-warn-symbol-ordering"];
/// The functions of LLVM that run when the command starts and compiles a small
/// function: hashes of their symbols. `benches/start-order` writes it.
const START_ORDER: &str = "src/cli/start.order";
/// The linker script that makes LLVM start late.
const START_SCRIPT: &str = "src/llvm/start.ld";
/// Their headers, in the same folder.
const HEADERS: [&str; 1] = ["src/orc/slab.h"];

/// Prepares the build of everything that is compiled code; returns the version
/// of LLVM.
pub fn prepare() -> String {
    println!("cargo:rerun-if-env-changed={PREFIX_VARIABLE}");
    check_target();
    let llvm = Llvm::find();
    compile_shims(&llvm);
    llvm.link();
    arrange_command(&llvm);
    llvm.version
}

/// Ends the build with `message`, without the output of a panic.
fn give_up(message: &str) -> ! {
    eprintln!("\n{message}\n");
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    std::process::exit(1);
}

/// Checks the target: the entry into compiled code is written in assembly for
/// this one only.
fn check_target() {
    let arch = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os != "linux" || arch != "x86_64" {
        give_up(&format!("Kal runs on x86-64 Linux; this build is for {arch} {os}."));
    }
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
        println!("cargo:rerun-if-changed={}", config.display());
        let include = ask(&config, "--includedir").unwrap_or_else(|| give_up(&missing(&prefix)));
        Self { config, version, include }
    }

    /// Links the static libraries, after the shims that need them.
    fn link(&self) {
        let directory = ask(&self.config, "--libdir").unwrap_or_else(|| give_up(INCOMPLETE));
        println!("cargo:rustc-link-search=native={directory}");
        let components =
            if for_hosts() { [&COMPONENTS[..], &FOR_HOSTS].concat() } else { COMPONENTS.to_vec() };
        for library in self.libraries("--libs", &components) {
            // Not copied into the crate's archive: they are large.
            println!("cargo:rustc-link-lib=static:-bundle={library}");
        }
        let used = |library: &String| !UNUSED.contains(&library.as_str());
        for library in self.libraries("--system-libs", &components).into_iter().filter(used) {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
        println!("cargo:rustc-link-lib=dylib=stdc++");
        // LLVM's interpreter, which only hosts use, needs this one.
        if for_hosts() && library_file("libffi.so").is_some() {
            println!("cargo:rustc-link-lib=dylib=ffi");
        }
        println!("cargo:rerun-if-changed={START_SCRIPT}");
        // Only where it matters: some linkers reject this for unoptimised
        // binaries.
        if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
            let script = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(START_SCRIPT);
            println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
        }
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

fn missing(prefix: &str) -> String {
    format!(
        "Kal needs the development files of LLVM {LLVM_MAJOR}, and did not find them in {prefix}.\n\
         On Debian or Ubuntu (with the packages of apt.llvm.org) install them with `make setup`, or\n\
         \x20   apt-get install llvm-22-dev zlib1g-dev libzstd-dev\n\
         If LLVM {LLVM_MAJOR} is elsewhere, name the folder that holds `bin/llvm-config`:\n\
         \x20   {PREFIX_VARIABLE}=/opt/llvm-22 cargo build"
    )
}

/// Compiles the shims into one archive, unless that of an earlier run is up to
/// date: every change of the sources reruns this script, and C++ is slow to compile.
fn compile_shims(llvm: &Llvm) {
    let for_hosts: &[&str] = if for_hosts() { &SHIMS_FOR_HOSTS } else { &[] };
    let sources = [&SHIMS[..], for_hosts].concat();
    for source in sources.iter().chain(&HEADERS) {
        println!("cargo:rerun-if-changed={source}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (archive, stamp) = (out.join("libkal_shims.a"), out.join("kal_shims.stamp"));
    let fingerprint = shim_fingerprint(llvm, &sources);
    let fresh = archive.exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == fingerprint);
    if !fresh {
        compile(llvm, &sources);
        fs::write(&stamp, &fingerprint).expect("the output folder is writable");
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=kal_shims");
}

fn shim_fingerprint(llvm: &Llvm, sources: &[&str]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&*llvm.version, &*llvm.include, include_str!("compiler.rs")] {
        add(&mut hasher, part.as_bytes());
    }
    add_settings(&mut hasher, &["TARGET", "OPT_LEVEL", "CXX", "CXXFLAGS"]);
    for source in sources.iter().chain(&HEADERS) {
        add(&mut hasher, &fs::read(source).expect("the shim is readable"));
    }
    hasher.finalize().to_hex().to_string()
}

fn compile(llvm: &Llvm, sources: &[&str]) {
    cc::Build::new()
        .cpp(true)
        .cargo_metadata(false)
        .files(sources)
        // LLVM's headers are not ours to warn about.
        .flag("-isystem")
        .flag(&llvm.include)
        .std("c++17")
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .define("_GNU_SOURCE", None)
        .define("__STDC_CONSTANT_MACROS", None)
        .define("__STDC_FORMAT_MACROS", None)
        .define("__STDC_LIMIT_MACROS", None)
        // Debian's LLVM is built without assertions; a mismatch changes the
        // layout of some of its classes.
        .define("NDEBUG", None)
        .opt_level(2)
        .warnings(true)
        .compile("kal_shims");
}

/// Makes the command start quickly, see `docs/performance.md`. This affects
/// only the command: programs that embed the library link as they like. A
/// linker that does not accept these options gets none of them.
fn arrange_command(llvm: &Llvm) {
    println!("cargo:rerun-if-changed={START_ORDER}");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libraries = static_libraries(&out);
    let mut arguments: Vec<String> = BINARY_ARGUMENTS.map(str::to_owned).to_vec();
    arguments.push(format!("-L{}", libraries.display()));
    arguments.push(format!("-Wl,--symbol-ordering-file={}", start_order(llvm, &out).display()));
    if accepts(&arguments, &out) {
        arguments.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    }
}

/// Returns a folder with static versions of the C++ library and of what LLVM
/// needs: linking these saves each start the lookup of thousands of symbols.
fn static_libraries(out: &Path) -> PathBuf {
    let folder = out.join("static");
    fs::create_dir_all(&folder).expect("the output folder is writable");
    for library in ["libstdc++.a", "libz.a", "libzstd.a"] {
        let link = folder.join(library);
        if let Some(path) = library_file(library).filter(|_| !link.exists()) {
            let _ = std::os::unix::fs::symlink(path, link);
        }
    }
    folder
}

/// Returns the path of a library; `None` if the compiler does not find it.
fn library_file(name: &str) -> Option<PathBuf> {
    let compiler = cc::Build::new().cpp(true).cargo_metadata(false).get_compiler();
    let path = first_line(compiler.to_command().arg(format!("-print-file-name={name}")))?;
    Some(PathBuf::from(path)).filter(|path| path.is_absolute())
}

/// Writes the symbols of the functions of a start, sorted; an empty list
/// without `llvm-nm`.
fn start_order(llvm: &Llvm, out: &Path) -> PathBuf {
    let order = out.join("start.order");
    let hashes = fs::read_to_string(START_ORDER).unwrap_or_default();
    let hashes: HashSet<&str> = hashes.split_ascii_whitespace().collect();
    let directory = ask(&llvm.config, "--libdir").unwrap_or_default();
    let archives =
        llvm.libraries("--libs", &COMPONENTS).into_iter().map(|name| format!("{directory}/lib{name}.a"));
    let symbols = Command::new(llvm.config.with_file_name("llvm-nm"))
        .args(["--defined-only", "--format=just-symbols"])
        .args(archives)
        .arg(out.join("static/libstdc++.a"))
        .output();
    let symbols = symbols.map(|output| output.stdout).unwrap_or_default();
    let symbols = String::from_utf8_lossy(&symbols);
    let names: BTreeSet<&str> =
        symbols.lines().filter(|name| hashes.contains(symbol_hash(name).as_str())).collect();
    let text: String = names.into_iter().flat_map(|name| [name, "\n"]).collect();
    fs::write(&order, text).expect("the output folder is writable");
    order
}

/// Returns the hash of a symbol: FNV-1a, 32 bits, in hexadecimal.
fn symbol_hash(symbol: &str) -> String {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08x}", symbol.bytes().fold(0x811c_9dc5, step))
}

/// Returns whether the linker takes these arguments.
fn accepts(arguments: &[String], out: &Path) -> bool {
    let source = out.join("probe.rs");
    fs::write(&source, "}").expect("the output folder is writable");
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let linker = env::var("RUSTC_LINKER").map(|linker| format!("-Clinker={linker}"));
    Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(flags.split('\x1f').filter(|flag| !flag.is_empty()))
        .args(linker)
        .args(["--crate-name", "probe", "-o"])
        .args([&out.join("probe"), &source])
        .args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")))
        .output()
        .is_ok_and(|output| output.status.success())
}

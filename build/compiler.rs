//! Compiles the C++ shims, and arranges the start of the command. Where LLVM is,
//! the build script of `kal-orc` knows, which also links it.

use super::{add, add_settings, first_line};
use std::collections::{BTreeSet, HashSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// C++ sources of the crate.
const SHIMS: [&str; 2] = ["src/codegen/compiler/pipeline.cpp", "src/llvm/start.cpp"];
/// What they include of the crate.
const HEADER: &str = "src/codegen/compiler/pair_calls.h";
/// Extra linker arguments for the command: no position independence, whose
/// 50,000 relocations take a millisecond of every start, and the functions of a
/// start placed side by side; where a list of these is stale, that is no mistake.
const BINARY_ARGUMENTS: [&str; 3] = ["-no-pie", "-static-libgcc", "-Wl,--no-warn-symbol-ordering"];
/// The functions of LLVM that run when the command starts and compiles a small
/// function: hashes of their symbols. `benches/start-order` writes it.
const START_ORDER: &str = "src/cli/start.order";
/// The functions that run at each start, and, after an empty line, those of Rust that compiling
/// runs: patterns of their symbols, which `benches/start-order` writes, too.
const START_SECTIONS: &str = "src/cli/start.sections";
/// The same for executables.
const EXECUTABLE_SECTIONS: &str = "src/cli/executable.sections";
/// The linker script that makes LLVM start late.
const START_SCRIPT: &str = "src/llvm/start.ld";

/// Prepares the build of everything that is compiled code; returns the version
/// of LLVM.
pub fn prepare() -> String {
    check_target();
    let llvm = Llvm::found();
    compile_shims(&llvm);
    defer_start();
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

/// The LLVM installation that everything is compiled and linked against, as the
/// build script of `kal-orc` has found it.
struct Llvm {
    config: PathBuf,
    version: String,
    libraries: Vec<String>,
    flags: Vec<String>,
}

impl Llvm {
    fn found() -> Self {
        let told = |name: &str| {
            let variable = format!("DEP_KAL_ORC_{name}");
            env::var(&variable).unwrap_or_else(|_| panic!("kal-orc's build script sets {variable}"))
        };
        let words = |name: &str| told(name).split(' ').map(str::to_owned).collect();
        Self {
            config: told("LLVM_CONFIG").into(),
            version: told("VERSION"),
            libraries: words("LIBRARIES"),
            flags: words("CXXFLAGS"),
        }
    }
}

/// Makes LLVM start late, see `src/llvm.rs`. Only where it matters: some linkers
/// reject this for unoptimised binaries.
fn defer_start() {
    println!("cargo:rerun-if-changed={START_SCRIPT}");
    if is_release() {
        let script = Path::new(&env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join(START_SCRIPT);
        println!("cargo:rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

fn is_release() -> bool {
    env::var("PROFILE").is_ok_and(|profile| profile == "release")
}

/// Compiles the shims into one archive, unless that of an earlier run is up to
/// date: every change of the sources reruns this script, and C++ is slow to compile.
fn compile_shims(llvm: &Llvm) {
    SHIMS.iter().chain([&HEADER]).for_each(|source| println!("cargo:rerun-if-changed={source}"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let (archive, stamp) = (out.join("libkal_shims.a"), out.join("kal_shims.stamp"));
    let fingerprint = shim_fingerprint(llvm);
    let fresh = archive.exists() && fs::read_to_string(&stamp).is_ok_and(|old| old == fingerprint);
    if !fresh {
        compile(llvm);
        fs::write(&stamp, &fingerprint).expect("the output folder is writable");
    }
    println!("cargo:rustc-link-search=native={}", out.display());
    println!("cargo:rustc-link-lib=static=kal_shims");
}

fn shim_fingerprint(llvm: &Llvm) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in [&*llvm.version, &*llvm.flags.join(" "), include_str!("compiler.rs")] {
        add(&mut hasher, part.as_bytes());
    }
    add_settings(&mut hasher, &["TARGET", "OPT_LEVEL", "CXX", "CXXFLAGS"]);
    for source in SHIMS.iter().chain([&HEADER]) {
        add(&mut hasher, &fs::read(source).expect("the shim is readable"));
    }
    hasher.finalize().to_hex().to_string()
}

fn compile(llvm: &Llvm) {
    let mut build = cc::Build::new();
    llvm.flags.iter().for_each(|flag| _ = build.flag(flag));
    build.cpp(true).cargo_metadata(false).files(SHIMS).opt_level(2).warnings(true).compile("kal_shims");
}

/// Makes the command start quickly, see `docs/performance.md`. This affects
/// only the command: programs that embed the library link as they like. A
/// linker that does not accept these options gets none of them.
fn arrange_command(llvm: &Llvm) {
    for list in [START_ORDER, START_SECTIONS, EXECUTABLE_SECTIONS] {
        println!("cargo:rerun-if-changed={list}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let libraries = static_libraries(&out);
    // The command has this one for when it links.
    sections_script(EXECUTABLE_SECTIONS, &out.join("executable-sections.ld"));
    let mut arguments: Vec<String> = BINARY_ARGUMENTS.map(str::to_owned).to_vec();
    arguments.push(format!("-L{}", libraries.display()));
    arguments.push(format!("-Wl,--symbol-ordering-file={}", start_order(llvm, &out).display()));
    if is_release() {
        let script = out.join("start-sections.ld");
        sections_script(START_SECTIONS, &script);
        arguments.push(format!("-Wl,-T,{}", script.display()));
    }
    if accepts(&arguments, &out) {
        arguments.iter().for_each(|argument| println!("cargo:rustc-link-arg-bins={argument}"));
    } else {
        println!("cargo:warning=the linker takes no symbol order, so the command starts more slowly");
    }
}

/// Returns a folder with static versions of the C++ library, of what LLVM needs, and of what
/// unwinds stacks: linking these saves each start the lookup of thousands of symbols.
fn static_libraries(out: &Path) -> PathBuf {
    let folder = out.join("static");
    fs::create_dir_all(&folder).expect("the output folder is writable");
    // What is linked as the one is the other.
    let libraries = ["libstdc++.a", "libz.a", "libzstd.a"].map(|name| (name, name));
    for (linked, library) in libraries.into_iter().chain([("libgcc_s.a", "libgcc_eh.a")]) {
        let link = folder.join(linked);
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
    let directory = first_line(Command::new(&llvm.config).arg("--libdir")).unwrap_or_default();
    let archives = llvm.libraries.iter().map(|name| format!("{directory}/lib{name}.a"));
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

/// Writes a linker script that places functions of a list side by side. Symbols of Rust end
/// in hashes that are known only when they are linked, so it takes patterns.
fn sections_script(list: &str, script: &Path) {
    let patterns = fs::read_to_string(list).unwrap_or_default();
    let mut text = String::from("SECTIONS {\n  .text.start : {\n");
    for group in patterns.split("\n\n").filter(|group| !group.trim().is_empty()) {
        // What is rarely called has a section of another kind, and so have constructors.
        let sections = group.lines().flat_map(|pattern| {
            ["", "unlikely.", "startup."].map(|kind| format!("\n      .text.{kind}{pattern}"))
        });
        text.extend(["    *(", &sections.collect::<String>(), ")\n"]);
    }
    text.push_str("  }\n}\nINSERT BEFORE .text;\n");
    fs::write(script, text).expect("the output folder is writable");
}

/// Returns the hash of a symbol: FNV-1a, 32 bits, in hexadecimal.
fn symbol_hash(symbol: &str) -> String {
    let step = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    format!("{:08x}", symbol.bytes().fold(0x811c_9dc5, step))
}

/// Returns whether the linker takes these arguments.
fn accepts(arguments: &[String], out: &Path) -> bool {
    let source = out.join("probe.rs");
    fs::write(&source, "fn main() {}").expect("the output folder is writable");
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

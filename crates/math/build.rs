//! Compiles the functions of CORE-MATH, in the sources that come with the crate
//! `core-math-sys`: twice on x86-64, for every processor and for those with FMA.
//!
//! That crate compiles them once, for the processor of the machine that builds, and
//! offers its sources to no other crate. So it is a build dependency, which makes Cargo
//! fetch it in the locked version, and Cargo is asked where it is. Build scripts of crates
//! that depend on this one find that folder as `DEP_KAL_MATH_SOURCES`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The functions of one argument.
const UNARY: [&str; 24] = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp", "exp2",
    "expm1", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh", "tgamma",
];

/// The functions of two arguments.
const BINARY: [&str; 3] = ["atan2", "hypot", "pow"];

/// The functions whose fast build is in `one.c`, which calls CORE-MATH's by names that end in
/// `core`.
const BY_ONE_LANE: [&str; 10] =
    ["atan", "atan2", "cos", "erfc", "hypot", "log", "log10", "log2", "sin", "tan"];

/// The sources of the forms for one, two and many lanes.
const LANES: [&str; 14] = [
    "lanes.c",
    "one.c",
    "two.c",
    "builds.h",
    "repair.h",
    "vector.h",
    "tables.h",
    "exponential.h",
    "logarithm.h",
    "trigonometric.h",
    "arc.h",
    "erf.h",
    "gamma.h",
    "root.h",
];

/// What the lanes forms need for vectors of 8 doubles, beside `FMA_FLAGS`.
const AVX512_FLAGS: &[&str] = &["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw"];

/// The fast build: what the processor needs, for which `Build::is_supported` asks. A product
/// and a sum become one instruction wherever they meet, as in GCC's own default, with which
/// CORE-MATH is developed: that is more accurate, and a tenth faster in some functions.
const FMA_FLAGS: &[&str] = &["-ffp-contract=fast", "-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mlzcnt"];

fn main() {
    for changed in ["Cargo.toml", "build.rs", "src/prelude.h"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    for file in LANES {
        println!("cargo::rerun-if-changed=src/lanes/{file}");
    }
    let sources = core_math().join("vendor/src/binary64");
    println!("cargo::metadata=SOURCES={}", sources.display());
    compile(&sources, "baseline", &[]);
    compile_lanes("lanes", "baseline", "baseline", &[]);
    if env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|architecture| architecture == "x86_64") {
        compile(&sources, "fma", FMA_FLAGS);
        compile_by_one_lane();
        compile_lanes("two", "baseline", "baseline", &[]);
        compile_lanes("two", "fma", "fma", FMA_FLAGS);
        compile_lanes("lanes", "fma", "fma", FMA_FLAGS);
        compile_lanes("lanes", "avx512", "fma", &[FMA_FLAGS, AVX512_FLAGS].concat());
    }
}

/// Compiles all functions with some flags; the names of this build end in `suffix`.
fn compile(sources: &Path, suffix: &str, flags: &[&str]) {
    let mut build = cc::Build::new();
    build.flag("-fno-math-errno").flag("-fvisibility=hidden");
    build.flag("-include").flag("src/prelude.h").include("src");
    build.opt_level(3).debug(false).warnings(false).cargo_warnings(false);
    for flag in flags {
        build.flag(flag);
    }
    for name in UNARY.iter().chain(&BINARY) {
        let suffix = if suffix == "fma" && BY_ONE_LANE.contains(name) { "core" } else { suffix };
        build.define(&format!("cr_{name}"), &*format!("kal_math_{name}_{suffix}"));
        build.file(sources.join(name).join(format!("{name}.c")));
    }
    build.compile(&format!("kal_math_{suffix}"));
}

/// Compiles the functions of the fast build that are computed as one lane is.
fn compile_by_one_lane() {
    by_vectors(FMA_FLAGS).file("src/lanes/one.c").compile("kal_math_one");
}

/// Compiles the lanes forms, or the functions of two doubles at once, with some flags, for a
/// build of the functions of one double.
fn compile_lanes(file: &str, suffix: &str, scalar: &str, flags: &[&str]) {
    let mut build = by_vectors(flags);
    build.define("LANES_BUILD", suffix).define("SCALAR_BUILD", scalar);
    build.file(format!("src/lanes/{file}.c")).compile(&format!("kal_math_{file}_{suffix}"));
}

/// Returns how the methods of the lanes forms are compiled.
fn by_vectors(flags: &[&str]) -> cc::Build {
    let mut build = cc::Build::new();
    build.flag("-fvisibility=hidden").opt_level(3).debug(false);
    for flag in flags {
        build.flag(flag);
    }
    // The last one counts: products and sums are rounded each.
    build.flag("-ffp-contract=off");
    build
}

/// Returns the folder of the crate with the sources.
fn core_math() -> PathBuf {
    let probe = PathBuf::from(variable("OUT_DIR")).join("core-math");
    let manifest = probe.join("Cargo.toml");
    // A package that depends on nothing else, so that all it needs has been fetched.
    let own = fs::read_to_string("Cargo.toml").expect("Cargo has read it");
    let dependency = own.lines().find(|line| line.starts_with("core-math-sys = ")).expect("it is there");
    let text = format!(
        "[package]\nname = \"probe\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [workspace]\n[dependencies]\n{dependency}\n"
    );
    fs::create_dir_all(&probe).expect("the folder of the build is writable");
    fs::write(&manifest, text).expect("the folder of the build is writable");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.args(["metadata", "--offline", "--format-version=1", "--filter-platform", &variable("TARGET")]);
    let output = cargo.arg("--manifest-path").arg(&manifest).output().expect("Cargo runs");
    let answer = String::from_utf8_lossy(&output.stdout);
    let found = answer.split("\"manifest_path\":\"").skip(1).find_map(|rest| {
        let path = rest.split('"').next()?.replace("\\\\", "\\");
        let folder = Path::new(&path).parent()?;
        folder.join("vendor/src/binary64/exp/exp.c").exists().then(|| folder.to_owned())
    });
    found.unwrap_or_else(|| {
        panic!("Cargo does not say where core-math-sys is: {}", String::from_utf8_lossy(&output.stderr))
    })
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("Cargo sets {name}"))
}

//! Passes on where the sources of CORE-MATH are, as the build script of `kal-math` says, and
//! compiles the lanes forms in a way that their sums are recorded.

use std::env;

/// The processor has to have FMA and AVX2.
const FLAGS: &[&str] = &["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mlzcnt", "-ffp-contract=off"];

fn main() {
    let sources = env::var("DEP_KAL_MATH_SOURCES").expect("`kal-math` says where its sources are");
    println!("cargo::rustc-env=CORE_MATH={sources}");
    for changed in ["src/bounds.c", "../../crates/math/src/lanes"] {
        println!("cargo::rerun-if-changed={changed}");
    }
    let mut build = cc::Build::new();
    for flag in FLAGS {
        build.flag(flag);
    }
    build.opt_level(3).include("../../crates/math/src/lanes");
    build.file("src/bounds.c").compile("bounds");
}

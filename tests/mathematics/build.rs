//! Passes on where the sources of CORE-MATH are, as the build script of `kal-math` says.

use std::env;

fn main() {
    let sources = env::var("DEP_KAL_MATH_SOURCES").expect("`kal-math` says where its sources are");
    println!("cargo::rustc-env=CORE_MATH={sources}");
}

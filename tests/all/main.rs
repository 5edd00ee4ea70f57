//! The one integration test binary: each would link LLVM again.

mod binary;
mod breakpoints;
mod c_libraries;
mod caching;
mod changed_texts;
mod checks;
mod choices;
mod cli;
mod column_blocks;
mod columns;
mod commands;
mod deadlines;
mod damaged_packs;
mod debugger;
mod declarations;
mod denied;
mod differential;
mod editing;
mod embedding;
mod engine_caches;
mod executables;
mod exiting;
mod fingerprints;
mod float_environment;
mod forking;
mod formulas;
mod grammar;
mod hosts;
mod large;
mod layers;
mod leaving;
mod images;
mod in_place;
mod inputs;
mod instances;
mod interaction;
mod libraries;
mod limits;
mod map;
mod marks;
mod mathematics;
mod model;
mod modes;
mod modules;
mod nested;
mod options;
#[cfg(feature = "parquet")]
mod parquet;
mod preludes;
mod preview;
mod program;
mod programs;
mod printing;
mod prompt;
mod reading;
mod reading_stops;
mod redefining;
mod reimporting;
mod resuming;
mod robustness;
mod rows;
mod seeds;
mod sessions;
mod shapes;
mod sharing;
mod shipped;
mod shrink;
mod signals;
mod soak;
mod standard;
mod stopping;
mod systems;
mod tapes;
mod storm;
mod stored;
mod streams;
mod strips;
mod targets;
mod tenants;
mod terminal;
mod tidy;
mod tiers;
mod tools;
mod transcripts;
mod valgrind;
mod waiting;

/// Returns how much of something a test does: what the environment variable
/// says, or what is enough for every run of the suite.
fn scale(variable: &str, usual: u64) -> u64 {
    let chosen = std::env::var(variable).ok();
    chosen.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

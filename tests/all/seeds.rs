//! The fuzz targets, with the seeds and with everything that was once found:
//! what is in `fuzz/seeds` must pass.

use crate::binary::{directory, in_parallel};
use crate::targets::{TARGETS, text};

#[test]
fn seeds_pass_their_targets() {
    let mut cases = Vec::new();
    for (name, target) in TARGETS {
        let folder = directory("fuzz/seeds").join(name);
        let seeds =
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let before = cases.len();
        cases.extend(seeds.map(|seed| (*target, seed.expect("the folder can be read").path())));
        assert!(cases.len() > before, "{} is empty", folder.display());
    }
    let complaints = in_parallel(&cases, |(target, path)| {
        let bytes = std::fs::read(path).expect("it is a file");
        std::panic::catch_unwind(|| target(&bytes)).map_err(|_| path.display().to_string())
    });
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn every_program_of_the_repository_is_read() {
    for folder in ["tests", "examples", "benches", "grammar", "docs"] {
        for extension in ["kal", "txt", "md", "ebnf"] {
            for path in crate::binary::files(&directory(folder), extension) {
                text(&std::fs::read(path).expect("it is a file"));
            }
        }
    }
}

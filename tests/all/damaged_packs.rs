//! Damaged packs: programs answer as without a cache, and nothing is printed.
//!
//! `KAL_PACK_MUTATIONS=1000000 cargo test --test all damaged_packs` tries more.

use crate::choices::{Choices, Random};
use crate::scale;
use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, LineOutput, Outcome, TierUp};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

const TEXT: &str = "
    def square(x) x * x
    def loop(n) var s = 0 in (for i = 1, i < n in s = s + square(i)) + s
    def angle(x) sin(x) ^ 2 + cos(x) ^ 2 + fmod(x, 3)
    def binary| 5 (a b) if a then 1 else !!b
    var count = 0
    def counted(x) if x < 1 then count else (count = count + 1) * 0 + counted(x - 1)
    loop(50)
    angle(2)
    counted(10) | 0
    print(\"a text \", square(3))
    1 + 2 * square(3)
    def lost(x) x + nowhere(x)
    lost(1)";

/// What a program writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no test has panicked").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs the program, which is in a folder. Returns what it writes, its values and its errors, and how much was found.
fn run(folder: &Path, cache: Option<CacheOptions>) -> (String, u64) {
    let written = Written::default();
    let output = written.clone();
    let config = Config::new().tier_up(TierUp::After(1_000_000));
    let config = config.output(move || Box::new(LineOutput::new(output.clone())));
    let config = match cache {
        Some(cache) => config.cache(cache),
        None => config,
    };
    let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
    let source = Source::in_folder(folder.join("p.kal").display().to_string(), TEXT.to_owned(), folder);
    let mut said = String::new();
    let mut each = |_: &mut Context, outcome: Result<Outcome, kal::Error>| {
        said += &match outcome {
            Ok(Outcome::Value(value)) => format!("{:x}\n", value.to_bits()),
            Ok(_) => String::new(),
            Err(error) => format!("{error:?}\n"),
        };
        ControlFlow::Continue(())
    };
    let _ = context.run(&source, &mut each);
    let hits = context.stats().cache_hits;
    drop(context);
    let written = written.0.lock().expect("no test has panicked");
    (said + &String::from_utf8_lossy(&written), hits)
}

/// Returns the packs in a folder and in those in it.
fn packs(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let in_entry = |path: PathBuf| if path.is_dir() { packs(&path) } else { vec![path] };
    let all = entries.flat_map(in_entry);
    all.filter(|path| path.extension().is_some_and(|ending| ending == "kpk")).collect()
}

#[test]
fn a_changed_cut_or_spliced_pack_changes_no_answer() {
    let folder = tempfile::tempdir().expect("there is room");
    std::fs::write(folder.path().join("p.kal"), TEXT).expect("it can be written");
    let options = CacheOptions::new(folder.path().join("cache"), folder.path().join("key"));
    let run = |cache: Option<CacheOptions>| run(folder.path(), cache);
    let expected = run(None).0;
    assert_eq!(run(Some(options.clone())), (expected.clone(), 0));
    let all = packs(&options.folder);
    let [pack] = &all[..] else { panic!("there is one pack, not {all:?}") };
    let whole = std::fs::read(pack).expect("it was written");
    // What is damaged stays.
    let options = CacheOptions { writes: false, ..options };
    let (answer, all) = run(Some(options.clone()));
    assert!(answer == expected && all > 4, "{all} found");
    let (times, mut random, mut found) = (scale("KAL_PACK_MUTATIONS", 3_000), Random::new(11), 0);
    for number in 0..times as usize {
        let mut changed = whole.clone();
        let at = number * 7919 % whole.len();
        match number % 4 {
            // Each byte, and each bit of it, in the end.
            0 | 1 => changed[at] ^= 1 << (number / whole.len() % 8),
            2 => changed.truncate(at),
            _ => {
                let length = 1 + random.below(300.min(whole.len() - at));
                let from = random.below(whole.len() - length);
                changed.copy_within(from..from + length, at);
            }
        }
        std::fs::write(pack, &changed).expect("it can be written");
        let (answer, hits) = run(Some(options.clone()));
        assert_eq!(answer, expected, "mutation {number}");
        found += u64::from(hits > 0 && changed != whole);
    }
    // Only the part for people may be changed unnoticed.
    assert!(found < times / 10, "{found} of {times}");
}

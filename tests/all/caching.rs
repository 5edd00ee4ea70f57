//! The cache: what a second start finds, what it compiles again, and whom it trusts.

use crate::binary::{Ran, finish, kal};
use crate::choices::{Choices, Random};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

/// A folder with programs, a cache, and the user's secret.
pub struct World(TempDir);

impl World {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("it can be written");
    }

    /// Returns the command, with the cache of this world.
    pub fn kal(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = self.quiet_kal(&["--stats", "--trace-cache"]);
        command.args(arguments);
        command
    }

    /// Returns the command, with the cache of this world, of which nothing is said.
    pub fn quiet_kal(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = kal();
        command.env_remove("KAL_CACHE").env("XDG_CACHE_HOME", self.at("caches"));
        command.env("XDG_STATE_HOME", self.at("state")).current_dir(self.0.path()).args(arguments);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> CachedRun {
        CachedRun::of(finish(&mut self.kal(arguments)))
    }

    /// Returns the packs in the cache.
    pub fn packs(&self) -> Vec<PathBuf> {
        self.files()
            .into_iter()
            .filter(|file| file.extension().is_some_and(|ending| ending == "kpk"))
            .collect()
    }

    /// Returns the sizes of the packs in the cache, in bytes.
    pub fn pack_sizes(&self) -> Vec<u64> {
        let size = |pack: &PathBuf| fs::metadata(pack).expect("it is there").len();
        self.packs().iter().map(size).collect()
    }

    /// Returns the files of the cache, but the one whose time says when it was collected.
    pub fn files(&self) -> Vec<PathBuf> {
        files_in(self.at("caches"))
    }
}

/// Returns the files of a cache, but the one whose time says when it was collected.
fn files_in(cache: PathBuf) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![cache]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("collected") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// A run of the command: what it printed, as far as that is text, and what the cache did.
pub struct CachedRun {
    pub out: String,
    pub code: Option<i32>,
    /// What it says besides the statistics.
    pub said: Vec<String>,
    hits: u64,
    misses: u64,
    pub compiled: u64,
    /// All statistics.
    pub stats: serde_json::Value,
}

impl CachedRun {
    pub fn of(ran: Ran) -> Self {
        let is_stats = |line: &&str| line.starts_with('{');
        let stats = ran.err().lines().find(is_stats).expect("there are statistics");
        let stats: serde_json::Value = serde_json::from_str(stats).expect("they are JSON");
        let count = |name: &str| stats[name].as_u64().expect("it is a count");
        Self {
            out: String::from_utf8_lossy(&ran.stdout).into_owned(),
            code: ran.code,
            said: ran.err().lines().filter(|line| !is_stats(line)).map(str::to_owned).collect(),
            hits: count("cache_hits"),
            misses: count("cache_misses"),
            compiled: count("ir_generated") + count("expressions"),
            stats,
        }
    }

    /// Returns what shows without a cache as well: what it printed, what it says besides what
    /// the cache did, and how it ended.
    pub fn outcome(&self) -> (String, Vec<String>, Option<i32>) {
        let said = self.said.iter().filter(|line| !line.starts_with("cache: ")).cloned().collect();
        (self.out.clone(), said, self.code)
    }

    /// Returns a number of the statistics.
    pub fn count(&self, name: &str) -> Option<u64> {
        self.stats[name].as_u64()
    }

    /// Returns what was found and what was not.
    fn counts(&self) -> (u64, u64) {
        (self.hits, self.misses)
    }

    pub fn says(&self, what: &str) -> bool {
        self.said.iter().any(|line| line.contains(what))
    }
}

/// Sets the time at which a file was last written.
fn set_time(file: &Path, time: std::time::SystemTime) {
    fs::File::open(file).and_then(|file| file.set_modified(time)).expect("it is ours");
}

const PROGRAM: &str = "
    def square(x) x * x
    def loop(n) var s = 0 in (for i = 1, i < n in s = s + square(i)) + s
    def angle(x) sin(x) ^ 2 + cos(x) ^ 2 + fmod(x, 3)
    var count = 0
    def counted(x) if x < 1 then count else (count = count + 1) * 0 + counted(x - 1)
    loop(500)
    angle(2)
    counted(10)
    1 + 2 * square(3)";

#[test]
fn a_second_start_compiles_nothing() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let first = world.run(&["p.kal"]);
    assert_eq!((first.hits, first.code), (0, Some(0)), "{:?}", first.said);
    assert!(first.misses >= 7 && first.says("cache: wrote "), "{:?}", first.said);
    assert_eq!(world.packs().len(), 1);
    let bytes = fs::read(&world.packs()[0]).expect("it can be read");
    let second = world.run(&["p.kal"]);
    assert_eq!((second.out.as_str(), second.misses, second.compiled), (first.out.as_str(), 0, 0));
    assert!(second.hits >= 7 && second.says("cache: read "), "{:?}", second.said);
    assert_eq!(fs::read(&world.packs()[0]).expect("it can be read"), bytes, "a pack never changes");
    assert_eq!(world.files(), world.packs(), "nothing else is left");
}

#[test]
fn an_edit_compiles_what_was_edited_and_what_has_it_inlined() {
    let world = World::new();
    let text = |edited: &str, rest: &str| {
        format!(
            "def far(x) if x < 0 then 0 else if x < 1 then far(x - 1) else x
            def small(x) x + {edited}
            def with(x) small(x) * 2
            def without(x) x * 3
            {rest}
            far(2)
            with(1)
            without(1)"
        )
    };
    let arguments = ["--no-tier-up", "p.kal"];
    world.write("p.kal", &text("1", ""));
    let first = world.run(&arguments);
    assert_eq!((first.out.as_str(), first.hits), ("2\n4\n3\n", 0));
    // The layout, comments and the names of parameters do not matter.
    world.write("p.kal", &text("1", "# Nothing.\n").replace("without(x) x", "without( z )  z"));
    assert_eq!(world.run(&arguments).misses, 0);
    world.write("p.kal", &text("2", ""));
    let edited = world.run(&arguments);
    let with = edited.misses;
    assert_eq!((edited.out.as_str(), edited.hits > 0), ("2\n6\n3\n", true));
    assert_eq!(with, 3, "`small`, `with`, and the expression that both are inlined into");
    // Back again: the code of the earlier text is still there.
    world.write("p.kal", &text("1", ""));
    assert_eq!(world.run(&arguments).misses, 0);
}

#[test]
fn what_a_later_run_calls_is_added_and_packs_become_one() {
    let world = World::new();
    world.write("numbers.kal", "import many\ndef unused(x) x");
    let functions: String =
        (0..9).map(|number| format!("def f{number}(x) x * {number} + sin(x)\n")).collect();
    world.write("many.kal", &functions);
    for number in 0..9 {
        let call = format!("f{number}(1)");
        let first = world.run(&["-e", "import many", "-e", &call]);
        assert_eq!((first.counts(), first.code), ((0, 1), Some(0)), "{call}");
        let again = world.run(&["-e", "import many", "-e", &call]);
        assert_eq!((again.counts(), again.out), ((1, 0), first.out), "{call}");
        assert!(world.packs().len() <= 5, "{:?}", world.packs());
    }
    // All that was compiled is there.
    let calls: Vec<String> = (0..9).map(|number| format!("f{number}(1)")).collect();
    let all = world.run(&["-e", "import many", "-e", &calls.join("\n")]);
    assert_eq!(all.counts(), (9, 0));
}

#[test]
fn texts_from_elsewhere_are_not_kept() {
    let world = World::new();
    world.run(&["-e", "def f(x) x + 1; f(1)"]);
    let mut command = world.kal(&["-"]);
    let ran = crate::binary::feed(&mut command, b"def f(x) x + 1\nf(1)\n");
    assert_eq!((ran.out(), world.files().len()), ("2\n", 0));
    world.write("p.kal", "def f(x) x + 1\nf(1)");
    for arguments in [["--cache", "off", "p.kal"], ["--cache", "ro", "p.kal"]] {
        let ran = world.run(&arguments);
        assert_eq!((ran.out.as_str(), ran.hits, world.files().len()), ("2\n", 0, 0), "{arguments:?}");
    }
    world.run(&["--interpret", "p.kal"]);
    assert_eq!(world.files().len(), 0);
    // A cache that is not written is read.
    world.run(&["p.kal"]);
    let before = world.files();
    world.write("p.kal", "def f(x) x + 1\ndef g(x) f(x) * 2\nf(1)\ng(1)");
    let ran = world.run(&["--cache", "ro", "p.kal"]);
    assert_eq!((ran.out.as_str(), ran.hits > 0, world.files()), ("2\n4\n", true, before));
}

#[test]
fn a_function_of_the_host_that_the_program_defines_has_other_code() {
    let world = World::new();
    let arguments = ["--no-tier-up", "p.kal"];
    world.write("p.kal", "def f(x) sin(x) * 0 + 1\nf(1)");
    assert_eq!(world.run(&arguments).out, "1\n");
    world.write("p.kal", "def sin(x) 7\ndef f(x) sin(x) * 0 + sin(x)\nf(1)");
    assert_eq!(world.run(&arguments).out, "7\n");
    world.write("p.kal", "def f(x) sin(x) * 0 + 1\nf(1)");
    let back = world.run(&arguments);
    assert_eq!((back.out.as_str(), back.misses), ("1\n", 0));
}

#[test]
fn levels_and_fuel_have_code_of_their_own() {
    let world = World::new();
    world.write("p.kal", "def f(x) if x < 1 then 0 else f(x - 1) + 1\nf(5)");
    let ways: [&[&str]; 6] =
        [&["-O0"], &["-O1"], &["-O2"], &["-O3"], &["--fuel", "1000"], &["-O2", "--no-tier-up"]];
    for way in ways {
        let run = || world.run(&[way, &["p.kal"]].concat());
        let (_, second) = (run(), run());
        assert_eq!((second.out.as_str(), second.misses), ("5\n", 0), "{way:?}");
    }
    let stopped = world.run(&["--fuel", "3", "p.kal"]);
    assert!(stopped.code == Some(1) && stopped.says("E0308"), "{:?}", stopped.said);
}

#[test]
fn errors_have_their_places_whatever_was_cached() {
    let world = World::new();
    world.write("p.kal", "def f(x) if x < 1 then missing(x) else f(x - 1) + 1\nf(3)");
    let places = |ran: &CachedRun| -> Vec<String> {
        ran.said.iter().filter(|line| !line.starts_with("cache:")).cloned().collect()
    };
    let cold = world.run(&["p.kal"]);
    assert_eq!((cold.code, places(&cold)), (Some(1), places(&world.run(&["p.kal"]))));
    // The same function at another place.
    world.write("p.kal", "# A line.\n\ndef f(x) if x < 1 then missing(x) else f(x - 1) + 1\nf(3)");
    let moved = world.run(&["p.kal"]);
    assert!(moved.hits > 0 && moved.says("p.kal:3:24"), "{:?}", moved.said);
    assert_eq!(places(&moved), places(&world.run(&["--cache", "off", "p.kal"])));
}

#[test]
fn a_damaged_pack_is_a_miss() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = world.run(&["--no-tier-up", "p.kal"]).out;
    let pack = world.packs().pop().expect("there is a pack");
    let bytes = fs::read(&pack).expect("it can be read");
    let (step, mut unnoticed) = (bytes.len() / 40, 0);
    for at in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        for bytes in [&changed[..], &bytes[..at]] {
            fs::write(&pack, bytes).expect("it can be written");
            let ran = world.run(&["--no-tier-up", "p.kal"]);
            assert_eq!((ran.out.as_str(), ran.code), (right.as_str(), Some(0)), "byte {at}");
            if ran.hits > 0 {
                // What is only for people was changed.
                assert_eq!((bytes.len(), ran.misses), (changed.len(), 0), "byte {at}");
                unnoticed += 1;
                continue;
            }
            assert!(ran.says("cache: not used: ") && ran.says("cache: wrote "), "{:?}", ran.said);
        }
    }
    assert!(unnoticed < 15, "{unnoticed}");
    // It was replaced, and is whole again.
    fs::remove_file(&pack).expect("it is ours");
    world.run(&["--no-tier-up", "p.kal"]);
    assert_eq!(world.run(&["--no-tier-up", "p.kal"]).misses, 0);
}

#[test]
fn code_that_others_could_have_written_is_not_run() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = world.run(&["p.kal"]).out;
    let pack = world.packs().pop().expect("there is a pack");
    let folder = pack.parent().expect("it is in a folder").to_owned();
    let refused = |why: &str| {
        let ran = world.run(&["--cache", "ro", "p.kal"]);
        assert_eq!((ran.out.as_str(), ran.hits), (right.as_str(), 0), "{why}");
        ran
    };
    let with_mode = |path: &Path, mode: u32| {
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("it is ours");
    };
    for (path, usual) in [(pack.clone(), 0o600), (folder.clone(), 0o700), (world.at("caches/kal"), 0o700)] {
        for mode in [usual | 0o020, usual | 0o002] {
            with_mode(&path, mode);
            let why = refused("others may write").said;
            assert!(why.iter().any(|line| line.contains("others may write it")), "{why:?}");
        }
        with_mode(&path, usual);
    }
    // A link, even to the pack itself.
    let away = world.at("away.kpk");
    fs::rename(&pack, &away).expect("it can be moved");
    symlink(&away, &pack).expect("it can be linked");
    assert!(refused("a link").says("it is a link"));
    fs::remove_file(&pack).expect("it is ours");
    fs::rename(&away, &pack).expect("it can be moved");
    // Another key, a key that others can read, and no key.
    let key = world.at("state/kal/key");
    let secret = fs::read(&key).expect("there is a key");
    with_mode(&key, 0o644);
    refused("a key that others can read");
    with_mode(&key, 0o600);
    fs::write(&key, [1; 32]).expect("it is ours");
    assert!(refused("another key").says("made with another key"));
    fs::remove_file(&key).expect("it is ours");
    refused("no key");
    fs::write(&key, secret).expect("it is ours");
    with_mode(&key, 0o600);
    assert_eq!(world.run(&["p.kal"]).misses, 0, "all is well again");
}

#[test]
fn a_cache_that_cannot_be_written_changes_nothing() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = finish(kal().args(["--cache", "off", "p.kal"]).current_dir(world.0.path()));
    let check = |command: &mut std::process::Command| {
        let ran = finish(command);
        assert_eq!((ran.out(), ran.err(), ran.code), (right.out(), right.err(), right.code));
    };
    let plain = || {
        let mut command = kal();
        command.env_remove("KAL_CACHE").current_dir(world.0.path()).arg("p.kal");
        command
    };
    check(plain().env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("XDG_STATE_HOME"));
    for unwritable in ["/proc/self", "/dev/null"] {
        check(plain().env("XDG_CACHE_HOME", unwritable).env("XDG_STATE_HOME", world.at("state")));
        check(plain().env("XDG_CACHE_HOME", world.at("caches")).env("XDG_STATE_HOME", unwritable));
    }
    world.write("caches/kal", "a file where the folder would be");
    check(plain().env("XDG_CACHE_HOME", world.at("caches")).env("XDG_STATE_HOME", world.at("state")));
    fs::remove_file(world.at("caches/kal")).expect("it is ours");
    // A full disk: `/dev/full` takes no byte.
    check(plain().env("XDG_CACHE_HOME", "/dev/full").env("XDG_STATE_HOME", world.at("state")));
    assert_eq!(world.files(), Vec::<PathBuf>::new());
}

#[test]
fn a_pack_that_does_not_fit_is_not_written() {
    let world = World::new();
    let sum = |count: u64| format!("{PROGRAM}; {}", "square(4); ".repeat(count as usize));
    world.write("p.kal", &sum(1000));
    let right = finish(kal().args(["--cache", "off", "p.kal"]).current_dir(world.0.path()));
    // Files end at a few blocks of 512 bytes: the kernel takes a part of what is written,
    // and refuses the rest.
    for blocks in [0, 1, 8] {
        let mut shell = std::process::Command::new("sh");
        let limited = format!("ulimit -f {blocks}; exec \"$@\"");
        let plain = world.kal(&["p.kal"]);
        shell.args(["-c", &limited, "sh"]).arg(plain.get_program()).args(plain.get_args());
        shell.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = CachedRun::of(finish(shell.env_remove("KAL_CACHE").current_dir(world.0.path())));
        assert_eq!((ran.out.as_bytes(), ran.code), (&right.stdout[..], Some(0)), "{blocks} blocks");
        let whole = |file: &PathBuf| !file.ends_with("key") && fs::metadata(file).is_ok();
        assert!(!world.files().iter().any(whole), "{:?}", world.files());
    }
    assert_eq!(world.run(&["p.kal"]).out.as_bytes(), &right.stdout[..]);
    assert_eq!(world.run(&["p.kal"]).compiled, 0);
}

/// Only root can give a file away.
#[test]
fn code_of_another_owner_is_not_run() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = world.run(&["p.kal"]).out;
    let pack = world.packs().pop().expect("there is a pack");
    let owner = fs::metadata(&pack).expect("it is there").uid();
    if owner != 0 {
        return;
    }
    let folder = pack.parent().expect("it is in a folder").to_owned();
    for path in [pack.clone(), folder, world.at("caches/kal")] {
        chown(&path, Some(65534), None).expect("root may");
        let ran = world.run(&["--cache", "ro", "p.kal"]);
        assert_eq!((ran.out.as_str(), ran.hits), (right.as_str(), 0), "{}", path.display());
        assert!(ran.says("it belongs to the user 65534"), "{:?}", ran.said);
        chown(&path, Some(owner), None).expect("root may");
    }
    assert_eq!(world.run(&["p.kal"]).misses, 0, "all is well again");
}

#[test]
fn many_processes_at_once_write_one_pack() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = finish(kal().args(["--cache", "off", "p.kal"]).current_dir(world.0.path()));
    let start =
        || world.kal(&["p.kal"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let children: Vec<_> = (0..16).map(|_| start()).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.stdout, right.stdout);
    }
    let bases = world.packs().into_iter().filter(|pack| {
        let name = pack.file_name().and_then(|name| name.to_str()).expect("it has a name");
        name.matches('.').count() == 1
    });
    assert_eq!((bases.count(), world.files()), (1, world.packs()));
    let ran = world.run(&["p.kal"]);
    assert_eq!((ran.out.as_bytes(), ran.code), (&right.stdout[..], Some(0)));
}

#[test]
fn a_clock_that_is_ahead_and_a_cache_that_vanishes_do_no_harm() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = world.run(&["p.kal"]).out;
    let pack = world.packs().pop().expect("there is a pack");
    let next_year = std::time::SystemTime::now() + std::time::Duration::from_secs(400 * 24 * 3600);
    set_time(&pack, next_year);
    assert_eq!(world.run(&["p.kal"]).counts().1, 0);
    fs::remove_dir_all(world.at("caches")).expect("it is ours");
    let ran = world.run(&["p.kal"]);
    assert_eq!((ran.out, ran.hits), (right, 0));
}

#[test]
fn an_engine_has_a_cache_if_it_asks_for_one() {
    use kal::source::Source;
    use kal::{CacheEvent, CacheOptions, Config, Engine};
    let world = World::new();
    let options = CacheOptions::new(world.at("mine"), world.at("secret"));
    world.write("p.kal", "def f(x) x * 2\nf(4)");
    let mut seen = Vec::new();
    for _ in 0..2 {
        let engine = Engine::with_config(Config::new().cache(options.clone())).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let source = Source::in_folder(
            world.at("p.kal").display().to_string(),
            fs::read_to_string(world.at("p.kal")).expect("it is text"),
            world.0.path(),
        );
        let mut values = Vec::new();
        let _ = context.run(&source, &mut |_, outcome| {
            if let Ok(kal::Outcome::Value(value)) = outcome {
                values.push(value);
            }
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(values, [8.0]);
        let stats = context.stats();
        engine.write_cache();
        seen.push((stats.cache_hits, stats.cache_misses, engine.take_cache_events().len()));
        if let Some(event) = engine.take_cache_events().first() {
            assert!(matches!(event, CacheEvent::Written { .. }), "{event}");
        }
    }
    assert_eq!(seen, [(0, 2, 1), (2, 0, 1)]);
}

#[test]
fn the_folder_is_looked_at_and_emptied_by_a_command() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let cache = |arguments: &[&str]| {
        let mut command = kal();
        command.env_remove("KAL_CACHE").env("XDG_CACHE_HOME", world.at("caches"));
        command.env("XDG_STATE_HOME", world.at("state")).arg("cache").args(arguments);
        finish(&mut command)
    };
    assert_eq!(cache(&["dir"]).out().trim_end(), world.at("caches/kal").display().to_string());
    assert_eq!(cache(&["verify"]).out(), "0 packs are good, 0 are not\n");
    world.run(&["p.kal"]);
    assert!(cache(&["stats"]).out().starts_with("this build: 1 packs, 0.0 MiB\nother builds: 0 packs,"));
    assert_eq!(cache(&["verify"]).out(), "1 packs are good, 0 are not\n");
    // What other builds and killed processes have left goes when it is old.
    let pack = world.packs().pop().expect("there is a pack");
    let folder = pack.parent().expect("it is in a folder");
    let [build, target, program] = ["0b", "1c", "2d"].map(|digits| digits.repeat(16));
    let build = world.at("caches/kal/packs-1").join(build);
    let other = build.join(target).join(program).join("text.kpk");
    let unfinished = folder.join(".unfinished-1");
    for file in [&other, &unfinished] {
        fs::create_dir_all(file.parent().expect("it is in a folder")).expect("it is ours");
        fs::write(file, "old").expect("it is ours");
    }
    assert!(cache(&["stats"]).out().contains("other builds: 1 packs,"));
    cache(&["gc"]);
    assert_eq!(world.files().len(), 3);
    let last_year = std::time::SystemTime::now() - std::time::Duration::from_secs(400 * 24 * 3600);
    for file in [&other, &unfinished, &pack] {
        set_time(file, last_year);
    }
    cache(&["gc"]);
    assert_eq!((world.files(), build.exists()), (vec![pack.clone()], false));
    // A pack that is damaged.
    let bytes = fs::read(&pack).expect("it is ours");
    fs::write(&pack, &bytes[1..]).expect("it is ours");
    let verified = cache(&["verify"]);
    assert!(verified.code == Some(1) && verified.out().contains("not a pack"), "{}", verified.out());
    assert_eq!(cache(&["clear"]).code, Some(0));
    assert_eq!(world.files(), Vec::<PathBuf>::new());
    assert_eq!(cache(&["stats", "--cache", "off"]).code, Some(1));
    // What is not the cache's stays, whatever it is called and however old it is.
    let names = ["2024/photo", "1/2/3/text.kpk", "packs-1/notes/text.kpk", "packs-x/text.kpk", "text.kpk"];
    for name in names {
        world.write(&format!("caches/kal/{name}"), "mine");
        let path = world.at("caches/kal").join(name);
        set_time(&path, last_year);
    }
    cache(&["gc"]);
    cache(&["clear"]);
    assert_eq!(world.files().len(), names.len());
}

/// A function that is too large to be optimised, with small ones that would be inlined.
#[test]
fn a_function_that_is_not_optimised_is_cached_with_what_it_calls() {
    let world = World::new();
    let arguments = (0..1100).map(|number| format!("small({number})")).collect::<Vec<_>>().join(", ");
    let parameters = (0..1100).map(|number| format!("p{number}")).collect::<Vec<_>>().join(" ");
    world.write(
        "p.kal",
        &format!(
            "def small(x) x * 2 + 1
            def wide({parameters}) p0 + p1 + p1099
            def large(x) wide({arguments}) + small(x)
            large(3)
            large(4)"
        ),
    );
    for way in [&["--no-tier-up"][..], &["--eager"], &["--tier-up-after=1", "--tier-up-waits"]] {
        for _ in 0..3 {
            let ran = world.run(&[way, &["p.kal"]].concat());
            assert_eq!((ran.out.as_str(), ran.code), ("2210\n2212\n", Some(0)), "{way:?} {:?}", ran.said);
        }
    }
}

/// A library of functions that call others before them, and what it compiles.
#[derive(Clone, PartialEq, Eq)]
struct Library {
    functions: Vec<LibraryFunction>,
    /// What the layout adds; it means nothing.
    comment: u32,
}

#[derive(Clone, PartialEq, Eq)]
struct LibraryFunction {
    name: String,
    number: u32,
    /// Whether it is too large to be inlined.
    is_large: bool,
    callee: Option<usize>,
}

impl Library {
    fn text(&self) -> String {
        let mut text = format!("# {}\n", self.comment);
        for function in &self.functions {
            let called = function.callee.map(|callee| format!("{}(x)", self.functions[callee].name));
            let called = called.unwrap_or_else(|| "x".into());
            // 60 additions are 121 nodes.
            let sum = if function.is_large { " + x".repeat(60) } else { String::new() };
            text += &format!("def {}(x) {called} * {}{sum}\n", function.name, function.number);
        }
        self.functions.iter().for_each(|function| text += &format!("{}(2)\n", function.name));
        text
    }

    /// Returns what the code of a function is made of.
    fn code(&self, index: usize) -> String {
        let function = &self.functions[index];
        let inlined = function.callee.filter(|callee| !self.functions[*callee].is_large);
        let callee = function.callee.map(|callee| self.functions[callee].name.clone());
        let inlined = inlined.map(|callee| self.code(callee));
        format!("{} {} {} {callee:?} {inlined:?}", function.name, function.number, function.is_large)
    }

    /// Returns what the code of the expression that calls a function is made of: it is
    /// the same for functions of the same shape and name.
    fn expression(&self, index: usize) -> String {
        let function = &self.functions[index];
        let inlined = (!function.is_large).then(|| self.code(index));
        format!("calls {} {inlined:?}", function.name)
    }

    fn all_code(&self) -> BTreeSet<String> {
        (0..self.functions.len()).flat_map(|index| [self.code(index), self.expression(index)]).collect()
    }
}

/// A text whose packs are in the cache.
struct KeptText {
    text: String,
    code: BTreeSet<String>,
    /// The text that it is an edited form of, if it was not checked as a whole.
    edited_from: Option<String>,
}

/// Whatever is edited, exactly what is predicted is compiled, and the answers are those
/// without a cache.
#[test]
fn random_edits_compile_what_a_model_predicts() {
    use kal::source::Source;
    use kal::{CacheOptions, Config, Engine, TierUp};
    let world = World::new();
    let options = CacheOptions::new(world.at("cache"), world.at("secret"));
    // As a host that shares texts between contexts, or as the command, which takes an edited
    // text for its earlier form with some other definitions.
    let run = |text: &str, config: Config, shares: bool| {
        let config = config.tier_up(TierUp::Never).keep_texts(shares);
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let source = Source::in_folder(world.at("p.kal").display().to_string(), text.into(), world.0.path());
        let mut values = Vec::new();
        let mut each = |_: &mut kal::Context, outcome: Result<kal::Outcome, kal::Error>| {
            if let Ok(kal::Outcome::Value(value)) = outcome {
                values.push(value.to_bits());
            }
            std::ops::ControlFlow::Continue(())
        };
        let _ =
            if shares { context.run(&source, &mut each) } else { context.run_for_values(&source, &mut each) };
        (values, context.stats().cache_misses, context.stats().items_read)
    };
    let edits: usize = std::env::var("KAL_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let mut random = Random::new(7);
    let function = |index: usize, random: &mut Random| LibraryFunction {
        name: format!("f{index}"),
        number: random.below(5) as u32,
        is_large: random.below(3) == 0,
        callee: (index > 0 && random.below(3) > 0).then(|| random.below(index)),
    };
    let functions = (0..12).map(|index| function(index, &mut random)).collect();
    let mut library = Library { functions, comment: 0 };
    world.write("p.kal", "");
    // What the packs of the present text have, of the three latest others, and of the texts
    // of which these are edited forms, newest first.
    let mut texts: Vec<KeptText> = Vec::new();
    let mut packs = BTreeSet::new();
    for edit in 0..edits {
        let text = library.text();
        let code = library.all_code();
        let known: BTreeSet<String> = texts.iter().flat_map(|text| text.code.clone()).collect();
        let expected = code.difference(&known).count() as u64;
        let shares = random.below(2) == 0;
        let (values, compiled, read) = run(&text, Config::new().cache(options.clone()), shares);
        assert_eq!(compiled, expected, "edit {edit}:\n{text}");
        assert_eq!(values, run(&text, Config::new(), true).0, "edit {edit}:\n{text}");
        // A pack is written if something was compiled, or a text was checked as a whole.
        let present = BTreeSet::from_iter(files_in(world.at("cache")));
        let is_written = present.difference(&packs).next().is_some();
        assert!(is_written || expected == 0, "edit {edit}");
        packs = present;
        if is_written {
            let before = texts.iter().position(|known| known.text == text).map(|at| texts.remove(at));
            let is_edited = !shares && read < 2 * library.functions.len() as u64;
            let newest = texts.iter().find(|known| known.edited_from.is_none());
            let edited_from = match before {
                Some(before) if before.edited_from.is_none() => None,
                Some(_) | None => newest.filter(|_| is_edited).map(|newest| newest.text.clone()),
            };
            texts.insert(0, KeptText { text, code, edited_from });
            let needed: Vec<_> = texts.iter().take(4).filter_map(|text| text.edited_from.clone()).collect();
            let mut place = 0..;
            texts.retain(|known| place.next() < Some(4) || needed.contains(&known.text));
        }
        let index = random.below(library.functions.len());
        match random.below(6) {
            0 => library.functions[index].number = random.below(5) as u32,
            1 => library.functions[index].is_large ^= true,
            2 => library.functions[index].callee = (index > 0).then(|| random.below(index)),
            3 => library.functions[index].name = format!("g{}", random.below(4) * 100 + index),
            4 => library.comment += 1,
            _ => {
                let number = library.functions[index].number;
                library.functions[index].number = (number + 1) % 5;
            }
        }
    }
}

#[test]
fn the_cache_explains_what_will_be_compiled_again() {
    let world = World::new();
    world.write("many.kal", "def double(x) x * 2");
    let text = |small: &str, large: &str, rest: &str| {
        format!(
            "import many
            def small(x) x + {small}
            def total(x) small(x) * double(3)
            def large(x) x * {large}{}
            def waves(x) sin(x)
            def unused(x) x
            {rest}
            total(1) + large(2) + waves(3)",
            " + x".repeat(60)
        )
    };
    let explain = || {
        let ran = finish(world.kal(&["cache", "explain", "p.kal"]).current_dir(world.0.path()));
        assert_eq!(ran.code, Some(0), "{}", ran.err());
        let lines =
            ran.out().lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        (ran.out().lines().next().unwrap_or_default().to_owned(), lines.collect::<Vec<_>>())
    };
    world.write("p.kal", &text("1", "2", ""));
    let (head, lines) = explain();
    assert!(head.starts_with("p.kal: code of 0 of "), "{head}");
    assert!(lines.iter().all(|line| line.ends_with(" not compiled before")), "{lines:?}");
    world.run(&["--no-tier-up", "p.kal"]);
    let (_, lines) = explain();
    for line in ["total from the cache", "large from the cache", "unused not compiled before"] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    world.write("p.kal", &text("5", "7", "def sin(x) x"));
    let (_, lines) = explain();
    for line in [
        "small compiled again: it has changed",
        "total compiled again: `small`, which was inlined into it, has changed",
        "large compiled again: it has changed",
        "waves compiled again: the program defines `sin` now",
        "double from the cache",
        "unused not compiled before",
    ] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    world.write("p.kal", "def wrong(");
    let refused = finish(&mut world.kal(&["cache", "explain", "p.kal"]));
    assert!(refused.code == Some(1) && refused.err().contains("error[E"), "{}", refused.err());
}

/// Processes that are killed at any time leave nothing that does harm.
#[test]
fn killed_processes_leave_whole_packs_or_none() {
    let world = World::new();
    world.write("p.kal", PROGRAM);
    let right = finish(kal().args(["--cache", "off", "p.kal"]).current_dir(world.0.path()));
    let kills: u64 = std::env::var("KAL_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    for kill in 0..kills {
        let mut child =
            world.kal(&["p.kal"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        // Anywhere between the start and the end.
        std::thread::sleep(std::time::Duration::from_micros(kill * 7919 % 80_000));
        let _ = child.kill();
        child.wait().expect("it ends");
        if kill % 8 == 0 {
            let ran = world.run(&["--cache", "ro", "p.kal"]);
            assert_eq!((ran.out.as_bytes(), ran.code), (&right.stdout[..], Some(0)));
            assert!(!ran.says("cache: not used"), "{:?}", ran.said);
            let _ = fs::remove_dir_all(world.at("caches"));
        }
    }
}

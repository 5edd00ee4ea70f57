//! Libraries that bring along what was checked and compiled of them.

use crate::binary::finish;
use crate::caching::{CachedRun, World};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const STATS: &str = "import shapes.round\ndef mean(a b) (a + b) / 2\ndef rings(x) shapes.round.area(x) * 2\n\
                     def binary ⊕ 15 (a b) mean(a, b)\n";
const ROUND: &str = "def area(r) 3 * r * r\ndef _unused(x) area(x)\n";
const PROGRAM: &str = "import stats\nmean(1, 2)\nrings(2)\n1 ⊕ 4\n";
const OUTPUT: &str = "1.5\n24\n2.5\n";

/// A library in the folder `lib`, and a program that imports it.
fn library() -> World {
    let world = World::new();
    world.write("kal.toml", "");
    world.write("lib/stats.kal", STATS);
    world.write("lib/shapes/round.kal", ROUND);
    world.write("p.kal", PROGRAM);
    world
}

/// Runs `kal compile`; returns what it prints and how it ends.
fn compile(world: &World, arguments: &[&str]) -> (String, String, Option<i32>) {
    let mut command = world.kal(&[]);
    let ran = finish(command.arg("compile").args(arguments));
    (ran.out().to_owned(), ran.err().to_owned(), ran.code)
}

/// Returns the packs that a library has with it.
fn packs(library: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![library.join(".kal")]);
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Runs the program, of which nothing is in the user's cache. Returns what came from the
/// library: whether its checked form, and how much code.
fn first_run(world: &World) -> (bool, u64, CachedRun) {
    fs::remove_dir_all(world.at("caches")).ok();
    let ran = world.run(&["p.kal"]);
    assert_eq!((&*ran.out, ran.code), (OUTPUT, Some(0)), "{:?}", ran.said);
    // The program itself is always parsed.
    (ran.stats["parsed_units"].as_u64() == Some(1), ran.stats["cache_hits"].as_u64().unwrap_or(0), ran)
}

#[test]
fn a_compiled_library_is_neither_parsed_nor_compiled() {
    let world = library();
    let (is_checked, found, _) = first_run(&world);
    assert_eq!((is_checked, found), (false, 0));
    let folder = fs::canonicalize(world.at("lib")).expect("it is there");
    let said = format!("{}: 2 modules, code of 5 functions\n", folder.display());
    let (out, err, code) = compile(&world, &["lib"]);
    assert_eq!((out, code), (said, Some(0)), "{err}");
    assert_eq!(packs(&folder).len(), 2);
    let (is_checked, found, _) = first_run(&world);
    // `mean` and `rings`, the operator, and nothing of the expressions.
    assert_eq!((is_checked, found), (true, 3));
    // It can be moved, and the program is not compiled again.
    fs::rename(world.at("lib"), world.at("other")).expect("it is ours");
    world.write("kal.toml", "[imports]\nstats = { path = \"other\" }\nshapes = { path = \"other\" }\n");
    let (is_checked, found, _) = first_run(&world);
    assert_eq!((is_checked, found), (true, 3));
    // All of the project: what it imports from inside of it is a library of its own.
    let (out, err, code) = compile(&world, &["."]);
    let compiled = out.lines().last().map(str::to_owned);
    let folder = fs::canonicalize(world.at("other")).expect("it is there");
    let expected = format!("{}: 2 modules, code of 5 functions", folder.display());
    assert_eq!((compiled, code), (Some(expected), Some(0)), "{out}{err}");
}

#[test]
fn the_users_cache_comes_first_and_a_run_writes_nowhere_else() {
    let world = library();
    compile(&world, &["lib"]);
    let before = packs(&world.at("lib"));
    first_run(&world);
    // Something of the module that the library does not have.
    world.write("p.kal", &format!("{PROGRAM}def stats.mean(a b) a\nrings(2) - 24 + mean(5, 6)\n"));
    let second = world.run(&["p.kal"]);
    assert_eq!(second.out, format!("{OUTPUT}5\n"));
    let read: Vec<_> = second.said.iter().filter(|line| line.starts_with("cache: read ")).collect();
    let of_library = |line: &&String| line.contains("lib/.kal/cache");
    let first = read.iter().position(of_library).expect("the library's packs are read");
    let own = read.iter().position(|line| !of_library(line)).expect("the user's are, too");
    assert!(own < first, "{read:?}");
    assert_eq!(packs(&world.at("lib")), before);
}

#[test]
fn an_edit_is_compiled_and_the_rest_is_taken_from_the_library() {
    let world = library();
    compile(&world, &["lib"]);
    world.write("lib/shapes/round.kal", &ROUND.replace("3 *", "4 *"));
    fs::remove_dir_all(world.at("caches")).ok();
    let ran = world.run(&["p.kal"]);
    assert_eq!(ran.out, "1.5\n32\n2.5\n");
    // `area` is inlined into `rings`; `mean` and the operator are as before.
    assert_eq!((ran.stats["parsed_units"].as_u64(), ran.stats["cache_hits"].as_u64()), (Some(2), Some(2)));
    // Compiling it again takes the place of what was there.
    compile(&world, &["lib"]);
    assert_eq!(packs(&world.at("lib")).len(), 2);
    let out = world.run(&["p.kal"]).out;
    assert_eq!(out, "1.5\n32\n2.5\n");
}

#[test]
fn bindings_are_what_was_checked_alone() {
    let world = library();
    let (out, _, code) = compile(&world, &["--no-code", "lib"]);
    assert!(out.ends_with("lib: 2 modules\n") && code == Some(0), "{out}");
    let files = packs(&world.at("lib"));
    assert!(
        files.len() == 2 && files.iter().all(|file| file.extension().is_some_and(|end| end == "bindings"))
    );
    let (is_checked, found, _) = first_run(&world);
    assert_eq!((is_checked, found), (true, 0));
    // One module, and the other kind of pack in its place.
    let (out, ..) = compile(&world, &["lib/stats.kal"]);
    assert!(out.contains("2 modules"), "{out}");
    assert_eq!(first_run(&world).1, 3);
}

#[test]
fn code_of_a_library_is_run_if_this_user_made_it() {
    let world = library();
    let secret = world.at("state/kal/key");
    let change = |change: &dyn Fn(&Path)| {
        compile(&world, &["lib"]);
        change(&world.at("lib/.kal"));
        let (is_checked, found, ran) = first_run(&world);
        fs::remove_dir_all(world.at("lib/.kal")).or_else(|_| fs::remove_file(world.at("lib/.kal"))).ok();
        (is_checked, found, ran)
    };
    let mode =
        |path: &Path, mode: u32| fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
    let (is_checked, found, _) = change(&|_| {});
    assert_eq!((is_checked, found), (true, 3));
    // Made by another user: what was checked is used, the code is not.
    for forget in [true, false] {
        let (is_checked, found, ran) = change(&|_| match forget {
            true => fs::remove_file(&secret).expect("it is there"),
            false => fs::write(&secret, [7; 32]).expect("it is ours"),
        });
        assert_eq!((is_checked, found), (true, 0));
        assert!(ran.says("without its code: made with another key"), "{:?}", ran.said);
        assert!(ran.compiled > 0);
    }
    // Others may write it: nothing of it is used.
    let (is_checked, found, ran) = change(&|folder| mode(folder, 0o777));
    assert_eq!((is_checked, found), (false, 0));
    assert!(ran.says("others may write it"), "{:?}", ran.said);
    let files = |library: &Path| packs(library.parent().expect("it is in a folder"));
    let (is_checked, found, ran) = change(&|folder| files(folder).iter().for_each(|file| mode(file, 0o666)));
    assert_eq!((is_checked, found), (false, 0));
    assert!(ran.says("others may write it"), "{:?}", ran.said);
    // It is a link.
    let (is_checked, found, _) = change(&|folder| {
        fs::rename(folder, folder.with_extension("elsewhere")).expect("it is ours");
        symlink(folder.with_extension("elsewhere"), folder).expect("it can be made");
    });
    assert_eq!((is_checked, found), (false, 0));
    // Damaged: it is left as it is.
    let damaged = change(&|folder| {
        for file in files(folder) {
            let mut bytes = fs::read(&file).expect("it is there");
            *bytes.last_mut().expect("it is not empty") ^= 1;
            fs::write(&file, bytes).expect("it is ours");
        }
    });
    assert_eq!((damaged.0, damaged.1), (false, 0));
    assert!(damaged.2.says("cache: not used"), "{:?}", damaged.2.said);
}

#[test]
fn a_library_that_cannot_be_written_is_read() {
    let world = library();
    compile(&world, &["lib"]);
    let before: Vec<_> =
        packs(&world.at("lib")).iter().map(|file| fs::read(file).expect("it is there")).collect();
    // The superuser may write everything, so a file stands where a folder should.
    fs::rename(world.at("lib/.kal"), world.at("kept")).expect("it is ours");
    world.write("lib/.kal", "");
    let (_, err, code) = compile(&world, &["lib"]);
    assert!(code == Some(1) && err.contains("lib/.kal"), "{err}");
    let (is_checked, found, _) = first_run(&world);
    assert_eq!((is_checked, found), (false, 0));
    fs::remove_file(world.at("lib/.kal")).expect("it is ours");
    fs::rename(world.at("kept"), world.at("lib/.kal")).expect("it is ours");
    for file in packs(&world.at("lib")) {
        fs::set_permissions(file, Permissions::from_mode(0o444)).expect("it is ours");
    }
    assert_eq!(first_run(&world).1, 3);
    let after: Vec<_> =
        packs(&world.at("lib")).iter().map(|file| fs::read(file).expect("it is there")).collect();
    assert_eq!(after, before);
}

#[test]
fn what_is_wrong_with_a_library_is_said_and_the_rest_is_compiled() {
    let world = library();
    world.write("lib/bad.kal", "def f(x) missing\n");
    world.write("lib/run.kal", "import stats\nmean(1, 2)\n");
    world.write("lib/not-a-module.kal", "def f(x) x\n");
    let (out, err, code) = compile(&world, &["."]);
    assert_eq!(code, Some(1));
    assert!(err.contains("unknown variable `missing`") && err.contains("bad.kal:1:10"), "{err}");
    assert!(out.contains("run.kal: a program, which is not compiled ahead\n"), "{out}");
    assert!(out.contains("lib: 2 modules, code of 5 functions\n"), "{out}");
    assert_eq!(first_run(&world).1, 3);
    let (_, err, code) = compile(&world, &["nowhere"]);
    assert_eq!((code, err.contains("nowhere: No such file")), (Some(1), true), "{err}");
    assert_eq!(compile(&world, &[]).2, Some(2));
    // The cache may be off: a library is compiled all the same.
    let (out, ..) = compile(&world, &["--cache", "off", "lib/shapes/round.kal"]);
    assert!(out.ends_with("shapes: 1 module, code of 2 functions\n"), "{out}");
}

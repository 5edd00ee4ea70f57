//! Profilers and debuggers: `--perf` and `--gdb`.

use crate::binary::{self, Ran};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The folder of a test, with the program that it looks at.
struct Folder(PathBuf);

/// `j0` is a function of the mathematical library that a debugger can stop at.
const PROGRAM: &str = "extern j0(x)
def leaf(x) j0(x) + 1
def caller(x) 2 + leaf(x)
def unused(x) x
caller(0);
caller(0);
";

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("kal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("program.kal"), PROGRAM).expect("a file");
        Self(folder)
    }

    fn program(&self) -> PathBuf {
        self.0.join("program.kal")
    }

    /// Runs the program in gdb with commands for it; what gdb says.
    fn debug(&self, options: &[&str], commands: &str) -> String {
        let script = self.0.join("commands");
        // The names of the linker are not Rust's.
        let before =
            "set debuginfod enabled off\nset confirm off\nset language c\nset breakpoint pending on\n";
        std::fs::write(&script, format!("{before}{commands}")).expect("a file");
        let mut gdb = Command::new("gdb");
        gdb.args(["-nx", "-batch", "-x"]).arg(script).arg("--args").arg(binary::kal().get_program());
        self.has_cache(&mut gdb);
        let Ran { stdout, .. } = binary::finish(gdb.args(ARGUMENTS).args(options).arg(self.program()));
        String::from_utf8(stdout).expect("gdb writes text")
    }

    /// Makes a command keep its cache in this folder.
    fn has_cache(&self, command: &mut Command) {
        let [cache, state] = ["cache", "state"].map(|name| self.0.join(name));
        command.env_remove("KAL_CACHE").env("XDG_CACHE_HOME", cache).env("XDG_STATE_HOME", state);
    }

    /// Runs the program to its end; the map it may have written, and how many bodies were
    /// found in the cache.
    fn run(&self, options: &[&str]) -> (Map, u64) {
        let mut kal = binary::kal();
        self.has_cache(&mut kal);
        kal.args(ARGUMENTS).arg("--stats").args(options).arg(self.program());
        let child = kal.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let map = Map::of(child.id());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "4\n4\n");
        let stats: serde_json::Value = serde_json::from_slice(&output.stderr).expect("they are JSON");
        (map, stats["cache_hits"].as_u64().expect("it is a count"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// No function is inlined, or compiled twice.
const ARGUMENTS: [&str; 3] = ["-O0", "--allow-extern", "j0=libm.so.6"];

/// The file with the names of a process's functions for perf; removed when
/// dropped.
struct Map(PathBuf);

impl Map {
    fn of(process: u32) -> Self {
        Self(format!("/tmp/perf-{process}.map").into())
    }

    /// Addresses, sizes and names.
    fn read(&self) -> Vec<(u64, u64, String)> {
        let text = std::fs::read_to_string(&self.0).expect("the map is there");
        let number = |word: &str| u64::from_str_radix(word, 16).expect("it is hexadecimal");
        let entry = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let [address, size, name] = words[..] else { panic!("`{line}` has three words") };
            (number(address), number(size), name.to_owned())
        };
        text.lines().map(entry).collect()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn perf_is_told_the_functions_that_are_compiled() {
    let folder = Folder::new("perf");
    let (map, _) = folder.run(&["--perf"]);
    let entries = map.read();
    let names: Vec<&str> = entries.iter().map(|(_, _, name)| name.as_str()).collect();
    // Each is called after its function and the identity of that.
    let mut functions: Vec<&str> = names.iter().map(|name| function(name)).collect();
    functions.sort_unstable();
    assert_eq!(functions, ["$expression", "caller$impl", "leaf$impl"]);
    // Those that stay do not overlap.
    let mut ranges: Vec<_> = entries.iter().map(|(address, size, _)| (*address, address + size)).collect();
    ranges.sort_unstable();
    assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{ranges:x?}");
    // What comes from the cache has the same names and sizes.
    let sizes = |entries: Vec<(u64, u64, String)>| {
        let mut sizes: Vec<_> = entries.into_iter().map(|(_, size, name)| (name, size)).collect();
        sizes.sort_unstable();
        sizes
    };
    let (map, found) = folder.run(&["--perf"]);
    assert_eq!((sizes(map.read()), found), (sizes(entries), 3));
}

#[test]
fn nobody_is_told_anything_unless_asked() {
    let folder = Folder::new("quiet");
    let (map, _) = folder.run(&[]);
    // One that is there is that of a process of the same number that is gone.
    let program = folder.program().metadata().and_then(|it| it.modified()).expect("it is there");
    let written = map.0.metadata().and_then(|it| it.modified()).is_ok_and(|at| at > program);
    assert!(!written, "{} was written", map.0.display());
    let said = folder.debug(&[], "break j0\nrun\ninfo symbol 'leaf$impl$0'\nbt\ncontinue\ncontinue\n");
    assert!(said.contains("Breakpoint 1, "), "{said}");
    assert!(!said.contains("in section"), "{said}");
    assert!(!said.contains("caller$impl"), "{said}");
}

#[test]
fn gdb_knows_the_functions_that_are_compiled() {
    let folder = Folder::new("gdb");
    // Symbols are the same in every process.
    let entries = folder.run(&["--perf"]).0.read();
    let leaf = entries.into_iter().map(|(_, _, name)| name).find(|name| function(name) == "leaf$impl");
    let leaf = leaf.expect("it is compiled");
    let said = folder.debug(
        &["--gdb", "--perf"],
        &format!(
            "break j0
            run
            bt 4
            continue
            bt 4
            info address {leaf}
            disassemble '{leaf}'
            info proc
            kill
            "
        ),
    );
    let frames = frames(&said);
    let [_, first @ .., _, _, _, _] = &frames[..] else { panic!("no frames in {said}") };
    assert_eq!(first, ["leaf$impl", "caller$impl", "$expression"], "{said}");
    assert_eq!(frames[5..], ["leaf$impl", "caller$impl", "$expression"], "{said}");

    // perf is told the same.
    let after = |text: &str| {
        let (_, rest) = said.split_once(text).unwrap_or_else(|| panic!("no `{text}` in {said}"));
        rest.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let process = after("process ").parse().expect("it is a number");
    let address = u64::from_str_radix(&after("is at 0x"), 16).expect("it is a number");
    // The last instruction returns; it is one byte long.
    let last = said.lines().rfind(|line| line.ends_with("\tret")).expect("it returns");
    let offset = last.split_once("<+").and_then(|(_, rest)| rest.split_once('>')).expect(last).0;
    let size = offset.parse::<u64>().expect("it is a number") + 1;
    let map = Map::of(process);
    let found = map.read().into_iter().find(|(_, _, name)| *name == leaf);
    assert_eq!(found, Some((address, size, leaf)));
}

/// Returns a symbol without the identity of the function at its end.
fn function(symbol: &str) -> &str {
    match symbol.rsplit_once('$') {
        Some((function, identity)) if identity.len() == 16 => function,
        Some(_) | None => symbol,
    }
}

/// Returns the functions of a backtrace, innermost first.
fn frames(said: &str) -> Vec<&str> {
    said.lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            function(if words.get(2) == Some(&"in") { words[3] } else { words[1] })
        })
        .collect()
}

#[test]
fn a_second_start_does_not_start_llvm() {
    let folder = Folder::new("second-start");
    let starts_llvm = |options: &[&str]| {
        let said = folder.debug(options, "break kal_llvm_start\nrun\nkill\nquit\n");
        assert!(said.contains("kal_llvm_start") || said.contains("exited normally"), "{said}");
        said.contains("hit Breakpoint 1")
    };
    assert!(starts_llvm(&[]), "it has to be compiled");
    assert_eq!(folder.run(&[]).1, 0);
    assert!(!starts_llvm(&[]), "all of it was compiled by the first start");
    assert!(starts_llvm(&["--cache", "off"]));
}

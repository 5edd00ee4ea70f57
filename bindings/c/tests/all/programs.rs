//! The programs in `tests/c`, by two compilers, with both libraries, and under valgrind.

use crate::installed::{command, node_folder, output, package, prefix, shared, sources};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The compilers of C, and of C++.
const C: [&str; 2] = ["gcc", "clang"];
const CXX: [&str; 2] = ["g++", "clang++"];

/// Compiles a program; returns its path in a folder of its own.
pub fn compiled(compiler: &str, source: &Path, arguments: &[String]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("program");
    let standard = if CXX.contains(&compiler) { "-std=c++17" } else { "-std=c11" };
    let flags = [standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pedantic", "-pthread"];
    let mut build = command(compiler);
    build.args(flags).arg("-o").arg(&program).arg(source).args(arguments).arg("-lm");
    output(&mut build);
    (folder, program)
}

/// Compiles a program of this folder with every compiler and each of the libraries, and runs it
/// with these arguments.
fn run(name: &str, arguments: &[&str]) {
    let compilers = if name.ends_with(".c") { C } else { CXX };
    for compiler in compilers {
        for library in ["kal", "kal-static"] {
            let flags = package(&["--cflags", "--libs", library]);
            let (folder, program) = compiled(compiler, &sources().join("tests/c").join(name), &flags);
            let text = output(command(&program).args(arguments).current_dir(folder.path()));
            assert!(text.contains("all is well"), "{compiler}, {library}: {text}");
        }
    }
}

#[test]
fn programs_run_and_fail_as_they_should() {
    run("programs.c", &["file.kal"]);
}

#[test]
fn threads_are_told_of_each_other() {
    run("threads.c", &[]);
}

#[test]
fn columns_are_computed() {
    run("columns.c", &[]);
}

#[test]
fn c_plus_plus_has_types_for_everything() {
    run("types.cpp", &[]);
}

/// Compiles a program of this folder with gcc and the shared library.
fn program(name: &str) -> (TempDir, PathBuf) {
    compiled("gcc", &sources().join("tests/c").join(name), &package(&["--cflags", "--libs", "kal"]))
}

/// Runs a program under valgrind, which must find no invalid access and no leak.
fn under_valgrind(compiler: &str, source: &str) -> String {
    let flags = package(&["--cflags", "--libs", "kal"]);
    let (folder, program) = compiled(compiler, &sources().join(source), &flags);
    let mut check = command("valgrind");
    // Programs have stacks of their own, and code that is made while they run.
    check.args(["-q", "--error-exitcode=99", "--smc-check=all", "--max-stackframe=300000000"]);
    check.args(["--leak-check=full", "--errors-for-leak-kinds=definite"]);
    output(check.arg(program).current_dir(folder.path()))
}

#[test]
fn valgrind_finds_nothing() {
    assert!(under_valgrind("gcc", "tests/c/columns.c").contains("all is well"));
    assert!(under_valgrind("g++", "tests/c/types.cpp").contains("all is well"));
    assert_eq!(under_valgrind("gcc", "examples/hello.c"), "49\n");
    assert!(under_valgrind("clang", "examples/formula.c").contains("did you mean `height`?"));
    assert!(under_valgrind("clang", "examples/columns.c").contains("gross[2] is null"));
    assert!(under_valgrind("g++", "examples/formula.cpp").contains("E0306"));
}

#[test]
fn engines_leave_nothing() {
    let (_folder, program) = program("engines.c");
    let count = std::env::var("KAL_ENGINES").unwrap_or_else(|_| "10000".to_owned());
    println!("{}", output(command(program).arg(count)));
}

#[test]
fn another_llvm_may_be_in_the_process() {
    let llvm = std::env::var("LLVM_SYS_221_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let flags = ["-std=gnu11".to_owned(), format!("-isystem{llvm}/include")];
    let cflags = package(&["--cflags", "kal"]);
    // It loads both by itself. Converting addresses to functions is an extension of C.
    let flags: Vec<String> = cflags.into_iter().chain(flags).collect();
    let (_folder, program) = compiled("gcc", &sources().join("tests/c/beside.c"), &flags);
    for first in ["kal", "llvm"] {
        let mut run = Command::new(&program);
        let text = output(run.args([first.as_ref(), shared().as_os_str(), "libLLVM.so.22.1".as_ref()]));
        assert!(text.contains("all is well"), "{first}: {text}");
    }
}

#[test]
fn goroutines_may_call_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let program = folder.path().join("storm");
    let mut build = command("go");
    output(build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources().join("tests/go")));
    let calls = std::env::var("KAL_GO_CALLS").unwrap_or_else(|_| "1000000".to_owned());
    let text = output(command(&program).arg(&calls));
    assert!(text.starts_with(&format!("{calls} calls by 16 goroutines")), "{text}");
    println!("{text}");
}

#[test]
fn functions_in_javascript_run_where_node_expects_them() {
    let program = node_folder().join("host.mjs");
    fs::copy(sources().join("tests/node/host.mjs"), &program).expect("it can be copied");
    let mut run = command("node");
    let text = output(run.arg(program).env("KAL_LIBRARY", shared()));
    assert_eq!(text, "all is well\n");
}

#[test]
fn the_prefix_may_move() {
    // pkg-config finds everything from where its files are.
    let folder = tempfile::tempdir().expect("a folder can be made");
    let moved = folder.path().join("moved");
    output(Command::new("cp").arg("-a").arg(prefix()).arg(&moved));
    let mut ask = Command::new("pkg-config");
    ask.env("PKG_CONFIG_PATH", moved.join("lib/pkgconfig")).args(["--cflags", "--libs", "kal"]);
    let flags: Vec<String> = output(&mut ask).split_whitespace().map(str::to_owned).collect();
    assert!(flags.iter().all(|flag| flag == "-lkal" || flag.contains("moved/lib")), "{flags:?}");
    let (_program_folder, program) = compiled("gcc", &sources().join("examples/hello.c"), &flags);
    assert_eq!(output(Command::new(program).env("LD_LIBRARY_PATH", moved.join("lib"))), "49\n");
}

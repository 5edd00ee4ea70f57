//! The examples run, and `docs/c.md` shows them as they are, and what they print.

use crate::installed::{command, node_folder, output, package, prefix, sources};
use crate::programs::compiled;
use std::fs;

/// Returns what an example prints.
fn printed(name: &str) -> String {
    let source = sources().join("examples").join(name);
    let folder = tempfile::tempdir().expect("a folder can be made");
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "c" | "cpp" => {
            let compilers = if name.ends_with(".c") { ["gcc", "clang"] } else { ["g++", "clang++"] };
            let [first, second] = compilers.map(|compiler| {
                let (_folder, program) =
                    compiled(compiler, &source, &package(&["--cflags", "--libs", "kal"]));
                output(&mut command(program))
            });
            assert_eq!(first, second, "{name}");
            first
        }
        "go" => {
            let program = folder.path().join("program");
            let mut build = command("go");
            let source = source.parent().expect("it is in a folder");
            output(build.args(["build", "-o"]).arg(&program).arg(".").current_dir(source));
            output(&mut command(program))
        }
        "mjs" => {
            // Modules are looked for beside the program.
            let program = node_folder().join("formula.mjs");
            fs::copy(source, &program).expect("it can be copied");
            output(command("node").arg(program).env("KAL_LIBRARY", prefix().join("lib/libkal.so.1")))
        }
        _ => panic!("no language of {name} is known"),
    }
}

#[test]
fn the_documentation_shows_the_examples_and_what_they_print() {
    let page = fs::read_to_string(sources().join("../../docs/c.md")).expect("it is there");
    // A block of code begins with its language and the name of its example; one of text, with the
    // name of the example that prints it.
    let mut shown = 0;
    for block in page.split("\n```").skip(1).step_by(2) {
        let (first, text) = block.split_once('\n').expect("a block has lines");
        let Some((language, name)) = first.split_once(' ') else { continue };
        let text = format!("{text}\n");
        if language == "text" {
            assert!(printed(name).contains(&text), "{name} does not print\n{text}\nbut\n{}", printed(name));
        } else {
            let code = fs::read_to_string(sources().join("examples").join(name)).expect(name);
            assert!(code.contains(&text), "{name} has not\n{text}");
        }
        shown += 1;
    }
    assert!(shown >= 10, "{shown} blocks are shown");
}

#[test]
fn every_example_runs() {
    assert_eq!(printed("hello.c"), "49\n");
    assert!(printed("formula.c").ends_with("the run took longer than allowed\n"));
    assert!(printed("columns.c").ends_with("gross[2] is null\ngross[3] = 50\n"));
    assert!(printed("formula.cpp").starts_with("600 1800\n300\n5 13 17 wide: 1\n"));
    assert!(printed("go/main.go").starts_with("[2.5025e+06 2.5025e+06 2.5025e+06 2.5025e+06]\n"));
    assert!(printed("node/formula.mjs").starts_with("6\n11 21 31 41\n"));
}

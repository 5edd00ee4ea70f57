//! What valgrind sees: no invalid access and no leak in a session with
//! redefinitions, and how many instructions some workloads take.
//!
//! The counts are a regression check that a busy machine does not disturb.
//! They are those of the build that the tests use and may grow by half before
//! the test fails; to accept new ones, edit `BASELINES`: the test prints what
//! it counted. `make test-setup` installs valgrind.

use crate::binary::{self, Ran};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;

/// Makes the text of a program.
type Program = fn() -> String;

/// Workloads and millions of instructions at level 0.
const BASELINES: [(&str, f64, Program); 4] = [
    ("start", 7.6, || "1+1".into()),
    ("definitions", 84.7, || {
        (0..2000).map(|i| format!("def f{i}(x y) if x < y then x*{i} else f{}(y, x)\n", i + 1)).collect()
    }),
    ("expressions", 52.4, || (0..100).map(|i| format!("{i}*2+1;")).collect()),
    ("redefinitions", 30.6, || (0..30).map(|i| format!("def f(x) x*{i}+1; f(2);")).collect()),
];

/// How much more than its baseline a workload may take.
const TOLERANCE: f64 = 1.5;

#[test]
fn workloads_take_about_as_many_instructions_as_they_did() {
    let valgrind = Valgrind::new("instructions");
    let mut slower = Vec::new();
    for (name, baseline, program) in BASELINES {
        let tool = ["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"];
        let output = valgrind.run(&tool, &["-O0"], &program());
        let millions = instructions(output.err());
        println!("{name}: {millions:.1} million instructions, {baseline} when it was last looked at");
        if millions > baseline * TOLERANCE {
            slower.push(format!("{name} takes {millions:.1} million instructions, not {baseline}"));
        }
    }
    assert!(slower.is_empty(), "{slower:#?}");
}

#[test]
fn a_session_with_redefinitions_accesses_and_leaks_nothing_wrong() {
    /// The exit code if there is something wrong.
    const WRONG: &str = "--error-exitcode=99";
    let valgrind = Valgrind::new("memcheck");
    let session = session();
    let tool = [WRONG, "--leak-check=full", "--errors-for-leak-kinds=definite", "--smc-check=all", "-q"];
    for mode in ["--tier-up-after=3", "--interpret"] {
        let arguments = ["--stack-size", "1", mode];
        let watched = valgrind.run(&tool, &arguments, &session);
        assert_eq!(watched.code, Some(1), "{mode}: {}", watched.err());
        let plain = binary::run_with(&arguments, session.as_bytes());
        assert_eq!(watched.out(), plain.out(), "{mode}");
        assert!(plain.out().ends_with("1001\n"), "{mode}: {}", plain.out());
    }
}

/// Returns every kind of item, every state of a redefinition, every kind of
/// failure.
fn session() -> String {
    let mut session = String::from(
        "def g(x) x*2; def f(x) if x < 1 then 0 else g(x) + f(x-1); f(10);
        def g(x) x*3; f(10);
        def g(x y) x; f(10);
        def g(x) x+1; f(10);
        def even(n) if n < 1 then 1 else odd(n-1);
        def odd(n) if n < 1 then 0 else even(n-1);
        even(10);
        def odd(n) if n < 1 then 5 else even(n-1);
        even(11);
        missing(1); 1 +; unknown;
        extern sin(x); sin(1);
        def deep(n) 1 + deep(n+1); deep(0);
        def binary @ 20 (x y) x*y + 1; 2 @ 3;
        def binary @ 50 (x y) x*y + 2; 2 + 2 @ 3;
        var a = 1; a = a + 1; a;
        for i = 0, i < 5 in printd(i);
        def h(n) for i = 0, i < n in g(i);
        h(3000);
        def g(x) x*7; h(3000);",
    );
    for i in 1..20 {
        let before = i - 1;
        let _ = writeln!(session, "def g(x) x*{i}; def q{i}(x) g(x) + q{before}(x-1); def q0(x) x; q{i}(1);");
    }
    session + "1000 + 1;"
}

/// A copy of `kal` without debug information, which valgrind cannot always
/// read, in a folder of its own.
struct Valgrind(PathBuf);

impl Valgrind {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("kal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let valgrind = Self(folder);
        let strip =
            Command::new("strip").arg("-o").arg(valgrind.kal()).arg(env!("CARGO_BIN_EXE_kal")).status();
        assert!(strip.is_ok_and(|status| status.success()), "strip makes a copy of the binary");
        valgrind
    }

    fn kal(&self) -> PathBuf {
        self.0.join("kal")
    }

    /// Runs a program from standard input under one of valgrind's tools.
    fn run(&self, tool: &[&str], arguments: &[&str], program: &str) -> Ran {
        let mut command = Command::new("valgrind");
        binary::feed(command.args(tool).arg(self.kal()).args(arguments), program.as_bytes())
    }
}

impl Drop for Valgrind {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Millions of instructions, from what cachegrind says at the end.
fn instructions(said: &str) -> f64 {
    let number = said.lines().find_map(|line| line.split_once("refs:")).expect("the count is told").1;
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    digits.parse::<f64>().expect("it is a number") / 1e6
}

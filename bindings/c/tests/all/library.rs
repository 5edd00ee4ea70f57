//! Go calls a library that `kal build --lib` has made of a program.

use crate::installed::{output, sources};
use std::env;
use std::fs;
use std::process::Command;

const PROGRAM: &str = "def mean(a b) (a + b) / 2\n\
    def hypotenuse(a b) sqrt(a * a + b * b)\n\
    def deep(n) if n < 1 then 0 else 1 + deep(n - 1)\n";

#[test]
fn go_calls_the_functions_of_a_program() {
    let kal = env::var_os("KAL_COMMAND").expect("KAL_COMMAND is set, as `make c-test` does");
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join("numbers.kal"), PROGRAM).expect("it is written");
    let mut build = Command::new(kal);
    build.args(["build", "--lib", "numbers.kal", "--export", "mean,hypotenuse,deep", "-o", "libnumbers.so"]);
    output(build.current_dir(folder.path()));
    let (program, place) = (folder.path().join("program"), folder.path().display());
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".").current_dir(sources().join("tests/go-library"));
    build.env("CGO_CFLAGS", format!("-I{place}")).env("CGO_LDFLAGS", format!("-L{place} -Wl,-rpath,{place}"));
    output(&mut build);
    // The sum of (n + 2) / 2 below 10,000; and of n · 2 from 5,000 on.
    let expected = "2.5 5\n2.50075e+07 8.124875e+07 true true\n\
        true numbers.kal:3:5: E0303: stack overflow\n";
    assert_eq!(output(&mut Command::new(program)), expected);
}

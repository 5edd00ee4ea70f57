//! How many instructions some workloads take: a regression check that a busy
//! machine does not disturb. The counts are those of `valgrind`, of the build
//! that the tests use, and may grow by half before a test fails. To accept new
//! ones, edit `BASELINES`: the test prints what it counted.

use std::process::Command;

/// Workloads and millions of instructions.
const BASELINES: [(&str, f64, fn() -> String); 4] = [
    ("start", 0.0, || "1+1".into()),
    ("definitions", 0.0, || {
        (0..2000).map(|i| format!("def f{i}(x y) if x < y then x*{i} else f{}(y, x)\n", i + 1)).collect()
    }),
    ("expressions", 0.0, || (0..100).map(|i| format!("{i}*2+1;")).collect()),
    ("redefinitions", 0.0, || (0..30).map(|i| format!("def f(x) x*{i}+1; f(2);")).collect()),
];

/// How much more than its baseline a workload may take.
const TOLERANCE: f64 = 1.5;

#[test]
fn workloads_take_about_as_many_instructions_as_they_did() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("left out: valgrind is not installed");
        return;
    }
    let mut slower = Vec::new();
    for (name, baseline, program) in BASELINES {
        let millions = count(&program());
        println!("{name}: {millions:.1} million instructions, {baseline} when it was last looked at");
        if millions > baseline * TOLERANCE {
            slower.push(format!("{name} takes {millions:.1} million instructions, not {baseline}"));
        }
    }
    assert!(slower.is_empty(), "{slower:#?}");
}

/// Millions of instructions that `kal` takes for a program at level 0.
fn count(program: &str) -> f64 {
    let file = std::env::temp_dir().join(format!("kal-instructions-{}.kal", std::process::id()));
    std::fs::write(&file, program).expect("a file for the program");
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .args([env!("CARGO_BIN_EXE_kal"), "-O0"])
        .arg(&file)
        .output()
        .expect("valgrind runs");
    let _ = std::fs::remove_file(&file);
    let text = String::from_utf8_lossy(&output.stderr);
    let line =
        text.lines().find_map(|line| line.split("I   refs:").nth(1).or_else(|| line.split("I refs:").nth(1)));
    let number: String =
        line.unwrap_or_else(|| panic!("{text}")).chars().filter(char::is_ascii_digit).collect();
    number.parse::<f64>().expect("a number") / 1e6
}

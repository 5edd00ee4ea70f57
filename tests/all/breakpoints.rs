//! What the debugger's prompt understands, where breakpoints really are, and
//! what can be done about a run that has failed.

use crate::binary::{feed, kal};
use crate::debugger::{MODES, PROGRAM, debug, places};
use crate::transcripts::Folder;

/// Returns what is said for a program that is interpreted, without the lines of
/// source.
fn said(name: &str, program: &str, arguments: &[&str], commands: &str) -> Vec<String> {
    let ran = debug(name, program, arguments, commands);
    ran.out().lines().filter(|line| !line.contains(" | ")).map(str::to_owned).collect()
}

#[test]
fn words_of_gdb_and_pdb_mean_what_they_mean_there() {
    let program = "def f(x)\n  var y = x * 2 in\n    y + 1\nf(4)\n";
    let found = said(
        "words",
        program,
        &["-b", "f"],
        "info locals\nx + 1\nx = 7\nx\nn\nwhere\nup\ndown\nn 3\nup 2\nnxt\nx +\nz\n:list\n:save a\nbreak 3\ndelete 2\n\
         display x\nundisplay 1\ninfo b\ncont\n",
    );
    let expected = [
        "1: f (p.kal:2:13)",
        "f(x) at p.kal:2:13",
        "x = 4",
        "5",
        "7",
        "7",
        "f(x) at p.kal:3:7",
        ">  1 f(x) at p.kal:3:7",
        "       x = 7",
        "   2 this expression at p.kal:4:1",
        "this expression at p.kal:4:1",
        "f(x) at p.kal:3:7",
        "error: `n` takes no arguments",
        "error: `up` takes no arguments",
        "error: unknown command `nxt`; did you mean `next`?",
    ];
    assert_eq!(found[..expected.len()], expected);
    let rest = found[expected.len()..].join("\n");
    for part in [
        "E0201]: unknown variable `z`",
        "f(x)  p.kal:1",
        "error: `:save` is for the kal> prompt; here, h shows the commands",
        "2: 3 (p.kal:3:7)\n2 removed\n1: x = 7\n1: f (p.kal:2:13)\nstops at errors: on\n15",
    ] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
}

#[test]
fn a_breakpoint_of_a_pattern_is_one_of_its_instances() {
    let program = "def twice(f(x) x)\n  f(f(x))\ndef inc(x) x + 1\ntwice(inc, 3)\ntwice(sin, 0)\n";
    for place in ["twice", "2", "twice:2"] {
        let found = said("instances", program, &["-b", place], "x\nc\nx\nc\n");
        let stops: Vec<_> = found.iter().filter(|line| line.contains(" at p.kal:2:5")).collect();
        assert_eq!(stops, ["twice(inc x) at p.kal:2:5", "twice(sin x) at p.kal:2:5"], "{place}");
        let values = ["3", "5", "0", "0"];
        let others = found.iter().filter(|line| values.contains(&line.as_str()));
        assert!(others.eq(&values), "{place}: {found:?}");
    }
}

#[test]
fn steps_over_a_call_stop_in_it_only_for_a_breakpoint_that_stops() {
    let program = "def cube(x) x^3\ndef tot(n) var s = 0 in (for i = 1, i < n in s += cube(i)) + s\ntot(3)\n";
    let stops = |commands: &str| {
        let found = said("conditions", program, &[], commands);
        let places = found.into_iter().filter(|line| line.contains(" at p.kal:"));
        places.map(|line| line.split(" at ").next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    // Of the calls with 1, 2 and 3, only the last one stops.
    for next in ["n", "nl", "nc"] {
        assert_eq!(stops(&format!("b cube if x == 7\n{next}\n")), ["this expression"], "{next}");
        assert_eq!(
            stops(&format!("b cube if x == 3\n{next}\nc\n")),
            ["this expression", "cube(x)"],
            "{next}"
        );
        assert_eq!(
            stops(&format!("b cube\nignore 1 2\n{next}\nc\n")),
            ["this expression", "cube(x)"],
            "{next}"
        );
        let once = stops(&format!("tbp cube\n{next}\nc\nc\n"));
        assert_eq!(once, ["this expression", "cube(x)"], "{next}");
    }
}

#[test]
fn leaving_is_no_error() {
    for commands in ["q\n", "quit\n", "exit\n", ""] {
        let ran = debug("leaving", PROGRAM, &[], commands);
        assert_eq!((ran.code, ran.err()), (Some(0), ""), "{commands}");
    }
    let ran = debug("leaving", "def f(x) missing(x)\nf(1)\n", &["-b", "error"], "q\n");
    assert_eq!((ran.code, ran.err()), (Some(0), ""));
    // What comes after it at the prompt is reported as usual.
    let typed = "def f(x) x\n:debug f(1)\nq\nnosuch\nf(2)\n";
    let ran = feed(kal().args(["repl", "--no-init"]), typed.as_bytes());
    assert!(ran.err().contains("unknown variable `nosuch`") && !ran.err().contains("E0304"), "{}", ran.err());
    assert_eq!(ran.out().lines().last(), Some("2"));
}

#[test]
fn breakpoints_say_at_once_where_they_are() {
    let program =
        "def binary : 1 (a b) b\n\ndef f(x)\n  if x < 3 then\n    x\n  else\n    5\n# end\nf(2) : f(9)\n";
    let found = said(
        "checked",
        program,
        &["-b", "5", "-b", "7", "-b", "error"],
        "lo\nbp nosuch\nbp ff\nbp 2\nbp 99\nbp f:5\nbp binary:\nbp f if zz\nbp f if x ==\nbp gone.kal:3\nbp rm\nbp\nc\nlo\n",
    );
    let expected = [
        "1: 5 (p.kal:5:5)",
        "2: 7 (p.kal:7:5)",
        "stops at errors: on",
        "f(x) at p.kal:5:5",
        "x = 2",
        "3: nosuch: `nosuch` is not defined yet; kept until it is",
        "4: ff: `ff` is not defined yet; kept until it is",
        "nothing to stop at on line 2; the next place is",
        "5: 2 (p.kal:4:8)",
        "error: nothing to stop at on line 99: the file has 9 lines",
        "6: f:5 (p.kal:5:5)",
        "7: binary: (p.kal:1:22)",
        "error: in the condition `zz`, column 1: unknown variable `zz`",
        "error: in the condition `x ==`, column 3: expected an expression after `==`, found the end of the input",
        "8: gone.kal:3: nothing has been read from `gone.kal` yet; kept until it is",
        "error: usage: bp rm N; `bp` lists the numbers",
        "1: 5 (p.kal:5:5)",
        "2: 7 (p.kal:7:5)",
        "3: nosuch",
        "4: ff",
        "5: 2 (p.kal:4:8)",
        "6: f:5 (p.kal:5:5)",
        "7: binary: (p.kal:1:22)",
        "8: gone.kal:3",
        "stops at errors: on",
        "f(x) at p.kal:4:8",
        "x = 9",
    ];
    assert_eq!(found, expected);
    for place in ["99", "f if zz", "f if x ==", "a b"] {
        let ran = debug("checked", program, &["-b", place], "");
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{place}: {}", ran.err());
    }
    let typed = "def f(x) x\ndef g(x) x\n:bp 1\n:bp g:1\ng(3)\nc\n";
    let ran = feed(kal().args(["repl", "--no-init"]), typed.as_bytes());
    assert!(ran.err().contains("line 1 of what? Write FUNCTION:LINE"), "{}", ran.err());
    assert!(ran.out().contains("1: g:1 (<input>:1:10)\ng(x) at <input>:1:10"), "{}", ran.out());
}

#[test]
fn breakpoints_stop_once_or_after_some_times() {
    let found = said(
        "ignored",
        PROGRAM,
        &[],
        "tbp square\nbp fib\nignore 2 3\nbp\nc\nbp\nc\nlo\nignore\nignore 9 1\nbp rm 2\nrestart\nq\n",
    );
    let expected = [
        "this expression at p.kal:9:1",
        "1: square (p.kal:1:17), once",
        "2: fib (p.kal:3:8)",
        "2 is passed 3 times",
        "1: square (p.kal:1:17), once",
        "2: fib (p.kal:3:8), passed 3 more times",
        "stops at errors: on",
        "square(x) at p.kal:1:17",
        "2: fib (p.kal:3:8), passed 3 more times",
        "stops at errors: on",
        "30",
        "fib(n) at p.kal:3:8",
        "n = 0",
        "error: usage: ignore N COUNT",
        "error: there is no breakpoint 9",
        "2 removed",
        "this expression at p.kal:9:1",
    ];
    assert_eq!(found, expected);
}

#[test]
fn the_first_nan_or_infinity_stops_a_run() {
    let program = "\
def root(x) sqrt(x)
def mean(s n)
  s / n
var z = 0
root(4) + 1
root(-4) + 1
mean(0, z) + root(-1)
mean(5, z) * 2
var s = 1e308 in (for i = 1, i < 3 in s = s * 10) + s
printd(log(-1))
exp(1000)
";
    let expected = [
        "stops at the first nan or inf: on",
        "3",
        "stopped: nan from finite operands",
        "root(x) at p.kal:1:13",
        "x = -4",
        "nan",
        "stopped: nan from finite operands",
        "mean(s n) at p.kal:3:5",
        "s = 0",
        "n = 0",
        "stopped: nan from finite operands",
        "root(x) at p.kal:1:13",
        "nan",
        "stopped: inf from finite operands",
        "mean(s n) at p.kal:3:5",
        "inf",
        "stopped: inf from finite operands",
        "this expression at p.kal:9:45",
        "inf",
        "stopped: nan from finite operands",
        "this expression at p.kal:10:8",
        "nan",
        "0",
        "stopped: inf from finite operands",
        "this expression at p.kal:11:1",
        "inf",
    ];
    for mode in MODES {
        let commands = "lo\nc\nlo\nc\nc\nc\nc\nc\nc\n";
        let found = said(&format!("nan{mode}"), program, &[mode, "-b", "nan"], commands);
        assert_eq!(found, expected, "{mode}");
        // Steps come to it, too; and off is off.
        let found =
            said(&format!("nan{mode}"), "def f(x) 0 / x\nf(0)\n", &[mode], "bp nan\nn\nbp nan off\nc\n");
        let stop = ["stopped: nan from finite operands", "f(x) at p.kal:1:12"];
        assert_eq!(found[2..4], stop, "{mode}");
        assert_eq!(found[4..], ["stops at the first nan or inf: off", "nan"], "{mode}");
    }
}

#[test]
fn a_failed_call_is_made_again_with_a_new_definition() {
    let program = "def inner(x) x + missing(x * 2)\ndef outer(x) inner(x) * 10\nouter(1)\nouter(2)\n";
    for mode in MODES {
        let found = said(
            &format!("retry{mode}"),
            program,
            &[mode, "-b", "error"],
            "retry\ndef missing(y)\n  y + 100\nretry\n",
        );
        let failed = ["stopped: `inner` calls `missing`, which is not defined", "inner(x) at p.kal:1:18"];
        assert_eq!(found[1..3], failed, "{mode}");
        // Without a definition it fails again.
        assert_eq!(found[3..5], failed, "{mode}");
        assert_eq!(found[5..], ["missing(y) defined", "1030", "1060"], "{mode}");
    }
    // The caller's call is made again from its beginning.
    let found = said("retry", program, &["-b", "error"], "def inner(x) x + 5\nup\nretry\nq\n");
    assert_eq!(found[3..], ["inner(x) redefined", "outer(x) at p.kal:2:14", "60", "70"]);
    // What was defined stays, and is one of the things that can be undone.
    let typed = "def f(x) x + 1\n:bp f\nf(1)\ndef f(x) x * 100\nvar k = 3\nretry\nc\nf(2)\nc\nk\n:bp rm 1\n:undo\nf(2)\n";
    for mode in ["--interpret", "--tiered"] {
        let ran = feed(kal().args(["repl", "--no-init", mode]), typed.as_bytes());
        let found: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
        let at = "f(x) at <input>:1:12";
        let expected = [
            "f(x) defined",
            "1: f (<input>:1:12)",
            at,
            "f(x) redefined",
            "k declared",
            "f(x) at <debug>:1:12",
            "100",
            "f(x) at <debug>:1:12",
            "200",
            "3",
            "1 removed",
            "f(x) restored",
            "3",
        ];
        assert_eq!(found, expected, "{mode}: {}", ran.err());
    }
}

#[test]
fn what_has_failed_is_looked_at_afterwards() {
    let typed =
        "def inner(x) x + missing(x)\ndef outer(x) inner(x * 2)\nouter(1)\n:debug\nbt\nx + 1\nq\n1 + 1\n";
    for mode in MODES {
        let ran = feed(kal().args(["repl", "--no-init", mode]), typed.as_bytes());
        let mut found: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).skip(2).collect();
        let runs_again =
            "running `outer(1)` again, interpreted, up to its error; what it prints or assigns happens again";
        let is_again = found[0] == runs_again;
        assert_eq!(is_again, mode == "--lazy" || mode == "--eager", "{mode}: {found:?}");
        found.drain(..usize::from(is_again));
        let expected = [
            "stopped: `inner` calls `missing`, which is not defined",
            "inner(x) at <input>:1:18",
            ">  1 inner(x) at <input>:1:18",
            "       x = 2",
            "   2 outer(x) at <input>:1:14",
            "       x = 1",
            "   3 this expression at <input>:1:1",
            "3",
            "2",
        ];
        assert_eq!(found, expected, "{mode}: {}", ran.err());
        assert_eq!(ran.err().matches("E0301").count(), 1, "{mode}");
    }
    let ran = feed(kal().args(["repl", "--no-init"]), b":debug\n");
    assert!(ran.err().contains("nothing has failed yet"), "{}", ran.err());
}

#[test]
fn instructions_calls_and_lines_are_stepped_by() {
    let found = said("fine", "def f(x) x * x + 1\nf(3)\n", &["-b", "f"], "si\nsi\nso\n_ + 1\nans * 2\nc\n");
    let expected = [
        "1: f (p.kal:1:12)",
        "f(x) at p.kal:1:12",
        "f(x) at p.kal:1:16",
        "next: _ = _ + 1    accumulator _ = 9",
        "f(x) at p.kal:1:16",
        "next: return _    accumulator _ = 10",
        "returned 10",
        "this expression at p.kal:2:1",
        "11",
        "22",
        "10",
    ];
    assert_eq!(found, expected);
    assert_eq!(
        places("lines", &["-b", "sum"], "nc\nnl\nc\nc\n"),
        ["sum(n) at p.kal:6:7", "sum(n) at p.kal:8:15", "sum(n) at p.kal:7:6"]
    );
}

#[test]
fn stored_programs_are_debugged() {
    let folder = Folder::new("stored-debug");
    std::fs::write(folder.path().join("p.kal"), PROGRAM).expect("it can be written");
    let mut emit = kal();
    emit.args(["emit", "tape", "-o", "p.tape", "p.kal"]).current_dir(folder.path());
    assert_eq!(feed(&mut emit, b"").code, Some(0));
    let mut command = kal();
    command.args(["debug", "-b", "square if x == 2", "p.tape"]).current_dir(folder.path());
    let ran = feed(&mut command, b"lo\nc\n");
    let found: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = ["1: square if x == 2 (p.kal:1:17)", "square(x) at p.kal:1:17", "x = 2", "30", "2"];
    assert_eq!(found, expected, "{}", ran.err());
    std::fs::write(folder.path().join("a.kal"), "arg(1) + arg(2)\n").expect("it can be written");
    let ran = feed(kal().args(["debug", "a.kal", "0x10", "-3"]).current_dir(folder.path()), b"c\n");
    assert!(ran.out().ends_with("\n13\n"), "{}{}", ran.out(), ran.err());
    let ran = feed(kal().args(["debug", "-"]), b"");
    assert!(ran.err().contains("standard input is where the debugger reads its commands"), "{}", ran.err());
}

#[test]
fn breakpoints_are_listed_where_they_are_now_and_set_once() {
    let ran = feed(
        kal().args(["repl", "--no-init", "--transcript"]),
        b"def f(x) x\n:bp f\n:bp f\n:bp f if x == 1\ndef f(x) 1 + 2 * x\n:bp\n:drop f\n:bp\n",
    );
    let answers: Vec<&str> = ran.out().lines().filter(|line| !line.starts_with("kal> ")).collect();
    let expected = [
        "f(x) defined",
        "1: f (<input>:1:10)",
        "1: f (<input>:1:10) is already set",
        "2: f if x == 1 (<input>:1:10)",
        "f(x) redefined",
        "1: f (<input>:1:16)",
        "2: f if x == 1 (<input>:1:16)",
        "f dropped",
        "1: f",
        "2: f if x == 1",
    ];
    assert_eq!(answers, expected);
}

#[test]
fn small_words_are_understood() {
    let found = said(
        "words",
        "def f(x) x * 2\nf(3)\n",
        &["-b", "f"],
        "ignore 1 0\nset x = 5\nset var x = 6\nx = 7\nc\n",
    );
    let expected = [
        "1: f (p.kal:1:12)",
        "f(x) at p.kal:1:12",
        "1 stops again",
        "error: unknown command `set`; an assignment needs none: `x = 5`",
        "error: unknown command `set`; an assignment needs none: `x = 6`",
        "7",
        "14",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_restart_says_what_it_forgets() {
    let program = "def f(x) x * 2\nf(3)\n";
    let commands = "def g(x) x\ndef f(x) g(x)\nr\nr\nc\n";
    let ran = debug("restart-forgets", program, &["-b", "f"], commands);
    assert_eq!(ran.err(), "restarted, without what was defined here: f, g\n");
    assert_eq!(ran.out().lines().last(), Some("6"));
}

//! Runs that stop: breakpoints, steps, frames, in every mode.

use crate::binary::{Ran, feed, kal};
use crate::robustness::alone;
use crate::transcripts::Folder;
use kal::source::Source;
use kal::{Config, Console, Context, Engine, Mode, State};
use std::fmt::Write;
use std::sync::{Arc, Mutex};

pub const PROGRAM: &str = "\
def square(x) x * x
def fib(n)
  if n < 2 then n
  else fib(n - 1) + fib(n - 2)
def sum(n)
  var s = 0 in
    (for i = 1, i < n in
      s = s + square(i)) + s
sum(4)
fib(3)
";

pub const MODES: [&str; 4] = ["--lazy", "--eager", "--interpret", "--tiered"];

/// Returns what the debugger answers to commands for a program.
pub fn debug(name: &str, program: &str, arguments: &[&str], commands: &str) -> Ran {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("p.kal"), program).expect("it can be written");
    let mut command = kal();
    command.arg("debug").args(arguments).arg("p.kal").current_dir(folder.path());
    feed(&mut command, commands.as_bytes())
}

/// Returns the place of each stop, one a line.
pub fn places(name: &str, arguments: &[&str], commands: &str) -> Vec<String> {
    let ran = debug(name, PROGRAM, arguments, commands);
    ran.out().lines().filter(|line| line.contains(" at p.kal:")).map(str::to_owned).collect()
}

#[test]
fn the_first_values_of_modules_are_not_stepped_through() {
    let program = "import math\nclamp(tau, 0, 3)\n";
    for arguments in [&[][..], &["-b", "2"]] {
        let ran = debug("imported", program, arguments, "c\n");
        let stops: Vec<&str> = ran.out().lines().filter(|line| line.contains(" at ")).collect();
        let is_own = stops.iter().all(|stop| stop.starts_with("this expression at p.kal:2:"));
        assert!(is_own && stops.len() == 1, "{arguments:?} {stops:?} {}", ran.err());
    }
}

#[test]
fn steps_go_over_into_and_out_of_calls() {
    for mode in MODES {
        let found = places(&format!("steps{mode}"), &[mode], "s\nn\nn\ns\nso\nu\nn\nc\n");
        let expected = [
            "this expression at p.kal:9:1",
            "sum(n) at p.kal:6:7",
            "sum(n) at p.kal:7:10",
            "sum(n) at p.kal:8:15",
            "square(x) at p.kal:1:17",
            "sum(n) at p.kal:8:13",
            "this expression at p.kal:10:1",
        ];
        assert_eq!(found[..6], expected[..6], "{mode}");
    }
}

#[test]
fn an_empty_line_repeats_and_steps_lead_to_the_next_expression() {
    let ran = debug("repeats", PROGRAM, &["--interpret"], "n\n\n");
    let shown: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
    let expected = ["this expression at p.kal:9:1", "30", "this expression at p.kal:10:1", "2"];
    assert_eq!(shown, expected);
}

#[test]
fn breakpoints_stand_in_functions_on_lines_and_at_columns() {
    for mode in MODES {
        let at = |place: &str| places(&format!("at{mode}"), &[mode, "-b", place], "bp rm 1\nc\n");
        assert_eq!(at("square"), ["square(x) at p.kal:1:17"], "{mode}");
        assert_eq!(at("8"), ["sum(n) at p.kal:8:15"], "{mode}");
        assert_eq!(at("p.kal:4"), ["fib(n) at p.kal:4:14"], "{mode}");
        assert_eq!(at("4:28"), ["fib(n) at p.kal:4:27"], "{mode}");
        assert_eq!(at("10"), ["this expression at p.kal:10:1"], "{mode}");
        assert_eq!(at("other.kal:1"), [""; 0], "{mode}");
    }
}

#[test]
fn conditions_decide_and_breakpoints_are_switched() {
    for mode in MODES {
        let ran = debug(
            &format!("conditions{mode}"),
            PROGRAM,
            &[mode, "-b", "square if x == 2"],
            "p x\nbp off 1\nbp\nbp fib if n == 0\nc\nlo\nbp rm 2\nc\n",
        );
        let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
        let expected = [
            "1: square if x == 2 (p.kal:1:17)",
            "square(x) at p.kal:1:17",
            "2",
            "1 off",
            "1: square if x == 2 (p.kal:1:17), off",
            "stops at errors: on",
            "2: fib if n == 0 (p.kal:3:8)",
            "30",
            "fib(n) at p.kal:3:8",
            "n = 0",
            "2 removed",
            "2",
        ];
        assert_eq!(said, expected, "{mode}");
    }
}

#[test]
fn frames_show_and_take_values() {
    let ran = debug(
        "frames",
        PROGRAM,
        &["--interpret", "-b", "square if x == 3"],
        "bt\nup\nlo\np s * 10 + i\np s = 100\ndown\nw x + 1\np x = 5\nfr 3\nfr 4\nc\n",
    );
    let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = [
        "1: square if x == 3 (p.kal:1:17)",
        "square(x) at p.kal:1:17",
        ">  1 square(x) at p.kal:1:17",
        "       x = 3",
        "   2 sum(n) at p.kal:8:15",
        "       n = 4",
        "   3 this expression at p.kal:9:1",
        "sum(n) at p.kal:8:15",
        "n = 4",
        "s = 5",
        "i = 3",
        "53",
        "100",
        "square(x) at p.kal:1:17",
        "1: x + 1 = 4",
        "5",
        "this expression at p.kal:9:1",
        "1: x + 1 = ?",
        "error: there is no such call",
        "141",
        "2",
    ];
    assert_eq!(said, expected);
}

#[test]
fn variables_named_like_commands_are_assigned() {
    let program = "def area(w n) w * n\narea(2, 3)\n";
    let ran = debug("named", program, &["-b", "area"], "w = 7\nn = 5\nw += 1\nw == 8\nw w\nc\n");
    let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = ["1: area (p.kal:1:17)", "area(w n) at p.kal:1:17", "7", "5", "8", "1", "1: w = 8", "40"];
    assert_eq!((said, ran.err()), (expected.to_vec(), ""));
}

#[test]
fn variables_named_like_commands_begin_expressions() {
    let program = "def ff(p w b l) p + w\nff(5, 7, 2, 3)\n";
    let ran = debug("begin", program, &["-b", "ff"], "p - 2\nw - 1\nb * 2\nl + 1\np -2\nu + 1\nc\n");
    let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = [
        "1: ff (p.kal:1:19)",
        "ff(p w b l) at p.kal:1:19",
        "3",
        "6",
        "4",
        "4",
        "-2",
        "usage: u [LINE]",
        "12",
    ];
    assert_eq!(said.len(), expected.len(), "{}", ran.out());
    assert!(said.iter().zip(expected).all(|(said, expected)| said.ends_with(expected)), "{said:?}");
}

#[test]
fn only_calls_of_interpreted_functions_are_repeated() {
    let program = "def f(x) x\ndef g(x) f(x) + 1\ng(5)\n";
    let said = |mode: &str| {
        let ran = debug("repeat", program, &[mode, "-b", "f"], "def f(x) x * 100\nretry\nc\n");
        ran.out().lines().filter(|line| !line.contains('|')).skip(3).map(str::to_owned).collect::<Vec<_>>()
    };
    let refused =
        "error: `g`, which made the call, is compiled: `bp g`, and run it again to repeat its calls";
    assert_eq!(said("--lazy"), [refused, "6"]);
    assert_eq!(said("--interpret").last().map(String::as_str), Some("501"));
}

#[test]
fn very_many_calls_are_shown_in_part() {
    let program = "def r(n) if n > 0 then r(n - 1) + 1 else 1\nr(10000)\n";
    let typed = "bt\nfr 5000\nbt\nc\n";
    let ran = debug("many", program, &["--interpret", "-b", "1:42"], typed);
    let out = ran.out();
    assert!(out.lines().count() < 250, "{}", out.lines().count());
    for part in [
        ">  1 r(n) at p.kal:1:42",
        "\n  30 r(n) at",
        "… 9,962 calls more; `fr N` selects one",
        "9993 r(n) at",
        ">5000 r(n) at",
        "… 4,964 calls more",
        "10002 this expression at p.kal:2:1",
        "10001",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
}

#[test]
fn conditions_know_what_was_declared_since_the_last_run() {
    let mut context = engine(Mode::Lazy).context().unwrap();
    let said = attach(&mut context, &["c", "p glob", "c", "c"]);
    context.eval("def b(x) x").unwrap();
    let _ = context.eval_stopping(&Source::new("first.kal", "b(1)"));
    context.eval("var glob = 3; def gg() glob += 1 : glob; def binary @ 30 (a b) a * 10 + b").unwrap();
    assert_eq!(context.breakpoints("gg if glob > 0").unwrap(), "1: gg if glob > 0 (<eval>:1:24)");
    assert_eq!(context.eval("gg()").unwrap(), Some(4.0));
    assert_eq!(*said.lock().unwrap().last().unwrap(), "3");
    // An operator may be named by itself.
    assert!(context.breakpoints("@").unwrap().starts_with("2: @ (<eval>:1:"));
    assert_eq!(context.eval("1 @ 2").unwrap(), Some(12.0));
}

#[test]
fn calls_are_shown_across_compiled_code() {
    let program =
        "def inner(x) x + 1\ndef middle(x) inner(x) * 2\ndef outer(x) middle(x + 1) + 1\nouter(1)\n";
    let ran = debug("across", program, &["--lazy", "-b", "outer", "-b", "inner"], "c\nbt\np x = 9\nc\n");
    let calls: Vec<&str> = ran.out().lines().skip_while(|line| !line.starts_with(">  1 inner")).collect();
    let expected = [
        ">  1 inner(x) at p.kal:1:16",
        "       x = 2",
        "   2 middle(x) at p.kal:2, compiled",
        "   3 outer(x) at p.kal:3:14",
        "       x = 1",
        "   4 this expression at p.kal:4, compiled",
        "9",
        "21",
    ];
    assert_eq!(calls, expected, "{}", ran.out());
}

#[test]
fn compiled_code_says_what_it_does_not_know() {
    let program = "def leaf(x) x + 1\n\ndef twice(x) leaf(x) +\n  leaf(x)\ndef through(x) leaf(x) + twice(x)\nthrough(1)\n";
    let ran = debug(
        "unknown",
        program,
        &["--lazy", "-b", "leaf if x == 1"],
        "up\nlo\np x\np 2 * 3\nc\nup\nup\nfr 4\nlo\nbp rm 1\nc\n",
    );
    let said: Vec<&str> =
        ran.out().lines().filter(|line| line.contains("compiled") || line.len() < 3).collect();
    let unknown = |name, place| {
        format!(
            "{name} is compiled, so its variables cannot be shown: set a breakpoint with `bp {place}` and run it again"
        )
    };
    let expected = [
        // It also calls what calls `leaf`, which may be part of its code.
        "through(x), compiled",
        &unknown("through", "through"),
        &unknown("through", "through"),
        "6",
        // Two lines may be it.
        "twice(x), compiled",
        "through(x) at p.kal:5, compiled",
        "this expression at p.kal:6, compiled",
        &unknown("this expression", "6"),
        "6",
    ];
    assert_eq!(said, expected, "{}", ran.out());
    assert!(ran.out().contains("unknown variable `x`"), "{}", ran.out());
}

#[test]
fn steps_out_of_a_tape_lead_on_to_the_next_call() {
    let program = "\
def inner(x) x + 1
def other(x) x * 3
def middle(x) inner(x) + other(x)
def outer(x) middle(x) * 2
outer(1)
outer(2)
";
    let compiled = "middle(x) is compiled: continuing to its next call, or its end";
    let (inner, other) = ("inner(x) at p.kal:1:16", "other(x) at p.kal:2:16");
    let (fifth, sixth) = ("this expression at p.kal:5:1", "this expression at p.kal:6:1");
    for mode in ["--lazy", "--eager"] {
        let said = |breakpoints: &[&str], commands: &str| -> Vec<String> {
            let arguments = [&[mode], breakpoints].concat();
            let ran = debug(&format!("out{mode}"), program, &arguments, commands);
            let shown = ran.out().lines().skip(breakpoints.len() / 2);
            shown.filter(|line| !line.contains(" | ")).map(str::to_owned).collect()
        };
        let once = said(&["-b", "inner"], "so\nso\nbp rm 1\nc\n");
        assert_eq!(
            once,
            [inner, "returned 2", compiled, other, "returned 3", compiled, "10", sixth, "1 removed", "18"]
        );
        let next = said(&["-b", "inner"], "n\nn\nc\nc\n");
        assert_eq!(next, [inner, compiled, other, compiled, "10", sixth, inner, "18"]);
        // Where the caller's caller is on its tape, its call is the next stop.
        let both = said(&["-b", "inner", "-b", "outer"], "c\nn\nso\nbp rm 1\nbp rm 2\nc\n");
        let outer = ["outer(x) at p.kal:4:14", "outer(x) at p.kal:4:24"];
        let expected = [
            outer[0],
            inner,
            compiled,
            other,
            "returned 3",
            compiled,
            outer[1],
            "1 removed",
            "2 removed",
            "10",
            "18",
        ];
        assert_eq!(both, expected, "{mode}");
        assert_eq!(said(&[], "n\nc\n"), [fifth, "10", sixth, "18"]);
    }
}

#[test]
fn errors_in_compiled_code_are_shown_where_it_was_called() {
    let program = "def low(x) missing(x) + 1\ndef mid(x) low(x) - 1\ndef top(x)\n  mid(x + 1) * 2\ntop(1)\n";
    for mode in ["--lazy", "--eager"] {
        let ran = debug(
            &format!("code{mode}"),
            program,
            &[mode, "-b", "top"],
            "c\nlo\np missing(3)\np x +\np x * 5\nc\n",
        );
        let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
        let expected = [
            "1: top (p.kal:4:9)",
            "top(x) at p.kal:4:9",
            "stopped: `low` calls `missing`, which is not defined",
            "in compiled code: low(x), mid(x)",
            "top(x) at p.kal:4:3",
            "x = 1",
            "error: this expression calls `missing`, which is not defined",
        ];
        assert_eq!(said[..expected.len()], expected, "{mode}: {}", ran.out());
        assert_eq!(said.last(), Some(&"5"), "{mode}: {}", ran.out());
        let calls = "Calls: low(x)\n         mid(x)\n         top(x)\n         this expression\n";
        assert_eq!((ran.code, ran.err().matches("E0301").count()), (Some(1), 1), "{}", ran.err());
        assert!(ran.err().ends_with(calls), "{}", ran.err());
        // Where no function is on its tape, the calls are all that is known.
        let ran = debug(&format!("code{mode}"), program, &[mode, "-b", "top if 0", "-b", "other"], "c\n");
        assert!(ran.err().ends_with(calls), "{}", ran.err());
        let program = program.replace("top(1)", "low(1)");
        let ran = debug(&format!("code{mode}"), &program, &[mode, "-b", "top"], "bt\nlo\nc\n");
        let said: Vec<&str> = ran.out().lines().skip(1).collect();
        let expected = [
            "stopped: `low` calls `missing`, which is not defined",
            "low(x), compiled",
            ">  1 low(x), compiled",
            "   2 this expression at p.kal:5, compiled",
            "low is compiled, so its variables cannot be shown: set a breakpoint with `bp low` and run it again",
        ];
        assert_eq!(said, expected, "{mode}");
        // With `bp error` everything is interpreted, and every frame is there.
        let ran = debug(&format!("code{mode}"), &program, &[mode, "-b", "error"], "bt\nlo\nc\n");
        let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
        let expected = [
            "stops at errors: on",
            "stopped: `low` calls `missing`, which is not defined",
            "low(x) at p.kal:1:12",
            ">  1 low(x) at p.kal:1:12",
            "       x = 1",
            "   2 this expression at p.kal:5:1",
            "x = 1",
        ];
        assert_eq!(said, expected, "{mode}");
    }
}

#[test]
fn variables_are_listed_where_they_can_be_seen() {
    let program = "\
def g(x) x
def f(x)
  (var a = g(x), b = g(a + 1) in
    a + (var a = g(b) in
      g(a))
    + g(b))
  + g(x)
f(1)
";
    for mode in MODES {
        let ran = debug(
            &format!("scopes{mode}"),
            program,
            &[mode, "-b", "f"],
            "lo\nn\nlo\nn\nlo\nn\nlo\np a\nu 6\nlo\np a\nu 7\nlo\nc\n",
        );
        let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains('|')).collect();
        let expected = [
            "1: f (p.kal:3:12)",
            "f(x) at p.kal:3:12",
            "x = 1",
            "f(x) at p.kal:3:22",
            "x = 1",
            "a = 1",
            "f(x) at p.kal:4:18",
            "x = 1",
            "a = 1",
            "b = 2",
            "f(x) at p.kal:5:7",
            "x = 1",
            "b = 2",
            "a = 2",
            "2",
            "f(x) at p.kal:6:7",
            "x = 1",
            "a = 1",
            "b = 2",
            "1",
            "f(x) at p.kal:7:5",
            "x = 1",
        ];
        assert_eq!(said[..expected.len()], expected, "{mode}: {}", ran.out());
    }
}

#[test]
fn a_run_stops_where_it_fails() {
    let program = "def f(x) missing(x) + 1\nf(3)\n";
    let ran = debug("fails", program, &["--interpret", "-b", "error"], "lo\nbt\nc\n");
    let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = [
        "stops at errors: on",
        "stopped: `f` calls `missing`, which is not defined",
        "f(x) at p.kal:1:10",
        "x = 3",
        ">  1 f(x) at p.kal:1:10",
        "       x = 3",
        "   2 this expression at p.kal:2:1",
    ];
    assert_eq!(said, expected);
    assert!(ran.err().contains("E0301"), "{}", ran.err());
    assert_eq!(ran.code, Some(1));
}

#[test]
fn mistakes_are_said_and_the_end_of_the_input_ends_the_run() {
    let ran = debug("mistakes", PROGRAM, &[], "x\np\np 1 +\nbp\nbp a b\nbp rm 7\nu x\nfr x\nw rm 3\nh\n");
    for part in [
        "unknown variable `x`",
        "error: usage: p EXPR",
        "no breakpoints\nstops at errors: on",
        "error: a place is FUNCTION, LINE, LINE:COLUMN, FILE:LINE or FUNCTION:LINE",
        "error: there is no breakpoint 7",
        "error: usage: u [LINE]",
        "error: there is no such call",
        "error: there is no such watch",
        "n, next",
    ] {
        assert!(ran.out().contains(part), "{part}: {}", ran.out());
    }
    assert_eq!((ran.code, ran.err()), (Some(0), ""));
    let ran = debug("places", PROGRAM, &["-b", "a b"], "");
    assert_eq!(ran.code, Some(2), "{}", ran.err());
}

#[test]
fn a_second_item_is_called_that() {
    let ran = debug("second", PROGRAM, &[], "1 2\n");
    assert!(
        ran.out().contains("one expression at a time") && ran.out().contains("^ a second item"),
        "{}",
        ran.out()
    );
}

#[test]
fn one_breakpoint_among_many_definitions() {
    const COUNT: usize = 100_000;
    let mut program = String::new();
    for number in 0..COUNT {
        let _ = writeln!(program, "def f{number}(x) x + {number}");
    }
    program.push_str(
        "def chain(x) f1(x) + f77777(x) + f99999(x)\nvar r = 0\nfor i = 1, i < 3 in r = r + chain(i)\nr\n",
    );
    let ran = debug("many", &program, &["--lazy", "-b", "f77777 if x == 2"], "bt\nlo\np x + 1\nup\nlo\nc\n");
    let said: Vec<&str> = ran.out().lines().filter(|line| !line.contains(" | ")).collect();
    let expected = [
        "1: f77777 if x == 2 (p.kal:77778:17)",
        "f77777(x) at p.kal:77778:17",
        ">  1 f77777(x) at p.kal:77778:17",
        "       x = 2",
        "   2 chain(x) at p.kal:100001, compiled",
        "   3 this expression at p.kal:100003, compiled",
        "x = 2",
        "3",
        "chain(x) at p.kal:100001, compiled",
        "chain is compiled, so its variables cannot be shown: set a breakpoint with `bp chain` and run it again",
        "0",
    ];
    assert_eq!(said[..expected.len()], expected);
    assert_eq!(said.last(), Some(&&*(3 * (1 + 77_777 + 99_999) + 18).to_string()));
}

#[test]
fn one_token_is_one_instruction() {
    let ran = debug("token", "def f(x) x * x + 1\nf(3)\n", &["--interpret", "-b", "f"], "si\nsi\nsi\nc\n");
    let places: Vec<&str> = ran.out().lines().filter(|line| line.contains(" at ")).collect();
    let expected =
        ["f(x) at p.kal:1:12", "f(x) at p.kal:1:16", "f(x) at p.kal:1:16", "this expression at p.kal:2:1"];
    assert_eq!(places, expected);
}

#[test]
fn hot_functions_and_loops_stop_all_the_same() {
    let program = "def f(x) if x == 5000 then -x else x\n\
                   def g(n) var s = 0 in (for i = 1, i < n in s = s + f(i)) + s\ng(10000)\n";
    for mode in MODES {
        let ran = debug(
            &format!("hot{mode}"),
            program,
            &[mode, "-b", "f if x == 4999", "--tier-up-after", "100"],
            "p x\nbp rm 1\nbp g if 0\nbp f if x == 9999\nc\np x\nc\n",
        );
        let said: Vec<&str> = ran.out().lines().filter(|line| line.parse::<f64>().is_ok()).collect();
        assert_eq!(said, ["4999", "9999", "49995000"], "{mode}");
    }
}

#[test]
fn what_is_bound_anew_keeps_its_breakpoints() {
    let typed = "def f(x) x + 1\ndef g(x) f(x) * 2\ng(1)\n:bp f\ndef f(x) x + 2\ng(1)\nlo\nc\n:undo\ng(2)\nlo\nc\n\
                 :bp rm 1\ng(3)\n:debug g(4)\ns\ns\np x = 10\nc\n";
    for mode in MODES {
        let ran = feed(kal().args(["repl", "--no-init", mode]), typed.as_bytes());
        let said: Vec<&str> = ran
            .out()
            .lines()
            .filter(|line| !line.contains(['|', 'd', ':']) || line.contains(" at "))
            .collect();
        let expected = ["4", "f(x) at <input>:1:12", "x = 1", "6", "f(x) at <input>:1:12", "x = 2", "6"];
        assert_eq!(said[..7], expected, "{mode}: {}", ran.out());
        assert_eq!(ran.out().lines().last(), Some("22"), "{mode}");
        assert_eq!(ran.err(), "");
    }
}

/// A console that types lines, and keeps what is said.
#[derive(Clone, Default)]
struct Script {
    typed: Vec<&'static str>,
    said: Arc<Mutex<Vec<String>>>,
}

impl Console for Script {
    fn read(&mut self, _: &str) -> Option<String> {
        (!self.typed.is_empty()).then(|| self.typed.remove(0).to_owned())
    }

    fn say(&mut self, text: &str) {
        self.said.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
    }
}

/// Attaches a debugger to a context; returns its output.
fn attach(context: &mut Context, typed: &[&'static str]) -> Arc<Mutex<Vec<String>>> {
    let script = Script { typed: typed.to_vec(), ..Script::default() };
    let said = script.said.clone();
    context.debug(Box::new(script)).expect("there is memory");
    said
}

fn engine(mode: Mode) -> Engine {
    Engine::with_config(Config::new().mode(mode)).expect("an engine")
}

#[test]
fn a_text_that_stops_is_called_by_its_name() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let mut context = engine(mode).context().unwrap();
        let said = attach(&mut context, &["s", "p x * 2", "c"]);
        let source = Source::new("shapes.kal", "def area(x)\n  x * x\narea(3) + 1");
        assert_eq!(context.eval_stopping(&source).unwrap(), Some(10.0));
        let stops = ["this expression at shapes.kal:3:1", "area(x) at shapes.kal:2:5", "6"];
        assert_eq!(*said.lock().unwrap(), stops, "{mode:?}");
        // Only that text stops at its first expression.
        assert_eq!(context.eval("area(4)").unwrap(), Some(16.0));
        assert_eq!(said.lock().unwrap().len(), 3);
    }
}

#[test]
fn handles_go_between_contexts_with_and_without_a_debugger() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
        let engine = engine(mode);
        let (mut plain, mut debugged) = (engine.context().unwrap(), engine.context().unwrap());
        plain.eval("def f(x) x + 1").unwrap();
        let of_plain = plain.function::<fn(f64) -> f64>("f").unwrap();
        let said = attach(&mut debugged, &["p x", "c", "c"]);
        debugged.eval("def f(x) g(x) * 10; def g(x) x").unwrap();
        let of_debugged = debugged.function::<fn(f64) -> f64>("f").unwrap();
        assert_eq!(debugged.breakpoints("g if x == 3").unwrap(), "1: g if x == 3 (<eval>:1:30)");
        for handle in [&of_plain, &of_debugged] {
            assert_eq!(handle.call(&mut plain, (3.0,)).unwrap(), 4.0, "{mode:?}");
            assert_eq!(handle.call(&mut debugged, (2.0,)).unwrap(), 20.0, "{mode:?}");
            assert_eq!(handle.call(&mut debugged, (3.0,)).unwrap(), 30.0, "{mode:?}");
        }
        let stop = "g(x) at <eval>:1:30";
        assert_eq!(*said.lock().unwrap(), [stop, "3", stop], "{mode:?}");
        assert!(of_debugged.call(&mut self::engine(mode).context().unwrap(), (1.0,)).is_err());
    }
}

#[test]
fn eager_contexts_stay_eager() {
    let mut context = engine(Mode::Eager).context().unwrap();
    let said = attach(&mut context, &["c"]);
    context.breakpoints("held").unwrap();
    context.eval("def held(x) x + 1; def free(x) held(x) * 2").unwrap();
    // Nothing has been called: a worker is at the one and leaves the other.
    assert_ne!(context.state("free"), Some(State::Pending));
    assert_eq!(context.state("held"), Some(State::Pending));
    assert_eq!(context.eval("free(3)").unwrap(), Some(8.0));
    assert_eq!(said.lock().unwrap().len(), 1);
    assert_eq!(context.state("free"), Some(State::Materialized));
    context.prepare_all().unwrap();
    assert_eq!(context.state("held"), Some(State::Pending));
}

/// A console that panics when it is first asked.
struct Panics(bool);

impl Console for Panics {
    fn read(&mut self, _: &str) -> Option<String> {
        assert!(std::mem::replace(&mut self.0, true), "as it should");
        None
    }

    fn say(&mut self, _: &str) {}
}

#[test]
fn a_console_that_panics_ends_its_run_only() {
    alone("debugger::a_console_that_panics_ends_its_run_only", || {
        for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered] {
            // In a function, where a run begins, and where it fails.
            for (place, text) in [("g", "f(1)"), ("g", "1 + f(1)"), ("2", "f(1)")] {
                let mut context = engine(mode).context().unwrap();
                context.debug(Box::new(Panics(false))).unwrap();
                context.eval("def g(x) x + 1\ndef f(x) g(x) * 2").unwrap();
                context.breakpoints(place).unwrap();
                let error = context.eval(text).expect_err("it is ended").to_string();
                assert_eq!(error, "the debugger's console panicked: as it should", "{mode:?}");
                // It is still attached: a console that reads nothing ends the run.
                assert_eq!(
                    context.eval(text).expect_err("it is ended").to_string(),
                    "interrupted",
                    "{mode:?}"
                );
                assert_eq!(context.eval("1 + 1").unwrap(), Some(2.0), "{mode:?}");
            }
        }
    });
}

//! Ctrl-C at a pseudo-terminal, in whatever state the session is: the answer
//! comes soon, and the session is as it was.

use crate::choices::{Choices, Random};
use crate::scale;
use crate::terminal::Terminal;
use crate::transcripts::Folder;
use std::process::Command;
use std::time::{Duration, Instant};

const CTRL_C: &str = "\x03";
const ENTER: &str = "\r";

/// Things that do not end soon, and what each is about.
const ENDLESS: [(&str, &str); 9] = [
    ("a tight loop", "for i = 0, 1 in i"),
    ("a loop over nothing", "var a = 1 in for i = 0, a in for j = 0, j < 10 in a"),
    ("deep recursion", "fib(90)"),
    ("a chain of calls", "ping(1e15)"),
    ("a loop in a function", "spin(1)"),
    ("library calls", "for i = 0, 1 in spread(sin(i))"),
    ("printing", "for i = 0, 1 in printd(i)"),
    ("writing bytes", "for i = 0, 1 in putchard(46)"),
    ("compiling", "long(1)"),
];

/// Nothing is so slow that the program is not running by then.
const UNDER_WAY: Duration = Duration::from_millis(80);

fn prepare(terminal: &mut Terminal) {
    let define = |terminal: &mut Terminal, text: &str, told: &str| {
        terminal.press(text);
        terminal.press(ENTER);
        terminal.wait_for(told);
        terminal.wait_for("kal> ");
    };
    define(terminal, "def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)", "fib(n) defined");
    define(terminal, "def pong(n) if n < 1 then 0 else ping(n - 1)", "pong(n) defined");
    define(terminal, "def ping(n) if n < 1 then 0 else ping(0) * pong(0) + fib(50)", "ping(n) defined");
    define(terminal, "def spin(n) for i = n, i > 0, 0 in n", "spin(n) defined");
    define(terminal, "def spread(n) n * n", "spread(n) defined");
}

/// Defines a function that takes seconds to compile: from a file, since the
/// prompt draws anew at each key.
fn define_long(terminal: &mut Terminal, folder: &Folder, round: u64) {
    let terms: Vec<String> = (0..40_000).map(|index| format!("sin(x*{})*pow(x,{index})", round + index)).collect();
    let path = folder.path().join(format!("long{round}.kal"));
    std::fs::write(&path, format!("def long(x) {}", terms.join("+"))).expect("it can be written");
    terminal.press(&format!(":load {}\r", path.display()));
    terminal.wait_for("defined");
    terminal.wait_for("kal> ");
}

/// Interrupts something once; how long the answer took.
fn interrupt(terminal: &mut Terminal, text: &str, wait: Duration) -> Duration {
    terminal.press(text);
    terminal.press(ENTER);
    std::thread::sleep(UNDER_WAY + wait);
    let start = Instant::now();
    terminal.press(CTRL_C);
    terminal.wait_for("E0304");
    let took = start.elapsed();
    terminal.wait_for("kal> ");
    took
}

fn rounds(arguments: &[&str], count: u64, seed: u64) -> Vec<(&'static str, Duration)> {
    let folder = Folder::new(&format!("signals-{seed}"));
    let mut random = Random::new(seed);
    let mut terminal = Terminal::with(&folder, &[&["--quiet"], arguments].concat(), &[], 80);
    prepare(&mut terminal);
    let mut answers = Vec::new();
    for round in 0..count {
        let (what, text) = ENDLESS[round as usize % ENDLESS.len()];
        if what == "compiling" {
            define_long(&mut terminal, &folder, round);
        }
        let wait = Duration::from_micros(random.below(40_000) as u64);
        answers.push((what, interrupt(&mut terminal, text, wait)));
        terminal.answer(&format!("fib(15) + {round}"), &format!("{}", 610 + round));
    }
    answers
}

#[test]
fn an_interrupt_is_answered_in_every_state() {
    let count = scale("KAL_INTERRUPTS", 18);
    let mut answers = rounds(&["-O3"], count / 2, 1);
    answers.extend(rounds(&[], count - count / 2, 2));
    answers.sort_by_key(|(_, took)| *took);
    let (median, worst) = (answers[answers.len() / 2].1, answers[answers.len() - 1]);
    println!("{} interrupts: median {median:?}, worst {:?} ({})", answers.len(), worst.1, worst.0);
    for (what, _) in ENDLESS {
        let worst = answers.iter().filter(|(state, _)| *state == what).map(|(_, took)| *took).max();
        println!("  {what}: at worst {worst:?}");
    }
    // The suite may share the machine with others.
    let limit = Duration::from_millis(scale("KAL_INTERRUPT_MS", 5_000));
    assert!(worst.1 <= limit, "{worst:?}");
}

#[test]
fn a_second_interrupt_ends_a_process_that_hangs() {
    let folder = Folder::new("signals-hang");
    let (source, library) = (folder.path().join("hang.c"), folder.path().join("hang.so"));
    std::fs::write(&source, "double hang(double x) { for (;;) __asm__ volatile(\"pause\"); return x; }")
        .expect("it can be written");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&library, &source]).status();
    assert!(compiled.expect("rustc needs a C compiler to link, so there is one").success());
    let allowed = format!("hang={}", library.display());
    let mut terminal = Terminal::with(&folder, &["--quiet", "--allow-extern", &allowed], &[], 80);
    terminal.press("extern hang(x)");
    terminal.press(ENTER);
    terminal.wait_for("kal> ");
    terminal.press("hang(1)");
    terminal.press(ENTER);
    std::thread::sleep(Duration::from_millis(300));
    terminal.press(CTRL_C);
    std::thread::sleep(Duration::from_millis(100));
    let start = Instant::now();
    terminal.press(CTRL_C);
    assert_eq!(terminal.ends(), 130);
    println!("the second interrupt took {:?}", start.elapsed());
}

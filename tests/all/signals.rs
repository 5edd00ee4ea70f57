//! Ctrl-C at a pseudo-terminal, in whatever state the session is: the answer
//! comes soon, and the session is as it was.

use crate::binary::{finish, in_parallel, kal};
use crate::choices::{Choices, Random};
use crate::scale;
use crate::terminal::Terminal;
use crate::transcripts::Folder;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
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

/// Most programs are running by then; an interrupt that comes earlier is good
/// for something, too.
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

/// Defines a function that takes half a second to compile, just within the limit: from a
/// file, since the prompt redraws at each key.
fn define_long(terminal: &mut Terminal, folder: &Folder, round: u64) {
    let terms: Vec<String> =
        (0..5_000).map(|index| format!("sin(x*{})*pow(x,{index})", round + index)).collect();
    let path = folder.path().join(format!("long{round}.kal"));
    std::fs::write(&path, format!("def long(x) {}", terms.join("+"))).expect("it can be written");
    terminal.press(&format!(":load {}\r", path.display()));
    terminal.wait_for("defined");
    terminal.wait_for("kal> ");
}

/// Interrupts something once; returns how long the answer took. It prints a
/// mark first, so that it is known to run: before that, Ctrl-C is a key of the
/// prompt.
fn interrupt(terminal: &mut Terminal, text: &str, wait: Duration) -> Duration {
    terminal.press(&format!("printd(70 + 7); {text}"));
    terminal.press(ENTER);
    terminal.wait_for("\n77\n");
    std::thread::sleep(wait);
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
    // Baseline code is made in no time.
    let compiles = arguments.contains(&"--no-tier-up");
    let states: Vec<_> = ENDLESS.iter().filter(|(what, _)| compiles || *what != "compiling").collect();
    for round in 0..count {
        let &(what, text) = states[round as usize % states.len()];
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
    let mut answers = rounds(&["-O3", "--no-tier-up"], count / 2, 1);
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
fn an_interrupt_ends_all_of_an_input_or_a_file() {
    let folder = Folder::new("signals-all");
    let items = "printd(70 + 7); for i = 0, 1 in i; printd(80 + 8); def after(x) x";
    std::fs::write(folder.path().join("items.kal"), items).expect("it can be written");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--no-preview"], &[], 80);
    for input in [items, ":load items.kal"] {
        terminal.press(input);
        terminal.press(ENTER);
        terminal.wait_for("\n77\n");
        std::thread::sleep(UNDER_WAY);
        terminal.press(CTRL_C);
        terminal.wait_for("E0304");
        terminal.wait_for("kal> ");
        terminal.answer("1 + 1", "2");
        assert!(!terminal.shown().contains("\n88"), "{}", terminal.shown());
        assert!(!terminal.shown().contains("after(x) defined"), "{}", terminal.shown());
    }
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

#[test]
fn an_interrupt_ends_a_command_that_waits_for_input() {
    let mut child = kal().arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(b"6 * 7;\n").expect("it reads");
    is_interrupted_after_its_answer(child);
}

#[test]
fn a_file_that_is_a_pipe_nobody_writes_to_can_be_left() {
    let folder = Folder::new("signals-fifo");
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    assert!(made.expect("every system has it").success());
    let told = "error: timed out waiting for input\n";
    for arguments in [&["pipe"][..], &["debug", "pipe"]] {
        let mut command = kal();
        command.args(arguments).args(["--timeout", "100ms"]).current_dir(folder.path());
        let ran = finish(&mut command);
        assert_eq!((ran.code, ran.err()), (Some(124), told), "{arguments:?}");
    }
    let mut command = kal();
    command.args(["-e", "6 * 7", "pipe"]).stdout(Stdio::piped()).current_dir(folder.path());
    let child = command.spawn().expect("it starts");
    is_interrupted_after_its_answer(child);
}

#[test]
fn a_timeout_ends_waiting_for_standard_input() {
    for arguments in [&["-"][..], &["repl", "--no-init"]] {
        let mut command = kal();
        command.args(arguments).args(["--timeout", "100ms"]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take();
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*told), (Some(124), "error: timed out waiting for input\n"));
    }
}

/// An interrupt ends a process that has answered 42 and waits for input.
fn is_interrupted_after_its_answer(mut child: Child) {
    let mut answer = [0; 3];
    child.stdout.as_mut().expect("it is piped").read_exact(&mut answer).expect("it answers");
    assert_eq!(&answer, b"42\n");
    send("-INT", child.id());
    assert_eq!(child.wait().expect("it is our child").code(), Some(130));
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.expect("every system has it").success());
}

/// Programs without an end.
const ENDLESS_PROGRAMS: [&str; 3] = [
    "def f(x) if x < 2 then 1 else f(x - 1) + f(x - 2); f(90)",
    "def f(n) for i = n, 1, 1 in i; f(1)",
    "def even(n) if n < 1 then 1 else odd(n - 1); def odd(n) even(n - 1); for i = 1, 1 in even(1000)",
];

/// How a program may be run, as arguments.
const WAYS: [&str; 7] = ["--interpret", "-O0", "-O2", "-O3", "--no-tier-up", "--tier-up-after=2", "--eager"];

/// Ends a command that runs a program without an end; its code, or the number
/// of the signal that ended it, negative.
fn ended(way: &str, program: &str, by: &str) -> i32 {
    let limit = if by == "timeout" { "150ms" } else { "60s" };
    // The tests may run where a hang-up or an interrupt is ignored.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP,INT").arg(env!("CARGO_BIN_EXE_kal"));
    command.args([way, "--timeout", limit, "-e", program]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().expect("the binary starts");
    if by != "timeout" {
        std::thread::sleep(2 * UNDER_WAY);
        send(by, child.id());
    }
    let status = child.wait().expect("it is our child");
    status.code().unwrap_or_else(|| -status.signal().unwrap_or(0))
}

#[test]
fn every_way_to_stop_a_command_stops_it() {
    // Before the handler is there, an interrupt ends the process itself.
    let expected: [(&str, &[i32]); 4] =
        [("-INT", &[130, -2]), ("-TERM", &[-15]), ("-HUP", &[-1]), ("timeout", &[124])];
    let programs = ENDLESS_PROGRAMS.iter().flat_map(|program| WAYS.map(|way| (way, *program)));
    let cases: Vec<_> = programs.flat_map(|(way, program)| expected.map(|by| (way, program, by))).collect();
    let complaints = in_parallel(&cases, |(way, program, (by, codes))| {
        let code = ended(way, program, by);
        if codes.contains(&code) { Ok(()) } else { Err(format!("{way} {by} gave {code}: {program}")) }
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

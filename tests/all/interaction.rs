//! At a terminal: limits and interrupts of what runs beside the prompt, and the
//! debugger's prompt inside of it.

use crate::terminal::{CTRL_C, CTRL_D, ENTER, Terminal, debugging, pasted};
use crate::transcripts::Folder;

#[test]
fn letters_after_numbers_are_a_mistake_like_others() {
    let folder = Folder::new("letters");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("0é", "error[E0102]");
    terminal.answer("0π + 1", "error[E0102]");
    terminal.answer("6 * 7", "42");
}

#[test]
fn each_input_has_all_of_the_time() {
    for environment in [("TERM", "xterm-256color"), ("TERM", "dumb")] {
        let folder = Folder::new("time-for-each");
        let mut terminal = Terminal::with(&folder, &["--quiet", "--timeout", "300ms"], &[environment], 80);
        // Each of them takes as long as a session may from a pipe.
        for _ in 0..2 {
            terminal.answer("for i = 0, 1 in i", "error[E0305]");
        }
        terminal.answer("def f(x) x * 2", "f(x) defined");
        terminal.answer("f(21)", "42");
        terminal.press(":quit\r");
        assert_eq!(terminal.ends(), 0);
    }
}

/// Returns how long a process has computed, in hundredths of a second.
fn computed(process: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("its name is in parentheses");
    fields.split_whitespace().skip(11).take(2).map(|time| time.parse::<u64>().expect("a number")).sum()
}

/// Waits until a process has computed for a while.
fn computes(process: u32) {
    let before = computed(process);
    while computed(process) < before + 30 {
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_stops_a_reload() {
    let folder = Folder::new("watch-endless");
    let path = folder.path().join("watched.kal");
    std::fs::write(&path, "def f(x) x\n").expect("it can be saved");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--color", "never"], &[], 80);
    let process = terminal.process();
    terminal.answer(":watch watched.kal", "watched.kal: 1 defined");
    for (round, endless) in ["for i = 0, 1 in i", "for i = 0, 1 in printd(12345)"].into_iter().enumerate() {
        std::fs::write(&path, format!("def f(x) x + {round}\n{endless}\n99\n")).expect("it can be saved");
        // The reload is in progress once it has computed for a while.
        computes(process);
        terminal.press(CTRL_C);
        terminal.wait_for("error[E0304]");
        terminal.wait_for("watched.kal: 1 redefined, 1 failed; stopped there\n");
        terminal.wait_for("kal> ");
        terminal.answer("6 * 7", "42");
    }
    let shown = terminal.shown();
    assert!(!shown.contains("\n99"), "what is after the error has not run");
    assert!(shown.contains(" bytes of output are not shown …"), "{}", shown.len());
    assert!(shown.len() < 200_000, "{}", shown.len());
    assert!(!terminal.plain().contains("\n\n"), "{shown:?}");
    // Leaving does not wait for a reload.
    std::fs::write(&path, "for i = 0, 1 in i").expect("it can be saved");
    computes(process);
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn ctrl_c_gives_a_definition_up_at_the_debuggers_prompt() {
    let folder = Folder::new("debug-gives-up");
    let mut terminal = debugging(&folder, "def f(x) x * 2\nf(4)\n", &["-b", "f"]);
    terminal.wait_for("1|debug> ");
    terminal.press("def oops(\r");
    terminal.wait_for("\n...> ");
    terminal.press("a\r");
    terminal.wait_for("\n...> ");
    terminal.press(CTRL_C);
    terminal.wait_for("1|debug> ");
    terminal.press("x * 10 + 2\r");
    terminal.wait_for("\n42\n");
    terminal.press("def twice(y)\r");
    terminal.wait_for("\n...> ");
    terminal.press("y * 2\r");
    terminal.wait_for("twice(y) defined");
    terminal.press("c\r");
    terminal.wait_for("\n8\n");
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.shown().contains("error"), "{}", terminal.shown());
}

#[test]
fn the_keys_of_vi_are_those_of_the_debugger_too() {
    let folder = Folder::new("debug-vi");
    let mut terminal = debugging(&folder, "def f(x) x * 2\nf(4)\n", &["-b", "f", "--vi"]);
    terminal.wait_for("1|debug> ");
    // Escape, to the beginning, delete a character, append there.
    terminal.press("9x * 10 + 2");
    terminal.press("\x1b");
    terminal.press("0x\r");
    terminal.wait_for("\n42\n");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--vi"], &[], 80);
    terminal.press(":debug 4 + 4\r");
    terminal.wait_for("1|debug> ");
    terminal.press("9 6 * 7\x1b0xx\r");
    terminal.wait_for("\n42\n");
}

#[test]
fn functions_that_have_not_been_read_are_completed() {
    let folder = Folder::new("debug-completes-later");
    let mut terminal = debugging(&folder, "def f(x) x * 2\nf(4)\ndef laterone(y) y\nlaterone(5)\n", &[]);
    terminal.wait_for("1|debug> ");
    terminal.press("bp late\t\r");
    terminal.wait_for("1: laterone (p.kal:3:");
    terminal.press("q\r");
}

#[test]
fn an_input_taller_than_the_window_says_how_to_see_all_of_it() {
    let folder = Folder::new("tall");
    let mut terminal = Terminal::new(&folder);
    let rows = |count: usize| format!("def f(x)\n{}  x", "  x +\n".repeat(count));
    terminal.press(&pasted(&rows(60)));
    terminal.wait_for("taller than the window: Ctrl-X Ctrl-E opens the editor");
    terminal.press(ENTER);
    terminal.wait_for("f(x) defined");
    terminal.wait_for("kal> ");
    let before = terminal.shown().len();
    terminal.press(&pasted(&rows(30)));
    terminal.press(ENTER);
    terminal.wait_for("f(x) redefined");
    assert!(!terminal.shown()[before..].contains("taller"), "it fits");
}

//! Editing at the prompt, at a pseudo-terminal: inputs of several rows, what
//! was typed before, hints, and the keys for them.

use crate::terminal::{CTRL_C, CTRL_D, ENTER, Terminal, UP};
use crate::transcripts::Folder;
use portable_pty::CommandBuilder;

const DOWN: &str = "\x1b[B";
const LEFT: &str = "\x1b[D";
const RIGHT: &str = "\x1b[C";
const BACKSPACE: &str = "\x7f";
const ALT_ENTER: &str = "\x1b\r";
const ALT_F: &str = "\x1bf";
const CTRL_A: &str = "\x01";
const CTRL_E: &str = "\x05";
const CTRL_R: &str = "\x12";
const CTRL_X: &str = "\x18";
const ESCAPE: &str = "\x1b";

/// Types keys and waits for the answer and the next prompt.
fn answers(terminal: &mut Terminal, keys: &[&str], answer: &str) {
    terminal.press(&keys.concat());
    terminal.press(ENTER);
    terminal.wait_for(&format!("\n{answer}"));
    terminal.wait_for("kal> ");
}

#[test]
fn up_and_down_search_for_what_was_typed() {
    let folder = Folder::new("prefix");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("40 + 1", "41");
    terminal.answer("40 + 2", "42");
    terminal.answer("6 * 8", "48");
    answers(&mut terminal, &["40", UP], "42");
    answers(&mut terminal, &["40", UP, UP], "41");
    // Those that ran again come first now.
    answers(&mut terminal, &["40", UP, UP, DOWN], "41");
    // After the latest entry comes what was typed.
    answers(&mut terminal, &["30 + 9", LEFT, LEFT, LEFT, LEFT, UP, DOWN], "39");
    answers(&mut terminal, &["40", UP, DOWN, " + 9"], "49");
    // The cursor is after the entry.
    answers(&mut terminal, &["6", UP, "0"], "480");
    answers(&mut terminal, &[UP, UP, "1"], "131");
}

#[test]
fn an_input_of_several_rows_is_one_buffer() {
    let folder = Folder::new("rows");
    let mut terminal = Terminal::new(&folder);
    terminal.press("def area(r v)\r");
    terminal.wait_for("...> ");
    terminal.press("r *\r");
    terminal.wait_for("...>   r *");
    // A slip in the first row is mended there.
    answers(
        &mut terminal,
        &[UP, UP, CTRL_E, LEFT, BACKSPACE, "w", DOWN, DOWN, CTRL_E, "w"],
        "area(r w) defined",
    );
    terminal.answer("area(6, 7)", "42");
    // Recalled rows have the prompt's indentation, and their own.
    terminal.press("def");
    terminal.press(UP);
    terminal.wait_for("def area(r w)\n...>   r *\n...>   w");
    terminal.press(CTRL_C);
    terminal.wait_for("\nkal> ");
    // Rows are split and joined at the cursor.
    answers(&mut terminal, &["1", ALT_ENTER, "+ 2"], "3");
    terminal.press("def f(x)\r");
    terminal.wait_for("...>   ");
    answers(&mut terminal, &[BACKSPACE, BACKSPACE, BACKSPACE, " x"], "f(x) defined");
    answers(&mut terminal, &["1 +", ENTER, "5", CTRL_A, LEFT, " 2 +"], "8");
    answers(&mut terminal, &["1 +", ENTER, "5", CTRL_A, LEFT, RIGHT, "2"], "26");
}

#[test]
fn rows_look_the_same_without_colour() {
    let folder = Folder::new("colourless rows");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--color", "never"], &[], 80);
    terminal.press("def f(x)\r");
    terminal.wait_for("def f(x)\n...> ");
    answers(&mut terminal, &["x + 1"], "f(x) defined");
    assert!(!terminal.shown().contains("\x1b[2m"), "{}", terminal.shown());
}

#[test]
fn the_second_row_says_how_to_get_out() {
    let folder = Folder::new("way out");
    let mut terminal = Terminal::new(&folder);
    terminal.press("1 +\r");
    terminal.wait_for("...> ");
    terminal.press("2 +\r");
    terminal.wait_for("an empty line ends the input, Ctrl-C cancels it");
    terminal.press(ENTER);
    terminal.wait_for("error[E0104]");
    terminal.wait_for("kal> ");
    terminal.press("(1 +\r2\r");
    terminal.wait_for("Ctrl-C cancels it");
    terminal.press(CTRL_C);
    terminal.wait_for("\nkal> ");
    terminal.press("(1\r");
    terminal.wait_for("...> ");
    // What is unfinished is answered: that says what is missing.
    terminal.press(CTRL_D);
    terminal.wait_for("never closed");
    terminal.wait_for("kal> ");
    terminal.answer("6 * 7", "42");
}

#[test]
fn hints_are_accepted_whole_and_by_word() {
    let folder = Folder::new("accepted");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("111 + 222 + 333", "666");
    for (keys, answer) in
        [([CTRL_E, ""], "666"), ([RIGHT, ""], "666"), ([ALT_F, ""], "333"), ([ALT_F, " * 2"], "555")]
    {
        terminal.press("111");
        terminal.wait_for(" + 222 + 333");
        answers(&mut terminal, &keys, answer);
        terminal.answer("111 + 222 + 333", "666");
    }
}

#[test]
fn hints_prefer_signatures_and_leave_out_what_failed() {
    let folder = Folder::new("signature");
    for _ in 0..2 {
        let mut terminal = Terminal::new(&folder);
        terminal.answer("sin(0) + 7", "7");
        terminal.answer("sin(1) + nosuch", "error[E0201]");
        terminal.press("sin(");
        terminal.wait_for("sin(x)");
        terminal.press(CTRL_C);
        terminal.wait_for("\nkal> ");
        terminal.press("sin(1) + no");
        terminal.press(CTRL_E);
        terminal.press(ENTER);
        terminal.wait_for("unknown variable `no`");
        terminal.wait_for("kal> ");
        terminal.press(CTRL_D);
        assert_eq!(terminal.ends(), 0);
    }
}

#[test]
fn the_keys_of_vi_can_be_chosen() {
    let folder = Folder::new("vi");
    for (arguments, environment) in
        [(&["--quiet", "--vi"][..], &[][..]), (&["--quiet"], &[("KAL_EDIT_MODE", "vi")])]
    {
        let mut terminal = Terminal::with(&folder, arguments, environment, 80);
        answers(&mut terminal, &["6 * 7", ESCAPE, "h", "x", "A8"], "48");
        terminal.press("def f(x)\r");
        terminal.wait_for("...> ");
        answers(&mut terminal, &["x"], "f(x) ");
    }
}

#[test]
fn a_search_ends_with_what_it_found() {
    let folder = Folder::new("search");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("40 + 2", "42");
    terminal.answer("6 * 8", "48");
    terminal.press(CTRL_R);
    terminal.wait_for("reverse-i-search");
    terminal.press("40");
    terminal.wait_for("`40'");
    terminal.press(ESCAPE);
    terminal.wait_for("kal> 40 + 2");
    answers(&mut terminal, &[], "42");
}

#[test]
fn a_line_is_changed_in_the_users_editor() {
    let folder = Folder::new("editor");
    let mut terminal =
        Terminal::with(&folder, &["--quiet"], &[("EDITOR", "sed -i s/1/5/"), ("VISUAL", "")], 80);
    terminal.press(&["1 +", ENTER, "1", CTRL_X, CTRL_E].concat());
    terminal.wait_for("kal> 5 +\n...>   5");
    answers(&mut terminal, &[], "10");
}

#[test]
fn a_terminal_without_a_name_gets_no_escapes() {
    let folder = Folder::new("nameless");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--color", "never"], &[("TERM", "")], 80);
    terminal.press("6 *\n");
    terminal.wait_for("...> ");
    terminal.press("7\n");
    terminal.wait_for("\n42");
    terminal.wait_for("kal> ");
    assert!(!terminal.shown().contains('\x1b'), "{:?}", terminal.shown());
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
}

/// Returns a terminal with a line of the shell.
fn shell(folder: &Folder, line: &str, environment: &[(&str, &str)]) -> Terminal {
    let mut command = CommandBuilder::new("sh");
    command.args(["-c", line]);
    let mut terminal = Terminal::running(folder, command, environment, 80);
    terminal.wait_for("kal> ");
    terminal
}

#[test]
fn the_prompt_is_not_drawn_into_a_file() {
    for command in ["$KAL repl --no-init --quiet > answers", "$KAL --no-init > answers"] {
        let folder = Folder::new("redirected");
        let mut terminal = shell(&folder, command, &[]);
        terminal.press("6 * 7\r");
        terminal.wait_for("\nkal> ");
        terminal.press(":list\r");
        terminal.wait_for("\nkal> ");
        terminal.press(CTRL_D);
        assert_eq!(terminal.ends(), 0);
        let answers = std::fs::read_to_string(folder.path().join("answers")).expect("it was written");
        assert!(answers.ends_with("42\nnothing is defined\n"), "{command}: {answers:?}");
        assert!(!answers.contains('\x1b') && !answers.contains("kal>"), "{command}: {answers:?}");
    }
}

#[test]
fn a_terminal_that_can_do_nothing_gets_text_alone() {
    for environment in ["unset TERM", "TERM=", "TERM=dumb"] {
        let folder = Folder::new("bare");
        let line = format!("{environment}; export TERM; exec $KAL repl --no-init");
        let line = if environment.starts_with("unset") { line.replace(" export TERM;", "") } else { line };
        let mut terminal = shell(&folder, &line, &[]);
        for (typed, answer) in [("6 * 7", "42"), ("f(1)", "error[E0301]"), (":plot sin, x = 0..1", " ")] {
            terminal.press(&format!("{typed}\n"));
            terminal.wait_for(&format!("\n{answer}"));
            terminal.wait_for("kal> ");
        }
        terminal.press(CTRL_D);
        assert_eq!(terminal.ends(), 0);
        assert!(!terminal.shown().contains('\x1b'), "{environment}: {:?}", terminal.shown());
    }
}

#[test]
fn the_colours_are_those_that_every_terminal_with_colours_has() {
    for name in ["vt100", "xterm-256color"] {
        let folder = Folder::new("sixteen");
        let mut terminal = Terminal::with(&folder, &[], &[("TERM", name)], 80);
        terminal.answer("def f(x) x", "f(x) defined");
        terminal.answer("def f(x) x + zz * f(1, 2)", "error[E0201]");
        terminal.answer("f(1, 2)", "error[E0205]");
        terminal.answer(":list", "");
        terminal.answer(":plot sin, cos, x = 0..1", " ");
        terminal.press("20 + 1");
        terminal.wait_for("21");
        terminal.press(CTRL_C);
        terminal.wait_for("\nkal> ");
        let shown = terminal.shown();
        assert!(shown.contains("\x1b[1m\x1b[31m") && shown.contains("\x1b[35m"), "{shown:?}");
        for wide in ["38;5;", "48;5;", "38;2;", "48;2;"] {
            assert!(!shown.contains(wide), "{name} gets {wide}: {shown:?}");
        }
    }
}

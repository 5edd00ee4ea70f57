//! The prompt at a real terminal: a pseudo-terminal that runs the binary.
//!
//! Tests type keys and wait for what must appear; they never wait for time to
//! pass. What is looked for must not be part of what is typed, since the
//! terminal shows that too.

use crate::transcripts::Folder;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

pub const UP: &str = "\x1b[A";
pub const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";
pub const ENTER: &str = "\r";

/// Nothing takes longer, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal with a prompt.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    screen: Arc<Screen>,
    /// How much of the output has been examined.
    seen: usize,
    _master: Box<dyn MasterPty + Send>,
}

/// What has been written to the terminal.
#[derive(Default)]
struct Screen {
    output: Mutex<Output>,
    changed: Condvar,
}

#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    /// The output without escape sequences and carriage returns.
    plain: Vec<u8>,
    /// The state inside an escape sequence.
    escape: Escape,
    has_ended: bool,
}

#[derive(Clone, Copy, Default)]
enum Escape {
    #[default]
    Outside,
    Begun,
    Inside,
}

impl Output {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        for &byte in bytes {
            self.escape = match (self.escape, byte) {
                (Escape::Outside, 0x1b) => Escape::Begun,
                (Escape::Outside, b'\r') => Escape::Outside,
                (Escape::Begun, b'[') => Escape::Inside,
                (Escape::Inside, 0x40..0x7f) | (Escape::Begun, _) => Escape::Outside,
                (Escape::Inside, _) => Escape::Inside,
                (Escape::Outside, plain) => {
                    self.plain.push(plain);
                    Escape::Outside
                }
            };
        }
    }
}

impl Terminal {
    pub fn new(folder: &Folder) -> Self {
        Self::with(folder, &["--quiet"], &[], 80)
    }

    pub fn with(folder: &Folder, arguments: &[&str], environment: &[(&str, &str)], columns: u16) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kal"));
        command.args(["repl", "--no-init"]);
        command.args(arguments);
        let mut terminal = Self::running(folder, command, environment, columns);
        terminal.wait_for("kal> ");
        terminal
    }

    /// Returns a terminal with any command, where `KAL` is the binary.
    pub fn running(
        folder: &Folder,
        mut command: CommandBuilder,
        environment: &[(&str, &str)],
        columns: u16,
    ) -> Self {
        let size = PtySize { rows: 40, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("there are pseudo-terminals");
        command.cwd(folder.path());
        command.env("KAL", env!("CARGO_BIN_EXE_kal"));
        command.env("TERM", "xterm-256color");
        command.env("XDG_STATE_HOME", folder.path());
        command.env("KAL_CACHE", "off");
        command.env_remove("NO_COLOR");
        environment.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).expect("the binary starts");
        let mut reader = pair.master.try_clone_reader().expect("it can be read");
        let keyboard = pair.master.take_writer().expect("it can be written");
        let screen = Arc::<Screen>::default();
        let shown = screen.clone();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            loop {
                let length = reader.read(&mut chunk).unwrap_or(0);
                let mut output = shown.output.lock().expect("nobody panics");
                output.push(&chunk[..length]);
                output.has_ended = length == 0;
                shown.changed.notify_all();
                if length == 0 {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: 0, _master: pair.master }
    }

    /// Returns what a shell command shows, to its end.
    fn shell(folder: &Folder, line: &str) -> String {
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", line]);
        let mut terminal = Self::running(folder, command, &[], 80);
        assert!(!terminal.appears("\0", PATIENCE), "nothing shows this");
        terminal.shown()
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).and_then(|()| self.keyboard.flush()).expect("it is read");
    }

    /// Types a line and waits for its answer and the next prompt.
    pub fn answer(&mut self, line: &str, answer: &str) {
        self.press(line);
        self.press(ENTER);
        self.wait_for(&format!("\n{answer}"));
        self.wait_for("kal> ");
    }

    /// Waits until a text has appeared, not counting escape sequences; searches
    /// only what came after the text waited for last.
    pub fn wait_for(&mut self, wanted: &str) {
        assert!(self.appears(wanted, PATIENCE), "no {wanted:?} at the end of {:?}", self.shown());
    }

    pub fn appears(&mut self, wanted: &str, patience: Duration) -> bool {
        let start = Instant::now();
        let mut output = self.screen.output.lock().expect("nobody panics");
        let mut from = self.seen;
        loop {
            let mut windows = output.plain[from..].windows(wanted.len());
            if let Some(place) = windows.position(|window| window == wanted.as_bytes()) {
                self.seen = from + place + wanted.len();
                return true;
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() || output.has_ended {
                return false;
            }
            from = from.max((output.plain.len() + 1).saturating_sub(wanted.len()));
            output = self.screen.changed.wait_timeout(output, left).expect("nobody panics").0;
        }
    }

    pub fn shown(&self) -> String {
        let output = self.screen.output.lock().expect("nobody panics");
        String::from_utf8_lossy(&output.bytes).into_owned()
    }

    /// Returns what has been written, without escape sequences.
    pub fn plain(&self) -> String {
        let output = self.screen.output.lock().expect("nobody panics");
        String::from_utf8_lossy(&output.plain).into_owned()
    }

    /// Returns the number of the process.
    pub fn process(&self) -> u32 {
        self.child.process_id().expect("it has not been waited for")
    }

    /// Waits for the end.
    pub fn ends(&mut self) -> u32 {
        self.child.wait().expect("it ends").exit_code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a paste, as terminals mark it.
pub fn pasted(text: &str) -> String {
    format!("\x1b[200~{}\x1b[201~", text.replace('\n', "\r"))
}

#[test]
fn input_goes_on_until_it_is_complete() {
    let folder = Folder::new("multi-line");
    let mut terminal = Terminal::new(&folder);
    terminal.press("def add(x y)\r");
    terminal.wait_for("...> ");
    terminal.press("  x +\r");
    terminal.wait_for("...> ");
    terminal.press("  y\r");
    terminal.wait_for("add(x y) defined");
    terminal.wait_for("kal> ");
    terminal.answer("add(40, 2)", "42");
    terminal.answer("add(40)", "error[E0205]");
    terminal.answer("?add", "add(x y)");
}

#[test]
fn history_is_recalled_also_by_the_next_session() {
    let folder = Folder::new("history");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("40 + 2", "42");
    terminal.press(UP);
    terminal.press(ENTER);
    terminal.wait_for("\n42");
    terminal.wait_for("kal> ");
    terminal.press("def f(x)\r");
    terminal.wait_for("...> ");
    terminal.press("x * 3\r");
    terminal.wait_for("defined");
    // Before the prompt, the terminal itself would take Ctrl-D.
    terminal.wait_for("kal> ");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
    let mut next = Terminal::new(&folder);
    next.press(UP);
    next.wait_for("x * 3");
    next.press(ENTER);
    next.wait_for("f(x) defined");
    next.wait_for("kal> ");
    // The second leads to the entry's first line.
    next.press(&UP.repeat(3));
    next.press(ENTER);
    next.wait_for("\n42");
}

#[test]
fn numbers_are_read_after_the_end_was_typed() {
    let folder = Folder::new("reading-on");
    let mut terminal = Terminal::new(&folder);
    terminal.press("print(6 * 7) : read() + 1\r");
    terminal.wait_for("\n42\n");
    terminal.press(CTRL_D);
    terminal.wait_for("nan");
    terminal.wait_for("kal> ");
    terminal.press("print(6 * 8) : read() * 100\r");
    terminal.wait_for("\n48\n");
    terminal.press("5\r");
    terminal.wait_for("\n500");
}

#[test]
fn an_entry_of_several_lines_comes_back_whole() {
    let folder = Folder::new("recall");
    let mut terminal = Terminal::new(&folder);
    terminal.press("def area(r)\r");
    terminal.wait_for("...> ");
    terminal.press("  3 *\r");
    terminal.wait_for("...> ");
    terminal.press("  r ^ 2\r");
    terminal.wait_for("area(r) defined");
    terminal.wait_for("kal> ");
    terminal.press(UP);
    terminal.wait_for("r ^ 2");
    // The cursor is at the end of the entry: its last digit becomes a 3, and
    // one line above, `3 *` becomes `30 *`.
    terminal.press("\x7f3");
    terminal.press(UP);
    terminal.press("\x05\x1b[D\x1b[D0");
    terminal.press(ENTER);
    terminal.wait_for("area(r) redefined");
    terminal.wait_for("kal> ");
    terminal.answer("area(2)", "240");
}

#[test]
fn two_sessions_share_the_history() {
    const EACH: usize = 30;
    let folder = Folder::new("racing");
    let path = folder.path().join("kal/history");
    std::fs::create_dir_all(folder.path().join("kal")).expect("a directory");
    // Too long, so both sessions cut it when they start.
    let old = (0..12_000).fold(String::new(), |text, number| text + &format!("{number}\n"));
    std::fs::write(&path, old).expect("it can be written");
    std::thread::scope(|scope| {
        for session in 1..=2 {
            let folder = &folder;
            scope.spawn(move || {
                let mut terminal = Terminal::new(folder);
                for number in 0..EACH {
                    terminal.answer(&format!("{number} + {session}000"), &format!("{session}"));
                }
                terminal.press(CTRL_D);
                assert_eq!(terminal.ends(), 0);
            });
        }
    });
    let history = std::fs::read_to_string(&path).expect("it is text");
    let lines: Vec<&str> = history.lines().collect();
    assert_eq!(lines.len(), 10_000 + 2 * EACH);
    let of_session = |session: usize| -> Vec<String> {
        let end = format!(" + {session}000");
        lines.iter().filter(|line| line.ends_with(&end)).map(|line| (*line).to_owned()).collect()
    };
    for session in 1..=2 {
        let typed: Vec<String> = (0..EACH).map(|number| format!("{number} + {session}000")).collect();
        assert_eq!(of_session(session), typed);
    }
    assert_eq!(lines[9_999], "11999");
}

#[test]
fn colour_depends_on_where_each_stream_goes() {
    let folder = Folder::new("streams");
    let session = r"printf 'def f(x) x\n:list\nf()\n' | $KAL repl --no-init";
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("it was written");
    let shown = Terminal::shell(&folder, &format!("{session} 2>errors"));
    assert!(shown.contains("\x1b[2m1 definition ("), "{shown}");
    assert!(file("errors").contains("E0205") && !file("errors").contains('\x1b'), "{}", file("errors"));
    let shown = Terminal::shell(&folder, &format!("{session} >answers"));
    assert!(shown.contains("E0205") && shown.contains('\x1b'), "{shown}");
    assert!(file("answers").contains("1 definition (") && !file("answers").contains('\x1b'));
}

#[test]
fn diagnostics_begin_a_line() {
    let folder = Folder::new("unfinished");
    let wrong = "putchard(66) + missing()";
    let shown = Terminal::shell(&folder, &format!("$KAL --color never -e '{wrong}'"));
    assert!(shown.starts_with("B\r\nerror[E0301]"), "{shown:?}");
    // Other readers get what the program has printed and nothing else.
    let shown = Terminal::shell(&folder, &format!("$KAL -e '{wrong}' 2>errors | od -c"));
    assert!(shown.starts_with("0000000   B\r\n0000001"), "{shown:?}");
    let mut terminal = Terminal::with(&folder, &["--color", "never"], &[], 80);
    terminal.press(&format!("{wrong}\r"));
    terminal.wait_for("\nB\nerror[E0301]");
}

#[test]
fn names_commands_and_files_are_completed() {
    let folder = Folder::new("completion");
    std::fs::write(folder.path().join("program.kal"), "20 + 1").expect("it can be written");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("def scaled(number) number * 21", "scaled(number) defined");
    terminal.answer("scal\t2)", "42");
    terminal.answer("def scalar(x) x", "scalar(x) defined");
    terminal.press("scal\t\t");
    terminal.wait_for("scaled(number)");
    terminal.wait_for("kal> scal");
    terminal.press(CTRL_C);
    terminal.wait_for("\nkal> ");
    terminal.answer(":loa\tprog\t", "21");
    terminal.answer(":sta\tats", "error: unknown command");
    terminal.answer(":und\t", "scalar dropped");
}

#[test]
fn colour_is_refused_or_shown() {
    let folder = Folder::new("colour");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("def f(x) x", "f(x) defined");
    assert!(terminal.shown().contains("\x1b[35mdef"), "{}", terminal.shown());
    for (arguments, environment) in [(&[][..], &[("NO_COLOR", "1")][..]), (&["--color", "never"], &[])] {
        let mut terminal = Terminal::with(&folder, arguments, environment, 80);
        terminal.answer("def f(x) x", "f(x) defined");
        terminal.answer("f(1, 2)", "error[E0205]");
        let is_colour = |part: &str| {
            let end = part.find(|character: char| !(character.is_ascii_digit() || character == ';'));
            end.is_some_and(|end| part[end..].starts_with('m'))
        };
        let shown = terminal.shown();
        assert!(!shown.split("\x1b[").skip(1).any(is_colour), "{shown:?}");
    }
}

#[test]
fn ctrl_c_clears_and_ctrl_d_leaves() {
    let folder = Folder::new("keys");
    let mut terminal = Terminal::new(&folder);
    terminal.press("1 + nonsense(");
    terminal.wait_for("nonsense(");
    terminal.press(CTRL_C);
    terminal.wait_for("kal> ");
    terminal.answer("6 * 7", "42");
    terminal.press("1 +\r");
    terminal.wait_for("...> ");
    terminal.press(CTRL_C);
    terminal.wait_for("kal> ");
    terminal.answer("6 * 8", "48");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn ctrl_c_stops_what_runs() {
    let folder = Folder::new("interrupt");
    let mut terminal = Terminal::new(&folder);
    terminal.press("for i = printd(17), 1 in i\r");
    terminal.wait_for("\n17");
    terminal.press(CTRL_C);
    terminal.wait_for("^C\nerror[E0304]");
    terminal.wait_for("kal> ");
    terminal.answer("6 * 7", "42");
}

#[test]
fn long_lines_are_cut_to_the_terminal() {
    let folder = Folder::new("narrow");
    let mut terminal = Terminal::with(&folder, &["--color", "never"], &[], 60);
    let sum = "1 + ".repeat(40);
    terminal.press(&format!("{sum}nothing + {sum}1\r"));
    terminal.wait_for("error[E0201]");
    terminal.wait_for("kal> ");
    let shown = terminal.shown();
    let source = shown.lines().find(|line| line.starts_with("1 |")).expect("the source line");
    assert!(source.contains("nothing") && source.trim_end().chars().count() <= 60, "{shown}");
}

#[test]
fn long_pastes_and_long_lines_are_taken() {
    let folder = Folder::new("paste");
    let lines = (0..200).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "def f{number}(x) x + {number}");
        text
    });
    let mut terminal = Terminal::new(&folder);
    terminal.press(&pasted(&lines));
    terminal.press(ENTER);
    terminal.wait_for("f199(x) defined");
    terminal.wait_for("kal> ");
    terminal.answer("f199(1) + f0(1)", "201");
    // Without marks the lines are typed one after the other.
    terminal.press(&lines.replace('\n', "\r"));
    terminal.wait_for("f199(x) redefined");
    terminal.wait_for("kal> ");
    terminal.press(&pasted("kal> def g(x)\n...>   x * 2\ng(x) defined\nkal> g(21)\n(its answer)"));
    terminal.press(ENTER);
    terminal.wait_for("g(x) defined");
    terminal.wait_for("\n42");
    terminal.wait_for("kal> ");
    terminal.press(&("1+".repeat(5000) + "1"));
    terminal.press(ENTER);
    terminal.wait_for("5001");
}

#[test]
fn a_watched_file_is_loaded_when_it_is_saved() {
    let folder = Folder::new("watch");
    let path = folder.path().join("watched.kal");
    let save = |number: u32| {
        let text = (0..200).fold(String::new(), |mut text, index| {
            let _ = writeln!(text, "def f{index}(x) x + {}", if index == 50 { number } else { index });
            text
        });
        // As editors do it: a new file takes the place of the old one.
        let new = folder.path().join("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).expect("it can be saved");
    };
    save(50);
    let mut terminal = Terminal::new(&folder);
    terminal.answer(":watch watched.kal", "watched.kal: 200 defined");
    terminal.answer("f50(0) + f51(0)", "101");
    save(1000);
    terminal.wait_for("watched.kal: 1 redefined, 199 unchanged");
    terminal.answer("f50(0) + f51(0)", "1051");
    terminal.press("6 * ");
    std::fs::write(&path, "def f50(x) (").expect("it can be saved");
    terminal.wait_for("watched.kal: 1 failed");
    terminal.answer("7", "42");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn runs_are_debugged_at_the_prompt() {
    let folder = Folder::new("debugged");
    let mut terminal = Terminal::with(&folder, &["--color", "never", "--quiet"], &[], 80);
    terminal.answer("def f(x) x * 2", "f(x) defined");
    terminal.press(":debug f(21)\r");
    terminal.wait_for("1|debug> ");
    terminal.press("s\r");
    terminal.wait_for("f(x) at <input>:1:12");
    terminal.wait_for("1|debug> ");
    terminal.press("p x * 100\r");
    terminal.wait_for("\n2100");
    terminal.wait_for("1|debug> ");
    // The line before is recalled; an empty one repeats.
    terminal.press(UP);
    terminal.wait_for("p x * 100");
    terminal.press("\r");
    terminal.wait_for("\n2100");
    terminal.wait_for("1|debug> ");
    terminal.press("c\r");
    terminal.wait_for("\n42");
    terminal.wait_for("kal> ");
    terminal.press(":debug f(1)\r");
    terminal.wait_for("1|debug> ");
    // Leaving on purpose is no error.
    terminal.press(CTRL_D);
    terminal.wait_for("\nkal> ");
    terminal.answer("f(4)", "8");
}

/// Returns a terminal with the command, without `repl`.
fn command(folder: &Folder, arguments: &[&str]) -> Terminal {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kal"));
    command.args(arguments);
    Terminal::running(folder, command, &[], 80)
}

#[test]
fn a_program_shows_each_line_when_it_is_printed() {
    let folder = Folder::new("lines");
    let mut terminal = command(&folder, &["-e", "printd(41 + 1)", "-e", "for i = 0, 1 in i"]);
    terminal.wait_for("42");
    terminal.press(CTRL_C);
    terminal.wait_for("error[E0304]");
    assert_eq!(terminal.ends(), 130);
}

#[test]
fn a_program_that_is_typed_is_answered_line_by_line() {
    let folder = Folder::new("typed");
    let mut terminal = command(&folder, &["-e", "20 + 1", "-"]);
    terminal.wait_for("21");
    terminal.wait_for("Ctrl-D ends it");
    terminal.press("40 + 2\r");
    terminal.wait_for("\n42");
    terminal.press("def f(x)\r x * 3\rf(5)\r");
    terminal.wait_for("\n15");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_dumb_terminal_will_do() {
    let folder = Folder::new("dumb");
    let mut terminal = Terminal::with(&folder, &[], &[("TERM", "dumb")], 80);
    terminal.press("6 *\n");
    terminal.wait_for("...> ");
    terminal.press("7\n");
    terminal.wait_for("\n42");
    terminal.wait_for("kal> ");
    terminal.press(":quit\n");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn curves_are_as_wide_as_the_terminal() {
    let folder = Folder::new("width");
    for columns in [80, 120] {
        let mut terminal = Terminal::with(&folder, &["--color", "never"], &[], columns);
        terminal.answer(":plot sin 0..6.28", "  ");
        let shown = terminal.shown();
        let axis = shown.lines().find(|line| line.contains('└')).expect("there is an axis");
        let width = axis.trim_end().chars().count();
        assert!(width + 5 > usize::from(columns) && width <= usize::from(columns), "{shown}");
    }
}

#[test]
fn the_banner_is_one_line_with_versions() {
    let folder = Folder::new("banner");
    let shown = |arguments: &[&str]| {
        let terminal = Terminal::with(&folder, arguments, &[], 80);
        let shown = terminal.shown();
        shown.split("kal> ").next().map(str::to_owned).expect("there is a prompt")
    };
    let banner = shown(&["--color", "never"]);
    assert!(banner.contains(concat!("Kal ", env!("CARGO_PKG_VERSION"), " on LLVM 22.")), "{banner}");
    assert_eq!(banner.matches('\n').count(), 1, "{banner}");
    assert!(!shown(&["--quiet"]).contains("LLVM"));
}

/// Returns a terminal with `kal debug` of a program.
pub fn debugging(folder: &Folder, program: &str, arguments: &[&str]) -> Terminal {
    std::fs::write(folder.path().join("p.kal"), program).expect("it can be written");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_kal"));
    command.arg("debug");
    command.args(arguments);
    command.arg("p.kal");
    Terminal::running(folder, command, &[], 80)
}

/// Says again and again that its endless run is in progress.
const ENDLESS: &str = "\
def spin(n) for i = n, i > 0, 0 in (for j = 0, j < 100000 in j) + printd(77)
spin(1)
99
";

#[test]
fn ctrl_c_breaks_in_and_clears_the_line_at_the_debuggers_prompt() {
    let folder = Folder::new("debug-break-in");
    let mut terminal = debugging(&folder, ENDLESS, &["-b", "nosuch"]);
    terminal.wait_for("77\n");
    terminal.press(CTRL_C);
    terminal.wait_for("interrupted\nspin(n) at p.kal:1");
    terminal.wait_for("1|debug> ");
    terminal.press("half a li");
    // Every key draws the prompt again: the one to wait for is the next.
    terminal.wait_for("half a li");
    terminal.press(CTRL_C);
    terminal.wait_for("1|debug> ");
    terminal.press("n + 41\r");
    terminal.wait_for("\n42\n");
    // It continues, and can be stopped again; this time it is ended.
    terminal.press("c\r");
    terminal.wait_for("77\n");
    terminal.press(CTRL_C);
    terminal.wait_for("interrupted\nspin(n) at p.kal:1");
    terminal.press("i = 0\r");
    terminal.wait_for("\n0\n");
    terminal.press("c\r");
    terminal.wait_for("\n99\n");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn ctrl_c_in_compiled_code_says_why_the_run_is_over() {
    let folder = Folder::new("debug-compiled");
    let mut terminal = debugging(&folder, ENDLESS, &["--lazy", "-b", "nosuch"]);
    terminal.wait_for("77\n");
    terminal.press(CTRL_C);
    terminal.wait_for("interrupted in compiled code, which cannot be resumed");
    terminal.wait_for(", compiled");
    terminal.wait_for("1|debug> ");
    terminal.press("bt\r");
    terminal.wait_for("this expression");
    terminal.press("q\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn the_debuggers_prompt_completes_and_leaves_quietly() {
    let folder = Folder::new("debug-completes");
    let program = "def longest(counter) counter + 1\nlongest(6)\n";
    let mut terminal = debugging(&folder, program, &["-b", "longest"]);
    terminal.wait_for("1|debug> ");
    terminal.press("coun\t * 6 + 1\r");
    terminal.wait_for("\n37\n");
    terminal.press("backt\t\r");
    terminal.wait_for(">  1 longest(counter)");
    // Before the prompt, the terminal itself would take Ctrl-D.
    terminal.wait_for("1|debug> ");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.shown().contains("E0304"), "{}", terminal.shown());
}

#[test]
fn ctrl_c_breaks_in_at_the_prompt_while_something_is_debugged() {
    let folder = Folder::new("debug-at-prompt");
    let mut terminal = Terminal::with(&folder, &["--quiet", "--interpret"], &[], 80);
    terminal.answer(
        "def spin(n) for i = n, i > 0, 0 in (for j = 0, j < 100000 in j) + printd(77)",
        "spin(n) defined",
    );
    terminal.press(":debug spin(1)\r");
    terminal.wait_for("1|debug> ");
    terminal.press("c\r");
    terminal.wait_for("77\n");
    terminal.press(CTRL_C);
    // The terminal's own `^C` may come in between.
    terminal.wait_for("interrupted\n");
    terminal.wait_for("spin(n) at <input>:1");
    terminal.wait_for("1|debug> ");
    terminal.press("q\r");
    terminal.wait_for("kal> ");
    terminal.answer("6 * 7", "42");
    assert!(!terminal.shown().contains("E0304"), "{}", terminal.shown());
}

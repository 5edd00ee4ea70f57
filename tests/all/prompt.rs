//! The prompt without a terminal: what commands do to a session.

use crate::binary::{Ran, feed, kal, run};
use crate::transcripts::Folder;
use std::fmt::Write;

/// Types lines at a prompt in a folder.
fn session(folder: &Folder, input: &str) -> Ran {
    feed(kal().args(["repl", "--no-init"]).current_dir(folder.path()), input.as_bytes())
}

fn lines(ran: &Ran) -> Vec<&str> {
    ran.out().lines().collect()
}

/// What a saved session answers to `questions`, and what it answered before.
fn saved_and_loaded(name: &str, definitions: &str, questions: &str) {
    let folder = Folder::new(name);
    let before = session(&folder, &format!("{definitions}\n:save s.kal\n{questions}\n"));
    let script = std::fs::read_to_string(folder.path().join("s.kal")).expect("it was saved");
    let answers = |ran: &Ran| {
        let values = ran.out().lines().filter(|line| line.parse::<f64>().is_ok());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    let count = questions.lines().count();
    let mut before = answers(&before);
    let before = before.split_off(before.len() - count);
    let path = folder.path().join("s.kal").display().to_string();
    let checked = run(&["check", &path]);
    assert_eq!(checked.err(), "", "{script}");
    let after = feed(kal().args(["-e", &(script.clone() + &questions.replace('\n', ";\n"))]), b"");
    assert_eq!(answers(&after), before, "{script}\n{}", after.err());
}

#[test]
fn a_saved_session_gives_the_same_answers() {
    let cases = [
        ("redefined", "def f(x) x\ndef g(x) f(x) + 1\ndef f(x) x * 10", "g(2)\nf(3)"),
        (
            "precedence",
            "def binary | 5 (a b) a * 10 + b\ndef f(a b) a + 1 | b + 2\ndef binary | 50 (a b) a * 10 + b\n\
             def g(a b) a + 1 | b + 2",
            "f(1, 2)\ng(1, 2)\n1 + 1 | 2",
        ),
        (
            "built-in",
            "def f(a b) a + b * 2\ndef binary + 5 (a b) a - b\ndef g(a b) a + b * 2\n\
             def binary * 3 (a b) f(a, b)\ndef h(a b) a + b * 2",
            "f(1, 2)\ng(1, 2)\nh(1, 2)\n1 + 2",
        ),
        (
            "circle",
            "def binary & 7 (a b) a + b\ndef binary | 8 (a b) if a < 1 then b else (a - 1) & b\n\
             def binary & 7 (a b) if a < 1 then b + 100 else (a - 1) | b",
            "5 & 2\n4 | 3",
        ),
        (
            "late",
            "def binary | 5 (a b) a + b\ndef f(x) x + 1 | 2\ndef binary + 20 (a b) a - b\n\
             def binary | 5 (a b) a + b",
            "f(1)\n1 | 2",
        ),
        (
            "mutual",
            "def even(n) if n == 0 then 1 else odd(n - 1)\ndef odd(n) if n == 0 then 0 else even(n - 1)",
            "even(10)\nodd(10)",
        ),
        (
            "variables",
            "var a = 0.1 + 0.2, b = -0, c = 1 / 0, d = -1e-300\ndef f(x) a = a + x\ndef g() ans * 2\nf(1)\n7",
            "g()\na\nb\nc\nd\nf(1)",
        ),
        ("unary", "def unary ! (x) x + 100\ndef unary - (x) !x\ndef f(x) -x", "f(1)\n-1\n!1"),
        ("host", "def f(x) sqrt(x)\ndef sqrt(x) x * 2\ndef g(x) sqrt(x)", "f(8)\ng(8)"),
        ("documented", "## Doc.\ndef f(x) # inner\n  x", "f(1)"),
    ];
    for (name, definitions, questions) in cases {
        saved_and_loaded(name, definitions, questions);
    }
}

#[test]
fn undo_compiles_nothing() {
    let folder = Folder::new("undo");
    let linked = |ran: &Ran| -> Vec<u64> {
        let figures = ran.out().lines().filter_map(|line| line.strip_prefix("objects linked"));
        figures.map(|figure| figure.trim().parse().expect("a number")).collect()
    };
    let ran =
        session(&folder, "def f(x) x\nf(3)\ndef f(x) x * 2\nf(3)\n:stats\n:undo\n:state f\n:stats\nf(3)\n");
    let counts = linked(&ran);
    assert_eq!(counts[0], counts[1]);
    assert!(ran.out().contains("f(x) materialized"), "{}", ran.out());
    assert_eq!(lines(&ran).last(), Some(&"3"));
}

#[test]
fn trace_shows_what_happens_in_order() {
    let folder = Folder::new("trace");
    let ran = session(&folder, ":trace on\ndef f(x) x\nf(1)\ndef f(x) x + 1\nf(1)\n:trace off\ndef g() 1\n");
    let traced: Vec<&str> =
        lines(&ran).into_iter().filter_map(|line| Some(line.split_once("ms] ")?.1)).collect();
    let kinds =
        ["f pending", "f materializing", "f materialized in", "f redefined, pending", "f materializing"];
    assert!(
        traced.len() == 6 && traced.iter().zip(kinds).all(|(line, kind)| line.starts_with(kind)),
        "{traced:?}"
    );
}

#[test]
fn reload_redefines_what_has_changed() {
    let folder = Folder::new("reload");
    let text = |changed: &str| {
        (0..200).fold(String::new(), |mut text, number| {
            let body = if number == 77 { changed } else { "x" };
            let _ = writeln!(text, "def f{number}(x) {body} + {number}");
            text
        })
    };
    std::fs::write(folder.path().join("a.kal"), text("x")).expect("it can be written");
    std::fs::write(folder.path().join("b.kal"), text("x  # same\n")).expect("written");
    std::fs::write(folder.path().join("c.kal"), text("2 * x")).expect("it can be written");
    let ran = session(&folder, ":load a.kal\n:load b.kal\n:load c.kal\nf77(1)\n");
    let expected = ["a.kal: 200 defined", "b.kal: 200 unchanged", "c.kal: 1 redefined, 199 unchanged", "79"];
    assert_eq!(lines(&ran), expected);
}

#[test]
fn bad_files_leave_the_session_intact() {
    let folder = Folder::new("bad");
    std::fs::write(folder.path().join("latin.kal"), b"1\n\xe9\n").expect("it can be written");
    let mut input = String::from("def f(x) x\n:load nowhere.kal\n:load latin.kal\n:load .\n");
    input.push_str(":save nowhere/s.kal\n:save /proc/s.kal\n:plot sin 0..1 --svg nowhere/a.svg\n");
    input.push_str(":watch nowhere.kal\n:nonsense\n:edit\nf(42)\n");
    let ran = feed(kal().args(["repl", "--no-init"]).current_dir(folder.path()), input.as_bytes());
    assert_eq!(lines(&ran), ["f(x) defined", "42"]);
    let said: Vec<&str> = ran.err().lines().collect();
    assert_eq!(said.len(), 9, "{said:#?}");
    assert!(said.iter().all(|line| line.starts_with("error: ")), "{said:#?}");
    assert_eq!(said[1], "error: latin.kal: line 2 is not UTF-8 text");
    assert_eq!(said[8], "error: usage: :edit NAME");
    assert_eq!(ran.code, Some(1));
}

#[test]
fn junk_on_standard_input_is_answered() {
    let folder = Folder::new("junk");
    let junk: Vec<u8> = (0..5000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let mut input = junk;
    input.extend_from_slice(b"\n;\n\n1 + 1\n");
    let ran = feed(kal().args(["repl", "--no-init"]).current_dir(folder.path()), &input);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err().contains("error["), "{}", ran.err());
    assert!(!ran.err().contains("bug"), "{}", ran.err());
}

#[test]
fn curves_fit_their_width_and_files_are_pictures() {
    let folder = Folder::new("plot");
    for width in [80, 120] {
        let mut command = kal();
        command.args(["repl", "--no-init"]).env("COLUMNS", width.to_string());
        let ran = feed(&mut command, b":plot sin 0..6.28\n");
        let widest = ran.out().lines().map(|line| line.chars().count()).max();
        assert!(widest > Some(width - 5) && widest <= Some(width), "{}", ran.out());
        let dots: Vec<Option<usize>> = ran.out().lines().map(|line| line.find(is_dotted)).collect();
        // The sine begins in the middle, has its top in the left half and its
        // bottom in the right half.
        let first = |row: usize| dots[row].expect("the row has dots");
        let rows = dots.iter().filter(|dot| dot.is_some()).count();
        assert!(first(0) < first(rows - 1), "{}", ran.out());
    }
    let ran = session(&folder, ":plot x < 1, x = 0..2 --svg a b.svg\n:plot 0/0, x = 0..1\n:plot sin 1..0\n");
    assert_eq!(lines(&ran), ["a b.svg: drawn"]);
    let svg = std::fs::read_to_string(folder.path().join("a b.svg")).expect("it was drawn");
    assert!(svg.starts_with("<svg ") && svg.contains("x &lt; 1") && svg.ends_with("</svg>\n"), "{svg}");
    let expected = [
        "error: 0/0 has no finite value there",
        "error: the plot's limits must be two numbers, the lower one first",
    ];
    assert_eq!(ran.err().lines().collect::<Vec<_>>(), expected);
}

fn is_dotted(character: char) -> bool {
    ('\u{2801}'..='\u{28ff}').contains(&character)
}

#[test]
fn the_own_file_runs_first() {
    let folder = Folder::new("init");
    std::fs::create_dir_all(folder.path().join("kal")).expect("a directory");
    std::fs::write(folder.path().join("kal/init.kal"), "def mine(x) x + 1").expect("a file");
    let with = feed(kal().arg("repl").env("XDG_CONFIG_HOME", folder.path()), b"mine(1)\n:undo\n");
    assert_eq!(lines(&with), ["2", "nothing to undo"]);
    let mut without = kal();
    without.args(["repl", "--no-init"]).env("XDG_CONFIG_HOME", folder.path());
    assert!(feed(&mut without, b"mine(1)\n").err().contains("E0301"));
}

#[test]
fn pasted_transcripts_run() {
    let folder = Folder::new("pasted");
    let ran = session(&folder, ":reset\n## Doc.\ndef f(x)\n  x\n?f\n:ast f(\n1)\n");
    let answer = ran.out();
    assert!(answer.contains("f(x) defined\nf(x)\n    Doc.\n"), "{answer}");
    assert!(answer.ends_with("(f 1)\n"), "{answer}");
}

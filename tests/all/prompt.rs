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

/// Checks that a saved session answers `questions` as it did before.
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
        (
            "operators given to what is redefined",
            "import stats\ndef unary √ (x) sqrt(x)\ndef q(x) stats.mean(unary√, 1, x)\n\
             def stats.mean(f(i) a b) f(a) + f(b)",
            "q(16)\n√9",
        ),
        (
            "operators defined again",
            "def binary - 20 (x y) x - (1 + y)\ndef binary - 20 (x y) x - (2 + y)",
            "5 - 2",
        ),
        (
            "given",
            "def apply(f(x) x) f(x) + 1\ndef sq(x) x * x\ndef main(x) apply(sq, x)\nvar sq = 3\n\
             def binary & 5 (a b) a + b * sq\ndef both(x) sq & main(x)\ndef local(sq) sq",
            "main(2)\nboth(2)\nsq",
        ),
        (
            "given between operators",
            "def apply(f(x) x) f(x) + 1\ndef binary & 5 (a b) a + b\ndef sq(x) x * x\n\
             def main(x) apply(sq, x & 1)\nvar sq = 3\ndef binary & 5 (a b) a + b * sq",
            "main(2)\n1 & 2",
        ),
        (
            "constant",
            "def area(r) pi * r * r\nvar pi = 3\ndef other(r) pi * r * r\ndef local(e) e\nvar e = 2",
            "area(1)\nother(1)\nlocal(1)\ne",
        ),
        (
            "printing",
            "def show(x) print(fixed(x, 2))\ndef print(x) x + 1\ndef g(x) print(x)\ndef pad(x) x",
            "g(2)\nprint(4)",
        ),
        ("documented", "## Doc.\ndef f(x) # inner\n  x", "f(1)"),
    ];
    for (name, definitions, questions) in cases {
        saved_and_loaded(name, definitions, questions);
    }
}

#[test]
fn a_call_that_gives_what_is_no_longer_taken_is_saved_before_its_callee() {
    let folder = Folder::new("no-longer-taken");
    let definitions =
        "def apply(f(x) x) f(x) + 1\ndef sq(x) x * x\ndef main(x) apply(sq, x)\ndef apply(x) -x";
    session(&folder, &format!("{definitions}\n:save s.kal\n"));
    let ran = session(&folder, ":load s.kal\nsq(3)\napply(3)\nmain(3)\n");
    assert_eq!(lines(&ran)[1..], ["9", "-3"], "{}", ran.err());
    assert!(ran.err().contains("`apply` takes no functions"), "{}", ran.err());
}

#[test]
fn a_timeout_ends_the_session() {
    let folder = Folder::new("timeout");
    let mut command = kal();
    command.args(["repl", "--no-init", "--timeout", "500ms"]).current_dir(folder.path());
    for typed in ["for i = 0, 1 in i; 2\n1 + 1\n", ":time for i = 0, 1 in i\n1 + 1\n"] {
        let ran = feed(&mut command, typed.as_bytes());
        assert_eq!((ran.code, ran.out()), (Some(124), ""), "{typed}");
        let told = ran.said();
        assert!(told.len() == 1 && told[0].starts_with("error[E0305]"), "{told:?}");
    }
}

#[test]
fn the_prompt_shows_control_characters() {
    let folder = Folder::new("escapes");
    std::fs::write(folder.path().join("a\x1bb.kal"), "## A \x1b[31mred\x07 one.\ndef f(x) x\n").unwrap();
    let ran = session(&folder, ":help \x1b[31m\n:load a\x1bb.kal\n?f\n:save b\x1b.kal\n:no\x1b\n");
    assert!(!ran.out().contains('\x1b') && !ran.err().contains('\x1b'), "{}{}", ran.out(), ran.err());
    assert!(ran.err().starts_with("error: `␛[31m`"), "{}", ran.err());
    let answers = lines(&ran);
    assert_eq!(answers[..3], ["a␛b.kal: 1 defined", "f(x)", "    A ␛[31mred␇ one."]);
    assert!(answers.contains(&"from       a␛b.kal:2"), "{answers:?}");
    assert_eq!(answers.last(), Some(&"b␛.kal: 1 definition saved"));
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
    assert!(ran.out().contains("f(x) compiled (quick), "), "{}", ran.out());
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
    let ran = session(&folder, ":watch a.kal\n:reload\n");
    assert_eq!((ran.err(), lines(&ran)), ("", vec!["a.kal: 200 defined", "a.kal: 200 unchanged"]));
}

#[test]
fn bad_files_leave_the_session_intact() {
    let folder = Folder::new("bad");
    std::fs::write(folder.path().join("latin.kal"), b"1\n\xe9\n").expect("it can be written");
    let mut input = String::from("def f(x) x\n:load nowhere.kal\n:load latin.kal\n:load .\n");
    input.push_str(":save nowhere/s.kal\n:save /proc/s.kal\n:plot sin 0..1 --svg nowhere/a.svg\n");
    input.push_str(":watch nowhere.kal\n:nonsense\n:edit\nf(42)\n");
    let mut command = kal();
    command
        .args(["repl", "--no-init"])
        .current_dir(folder.path())
        .env_remove("VISUAL")
        .env("EDITOR", "false");
    let ran = feed(&mut command, input.as_bytes());
    assert_eq!(lines(&ran), ["f(x) defined", "42"]);
    let said: Vec<&str> = ran.err().lines().collect();
    assert_eq!(said.len(), 9, "{said:#?}");
    assert!(said.iter().all(|line| line.starts_with("error: ")), "{said:#?}");
    assert_eq!(said[1], "error: latin.kal: line 2 is not UTF-8 text");
    assert_eq!(said[8], "error: the editor `false` failed: exit status: 1");
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
    assert_eq!(lines(&ran).last(), Some(&"2"));
}

#[test]
fn whatever_has_a_name_can_be_dropped() {
    let folder = Folder::new("drop");
    let ran = session(
        &folder,
        "def binary | 5 (a b) a + b\ndef unary ! (x) x * 2\ndef f(x) !x | v()\nvar v = 7, w = 1\n\
         :drop !\n:drop binary |\n:drop w\n:undo\nw\n:drop ans\n\
         def sin(x) x\ndef g(x) sin(x) + w\n:drop sin\ng(0)\n:drop f\n",
    );
    let expected = [
        "binary | 5 (a b) defined",
        "unary ! (x) defined",
        "f(x) defined",
        "v = 7",
        "w = 1",
        "unary! dropped; f will fail",
        "binary| dropped; f will fail",
        "w dropped",
        "w restored",
        "1",
        "ans dropped",
        "sin(x) defined",
        "g(x) defined",
        "sin dropped; g will call the built-in one",
        "1",
        "f dropped",
    ];
    assert_eq!(lines(&ran), expected);
    let refused = session(&folder, "var w = 1\ndef g(x) w = x\n:drop w\n:drop cos\n:drop +\n?w\n");
    let expected = [
        "error: `w` is used by g",
        "error: `cos` is built in and cannot be dropped",
        "error: `+` is built in and cannot be dropped",
    ];
    assert_eq!(refused.err().lines().collect::<Vec<_>>(), expected);
    assert_eq!(lines(&refused)[2..], ["w = 1, a variable", "used by    g"]);
}

#[test]
fn every_definition_shows_its_own_tier() {
    let typed = "def quick(x) x + 1\ndef full(n) for i = 0, i < n in i\ndef never() 1\n\
                 quick(1) + full(1)\n:list\n:state quick\n";
    let tiers = |arguments: &[&str]| -> Vec<String> {
        let ran = feed(kal().args(["repl", "--no-init"]).args(arguments), typed.as_bytes());
        let of = |name: &str| ran.out().lines().rfind(|line| line.starts_with(name)).map(str::to_owned);
        ["full(n)", "never()", "quick(x)"].iter().filter_map(|name| of(name)).collect()
    };
    let starts = |found: Vec<String>, expected: [&str; 3]| {
        let fits = found.iter().zip(expected).all(|(line, start)| {
            let (_, state) = line.split_once(')').expect("a signature");
            state.trim_start().starts_with(start)
        });
        assert!(found.len() == 3 && fits, "{found:?}");
    };
    starts(tiers(&[]), ["compiled (quick), ", "not compiled yet", "compiled (quick), "]);
    let hot = ["--tier-up-after", "1", "--tier-up-waits"];
    starts(tiers(&hot), ["compiled (-O2), ", "not compiled yet", "compiled (-O2), "]);
    starts(tiers(&["--no-tier-up", "-O1"]), ["compiled (-O1), ", "not compiled yet", "compiled (-O1), "]);
    starts(tiers(&["--interpret"]), ["interpreted", "not called yet", "interpreted"]);
}

#[test]
fn every_stage_is_shown_where_programs_are_interpreted() {
    let folder = Folder::new("stages");
    let typed = b"def f(x) x * 2\n:tape f\n:ir f\n:asm f\nf(21)\n:tape def g(x) sin(x)\n:tape 1 +\n2\n";
    let mut command = kal();
    command.args(["repl", "--no-init", "--interpret"]).current_dir(folder.path());
    let ran = feed(&mut command, typed);
    assert_eq!(ran.err(), "");
    for part in ["f: 1 local, ", "_ = x * 2", "fmul double", "f$impl:", "\n42\n", "_ = host sin", "_ = _ + 2"]
    {
        assert!(ran.out().contains(part), "{part}: {}", ran.out());
    }
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
    assert!(svg.contains("<title>x &lt; 1</title>"), "{svg}");
    let elements = elements(&svg);
    let (root, attributes) = &elements[0];
    assert_eq!(root, "svg");
    assert!(attributes.contains(&("xmlns".into(), "http://www.w3.org/2000/svg".into())), "{attributes:?}");
    assert!(attributes.contains(&("viewBox".into(), "0 0 860 500".into())), "{attributes:?}");
    let of_curve = |(name, attributes): &&(String, Vec<(String, String)>)| {
        name == "path" && attributes.contains(&("class".into(), "curve".into()))
    };
    let (_, curve) = elements.iter().find(of_curve).expect("there is a curve");
    let (_, path) = curve.iter().find(|(name, _)| name == "d").expect("it has a path");
    let points: Vec<f64> = path
        .split(['M', 'L', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().unwrap())
        .collect();
    // A step from 1 to 0 in the middle of the frame.
    assert!(points.len() == 4000 && points[0] == 70.0 && points[3998] == 830.0, "{path}");
    assert!(points[1] < points[3999] && points[1] == points[1001] && points[3001] == points[3999]);
    let expected = [
        "error: 0/0 has no finite value there",
        "error: the plot's limits must be two numbers, the lower one first",
    ];
    assert_eq!(ran.err().lines().collect::<Vec<_>>(), expected);
}

/// Returns the elements of an XML document, in the order in which they begin,
/// with their attributes. Panics if it is not well formed.
fn elements(document: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut elements = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let (text, mut rest) = document.split_once('<').expect("there is an element");
    assert_eq!(text.trim(), "");
    loop {
        let (tag, after) = rest.split_once('>').expect("a tag ends");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else {
            let inner = tag.strip_suffix('/').unwrap_or(tag);
            let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
            let parts: Vec<&str> = attributes.split('"').collect();
            assert!(parts.len() % 2 == 1 && parts[parts.len() - 1].trim().is_empty(), "{tag}");
            let attribute = |pair: &[&str]| {
                let name = pair[0].trim().strip_suffix('=').expect("a name and a value");
                assert!(!pair[1].contains('<'), "{tag}");
                (name.to_owned(), pair[1].to_owned())
            };
            elements.push((name.to_owned(), parts.chunks_exact(2).map(attribute).collect()));
            if inner.len() == tag.len() {
                open.push(name);
            }
        }
        let (text, next) = match after.split_once('<') {
            Some((text, next)) => (text, Some(next)),
            None => (after, None),
        };
        let is_reference =
            |part: &str| ["amp;", "lt;", "gt;", "quot;"].iter().any(|name| part.starts_with(name));
        assert!(text.split('&').skip(1).all(is_reference), "{text}");
        match next {
            Some(next) if !open.is_empty() => rest = next,
            Some(next) => panic!("something follows the root: {next}"),
            None => {
                assert_eq!((open.len(), text), (0, "\n"));
                return elements;
            }
        }
    }
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

#[test]
fn what_is_probably_not_meant_is_told_once_it_has_run() {
    let folder = Folder::new("lints");
    let input = "var x = 1\nif x = 0 then 1 else 2\n1; 2\n(1+2)(3+4)\ndef f(unused) 1 + 1\n1 < 2 < 3\nif x = 0 then y else 2\n";
    let ran = session(&folder, input);
    assert_eq!(lines(&ran), ["x = 1", "2", "1", "2", "3", "7", "f(unused) defined", "1"]);
    let told: Vec<String> = ran.said().into_iter().filter(|line| !line.starts_with("  help")).collect();
    let expected = [
        "warning[W0401] 1:4 an assignment as a condition",
        "warning[W0402] 1:6 a second item on the line, with no `;` before it",
        "error[E0201] 1:15 unknown variable `y`",
    ];
    assert_eq!(told, expected);
}

#[test]
fn a_file_that_is_loaded_stops_at_its_first_error() {
    let folder = Folder::new("load-stops");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
    write("fails.kal", "var n = 1\ndef f(x) x\nf(2)\nmissing(3)\nprintd(99)\ndef g(x) x\n");
    write("misread.kal", "def h(x) x\n1 + )\nprintd(99)\n2 * *\n");
    let ran = session(&folder, ":load fails.kal\nf(n)\ng(1)\n:load misread.kal\nh(5)\n");
    assert_eq!(
        lines(&ran),
        [
            "2",
            "fails.kal: 1 defined, 1 failed; stopped there",
            "1",
            "misread.kal: 1 defined, 1 failed; stopped there",
            "5"
        ]
    );
    let errors: Vec<String> = ran.said().into_iter().filter(|line| line.starts_with("error")).collect();
    let codes: Vec<&str> = errors.iter().map(|line| &line[..16]).collect();
    // All syntax errors are reported, as when the file is run by itself.
    assert_eq!(codes, ["error[E0301] 4:1", "error[E0301] 1:1", "error[E0103] 2:5", "error[E0103] 4:5"]);
}

#[test]
fn a_reload_says_that_it_sets_variables() {
    let folder = Folder::new("reload-sets");
    std::fs::write(folder.path().join("a.kal"), "var n = 1, m = 2\nvar k = 3\ndef f(x) x\n")
        .expect("written");
    let ran = session(&folder, "var k = 5\n:load a.kal\nn = 7\n:reload\nn\n");
    let expected = [
        "k = 5",
        "a.kal: 1 defined, 1 variable set again",
        "7",
        "a.kal: 1 unchanged, 3 variables set again",
        "1",
    ];
    assert_eq!((ran.err(), lines(&ran)), ("", expected.to_vec()));
}

#[test]
fn digits_do_not_end_the_name_of_a_command() {
    let folder = Folder::new("save2");
    let ran = session(&folder, "def f(x) x\n:save2 x.kal\n:list3\n");
    assert_eq!(
        ran.err(),
        "error: unknown command `:save2`; did you mean `:save`?\n\
         error: unknown command `:list3`; did you mean `:list`?\n"
    );
    let files = std::fs::read_dir(folder.path()).expect("it is there").count();
    assert_eq!(files, 0);
}

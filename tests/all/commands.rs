//! The prompt's commands: help, lists, files, the editor, figures, plots.

use crate::binary::{Ran, feed, kal};
use crate::transcripts::Folder;
use std::path::Path;

/// Types lines at a prompt in a folder.
fn session(folder: &Folder, input: &str) -> Ran {
    feed(kal().args(["repl", "--no-init"]).current_dir(folder.path()), input.as_bytes())
}

/// Returns the lines of the answers to inputs.
fn answers(name: &str, input: &str) -> Vec<String> {
    let ran = session(&Folder::new(name), input);
    assert_eq!(ran.err(), "", "{input}");
    ran.out().lines().map(str::to_owned).collect()
}

#[test]
fn a_variable_of_the_program_is_not_the_last_value() {
    assert_eq!(
        answers("own ans", "5\nans\nvar ans = 10\n7\nans\n:list\n")[..5],
        ["5", "5", "ans = 10", "7", "10"]
    );
    assert!(answers("list ans", "var ans = 10\n7\n:list\n").contains(&"ans = 10".to_owned()));
    assert_eq!(answers("reset ans", "var ans = 10\n:reset\n7\nans\n")[2..], ["7", "7"]);
}

#[test]
fn commands_evaluate_what_takes_functions() {
    let plot = answers("plot instance", "import calculus\n:plot integral(sin, 0, x), x = 0..1\n");
    assert!(plot.len() > 5, "{plot:?}");
    let input = "def ap(f(x) x) f(x) * 2\n:debug ap(sqrt, 4)\nap(cbrt, 27)\ndef q() ap(fabs, -1)\nq()\nc\n";
    let debugged = answers("debug instance", input);
    for value in ["6", "2", "4"] {
        assert!(debugged.contains(&value.to_owned()), "{debugged:?}");
    }
}

/// Returns what is said about inputs that are wrong.
fn complaints(name: &str, input: &str) -> Vec<String> {
    session(&Folder::new(name), input).err().lines().map(str::to_owned).collect()
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).expect("it can be read")
}

#[test]
fn save_overwrites_only_what_it_wrote() {
    let folder = Folder::new("save-over");
    let (mine, own) = (folder.path().join("mine.kal"), folder.path().join("s.kal"));
    let text = "# Mine.\ndef f(x) x*x\nf(3)\n";
    std::fs::write(&mine, text).unwrap();
    std::fs::write(folder.path().join("empty.kal"), "").unwrap();
    let ran =
        session(&folder, ":load mine.kal\n:save mine.kal\n:save s.kal\n:save empty.kal\n:save /dev/null\n");
    assert_eq!(read(&mine), text);
    assert_eq!(ran.err(), "error: mine.kal was not written by :save; `:save! mine.kal` overwrites it\n");
    let saved = ["s.kal", "empty.kal", "/dev/null"].map(|name| format!("{name}: 1 definition saved"));
    assert_eq!(ran.out().lines().skip(2).collect::<Vec<_>>(), saved);

    // A later session recognises its files, but not once they are edited.
    let ran = session(&folder, "def g(x) x\n:save s.kal\n");
    assert_eq!((ran.err(), read(&own).contains("def g(x) x")), ("", true));
    let edited = read(&own) + "# A thought.\n";
    std::fs::write(&own, &edited).unwrap();
    let ran = session(&folder, "def h(x) x\n:save s.kal\n");
    assert_eq!(ran.err(), "error: s.kal was edited after :save wrote it; `:save! s.kal` overwrites it\n");
    assert_eq!(read(&own), edited);
    let ran = session(&folder, "def h(x) x\n:save! s.kal\n:save s.kal\n:save! mine.kal\n");
    assert_eq!(ran.err(), "");
    assert!(read(&own).contains("def h(x) x") && !read(&own).contains("thought"));
    assert_eq!(read(&own), read(&mine));
}

#[test]
fn save_says_what_it_cannot_save() {
    let folder = Folder::new("save-left-out");
    let defined = "def binary~ 15 (a b) a - b\ndef near(x)\n  x ~ 2\ndef far(x) x * 2\n:drop binary~\n";
    for file in ["s.kal", "s.kses"] {
        let ran = session(&folder, &format!("{defined}:save {file}\n"));
        let said: Vec<&str> = ran.out().lines().rev().take(2).collect();
        assert!(said[1].starts_with(&format!("{file}: 1 definition saved")), "{}", ran.out());
        assert_eq!(said[0], "near: only as a comment, since an operator was dropped");
        let text = String::from_utf8_lossy(&std::fs::read(folder.path().join(file)).unwrap()).into_owned();
        assert!(text.contains("# def near(x)\n#   x ~ 2\n"), "{text}");
    }
}

#[test]
fn pictures_overwrite_nothing_but_pictures() {
    let folder = Folder::new("plot-over");
    let mine = folder.path().join("mine.kal");
    std::fs::write(&mine, "def f(x) x\n").unwrap();
    let ran = session(&folder, ":plot sin --svg a.svg\n:plot cos --svg a.svg\n:plot sin --svg mine.kal\n");
    assert_eq!(ran.out(), "a.svg: drawn\na.svg: drawn\n");
    assert_eq!(ran.err(), "error: mine.kal is not a picture, so it was not overwritten\n");
    assert_eq!(read(&mine), "def f(x) x\n");
    assert!(read(folder.path().join("a.svg")).contains("<title>cos(x)</title>"));
}

#[test]
fn watched_files_are_listed_and_left_alone() {
    let folder = Folder::new("watched");
    ["a.kal", "b.kal"]
        .iter()
        .for_each(|name| std::fs::write(folder.path().join(name), "def f(x) x\n").unwrap());
    let typed = ":watch\n:watch a.kal\n:watch b.kal\n:watch\n:watch off a.kal\n:watch\n:watch off a.kal\n:watch off\n:watch\n";
    let ran = session(&folder, typed);
    let expected = [
        "no file is watched",
        "a.kal: 1 defined",
        "b.kal: 1 unchanged",
        "a.kal",
        "b.kal",
        "b.kal",
        "no file is watched",
    ];
    assert_eq!(
        (ran.out().lines().collect::<Vec<_>>(), ran.err()),
        (expected.to_vec(), "error: a.kal is not watched\n")
    );
}

#[test]
fn a_module_that_is_not_imported_any_more_lists_no_variables() {
    let folder = Folder::new("undone-import");
    let ran = session(&folder, "import math\n:undo\n:list\n");
    assert_eq!(
        ran.out().lines().collect::<Vec<_>>(),
        ["math imported", "math no longer imported", "nothing is defined"]
    );
}

#[test]
fn a_module_and_a_command_of_one_name_are_both_explained() {
    let folder = Folder::new("help-stats");
    let ran = session(&folder, ":help stats\n:help :stats\n");
    let said = ran.out().lines().collect::<Vec<_>>();
    let hint = said.iter().position(|line| *line == "There is a command of that name, too: `:help :stats`");
    assert_eq!(hint.map(|at| said[at + 1].starts_with(":stats")), Some(true), "{said:?}");
}

#[test]
fn saved_definitions_keep_the_comments_after_them() {
    let folder = Folder::new("save-comments");
    let ran = session(&folder, "def f(x) x + 1  # one more\n:save s.kal\n");
    assert_eq!(ran.err(), "");
    assert!(read(folder.path().join("s.kal")).ends_with("\ndef f(x) x + 1  # one more\n"));
}

#[test]
fn whatever_is_built_in_has_help() {
    let lines = answers("help-built-in", "?sin\n?atan2\n?+\n?for\n:help :q\n");
    let expected = [
        "sin(x)",
        "    the sine of x, in radians",
        "atan2(y x)",
        "    the angle of the point (x, y), in radians from -pi to pi",
        "x + y",
        "    the sum of x and y",
        "precedence 20, groups to the left",
        "for I = START, CONDITION in BODY",
        "    repeats BODY while CONDITION is true; its value is 0",
        "    BODY runs before CONDITION is tested, so it runs at least once:",
        "    `for i = 1, i < n in printd(i)` prints 1 to n.",
        "    Each time I grows by 1, or STEP: `for I = START, CONDITION, STEP in BODY`.",
        "    0 and nan are false, every other number is true.",
        ":quit",
        "    leave; also Ctrl-D; short: :q",
    ];
    assert_eq!(lines, expected);
    let minus = answers("help-minus", "?-\ndef unary - (x) x\n?-\n");
    assert_eq!((minus[0].as_str(), minus[3].as_str()), ("-x", "x - y"));
    assert_eq!((minus[7].as_str(), minus[10].as_str()), ("unary - (x)", "x - y"));
}

#[test]
fn codes_have_help() {
    let lines = answers("help-codes", "?E0301\n:help w0401\n");
    let expected = [
        "E0301",
        "    A call of a function that is not defined, found when it ran.",
        "W0401",
        "    An assignment where a condition is wanted, such as `if x = 0`.",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn everything_the_language_has_can_be_asked_for() {
    let keywords = "def extern import as if then else for in var unary binary";
    let operators = "^ - ! * / % + < > <= >= == != && || =";
    for name in keywords.split(' ').chain(operators.split(' ')) {
        for question in [format!("?{name}\n"), format!(":help {name}\n")] {
            assert!(answers("help-each", &question).len() > 1, "{question}");
        }
    }
    let functions = answers("help-functions", ":help functions\n");
    assert!(functions.contains(&"  sin(x)          the sine of x, in radians".to_owned()), "{functions:#?}");
    assert!(functions.len() > 44, "{functions:#?}");
    let operators = answers("help-operators", ":help operators\n");
    assert!(operators.contains(&"  40  x * y   the product of x and y".to_owned()), "{operators:#?}");
    let keywords = answers("help-keywords", ":help keywords\n");
    assert!(keywords.contains(&"for I = START, CONDITION in BODY".to_owned()), "{keywords:#?}");
}

#[test]
fn what_help_says_of_loops_is_true() {
    let lines = answers(
        "help-loops",
        "for i = 1, i < 3 in printd(i)\nfor i = 1, i < 0 in printd(i)\n\
                                       for i = 1, i < 4, 2 in printd(i)\n",
    );
    assert_eq!(lines, ["1", "2", "3", "0", "1", "0", "1", "3", "5", "0"]);
}

#[test]
fn short_commands_have_fixed_meanings() {
    let folder = Folder::new("short");
    std::fs::write(folder.path().join("a.kal"), "def f(x) x\n").unwrap();
    let ran = session(&folder, ":l a.kal\n:r\n:t f(1)\n:h list\n:? list\n:q\nf(1)\n");
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(lines[..3], ["a.kal: 1 defined", "a.kal: 1 unchanged", "1"]);
    assert!(lines[3].starts_with("parse ") && lines[5].starts_with("run "), "{lines:?}");
    assert_eq!((lines[6], lines[8], lines.len()), (":list", ":list", 10));
    assert_eq!(answers("question", ":?\n"), answers("help", ":help\n"));
}

#[test]
fn a_colon_alone_lists_the_commands() {
    let lines = answers("colon", ":\n");
    assert!(lines[0].starts_with(":help      :quit      :load "), "{lines:?}");
    assert!(lines.len() < 7 && lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
}

#[test]
fn what_other_prompts_know_is_answered() {
    let lines = answers("words", "help\nquit\nexit()\nexit;\n: list\n:!ls\n: what\n");
    let leave = "type :quit or Ctrl-D to leave";
    let expected = [
        "type :help for the commands, ?NAME for help on a name",
        leave,
        leave,
        leave,
        "a command has no blank after the colon: `:list`",
        "there is no shell here; :quit leaves, Ctrl-Z suspends",
        "that is no command; `:` lists them",
    ];
    assert_eq!(lines, expected);
    let own =
        answers("own-words", "def quit(x) x\nvar help = 7\nquit(3)\nhelp\ndef unary : (x) -x\n: help\n");
    assert_eq!(own, ["quit(x) defined", "help = 7", "3", "7", "unary : (x) defined", "-7"]);
    assert_eq!(complaints("arguments", ":quit now\n"), ["error: :quit takes no arguments"]);
}

#[test]
fn names_that_are_nearly_right_are_suggested() {
    let said = complaints(
        "near",
        "def fact(n) n\nvar offset = 1\n?fcat\n:drop fcat\n:state ofset\n?opertors\n?sine\n",
    );
    let near = |typed: &str, meant: &str| format!("error: `{typed}` is not defined; did you mean `{meant}`?");
    let expected = [
        near("fcat", "fact"),
        near("fcat", "fact"),
        near("ofset", "offset"),
        near("opertors", "operators"),
        near("sine", "sin"),
    ];
    assert_eq!(said, expected);
    // A function that misspells a callee does not mean itself.
    let said = complaints("itself", "def g1(x) g(x)\ng1(1)\n").join("\n");
    assert!(said.contains("`g1` calls `g`") && !said.contains("did you mean"), "{said}");
}

#[test]
fn lists_show_variables_and_states() {
    let input = "var a = 1.5, b = 2\ndef f(x) x + a\n:list\nf(1)\n:list\n";
    let lines = answers("list", input);
    assert_eq!(
        lines[3..7],
        ["f(x)  not compiled yet", "a = 1.5", "b = 2", "1 definition (0 compiled, 0 bytes), 2 variables"]
    );
    assert!(lines[8].starts_with("f(x)  compiled (quick), "), "{lines:?}");
    assert_eq!(answers("list-variable", "var a = 1\n:list\n")[1..], ["a = 1", "1 variable"]);
    assert_eq!(answers("list-nothing", ":list\n"), ["nothing is defined"]);
}

#[test]
fn lists_show_what_modules_offer_apart() {
    let lines = answers("list-modules", "import stats\nimport math\nvar z = 2\n:list\n");
    assert_eq!(lines[3..5], ["import stats", "import math"]);
    assert_eq!(lines[5..7], ["z = 2", "math.e = 2.718281828459045"]);
    assert_eq!(lines.last().unwrap(), "1 variable, 5 variables of modules");
    assert!(!lines.iter().any(|line| line.contains("._")), "{lines:?}");
}

#[test]
fn comments_above_declarations_belong_to_variables() {
    let folder = Folder::new("variable-notes");
    let input = "## How long it takes,\n## in seconds.\nvar v = 3\n?v\nvar w = 1\n?w\nv = 4\n:save a.kal\n";
    let ran = session(&folder, input);
    assert_eq!(ran.err(), "");
    let said = [
        "v = 3",
        "v = 3, a variable",
        "    How long it takes,",
        "    in seconds.",
        "w = 1",
        "w = 1, a variable",
    ];
    assert_eq!(ran.out().lines().take(6).collect::<Vec<_>>(), said);
    let saved = read(folder.path().join("a.kal"));
    assert!(saved.contains("## How long it takes,\n## in seconds.\nvar v = 4;\nvar w = 1;\n"), "{saved}");
    let again = session(&folder, ":load a.kal\n?v\n:drop v\nvar v = 1\n?v\n");
    assert!(again.out().contains("v = 4, a variable\n    How long"), "{}", again.out());
    assert_eq!(again.out().lines().last(), Some("v = 1, a variable"));
}

#[test]
fn declarations_of_variables_are_undone() {
    let input = "var a = 1\ndef f() a\nvar b = 2\nvar a = 5\n:undo\n:undo\n:undo\n:undo\n:redo\na\n";
    let lines = answers("undo-variables", input);
    let undone = ["b dropped", "f dropped", "a dropped", "nothing to undo", "a restored", "5"];
    assert_eq!(lines[lines.len() - 6..], undone);
}

#[test]
fn what_is_not_known_yet_is_told_where_it_is() {
    let said = |text: &str| complaints("unknown-yet", text).join("\n");
    assert_eq!(said("?clamp\n"), "error: `clamp` is not defined: `import math` makes it known");
    assert_eq!(said("?stats.mean\n"), "error: `stats.mean` is not defined: `import stats` makes it known");
    assert_eq!(said("?nosuch\n"), "error: `nosuch` is not defined");
    assert_eq!(said(":plot nosuch 0..1\n"), "error: `nosuch` is not defined");
    let comma = "error: between an expression and its range is a comma: `:plot sin(x) / x, x = -10..10`";
    assert_eq!(said(":plot x ^ 2 0..1\n"), comma);
    let two =
        "error: `atan2(y x)` takes 2 arguments, and a curve has one; `:plot atan2(x, 1)` has one variable";
    assert_eq!([said(":plot atan2 0..1\n"), said(":plot atan2\n"), said(":plot sin, atan2\n")], [two; 3]);
    assert_eq!(said(":plot now\n"), "error: `now()` takes 0 arguments, and a curve has one");
    assert_eq!(said(":plot nosuch\n"), "error: `nosuch` is not defined");
    assert!(said(":plot\n").contains("usage: :plot"));
    let usage = "usage: :save FILE; FILE may be left out once the session has a file, FILE.kses";
    assert_eq!(said(":save\n"), format!("error: {usage}"));
    assert!(said("help(sin)\n").contains("at the prompt, `?sin` explains `sin`"));
}

#[test]
fn what_only_ran_inside_of_others_is_inlined() {
    let input = "def g2(x) x * 2 + 1\ndef lp(n) var s = 0 in (for i = 1, i < n in s = s + g2(i)) + s\nlp(3)\n\
                 :state g2\n:state lp\ndef g2(x) x\n:state g2\nlp(3)\n:state g2\n";
    let mut command = kal();
    command.args(["repl", "--no-init", "--no-tier-up"]);
    let ran = feed(&mut command, input.as_bytes());
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(lines[2..4], ["15", "g2(x) inlined"]);
    assert_eq!(lines[4], "lp(n) inlined");
    assert_eq!(lines[6..], ["g2(x) not compiled yet", "6", "g2(x) inlined"]);
}

/// Types lines at a prompt whose editor is a shell command.
fn with_editor(folder: &Folder, editor: &str, input: &str) -> Ran {
    let mut command = kal();
    command.args(["repl", "--no-init"]).current_dir(folder.path()).env_remove("VISUAL").env("EDITOR", editor);
    feed(&mut command, input.as_bytes())
}

#[test]
fn edit_opens_again_what_failed() {
    let folder = Folder::new("edit-again");
    // The first time a mistake is made, the second time it is mended.
    std::fs::write(
        folder.path().join("ed"),
        "if grep -q '+$' \"$1\"; then sed -i 's/+$/+ 1 # kept/' \"$1\"\n\
         else echo 'def bad(x) x +' > \"$1\"; fi\n",
    )
    .unwrap();
    let ran = with_editor(&folder, "sh ed", ":edit bad\n:edit bad\nbad(2)\n:edit bad\n");
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(
        lines,
        [":edit bad opens this text again", "bad(x) defined", "3", ":edit bad opens this text again"]
    );
    assert_eq!(ran.err().matches("error[E0104]").count(), 2, "{}", ran.err());
}

#[test]
fn edit_offers_what_there_is() {
    let folder = Folder::new("edit-offers");
    let offered = |input: &str| {
        let ran = with_editor(&folder, "cp \"$1\" seen; true", input);
        (std::fs::read_to_string(folder.path().join("seen")).unwrap_or_default(), ran)
    };
    let cases = [
        ("## Doc.\ndef f(x) x + 1 # more\n:edit f\n", "## Doc.\ndef f(x) x + 1 # more\n"),
        ("def f(x) x\n:edit f(x)\n", "def f(x) x\n"),
        (":edit +\n", "def binary + 20 (x y) \n"),
        (":edit unary -\n", "def unary - (x) \n"),
        (":edit unary ~\n", "def unary ~ (x) \n"),
        (":edit g\n", "def g()\n"),
        (":edit g(a b)\n", "def g(a b) \n"),
        (":edit atan2\n", "def atan2(y x) \n"),
        ("var v = 2\n:edit v\n", "var v = 2\n"),
        ("1 + 2\n:edit\n", "1 + 2\n"),
        ("1 + )\n:edit\n", "1 + )\n"),
    ];
    for (input, expected) in cases {
        let (text, ran) = offered(input);
        assert_eq!(text, expected, "{input}");
        assert!(ran.out().ends_with("unchanged\n"), "{}", ran.out());
    }
    let said = |input: &str| offered(input).1.err().trim_end().to_owned();
    assert_eq!(said(":edit -\n"), "error: `-` could be unary- or binary-");
    assert_eq!(
        said(":edit ~\n"),
        "error: `~` is not defined; `:edit unary ~` or `:edit binary ~` begins a definition"
    );
    assert_eq!(said(":edit =\n"), "error: `=` cannot be defined");
    assert_eq!(said(":edit for\n"), "error: `for` cannot be defined");
    assert_eq!(said(":edit\n"), "error: nothing has been typed yet; `:edit NAME` edits a definition");
}

#[test]
fn undo_says_what_names_mean_again() {
    let folder = Folder::new("undo-texts");
    std::fs::write(folder.path().join("a.kal"), "def f(x) 1\ndef f(x) 2\ndef f(x) 3\ndef g(x) 4\n").unwrap();
    let input = "def f(x) x\ndef binary + 20 (x y) x - y\n:undo\ndef sin(x) x\n:drop sin\n:undo\n:undo\n\
                 :load a.kal\n:undo\nf(7)\n:redo\nf(7)\n";
    let ran = session(&folder, input);
    let expected = [
        "f(x) defined",
        "binary + 20 (x y) defined",
        "`+` is built in again",
        "sin(x) defined",
        "`sin` is built in again",
        "sin(x) restored",
        "`sin` is built in again",
        "a.kal: 2 defined, 2 redefined",
        "f(x) restored",
        "g dropped",
        "7",
        "f(x) restored",
        "g(x) restored",
        "3",
    ];
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(lines[0..7], expected[0..7]);
    assert_eq!(lines[8..], expected[8..]);
}

#[test]
fn time_shows_every_value() {
    let ran = session(&Folder::new("time"), ":time 1 2; def f(x) x; f(3)\nans\n");
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(lines[..4], ["1", "2", "f(x) defined", "3"]);
    assert!(lines[4].starts_with("parse ") && lines[7] == "3", "{lines:?}");
}

#[test]
fn figures_add_up() {
    let lines = answers("bench", ":bench 1\n");
    let (median, part) = (&lines[0], &lines[1]);
    let number = |text: &str, after: &str, unit: &str| -> f64 {
        let (_, rest) = text.split_once(after).expect("it begins so");
        rest.split_once(unit).expect("it has a unit").0.trim().parse().expect("a number")
    };
    assert!(median.contains(", interquartile range "), "{median}");
    assert!(number(part, "of which ", " ns") <= number(median, "median ", " ns"), "{lines:?}");
}

#[test]
fn places_have_one_name() {
    let said =
        complaints("places", "zz\n:time zz\n:bench zz\n:plot zz, x = 0..1\n:plot x, x = zz..1\n:ast )\n");
    let places: Vec<&String> = said.iter().filter(|line| line.contains("--> ")).collect();
    assert!(places.len() == 6 && places.iter().all(|line| line.contains("<input>:1:1")), "{said:#?}");
    let ran = feed(kal().args(["-e", "1", "-e", "zz"]), b"");
    assert!(ran.err().contains("<eval 2>:1:1"), "{}", ran.err());
    assert!(feed(kal().args(["-e", "zz"]), b"").err().contains("<eval>:1:1"));
}

#[test]
fn a_formula_is_computed_in_every_row_of_a_table() {
    let folder = Folder::new("map-prompt");
    let table: String = (0..30).map(|row| format!("{row},{}\n", row * row)).collect();
    std::fs::write(folder.path().join("my table.csv"), format!("n,square\n{table}")).unwrap();
    let input = "var k = 10
def scaled(square) square * k
:map scaled --in my table.csv
:map n + k --in my table.csv --name sum --out sums.csv
k = 100
:map scaled(n) / 2 --in sums.csv --alone --out half.csv
:map sum, --in sums.csv
:map sum --in none.csv
:map sum
:map sum + missing --in sums.csv --name r
def f(n) if n < 20 then n else missing(n)
:map f(n) --in sums.csv --name f --out half.csv
:map f(n) --in sums.csv --name sum
k
";
    let ran = session(&folder, input);
    let shown: Vec<String> = (0..10).map(|row| format!("{row},{},{}", row * row, row * row * 10)).collect();
    let mut expected = vec!["10", "scaled(square) defined", "n,square,scaled"];
    expected.extend(shown.iter().map(String::as_str));
    expected.extend(["…: more rows; --out FILE writes all of them", "sums.csv: 30 rows"]);
    expected.extend(["100", "half.csv: 30 rows", "f(n) defined", "100"]);
    let answers: Vec<&str> = ran.out().lines().collect();
    assert_eq!(answers[answers.len() - expected.len() + 1..], expected[1..], "{answers:#?}");
    let sums: String = (0..30).map(|row| format!("{row},{},{}\n", row * row, row + 10)).collect();
    assert_eq!(read(folder.path().join("sums.csv")), format!("n,square,sum\n{sums}"));
    let half: String = (0..30).map(|row| format!("{}\n", row * 50)).collect();
    assert_eq!(read(folder.path().join("half.csv")), format!("scaled(n) / 2\n{half}"));
    let said = ran.err();
    for part in [
        "error[E0103]",
        "error: none.csv: No such file or directory (os error 2)\n",
        "error: usage: :map EXPR --in FILE [--out FILE] [--name COLUMN] [--alone]\n",
        "unknown variable `missing`",
        "the columns are `n`, `square`, `sum`",
        "error[E0301]",
        "note: sums.csv:22: the row that failed: n = 20\n",
        "error: the table has a column `sum`: give the results another name with --name\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn plots_need_only_what_cannot_be_guessed() {
    let picture = |input: &str| answers("plot-guess", input).join("\n");
    assert_eq!(picture(":plot sin\n"), picture(":plot sin(x), x = -10..10\n"));
    assert_eq!(picture(":plot cos(t) + t, 0..6\n"), picture(":plot cos(t) + t, t = 0..6\n"));
    assert_eq!(
        picture("var x = 3\n:plot sin(x), 0..6\n"),
        "x = 3\n".to_owned() + &picture(":plot sin 0..6\n")
    );
    let both = picture(":plot sin, cos 0..6\n");
    assert!(both.ends_with("── sin(x)   ╌╌ cos(x)"), "{both}");
    let tiny = picture(":plot 1e-9*x+5, x=0..1\n");
    assert!(tiny.contains("5.000000001 ┤") && tiny.contains("5.0000000005 ┤"), "{tiny}");
    let said = complaints("plot-unknown", ":plot a + b\n:plot sin 0..1 --svg\n");
    let expected = [
        "error: several unknown variables: `a`, `b`; choose one, as in `a = 0..1`",
        "error: usage: :plot EXPR, … [, VAR = A..B] [--svg FILE]",
    ];
    assert_eq!(said, expected);
}

#[test]
fn strokes_are_whole_at_the_frame() {
    let folder = Folder::new("strokes");
    let ran = session(&folder, ":plot sin, cos 0..6.28 --svg a.svg\n");
    assert_eq!(ran.err(), "");
    let svg = read(folder.path().join("a.svg"));
    // The frame is 70 to 830 by 50 to 450; strokes reach 1.125 beyond it.
    assert!(svg.contains(r#"<rect x="68" y="48" width="764" height="404"/></clipPath>"#), "{svg}");
    assert_eq!(svg.matches(r#"class="curve c1""#).count(), 2, "a curve and its legend");
}

#[test]
fn reset_keeps_what_the_own_file_defines() {
    let folder = Folder::new("reset-init");
    std::fs::create_dir_all(folder.path().join("kal")).unwrap();
    std::fs::write(folder.path().join("kal/init.kal"), "def mine(x) x + 1").unwrap();
    let input = b"def other(x) x\n:reset\nmine(1)\n:undo\nmine(1)\n:list\n";
    let ran = feed(kal().arg("repl").env("XDG_CONFIG_HOME", folder.path()), input);
    let lines: Vec<&str> = ran.out().lines().collect();
    assert_eq!(
        lines[..5],
        [
            "other(x) defined",
            "everything was removed; init.kal ran again: 1 defined",
            "2",
            "nothing to undo",
            "2"
        ]
    );
    assert!(lines[5].starts_with("mine(x)  compiled") && lines.len() == 7, "{lines:?}");
    let ran = session(&folder, ":reset\n");
    assert_eq!(ran.out(), "everything was removed\n");
}

#[test]
fn operators_are_listed_by_their_names() {
    let lines = answers("stages", "def unary ~ (x) x\n:ast unary~\n:ast ~\n:ast unary ~\n:tokens +\n2\n");
    let tree = "(def (unary~ x) x)";
    assert_eq!(lines, ["unary ~ (x) defined", tree, tree, tree, "1:1 operator +", "2"]);
    let said = complaints("stages-wrong", "def unary ~ (x) x\ndef binary ~ (x y) x\n:ast ~\n:ir +\n");
    assert_eq!(
        said,
        [
            "error: `~` could be unary~ or binary~",
            "error: `+` is built in; only definitions and expressions are listed",
        ]
    );
    let folder = Folder::new("emit-operator");
    std::fs::write(folder.path().join("a.kal"), "def binary : 1 (a b) b\n").unwrap();
    let emit =
        |name: &str| feed(kal().args(["emit", "ast", "--fn", name, "a.kal"]).current_dir(folder.path()), b"");
    assert_eq!(emit("binary:").out(), "(def (binary: 1 a b) b)\n");
    assert_eq!(
        emit(":").err(),
        "error: a.kal defines no function `:`; operators are `unary:` and `binary:`\n"
    );
}

#[test]
fn calls_of_several_functions_in_turn_are_folded() {
    let text = "def p(n) q(n + 1) + 1; def q(n) r(n + 1) + 1; def r(n) p(n + 1) + 1; p(1)";
    let ran = feed(kal().args(["--interpret", "-e", text]), b"");
    let calls: Vec<&str> = ran.err().lines().skip_while(|line| !line.contains("Calls:")).collect();
    assert!(calls.len() < 6 && calls.iter().any(|line| line.contains("(n) ↔ ")), "{}", ran.err());
}

#[test]
fn debug_shows_every_value() {
    let lines = answers("debug-values", ":debug 1; 2; def f(x) x; f(3)\nc\nans\n");
    let said: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.contains(" | ")).collect();
    let values = ["1", "2", "f(x) defined", "3", "3"];
    assert_eq!(said.iter().filter(|line| values.contains(line)).count(), 5, "{lines:#?}");
    // A restart begins with a stop, too.
    let lines = answers("debug-again", ":debug 6 * 7\nrestart\nc\n");
    assert_eq!(lines.iter().filter(|line| line.contains("this expression at ")).count(), 2, "{lines:#?}");
    assert_eq!(lines.iter().filter(|line| *line == "42").count(), 1, "{lines:#?}");
}

#[test]
fn an_extern_says_what_it_declares() {
    let lines = answers(
        "externs",
        "extern cos(x)\nextern sin(x)\ndef sin(x) x\nextern sin(x)\nsin(7)\nextern later(a b)\n\
         def later(a b) a\nextern later(c d)\n",
    );
    let expected = [
        "cos(x) is a host function",
        "sin(x) is a host function",
        "sin(x) defined",
        "sin(x) is already defined",
        "7",
        "later(a b) declared, not yet defined",
        "later(a b) defined",
        "later(a b) is already defined",
    ];
    assert_eq!(lines, expected);
    let said = complaints("extern-arity", "def sin(x) x\nextern sin(x y)\n");
    assert_eq!(said[0], "error[E0207]: `sin` takes 1 argument, not 2");
}

#[test]
fn a_program_that_is_called_as_a_module_imports_the_module() {
    let folder = Folder::new("namesake");
    std::fs::write(
        folder.path().join("math.kal"),
        "import math\nimport other\nother.f(5) + clamp(9, 0, 3)\n",
    )
    .unwrap();
    std::fs::write(folder.path().join("other.kal"), "def f(x) x - 3\n").unwrap();
    let run = |arguments: &[&str]| feed(kal().args(arguments).current_dir(folder.path()), b"");
    for mode in ["--lazy", "--eager", "--interpret"] {
        let ran = run(&[mode, "math.kal"]);
        assert_eq!((ran.out(), ran.err()), ("5\n", ""));
    }
    assert_eq!(run(&["check", "math.kal"]).err(), "");
    // Where there is no other, it is the file itself.
    std::fs::write(folder.path().join("mine.kal"), "import mine\ndef f(x) x\nmine.f(4)\n").unwrap();
    assert!(run(&["mine.kal"]).err().starts_with("error[E0209]: a library only defines"));
}

#[test]
fn functions_of_modules_are_emitted() {
    let emit = |stage: &str, name: &str| {
        let text = "import math\nlcm(4, 6) + math.clamp(2, 0, 1)";
        let ran = feed(kal().args(["emit", stage, "--fn", name, "-e", text]), b"");
        assert_eq!(ran.err(), "");
        ran.out().to_owned()
    };
    assert!(emit("tape", "math.clamp").starts_with("math.clamp$impl: 3 locals"));
    assert!(emit("tape", "lcm").starts_with("lcm$impl: 2 locals"));
    assert!(
        emit("ir", "math.clamp").contains("define double @\"math.clamp$impl\"(ptr noundef %context, double")
    );
}

//! The command line: exit codes, commands, figures, what goes where.

use crate::binary::{self, Ran, kal, run, run_with};
use crate::transcripts::Folder;
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A file of its own for one test; removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, bytes: impl AsRef<[u8]>) -> Self {
        let path = std::env::temp_dir().join(format!("kal-test-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).expect("the temporary directory can be written");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn outcome(ran: &Ran) -> (Option<i32>, &str, Vec<String>) {
    (ran.code, ran.out(), ran.said())
}

fn printed(ran: &Ran) -> &str {
    assert_eq!((ran.code, ran.err()), (Some(0), ""));
    ran.out()
}

/// Returns the figures on the last line of standard error.
fn stats(arguments: &[&str]) -> Value {
    let ran = run(&[arguments, &["--stats"]].concat());
    serde_json::from_str(ran.err().lines().last().expect("figures")).expect("JSON")
}

#[test]
fn tokens_of_one_function() {
    let program = Scratch::new("tokens.kal", "1; def f(x) x; 2; def g(x) 3; def f(x) 4;");
    let ran = run(&["emit", "tokens", "--fn", "f", program.path()]);
    let words = ran.out().lines().map(|line| line.rsplit_once(' ').unwrap().1);
    assert_eq!(words.collect::<Vec<_>>().join(" "), "def f ( x ) x def f ( x ) 4");
    let ran = run(&["emit", "tokens", "--fn", "h", program.path()]);
    assert_eq!(
        (ran.code, ran.said()),
        (Some(1), vec![format!("error: {} defines no function `h`", program.path())])
    );
}

#[test]
fn what_was_printed_stands_before_a_file_that_cannot_be_read() {
    let folder = std::env::temp_dir();
    let path = folder.join("kal-there-is-no-such-file.kal");
    let both = std::fs::File::create(folder.join(format!("kal-both-{}", std::process::id()))).unwrap();
    let streams = || Stdio::from(both.try_clone().unwrap());
    let status = kal().args(["-e", "7;"]).arg(&path).stdout(streams()).stderr(streams()).status().unwrap();
    let name = folder.join(format!("kal-both-{}", std::process::id()));
    let text = std::fs::read_to_string(&name).unwrap();
    std::fs::remove_file(name).unwrap();
    assert_eq!(status.code(), Some(1));
    assert!(text.starts_with("7\nerror: "), "{text}");
}

#[test]
fn a_time_that_never_comes_is_no_mistake() {
    let ran = run(&["--timeout", "1e19", "-e", "1 + 1"]);
    assert_eq!((ran.out(), ran.code), ("2\n", Some(0)), "{}", ran.err());
}

#[test]
fn of_many_mistakes_a_hundred_are_drawn_and_the_others_counted() {
    let text = "-;\n".repeat(150);
    let ran = binary::run_with(&["check", "-"], text.as_bytes());
    let lines = ran.said();
    let drawn = lines.iter().filter(|line| line.starts_with("error[E0103]"));
    assert_eq!((drawn.count(), lines.last().unwrap().as_str()), (100, "50 more mistakes are not shown."));
    let ran = binary::run_with(&["check", "--json", "-"], text.as_bytes());
    assert_eq!((ran.out().lines().count(), ran.code), (150, Some(1)));
}

#[test]
fn exit_codes() {
    assert_eq!(run(&["-e", "1 + 1"]).code, Some(0));
    assert_eq!(run(&["-e", "1 +"]).code, Some(1));
    assert_eq!(run(&["-e", "missing()"]).code, Some(1));
    assert_eq!(run(&["--no-such-option"]).code, Some(2));
    assert_eq!(run(&["--version"]).code, Some(0));
    assert_eq!(run(&["--help"]).code, Some(0));
}

#[test]
fn wrong_usage_is_told_on_standard_error() {
    for arguments in [
        &["--lazy", "--eager"][..],
        &["-O4"],
        &["-O", "fast"],
        &["-e"],
        &["emit"],
        &["emit", "bytecode", "a.kal"],
        &["emit", "ir"],
        &["check"],
        &["--stack-size", "0"],
        &["--max-nesting", "-1"],
        &["--color", "sometimes"],
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{arguments:?}");
        assert!(ran.err().starts_with("error: "), "{arguments:?}: {}", ran.err());
    }
}

#[test]
fn a_file_that_cannot_be_read() {
    for command in [&[][..], &["run"], &["check"], &["emit", "ast"], &["emit", "ir"]] {
        let ran = run(&[command, &["/no/such/file.kal"]].concat());
        assert_eq!((ran.code, ran.out()), (Some(1), ""), "{command:?}");
        assert!(ran.err().contains("/no/such/file.kal: No such file"), "{}", ran.err());
    }
    assert_eq!(run(&["/"]).code, Some(1));
}

#[test]
fn a_file_that_is_not_text() {
    let file = Scratch::new("latin1", b"1;\n# gr\xFC\xDFe\n2;\n");
    for command in [&[][..], &["check"], &["emit", "tokens"]] {
        let ran = run(&[command, &[file.path()]].concat());
        assert_eq!((ran.code, ran.out()), (Some(1), ""));
        assert!(ran.err().contains("line 2 is not UTF-8"), "{}", ran.err());
    }
    let ran = run_with(&["-"], b"1;\n\xFF;\n2;\n");
    assert_eq!((ran.code, ran.out()), (Some(1), "1\n2\n"));
}

#[test]
fn a_byte_order_mark_and_carriage_returns_are_white_space() {
    let file = Scratch::new("windows", "\u{FEFF}def f(x)\r\n  x + 1\r\nf(1)\r\n");
    assert_eq!(printed(&run(&[file.path()])), "2\n");
}

#[test]
fn texts_come_before_the_file_and_in_order() {
    let file = Scratch::new("order", "f(3); x = x + 1; x");
    let arguments = ["-e", "def f(x) x * 2", "-e", "var x = 5", "-e", "f(x)", file.path()];
    assert_eq!(printed(&run(&arguments)), "10\n6\n6\n6\n");
    assert_eq!(printed(&run(&[file.path(), "-e", "def f(x) 1", "-e", "var x"])), "1\n1\n1\n");
    assert_eq!(printed(&run_with(&["-e", "def f(x) x", "-"], b"f(7)")), "7\n");
    assert_eq!(printed(&run_with(&["-e", "1"], b"2")), "1\n", "without `-` standard input is not read");
}

#[test]
fn after_a_text_that_fails_nothing_runs() {
    let file = Scratch::new("never", "printd(3)");
    let ran = run(&["-e", "1; missing(); 2", "-e", "printd(4)", file.path()]);
    assert_eq!(
        outcome(&ran),
        (
            Some(1),
            "1\n",
            vec!["error[E0301] 1:4 this expression calls `missing`, which is not defined".into()]
        )
    );
}

#[test]
fn standard_input() {
    for arguments in [&[][..], &["-"], &["run"], &["run", "-"]] {
        assert_eq!(printed(&run_with(arguments, b"def f(x) x+1; f(1); f(2)")), "2\n3\n", "{arguments:?}");
    }
    assert_eq!(printed(&run_with(&[], b"")), "");
}

#[test]
fn values_are_printed_while_standard_input_is_open() {
    use std::io::{BufRead, BufReader, Write};
    let mut child =
        kal().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    for (text, answer) in [("1 + 1;\n", "2"), ("def f(x)\n x * 3;", ""), ("f(5);\n", "15")] {
        stdin.write_all(text.as_bytes()).expect("it reads");
        if !answer.is_empty() {
            assert_eq!(lines.next().expect("an answer").expect("text"), answer);
        }
    }
    drop(stdin);
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn figures_have_all_keys() {
    let stats = stats(&["-e", "def f(x) x; def g(x) x; def g(x) f(x); f(1); 2"]);
    for (key, value) in [
        ("defined", 2),
        ("redefined", 1),
        ("pending", 1),
        ("materialized", 1),
        ("ir_generated", 1),
        ("expressions", 2),
        // One holds the expression and what it is certain to call.
        ("objects_linked", 2),
    ] {
        assert_eq!(stats[key], value, "{key}");
    }
    for key in ["code_bytes", "parse_ms", "compile_ms", "run_ms"] {
        assert!(stats[key].as_f64().is_some_and(|value| value >= 0.0), "{key}");
    }
    assert!(stats["code_bytes"].as_u64().is_some_and(|bytes| bytes > 0));
}

#[test]
fn figures_come_last_also_after_an_error() {
    let ran = run(&["-e", "missing()", "--stats"]);
    assert_eq!(ran.code, Some(1));
    let figures: Value = serde_json::from_str(ran.err().lines().last().expect("figures")).expect("JSON");
    assert_eq!(figures["defined"], 0);
}

#[test]
fn a_thousand_definitions_generate_nothing() {
    let text: String = (0..1000).map(|i| format!("def f{i}(x) x + {i} ")).collect();
    let stats = stats(&["-e", &text]);
    let figures = ["defined", "pending", "materialized", "ir_generated", "objects_linked", "expressions"];
    assert_eq!(figures.map(|key| stats[key].as_u64().expect("a number")), [1000, 1000, 0, 0, 0, 0]);
    let stats = self::stats(&["-e", &text, "-e", "f500(1)"]);
    assert_eq!(figures.map(|key| stats[key].as_u64().expect("a number")), [1000, 999, 1, 1, 1, 1]);
}

#[test]
fn what_is_not_called_stays_pending() {
    let program = "def g(x) x*2; def f(x) if x then 1 else g(x);";
    let figures = |calls: &str| {
        let stats = stats(&["-e", program, "-e", calls]);
        ["pending", "materialized", "ir_generated"].map(|key| stats[key].as_u64().expect("a number"))
    };
    assert_eq!(figures("f(1);"), [1, 1, 1]);
    assert_eq!(figures("f(1); f(0);"), [0, 2, 2]);
    assert_eq!(figures("f(1); f(0); f(1); f(0);"), [0, 2, 2]);
    let linked =
        |calls: &str| stats(&["-e", program, "-e", calls])["objects_linked"].as_u64().expect("a number");
    // An expression is an object too, unless one of its shape was before.
    assert_eq!(linked("f(0); f(1)") - linked("f(0)"), 0);
    assert_eq!(linked("f(0); 1 + f(0)") - linked("f(0)"), 1);
}

#[test]
fn what_is_certain_to_be_called_shares_an_object_with_its_caller() {
    let figures = |program: &str, call: &str| {
        let stats = stats(&["-e", program, "-e", call]);
        ["pending", "ir_generated", "objects_linked"].map(|key| stats[key].as_u64().expect("a number"))
    };
    let chain = "def a(x) x + 1; def b(x) a(x) * 2; def c(x) b(x) + a(x); def d(x) x;";
    assert_eq!(figures(chain, "c(1) + c(2)"), [1, 3, 1]);
    // In a branch nothing is certain, nor after a call that fails.
    assert_eq!(figures(chain, "if 0 then c(1) else d(1)"), [3, 1, 2]);
    assert_eq!(figures("def a(x) x; def b(x) missing(x) + a(x);", "b(1)"), [1, 1, 2]);
    // More than one object can hold well: what is not in the first is made
    // ahead of its call, or at it.
    let many: String = (0..150).map(|index| format!("def f{index}(x) x + {index};")).collect();
    let calls: Vec<String> = (0..150).map(|index| format!("f{index}(0)")).collect();
    let [pending, generated, linked] = figures(&many, &calls.join(" + "));
    assert_eq!((pending, generated), (0, 150));
    assert!((2..=88).contains(&linked), "{linked} objects");
}

#[test]
fn eagerly_everything_is_compiled() {
    let stats = stats(&["--eager", "-e", "def f(x) x; def g(x) f(x); def h(x) absent(x)"]);
    assert_eq!(
        ["pending", "materialized", "ir_generated"].map(|key| stats[key].as_u64()),
        [Some(0), Some(3), Some(3)]
    );
}

#[test]
fn emit_to_a_dash_is_standard_output() {
    let folder = Folder::new("emit-dash");
    let ran =
        binary::finish(kal().args(["emit", "ast", "-o", "-", "-e", "1 + 2"]).current_dir(folder.path()));
    assert_eq!(printed(&ran), "(+ 1 2)\n");
    assert!(!folder.path().join("-").exists());
}

#[test]
fn emit_tokens_and_trees() {
    let file = Scratch::new("emit", "def f(x) x + 0x10; # ten\nf(2)");
    let tokens = run(&["emit", "tokens", file.path()]);
    assert!(printed(&tokens).starts_with("1:1 "), "{}", tokens.out());
    assert!(tokens.out().contains("0x10") && !tokens.out().contains("ten"), "{}", tokens.out());
    let tree = run(&["emit", "ast", file.path()]);
    assert!(printed(&tree).contains("def") && tree.out().contains("f"), "{}", tree.out());
    assert_eq!(printed(&run_with(&["emit", "ast", "-"], b"def f(x) x + 0x10; f(2)")), tree.out());
    let only = run(&["emit", "ast", "--fn", "f", file.path()]);
    assert!(tree.out().starts_with(printed(&only)), "{}", only.out());
}

#[test]
fn emit_code() {
    let file = Scratch::new("emit-code", "def f(x) x + 1; def unary!(x) f(x) * 3; def g(x) !x;");
    let ir = run(&["emit", "ir", file.path()]);
    assert!(
        printed(&ir).contains("define double @\"f$impl\"") && ir.out().contains("fadd double"),
        "{}",
        ir.out()
    );
    assert!(ir.out().contains("unary!$impl"), "{}", ir.out());
    let asm = run(&["emit", "asm", "--fn", "f", file.path()]);
    assert!(printed(&asm).contains("f$impl") && asm.out().contains("addsd"), "{}", asm.out());
    assert!(!asm.out().contains("mulsd"), "{}", asm.out());
    // As the optimising tier compiles it: `f` is inlined.
    let asm = run(&["emit", "asm", "--fn", "unary!", file.path()]);
    let has = ["addsd", "mulsd", "call"].map(|text| printed(&asm).contains(text));
    assert_eq!(has, [true, true, false], "{}", asm.out());
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        assert!(printed(&run(&["emit", "ir", level, file.path()])).contains("define"));
    }
}

#[test]
fn emit_an_object_file() {
    let file = Scratch::new("emit-object", "def f(x) x + 1; def g(x) f(x); g(2)");
    let piped = run(&["emit", "obj", file.path()]);
    assert_eq!((piped.code, &piped.stdout[..4]), (Some(0), &b"\x7FELF"[..]));
    let output = Scratch::new("emit-object.o", "");
    assert_eq!(printed(&run(&["emit", "obj", "-o", output.path(), file.path()])), "");
    assert_eq!(std::fs::read(output.path()).expect("it was written"), piped.stdout);
    let nowhere = run(&["emit", "obj", "-o", "/no/such/directory/x.o", file.path()]);
    assert_eq!((nowhere.code, nowhere.out()), (Some(1), ""));
    assert!(nowhere.err().contains("/no/such/directory/x.o"), "{}", nowhere.err());
}

#[test]
fn emit_writes_all_of_a_file_or_nothing() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = Folder::new("emit-atomic");
    let inside = |name: &str| folder.path().join(name);
    std::fs::write(inside("small.kal"), "1").unwrap();
    std::fs::write(inside("large.kal"), "def f(x) x + 1;".repeat(5000)).unwrap();
    std::fs::write(inside("out"), "before").unwrap();
    std::fs::set_permissions(inside("out"), PermissionsExt::from_mode(0o640)).unwrap();
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        let script = format!("kal() {{ '{}' \"$@\"; }}; {script}", env!("CARGO_BIN_EXE_kal"));
        binary::finish(command.args(["-c", &script]).current_dir(folder.path()))
    };
    let names = || std::fs::read_dir(folder.path()).unwrap().count();
    let ran = shell("trap '' XFSZ; ulimit -f 8; kal emit tokens -o out large.kal");
    assert_eq!((ran.code, ran.err()), (Some(1), "error: out: File too large (os error 27)\n"));
    assert_eq!((std::fs::read_to_string(inside("out")).unwrap().as_str(), names()), ("before", 3));
    assert_eq!(printed(&shell("kal emit tokens -o out small.kal")), "");
    let written = std::fs::read_to_string(inside("out")).unwrap();
    assert!(written.starts_with("1:1 "), "{written}");
    assert_eq!((inside("out").metadata().unwrap().mode() & 0o777, names()), (0o640, 3));
    // What is no file of its own is written to.
    assert_eq!(printed(&shell("kal emit tokens -o /dev/stdout small.kal")), written);
    assert_eq!(printed(&shell("kal emit tokens -o /dev/stdout small.kal | cat")), written);
    assert_eq!(printed(&shell("{ kal emit tokens -o /dev/stdout small.kal; } > redirected")), "");
    assert_eq!(std::fs::read_to_string(inside("redirected")).unwrap(), written);
    let ran = shell("kal emit tokens -o /dev/full small.kal");
    assert_eq!((ran.code, ran.err()), (Some(1), "error: /dev/full: No space left on device (os error 28)\n"));
    let ran = shell("mkfifo pipe; cat pipe & kal emit tokens -o pipe small.kal; wait");
    assert_eq!(printed(&ran), written);
}

#[test]
fn emit_refuses_what_is_wrong_and_runs_nothing() {
    let file = Scratch::new("emit-wrong", "def f(x) y;");
    for stage in ["ir", "asm", "obj"] {
        let ran = run(&["emit", stage, file.path()]);
        assert_eq!(outcome(&ran), (Some(1), "", vec!["error[E0201] 1:10 unknown variable `y`".into()]));
        let ran = run(&["emit", stage, "--fn", "h", "-e"]);
        assert_eq!(ran.code, Some(2));
    }
    let good = Scratch::new("emit-good", "def f(x) x; printd(5)");
    let ran = run(&["emit", "ir", "--fn", "h", good.path()]);
    assert_eq!((ran.code, ran.out()), (Some(1), ""));
    assert!(ran.err().contains("defines no function `h`"), "{}", ran.err());
    assert!(!run(&["emit", "ir", good.path()]).out().starts_with('5'));
}

#[test]
fn check_tells_everything_and_runs_nothing() {
    let file = Scratch::new("check", "printd(1);\ndef f(x) y;\n1 +;\nf(1, 2);\ndef g(x) later(x);\n");
    let ran = run(&["check", file.path()]);
    assert_eq!(
        outcome(&ran),
        (
            Some(1),
            "",
            vec![
                "error[E0201] 2:10 unknown variable `y`".into(),
                "error[E0103] 3:4 expected an expression after `+`, found `;`".into(),
                "warning[E0301] 5:10 `later` is called but never defined".into(),
            ]
        )
    );
    let fine = Scratch::new("check-fine", "def f(x) x; f(1); printd(2)");
    assert_eq!(printed(&run(&["check", fine.path()])), "");
}

#[test]
fn check_as_json() {
    let file = Scratch::new("check-json", "1;\n  é + \"2\";\nbeta;\n");
    let ran = run(&["check", "--json", file.path()]);
    assert_eq!((ran.code, ran.err()), (Some(1), ""));
    let found: Vec<Value> = ran.out().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(found.len() >= 2, "{}", ran.out());
    for diagnostic in &found {
        assert_eq!(diagnostic["file"], file.path());
        assert_eq!(diagnostic["severity"], "error");
    }
    let last = found.last().expect("some");
    assert_eq!((&last["code"], &last["line"], &last["column"]), (&"E0201".into(), &3.into(), &1.into()));
    assert_eq!(printed(&run_with(&["check", "--json", "-"], b"1 + 1")), "");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let colour = |arguments: &[&str], no_color: Option<&str>| {
        let mut command = kal();
        command.args(arguments).args(["-e", "x"]);
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        binary::finish(&mut command).err().contains('\x1b')
    };
    assert!(!colour(&[], None), "standard error is no terminal");
    assert!(!colour(&[], Some("1")));
    assert!(colour(&["--color", "always"], None));
    assert!(colour(&["--color", "always"], Some("1")), "what is asked for goes before the environment");
    assert!(!colour(&["--color", "never"], None));
}

#[test]
fn a_closed_output_ends_it_quietly() {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let loops = "for i = 1, i < 100000 in printd(i);";
    let ran =
        binary::finish(kal().args(["-e", loops, "-e", "1"]).stdout(writer.try_clone().expect("a pipe")));
    assert_eq!(ran.err(), "");
    assert_eq!(ran.code, Some(141));
    let file = Scratch::new("closed", "def f(x) x;".repeat(10_000));
    let ran = binary::finish(kal().args(["emit", "tokens", file.path()]).stdout(writer));
    assert_eq!((ran.err(), ran.code), ("", Some(141)));
}

#[test]
fn what_cannot_be_written_is_the_exit_code() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let told = "error: cannot write to standard output: No space left on device (os error 28)\n";
    let long = "for i = 1, i < 100000 in printd(i)";
    let commands = [
        &["--help"][..],
        &["map", "--help"],
        &["--version"],
        &["-e", "1"],
        &["-e", "printd(1)", "-e", "read()"],
        &["-e", long, "-e", "1"],
        &["--interpret", "-e", long],
        &["-"],
        &["emit", "ast", "-e", "1"],
        &["debug", "-b", "f", "-e", "printd(1)"],
        &["man"],
        &["completions", "bash"],
        &["cache", "dir"],
    ];
    for arguments in commands {
        let ran = run_into(kal().args(arguments).env("KAL_CACHE", "/tmp").stdout(full()), b"1\n2\n");
        assert_eq!((ran.code, ran.err()), (Some(1), told), "{arguments:?}");
    }
    for arguments in [&["check", "--json", "-"][..], &["repl"]] {
        let ran = run_into(kal().args(arguments).stdout(full()), b"1;\n1 +\n");
        assert_eq!((ran.code, ran.err().lines().last()), (Some(1), told.lines().last()), "{arguments:?}");
    }
    // What else is wrong is said as well.
    let ran = binary::finish(kal().args(["-e", "1", "-e", "nowhere(2)"]).stdout(full()));
    assert_eq!(ran.said()[0], "error[E0301] 1:1 this expression calls `nowhere`, which is not defined");
    assert!(ran.err().ends_with(told), "{}", ran.err());
    let figures: &[&str] = &["--stats", "-e", "1 + 1"];
    for (arguments, into_full) in [(figures, 1), (&["-e", "1 +"], 1), (&["check", "/no/such/file"], 1)] {
        let ran = binary::finish(kal().args(arguments).stderr(full()));
        assert_eq!(ran.code, Some(into_full), "{arguments:?}");
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ran = binary::finish(kal().args(arguments).stderr(writer));
        assert_eq!(ran.code, Some(141), "{arguments:?}");
    }
}

/// Runs a command whose streams are set, with a text as its standard input.
fn run_into(command: &mut Command, input: &[u8]) -> Ran {
    let file = Scratch::new("input", input);
    binary::finish(command.stdin(std::fs::File::open(file.path()).expect("it was written")))
}

#[test]
fn nothing_that_was_typed_commands_the_terminal() {
    let said = |arguments: &[&str], text: &str| {
        let ran = run(arguments);
        assert!(ran.err().contains(text), "{arguments:?}: {:?}", ran.err());
        assert!(!ran.err().contains(['\x1b', '\x07']), "{arguments:?}: {:?}", ran.err());
    };
    said(&["/tmp/\x1b[31mx\x07.kal"], "error: /tmp/␛[31mx␇.kal: No such file");
    said(&["check", "/tmp/\x1b[31m.kal"], "error: /tmp/␛[31m.kal: No such file");
    said(&["emit", "ir", "-o", "/tmp/\x1b/x", "Cargo.toml\x1b"], "error: Cargo.toml␛: No such file");
    said(&["--allow-extern", "a\x1b[31m", "-e", "1"], "a␛[31m");
    said(&["--allow-extern", "a=/x\x1b[31m.so", "-e", "1"], "/x␛[31m.so");
    said(&["--color", "\x07\x1b[31mred"], "invalid value 'red'");
    said(&["--\u{202e}x"], "'--\u{fffd}x'");
}

#[test]
fn a_failure_while_code_is_being_compiled_ends_cleanly() {
    let text: String = (0..50).map(|i| format!("def f{i}(x) x * {i} + f{}(x + 1);", i / 2)).collect();
    for _ in 0..40 {
        let ran = run(&["--eager", "-e", &text, "-e", ")"]);
        assert_eq!((ran.code, ran.out()), (Some(1), ""), "{}", ran.err());
    }
}

#[test]
fn timeouts_and_fuel_end_a_run() {
    let ran = run(&["--timeout", "50ms", "-e", "for i = 1, 1 in 0"]);
    assert_eq!((ran.code, ran.out()), (Some(124), ""));
    assert!(ran.err().starts_with("error[E0305]"), "{}", ran.err());
    let ran = run(&["--fuel", "1000", "-e", "1 + 1; for i = 1, 1 in 0"]);
    assert_eq!((ran.code, ran.out()), (Some(1), "2\n"));
    assert!(ran.err().starts_with("error[E0308]"), "{}", ran.err());
}

#[test]
fn examples_of_the_readme() {
    let readme = std::fs::read_to_string(binary::directory("README.md")).expect("there is one");
    let mut ran = 0;
    for line in readme.lines().map(str::trim).filter(|line| line.starts_with("kal -e ")) {
        if !line.contains('\'') {
            continue;
        }
        let arguments: Vec<&str> =
            line.split('\'').skip(1).step_by(2).flat_map(|text| ["-e", text]).collect();
        let options = line.split('\'').next_back().unwrap_or_default().split_whitespace();
        let found = run(&arguments.into_iter().chain(options).collect::<Vec<_>>());
        assert!(found.code == Some(0) && !found.out().is_empty(), "{line}: {}", found.err());
        ran += 1;
    }
    assert!(ran > 0, "the README shows no command");
    for named in readme.split(|c: char| c.is_whitespace() || "()[]`=".contains(c)) {
        let is_path = ["examples/", "src/", "grammar/", "tests/"].iter().any(|root| named.starts_with(root));
        assert!(!is_path || binary::directory(named).exists(), "the README names `{named}`");
    }
}

#[test]
fn the_dependency_of_the_readme_is_this_package() {
    let readme = std::fs::read_to_string(binary::directory("README.md")).expect("there is one");
    let dependency = readme.lines().find(|line| line.starts_with("kal = {")).expect("one is shown");
    let package = format!("package = \"{}\"", env!("CARGO_PKG_NAME"));
    assert!(dependency.contains(&package), "{dependency}");
}

#[test]
fn the_options_of_the_readme_are_those_of_the_command() {
    let readme = std::fs::read_to_string(binary::directory("README.md")).expect("there is one");
    let help = run(&["--help"]);
    let options: Vec<&str> = printed(&help)
        .lines()
        .filter(|line| line.trim_start().starts_with('-'))
        .filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--")))
        .filter(|option| !["--eval", "--interactive", "--help", "--version", "--verbose"].contains(option))
        .filter(|option| !["--quiet"].contains(option))
        .collect();
    assert!(options.len() > 15, "{options:?}");
    for option in options {
        assert!(readme.contains(&format!("`{option}")), "the README does not show {option}");
    }
    for shown in readme.split('`').skip(1).step_by(2).filter(|text| text.starts_with("--")) {
        let option = shown.split([' ', '=']).next().unwrap_or_default();
        assert!(help.out().contains(option), "the command has no {option}");
    }
}

#[test]
fn emit_overwrites_no_program() {
    let text = "def f(x) x + 1\nf(1)\n";
    let program = Scratch::new("overwritten.kal", text);
    let link = Scratch::new("overwritten-link.kal", "");
    std::fs::remove_file(link.path())
        .and_then(|()| std::os::unix::fs::symlink(program.path(), link.path()))
        .unwrap();
    let told = |name: &str| vec![format!("error: -o would overwrite the program, {name}")];
    for stage in ["tokens", "ast", "tape", "ir", "asm", "obj"] {
        for (input, output) in [(&program, &program), (&program, &link), (&link, &program)] {
            let ran = run(&["emit", stage, input.path(), "-o", output.path()]);
            assert_eq!((ran.code, ran.said()), (Some(1), told(input.path())), "{stage}");
        }
    }
    let mut standard = kal();
    standard.args(["emit", "ir", "-", "-o", program.path()]);
    let ran = binary::finish(standard.stdin(std::fs::File::open(program.path()).unwrap()));
    assert_eq!((ran.code, ran.said()), (Some(1), told("<stdin>")));
    assert_eq!(std::fs::read_to_string(program.path()).unwrap(), text);
    // Another file is overwritten, also a stored program of the same name.
    let other = Scratch::new("overwritten.tape", "");
    assert_eq!(run(&["emit", "tape", program.path(), "-o", other.path()]).code, Some(0));
    assert_eq!(printed(&run(&[other.path()])), "2\n");
}

#[test]
fn lines_after_braces_are_run() {
    let ran = binary::feed(&mut kal(), b"def f(x) { x }\n5\n6\ndef g(x) { x } + 1; 7\n8\n");
    assert_eq!((ran.code, ran.out()), (Some(1), "5\n6\n7\n8\n"));
    let codes: Vec<String> = ran.said().into_iter().filter(|line| line.starts_with("error")).collect();
    assert_eq!(codes.len(), 2, "{codes:?}");
}

#[test]
fn commands_of_the_prompt_are_explained_wherever_they_are() {
    let ran = binary::feed(&mut kal(), b"1+1\n:list\n2+2\n:load a.kal 'x\n?sin\n3+3\n");
    assert_eq!((ran.code, ran.out()), (Some(1), "2\n4\n6\n"));
    let help = |example| {
        format!("  help: commands such as `{example}` are for the prompt of `kal`, each an input of its own")
    };
    let expected = [
        "error[E0202] 2:1 no unary operator `:` is defined".to_owned(),
        help(":list"),
        "error[E0202] 4:1 no unary operator `:` is defined".to_owned(),
        help(":list"),
        "error[E0202] 5:1 no unary operator `?` is defined".to_owned(),
        help("?sin"),
    ];
    assert_eq!(ran.said(), expected);
    // Once it is an operator, it is one there, too.
    let ran = binary::feed(&mut kal(), b"def binary : 1 (x y) y\ndef f(x) x * 2\nf(1)\n:f(4)\n");
    assert_eq!(printed(&ran), "8\n");
}

#[test]
fn no_part_of_an_item_that_is_too_long_runs() {
    let program = Scratch::new("too-long.kal", format!("2\n{}1;\n3", "1+".repeat(2_200_000)));
    let ran = run(&["--interpret", program.path()]);
    assert_eq!((ran.code, ran.out()), (Some(1), "2\n"));
    assert!(ran.said()[0].starts_with("error[E0109] 2:"), "{:?}", ran.said());
}

#[test]
fn loops_that_may_not_end_are_warned_of_before_they_run() {
    let folder = Folder::new("endless");
    std::fs::write(folder.path().join("a.kal"), "def f(n) for i = 1, n in print(i + n)\ndo f(0)\n").unwrap();
    std::fs::write(folder.path().join("b.kal"), "def f(n) for i = 1, g(i, n) in print(i)\n").unwrap();
    let ran = |file: &str| binary::feed(kal().arg(file).current_dir(folder.path()), b"");
    let warned = ran("a.kal");
    assert_eq!((warned.code, warned.out()), (Some(0), "1\n"));
    assert!(warned.err().contains("W0408") && warned.err().contains("to count up to n"), "{}", warned.err());
    assert_eq!(ran("b.kal").err(), "");
}

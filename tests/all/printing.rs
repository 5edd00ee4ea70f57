//! What programs print, read and are given: `print`, `read()`, `arg(n)`, random numbers.

use crate::binary::{Ran, feed, finish, kal};
use kal::{Config, Context, Engine, LineOutput, Mode};
use std::io::Write;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

const MODES: [&str; 4] = ["--lazy", "--eager", "--tiered", "--interpret"];

fn run(mode: &str, text: &str) -> Ran {
    finish(kal().args([mode, "-e", text]))
}

#[test]
fn mistakes_in_what_is_printed_are_told_with_their_places() {
    let cases = [
        ("print(1, fixed(1, -1))", "", "E0306", "`print` failed: a number of digits is not negative: -1"),
        (
            "print(sci(1, 1e9))",
            "",
            "E0306",
            "`print` failed: a number of digits is a whole number up to 1000",
        ),
        (
            "print(pad(\"x\", 1/0))",
            "",
            "E0306",
            "`print` failed: a width is a whole number up to 1000, not inf",
        ),
        ("print(\"x\", nothing(1))", "", "E0301", "calls `nothing`, which is not defined"),
        ("print(\"a\", fixed(1))", "", "E0205", "`fixed` takes 2 arguments, not 1"),
        ("print(pad(1))", "", "E0205", "`pad` takes 2 arguments, not 1"),
        ("1 + fixed(2, 3)", "", "E0301", "it is an argument of `print` itself: `print(fixed(x, 2))`"),
        ("print(\"unclosed)", "", "E0111", "a line feed in a text is written `\\n`"),
        ("print \"hello\"", "", "E0201", "to print, write `print(\"x = \", x)`"),
        ("\"hello\"", "", "E0211", "write `print(\"hello\")`"),
        ("print(1 + \"a\")", "", "E0211", "every value is a number"),
        ("'x'", "", "E0103", "a text has double quotes"),
        ("print", "", "E0201", "`print` is called with what it prints"),
        ("write", "", "E0201", "write `write(\"x = \", x)`"),
        ("print(\"a\" \"b\")", "", "E0211", "a comma separates it from the argument before it"),
        ("print(1 \"b\")", "", "E0211", "a comma separates it from the argument before it"),
        ("print(\"a\" 3)", "", "E0103", "a comma separates what is printed: `print(\"x = \", x)`"),
        ("print(\"a\" + 3)", "", "E0103", "a comma separates what is printed: `print(\"x = \", x)`"),
        ("print(\"%d\" % 3)", "", "E0103", "a comma separates what is printed: `print(\"x = \", x)`"),
        ("printf(\"%d\", 3)", "", "E0211", "to print, write `print(\"x = \", x)`"),
        ("printd(\"a\")", "", "E0211", "to print, write `print(\"x = \", x)`"),
        ("print(1; 2)", "", "E0103", "a comma separates arguments, and `a : b` evaluates both"),
    ];
    for mode in MODES {
        for (text, printed, code, said) in cases {
            let ran = run(mode, text);
            assert_eq!((ran.out(), ran.code), (printed, Some(1)), "{mode} {text}\n{}", ran.err());
            assert!(ran.err().contains(code) && ran.err().contains(said), "{mode} {text}\n{}", ran.err());
            assert_eq!(ran.err().matches("error[").count(), 1, "{mode} {text}\n{}", ran.err());
        }
    }
}

#[test]
fn a_program_reads_numbers_and_is_given_some() {
    let folder = TempDir::new().expect("there is room");
    let path = folder.path().join("sum.kal");
    let text = "var sum = 0, x = read()
        do while x == x in (sum += x : x = read())
        print(\"sum \", sum, \" of \", args(), \" arguments: \", arg(1), \" \", arg(2))
        arg(3)";
    std::fs::write(&path, text).expect("it can be written");
    for mode in MODES {
        let ran = feed(kal().arg(mode).arg(&path).args(["-5", "1e3", "abc"]), b"1 2.5\n\n3,4\n");
        assert_eq!(ran.out(), "sum 10.5 of 3 arguments: -5 1000\n", "{mode}");
        assert!(ran.err().contains("`arg` failed: argument 3, `abc`, is not a number"), "{}", ran.err());
        let ran = feed(kal().arg(mode).arg(&path).args(["1", "2", "3"]), b"1 x");
        assert!(
            ran.err().contains("`read` failed: line 1 of the input: `x` is not a number"),
            "{}",
            ran.err()
        );
    }
}

/// Output that a test reads.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn context(mode: Mode) -> (Context, Shared) {
    let engine = Engine::with_config(Config::new().mode(mode)).expect("it starts");
    let mut context = engine.context().expect("there is room");
    let output = Shared::default();
    context.set_output(Box::new(LineOutput::new(output.clone())));
    (context, output)
}

#[test]
fn each_context_has_its_own_input_arguments_and_random_numbers() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Tiered, Mode::Interpret] {
        let (mut one, output) = context(mode);
        let (mut other, _) = context(mode);
        one.set_input(Box::new(&b"7 8"[..]));
        other.set_input(Box::new(&b""[..]));
        one.set_arguments(vec!["3".into()]);
        assert_eq!(one.eval("read() * 10 + read()").unwrap(), Some(78.0));
        assert!(one.eval("read()").unwrap().is_some_and(f64::is_nan));
        assert!(other.eval("read()").unwrap().is_some_and(f64::is_nan));
        assert_eq!(one.eval("args() + arg(1)").unwrap(), Some(4.0));
        assert_eq!(other.eval("args()").unwrap(), Some(0.0));
        let numbers = |context: &mut Context| [0; 3].map(|_| context.eval("random()").unwrap());
        let first = numbers(&mut one);
        assert_eq!(numbers(&mut other), first);
        one.eval("seed(0)").unwrap();
        assert_eq!(numbers(&mut one), first);
        assert_eq!(one.eval("print(\"x = \", 2)").unwrap(), None);
        one.output().flush().unwrap();
        assert_eq!(*output.0.lock().unwrap(), b"x = 2\n");
    }
}

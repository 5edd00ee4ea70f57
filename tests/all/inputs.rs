//! What the prompt makes of an input: whether it asks for more, and that a
//! mistake anywhere in an input changes nothing.

use crate::binary::{Ran, feed, kal};
use kal::source::Source;
use kal::{Engine, Outcome};
use std::ops::ControlFlow;

fn session(input: &str) -> Ran {
    feed(kal().args(["repl", "--no-init"]), input.as_bytes())
}

/// Returns what is shown when a line is typed and then `1 + 1`, as a
/// transcript.
fn transcript(line: &str) -> String {
    let typed = format!("{line}\n1 + 1\n");
    let ran = feed(kal().args(["repl", "--no-init", "--transcript"]), typed.as_bytes());
    ran.out().to_owned()
}

#[test]
fn what_cannot_be_completed_is_answered_at_once() {
    for line in [
        "\"hello\"",
        "'a'",
        "{1}",
        "[1]",
        "sum[1]",
        "x++",
        "5!",
        "x?",
        "|3|",
        "sin(3).",
        ":?",
        ":ast ~",
        "~",
        "1 $",
    ] {
        let shown = transcript(line);
        assert!(!shown.contains("...>"), "{shown}");
        assert!(shown.ends_with("kal> 1 + 1\n2\n"), "{shown}");
    }
    assert!(transcript(":ast ~\n:ast unary~").contains("kal> :ast unary~"));
}

#[test]
fn what_is_unfinished_asks_for_more() {
    for line in ["5 +", "50%", "def f(x)", "(1", "sin(", "if 1 then", "def binary $ 5 (a b) a $", ":ast sin("]
    {
        let shown = transcript(line);
        assert!(shown.starts_with(&format!("kal> {line}\n...> 1 + 1\n")), "{shown}");
    }
    // A user's operator asks as soon as it is defined, and not before.
    let shown = transcript("1 $\ndef binary $ 5 (a b) a + b\n1 $");
    assert!(shown.contains("kal> 1 $\nerror") && shown.ends_with("kal> 1 $\n...> 1 + 1\n3\n"), "{shown}");
}

#[test]
fn a_mistake_anywhere_in_an_input_changes_nothing() {
    for (line, code) in [
        ("def g(r) 3.14 (r*r)", "E0201"),
        ("var g = 1 b = 2", "E0201"),
        ("printd(7) 10 mod 3", "E0201"),
        ("printd(7); 1,000", "E01"),
        ("def g(x) x; printd(g(1, 2))", "E0205"),
        ("var g = 1; 2 $ 3", "E0202"),
    ] {
        let ran = session(&format!("{line}\ng\ng(1)\n"));
        assert_eq!(ran.out(), "", "{line}");
        let said = ran.said();
        assert!(said[0].contains(code), "{line}: {said:?}");
        assert!(said.iter().any(|line| line.contains("unknown variable `g`")), "{line}: {said:?}");
        assert!(said.iter().any(|line| line.contains("calls `g`, which is not defined")), "{line}: {said:?}");
    }
}

#[test]
fn items_know_what_items_before_them_define() {
    let ran = session(
        "var a = 2; a + 1; def binary $ 5 (x y) x * y; 3 $ a; def f(x) x; f(4)\n\
         def g() later(1); def later(x) x + 1; g()\n\
         def unary ~ (x) -x; ~5\n",
    );
    assert_eq!(ran.err(), "");
    let values: Vec<&str> = ran.out().lines().filter(|line| line.parse::<f64>().is_ok()).collect();
    assert_eq!(values, ["3", "6", "4", "2", "-5"]);
}

#[test]
fn what_belongs_to_a_foreign_construct_is_passed_over() {
    let text = "/* it's\n   a \"comment\" */\n1 + 1\nfor (i = 0; i < 3; i++) {\n  7;\n  8;\n}\n2 + 2\n";
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context");
    let mut seen = Vec::new();
    let _ = context.run(&Source::new("test", text), &mut |_, outcome| {
        seen.push(match outcome {
            Ok(Outcome::Value(value)) => value.to_string(),
            Ok(_) => "something else".to_owned(),
            Err(error) => error.to_string(),
        });
        ControlFlow::Continue(())
    });
    assert_eq!(seen, ["a comment begins with `#`", "2", "expected a name, found `(`", "4"]);
}

#[test]
fn commands_of_the_prompt_are_told_from_programs() {
    let said = feed(&mut kal(), b":list\n").said();
    assert_eq!(
        said,
        [
            "error[E0202] 1:1 no unary operator `:` is defined",
            "  help: commands such as `:list` are for the prompt of `kal`, each an input of its own"
        ]
    );
}

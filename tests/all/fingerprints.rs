//! Fingerprints: what changes the identity of a definition, and what does not.

use kal::{Config, Context, Engine, Fingerprint, Mode};

fn context() -> Context {
    let engine = Engine::with_config(Config::new().mode(Mode::Interpret)).expect("it starts");
    engine.context().expect("it starts")
}

const NAMES: [&str; 8] = ["f", "g", "h", "loop", "twice", "scale", "binary|", "unary~"];

const PROGRAM: &str = "
var rate = 2, offset = -0
def binary | 5 (a b) if a then 1 else b != 0
def unary ~ (a) 1 - a
def f(x y) x * 2.5 + sin(y) - rate
def g(x) if x < 3 && ~x then f(x, 1) else (f(1, x) | x)
def h(x) g(x) + h2(x, 1)
def loop(n) var s = 0, t = 1 in (for i = 0, i < n, 2 in s = s + i * t) + s
def twice(x) x + x
def scale(x) offset = x * rate
";

fn fingerprints(program: &str) -> [Option<Fingerprint>; NAMES.len()] {
    let mut context = context();
    context.eval(program).unwrap_or_else(|error| panic!("{program}\n{error}"));
    NAMES.map(|name| context.fingerprint(name))
}

/// The names whose definitions are others after an edit.
fn changed(from: &str, to: &str) -> Vec<&'static str> {
    assert!(PROGRAM.matches(from).count() == 1, "`{from}` is there once");
    let (before, after) = (fingerprints(PROGRAM), fingerprints(&PROGRAM.replace(from, to)));
    let pairs = NAMES.iter().zip(before.iter().zip(&after));
    pairs.filter(|(_, (before, after))| before != after).map(|(name, _)| *name).collect()
}

#[test]
fn layout_comments_and_names_of_locals_do_not_count() {
    let edits = [
        ("x * 2.5 + sin(y)", "x*2.5   +\n\n\tsin( y )"),
        ("x * 2.5 + sin(y)", "(x * 2.5) + (sin(y))"),
        ("x * 2.5 + sin(y)", "x * 2.5 # the first part\n + sin(y)"),
        ("def f(x y) x * 2.5 + sin(y) - rate", "def f(a b) a * 2.5 + sin(b) - rate"),
        ("def f(x y)", "def f(x, y)"),
        ("2.5", "2.50"),
        ("2.5", "25e-1"),
        ("def twice(x) x + x", "def twice(y) y + y;"),
        (
            "var s = 0, t = 1 in (for i = 0, i < n, 2 in s = s + i * t) + s",
            "var a = 0, b = 1 in (for k = 0, k < n, 2 in a = a + k * b) + a",
        ),
        ("(a b) if a then 1 else b != 0", "(left right) if left then 1 else right != 0"),
        ("def unary ~ (a) 1 - a", "def unary~(v) 1 - v"),
        ("def h(x) g(x)", "\r\n\r\ndef h(x)\r\n g(x)"),
        ("else (f(1, x) | x)", "else f(1, x) | x"),
    ];
    for (from, to) in edits {
        assert_eq!(changed(from, to), [""; 0], "{from} → {to}");
    }
}

#[test]
fn every_edit_of_the_meaning_changes_just_what_it_must() {
    let edits: [(&str, &str, &[&str]); 40] = [
        ("2.5", "2.6", &["f"]),
        ("2.5", "2.5000000000000004", &["f"]),
        ("x * 2.5", "x / 2.5", &["f"]),
        ("x * 2.5", "2.5 * x", &["f"]),
        ("x * 2.5", "y * 2.5", &["f"]),
        ("x * 2.5 + sin(y) - rate", "x * (2.5 + sin(y)) - rate", &["f"]),
        ("x * 2.5 + sin(y) - rate", "x * 2.5 + (sin(y) - rate)", &["f"]),
        ("x * 2.5 + sin(y) - rate", "sin(y) + x * 2.5 - rate", &["f"]),
        ("sin(y)", "cos(y)", &["f"]),
        ("sin(y)", "sqrt(y)", &["f"]),
        ("sin(y)", "sin(sin(y))", &["f"]),
        ("sin(y) - rate", "sin(y) - offset", &["f"]),
        ("sin(y) - rate", "sin(y) - -rate", &["f"]),
        ("sin(y) - rate", "sin(y)", &["f"]),
        ("def f(x y)", "def f(y x)", &["f"]),
        ("x < 3", "x <= 3", &["g"]),
        ("x < 3", "3 > x", &["g"]),
        ("x < 3", "!(x < 3)", &["g"]),
        ("&&", "||", &["g"]),
        ("&& ~x", "&& x", &["g"]),
        ("f(x, 1)", "f(1, x)", &["g"]),
        ("f(x, 1)", "twice(x)", &["g"]),
        ("else (f(1, x) | x)", "else (x | f(1, x))", &["g"]),
        ("else (f(1, x) | x)", "else (f(1, x) || x)", &["g"]),
        ("then f(x, 1) else (f(1, x) | x)", "then (f(1, x) | x) else f(x, 1)", &["g"]),
        ("h2(x, 1)", "h2(x)", &["h"]),
        ("h2(x, 1)", "h3(x, 1)", &["h"]),
        ("g(x) + h2", "g(x) - h2", &["h"]),
        ("i < n, 2 in", "i < n, 3 in", &["loop"]),
        ("i < n, 2 in", "i < n in", &["loop"]),
        ("i < n, 2", "i <= n, 2", &["loop"]),
        ("s = s + i * t", "t = s + i * t", &["loop"]),
        ("var s = 0, t = 1", "var s = 1, t = 1", &["loop"]),
        ("var s = 0, t = 1", "var t = 0, s = 1", &["loop"]),
        ("x + x", "x * 2", &["twice"]),
        ("def twice(x)", "def twice(x y)", &["twice"]),
        ("offset = x * rate", "rate = x * rate", &["scale"]),
        ("offset = x * rate", "offset == x * rate", &["scale"]),
        ("b != 0", "b", &["binary|"]),
        ("1 - a", "1 + a", &["unary~"]),
    ];
    for (from, to, expected) in edits {
        assert_eq!(changed(from, to), expected, "{from} → {to}");
    }
}

#[test]
fn a_fingerprint_is_the_same_everywhere() {
    // In another context, of another engine, whose names have other numbers.
    let mut other = context();
    other.eval("def zzz(u v w) u + v * w; def yyy() 1; var xxx = 3").expect("it is right");
    other.eval(PROGRAM).expect("it is right");
    assert_eq!(NAMES.map(|name| other.fingerprint(name)), fingerprints(PROGRAM));
    // In another process: the encoding is fixed.
    let mut context = context();
    context.eval("def f(x) x + 1").expect("it is right");
    let known = context.fingerprint("f").map(|fingerprint| fingerprint.to_string());
    assert_eq!(known.as_deref(), Some("e30e5cf47a1e3b0528e66f353d1c0ddd524d304eec7fd063577170d6b104dc15"));
    assert_eq!(context.fingerprint("undefined"), None);
    // An equal body under another name is another function.
    context.eval("def g(x) x + 1").expect("it is right");
    assert_ne!(context.fingerprint("f"), context.fingerprint("g"));
}

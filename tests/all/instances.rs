//! Patterns that are given very many functions: what is beyond the bound shares an instance.

use crate::binary::{feed, finish, kal};
use crate::modes::MODES;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{Config, Context, Engine, Outcome};
use std::fmt::Write;
use std::ops::ControlFlow;

/// More than a pattern has instances, by so many that three levels of dispatchers lead to
/// them.
const MANY: u32 = 256 + 70;

const PATTERNS: &str = "\
def square(x) x * x
def swapped(f(x) g(x) x) if x < 0 then f(x) - g(x) else swapped(g, f, x - 4)
def mixed(f(x) g(y) h(x y) x)
  var a = f(x), i = 0 in
    (while i < 2 in (var b = g(i) in a += h(f(b), i) : i += 1)) : a + swapped(g, f, x)
def again(f(x) x) f(f(x)) + mixed(f, square, binary-, x)
";

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Returns the definitions, and what calls the pattern with each of the functions.
fn program() -> String {
    let mut text = PATTERNS.to_owned();
    for i in 0..MANY {
        let _ = writeln!(text, "def g{i}(x) {i} * x + 1");
    }
    for part in 0..MANY.div_ceil(50) {
        let calls: Vec<String> =
            (50 * part..MANY.min(50 * part + 50)).map(|i| format!("again(g{i}, {})", i % 5)).collect();
        let _ = writeln!(text, "def part{part}() {}", calls.join(" + "));
    }
    text
}

/// Returns what the pattern makes of a function.
fn again(f: &dyn Fn(f64) -> f64, x: f64) -> f64 {
    let square = |x: f64| x * x;
    let mut mixed = f(x);
    for i in [0.0, 1.0] {
        mixed += f(square(i)) - i;
    }
    let (mut x, mut swapped) = (x, false);
    let start = x;
    while x >= 0.0 {
        (x, swapped) = (x - 4.0, !swapped);
    }
    // Square comes first, unless it was swapped.
    mixed += if swapped { f(x) - square(x) } else { square(x) - f(x) };
    f(f(start)) + mixed
}

#[test]
fn very_many_functions_can_be_given_in_every_mode() {
    let parts = MANY.div_ceil(50);
    let sum: String = (0..parts).map(|part| format!("part{part}()")).collect::<Vec<_>>().join(" + ");
    let of = |i: u32| again(&|x| f64::from(i) * x + 1.0, f64::from(i % 5));
    let expected: f64 = (0..MANY).map(of).sum();
    for (mode, configure) in MODES {
        let mut context = context(configure(Config::new()));
        context.eval(&program()).expect("it is defined");
        for _ in 0..3 {
            assert_eq!(context.eval(&sum).expect("it runs"), Some(expected), "{mode}");
        }
        // A function that has a number is redefined, and one that has none.
        context.eval("def g320(x) x def g3(x) x").expect("it is defined");
        let expected = expected - of(320) - of(3) + again(&|x| x, 0.0) + again(&|x| x, 3.0);
        assert_eq!(context.eval(&sum).expect("it runs"), Some(expected), "{mode}");
        // So is the pattern.
        context.eval("def again(f(x) x) f(x)").expect("it is defined");
        let of = |i: u32| if i == 320 || i == 3 { f64::from(i % 5) } else { f64::from(i * (i % 5) + 1) };
        assert_eq!(context.eval(&sum).expect("it runs"), Some((0..MANY).map(of).sum()), "{mode}");
    }
}

#[test]
fn what_is_given_and_has_no_meaning_gets_the_help_for_its_place() {
    let mut context = context(Config::new());
    context.eval("def apply(f(x) x) f(x)\ndef sq(x) x * x").expect("it is defined");
    let given = "a function is given by its name, `sin`, an operator as `binary+`";
    let cases = [
        ("apply(sni, 2)", ErrorCode::UnknownVariable, Some("did you mean `sin`?")),
        ("apply(qs, 2)", ErrorCode::UnknownVariable, Some("did you mean `sq`?")),
        ("apply(nothing_like_it, 2)", ErrorCode::UnknownVariable, None),
        ("apply(sq + 1, 2)", ErrorCode::FunctionWanted, Some(given)),
        ("sin(sq)", ErrorCode::UnknownVariable, Some("`sq` is a function: call it as `sq(…)`")),
        (
            "def truth(x) later(true, x)",
            ErrorCode::UnknownVariable,
            Some("true is any number but 0, such as `1`; false is `0`"),
        ),
        ("def misspelt(total) later(toal, 1)", ErrorCode::UnknownVariable, Some("did you mean `total`?")),
        ("def known(x) sin(helper)", ErrorCode::UnknownVariable, None),
        ("later(helper, 1)", ErrorCode::UnknownVariable, None),
    ];
    for (text, code, help) in cases {
        let error = context.eval(text).expect_err("it is a mistake");
        let [diagnostic] = error.diagnostics() else { panic!("{text}: {error:?}") };
        assert_eq!((diagnostic.code, diagnostic.help.as_deref()), (code, help), "{text}");
    }
}

#[test]
fn programs_may_be_written_from_the_top_down() {
    let text = "def main(n) apply(helper, n)\ndef apply(f(x) n) f(n) + f(n + 1)\n\
                def helper(x) x * 10\nmain(1)\n";
    for (mode, configure) in MODES {
        assert_eq!(context(configure(Config::new())).eval(text).expect("it runs"), Some(30.0), "{mode}");
    }
    let folder = tempfile::TempDir::new().expect("there is room");
    let (program, cache) = (folder.path().join("program.kal"), folder.path().join("cache"));
    std::fs::write(&program, text).expect("it can be written");
    std::fs::write(folder.path().join("down.kal"), text.replace("main(1)", "")).expect("it can be written");
    let checked = finish(kal().arg("check").arg(&program));
    assert_eq!((checked.out(), checked.err(), checked.code), ("", "", Some(0)));
    let user = folder.path().join("user.kal");
    std::fs::write(&user, "import down; main(1)").expect("it can be written");
    for start in ["first", "second"] {
        for file in [&program, &user] {
            let ran = finish(kal().arg("--cache").arg(&cache).arg(file));
            assert_eq!((ran.out(), ran.err()), ("30\n", ""), "{start} {}", file.display());
        }
    }
}

#[test]
fn a_variable_that_is_declared_too_late_is_named() {
    let text = "def f(n) g(total, n)\ndef g(x y) x - y\nvar total = 1\nf(1)\n";
    let help = "`g` takes no function there, and no variable `total` is declared before";
    for command in [&["--lazy"][..], &["--interpret"], &["check"]] {
        let ran = feed(kal().args(command).arg("-"), text.as_bytes());
        assert!(ran.err().contains(help), "{command:?}\n{}", ran.err());
        assert_eq!(ran.err().matches("error[").count(), 1, "{command:?}\n{}", ran.err());
    }
}

#[test]
fn errors_beyond_the_bound_name_what_is_written() {
    let modes = ["--interpret", "--lazy", "--lazy -O2", "--eager -O2", "--tiered"];
    for (mode, configure) in MODES.iter().filter(|(mode, _)| modes.contains(mode)) {
        let mut context = context(configure(Config::new()));
        context.eval(&program()).expect("it is defined");
        let mut warned = Vec::new();
        let _ = context.run(&Source::new("", "def g325(x y) x"), &mut |_, outcome| {
            let Ok(Outcome::Defined { warnings, .. }) = outcome else { panic!("{outcome:?}") };
            warned.extend(warnings.into_iter().map(|warning| warning.message));
            ControlFlow::Continue(())
        });
        let stale = "`again(g325, …)` calls `g325` with 1 argument, but `g325` takes 2";
        assert_eq!(warned[0], stale, "{mode}");
        let error = context.eval("part6()").expect_err("it takes two");
        let diagnostic = &error.diagnostics()[0];
        assert_eq!(diagnostic.code, ErrorCode::StaleCall, "{mode}");
        assert_eq!(diagnostic.trace, ["again(… x)", "part6()", "this expression"], "{mode}");
        context.eval("def g325(x) missing(x)").expect("it is defined");
        let error = context.eval("part6()").expect_err("it is missing");
        assert_eq!(error.to_string(), "`g325` calls `missing`, which is not defined", "{mode}");
        let calls = ["g325(x)", "again(… x)", "part6()", "this expression"];
        assert_eq!(error.diagnostics()[0].trace, calls, "{mode}");
        let described = context.describe("g325").expect("it is defined");
        assert_eq!(described.callers, ["again(g325, …)"], "{mode}");
    }
}

#[test]
fn code_does_not_grow_with_the_size_of_the_pattern() {
    let terms: String = (0..40).map(|i| format!(" + f(x * {i}) * {i}")).collect();
    let mut context = context(Config::new());
    context.eval(&format!("def large(f(x) x) 0{terms}")).expect("it is defined");
    let mut bytes = vec![0];
    for hundred in 0..10 {
        for i in 100 * hundred..100 * hundred + 100 {
            let text = format!("def g{i}(x) x + {i}; large(g{i}, 1)");
            let expected: i32 = (0..40).map(|k| (k + i) * k).sum();
            assert_eq!(context.eval(&text).expect("it runs"), Some(f64::from(expected)));
        }
        bytes.push(context.stats().code_bytes);
    }
    let grown: Vec<u64> = bytes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(grown[5..].iter().all(|later| *later < grown[0] / 4), "{grown:?}");
}

/// Whoever calls an instance calls the pattern.
#[test]
fn callers_through_instances_are_callers() {
    let mut context = context(Config::new());
    let text = "def apply(f(x) x) f(x); def inc(x) x + 1;
        def one(x) apply(inc, x); def other(x) apply(sin, one(x)); def none(x) inc(x)";
    context.eval(text).expect("it is right");
    assert_eq!(context.callers("apply"), ["one", "other"]);
    assert_eq!(context.callers("inc"), ["apply(inc, …)", "none"]);
    let apply = context.definitions().into_iter().find(|known| known.name == "apply").expect("it is there");
    assert_eq!((apply.callers, apply.callees.len()), (vec!["one".to_owned(), "other".to_owned()], 0));
    assert_eq!(context.describe("one").expect("it is there").callees, ["apply(inc, …)"]);
}

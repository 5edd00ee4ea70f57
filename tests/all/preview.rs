//! Previews: values of pure expressions while they are typed, never an effect,
//! and never for long.

use crate::terminal::{CTRL_C, CTRL_D, ENTER, Terminal};
use crate::transcripts::Folder;
use kal::{Config, Context, Engine, Mode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const MODES: [Mode; 4] = [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered];

fn context(mode: Mode) -> Context {
    Engine::with_config(Config::new().mode(mode)).and_then(|engine| engine.context()).expect("it can be made")
}

#[test]
fn pure_expressions_have_a_value_in_every_mode() {
    for mode in MODES {
        let mut context = context(mode);
        let program = "def fib(n) if n < 2 then n else fib(n-1) + fib(n-2); var side = 3
                       def sum(n) var s = 0 in (for i = 1, i <= n in s = s + i) + s
                       def binary $ 5 (a b) a * 10 + b; def unary ~ (x) 1 - x
                       def even(n) if n < 1 then 1 else odd(n-1); def odd(n) if n < 1 then 0 else even(n-1)";
        context.eval(program).expect("it is right");
        let cases = [
            ("1 + 2 * 3", 7.0),
            ("fib(12) + side", 147.0),
            ("sum(100)", 5151.0),
            ("3 $ ~1", 30.0),
            ("even(10) + odd(11) + sqrt(16) + fmax(1, 2)", 8.0),
            ("var x = side in x * x", 9.0),
            ("hypot(3, 4) ^ 2", 25.0),
        ];
        for (text, value) in cases {
            assert_eq!(context.preview(text), Some(value), "{text} {mode:?}");
        }
        // Also by an alias that nothing has called.
        context.eval("import math").expect("it is right");
        assert_eq!(context.preview("clamp(5, 0, 3) + lerp(0, 2, 0.5)"), Some(4.0), "{mode:?}");
        assert!(context.preview("0 / 0").is_some_and(f64::is_nan));
        // As the program is now, not as it was.
        context.eval("def sqrt(x) x * 2; side = 5").expect("it is right");
        assert_eq!(context.preview("sqrt(16) + side"), Some(37.0), "{mode:?}");
    }
}

#[test]
fn what_has_an_effect_or_no_value_has_no_preview() {
    let calls = Arc::new(AtomicUsize::new(0));
    for mode in MODES {
        let counted = calls.clone();
        let config = Config::new().mode(mode).host_function("counted", 0, move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(1.0)
        });
        let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("a context");
        let program = "var a = 1; def set(x) a = x; def deep(x) 1 + set(x); def prints() printd(1)
                       def f(x) x; def stale() f(1); def f(x y) x + y; def calls() counted()
                       def missing() nowhere(1)";
        context.eval(program).expect("it is right");
        let before = (context.stats().defined, context.stats().expressions);
        for text in [
            "",
            " ",
            "1 +",
            "(1",
            "1; 2",
            "1 2",
            "def g(x) x",
            "var b = 2",
            "extern sin(x)",
            "nothing",
            "a = 2",
            "set(2)",
            "deep(2)",
            "prints()",
            "printd(2)",
            "putchard(65)",
            "1 + calls()",
            "counted()",
            "stale()",
            "f(1)",
            "missing()",
            "nowhere(1)",
            "import x",
            "\"a\"",
            "1 $ 2",
            "# 1",
        ] {
            assert_eq!(context.preview(text), None, "{text} {mode:?}");
        }
        assert_eq!(context.variable("a").expect("it is there"), 1.0);
        assert_eq!((context.stats().defined, context.stats().expressions), before);
        assert!(!context.interrupt_handle().is_pending());
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

/// Returns texts that would take long, with definitions before them.
fn long_ones() -> Vec<(&'static str, String)> {
    let wide = format!("def wide(x) {}x", "sin(x) ^ tgamma(x) + ".repeat(200));
    vec![
        ("", "for i = 0, 1 in i".into()),
        ("def loops() for i = 0, 1 in sin(i) ^ tgamma(i)", "loops()".into()),
        ("def down(n) if n < 1 then 0 else down(n - 1) + 1", "down(1e9)".into()),
        ("def ever(n) ever(n + 1)", "ever(0)".into()),
        ("def fib(n) if n < 2 then n else fib(n-1) + fib(n-2)", "fib(40)".into()),
        ("def a(n) b(n) + b(n + 1); def b(n) a(n) * a(n)", "a(1)".into()),
        (Box::leak(wide.into_boxed_str()), "wide(1) + wide(2)".into()),
        ("", "(".repeat(200) + "1" + &")".repeat(199)),
        ("", "(".repeat(199) + "1" + &")".repeat(199)),
        ("", "-".repeat(398) + "1"),
        ("", "1+".repeat(199) + "1"),
        ("", "1".repeat(100_000)),
        ("", "(".repeat(100_000)),
        ("", "x".repeat(399)),
        ("", "for i = 0, 1 in ".repeat(24) + "0"),
        ("", "1e300 % 3e-300 + ".repeat(23) + "1"),
        ("def mods(x) for i = 0, i < x in 1e300 % 3e-300", "mods(1e9)".into()),
    ]
}

#[test]
fn no_preview_takes_long() {
    for mode in [Mode::Lazy, Mode::Interpret] {
        for (before, text) in long_ones() {
            let mut context = context(mode);
            context.eval(before).expect("it is right");
            let least = (0..20).map(|_| took(&context, &text)).min().unwrap_or_default();
            let shown: String = text.chars().take(40).collect();
            if std::env::var_os("SHOW").is_some() {
                eprintln!("{:>8.1} us  {mode:?} {shown}", least.as_secs_f64() * 1e6);
            }
            // A millisecond where it is optimised; here it is not, and others run beside it.
            assert!(least < Duration::from_millis(5), "{shown}: {least:?}");
        }
    }
}

fn took(context: &Context, text: &str) -> Duration {
    let start = Instant::now();
    std::hint::black_box(context.preview(text));
    start.elapsed()
}

#[test]
fn fuel_and_stack_end_a_preview_quietly() {
    let mut context = context(Mode::Lazy);
    context.eval("def down(n) if n < 1 then 0 else down(n - 1) + 1").expect("it is right");
    assert_eq!(context.preview("down(100)"), Some(100.0));
    assert_eq!(context.preview("down(100000)"), None);
    assert_eq!(context.preview("for i = 0, i < 1e9 in i"), None);
    assert_eq!(context.eval("down(100000)").expect("it ends"), Some(100_000.0));
}

#[test]
fn the_prompt_shows_previews() {
    let folder = Folder::new("preview");
    let mut terminal = Terminal::new(&folder);
    terminal.answer("def square(x) x * x", "square(x) defined");
    terminal.press("square(7) - 7");
    terminal.wait_for("square(7) - 7  = 42");
    // What is abandoned stays as it was typed, without its value.
    terminal.press(CTRL_C);
    terminal.wait_for("kal> square(7) - 7\nkal> ");
    // Nothing happened: there is no value yet, and nothing to undo but this.
    terminal.answer("ans", "0");
    terminal.press("(1\r");
    terminal.wait_for("...> ");
    terminal.press("+ 2) * 2");
    terminal.wait_for("+ 2) * 2  = 6");
    terminal.press(ENTER);
    terminal.wait_for("\n6");
    terminal.wait_for("kal> ");
    terminal.press("printd(5) + 5");
    terminal.wait_for("printd(5) + 5");
    terminal.press(CTRL_C);
    terminal.wait_for("\nkal> ");
    terminal.press(CTRL_D);
    assert_eq!(terminal.ends(), 0);
    assert!(!terminal.shown().contains("  = 5"), "{}", terminal.shown());
}

#[test]
fn previews_can_be_turned_off() {
    let folder = Folder::new("no preview");
    for arguments in [&["--quiet", "--no-preview"][..], &["--quiet", "--color", "never"]] {
        let mut terminal = Terminal::with(&folder, arguments, &[], 80);
        terminal.answer("6 * 7", "42");
        assert!(!terminal.shown().contains("  = "), "{}", terminal.shown());
    }
}

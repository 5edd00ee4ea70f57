//! Preludes in images: contexts begin with what they have left, and nothing of them runs.

use crate::binary::{finish, kal, run};
use kal::source::Source;
use kal::{Beginning, Config, Context, Engine, Image, ImageBuilder, Limits, Mode, Wanted};
use std::path::Path;

const PRELUDE: &str = "\
import math
## Squares.
def sq(x) x * x
var count = 0
var seed1 = 0 / 0 * -1
var zero = -0
def binary⊕ 30 (a b) sqrt(a * a + b * b)
def fill(n) for i = 1, i < n in count += sq(i)
fill(1000)
do zero = -0.0
def old(x) x
var kept = old(3)
def old(x) x * clamp(x, 0, 2)
def ap(f(x) a) f(a) + 1
ap(sq, 3) + ap(cos, 1)
extern later(x)
";

const QUESTIONS: [&str; 9] = [
    "count",
    "seed1",
    "1 / zero",
    "3 ⊕ 4 + 1",
    "kept",
    "old(4)",
    "ap(sq, 5)",
    "math.clamp(9, 0, 1)",
    "def later(x) sq(x) + 1; later(2)",
];

#[allow(unsafe_code)]
fn image(builder: &ImageBuilder, sources: &[Source]) -> Image {
    let built = builder.build(sources, Wanted::Reached).expect("it can be built");
    // SAFETY: it was just made.
    unsafe { Image::from_bytes("test.so", built.bytes) }.expect("it is whole")
}

fn prelude(text: &str) -> ImageBuilder {
    ImageBuilder::new(Config::new()).prelude(Source::new("prelude.kal", text))
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Returns the bits of the answers, and what was wrong.
fn answers(context: &mut Context) -> Vec<String> {
    let mut answer = |question: &&str| match context.eval(question) {
        Ok(value) => format!("{question}: {:x?}", value.map(f64::to_bits)),
        Err(error) => format!("{question}: {error}"),
    };
    QUESTIONS.iter().map(&mut answer).collect()
}

#[test]
fn a_snapshot_is_what_the_prelude_leaves() {
    let mut run = context(Config::new());
    run.eval(PRELUDE).expect("it runs");
    let expected = answers(&mut run);
    let image = image(&prelude(PRELUDE), &[]);
    assert_eq!(image.prelude_name(), Some("prelude.kal"));
    for mode in [Mode::Lazy, Mode::Eager, Mode::Tiered, Mode::Interpret] {
        let engine = Engine::with_config(Config::new().mode(mode).image(image.clone())).expect("it starts");
        for _ in 0..2 {
            let mut context = engine.context().expect("it starts");
            assert_eq!(context.beginning(), &Beginning::Snapshot, "{mode:?}");
            assert_eq!(answers(&mut context), expected, "{mode:?}");
        }
    }
}

#[test]
fn nothing_of_a_prelude_is_parsed_compiled_or_run() {
    let program = Source::new("program", "def g(x) sq(x) + count\ng(2)");
    let image = image(&prelude(PRELUDE), std::slice::from_ref(&program));
    let engine = Engine::with_config(Config::new().image(image)).expect("it starts");
    for _ in 0..2 {
        let mut context = engine.context().expect("it starts");
        let mut values = Vec::new();
        let _ = context.run(&program, &mut |_, outcome| {
            values.extend(outcome.ok().and_then(|outcome| match outcome {
                kal::Outcome::Value(value) => Some(value),
                _ => None,
            }));
            std::ops::ControlFlow::Continue(())
        });
        assert_eq!(values, [333_833_504.0]);
        assert_eq!(context.call("sq", &[5.0]).ok(), Some(25.0));
        let stats = context.stats();
        assert_eq!((stats.ir_generated, stats.expressions, stats.parsed_units), (0, 0, 0));
    }
}

#[test]
fn a_prelude_is_no_step_that_can_be_undone_and_can_be_redefined() {
    let image = image(&prelude("def f(x) x + 1; def g(x) f(x) * 2; var k = 7"), &[]);
    let mut context = context(Config::new().image(image));
    assert_eq!(context.eval("def f(x) x + k; g(1)").ok(), Some(Some(16.0)));
    context.set_variable("k", 1.0).expect("it is declared");
    assert_eq!(context.eval("g(1)").ok(), Some(Some(4.0)));
}

#[test]
fn what_a_prelude_must_not_do_is_an_error_with_its_place() {
    let host = Config::new().host_function("ask", 1, |call| Ok(call.arguments[0]));
    let refused = [
        "print(1)",
        "def f(x)\n  printd(x)\nf(2)",
        "putchard(72)",
        "1 +\n random()",
        "seed(3)",
        "clock()",
        "now()",
        "read()",
        "args()",
        "var x = ask(1)",
    ];
    for text in refused {
        let builder = ImageBuilder::new(host.clone()).prelude(Source::new("prelude.kal", text));
        let error = builder.build(&[], Wanted::Reached).expect_err(text);
        assert!(error.to_string().contains("a prelude writes nothing"), "{text}: {error}");
        assert_eq!(error.diagnostics()[0].labels[0].source.name(), "prelude.kal");
    }
    // What it defines and does not call may.
    let builder = prelude("def shout(x) print(x)\ndef roll() random()");
    assert!(builder.build(&[], Wanted::Reached).is_ok());
    let wrong = prelude("def f(x) x +").build(&[], Wanted::Reached);
    assert!(matches!(wrong, Err(kal::Error::Invalid(_))));
}

#[test]
#[allow(unsafe_code)]
fn a_prelude_declares_no_functions_of_c() {
    // SAFETY: it takes and returns an int, and is not called.
    let config = unsafe { Config::new().allow_extern("toupper", None) };
    let builder = ImageBuilder::new(config).prelude(Source::new("p", "extern toupper(c)"));
    let error = builder.build(&[], Wanted::Reached).expect_err("it is refused");
    assert_eq!(error.to_string(), "a prelude calls no C functions of the host");
}

#[test]
fn where_a_snapshot_would_mean_something_else_the_prelude_runs() {
    let image = image(&prelude(PRELUDE), &[]);
    let mut expected = context(Config::new());
    expected.eval(PRELUDE).expect("it runs");
    let expected = answers(&mut expected);
    let other = [
        Config::new().host_function("twice", 1, |call| Ok(2.0 * call.arguments[0])),
        Config::new().limits(Limits { max_nesting: 500, ..Limits::default() }),
    ];
    for config in other {
        let mut context = context(config.image(image.clone()));
        assert!(matches!(context.beginning(), Beginning::Run { reason } if reason.contains("others")));
        assert_eq!(answers(&mut context), expected);
    }
    // A host function that the prelude calls is the one that runs.
    let shadowing = Config::new().host_function("cbrt", 1, |_| Ok(5.0));
    let image = self::image(&prelude("var root = cbrt(8)"), &[]);
    assert_eq!(context(Config::new().image(image.clone())).variable("root").ok(), Some(2.0));
    assert_eq!(context(shadowing.image(image)).variable("root").ok(), Some(5.0));
}

#[test]
fn a_module_that_has_changed_makes_the_prelude_run() {
    let folder = tempfile::tempdir().expect("there is room");
    let module = folder.path().join("rates.kal");
    let config = || Config::new().library_path(folder.path());
    std::fs::write(&module, "var base = 3\ndef rate(x) x * base").expect("it is written");
    let builder =
        ImageBuilder::new(config()).prelude(Source::new("prelude.kal", "import rates\nvar first = rate(2)"));
    let image = image(&builder, &[]);
    let first = |image: &Image| {
        let context = context(config().image(image.clone()));
        (context.beginning().clone(), context.variable("first").ok())
    };
    assert_eq!(first(&image), (Beginning::Snapshot, Some(6.0)));
    std::fs::write(&module, "var base = 5\ndef rate(x) x * base").expect("it is written");
    let reason = "the module `rates` is another one".to_owned();
    assert_eq!(first(&image), (Beginning::Run { reason }, Some(10.0)));
}

#[test]
fn images_with_preludes_are_the_same_from_everywhere_and_do_the_same() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("prelude.kal"), PRELUDE).expect("it is written");
    std::fs::write(file("app.kal"), "print(count, \" \", sq(3), \" \", 3 ⊕ 4)\n").expect("it is written");
    let build = |output: &str, home: &Path, locale: &str, threads: &str| {
        let mut command = kal();
        command.args([
            "image",
            "build",
            "app.kal",
            "--preinit",
            "prelude.kal",
            "--threads",
            threads,
            "-o",
            output,
        ]);
        let built = finish(command.current_dir(folder.path()).env("HOME", home).env("LC_ALL", locale));
        assert_eq!((built.err(), built.code), ("", Some(0)));
        std::fs::read(folder.path().join(output)).expect("it was written")
    };
    let home = tempfile::tempdir().expect("there is room");
    let one = build("one.so", home.path(), "C", "1");
    assert_eq!(one, build("other.so", folder.path(), "de_DE.UTF-8", "2"));
    let ran = run(&["--image", &file("one.so"), "--trace-cache", &file("app.kal")]);
    assert_eq!(ran.out(), "333833500 9 5\n");
    assert!(ran.err().contains("image: begun with what its prelude has left"), "{}", ran.err());
    let info = run(&["image", "info", &file("one.so")]);
    assert!(info.out().ends_with("text: prelude.kal (prelude)\n"), "{}", info.out());
}

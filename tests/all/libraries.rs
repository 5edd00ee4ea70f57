//! Libraries: modules in files, and what imports make of their names.

use crate::binary::{finish, kal};
use crate::standard::{documented, modules};
use kal::{Config, Context, Engine, Limits, Mode, Outcome};
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;

const MODES: [Mode; 4] = [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered];

/// Writes modules into a new folder.
fn library(modules: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, text) in modules {
        write(folder.path(), name, text);
    }
    folder
}

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
    std::fs::write(path, text).expect("it can be written");
}

fn context(folder: &TempDir, mode: Mode) -> Context {
    let config = Config::new().mode(mode).library_path(folder.path());
    Engine::with_config(config).and_then(|engine| engine.context()).expect("a context starts")
}

/// Returns the value of the last expression of a text, which must run.
fn value_of(context: &mut Context, text: &str) -> Option<f64> {
    context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the message of the error that a text ends with.
fn refusal(context: &mut Context, text: &str) -> String {
    let error = context.eval(text).expect_err(text);
    let help = error.diagnostics().first().and_then(|found| found.help.clone());
    help.map_or_else(|| error.to_string(), |help| format!("{error} ({help})"))
}

const STATS: &str = "
    ## Returns the mean of two numbers.
    def mean(a b) half(a + b)
    def half(x) x / 2
    def _secret(x) x
    def open(x) _secret(x) + 1
    var count = 3
    def bump() count = count + 1
    def binary ⊕ 25 (a b) mean(a, b)
    def unary ~ (a) 0 - a
    def own(a b) ~a ⊕ b";

#[test]
fn names_of_a_module_are_known_with_and_without_its_name() {
    let folder = library(&[
        ("stats.kal", STATS),
        ("stats/robust.kal", "import stats as s\ndef median(a b c) s.half(a) * 2"),
    ]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        let mut is =
            |text: &str, value: f64| assert_eq!(value_of(&mut context, text), Some(value), "{text} {mode:?}");
        is("import stats; mean(2, 4)", 3.0);
        is("stats.mean(2, 4)", 3.0);
        is("2 ⊕ 10 + 1", 7.0);
        is("own(1, 3)", 1.0);
        is("open(1)", 2.0);
        is("count", 3.0);
        is("bump() + count * 0", 4.0);
        is("stats.count", 4.0);
        is("stats.count = 7; count", 7.0);
        is("import stats.robust; median(1, 2, 3) + stats.robust.median(4, 5, 6)", 5.0);
        is("import stats as s; s.mean(4, 6)", 5.0);
    }
}

/// Returns the names that the modules of the standard library offer.
fn standard_names() -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (module, path) in modules() {
        for known in documented(&std::fs::read_to_string(&path).expect("it is text")) {
            let name = known.head.split('(').next().expect("it has a name").to_owned();
            assert!(!known.lines.is_empty(), "{module}.{name} says nothing about itself");
            names.push((module.clone(), name));
        }
    }
    names
}

#[test]
fn the_standard_library_is_documented_and_found_without_a_folder() {
    let page = std::fs::read_to_string(crate::binary::directory("docs/library.md")).expect("it is text");
    let names = standard_names();
    assert!(names.len() >= 50, "{}", names.len());
    for (module, name) in &names {
        assert!(page.contains(&format!("\n## {module}\n")), "the page does not have {module}");
        assert!(
            page.contains(&format!("`{name}`")) || page.contains(&format!("`{name}(")),
            "{module}.{name}"
        );
    }
    let mut alone = Engine::new().and_then(|engine| engine.context()).expect("a context starts");
    for (module, _) in &names {
        value_of(&mut alone, &format!("import {module} as m_{module}"));
    }
    assert_eq!(value_of(&mut alone, "m_math.clamp(5, 0, m_math.pi)"), Some(std::f64::consts::PI));
    // A module of the user's hides one of the same name.
    let folder = library(&[("math.kal", "def clamp(x low high) 42; def leap(x) x")]);
    let mut hiding = context(&folder, Mode::Lazy);
    assert_eq!(value_of(&mut hiding, "import math; clamp(5, 0, 1)"), Some(42.0));
    let file = folder.path().join("math.kal").display().to_string();
    let hides = format!("`math` is {file}, which hides the module `math` of the standard library");
    for call in ["lerp(0, 1, 0.5)", "math.lerp(0, 1, 0.5)"] {
        let (called, _) = call.split_once('(').expect("it is a call");
        let expected = format!("this expression calls `{called}`, which is not defined ({hides})");
        assert_eq!(refusal(&mut hiding, call), expected);
    }
    let imported = refusal(&mut hiding, "import math(lerp)");
    assert_eq!(imported, format!("the module `math` has no `lerp` ({hides})"));
    let misspelt = refusal(&mut hiding, "import math(leep)");
    assert_eq!(misspelt, "the module `math` has no `leep` (did you mean `leap`?)");
}

#[test]
fn an_import_can_be_narrow() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut qualified = context(&folder, mode);
        assert_eq!(value_of(&mut qualified, "import stats as s; s.mean(2, 4)"), Some(3.0));
        assert_eq!(
            refusal(&mut qualified, "mean(2, 4)"),
            "this expression calls `mean`, which is not defined (did you mean `s.mean`?)"
        );
        assert!(refusal(&mut qualified, "stats.mean(2, 4)").starts_with("no module `stats` is imported"));
        assert!(refusal(&mut qualified, "1 ⊕ 2").starts_with("no binary operator `⊕` is defined"));
        let mut listed = context(&folder, mode);
        assert_eq!(value_of(&mut listed, "import stats(half, binary ⊕); half(3) ⊕ 2"), Some(1.75));
        assert_eq!(value_of(&mut listed, "stats.mean(2, 4)"), Some(3.0));
        let unlisted = "this expression calls `mean`, which is not defined (did you mean `stats.mean`?)";
        assert_eq!(refusal(&mut listed, "mean(2, 4)"), unlisted);
        assert_eq!(refusal(&mut listed, "import stats(sd)"), "the module `stats` has no `sd`");
        assert_eq!(refusal(&mut listed, "import stats(_secret)"), "the module `stats` has no `_secret`");
        let private = "`_secret` is private to the module `stats`";
        assert_eq!(refusal(&mut listed, "stats._secret(1)"), private);
        assert_eq!(refusal(&mut listed, "def f(x) stats._secret(x)"), private);
        listed.eval("def twice(f(x) x) f(f(x))").expect("it is defined");
        assert_eq!(refusal(&mut listed, "twice(stats._secret, 1)"), private);
        assert_eq!(refusal(&mut listed, "def g(x) twice(stats._secret, x)"), private);
    }
}

#[test]
fn a_definition_hides_an_alias_and_leaves_the_module_alone() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        context.keep_history(20);
        let mut is =
            |text: &str, value: f64| assert_eq!(value_of(&mut context, text), Some(value), "{text} {mode:?}");
        is("def early(x) half(x); import stats; early(8)", 4.0);
        is("def late(x) half(x) + 1; late(8)", 5.0);
        is("def half(x) x * 10; early(8)", 80.0);
        is("late(8)", 81.0);
        is("mean(2, 4)", 3.0);
        is("stats.half(8)", 4.0);
        context.drop_function("half").expect("it is defined");
        assert_eq!(value_of(&mut context, "early(8) + late(8)"), Some(9.0));
        context.undo();
        assert_eq!(value_of(&mut context, "early(8)"), Some(80.0));
        context.redo();
        assert_eq!(value_of(&mut context, "early(8)"), Some(4.0));
        assert_eq!(value_of(&mut context, "def stats.half(x) x * 100; early(8) + mean(1, 1)"), Some(1000.0));
        context.undo();
        assert_eq!(value_of(&mut context, "early(8) + mean(1, 1)"), Some(5.0), "{mode:?}");
        assert!(context.drop_function("mean").is_err(), "an alias is not the program's");
    }
}

#[test]
fn an_import_can_be_undone() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        context.keep_history(20);
        context.eval("def f(x) half(x)").expect("it is valid");
        assert_eq!(value_of(&mut context, "import stats"), None);
        assert_eq!(value_of(&mut context, "f(8) ⊕ 2"), Some(3.0));
        let undone = context.undo();
        assert_eq!((undone.len(), undone[0].is_import, undone[0].is_defined), (1, true, false));
        assert_eq!(refusal(&mut context, "f(8)"), "`f` calls `half`, which is not defined");
        assert!(refusal(&mut context, "1 ⊕ 2").starts_with("no binary operator `⊕` is defined"));
        context.redo();
        assert_eq!(value_of(&mut context, "f(8) ⊕ 2"), Some(3.0));
    }
}

#[test]
fn two_modules_may_offer_the_same_name_until_it_is_used() {
    let folder = library(&[
        ("a.kal", "def f(x) 1\ndef g(x) 1\ndef binary @ (a b) 1"),
        ("b.kal", "def f(x) 2\ndef h(x) f(x)\ndef binary @ (a b) 2"),
    ]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        assert_eq!(
            refusal(&mut context, "import a; import b"),
            "`@` would have two meanings: `a.binary@` and `b.binary@` (name what is to be imported, in \
             parentheses)"
        );
        assert_eq!(value_of(&mut context, "import b(f h); g(0) + h(0) + (1 @ 1)"), Some(4.0));
        let twice = "`f` is offered by two imports (write `a.f` or `b.f`)";
        assert_eq!(refusal(&mut context, "f(0)"), twice);
        assert_eq!(refusal(&mut context, "def k(x) f(x)"), twice);
        assert_eq!(value_of(&mut context, "10 * a.f(0) + b.f(0)"), Some(12.0));
        assert_eq!(value_of(&mut context, "def f(x) 3; f(0)"), Some(3.0));
    }
}

#[test]
fn modules_may_import_each_other() {
    let folder = library(&[
        ("even.kal", "import odd\ndef even(n) if n == 0 then 1 else odd(n - 1)\ndef binary ⊗ (a b) a * b"),
        ("odd.kal", "import even\ndef odd(n) if n == 0 then 0 else even(n - 1)\ndef square(x) x ⊗ x"),
    ]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        assert_eq!(value_of(&mut context, "import even; even(10) + 2 * even(7)"), Some(1.0));
        assert_eq!(value_of(&mut context, "import odd; odd(7) + square(3)"), Some(10.0));
    }
}

#[test]
fn a_changed_file_is_read_again() {
    let folder = library(&[
        ("top.kal", "import low\ndef top(x) low(x) + 1"),
        ("low.kal", "def low(x) x\ndef gone(x) x"),
    ]);
    for mode in MODES {
        write(folder.path(), "low.kal", "def low(x) x\ndef gone(x) x");
        let mut context = context(&folder, mode);
        assert_eq!(value_of(&mut context, "import top; def mine(x) top(x); mine(1)"), Some(2.0));
        assert_eq!(value_of(&mut context, "import low; gone(5)"), Some(5.0));
        write(folder.path(), "low.kal", "def low(x) x * 10");
        assert_eq!(value_of(&mut context, "mine(1)"), Some(2.0));
        assert_eq!(value_of(&mut context, "import top; mine(1)"), Some(11.0), "{mode:?}");
        assert_eq!(refusal(&mut context, "gone(5)"), "this expression calls `gone`, which is not defined");
    }
}

#[test]
fn a_renamed_function_is_missed_where_it_is_called() {
    let folder = library(&[("a.kal", "import b\ndef f(x) b.foo(x)"), ("b.kal", "def foo(x) x + 1")]);
    for mode in MODES {
        write(folder.path(), "b.kal", "def foo(x) x + 1");
        let mut first = context(&folder, mode);
        assert_eq!(value_of(&mut first, "import a; f(1)"), Some(2.0));
        write(folder.path(), "b.kal", "def bar(x) x + 1");
        for mut context in [first, context(&folder, mode)] {
            assert_eq!(
                refusal(&mut context, "import a; a.f(1)"),
                "`a.f` calls `b.foo`, which is not defined"
            );
        }
    }
}

#[test]
fn a_library_only_declares_and_a_refused_one_leaves_nothing() {
    let folder = library(&[
        ("runs.kal", "def f(x) x\nf(1)"),
        ("broken.kal", "def f(x) x +"),
        ("wrong.kal", "import fine\ndef f(x) y"),
        ("other.kal", "def fine.g(x) x"),
        ("fine.kal", "def fine(x) x"),
        ("tall.kal", "def f(x) fine(x)\ndef fine(x) f(x, 1)"),
    ]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        for (module, message) in [
            ("runs", "a library only defines"),
            ("broken", "expected an expression after `+`, found the end of the input"),
            ("wrong", "unknown variable `y`"),
            ("other", "the module `other` cannot define `fine.g`"),
            ("tall", "`tall.f` takes 1 argument, not 2"),
            ("none", "there is no module `none`"),
        ] {
            let refused = refusal(&mut context, &format!("import {module}"));
            assert!(refused.starts_with(message), "{refused}");
        }
        assert_eq!(context.stats().defined, 0);
        assert_eq!(refusal(&mut context, "fine(1)"), "this expression calls `fine`, which is not defined");
    }
}

#[test]
fn programs_import_nothing_unless_they_may() {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("a context starts");
    assert_eq!(
        refusal(&mut context, "import nosuch"),
        "there is no module `nosuch` (this program may import nothing: no folder is searched)"
    );
    assert!(refusal(&mut context, "nosuch.mean(1)").starts_with("no module `nosuch` is imported"));
}

#[test]
fn handles_follow_an_alias() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        context.eval("import stats").expect("it is there");
        let mean = context.function::<fn(f64, f64) -> f64>("mean").expect("it is imported");
        let qualified = context.function::<fn(f64, f64) -> f64>("stats.mean").expect("it is imported");
        assert_eq!(mean.call(&mut context, (2.0, 4.0)).ok(), Some(3.0));
        assert_eq!(context.call("half", &[5.0]).ok(), Some(2.5));
        context.eval("def mean(a b) 9").expect("it is valid");
        assert_eq!(mean.call(&mut context, (2.0, 4.0)).ok(), Some(9.0));
        assert_eq!(qualified.call(&mut context, (2.0, 4.0)).ok(), Some(3.0));
    }
}

#[test]
fn contexts_of_an_engine_import_by_themselves() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let engine = Engine::with_config(Config::new().mode(mode).library_path(folder.path()));
        let engine = engine.expect("an engine starts");
        let mut contexts = [0, 1].map(|_| engine.context().expect("a context starts"));
        let text = "def f(x) half(x) + 1; f(6)";
        assert_eq!(value_of(&mut contexts[0], &format!("import stats; {text}")), Some(4.0));
        assert!(contexts[1].eval(text).is_err(), "nothing is imported there");
        assert_eq!(value_of(&mut contexts[1], "def half(x) x; f(6)"), Some(7.0));
        assert_eq!(value_of(&mut contexts[0], "f(6)"), Some(4.0));
        assert_eq!(value_of(&mut contexts[1], "import stats; f(6) + mean(2, 2)"), Some(9.0));
    }
}

#[test]
fn an_import_has_an_outcome() {
    let folder = library(&[("stats.kal", STATS)]);
    let mut context = context(&folder, Mode::Interpret);
    let mut imported = Vec::new();
    let source = kal::source::Source::new("test", "import stats");
    let _ = context.run(&source, &mut |_, outcome| {
        if let Ok(Outcome::Imported { module }) = outcome {
            imported.push(module);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(imported, ["stats"]);
}

#[test]
fn an_import_that_does_not_fit_leaves_nothing() {
    let folder = library(&[("five.kal", "def a(x) 1\ndef b(x) 2\ndef c(x) 3\ndef d(x) 4\ndef e(x) 5")]);
    for mode in MODES {
        let limits = Limits { max_definitions: 4, ..Limits::default() };
        let config = Config::new().mode(mode).library_path(folder.path()).limits(limits);
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        for _ in 0..2 {
            let refused = refusal(&mut context, "import five");
            assert_eq!(refused, "no more than 4 definitions are allowed");
            assert_eq!(context.function_names().iter().filter(|name| *name == "a").count(), 0);
        }
        assert_eq!(value_of(&mut context, "def a(x) x; def b(x) x; def c(x) x; def d(x) x; d(7)"), Some(7.0));
    }
}

#[test]
fn a_module_whose_variables_cannot_be_assigned_is_read_again() {
    let folder = library(&[("late.kal", "")]);
    for mode in MODES {
        write(folder.path(), "late.kal", "var ready = missing(1)\ndef f(x) ready + x");
        let mut context = context(&folder, mode);
        for _ in 0..2 {
            let refused = refusal(&mut context, "import late");
            assert!(refused.ends_with("calls `late.missing`, which is not defined"), "{refused}");
            assert!(refusal(&mut context, "f(1)").starts_with("this expression calls `f`"));
        }
        write(folder.path(), "late.kal", "var ready = 40\ndef f(x) ready + x");
        assert_eq!(value_of(&mut context, "import late; f(2)"), Some(42.0));
    }
}

#[test]
fn modules_are_read_again_when_operators_that_they_import_have_changed() {
    let folder = library(&[("top.kal", "import low\ndef top(x) x + 2 ⊗ 3\nvar seen = low_seen + 1")]);
    for mode in MODES {
        write(folder.path(), "low.kal", "def binary ⊗ 10 (a b) a * b\nvar low_seen = 1");
        let mut context = context(&folder, mode);
        assert_eq!(value_of(&mut context, "import top; top(1) + 100 * seen"), Some(209.0));
        write(folder.path(), "low.kal", "def binary ⊗ 90 (a b) a * b\nvar low_seen = 1");
        assert_eq!(value_of(&mut context, "top(1)"), Some(9.0));
        assert_eq!(value_of(&mut context, "import top; top(1)"), Some(7.0));
    }
}

#[test]
fn one_name_is_one_file() {
    let folder = library(&[
        ("one/util.kal", "def f(x) 1"),
        ("one/first.kal", "import util\ndef first(x) f(x)"),
        ("two/util.kal", "def f(x) 2"),
        ("two/second.kal", "import util\ndef second(x) f(x)"),
    ]);
    for mode in MODES {
        let engine = Engine::with_config(Config::new().mode(mode)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let run = |context: &mut Context, text: &str, part: &str| {
            let source = kal::source::Source::in_folder("test", text.to_owned(), folder.path().join(part));
            let mut last = None;
            let _ = context.run(&source, &mut |_, outcome| {
                last = Some(outcome.map_err(|error| error.to_string()));
                ControlFlow::Continue(())
            });
            match last {
                Some(Ok(Outcome::Value(value))) => Ok(value),
                Some(Err(error)) => Err(error),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(run(&mut context, "import first; first(0)", "one"), Ok(1.0));
        assert_eq!(run(&mut context, "import second", "two"), Err("there are two modules `util`".into()));
        assert_eq!(run(&mut context, "first(0)", "two"), Ok(1.0));
    }
}

#[test]
fn a_long_chain_of_modules_is_read() {
    const LENGTH: usize = 3_000;
    let folder = library(&[("m0.kal", "def f0(x) x")]);
    for number in 1..LENGTH {
        let before = number - 1;
        let text = format!("import m{before}\ndef f{number}(x) f{before}(x) + 1");
        write(folder.path(), &format!("m{number}.kal"), &text);
    }
    let last = LENGTH - 1;
    let mut context = context(&folder, Mode::Interpret);
    assert_eq!(value_of(&mut context, &format!("import m{last}; f{last}(0)")), Some(last as f64));
}

#[test]
fn the_command_finds_modules_where_it_says() {
    let folder = library(&[
        ("project/kal.toml", ""),
        ("project/lib/inner.kal", "def inner(x) x + 1"),
        (
            "project/programs/deep/main.kal",
            "import inner\nimport listed\nimport shared\ninner(1) + listed(1) + shared(1)",
        ),
        ("path/listed.kal", "def listed(x) x + 10"),
        ("data/kal/lib/shared.kal", "def shared(x) x + 100"),
    ]);
    let at = |name: &str| folder.path().join(name);
    let mut command = kal();
    command.env("KAL_PATH", at("path")).env("XDG_DATA_HOME", at("data"));
    let ran = finish(command.current_dir(folder.path()).arg(at("project/programs/deep/main.kal")));
    assert_eq!((ran.out(), ran.err(), ran.code), ("114\n", "", Some(0)));
    let mut command = kal();
    let ran = finish(command.current_dir(at("path")).args(["-e", "import listed; listed(5)"]));
    assert_eq!((ran.out(), ran.err()), ("15\n", ""));
}

#[test]
fn a_project_says_where_modules_are_and_of_which_version() {
    let linear = |version: &str| format!("[library]\nname = \"linear\"\n{version}");
    let folder = library(&[
        (
            "project/kal.toml",
            "[library]\nname = \"mine\"\nversion = \"0.1.0\"\n[imports]\n\
             linear = { path = \"../elsewhere\", version = \"1.1\" }\nplain = { path = \"../other\" }\n",
        ),
        ("project/lib/linear.kal", "def linear(x) 0"),
        (
            "project/main.kal",
            "import linear\nimport linear.solve\nimport plain\nlinear(1) + solve(1) + plain(1)",
        ),
        ("elsewhere/linear.kal", "def linear(x) x + 1"),
        ("elsewhere/linear/solve.kal", "def solve(x) x + 10"),
        ("other/plain.kal", "def plain(x) x + 100"),
    ]);
    let run = |said: Option<&str>| {
        if let Some(said) = said {
            write(folder.path(), "elsewhere/kal.toml", said);
        }
        let ran = finish(kal().current_dir(folder.path().join("project")).arg("main.kal"));
        (ran.out().to_owned(), ran.err().to_owned())
    };
    let (out, error) = run(None);
    assert_eq!(out, "");
    assert!(error.contains("asks for version ^1.1, but there is no "), "{error}");
    for (said, message) in [
        (linear(""), "kal.toml says no version"),
        (linear("version = \"1.1\""), "kal.toml:3: `1.1` is no version, which has three numbers: \"1.2.0\""),
        (
            "[imports]\nother = \"../other\"".to_owned(),
            "kal.toml:2: invalid type: string \"../other\", expected a table with a `path`",
        ),
    ] {
        let (out, error) = run(Some(&said));
        assert!(out.is_empty() && error.contains(message), "{error}");
    }
    for version in ["1.1.0", "1.9.3"] {
        let right = ("114\n".to_owned(), String::new());
        assert_eq!(run(Some(&linear(&format!("version = \"{version}\"")))), right);
    }
    for version in ["1.0.9", "2.0.0"] {
        let (out, error) = run(Some(&linear(&format!("version = \"{version}\""))));
        assert!(error.contains(&format!("but `linear` is version {version}")), "{error}");
        assert_eq!(out, "");
    }
    for (wrong, place) in [("version = 3", ":3: "), ("versio = \"1\"", ":3: unknown field"), ("[", ":3: ")] {
        let (out, error) = run(Some(&linear(wrong)));
        assert!(out.is_empty() && error.contains(&format!("elsewhere/kal.toml{place}")), "{error}");
    }
    std::fs::remove_file(folder.path().join("other/plain.kal")).expect("it is there");
    let (_, error) = run(Some(&linear("version = \"1.1.0\"")));
    assert!(error.contains("there is no module `plain`") && error.contains("other/plain.kal"), "{error}");
}

#[test]
fn a_stored_program_has_its_modules_in_it() {
    let folder = library(&[
        ("stats.kal", STATS),
        (
            "main.kal",
            "import stats\nimport stats as s\nmean(2, 4) ⊕ s.half(9)\nbump()\ncount\ndef stats.mean(a b) 50\nmean(1, 1)",
        ),
    ]);
    let mut command = kal();
    let stored =
        finish(command.current_dir(folder.path()).args(["emit", "tape", "-o", "main.tape", "main.kal"]));
    assert_eq!((stored.err(), stored.code), ("", Some(0)));
    std::fs::remove_file(folder.path().join("stats.kal")).expect("it is there");
    for mode in ["--lazy", "--eager", "--interpret", "--tiered"] {
        let mut command = kal();
        let ran = finish(command.current_dir(folder.path()).args([mode, "main.tape"]));
        assert_eq!((ran.out(), ran.err(), ran.code), ("3.75\n4\n4\n50\n", "", Some(0)), "{mode}");
    }
}

#[test]
fn a_script_imports_what_the_session_did() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut first = context(&folder, mode);
        let text =
            "import stats(mean, binary ⊕); import stats as s; var a = 2; def f(x) a * mean(x, 4) ⊕ s.half(x)";
        assert_eq!(value_of(&mut first, text), None);
        let script = first.script(&[]);
        assert!(
            script.starts_with("import stats(mean binary ⊕);\nimport stats as s;\nvar a = 2;\n"),
            "{script}"
        );
        let mut second = context(&folder, mode);
        assert_eq!(value_of(&mut second, &script), None);
        assert_eq!(value_of(&mut second, "f(2)"), value_of(&mut first, "f(2)"));
        assert_eq!(second.script(&[]), script);
    }
}

#[test]
fn a_program_is_checked_with_what_it_imports() {
    let folder =
        library(&[("stats.kal", STATS), ("main.kal", "import stats\nmean(1, 2) ⊕ 3\nstats.mean(1)")]);
    let mut command = kal();
    let ran = finish(command.current_dir(folder.path()).args(["check", "main.kal"]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.err().starts_with("error[E0205]: `stats.mean` takes 2 arguments, not 1"), "{}", ran.err());
}

#[test]
fn a_module_may_give_a_function_to_what_follows() {
    let text = "def use(x) apply(helper, x)\ndef apply(f(x) x) f(x)\ndef helper(x) x + 1";
    let folder = library(&[("late.kal", text), ("main.kal", "import late\nlate.use(3)")]);
    let run = |arguments: &[&str]| finish(kal().current_dir(folder.path()).args(arguments));
    let checked = run(&["check", "main.kal"]);
    assert_eq!((checked.code, checked.err()), (Some(0), ""));
    assert_eq!(run(&["main.kal"]).out(), "4\n");
}

#[test]
fn what_was_dropped_of_a_module_comes_back_with_it() {
    let folder = library(&[("stats.kal", STATS)]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        assert_eq!(value_of(&mut context, "import stats; mean(2, 4)"), Some(3.0));
        context.drop_function("stats.half").expect("it is defined");
        assert!(refusal(&mut context, "mean(2, 4)").ends_with("calls `stats.half`, which is not defined"));
        assert_eq!(value_of(&mut context, "import stats; mean(2, 4)"), Some(3.0));
        assert_eq!(context.variable("count").ok(), Some(3.0));
        context.set_variable("count", 8.0).expect("it is declared");
        assert_eq!(context.variable("stats.count").ok(), Some(8.0));
    }
}

#[test]
fn variables_of_a_module_may_need_what_it_defines_later() {
    let program = "import m\nn\n";
    let folder = library(&[("m.kal", "var n = area(2)\ndef area(r) floor(r * 3.5)\n"), ("p.kal", program)]);
    let run = |arguments: &[&str]| finish(kal().current_dir(folder.path()).args(arguments));
    assert_eq!(run(&["p.kal"]).out(), "7\n");
    let stored = run(&["emit", "tape", "-o", "p.kt", "p.kal"]);
    assert_eq!((stored.err(), stored.code), ("", Some(0)));
    assert_eq!((run(&["p.kt"]).out(), run(&["p.kt"]).err()), ("7\n", ""));
}

#[test]
fn a_check_says_where_a_module_gives_what_is_not_defined() {
    let module = "def taking(f(x) x) f(x)\ndef giving(x) taking(gone, x)\n";
    let folder = library(&[("m.kal", module), ("p.kal", "import m\ngiving(1)\n")]);
    let checked = finish(kal().current_dir(folder.path()).args(["check", "p.kal"]));
    assert!(checked.err().contains("`m.gone` is called but never defined"), "{}", checked.err());
    assert!(checked.err().contains("m.kal:2:15"), "{}", checked.err());
}

#[test]
fn operators_that_modules_give_are_those_of_their_texts() {
    let folder = library(&[
        (
            "own.kal",
            "def binary + 20 (x y) x * y\ndef unary - (x) 100\ndef binary ⊞ 30 (x y) x * 10 - y\n\
             def apply(o(x y) a b) o(a, b)\ndef first(o(x) a) o(a)\n\
             def plus(a b) apply(binary+, a, b)\ndef minus(a) first(unary-, a)\n\
             def box(a b) apply(binary⊞, a, b)",
        ),
        ("other.kal", "import own\ndef box2(a b) apply(binary⊞, a, b) * 2"),
        ("none.kal", "def apply2(o(x y) a b) o(a, b)\ndef sum(a b) apply2(binary+, a, b)"),
    ]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        assert_eq!(value_of(&mut context, "import own; plus(3, 4)"), Some(12.0), "{mode:?}");
        assert_eq!(value_of(&mut context, "minus(3)"), Some(100.0), "{mode:?}");
        assert_eq!(value_of(&mut context, "box(3, 4)"), Some(26.0), "{mode:?}");
        assert_eq!(value_of(&mut context, "import other; box2(3, 4)"), Some(52.0), "{mode:?}");
        // A module has the built-in one, whatever the program defines.
        let own = "def binary + 20 (a b) a - b; import none; sum(3, 4) * 10";
        assert_eq!(value_of(&mut context, own), Some(70.0), "{mode:?}");
        // In its own definition, a built-in operator is the built-in one.
        let inside = "def binary * 40 (a b) if b == 0 then apply(binary*, a, 7) else 5; 3 * 0";
        assert_eq!(value_of(&mut context, inside), Some(21.0), "{mode:?}");
    }
}

#[test]
fn a_definition_hides_an_imported_function_that_takes_functions() {
    let folder = library(&[("takes.kal", "def twice(f(x) x) f(f(x))")]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        context.keep_history(10);
        assert_eq!(value_of(&mut context, "import takes; def f(x) twice(sqrt, x); f(16)"), Some(2.0));
        let source = kal::source::Source::new("hiding", "def twice(a) a");
        let mut warned = Vec::new();
        let _ = context.run(&source, &mut |_, outcome| {
            if let Ok(Outcome::Defined { warnings, redefined, .. }) = outcome {
                warned.extend(warnings.iter().map(|warning| (redefined, warning.message.clone())));
            }
            ControlFlow::Continue(())
        });
        let says = "`f` calls `twice(sqrt, …)`, which is not defined";
        assert_eq!(warned, [(true, says.to_owned())], "{mode:?}");
        assert!(refusal(&mut context, "f(16)").contains(says), "{mode:?}");
        assert_eq!(value_of(&mut context, "def twice(g(x) x) g(x) + 1; f(16)"), Some(5.0), "{mode:?}");
        assert_eq!((context.undo().len(), context.undo().len()), (1, 1), "{mode:?}");
        assert_eq!(value_of(&mut context, "f(16)"), Some(2.0), "{mode:?}");
        context.eval("def twice(a) a").expect("it is right");
        let (undone, redone) = (context.undo(), context.redo());
        let told = |changes: &[kal::Change]| -> Vec<String> {
            changes
                .iter()
                .flat_map(|change| &change.warnings)
                .map(|warning| warning.message.clone())
                .collect()
        };
        assert_eq!((told(&undone), told(&redone)), (Vec::new(), vec![says.to_owned()]), "{mode:?}");
        context.drop_function("twice").expect("it is defined");
        assert_eq!(value_of(&mut context, "f(16)"), Some(2.0), "{mode:?}");
    }
}

#[test]
fn what_is_part_of_kal_keeps_its_values() {
    let mut context = kal::Engine::new().and_then(|engine| engine.context()).expect("a context");
    context.eval("import math").expect("it is there");
    for name in ["math.pi", "pi"] {
        let error = context.set_variable(name, 3.0).expect_err("it is refused");
        assert_eq!(error.to_string(), "`pi` is a constant of `math`", "{name}");
    }
    context.eval("var pi = 1").expect("it is another one");
    context.set_variable("pi", 3.0).expect("it is the program's");
    assert_eq!(value_of(&mut context, "pi"), Some(3.0));
}

#[test]
fn an_import_of_some_names_takes_none_away() {
    let text = "def h(x) x + 1\ndef g(x) h(x)\nvar v = 3\ndef binary ⊡ 30 (x y) x * y";
    let folder = library(&[("rr.kal", text)]);
    for mode in MODES {
        let mut context = context(&folder, mode);
        let program = "import rr; import rr(h); g(1) + v + (4 ⊡ 5)";
        assert_eq!(value_of(&mut context, program), Some(25.0), "{mode:?}");
        let mut again = self::context(&folder, mode);
        again.eval(&context.script(&[])).expect("it is right");
        assert_eq!(value_of(&mut again, "g(1) + v + (4 ⊡ 5)"), Some(25.0), "{mode:?}");
    }
}

#[test]
fn a_script_declares_a_variable_after_what_uses_the_imported_one() {
    let folder = library(&[("lim.kal", "var limit = 3")]);
    let mut context = context(&folder, Mode::Lazy);
    let program = "import lim; def k(x) limit * x; var limit = 7; def l(x) limit * x; k(1) * 10 + l(1)";
    assert_eq!(value_of(&mut context, program), Some(37.0));
    let mut again = self::context(&folder, Mode::Lazy);
    again.eval(&context.script(&[])).expect("it is right");
    assert_eq!(value_of(&mut again, "k(1) * 10 + l(1)"), Some(37.0));
}

#[test]
fn a_module_declares_a_c_function_that_is_allowed() {
    let folder = library(&[
        ("bessel.kal", "extern j0(x)\ndef h(x) j0(x) * 2"),
        ("own.kal", "extern j1(x)\ndef h(x) j1(x)\ndef j1(x) x + 1"),
        ("p.kal", "import bessel\nh(0)"),
    ]);
    let run = |arguments: &[&str]| {
        let cache = folder.path().join("cache");
        let ran = finish(kal().current_dir(folder.path()).arg("--cache").arg(cache).args(arguments));
        (ran.out().to_owned(), ran.err().to_owned())
    };
    for mode in ["--lazy", "--lazy", "--eager", "--interpret", "--tiered"] {
        let (out, err) = run(&["--allow-extern", "j0", mode, "p.kal"]);
        assert_eq!((&*out, &*err), ("2\n", ""), "{mode}");
        // What a module defines itself is that.
        let (out, err) = run(&["--allow-extern", "j1", mode, "-e", "import own; h(3)"]);
        assert_eq!((&*out, &*err), ("4\n", ""), "{mode}");
    }
    let (_, err) = run(&["p.kal"]);
    assert!(err.contains("allow it: `--allow-extern j0`"), "{err}");
}

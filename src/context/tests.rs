//! What needs a look inside: functions that the check would never make, and
//! requests that stop nothing.

use super::Context;
use crate::bytes::Parts;
use crate::diagnostic::ErrorCode;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::float_environment::PresentEnvironment;
use crate::runtime::CallArguments;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::source::Source;
use crate::stop::StopRequest;
use crate::world::{StoredEnvironment, StoredText, World};
use crate::{Config, Engine, Level, Mode, State, TierUp};
use std::borrow::Cow;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Defines `refused(x)` as a bug of the check would: a branch that does not
/// end, which leaves LLVM a block without a terminator.
pub(crate) fn define_refused(context: &mut Context) {
    context.eval("def refused(x) x + 1").expect("it is defined");
    let name = context.engine.names().intern("refused");
    let checked = context.world.function(name).expect("it is bound");
    let local = checked.nodes[0];
    let nodes = [local, CheckedNode::Then, local].into();
    context.backend.define(&Arc::new(CheckedFunction { nodes, ..(**checked).clone() }));
}

fn is_bug(error: &Error) -> bool {
    let Error::Internal(diagnostic) = error else { return false };
    let help = diagnostic.help.as_deref().unwrap_or_default();
    let source = diagnostic.labels.first().map(|label| label.source.text());
    diagnostic.code == ErrorCode::Internal
        && diagnostic.message.starts_with("this is a bug in Kal: wrong code is generated: ")
        // What LLVM says, or the baseline compiler.
        && ["terminator", "a value is missing"].iter().any(|what| diagnostic.message.contains(what))
        && help.starts_with("please report it, with ")
        && source == Some("def refused(x) x + 1")
}

#[test]
fn code_that_llvm_refuses_is_a_bug_and_the_function_stays_pending() {
    for level in Level::ALL {
        let engine = Engine::with_config(Config::new().level(level)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        define_refused(&mut context);
        context.eval("def caller(x) refused(x) * 2").expect("nothing is compiled yet");
        for text in ["caller(1)", "refused(1)", "1 + caller(2)"] {
            let error = context.eval(text).expect_err("LLVM refuses it");
            assert!(is_bug(&error), "{error:?}");
            assert_eq!(error.diagnostics().len(), 1);
            assert_eq!(context.state("refused"), Some(State::Pending));
        }
        assert_eq!(context.eval("2 + 3").expect("the session goes on"), Some(5.0));
        define_refused(&mut context);
        assert!(context.eval("caller(1)").is_err(), "refused again");
        context.eval("def refused(x) x").expect("it is defined again");
        assert_eq!(context.eval("caller(4)").expect("it runs"), Some(8.0));
    }
}

#[test]
fn a_refused_function_is_reported_when_it_is_compiled_ahead() {
    let engine = Engine::with_config(Config::new().mode(Mode::Eager)).expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    define_refused(&mut context);
    let error = context.prepare_all().expect_err("LLVM refuses it");
    assert!(is_bug(&error), "{error:?}");
    assert_eq!(context.eval("1 + 1").expect("the session goes on"), Some(2.0));
}

#[test]
fn a_check_that_stops_nothing_changes_nothing() {
    // More numbers than there are registers, all of them used in every
    // iteration.
    let names: Vec<String> = (0..20).map(|index| format!("v{index}")).collect();
    let start: Vec<String> = (0..20).map(|index| format!("v{index} = {index}")).collect();
    let mix = |index: usize| format!("(v{index} = v{index} * 0.75 + v{} * 0.25)", (index + 7) % 20);
    let mixed: Vec<String> = (0..20).map(mix).collect();
    let work = format!(
        "def work(n) var {} in (for i = 1, i < n in {}) + {}",
        start.join(", "),
        mixed.join(" + "),
        names.iter().enumerate().map(|(at, name)| format!("{name} * {at}")).collect::<Vec<_>>().join(" + "),
    );
    let run = |level: Level, is_woken: bool| {
        let engine = Engine::with_config(Config::new().level(level)).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        context.eval(&work).expect("it is defined");
        let (stopper, is_over) = (context.backend.stopper(), AtomicBool::new(false));
        context.backend.memory().clobber_in_polls();
        thread::scope(|scope| {
            scope.spawn(|| {
                while is_woken && !is_over.load(Ordering::Relaxed) {
                    stopper.wake();
                }
            });
            let value = context.eval("work(300000)").expect("nobody asks it to stop");
            is_over.store(true, Ordering::Relaxed);
            value.map(f64::to_bits)
        })
    };
    for level in Level::ALL {
        assert_eq!(run(level, true), run(level, false), "{level:?}");
    }
}

/// A text with items of every kind.
const ITEMS: &str = "
    extern cbrt(x)
    def f(x y) if x < y then -x * 2.5 else for i = 1, i < 3 in f(y, i)
    def binary + 50 (a b) a - b
    def unary ! (x) var t = x, u = t in t = u && x
    def g(x) !f(x, 1) + sin(h(x))
    var v = 3, w = v
    def h(x) w = v ^ x
    import math(clamp)
    import number as n
    1 + 2";

#[test]
fn damaged_texts_are_refused_or_read_without_harm() {
    let engine = Engine::new().expect("an engine starts");
    let source = Source::new("items", ITEMS);
    let mut context = engine.context().expect("a context starts");
    let _ = context.run(&source, &mut |_, outcome| {
        assert!(outcome.is_ok());
        ControlFlow::Continue(())
    });
    let names = engine.names().clone();
    let environment = Arc::new(StoredEnvironment {
        names,
        identity: Fingerprint::BUILD,
        largest: 1000,
        loaded: AtomicU64::new(0),
    });
    let text = engine.texts().find(&source).expect("it is kept");
    let bytes = text.to_store(&environment).expect("it is complete").bytes.to_vec();
    let blank = World::new(engine.operators().clone());
    // Returns how many items can be read, and how many definitions the layer has.
    let read = |bytes: Vec<u8>| {
        let text = Arc::new(StoredText::new(Arc::new(bytes), &source, &environment).ok()?);
        let items = (0..text.len().min(100)).filter(|number| text.item(*number).is_ok()).count();
        let layer = blank.layer_of(&text);
        let defined = layer.as_ref().map_or(0, |layer| layer.definitions().take(100).count());
        for name in ["f", "g", "binary+", "missing"] {
            let name = engine.names().intern(name);
            layer.iter().for_each(|layer| _ = layer.definition(name).is_some());
        }
        Some((items, defined))
    };
    assert_eq!(read(bytes.clone()), Some((10, 4)));
    for at in 0..bytes.len() {
        for mask in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= mask;
            let _ = read(changed);
        }
        let _ = read(bytes[..at].to_vec());
    }
}

/// Bytes that count how many of them are read.
struct CountingParts(Vec<u8>, Arc<AtomicU64>);

impl Parts for CountingParts {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn part(&self, range: Range<usize>) -> Option<Cow<'_, [u8]>> {
        self.1.fetch_add(range.len() as u64, Ordering::Relaxed);
        self.0.get(range).map(Cow::Borrowed)
    }
}

/// A layer knows its names, and that others are none of them without looking at its tables.
#[test]
fn names_that_a_text_does_not_define_are_in_its_filter() {
    let engine = Engine::new().expect("an engine starts");
    let definitions: String = (0..2000).map(|number| format!("def f{number}(x) x + {number}\n")).collect();
    let source = Source::new("items", definitions);
    let mut context = engine.context().expect("a context starts");
    let _ = context.run(&source, &mut |_, _| ControlFlow::Continue(()));
    let (names, loaded) = (engine.names().clone(), AtomicU64::new(0));
    let environment =
        Arc::new(StoredEnvironment { names, identity: Fingerprint::BUILD, largest: 1000, loaded });
    let kept = engine.texts().find(&source).expect("it is kept");
    let bytes = kept.to_store(&environment).expect("it is complete").bytes.to_vec();
    let read = Arc::new(AtomicU64::new(0));
    let parts = Arc::new(CountingParts(bytes, read.clone()));
    let text = StoredText::new(parts, &source, &environment).expect("it was just stored");
    for number in 0..2000 {
        assert_eq!(text.find(&format!("f{number}")), Some(number));
    }
    read.store(0, Ordering::Relaxed);
    let others = (0..2000).filter(|number| text.find(&format!("g{number}")).is_some()).count();
    // A byte or two of the filter each, and seldom more: a place of the table has four.
    let read = read.load(Ordering::Relaxed);
    assert!(others == 0 && (2000..4 * 2000).contains(&read), "{read} bytes for {others} names");
}

/// Returns what a call without a run returns of `f`, in optimised code.
fn without_a_run(context: &Context, arguments: &[f64]) -> Option<f64> {
    let (_, handle) = context.handle("f", arguments.len() as u32).expect("it is there");
    context.backend.call_context_free(&handle, CallArguments::new(arguments), PresentEnvironment::read())
}

#[test]
fn a_call_needs_a_run_only_if_its_code_uses_the_context() {
    let cases: [(&str, &[f64], f64, bool); 11] = [
        ("def f(x) x + 1", &[2.0], 3.0, true),
        ("def f() 42", &[], 42.0, true),
        ("def f(x) if x < 3 then sqrt(x) else sin(x)", &[2.25], 1.5, true),
        ("def g(x) x * x; def f(x y) g(x) + g(y)", &[3.0, 4.0], 25.0, true),
        ("def f(a b c d e f g h) a + h * 2", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 5.0, true),
        ("def f(a b c d e f g h i) a + i", &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0], 3.0, false),
        ("var n = 3; def f(x) n * x", &[2.0], 6.0, false),
        ("var n = 3; def f(x) n = x", &[2.0], 2.0, false),
        ("def f(x) for i = 1, i < x in sin(i)", &[9.0], 0.0, false),
        ("def f(x) if x < 1 then 1 else x * f(x - 1)", &[5.0], 120.0, false),
        ("def f(x) later(x); def later(x) random() * 0 + x", &[5.0], 5.0, false),
    ];
    let config = || Config::new().tier_up(TierUp::Never).level(Level::O2);
    for mode in [Mode::Lazy, Mode::Eager] {
        for (text, arguments, value, is_context_free) in cases {
            // Without checks, loops do not poll.
            let is_context_free = is_context_free || cfg!(feature = "unchecked") && text.contains("for ");
            let engine = Engine::with_config(config().mode(mode)).expect("an engine starts");
            let mut context = engine.context().expect("a context starts");
            context.eval(text).expect("it is defined");
            if mode == Mode::Lazy {
                assert_eq!(without_a_run(&context, arguments), None, "`{text}` has no code yet");
            }
            assert_eq!(context.call("f", arguments).expect("it runs"), value, "{text}");
            let expected = is_context_free.then_some(value);
            assert_eq!(without_a_run(&context, arguments), expected, "{text}");
        }
    }
}

#[test]
fn a_formula_needs_a_run_only_if_its_code_uses_the_context() {
    let engine = Engine::new().expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    let mut other = engine.context().expect("a context starts");
    context.eval("var n = 3; def f(x) x + 1; def g(x) n * x").expect("it is defined");
    for (text, value, is_context_free) in
        [("x * x + sqrt(x)", 18.0, true), ("f(x)", 5.0, false), ("n * x", 12.0, false)]
    {
        let formula = context.formula(text, &["x"]).expect("it is compiled");
        assert_eq!(formula.call(&mut context, &[4.0]).expect("it runs"), value, "{text}");
        let expected = is_context_free.then_some(value);
        assert_eq!(
            formula.call_context_free(&context, &[4.0], PresentEnvironment::read()),
            expected,
            "{text}"
        );
    }
    // Where a context has a function of its own under the name of a builtin, that is called.
    let formula = context.formula("sqrt(x)", &["x"]).expect("it is compiled");
    other.eval("def sqrt(x) x + 100").expect("it is defined");
    assert_eq!(formula.call_context_free(&context, &[4.0], PresentEnvironment::read()), Some(2.0));
    assert_eq!(formula.call_context_free(&other, &[4.0], PresentEnvironment::read()), None);
    assert_eq!(formula.call(&mut other, &[4.0]).expect("it runs"), 104.0);
    context.backend.stopper().request(StopRequest::Interrupt);
    assert_eq!(formula.call_context_free(&context, &[4.0], PresentEnvironment::read()), None);
    assert!(formula.call(&mut context, &[4.0]).is_err());
    context.set_deadline(Some(std::time::Instant::now()));
    assert_eq!(formula.call_context_free(&context, &[4.0], PresentEnvironment::read()), None);
}

#[test]
fn a_call_without_a_run_is_of_the_present_definition_and_heeds_what_stops_runs() {
    let engine = Engine::with_config(Config::new().tier_up(TierUp::Never)).expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    context.eval("var n = 10; def f(x) x + 1").expect("it is defined");
    let f = context.function::<fn(f64) -> f64>("f").expect("it is there");
    for _ in 0..3 {
        assert_eq!(f.call(&mut context, (1.0,)).expect("it runs"), 2.0);
        assert_eq!(without_a_run(&context, &[1.0]), Some(2.0));
        context.eval("def f(x) x + n").expect("it is defined");
        assert_eq!(f.call(&mut context, (1.0,)).expect("it runs"), 11.0);
        assert_eq!(without_a_run(&context, &[1.0]), None);
        context.eval("def f(x) x + 1").expect("it is defined");
    }
    assert_eq!(f.call(&mut context, (1.0,)).expect("it runs"), 2.0);
    // A request that waits stops the next run, if it was not for an earlier one.
    context.backend.stopper().request(StopRequest::Interrupt);
    assert_eq!(without_a_run(&context, &[1.0]), None);
    assert!(f.call(&mut context, (1.0,)).is_err());
    context.backend.stopper().interrupt_now();
    assert_eq!(without_a_run(&context, &[1.0]), None);
    assert_eq!(f.call(&mut context, (1.0,)).expect("it was for an earlier run"), 2.0);
    assert_eq!(without_a_run(&context, &[1.0]), Some(2.0));
    context.set_deadline(Some(std::time::Instant::now()));
    assert!(f.call(&mut context, (1.0,)).is_err(), "its time is over");
    context.set_deadline(None);
    context.eval("def f(x y) x + y").expect("it is defined");
    assert!(f.call(&mut context, (1.0,)).is_err(), "it takes another number of arguments");
}

/// Returns a long program with all kinds of items, which calls most of what it defines.
#[cfg(feature = "cli")]
fn long_program() -> String {
    let item = |n: usize| match n % 8 {
        0 => format!("def f{n}(x y) if x < y then module.scaled(x) * {n}.5 else ¬x ⊕ y # größe {:200}", ""),
        1 => format!("def f{n}(x) f{}(x, x + 1) + sin(x) + pi", n - 1),
        2 => format!("def f{n}(n) for j = 1, j < n in (total = total + f{}(j))", n - 1),
        3 => format!("total + f{}(3) + twice(sin, {n});", n - 1),
        4 => format!("def again{}(x) x * {n} + later{n}(x)", n % 80),
        5 => format!("def later{}(x) x - {n}", n - 1),
        6 => format!("again{}({n}); var v{n} = {n} * 2", (n - 2) % 80),
        _ => format!("def g{n}(x) v{} + x + total + f{}(x, 2)", n - 1, n - 7),
    };
    let head = "import module\nvar total = 1; extern sin(x)\ndef binary ⊕ 30 (a b) a + b * 2\n\
                def unary ¬(x) if x then 0 else 1\ndef twice(f(x) x) f(f(x))\n";
    let items = (0..1200).map(item).map(|item| item + "\n").collect::<String>();
    let calls = (0..1200).filter(|n| n % 8 == 7).map(|n| format!("g{n}(1);\n")).collect::<String>();
    format!("{head}{items}{calls}total\n")
}

/// A child reads a program again, and makes its baseline code once more: the packs that it writes are
/// those of a run that has recorded the one and kept the other.
#[cfg(feature = "cli")]
#[test]
fn what_is_left_to_a_child_is_what_was_read_and_made() {
    let folder = tempfile::tempdir().expect("there is a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("module.kal"), "var scale = 3; def scaled(x) x * scale").expect("it is written");
    let program = long_program();
    assert!(program.len() > super::reading::LONG);
    std::fs::write(at("program.kal"), &program).expect("it is written");
    let packs_of = |leaves: bool| {
        let cache = crate::CacheOptions::new(at("cache"), at("key"));
        let config = Config::new()
            .keep_texts(false)
            .cache(cache)
            .tier_up(TierUp::After(u32::MAX))
            .leave_writing(leaves);
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let name = at("program.kal").display().to_string();
        let source = Source::in_folder(name, program.clone(), folder.path());
        context.run_all(&source).expect("it runs");
        let left = engine.texts().unrecorded().len();
        engine.write_cache();
        let mut packs = Vec::new();
        let mut folders = vec![at("cache")];
        while let Some(inside) = folders.pop() {
            for entry in std::fs::read_dir(inside).expect("it is a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => packs.extend(std::fs::read(&path).ok().map(|bytes| (path, bytes))),
                }
            }
        }
        packs.sort();
        std::fs::remove_dir_all(at("cache")).expect("it is there");
        (packs, left, context.stats())
    };
    let (recorded, none_left, stats) = packs_of(false);
    let (again, left, _) = packs_of(true);
    assert!((none_left, left) == (0, 1) && stats.cache_misses > 1100, "{left} {}", stats.cache_misses);
    assert!(recorded.len() == 2 && recorded.iter().any(|(_, pack)| pack.len() > 250_000));
    assert!(recorded == again, "the packs are others");
}

//! What needs a look inside: functions that the check would never make, and
//! requests that stop nothing.

use super::Context;
use crate::diagnostic::ErrorCode;
use crate::error::Error;
use crate::fingerprint::Fingerprint;
use crate::sema::checked::{CheckedFunction, CheckedNode};
use crate::source::Source;
use crate::world::{StoredEnvironment, StoredText, World};
use crate::{Config, Engine, Level, Mode, State};
use std::ops::ControlFlow;
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

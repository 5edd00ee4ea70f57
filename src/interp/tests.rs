//! The interpreter against the meaning of programs, and against damaged tapes.

use super::testing::{TestSession, Workshop, damaged_tapes};
use super::*;
use crate::stop::StopRequest;
use std::sync::atomic::Ordering;
use std::time::Duration;

fn session() -> TestSession {
    TestSession::new(InterpOptions { stack: 1 << 20, counts_fuel: false, hot_after: None })
}

#[test]
fn operands_are_read_when_they_are_evaluated() {
    let cases = [
        ("var a = 1 in a + (a = 5) + a", 11.0),
        ("var a = 1 in (a = 2) * 10 + (a = 3)", 23.0),
        ("var a = 1, b = 2 in (b = a) + (a = 7) * 10 + b", 72.0),
        ("var a = 1 in (var b = 2 in b) + (var c = 3 in c) * 10 + a", 33.0),
        ("var a = 2 in (a < 3) + (a = 10) + (a < 3)", 11.0),
        ("var a = 4 in a ^ (a = 2) + a % 3", 18.0),
        ("(1 < 2) == (3 < 4)", 1.0),
        ("!(1 < 2 && 0) - !!3", 0.0),
        ("var n = 0 / 0 in (n < 1) + (n >= 1) + (n != n) * 10 + !n * 100", 110.0),
        ("1 || (0 / 0) && 2", 1.0),
        ("(if 1 < 2 && 2 < 1 || 3 then 5 else 6) + (if !(1 && 0) then 10 else 20)", 15.0),
        ("var s = 0 in (for i = 1, i < 4 in s = s + i) + s", 10.0),
        ("var s = 0 in (for i = 9, i, 0 - 3 in s = s * 10 + i) + s", 9630.0),
        ("var s = 0 in (for i = 0, i < 2 && s < 100, 1 in for j = i, j < 3 in s = s + 10 * i + j) + s", 87.0),
        ("var s = 1 in (for i = 1, (s = s + 1) < 5, s in s = s * i) + s", 5.0),
        ("fma(2, 3, atan2(0, 1)) + copysign(3, 0 - 1) + sqrt(16) + floor(2 - 4.5)", 4.0),
    ];
    for (text, value) in cases {
        assert_eq!(session().value(text), value, "{text}");
    }
}

#[test]
fn calls_see_the_latest_definition() {
    let mut session = session();
    assert_eq!(session.value("def f(x) x + 1; def g(x) f(x) * 10; g(1)"), 20.0);
    assert_eq!(session.value("def f(x) x + 2; g(1)"), 30.0);
    assert_eq!(session.value("def h(x) sqrt(x) + sin(0) + g(1); h(16)"), 34.0);
    assert_eq!(session.value("def sqrt(x) 100; def sin(x) 1000; h(16)"), 1130.0);
    let stale = session.run("def f() 7; g(1)").pop();
    assert!(matches!(stale, Some(Err(Failure::Stale { passed: 1, caller: Some(_), .. }))), "{stale:?}");
    let name = session.names.intern("f");
    session.interpreter.drop_binding(name);
    let undefined = session.run("g(1)").pop();
    assert!(matches!(undefined, Some(Err(Failure::Undefined { passed: 1, .. }))), "{undefined:?}");
    let name = session.names.intern("sqrt");
    session.interpreter.drop_binding(name);
    assert_eq!(session.value("def f(x) x; h(16)"), 1014.0);
}

#[test]
fn variables_keep_their_values() {
    let mut session = session();
    assert_eq!(
        session.value("var total = 1, more = total + 1; def add(x) total = total + x; add(5) * more"),
        12.0
    );
    assert_eq!(f64::from_bits(session.variable("total").load(Ordering::SeqCst)), 6.0);
    session.variable("total").store(0.5f64.to_bits(), Ordering::SeqCst);
    assert_eq!(session.value("add(1)"), 1.5);
}

#[test]
fn the_code_of_expressions_and_old_definitions_is_used_again() {
    let mut session = session();
    let mut length = 0;
    for round in 0..1000 {
        session.run(&format!("def f(x) x * {round} + 1; f({round}) + {round}"));
        let now = session.interpreter.code.words().len();
        assert!(round < 10 || now == length, "{now} words after round {round}");
        length = now;
    }
}

#[test]
fn the_row_gets_shorter_again() {
    let mut session = session();
    let sum = |terms: usize| format!("1{}", " + 1".repeat(terms));
    session.run("f(1); g(1); h(1)");
    let length = session.interpreter.code.words().len();
    for terms in 0..300 {
        assert_eq!(session.value(&sum(terms)), terms as f64 + 1.0);
        assert_eq!(session.interpreter.code.words().len(), length, "{terms}");
    }
    let functions = [("f", 500), ("g", 9000), ("h", 70)];
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]] {
        for (name, terms) in functions {
            let text = format!("def {name}(x) x + {}; {name}(1)", sum(terms));
            assert_eq!(session.value(&text), terms as f64 + 2.0);
        }
        assert!(session.interpreter.code.words().len() > length + 9000);
        for index in order {
            let name = session.names.intern(functions[index].0);
            session.interpreter.drop_binding(name);
        }
        assert_eq!(session.interpreter.code.words().len(), length, "{order:?}");
    }
}

#[test]
fn supplied_tapes_go_with_their_functions() {
    let mut session = session();
    session.run("def f(x) x + 1; def g(x) f(x) * 2");
    let names = ["f", "g"].map(|name| session.names.intern(name));
    let [f, g] = names.map(|name| session.interpreter.function(name).expect("it is defined").clone());
    let tapes = [&f, &g].map(|function| Arc::new(session.interpreter.tape(function).expect("it fits")));
    let owners = || tapes.each_ref().map(Arc::strong_count);
    for (function, tape) in [(&f, &tapes[0]), (&g, &tapes[1])] {
        session.interpreter.supply(function, tape);
        session.interpreter.define(function);
    }
    assert_eq!(owners(), [2, 2]);
    // What is linked keeps its tape; what was redefined or dropped, and what
    // never came, is released.
    assert_eq!(session.value("f(1)"), 2.0);
    assert_eq!(owners(), [2, 2]);
    session.run("def f(x) x - 1");
    assert_eq!(owners(), [1, 2]);
    session.run("def g(x) x");
    assert_eq!(owners(), [1, 1]);
    session.interpreter.supply(&f, &tapes[0]);
    session.interpreter.define(&f);
    session.interpreter.supply(&g, &tapes[1]);
    assert_eq!(owners(), [2, 2]);
    session.interpreter.drop_binding(f.name);
    assert_eq!(session.value("g(3)"), 3.0);
    assert_eq!(owners(), [1, 1]);
}

#[test]
fn an_invalid_tape_is_a_bug() {
    let mut session = session();
    session.run("def f(x) x + 1");
    let name = session.names.intern("f");
    let function = session.interpreter.function(name).expect("it is defined").clone();
    let mut tape = session.interpreter.tape(&function).expect("it fits");
    tape.words = Box::default();
    let linked = session.interpreter.link_tape(&Arc::new(tape), &function);
    let blamed = linked.err().and_then(|failure| match failure {
        Failure::Internal { function, .. } => function,
        _ => None,
    });
    assert!(blamed.is_some_and(|blamed| Arc::ptr_eq(&blamed, &function)));
}

#[test]
fn a_recursion_without_end_uses_up_the_stack_and_nothing_else() {
    let mut session = session();
    let results =
        session.run("def f(n) 1 + f(n + 1); f(0); def g(n) if n < 1 then 0 else 1 + g(n - 1); g(9000)");
    assert!(matches!(results[0], Err(Failure::StackOverflow)));
    assert!(matches!(results[1], Ok(9000.0)));
}

#[test]
fn runs_stop_when_they_are_asked_to() {
    let mut session = session();
    for text in ["for i = 0, 1 in i", "def f(n) f(n) + 1; f(1)", "for i = 0, 1, i in i"] {
        let stopper = session.stopper();
        let other = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            stopper.request(StopRequest::Interrupt);
        });
        let result = session.run(text).pop();
        other.join().expect("it only asks");
        // The recursion may overflow first.
        let is_stopped = matches!(result, Some(Err(Failure::Interrupted | Failure::StackOverflow)));
        assert!(is_stopped, "{text}: {result:?}");
        session.stopper().take();
        assert_eq!(session.value("1 + 1"), 2.0);
    }
}

#[test]
fn fuel_is_taken_by_entries_and_rounds() {
    let mut session = TestSession::new(InterpOptions { stack: 1 << 20, counts_fuel: true, hot_after: None });
    session.memory.fuel().store(100, Ordering::SeqCst);
    assert_eq!(session.value("def f(x) x; f(1) + f(2)"), 3.0);
    assert_eq!(session.memory.fuel().load(Ordering::SeqCst), 97);
    assert_eq!(session.value("for i = 1, i < 10 in f(i)"), 0.0);
    assert_eq!(session.memory.fuel().load(Ordering::SeqCst), 76);
    assert!(matches!(session.run("for i = 1, 1 in i").pop(), Some(Err(Failure::OutOfFuel))));
    assert_eq!(session.memory.fuel().load(Ordering::SeqCst), -1);
}

/// Returns a generator of pseudo-random choices (xorshift64*).
fn random(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |end| {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }
}

#[test]
fn damaged_tapes_are_refused_or_end() {
    let mut workshop = Workshop::new();
    let mut choices = random(0x9E37_79B9_7F4A_7C15);
    let ran = (0..20_000).filter(|_| workshop.run_damaged(&mut choices)).count();
    assert!((1_000..19_000).contains(&ran), "{ran} ran");
    assert!(workshop.works());
}

#[test]
fn seeds_of_damage_are_refused_or_end() {
    let seeds = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/seeds/tapes"));
    let seeds: Vec<_> =
        seeds.expect("there are seeds").map(|seed| seed.expect("it can be read").path()).collect();
    assert!(!seeds.is_empty());
    for seed in seeds {
        damaged_tapes(&std::fs::read(seed).expect("it is a file"));
    }
}

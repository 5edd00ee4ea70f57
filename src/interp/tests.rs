//! The interpreter against what programs mean, and against damaged tapes.

use super::*;
use crate::sema::{self, Environment as Surroundings, Item};
use crate::source::Source;
use crate::stop::{Request, Stoppable, Stopper};
use crate::syntax::lexer::lex;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{Limits, Parser};
use std::io;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize};
use std::time::Duration;

/// Memory of its own, for a few variables.
#[derive(Default)]
struct Alone {
    requests: AtomicU64,
    variables: [AtomicU64; 16],
    fuel: AtomicI64,
    reach: AtomicUsize,
    news: AtomicUsize,
}

impl Stoppable for Alone {
    fn requests(&self) -> &AtomicU64 {
        &self.requests
    }

    fn wake(&self) {
        self.reach.store(0, Ordering::SeqCst);
    }
}

impl Memory for Alone {
    fn variables(&self) -> &[AtomicU64] {
        &self.variables
    }

    fn fuel(&self) -> &AtomicI64 {
        &self.fuel
    }

    fn reach(&self) -> &AtomicUsize {
        &self.reach
    }

    fn news(&self) -> &AtomicUsize {
        &self.news
    }
}

/// Output that nobody reads.
struct Nowhere;

impl Output for Nowhere {
    fn value(&mut self, _: f64) -> io::Result<()> {
        Ok(())
    }

    fn byte(&mut self, _: u8) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// No compiled code at all.
struct NoNatives;

impl Natives for NoNatives {
    fn recall(&mut self, _: Name) {}

    fn callers(&mut self, _: super::inspect::CallSite) -> Vec<Arc<Function>> {
        Vec::new()
    }

    fn takes(&mut self, _: Callee) -> bool {
        false
    }

    fn call(
        &mut self,
        _: &mut Interpreter,
        callee: Callee,
        arguments: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        let passed = arguments.len() as u32;
        Err(Failure::Undefined { callee: callee.name, passed, caller: None }.into())
    }

    fn heat(&mut self, _: &Interpreter, _: &Spot) -> Progress {
        Progress::Never
    }

    fn progress(&mut self, _: &Spot) -> Progress {
        Progress::Never
    }

    fn go_on(
        &mut self,
        _: &mut Interpreter,
        _: &Spot,
        _: &[f64],
        _: &mut dyn Output,
    ) -> Result<f64, Stopped> {
        Err(Failure::System("no compiled code".into()).into())
    }
}

/// A program in progress: an interpreter and what its text may refer to.
struct Session {
    names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    operators: Operators,
    variables: Vec<Name>,
    numbers: Arc<Variables>,
    memory: Arc<Alone>,
    interpreter: Interpreter,
}

impl Surroundings for Session {
    fn names(&self) -> &Names {
        &self.names
    }

    fn hosts(&self) -> &HostFunctions {
        &self.hosts
    }

    fn function(&self, name: Name) -> Option<Arc<Function>> {
        self.interpreter.binding(name).map(|(_, function)| function.clone())
    }

    fn declared(&self, _: Name) -> Option<u32> {
        None
    }

    fn has_variable(&self, name: Name) -> bool {
        self.variables.contains(&name)
    }

    fn functions(&self) -> Vec<Name> {
        Vec::new()
    }

    fn variables(&self) -> Vec<Name> {
        self.variables.clone()
    }
}

impl Session {
    fn new(options: Options) -> Self {
        let names = Arc::new(Names::new());
        let hosts = Arc::new(HostFunctions::standard(&names));
        let (numbers, memory) = (Arc::new(Variables::default()), Arc::new(Alone::default()));
        let interpreter = Interpreter::new(
            &names,
            &hosts,
            &numbers,
            memory.clone(),
            &Arc::new(Room::new(1 << 30)),
            options,
        );
        let operators = Operators::new(&names);
        Self { operators, names, hosts, variables: Vec::new(), numbers, memory, interpreter }
    }

    fn stopper(&self) -> Stopper {
        Stopper::new(self.memory.clone())
    }

    /// The place of a variable.
    fn variable(&self, name: &str) -> &AtomicU64 {
        let number = self.numbers.number(self.names.intern(name)).expect("there are few");
        &self.memory.variables[number as usize]
    }

    /// Runs a text; the results of its expressions.
    fn run(&mut self, text: &str) -> Vec<Result<f64, Failure>> {
        let names = self.names.clone();
        let tokens = lex(&Source::new("test", text), &names).expect("the text has tokens");
        let mut parser = Parser::new(&tokens, &names, Limits::default());
        let mut results = Vec::new();
        while let Some(item) = parser.next_item(&self.operators) {
            let item = item.unwrap_or_else(|_| panic!("{text} can be read"));
            match sema::check(&item, self).unwrap_or_else(|found| panic!("{text}: {found:?}")) {
                Item::Definition(function, fixity) => {
                    self.interpreter.define(&function);
                    fixity.into_iter().for_each(|fixity| self.operators.define(fixity, function.name));
                }
                Item::Extern(_) => {}
                Item::Variables(function, names) => {
                    self.interpreter.run(&function, &mut NoNatives, &mut Nowhere).expect("initialisers run");
                    self.variables.extend(names);
                }
                Item::Expression(function) => {
                    let result = self.interpreter.run(&function, &mut NoNatives, &mut Nowhere);
                    results.push(result.map_err(|stopped| stopped.failure));
                }
            }
        }
        results
    }

    /// The value of a text's last expression.
    fn value(&mut self, text: &str) -> f64 {
        let last = self.run(text).pop().expect("there is an expression");
        last.unwrap_or_else(|failure| panic!("{text}: {failure:?}"))
    }
}

fn session() -> Session {
    Session::new(Options { stack: 1 << 20, counts_fuel: false, hot_after: None })
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
    assert!(session.interpreter.drop_binding(name).is_some());
    let undefined = session.run("g(1)").pop();
    assert!(matches!(undefined, Some(Err(Failure::Undefined { passed: 1, .. }))), "{undefined:?}");
    let name = session.names.intern("sqrt");
    assert!(session.interpreter.drop_binding(name).is_some());
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
            stopper.request(Request::Interrupt);
        });
        let result = session.run(text).pop();
        other.join().expect("it only asks");
        // A recursion may come first.
        let is_stopped = matches!(result, Some(Err(Failure::Interrupted | Failure::StackOverflow)));
        assert!(is_stopped, "{text}: {result:?}");
        session.stopper().take();
        assert_eq!(session.value("1 + 1"), 2.0);
    }
}

#[test]
fn fuel_is_taken_by_entries_and_rounds() {
    let mut session = Session::new(Options { stack: 1 << 20, counts_fuel: true, hot_after: None });
    session.memory.fuel.store(100, Ordering::SeqCst);
    assert_eq!(session.value("def f(x) x; f(1) + f(2)"), 3.0);
    assert_eq!(session.memory.fuel.load(Ordering::SeqCst), 97);
    assert_eq!(session.value("for i = 1, i < 10 in f(i)"), 0.0);
    assert_eq!(session.memory.fuel.load(Ordering::SeqCst), 76);
    assert!(matches!(session.run("for i = 1, 1 in i").pop(), Some(Err(Failure::OutOfFuel))));
    assert_eq!(session.memory.fuel.load(Ordering::SeqCst), -1);
}

/// A generator of numbers that look arbitrary (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end
    }
}

/// A tape with some words changed, missing, or from elsewhere.
fn damaged(tape: &Tape, other: &Tape, random: &mut Random) -> Tape {
    let mut words = tape.words.to_vec();
    let mut tape = tape.clone();
    for _ in 0..=random.below(2) {
        let at = random.below(words.len().max(1));
        match random.below(6) {
            0 => words.truncate(at),
            1 => words.extend_from_slice(&other.words[random.below(other.words.len())..]),
            2 => tape.frame = random.below(8) as u32,
            3 => tape.locals = random.below(8) as u32,
            _ if words.is_empty() => {}
            4 => words[at] ^= 1 << random.below(32),
            _ => words[at] = words[at] & !0xff | random.below(256) as u32,
        }
    }
    Tape { words: words.into(), ..tape }
}

#[test]
fn damaged_tapes_are_refused_or_end() {
    let mut session = Session::new(Options { stack: 1 << 16, counts_fuel: false, hot_after: None });
    session.run(
        "def f(x y) if x < y && y then f(x + 1, y) * 2 else for i = x, i < y, y in sin(i) + fma(x, y, i);
         def g(x) var a = x, b = a * 2 in (for i = 0, i < 10 in a = a + b / (i + 1)) + f(a, b) ^ 2 % 3",
    );
    let names = ["f", "g"].map(|name| session.names.intern(name));
    let functions = names.map(|name| session.function(name).expect("it is defined"));
    let tapes = functions.each_ref().map(|function| session.interpreter.tape(function).expect("it fits"));
    let stopper = session.stopper();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let is_done = done.clone();
    let watch = std::thread::spawn(move || {
        while !is_done.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
            stopper.request(Request::Deadline);
        }
    });
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut refused, mut ran) = (0, 0);
    for round in 0..20_000 {
        let which = round % 2;
        let tape = damaged(&tapes[which], &tapes[1 - which], &mut random);
        let Ok(entry) = session.interpreter.link_tape(&tape, &functions[which]) else {
            refused += 1;
            continue;
        };
        ran += 1;
        let arguments = vec![1.0; (tape.locals as usize).min(2)];
        let _ = session.interpreter.enter(entry, &arguments, &mut NoNatives, &mut Nowhere);
        session.interpreter.code.remove(entry.code);
    }
    done.store(true, Ordering::SeqCst);
    watch.join().expect("it only asks");
    assert!(refused > 1000 && ran > 1000, "{refused} refused, {ran} ran");
    session.stopper().take();
    assert_eq!(session.value("1 + 1"), 2.0);
}

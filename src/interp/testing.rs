//! Support for testing the interpreter: programs without the embedding API, and
//! damaged tapes.

use super::*;
use crate::budget::{ContextLimits, MemoryBudget};
use crate::diagnostic::suggest::Budget;
use crate::module::Imports;
use crate::sema::{self, CheckedItem, Environment};
use crate::source::Source;
use crate::stop::{Poll, StopHandle, StopRequest};
use crate::syntax::lexer::lex;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use std::cell::RefCell;
use std::io;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// No limits but those of the engine.
const LIMITS: ContextLimits = ContextLimits { bytes: u64::MAX, compiling: None };

/// Memory for a few variables.
pub(super) type Alone = InterpMemory<[AtomicU64; 16]>;

/// Output that is discarded.
struct DiscardOutput;

impl crate::host::Output for DiscardOutput {
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

/// A program in progress: an interpreter and what its source may refer to.
pub(super) struct TestSession {
    pub(super) names: Arc<Names>,
    hosts: Arc<HostFunctions>,
    operators: Operators,
    variables: Vec<Name>,
    held: RefCell<HeldVariables>,
    pub(super) memory: Arc<Alone>,
    pub(super) interpreter: Interpreter,
    suggestions: Budget,
    imports: Imports,
}

impl Environment for TestSession {
    fn names(&self) -> &Names {
        &self.names
    }

    fn hosts(&self) -> &HostFunctions {
        &self.hosts
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        self.interpreter.function(name).cloned()
    }

    fn imports(&self) -> &Imports {
        &self.imports
    }

    fn declared(&self, _: Name) -> Option<&sema::Extern> {
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

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        Poll::default()
    }
}

impl TestSession {
    pub(super) fn new(options: InterpOptions) -> Self {
        let names = Arc::new(Names::new());
        let hosts = Arc::new(HostFunctions::standard(&names));
        let (numbers, memory) =
            (Arc::new(Variables::default()), Arc::new(Alone::over(Default::default(), 0)));
        let interpreter = Interpreter::new(
            &names,
            &hosts,
            &numbers,
            memory.clone(),
            &ContextBudget::new(&Arc::new(MemoryBudget::new(1 << 30)), LIMITS),
            options,
        );
        let operators = Operators::new(&names);
        Self {
            operators,
            names,
            hosts,
            variables: Vec::new(),
            held: RefCell::new(HeldVariables::of(&numbers)),
            memory,
            interpreter,
            suggestions: Budget::default(),
            imports: Imports::default(),
        }
    }

    pub(super) fn stopper(&self) -> StopHandle {
        StopHandle::new(self.memory.clone())
    }

    /// Returns the memory of a variable.
    #[cfg(test)]
    pub(super) fn variable(&self, name: &str) -> &AtomicU64 {
        let number = self.held.borrow_mut().hold(self.names.intern(name)).expect("there are few");
        &self.memory.variables()[number as usize]
    }

    /// Runs source; returns the results of its expressions.
    pub(super) fn run(&mut self, text: &str) -> Vec<Result<f64, Failure>> {
        let names = self.names.clone();
        let tokens = lex(&Source::new("test", text), &names).expect("the text has tokens");
        let mut parser = Parser::new(&tokens, &names, ParseLimits::default());
        let mut results = Vec::new();
        while let Some(item) = parser.next_item(&self.operators) {
            let item = item.unwrap_or_else(|_| panic!("{text} can be read"));
            match sema::check(&item, self).unwrap_or_else(|found| panic!("{text}: {found:?}")) {
                CheckedItem::Definition(function, fixity) => {
                    self.interpreter.define(&function);
                    fixity
                        .into_iter()
                        .for_each(|fixity| self.operators.define(fixity, function.name, &function.names));
                }
                CheckedItem::Extern(_) | CheckedItem::Import(_) => {}
                CheckedItem::Variables(function, names) => {
                    // A variable that nothing holds may lose its place.
                    names.iter().for_each(|name| _ = self.held.borrow_mut().hold(*name));
                    self.interpreter
                        .run(&function, None, &mut Outside::new(Box::new(DiscardOutput)))
                        .expect("initialisers run");
                    self.variables.extend(names);
                }
                CheckedItem::Expression(function) | CheckedItem::Effect(function) => {
                    let result =
                        self.interpreter.run(&function, None, &mut Outside::new(Box::new(DiscardOutput)));
                    results.push(result.map_err(|stopped| stopped.failure));
                }
            }
        }
        results
    }

    /// Returns the value of the last expression of a source.
    pub(super) fn value(&mut self, text: &str) -> f64 {
        let last = self.run(text).pop().expect("there is an expression");
        last.unwrap_or_else(|failure| panic!("{text}: {failure:?}"))
    }
}

/// Returns a number below the one given.
type Choices<'a> = &'a mut dyn FnMut(usize) -> usize;

/// Returns a tape with some words changed, missing, or from elsewhere.
fn damaged(tape: &Tape, other: &Tape, below: Choices<'_>) -> Tape {
    let mut words = tape.words.to_vec();
    let mut tape = tape.clone();
    for _ in 0..=below(2) {
        let at = below(words.len().max(1));
        match below(6) {
            0 => words.truncate(at),
            1 => words.extend_from_slice(&other.words[below(other.words.len())..]),
            2 => tape.frame = below(8) as u32,
            3 => tape.locals = below(8) as u32,
            _ if words.is_empty() => {}
            4 => words[at] ^= 1 << below(32),
            _ => words[at] = words[at] & !0xff | below(256) as u32,
        }
    }
    Tape { words: words.into(), ..tape }
}

/// A program whose tapes are damaged and run.
pub(super) struct Workshop {
    session: TestSession,
    functions: [Arc<CheckedFunction>; 2],
    tapes: [Tape; 2],
    /// The value of `g(1)`.
    answer: f64,
}

impl Workshop {
    pub(super) fn new() -> Self {
        let mut session =
            TestSession::new(InterpOptions { stack: 1 << 16, counts_fuel: false, hot_after: None });
        session.run(
            "def f(x y) if x < y && y then f(x + 1, y) * 2 else for i = x, i < y, y in sin(i) + fma(x, y, i);
             def g(x) var a = x, b = a * 2 in (for i = 0, i < 10 in a = a + b / (i + 1)) + f(a, b) ^ 2 % 3",
        );
        let names = ["f", "g"].map(|name| session.names.intern(name));
        let functions = names.map(|name| session.function(name).expect("it is defined"));
        let tapes = functions.each_ref().map(|function| session.interpreter.tape(function).expect("it fits"));
        let answer = session.value("g(1)");
        // Damage can make a loop endless, but not without a poll.
        let stopper = session.stopper();
        let asking = Arc::downgrade(&session.names);
        std::thread::spawn(move || {
            while asking.strong_count() > 0 {
                std::thread::sleep(Duration::from_millis(1));
                stopper.request(StopRequest::Deadline);
            }
        });
        Self { session, functions, tapes, answer }
    }

    /// Damages a tape and runs it, unless it is refused; returns whether it
    /// ran. What ran before and after is not changed by it.
    pub(super) fn run_damaged(&mut self, below: Choices<'_>) -> bool {
        let which = below(2);
        let tape = Arc::new(damaged(&self.tapes[which], &self.tapes[1 - which], below));
        let interpreter = &mut self.session.interpreter;
        let Ok(entry) = interpreter.link_tape(&tape, &self.functions[which]) else { return false };
        let arguments = vec![1.0; (tape.locals as usize).min(2)];
        let _ = interpreter.enter(entry, &arguments, None, &mut Outside::new(Box::new(DiscardOutput)));
        interpreter.code.remove(entry.code);
        true
    }

    /// Returns whether programs still run correctly; some runs end early, on
    /// request.
    pub(super) fn works(&mut self) -> bool {
        (0..1000).any(|_| matches!(self.session.run("g(1)")[..], [Ok(value)] if value == self.answer))
    }
}

/// Damages tapes according to `bytes`, and runs those that are not refused.
pub fn damaged_tapes(bytes: &[u8]) {
    thread_local! {
        static WORKSHOP: RefCell<Workshop> = RefCell::new(Workshop::new());
    }
    let mut rest = bytes.iter();
    WORKSHOP.with_borrow_mut(|workshop| {
        while rest.len() > 0 {
            workshop.run_damaged(&mut |end| usize::from(*rest.next().unwrap_or(&0)) % end);
        }
        assert!(workshop.works(), "a damaged tape has done damage");
    });
}

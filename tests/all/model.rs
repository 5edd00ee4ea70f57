//! A session and a model of it: random definitions, redefinitions, calls, undo
//! and redo, mistakes, interrupts, deadlines and background compiling.
//!
//! The model knows what each name means and so what each call must give, or
//! which error.

use crate::choices::Choices;
use kal::diagnostic::Code;
use kal::{Context, Engine, Error};
use std::time::{Duration, Instant};

const NAMES: usize = 12;
const HISTORY: usize = 16;

/// What a function of the model does: `a * x + b`, or that of another's value.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Meaning {
    a: f64,
    b: f64,
    callee: Option<usize>,
    arity: u32,
}

type Table = [Option<Meaning>; NAMES];

/// What a call must give.
#[derive(PartialEq, Debug)]
enum Expected {
    Value(f64),
    Fails(Code),
}

#[derive(Clone)]
struct Model {
    table: Table,
    done: Vec<Table>,
    undone: Vec<Table>,
}

impl Model {
    fn new() -> Self {
        Self { table: [None; NAMES], done: Vec::new(), undone: Vec::new() }
    }

    fn change(&mut self, name: usize, meaning: Option<Meaning>) {
        self.done.push(self.table);
        if self.done.len() > HISTORY {
            self.done.remove(0);
        }
        self.undone.clear();
        self.table[name] = meaning;
    }

    fn undo(&mut self) {
        if let Some(before) = self.done.pop() {
            self.undone.push(std::mem::replace(&mut self.table, before));
        }
    }

    fn redo(&mut self) {
        if let Some(after) = self.undone.pop() {
            self.done.push(std::mem::replace(&mut self.table, after));
        }
    }

    /// What a call of a function with one argument comes to.
    fn call(&self, mut name: usize, x: f64) -> Expected {
        let mut pending = Vec::new();
        for _ in 0..=NAMES {
            let Some(meaning) = self.table[name] else { return Expected::Fails(Code::UndefinedFunction) };
            if meaning.arity != 1 {
                return Expected::Fails(Code::StaleCall);
            }
            pending.push(meaning);
            match meaning.callee {
                Some(callee) => name = callee,
                None => {
                    let value = pending.iter().rev().fold(x, |value, meaning| meaning.a * value + meaning.b);
                    return Expected::Value(value);
                }
            }
        }
        // Longer than there are names: it goes round and round.
        Expected::Fails(Code::StackOverflow)
    }
}

fn text(name: usize, meaning: Meaning) -> String {
    let Meaning { a, b, callee, arity } = meaning;
    let inner = callee.map_or("x".to_owned(), |callee| format!("f{callee}(x)"));
    let parameters = ["", "x", "x y"][arity as usize];
    let body = if arity == 0 { b.to_string() } else { format!("{a} * {inner} + {b}") };
    format!("def f{name}({parameters}) {body};")
}

fn outcome(result: Result<Option<f64>, Error>) -> Expected {
    match result {
        Ok(value) => Expected::Value(value.unwrap_or(f64::NAN)),
        Err(error) => Expected::Fails(error.diagnostics()[0].code),
    }
}

/// A session, what it should be like, and what happens next.
pub struct Session<'c> {
    choices: &'c mut dyn Choices,
    pub context: Context,
    model: Model,
    /// How much has happened, and how much of it was an error that had to be.
    pub steps: u64,
    pub errors: u64,
}

impl<'c> Session<'c> {
    pub fn new(engine: &Engine, choices: &'c mut dyn Choices) -> Self {
        let mut context = engine.context().expect("a context starts");
        context.keep_history(HISTORY);
        Self { choices, context, model: Model::new(), steps: 0, errors: 0 }
    }

    /// Whether nothing is left to choose.
    pub fn choices_are_over(&self) -> bool {
        self.choices.are_over()
    }

    /// Does one thing, and compares what comes of it.
    pub fn step(&mut self) {
        self.steps += 1;
        match self.choices.below(100) {
            0..=34 => self.define(),
            35..=74 => self.call(),
            75..=79 => self.undo(),
            80..=83 => self.mistake(),
            84..=87 => self.drop_one(),
            88..=91 => self.prepare(),
            92..=94 => self.interrupt_early(),
            95 => self.interrupt_late(),
            96 => self.deadline(),
            97 => self.recur(),
            98 => self.another_context(),
            _ => self.start_anew(),
        }
    }

    fn define(&mut self) {
        let name = self.choices.below(NAMES);
        let callee = (self.choices.below(2) == 0).then(|| self.choices.below(NAMES));
        let arity = [1, 1, 1, 1, 1, 1, 0, 2][self.choices.below(8)];
        // Small factors, so that values stay exact integers.
        let meaning = Meaning {
            a: [0.0, 1.0, -1.0, 2.0][self.choices.below(4)],
            b: self.choices.below(100) as f64,
            callee: callee.filter(|callee| arity > 0 && (*callee != name || arity == 1)),
            arity,
        };
        // A call in the text that does not fit what is known is refused.
        let refused =
            meaning.callee.and_then(|callee| self.model.table[callee]).is_some_and(|known| known.arity != 1)
                && meaning.callee != Some(name);
        match outcome(self.context.eval(&text(name, meaning))) {
            Expected::Fails(Code::WrongArity) if refused => self.errors += 1,
            Expected::Value(_) if !refused => self.model.change(name, Some(meaning)),
            found => panic!("step {}: {} gave {found:?}", self.steps, text(name, meaning)),
        }
    }

    fn call(&mut self) {
        let (name, x) = (self.choices.below(NAMES), self.choices.below(10) as f64);
        let expected = self.model.call(name, x);
        let found = match self.choices.below(3) {
            // Through a text, where what does not fit is refused at once.
            0 => match (outcome(self.context.eval(&format!("f{name}({x})"))), &expected) {
                (Expected::Fails(Code::WrongArity), Expected::Fails(Code::StaleCall)) => {
                    Expected::Fails(Code::StaleCall)
                }
                (found, _) => found,
            },
            1 => match self.context.call(&format!("f{name}"), &[x]) {
                Err(Error::NoFunction(_)) => Expected::Fails(Code::UndefinedFunction),
                Err(Error::Arity { .. }) => Expected::Fails(Code::StaleCall),
                other => outcome(other.map(Some)),
            },
            _ => match self.context.function::<fn(f64) -> f64>(&format!("f{name}")) {
                Err(Error::NoFunction(_)) => Expected::Fails(Code::UndefinedFunction),
                Err(Error::Arity { .. }) => Expected::Fails(Code::StaleCall),
                Err(other) => panic!("{other}"),
                Ok(function) => outcome(function.call(&mut self.context, (x,)).map(Some)),
            },
        };
        self.errors += u64::from(matches!(expected, Expected::Fails(_)));
        assert_eq!(found, expected, "step {}: f{name}({x}) with {:?}", self.steps, self.model.table);
    }

    fn undo(&mut self) {
        if self.choices.below(3) == 0 {
            self.context.redo();
            self.model.redo();
        } else {
            self.context.undo();
            self.model.undo();
        }
    }

    fn mistake(&mut self) {
        let texts = [
            "def f0(x) (1 +",
            ")",
            "1.2.3",
            "def f1(x x) x",
            "nothing + 1",
            "extern system(x)",
            "def = (x y) x",
        ];
        let text = texts[self.choices.below(texts.len())];
        assert!(matches!(outcome(self.context.eval(text)), Expected::Fails(_)), "{text}");
        self.errors += 1;
    }

    fn drop_one(&mut self) {
        let name = self.choices.below(NAMES);
        let dropped = self.context.drop_function(&format!("f{name}")).is_ok();
        assert_eq!(dropped, self.model.table[name].is_some(), "step {}", self.steps);
        if dropped {
            self.model.change(name, None);
        }
    }

    fn prepare(&mut self) {
        let name = self.choices.below(NAMES);
        if self.choices.below(4) == 0 {
            self.context.prepare_all().expect("everything can be compiled");
        } else {
            let prepared = self.context.prepare(&format!("f{name}")).is_ok();
            assert_eq!(prepared, self.model.table[name].is_some());
        }
    }

    /// An interrupt that comes before anything runs stops what runs next.
    fn interrupt_early(&mut self) {
        self.context.interrupt_handle().interrupt();
        assert_eq!(outcome(self.context.eval("1 + 1")), Expected::Fails(Code::Interrupted));
        assert_eq!(outcome(self.context.eval("1 + 1")), Expected::Value(2.0));
        self.errors += 1;
    }

    fn interrupt_late(&mut self) {
        let handle = self.context.interrupt_handle();
        let wait = Duration::from_micros(self.choices.below(2_000) as u64);
        let text = ["for i = 0, 1 in i", "loop(1)"][self.choices.below(2)];
        if text == "loop(1)" {
            // Not in one text with the call: the interrupt may come before it.
            let defined = outcome(self.context.eval("def loop(n) for i = 0, 1 in n"));
            assert!(matches!(defined, Expected::Value(_)), "{defined:?}");
            self.model.change(0, self.model.table[0]);
        }
        let other = std::thread::spawn(move || {
            std::thread::sleep(wait);
            handle.interrupt();
        });
        let found = outcome(self.context.eval(text));
        other.join().expect("it does not panic");
        assert_eq!(found, Expected::Fails(Code::Interrupted));
        self.errors += 1;
    }

    fn deadline(&mut self) {
        let wait = Duration::from_micros(self.choices.below(3_000) as u64);
        self.context.set_deadline(Some(Instant::now() + wait));
        assert_eq!(outcome(self.context.eval("for i = 0, 1 in i")), Expected::Fails(Code::DeadlineExceeded));
        self.context.set_deadline(None);
        self.errors += 1;
    }

    fn recur(&mut self) {
        let text = "def deep(x) 1 + deep(x + 1); deep(0)";
        assert_eq!(outcome(self.context.eval(text)), Expected::Fails(Code::StackOverflow));
        self.model.change(0, self.model.table[0]);
        self.errors += 1;
    }

    fn another_context(&mut self) {
        let mut other = self.context.engine().context().expect("a context starts");
        let value = other.eval("def f0(x) x * 1000; def f1(x) f0(x) + 1; f1(2)");
        assert_eq!(value.expect("it runs"), Some(2001.0));
    }

    /// Forgets everything.
    pub fn start_anew(&mut self) {
        self.context.reset();
        self.model = Model::new();
    }
}

//! A session and a model of it: random definitions, redefinitions, calls, undo
//! and redo, mistakes, interrupts, deadlines and background compiling.
//!
//! The model knows what each name means and so what each call must give, or
//! which error.

use crate::choices::Choices;
use kal::diagnostic::ErrorCode;
use kal::source::Source;
use kal::{Context, Engine, Error, Formula};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

const NAMES: usize = 12;
const HISTORY: usize = 16;

/// The last name is one that means something without a definition, and that
/// compiled code has an instruction for.
const SQRT: usize = NAMES - 1;

fn name(index: usize) -> String {
    if index == SQRT { "sqrt".to_owned() } else { format!("f{index}") }
}

/// What a function of the model does: `a * x + b`, or that of another's value,
/// or of twice that, by calling it twice.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Meaning {
    a: f64,
    b: f64,
    callee: Option<usize>,
    twice: bool,
    arity: u32,
}

/// What each name means, and which are declared ahead of a definition with one
/// parameter.
#[derive(Clone, Copy, Debug)]
struct Table {
    meanings: [Option<Meaning>; NAMES],
    declared: [bool; NAMES],
}

impl Table {
    const EMPTY: Self = Self { meanings: [None; NAMES], declared: [false; NAMES] };

    /// Returns whether a definition does not fit the declaration of its name.
    fn refuses(&self, name: usize, meaning: Meaning) -> bool {
        self.declared[name] && self.meanings[name].is_none() && meaning.arity != 1
    }
}

impl std::ops::Index<usize> for Table {
    type Output = Option<Meaning>;

    fn index(&self, name: usize) -> &Option<Meaning> {
        &self.meanings[name]
    }
}

/// What a call must give.
#[derive(Debug)]
enum Expected {
    Value(f64),
    Fails(ErrorCode),
}

impl PartialEq for Expected {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Self::Fails(a), Self::Fails(b)) => a == b,
            _ => false,
        }
    }
}

impl Expected {
    fn map(self, change: impl FnOnce(f64) -> f64) -> Self {
        match self {
            Self::Value(value) => Self::Value(change(value)),
            Self::Fails(code) => Self::Fails(code),
        }
    }
}

struct Model {
    table: Table,
    done: Vec<Table>,
    undone: Vec<Table>,
    depth: usize,
}

impl Model {
    fn new(depth: usize) -> Self {
        Self { table: Table::EMPTY, done: Vec::new(), undone: Vec::new(), depth }
    }

    /// Records one step that changes something, or nothing that the model
    /// knows.
    fn change(&mut self, changes: &[(usize, Option<Meaning>)]) {
        self.done.push(self.table);
        self.undone.clear();
        self.trim();
        for (name, meaning) in changes {
            self.table.meanings[*name] = *meaning;
            self.table.declared[*name] &= meaning.is_some();
        }
    }

    fn declare(&mut self, name: usize) {
        self.change(&[]);
        self.table.declared[name] = true;
    }

    fn trim(&mut self) {
        for steps in [&mut self.done, &mut self.undone] {
            let excess = steps.len().saturating_sub(self.depth);
            steps.drain(..excess);
        }
    }

    fn undo(&mut self) {
        if let Some(before) = self.done.pop() {
            self.undone.push(std::mem::replace(&mut self.table, before));
            self.trim();
        }
    }

    fn redo(&mut self) {
        if let Some(after) = self.undone.pop() {
            self.done.push(std::mem::replace(&mut self.table, after));
            self.trim();
        }
    }

    /// Returns the expected result of a call of a function with one argument.
    fn call(&self, mut name: usize, x: f64) -> Expected {
        let mut pending: Vec<Meaning> = Vec::new();
        let through = |pending: &[Meaning], value: f64| {
            let twice = |meaning: &Meaning, value: f64| if meaning.twice { value + value } else { value };
            pending.iter().rev().fold(value, |value, meaning| meaning.a * twice(meaning, value) + meaning.b)
        };
        for _ in 0..=NAMES {
            let Some(meaning) = self.table[name] else {
                return match name {
                    SQRT => Expected::Value(through(&pending, x.sqrt())),
                    _ => Expected::Fails(ErrorCode::UndefinedFunction),
                };
            };
            if meaning.arity != 1 {
                return Expected::Fails(ErrorCode::StaleCall);
            }
            pending.push(meaning);
            match meaning.callee {
                Some(callee) => name = callee,
                None => return Expected::Value(through(&pending, x)),
            }
        }
        // Longer than there are names: it repeats them.
        Expected::Fails(ErrorCode::StackOverflow)
    }
}

fn text(index: usize, meaning: Meaning) -> String {
    let Meaning { a, b, callee, twice, arity } = meaning;
    let inner = match callee.map(name) {
        Some(callee) if twice => format!("({callee}(x) + {callee}(x))"),
        Some(callee) => format!("{callee}(x)"),
        None => "x".to_owned(),
    };
    let parameters = ["", "x", "x y"][arity as usize];
    let body = if arity == 0 { b.to_string() } else { format!("{a} * {inner} + {b}") };
    format!("def {}({parameters}) {body};", name(index))
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
    /// Formulas that call a function and take a root.
    formulas: Vec<(Formula, usize)>,
    /// How much has happened, and how much of it was an error that had to be.
    pub steps: u64,
    pub errors: u64,
}

impl<'c> Session<'c> {
    pub fn new(engine: &Engine, choices: &'c mut dyn Choices) -> Self {
        let mut context = engine.context().expect("a context starts");
        context.keep_history(HISTORY);
        Self { choices, context, model: Model::new(HISTORY), formulas: Vec::new(), steps: 0, errors: 0 }
    }

    /// Returns whether nothing is left to choose.
    pub fn choices_are_over(&self) -> bool {
        self.choices.are_over()
    }

    /// Does one thing, and compares the result with the model.
    pub fn step(&mut self) {
        self.steps += 1;
        match self.choices.below(100) {
            0..=31 => self.define(),
            32..=33 => self.define_inside(),
            34..=69 => self.call(),
            70..=73 => self.formula(),
            74..=78 => self.undo(),
            79 => self.watch(),
            80..=82 => self.mistake(),
            83 => self.declare(),
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
        let arity = if name == SQRT { 1 } else { arity };
        // Small factors, so that values stay exact.
        let meaning = Meaning {
            a: [0.0, 1.0, -1.0, 2.0][self.choices.below(4)],
            b: self.choices.below(100) as f64,
            callee: callee.filter(|callee| arity > 0 && (*callee != name || arity == 1)),
            twice: false,
            arity,
        };
        let twice = meaning.callee.is_some() && self.choices.below(3) == 0;
        let meaning = Meaning { twice, ..meaning };
        // A call that does not fit a known function is refused.
        let refused =
            meaning.callee.and_then(|callee| self.model.table[callee]).is_some_and(|known| known.arity != 1)
                && meaning.callee != Some(name);
        let misfit = self.model.table.refuses(name, meaning);
        match outcome(self.context.eval(&text(name, meaning))) {
            Expected::Fails(ErrorCode::WrongArity) if refused => self.errors += 1,
            Expected::Fails(ErrorCode::ExternArity) if misfit => self.errors += 1,
            Expected::Value(_) if !refused && !misfit => self.model.change(&[(name, Some(meaning))]),
            found => panic!("step {}: {} gave {found:?}", self.steps, text(name, meaning)),
        }
    }

    /// Declares a function of one parameter, as far as that says anything new.
    fn declare(&mut self) {
        let index = self.choices.below(SQRT);
        let found = outcome(self.context.eval(&format!("extern {}(x)", name(index))));
        match self.model.table[index] {
            Some(known) if known.arity != 1 => {
                assert_eq!(found, Expected::Fails(ErrorCode::ExternArity), "step {}", self.steps);
                self.errors += 1;
            }
            known => {
                assert!(matches!(found, Expected::Value(_)), "step {}: {found:?}", self.steps);
                if known.is_none() && !self.model.table.declared[index] {
                    self.model.declare(index);
                }
            }
        }
    }

    /// Runs a text inside another: it is part of that step.
    fn define_inside(&mut self) {
        let meaning = |b: usize| Meaning { a: 1.0, b: b as f64, callee: None, twice: false, arity: 1 };
        let chosen: [(usize, Meaning); 3] =
            std::array::from_fn(|_| (self.choices.below(NAMES), meaning(self.choices.below(100))));
        let [first, inner, last] = chosen.map(|(name, meaning)| text(name, meaning));
        let source = Source::new("outer", format!("{first} {last}"));
        let mut items = 0;
        let flow = self.context.run(&source, &mut |context, outcome| {
            outcome.expect("it is defined");
            items += 1;
            if items == 1 {
                context.eval(&inner).expect("it is defined");
            }
            ControlFlow::Continue(())
        });
        assert_eq!((flow, items), (ControlFlow::Continue(()), 2));
        self.model.change(&chosen.map(|(name, meaning)| (name, Some(meaning))));
    }

    fn call(&mut self) {
        let (index, x) = (self.choices.below(NAMES), self.choices.below(10) as f64);
        let mut expected = self.model.call(index, x);
        let name = name(index);
        // In a text, what does not fit is refused at once.
        let is_stale = matches!(expected, Expected::Fails(ErrorCode::StaleCall));
        let fits = |found| match found {
            Expected::Fails(ErrorCode::WrongArity) if is_stale => Expected::Fails(ErrorCode::StaleCall),
            found => found,
        };
        let found = match self.choices.below(4) {
            0 => fits(outcome(self.context.eval(&format!("{name}({x})")))),
            // A loop is compiled with what it calls; its body runs three times.
            1 => {
                let text = format!("var s in (for i = 0, i < 2 in s = s + {name}({x})) + s");
                expected = expected.map(|value| value + value + value);
                fits(outcome(self.context.eval(&text)))
            }
            2 => match self.context.call(&name, &[x]) {
                Err(Error::NoFunction(_)) => Expected::Fails(ErrorCode::UndefinedFunction),
                Err(Error::Arity { .. }) => Expected::Fails(ErrorCode::StaleCall),
                other => outcome(other.map(Some)),
            },
            _ => match self.context.function::<fn(f64) -> f64>(&name) {
                Err(Error::NoFunction(_)) => Expected::Fails(ErrorCode::UndefinedFunction),
                Err(Error::Arity { .. }) => Expected::Fails(ErrorCode::StaleCall),
                Err(other) => panic!("{other}"),
                Ok(function) => outcome(function.call(&mut self.context, (x,)).map(Some)),
            },
        };
        self.errors += u64::from(matches!(expected, Expected::Fails(_)));
        assert_eq!(found, expected, "step {}: {name}({x}) with {:?}", self.steps, self.model.table);
    }

    /// Calls a formula: it is made once and uses what its names mean at the
    /// call.
    fn formula(&mut self) {
        if self.formulas.len() < 4 {
            let index = self.choices.below(NAMES);
            match self.context.formula(&format!("{}(a) + sqrt(a)", name(index)), &["a"]) {
                Ok(formula) => self.formulas.push((formula, index)),
                Err(_) => {
                    let known = self.model.table[index];
                    assert!(
                        known.is_none_or(|known| known.arity != 1) && index != SQRT,
                        "step {}",
                        self.steps
                    );
                }
            }
            return;
        }
        let (formula, index) = &self.formulas[self.choices.below(4)];
        let x = self.choices.below(10) as f64;
        let expected = match (self.model.call(*index, x), self.model.call(SQRT, x)) {
            (Expected::Value(value), root) => root.map(|root| value + root),
            (failure, _) => failure,
        };
        let found = outcome(formula.call(&mut self.context, &[x]).map(Some));
        assert_eq!(
            found, expected,
            "step {}: formula of {index} at {x} with {:?}",
            self.steps, self.model.table
        );
        if self.choices.below(8) == 0 {
            self.formulas.clear();
        }
    }

    /// Changes whether there is an observer, and how much history is kept.
    fn watch(&mut self) {
        match self.choices.below(4) {
            0 => self.context.set_trace(Some(Box::new(|_| ()))),
            1 => self.context.set_trace(None),
            choice => {
                self.model.depth = [0, 3, HISTORY][self.choices.below(3)];
                self.context.keep_history(self.model.depth);
                self.model.trim();
                if choice == 2 {
                    self.context.set_trace(None);
                }
            }
        }
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
            "extern system(x x)",
            "def = (x y) x",
        ];
        let text = texts[self.choices.below(texts.len())];
        assert!(matches!(outcome(self.context.eval(text)), Expected::Fails(_)), "{text}");
        self.errors += 1;
    }

    fn drop_one(&mut self) {
        let index = self.choices.below(NAMES);
        let dropped = self.context.drop_function(&name(index)).is_ok();
        let known = self.model.table[index].is_some() || self.model.table.declared[index];
        assert_eq!(dropped, known, "step {}", self.steps);
        if dropped {
            self.model.change(&[(index, None)]);
        }
    }

    fn prepare(&mut self) {
        let index = self.choices.below(SQRT);
        if self.choices.below(4) == 0 {
            self.context.prepare_all().expect("everything can be compiled");
        } else {
            let prepared = self.context.prepare(&name(index)).is_ok();
            assert_eq!(prepared, self.model.table[index].is_some());
        }
    }

    /// Interrupts before anything runs: that stops what runs next.
    fn interrupt_early(&mut self) {
        self.context.interrupt_handle().interrupt();
        assert_eq!(outcome(self.context.eval("1 + 1")), Expected::Fails(ErrorCode::Interrupted));
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
            self.model.change(&[]);
        }
        let other = std::thread::spawn(move || {
            std::thread::sleep(wait);
            handle.interrupt();
        });
        let found = outcome(self.context.eval(text));
        other.join().expect("it does not panic");
        assert_eq!(found, Expected::Fails(ErrorCode::Interrupted));
        self.errors += 1;
    }

    fn deadline(&mut self) {
        let wait = Duration::from_micros(self.choices.below(3_000) as u64);
        self.context.set_deadline(Some(Instant::now() + wait));
        assert_eq!(
            outcome(self.context.eval("for i = 0, 1 in i")),
            Expected::Fails(ErrorCode::DeadlineExceeded)
        );
        self.context.set_deadline(None);
        self.errors += 1;
    }

    fn recur(&mut self) {
        let text = "def deep(x) 1 + deep(x + 1); deep(0)";
        assert_eq!(outcome(self.context.eval(text)), Expected::Fails(ErrorCode::StackOverflow));
        self.model.change(&[]);
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
        self.model = Model::new(self.model.depth);
    }
}

//! Generated programs: compiled and interpreted they give the same bits.
//!
//! Each program defines a few functions that call each other and assign
//! parameters, locals and variables of the context in the middle of
//! expressions, where the order of evaluation shows. Loops are short and calls
//! go to earlier functions only, so every program ends. A complaint quotes the
//! program; `KAL_SEED` runs other ones.

use kal::{Config, Engine, Level, Mode, TierUp};
use std::fmt::Write;

const PROGRAMS: u64 = 200;

/// How deep expressions are nested.
const DEPTH: u32 = 5;

const GLOBALS: [&str; 2] = ["g", "h"];
const BINARY: [&str; 14] = ["+", "-", "*", "/", "%", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||"];
const HOST: [(&str, usize); 8] = [
    ("sin", 1),
    ("sqrt", 1),
    ("floor", 1),
    ("fabs", 1),
    ("fmod", 2),
    ("copysign", 2),
    ("fmax", 2),
    ("fma", 3),
];

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

/// A program under construction.
struct Program {
    random: Random,
    text: String,
    /// The number of parameters of each function so far.
    functions: Vec<usize>,
    /// Locals in scope; loops count with the ones that may not be assigned.
    locals: Vec<(String, bool)>,
    names: usize,
}

impl Program {
    fn text(seed: u64) -> String {
        let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut program =
            Self { random, text: String::new(), functions: Vec::new(), locals: Vec::new(), names: 0 };
        program.text.push_str("var g = 1, h = 0 - 2;\n");
        for function in 0..4 {
            let arity = program.random.below(4);
            program.locals = (0..arity).map(|index| (format!("p{index}"), true)).collect();
            let parameters: Vec<String> = program.locals.iter().map(|(name, _)| name.clone()).collect();
            let _ = write!(program.text, "def f{function}({}) ", parameters.join(" "));
            program.expression(DEPTH);
            program.text.push_str(";\n");
            program.functions.push(arity);
        }
        program.locals.clear();
        for _ in 0..4 {
            program.expression(DEPTH - 1);
            program.text.push_str(";\ng; h;\n");
        }
        program.text
    }

    fn expression(&mut self, depth: u32) {
        if depth == 0 {
            return self.leaf();
        }
        match self.random.below(14) {
            0 | 1 => self.leaf(),
            2..=5 => self.binary(depth),
            6 => {
                let op = ["-", "!"][self.random.below(2)];
                self.text.push_str(op);
                self.grouped(depth);
            }
            7 => self.assignment(depth),
            8 => {
                self.text.push_str("(if ");
                self.expression(depth - 1);
                self.text.push_str(" then ");
                self.expression(depth - 1);
                self.text.push_str(" else ");
                self.expression(depth - 1);
                self.text.push(')');
            }
            9 => self.bindings(depth),
            10 => self.counting(depth),
            11 => self.host(depth),
            _ => self.call(depth),
        }
    }

    fn grouped(&mut self, depth: u32) {
        self.text.push('(');
        self.expression(depth - 1);
        self.text.push(')');
    }

    fn leaf(&mut self) {
        let choice = self.random.below(3 + self.locals.len());
        match choice {
            0 => {
                let number = ["0", "1", "2", "3", "0.5", "7.25", "100", "1e300"][self.random.below(8)];
                self.text.push_str(number);
            }
            1 => {
                let number = self.random.below(10);
                let _ = write!(self.text, "{number}");
            }
            2 => self.text.push_str(GLOBALS[self.random.below(2)]),
            local => self.text.push_str(&self.locals[local - 3].0),
        }
    }

    fn binary(&mut self, depth: u32) {
        self.grouped(depth);
        let op = BINARY[self.random.below(BINARY.len())];
        let _ = write!(self.text, " {op} ");
        self.grouped(depth);
    }

    fn assignment(&mut self, depth: u32) {
        let free: Vec<String> = self
            .locals
            .iter()
            .filter(|(_, may_be_assigned)| *may_be_assigned)
            .map(|(name, _)| name.clone())
            .collect();
        let target = match self.random.below(2 + free.len()) {
            global @ 0..2 => GLOBALS[global].to_owned(),
            local => free[local - 2].clone(),
        };
        let _ = write!(self.text, "({target} = ");
        self.expression(depth - 1);
        self.text.push(')');
    }

    fn local(&mut self) -> String {
        self.names += 1;
        // Sometimes an outer name is hidden.
        if self.random.below(4) == 0 { "p0".to_owned() } else { format!("v{}", self.names) }
    }

    fn bindings(&mut self, depth: u32) {
        let outer = self.locals.len();
        self.text.push_str("(var ");
        for index in 0..=self.random.below(2) {
            let name = self.local();
            let _ = write!(self.text, "{}{name} = ", if index > 0 { ", " } else { "" });
            self.expression(depth - 1);
            self.locals.push((name, true));
        }
        self.text.push_str(" in ");
        self.expression(depth - 1);
        self.text.push(')');
        self.locals.truncate(outer);
    }

    /// A loop of few rounds, whose variable nothing else assigns.
    fn counting(&mut self, depth: u32) {
        self.names += 1;
        let name = format!("i{}", self.names);
        let start = self.random.below(3);
        let end = start + self.random.below(4);
        let _ = match self.random.below(4) {
            0 => write!(self.text, "(for {name} = {start}, {name} < {end} in "),
            1 => write!(self.text, "(for {name} = {start}, {name} <= {end} && 1, 1 + (h == h) in "),
            2 => write!(self.text, "(for {name} = {end}, {name} > {start}, 0 - 1 in "),
            _ => write!(self.text, "(for {name} = {start}, !({end} < {name}), sqrt(4) in "),
        };
        self.locals.push((name, false));
        self.expression(depth - 1);
        self.locals.pop();
        self.text.push(')');
    }

    fn arguments(&mut self, name: &str, arity: usize, depth: u32) {
        let _ = write!(self.text, "{name}(");
        for index in 0..arity {
            if index > 0 {
                self.text.push_str(", ");
            }
            self.expression(depth - 1);
        }
        self.text.push(')');
    }

    fn host(&mut self, depth: u32) {
        let (name, arity) = HOST[self.random.below(HOST.len())];
        self.arguments(name, arity, depth);
    }

    fn call(&mut self, depth: u32) {
        if self.functions.is_empty() {
            return self.leaf();
        }
        let function = self.random.below(self.functions.len());
        let arity = self.functions[function];
        self.arguments(&format!("f{function}"), arity, depth);
    }
}

/// The values of a program's expressions; every NaN is one.
fn values(config: Config, text: &str) -> Vec<String> {
    let engine = Engine::with_config(config).expect("an engine starts");
    let mut context = engine.context().expect("a context starts");
    let source = kal::source::Source::new("generated", text);
    let mut values = Vec::new();
    let _ = context.run(&source, &mut |_, outcome| {
        match outcome {
            Ok(kal::Outcome::Value(value)) if value.is_nan() => values.push("nan".to_owned()),
            Ok(kal::Outcome::Value(value)) => values.push(format!("{value:?}")),
            Ok(_) => {}
            Err(error) => values.push(format!("{error}: {:?}", error.diagnostics())),
        }
        std::ops::ControlFlow::Continue(())
    });
    values
}

#[test]
fn compiled_and_interpreted_programs_agree() {
    let seed = std::env::var("KAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for number in seed..seed + PROGRAMS {
        let text = Program::text(number + 1);
        let interpreted = values(Config::new().mode(Mode::Interpret), &text);
        assert_eq!(interpreted.len(), 12, "{text}\n{interpreted:?}");
        let level = [Level::O0, Level::O2][number as usize % 2];
        let compiled = values(Config::new().level(level), &text);
        assert_eq!(interpreted, compiled, "program {number} at {level:?}:\n{text}");
        let after = number as u32 % 3 + 1;
        let tiered = Config::new().mode(Mode::Tiered).level(Level::O0).tier_up(TierUp::After(after));
        let tiered = values(tiered.wait_for_code(true), &text);
        assert_eq!(interpreted, tiered, "program {number}, tiered after {after}:\n{text}");
    }
}

//! Random functions and rows of numbers, and what the functions are in each row.
//!
//! The functions have what a wide lowering has to get right: locals that rows assign in
//! branches and loops that they take and leave differently. All of them end.

use crate::choices::Choices;
use kal::{Column, Context, Kernel, Run};

/// Numbers at which something changes.
const EDGES: [f64; 29] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    -2.0,
    3.0,
    0.5,
    -0.5,
    0.1,
    10.0,
    -10.0,
    7.25,
    100.0,
    1e16,
    -1e16,
    9007199254740991.0,
    9007199254740993.0,
    1e300,
    -1e300,
    1e-300,
    5e-324,
    -5e-324,
    f64::MIN_POSITIVE,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Returns numbers: edges, small integers and random bits.
pub fn numbers(random: &mut dyn Choices, count: usize) -> Vec<f64> {
    let mut number = || match random.below(4) {
        0 => EDGES[random.below(EDGES.len())],
        1 => random.below(21) as f64 - 10.0,
        2 => (random.below(2001) as f64 - 1000.0) / 64.0,
        _ => f64::from_bits(((random.below(1 << 31) as u64) << 33) | random.below(1 << 31) as u64),
    };
    (0..count).map(|_| number()).collect()
}

/// Returns the bits of numbers; all NaNs have the same.
pub fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| if number.is_nan() { f64::NAN } else { *number }.to_bits()).collect()
}

/// Returns the value of a column in a row.
pub fn value_at(column: &Column<'_>, row: usize) -> f64 {
    match column {
        Column::Values(values) => values[row],
        Column::Every(value) => *value,
    }
}

/// Returns the results of calling a function for each row.
pub fn row_by_row(context: &mut Context, name: &str, columns: &[Column<'_>], rows: usize) -> Vec<f64> {
    let call = |row| {
        let arguments: Vec<f64> = columns.iter().map(|column| value_at(column, row)).collect();
        context.call(name, &arguments).unwrap_or_else(|error| panic!("{name}{arguments:?}: {error}"))
    };
    (0..rows).map(call).collect()
}

pub fn applied(kernel: &Kernel, columns: &[Column<'_>], rows: usize, threads: usize) -> Vec<f64> {
    let mut output = vec![7.0; rows];
    let mut run = Run::new();
    run.threads = threads;
    kernel.apply(columns, &mut output, &mut run).unwrap_or_else(|error| panic!("{kernel:?}: {error}"));
    output
}

/// Returns the definitions of some functions of two parameters.
pub fn functions(random: &mut dyn Choices) -> String {
    let functions = 1 + random.below(3);
    let define =
        |number| FunctionBody { random: &mut *random, locals: Vec::new(), number, left: 40 }.function();
    (0..functions).map(define).collect::<Vec<_>>().join("\n")
}

/// The body of a function in progress: it assigns locals in branches and loops that rows
/// take and leave differently.
struct FunctionBody<'r> {
    random: &'r mut dyn Choices,
    locals: Vec<String>,
    /// The number of the function.
    number: usize,
    /// How many parts more it may have, about.
    left: usize,
}

impl FunctionBody<'_> {
    fn function(mut self) -> String {
        let number = self.number;
        self.locals = vec!["x".into(), "y".into()];
        let (first, second) = (self.value(2), self.value(1));
        self.locals.extend(["a".into(), "b".into()]);
        let (body, result) = (self.statement(3), self.value(2));
        format!("def f{number}(x y) var a = {first}, b = {second} in {body} : {result}")
    }

    fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.random.below(choices.len())]
    }

    fn local(&mut self) -> String {
        let index = self.random.below(self.locals.len());
        self.locals[index].clone()
    }

    /// Returns an expression without effects.
    fn value(&mut self, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        if depth == 0 || self.left == 0 {
            let numbers = ["0", "1", "2", "0.5", "3", "10", "-1", "1e300", "0.1"];
            return if self.random.below(3) == 0 { self.pick(&numbers).into() } else { self.local() };
        }
        let mut part = || self.value(depth - 1);
        let (one, other) = (part(), part());
        match self.random.below(14) {
            0..4 => format!("({one} {} {other})", self.pick(&["+", "-", "*", "/"])),
            4 => format!("({one} % {other})"),
            5 => format!("({one} {} {other})", self.pick(&["<", "<=", "==", "!=", ">", ">="])),
            6 => format!("({one} && {other})"),
            7 => format!("({one} || {other})"),
            8 => format!("(if {one} then {other} else {})", self.value(depth - 1)),
            9 => format!("{}({one})", self.pick(&["sin", "exp", "sqrt", "floor", "fabs", "log", "sign"])),
            10 => {
                format!("{}({one}, {other})", self.pick(&["fmax", "mod", "atan2", "copysign", "pow"]))
            }
            11 if self.number > 0 => format!("f{}({one}, {other})", self.random.below(self.number)),
            12 => format!("(var t = {one} in t * t - {other})"),
            _ => format!("-{one}"),
        }
    }

    /// Returns an expression that assigns locals.
    fn statement(&mut self, depth: usize) -> String {
        self.left = self.left.saturating_sub(1);
        let assigned = self.locals[2 + self.random.below(2)].clone();
        if depth == 0 || self.left == 0 {
            return format!("({assigned} = {})", self.value(2));
        }
        match self.random.below(7) {
            0 => format!("(x = {})", self.value(2)),
            1 => format!("({} : {})", self.statement(depth - 1), self.statement(depth - 1)),
            2 => {
                let condition = self.value(2);
                format!(
                    "(if {condition} then {} else {})",
                    self.statement(depth - 1),
                    self.statement(depth - 1)
                )
            }
            3 => format!("({} && {})", self.value(1), self.statement(depth - 1)),
            4 => {
                let index = format!("i{depth}");
                let (start, end) = (self.value(1), self.value(1));
                let body = self.statement(depth - 1);
                format!(
                    "(for {index} = {start}, {index} < {end} && {index} < 5, 1 + fabs({index}) in {body})"
                )
            }
            5 => {
                let count = format!("n{depth}");
                let (condition, body) = (self.value(2), self.statement(depth - 1));
                let counts = format!("{count} < 6 && {condition}");
                format!("(var {count} = 0 in while {counts} in ({count} = {count} + 1) : {body})")
            }
            _ => format!("({assigned} += {})", self.value(2)),
        }
    }
}

/// Returns columns as arguments; of those in a set, by bit, the first value for every row.
pub fn inputs(columns: &[Vec<f64>], every: usize) -> Vec<Column<'_>> {
    let mut inputs = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        inputs.push(if every >> index & 1 == 1 { Column::Every(column[0]) } else { Column::Values(column) });
    }
    inputs
}

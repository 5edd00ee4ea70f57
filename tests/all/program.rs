//! Random programs: made from a stream of choices, as trees, and written as
//! text.
//!
//! Every program is well formed and ends: functions call functions with lower
//! numbers only, or themselves with a counter that is bounded; those that take a
//! function call that one and the host; loops run a few iterations with a variable
//! that nothing else assigns. Functions and
//! operators are redefined in between, so callers that are already compiled
//! must follow. The fuzz targets use this file too, with their bytes as
//! choices.

use crate::choices::Choices;
use std::fmt::Write;

/// A program: its items in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Program(pub Vec<Item>);

#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `var g = 1, h = 2`
    Variables(Vec<(String, Expr)>),
    /// A function, or by its head an operator.
    Define { head: String, body: Expr },
    /// A function that is defined, or will be.
    Declare { head: String },
    /// A function that takes a function.
    Pattern { head: &'static str, body: Expr },
    /// A top-level expression.
    Evaluate(Expr),
    /// The same for its effect.
    Do(Expr),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A literal or a name.
    Leaf(String),
    /// The operator with which is assigned, and the variable.
    Assign(&'static str, String, Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<[Expr; 2]>),
    /// A chain of two comparisons.
    Chain([&'static str; 2], Box<[Expr; 3]>),
    If(Box<[Expr; 3]>),
    /// Without `else`.
    Then(Box<[Expr; 2]>),
    /// The counter, how often at most, the condition and the body.
    While(String, usize, Box<[Expr; 2]>),
    /// Two numbers, in two forms.
    Print(Box<[Expr; 2]>),
    /// The head from `for` to `in`, and the body.
    For(String, Box<Expr>),
    Var(Vec<(String, Expr)>, Box<Expr>),
    Call(String, Vec<Expr>),
}

const VARIABLES: [&str; 3] = ["g", "h", "k"];
const FUNCTIONS: usize = 5;
const BINARY: [&str; 15] = ["+", "-", "*", "/", "%", "^", "<", ">", "<=", ">=", "==", "!=", "&&", "||", ":"];
const COMPARISONS: [&str; 6] = ["<", ">", "<=", ">=", "==", "!="];
const ASSIGNMENTS: [&str; 8] = ["=", "=", "=", "=", "+=", "-=", "*=", "/="];
/// Functions that take a function: the head, the name and where the function is among the
/// arguments, what it is called and how many it takes.
const PATTERNS: [(&str, &str, usize, &str, usize); 2] =
    [("t0(f(x) p0)", "t0", 0, "f", 1), ("t1(p0 op(a b) p1)", "t1", 1, "op", 2)];
/// Functions and operators that can be given, with the numbers of their arguments.
const GIVEN: [(&str, usize); 10] = [
    ("sin", 1),
    ("fabs", 1),
    ("printd", 1),
    ("unary-", 1),
    ("unary!", 1),
    ("binary+", 2),
    ("binary-", 2),
    ("binary*", 2),
    ("binary<", 2),
    ("fmod", 2),
];
/// Operators that programs define: the head, and how often they may be used
/// before the head is read (never).
const OPERATORS: [(&str, &str, usize); 6] = [
    ("binary @ 35 (a b)", "@", 2),
    ("binary | 5 (a b)", "|", 2),
    ("unary ~ (a)", "~", 1),
    ("binary $ 60 (a b)", "$", 2),
    ("binary ? 100 (a b)", "?", 2),
    // Goes on assigning; `==` is used in its place.
    ("binary = 9 (a b)", "==", 2),
];
const HOST: [(&str, usize); 16] = [
    ("sin", 1),
    ("exp", 1),
    ("sqrt", 1),
    ("fabs", 1),
    ("floor", 1),
    ("ceil", 1),
    ("trunc", 1),
    ("rint", 1),
    ("copysign", 2),
    ("fmod", 2),
    ("fmax", 2),
    ("fmin", 2),
    ("pow", 2),
    ("fma", 3),
    ("printd", 1),
    ("mix", 3),
];
const NUMBERS: [&str; 16] = [
    "0",
    "1",
    "2",
    "3",
    "10",
    "0.5",
    "0.1",
    "7.25",
    "1e300",
    "1e-300",
    "5e-324",
    "1e16",
    "4503599627370497",
    "0x1F",
    "1e308",
    "100",
];

/// Makes a program.
pub fn program(choices: &mut dyn Choices) -> Program {
    let mut maker = Maker {
        choices,
        arities: [None; FUNCTIONS],
        declared: [None; FUNCTIONS],
        operators: Vec::new(),
        patterns: [false; 2],
        taken: None,
        locals: Vec::new(),
        names: 0,
        budget: 0,
        level: 0,
    };
    let first = VARIABLES.iter().map(|name| ((*name).to_owned(), maker.number())).collect();
    let mut items = vec![Item::Variables(first)];
    for _ in 0..3 + maker.choices.below(8) {
        items.push(maker.item());
    }
    items.push(maker.evaluate());
    items.extend(VARIABLES.iter().map(|name| Item::Evaluate(Expr::Leaf((*name).to_owned()))));
    Program(items)
}

struct Maker<'a> {
    choices: &'a mut dyn Choices,
    /// How many arguments each function takes that is defined.
    arities: [Option<usize>; FUNCTIONS],
    /// How many arguments each function takes that has been declared.
    declared: [Option<usize>; FUNCTIONS],
    operators: Vec<usize>,
    /// Which of the functions that take one are defined.
    patterns: [bool; 2],
    /// The function that the one that is being defined takes.
    taken: Option<(&'static str, usize)>,
    /// Locals in scope, and whether they may be assigned.
    locals: Vec<(String, bool)>,
    names: usize,
    /// How many more nodes the expression may have.
    budget: usize,
    /// Only functions below this one may be called.
    level: usize,
}

impl Maker<'_> {
    fn item(&mut self) -> Item {
        match self.choices.below(12) {
            0..=3 => self.function(),
            4 => self.operator(),
            8 => self.declaration(),
            9 | 10 => self.pattern(),
            11 => match self.evaluate() {
                Item::Evaluate(expression) => Item::Do(expression),
                item => item,
            },
            _ => self.evaluate(),
        }
    }

    /// Declares a function with the number of arguments that it has or will have.
    fn declaration(&mut self) -> Item {
        let number = self.choices.below(FUNCTIONS);
        let arity = match self.arities[number].or(self.declared[number]) {
            Some(arity) => arity,
            None => self.choices.below(4),
        };
        self.declared[number] = Some(arity);
        let parameters: Vec<String> = (0..arity).map(|index| format!("q{index}")).collect();
        Item::Declare { head: format!("f{number}({})", parameters.join(" ")) }
    }

    fn evaluate(&mut self) -> Item {
        (self.locals, self.level, self.budget) = (Vec::new(), FUNCTIONS, 24);
        Item::Evaluate(self.expression(4))
    }

    /// Defines a function, perhaps not for the first time. Its number of
    /// arguments stays the same, or callers would no longer fit.
    fn function(&mut self) -> Item {
        let number = self.choices.below(FUNCTIONS);
        let arity = match self.arities[number].or(self.declared[number]) {
            Some(arity) => arity,
            None => self.choices.below(4),
        };
        let parameters: Vec<String> = (0..arity).map(|index| format!("p{index}")).collect();
        self.locals = parameters.iter().map(|name| (name.clone(), true)).collect();
        (self.level, self.budget) = (number, 30);
        let body = self.expression(5);
        self.arities[number] = Some(arity);
        let body =
            if arity > 0 && self.choices.below(4) == 0 { self.recursive(number, arity, body) } else { body };
        Item::Define { head: format!("f{number}({})", parameters.join(" ")), body }
    }

    /// `if p0 >= 0 && p0 < 5 then f(p0 + 1, …) op body else body`: whatever the
    /// first argument is, it soon leaves the range.
    fn recursive(&mut self, number: usize, arity: usize, body: Expr) -> Expr {
        let leaf = |text: &str| Expr::Leaf(text.to_owned());
        let binary = |op, left, right| Expr::Binary(op, Box::new([left, right]));
        // The body may assign p0, so the argument is read before.
        let range = binary("&&", binary(">=", leaf("p0"), leaf("0")), binary("<", leaf("p0"), leaf("5")));
        let mut arguments = vec![binary("+", leaf("p0"), leaf("1"))];
        for _ in 1..arity {
            self.budget = 4;
            (self.level, self.locals) = (0, vec![("p0".to_owned(), false)]);
            arguments.push(self.expression(1));
        }
        let call = Expr::Call(format!("f{number}"), arguments);
        Expr::If(Box::new([range, binary("+", call, leaf("1")), body]))
    }

    /// Defines a function that takes a function, perhaps not for the first time.
    fn pattern(&mut self) -> Item {
        let number = self.choices.below(PATTERNS.len());
        let (head, name, position, taken, arity) = PATTERNS[number];
        let count = if position == 0 { 1 } else { 2 };
        self.locals = (0..count).map(|index| (format!("p{index}"), true)).collect();
        (self.level, self.budget, self.taken) = (0, 16, Some((taken, arity)));
        let known = std::mem::take(&mut self.patterns);
        let mut body = self.expression(4);
        self.patterns = known;
        self.taken = None;
        if self.choices.below(3) == 0 {
            let mut arguments = vec![Expr::Leaf("p0 + 1".to_owned())];
            arguments.extend((1..count).map(|_| Expr::Leaf("p0".to_owned())));
            arguments.insert(position, Expr::Leaf(taken.to_owned()));
            let parts = [Expr::Leaf("0 <= p0 < 4".to_owned()), Expr::Call(name.to_owned(), arguments), body];
            body = Expr::If(Box::new(parts));
        }
        self.patterns[number] = true;
        Item::Pattern { head, body }
    }

    /// Defines an operator; its body is simple, so that it may be used a lot.
    fn operator(&mut self) -> Item {
        let number = self.choices.below(OPERATORS.len());
        let (head, _, operands) = OPERATORS[number];
        self.locals = ["a", "b"][..operands].iter().map(|name| ((*name).to_owned(), true)).collect();
        (self.level, self.budget) = (0, 6);
        // What takes a function uses operators.
        let known = (std::mem::take(&mut self.operators), std::mem::take(&mut self.patterns));
        let body = self.expression(2);
        (self.operators, self.patterns) = known;
        if !self.operators.contains(&number) {
            self.operators.push(number);
        }
        Item::Define { head: head.to_owned(), body }
    }

    fn expression(&mut self, depth: u32) -> Expr {
        if depth == 0 || self.budget == 0 {
            return self.leaf();
        }
        self.budget -= 1;
        let next = depth - 1;
        match self.choices.below(25) {
            0 | 1 => self.leaf(),
            2..=5 => {
                let op = BINARY[self.choices.below(BINARY.len())];
                Expr::Binary(op, Box::new([self.expression(next), self.expression(next)]))
            }
            6 => Expr::Unary(["-", "!"][self.choices.below(2)], Box::new(self.expression(next))),
            7 => self.assignment(next),
            8 | 9 => {
                Expr::If(Box::new([self.expression(next), self.expression(next), self.expression(next)]))
            }
            10 => self.bindings(next),
            11 | 12 => self.counting(next),
            13 => self.host(next),
            14 => self.user_operator(next),
            15 => self.waiting(next),
            17 => Expr::Then(Box::new([self.expression(next), self.expression(next)])),
            18 => self.repeating(next),
            19 => {
                let ops = [(); 2].map(|()| COMPARISONS[self.choices.below(COMPARISONS.len())]);
                let operands = [self.expression(next), self.expression(next), self.expression(next)];
                Expr::Chain(ops, Box::new(operands))
            }
            20 => Expr::Print(Box::new([self.expression(next), self.expression(next)])),
            21 | 22 => self.call_of_pattern(next),
            23 | 24 => self.call_of_taken(next),
            _ => self.call(next),
        }
    }

    fn number(&mut self) -> Expr {
        Expr::Leaf(NUMBERS[self.choices.below(NUMBERS.len())].to_owned())
    }

    fn leaf(&mut self) -> Expr {
        match self.choices.below(3 + 2 * self.locals.len()) {
            0 | 1 => self.number(),
            2 => Expr::Leaf(VARIABLES[self.choices.below(VARIABLES.len())].to_owned()),
            local => Expr::Leaf(self.locals[(local - 3) / 2].0.clone()),
        }
    }

    fn assignment(&mut self, depth: u32) -> Expr {
        let free: Vec<String> =
            self.locals.iter().filter(|(_, free)| *free).map(|(name, _)| name.clone()).collect();
        let place = self.choices.below(VARIABLES.len() + free.len());
        let name = VARIABLES
            .get(place)
            .map_or_else(|| free[place - VARIABLES.len()].clone(), |name| (*name).to_owned());
        // What is hidden by a loop's variable of that name is not meant.
        if self.locals.iter().rev().find(|(local, _)| *local == name).is_some_and(|(_, free)| !free) {
            return self.leaf();
        }
        let op = ASSIGNMENTS[self.choices.below(ASSIGNMENTS.len())];
        Expr::Assign(op, name, Box::new(self.expression(depth)))
    }

    fn bindings(&mut self, depth: u32) -> Expr {
        let outer = self.locals.len();
        let mut bindings = Vec::new();
        for _ in 0..=self.choices.below(2) {
            self.names += 1;
            let name = if self.choices.below(4) == 0 { "g".to_owned() } else { format!("v{}", self.names) };
            bindings.push((name.clone(), self.expression(depth)));
            self.locals.push((name, true));
        }
        let body = self.expression(depth);
        self.locals.truncate(outer);
        Expr::Var(bindings, Box::new(body))
    }

    /// Returns an operation whose left operand waits for loops inside loops.
    fn waiting(&mut self, depth: u32) -> Expr {
        let left = self.expression(depth);
        let outer = self.counting(depth);
        let loops = match outer {
            Expr::For(head, body) => {
                let inner = self.counting(1);
                let waits = Expr::Binary("+", Box::new([*body, inner]));
                Expr::For(head, Box::new(waits))
            }
            other => other,
        };
        Expr::Binary(BINARY[self.choices.below(BINARY.len())], Box::new([left, loops]))
    }

    /// Returns a loop of few iterations.
    fn counting(&mut self, depth: u32) -> Expr {
        self.names += 1;
        let name = format!("i{}", self.names);
        let (start, rounds) = (self.choices.below(3), self.choices.below(4));
        let end = start + rounds;
        let head = match self.choices.below(4) {
            0 => format!("for {name} = {start}, {name} < {end} in "),
            1 => format!("for {name} = {start}, {name} <= {end} && 1, 0.5 + 0.5 in "),
            2 => format!("for {name} = {end}, {name} > {start}, -1 in "),
            _ => format!("for {name} = {start}, !({end} < {name}), sqrt(4) in "),
        };
        self.locals.push((name, false));
        // What runs often is small.
        self.budget = self.budget.min(10);
        let body = self.expression(depth);
        self.locals.pop();
        Expr::For(head, Box::new(body))
    }

    /// Returns a loop that tests first, of few iterations.
    fn repeating(&mut self, depth: u32) -> Expr {
        self.names += 1;
        let (name, rounds) = (format!("w{}", self.names), self.choices.below(4));
        self.locals.push((name.clone(), false));
        self.budget = self.budget.min(10);
        let parts = [self.expression(depth), self.expression(depth)];
        self.locals.pop();
        Expr::While(name, rounds, Box::new(parts))
    }

    /// Returns a call of what the function that is being defined takes.
    fn call_of_taken(&mut self, depth: u32) -> Expr {
        let Some((name, arity)) = self.taken else { return self.call(depth) };
        Expr::Call(name.to_owned(), (0..arity).map(|_| self.expression(depth)).collect())
    }

    /// Returns a call that gives a function.
    fn call_of_pattern(&mut self, depth: u32) -> Expr {
        let known: Vec<usize> = (0..PATTERNS.len()).filter(|number| self.patterns[*number]).collect();
        if known.is_empty() {
            return self.call(depth);
        }
        let (_, name, position, _, wanted) = PATTERNS[known[self.choices.below(known.len())]];
        let fits = |number: &usize| self.arities[*number] == Some(wanted);
        let own = (0..self.level).filter(fits).map(|number| format!("f{number}"));
        let others = GIVEN.iter().filter(|(_, arity)| *arity == wanted).map(|(name, _)| (*name).to_owned());
        let mut given: Vec<String> = own.chain(others).collect();
        let given = given.swap_remove(self.choices.below(given.len()));
        let mut arguments: Vec<Expr> = (0..=position).map(|_| self.expression(depth)).collect();
        arguments.insert(position, Expr::Leaf(given));
        Expr::Call(name.to_owned(), arguments)
    }

    fn host(&mut self, depth: u32) -> Expr {
        let (name, arity) = HOST[self.choices.below(HOST.len())];
        Expr::Call(name.to_owned(), (0..arity).map(|_| self.expression(depth)).collect())
    }

    fn user_operator(&mut self, depth: u32) -> Expr {
        if self.operators.is_empty() {
            return self.leaf();
        }
        let number = self.operators[self.choices.below(self.operators.len())];
        match OPERATORS[number] {
            (_, op, 1) => Expr::Unary(op, Box::new(self.expression(depth))),
            (_, op, _) => Expr::Binary(op, Box::new([self.expression(depth), self.expression(depth)])),
        }
    }

    fn call(&mut self, depth: u32) -> Expr {
        let known: Vec<usize> = (0..self.level).filter(|number| self.arities[*number].is_some()).collect();
        if known.is_empty() {
            return self.leaf();
        }
        let number = known[self.choices.below(known.len())];
        let arity = self.arities[number].unwrap_or(0);
        Expr::Call(format!("f{number}"), (0..arity).map(|_| self.expression(depth)).collect())
    }
}

// --- text ---------------------------------------------------------------------

impl Program {
    /// Returns the items, each on a line of its own.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().map(Item::text).collect()
    }

    /// Returns the program as source.
    pub fn text(&self) -> String {
        self.lines().iter().fold(String::new(), |text, line| text + line + "\n")
    }
}

impl Item {
    /// Creates an expression that calls a function with numbers.
    pub fn call(name: &str, arguments: &[f64]) -> Self {
        let arguments = arguments.iter().map(|number| Expr::Leaf(format!("{number}"))).collect();
        Self::Evaluate(Expr::Call(name.to_owned(), arguments))
    }

    fn text(&self) -> String {
        match self {
            Self::Variables(bindings) => format!("var {};", joined(bindings)),
            Self::Define { head, body } => format!("def {head} {};", body.text()),
            Self::Pattern { head, body } => format!("def {head} {};", body.text()),
            Self::Declare { head } => format!("extern {head};"),
            Self::Do(body) => format!("do {};", body.text()),
            Self::Evaluate(body) => format!("{};", body.text()),
        }
    }
}

fn joined(bindings: &[(String, Expr)]) -> String {
    let bindings: Vec<String> =
        bindings.iter().map(|(name, value)| format!("{name} = {}", value.text())).collect();
    bindings.join(", ")
}

impl Expr {
    fn text(&self) -> String {
        match self {
            Self::Leaf(text) => text.clone(),
            Self::Assign(op, name, value) => format!("({name} {op} {})", value.text()),
            Self::Unary(op, value) => format!("({op} {})", value.text()),
            Self::Binary(op, sides) => format!("({} {op} {})", sides[0].text(), sides[1].text()),
            Self::If(parts) => {
                format!("(if {} then {} else {})", parts[0].text(), parts[1].text(), parts[2].text())
            }
            Self::Then(parts) => format!("(if {} then {})", parts[0].text(), parts[1].text()),
            Self::Chain(ops, parts) => {
                let [first, second, third] = [0, 1, 2].map(|index| parts[index].text());
                format!("({first} {} {second} {} {third})", ops[0], ops[1])
            }
            Self::While(name, rounds, parts) => {
                let (condition, body) = (parts[0].text(), parts[1].text());
                format!(
                    "(var {name} = 0 in while {name} < {rounds} && ({condition} || {name} < 1) in \
                     ({name} += 1 : {body}))"
                )
            }
            Self::Print(parts) => {
                format!("print(\"= \", {}, pad(sci({}, 3), 12))", parts[0].text(), parts[1].text())
            }
            Self::For(head, body) => format!("({head}{})", body.text()),
            Self::Var(bindings, body) => format!("(var {} in {})", joined(bindings), body.text()),
            Self::Call(name, arguments) => {
                let mut text = format!("{name}(");
                for (index, argument) in arguments.iter().enumerate() {
                    let _ = write!(text, "{}{}", if index > 0 { ", " } else { "" }, argument.text());
                }
                text + ")"
            }
        }
    }
}

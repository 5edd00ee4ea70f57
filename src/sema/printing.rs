//! `print` and `write`: what their arguments are, and what they are checked as.
//!
//! All numbers among the arguments are evaluated first, from left to right, and then all
//! is written, after a check of digits and widths that are not constant: calls of
//! [functions of the host](crate::host::printing) that no program can name.

use crate::host::printing::{BLANKS, CHECK, FIXED, NUMBER, SCIENTIFIC, TEXT, are_digits, is_width, pieces};
use crate::name::{Name, Names};
use crate::syntax::ast::{Ast, Node};
use crate::syntax::operator::UnaryOp;
use crate::syntax::text;
use rustc_hash::FxHashMap;
use unicode_width::UnicodeWidthStr;

/// What a node is in a call of `print` or `write`.
#[derive(Clone, Debug)]
pub(super) enum PrintRole {
    /// A text, or a call that says how a number is written: only its arguments are evaluated.
    Part,
    /// A text that is given to a call with another number of arguments than it takes, which
    /// is reported.
    Refused,
    /// The call, which writes these.
    Statement(Vec<PrintedPart>),
}

/// A part of what is printed.
#[derive(Clone, Debug)]
pub(super) struct PrintedPart {
    form: PrintForm,
    /// Whether its last value is its width.
    is_padded: bool,
    /// Whether its digits and its width are known to be right.
    is_checked: bool,
}

#[derive(Clone, Debug)]
enum PrintForm {
    Text(String),
    /// One value: what is written.
    Number,
    /// Two values: what is written, and how many digits.
    Digits(&'static str),
}

/// A step of writing.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum PrintStep {
    /// Leaves a value of the parts, by its number.
    Value(usize),
    /// Leaves such a value with the other sign.
    Negated(usize),
    /// Leaves a number.
    Constant(f64),
    /// Calls a function with that many arguments, which leaves 0.
    Call(&'static str, u32),
    /// Takes what the last call has left.
    Next,
}

/// What the nodes of a body are in its calls of `print` and `write`.
#[derive(Default, Debug)]
pub(super) struct PrintPlan {
    pub(super) roles: FxHashMap<usize, PrintRole>,
    /// The calls with another number of arguments than they take.
    pub(super) misfits: Vec<(usize, u32)>,
}

/// Whether a name has its meaning in `print`, at a node.
type IsWord<'w> = &'w dyn Fn(Name, usize) -> bool;

impl PrintPlan {
    /// Returns the plan of a body.
    pub(super) fn of(body: &Ast, names: &Names, is_word: IsWord<'_>) -> Self {
        let mut plan = Self::default();
        if !body.nodes.iter().any(|node| matches!(node, Node::Call { .. })) {
            return plan;
        }
        let statements = statements(names);
        let is_statement = |at: usize| match body.nodes[at] {
            Node::Call { callee, .. } => statements.contains(&Some(callee)) && is_word(callee, at),
            _ => false,
        };
        let found: Vec<usize> = (0..body.nodes.len()).filter(|at| is_statement(*at)).collect();
        if found.is_empty() {
            return plan;
        }
        let reader = PartReader { body, names, is_word, operands: body.arguments() };
        for at in found {
            let parts = reader.operands[at].iter().map(|operand| reader.part(*operand, &mut plan));
            let mut parts: Vec<_> = parts.collect();
            if matches!(body.nodes[at], Node::Call { callee, .. } if Some(callee) == statements[0]) {
                let form = PrintForm::Text("\n".into());
                parts.push(PrintedPart { form, is_padded: false, is_checked: true });
            }
            plan.roles.insert(at, PrintRole::Statement(parts));
        }
        plan
    }

    /// Returns whether an expression is a call of `print` or `write`.
    pub(super) fn prints(body: &Ast, names: &Names, is_word: IsWord<'_>) -> bool {
        match body.nodes.last() {
            Some(Node::Call { callee, .. }) => {
                statements(names).contains(&Some(*callee)) && is_word(*callee, body.nodes.len() - 1)
            }
            _ => false,
        }
    }
}

fn statements(names: &Names) -> [Option<Name>; 2] {
    ["print", "write"].map(|word| names.get(word))
}

/// Finds out what arguments are.
struct PartReader<'b> {
    body: &'b Ast,
    names: &'b Names,
    is_word: IsWord<'b>,
    /// The operands of each call.
    operands: Vec<Vec<usize>>,
}

impl PartReader<'_> {
    /// Returns what an argument is, and records what its nodes are.
    fn part(&self, at: usize, plan: &mut PrintPlan) -> PrintedPart {
        let Some(inner) = self.word(at, "pad", plan) else {
            let form = self.form(at, plan);
            let is_checked = self.has_digits(at, &form);
            return PrintedPart { form, is_padded: false, is_checked };
        };
        plan.roles.insert(at, PrintRole::Part);
        let form = self.form(inner, plan);
        let is_checked = self.has_digits(inner, &form) && self.ends_with(at, is_width);
        PrintedPart { form, is_padded: true, is_checked }
    }

    /// Returns whether a part that a node is has as many digits as may be, or none.
    fn has_digits(&self, at: usize, form: &PrintForm) -> bool {
        !matches!(form, PrintForm::Digits(_)) || self.ends_with(at, are_digits)
    }

    /// Returns whether the last argument of a call is a constant for which `is_right` holds.
    fn ends_with(&self, call: usize, is_right: fn(f64) -> bool) -> bool {
        let Some(&last) = self.operands[call].last() else { return false };
        let value = match self.body.nodes[..=last] {
            [.., Node::Number(value), Node::Unary(UnaryOp::Negate)] => -value,
            [.., Node::Number(value)] => value,
            _ => return false,
        };
        is_right(value)
    }

    fn form(&self, at: usize, plan: &mut PrintPlan) -> PrintForm {
        if let Node::Text(name) = self.body.nodes[at] {
            plan.roles.insert(at, PrintRole::Part);
            return PrintForm::Text(text::value(&self.names.text(name)).unwrap_or_default());
        }
        for (word, function) in [("fixed", FIXED), ("sci", SCIENTIFIC)] {
            if self.word(at, word, plan).is_some() {
                plan.roles.insert(at, PrintRole::Part);
                return PrintForm::Digits(function);
            }
        }
        PrintForm::Number
    }

    /// Returns the first argument of a node that is a call of a word of `print`.
    fn word(&self, at: usize, word: &str, plan: &mut PrintPlan) -> Option<usize> {
        /// All of them take as many.
        const ARGUMENTS: u32 = 2;
        let Node::Call { callee, arguments } = self.body.nodes[at] else { return None };
        if self.names.get(word) != Some(callee) || !(self.is_word)(callee, at) {
            return None;
        }
        if arguments != ARGUMENTS {
            plan.misfits.push((at, ARGUMENTS));
            let is_text = |operand: &&usize| matches!(self.body.nodes[**operand], Node::Text(_));
            let texts = self.operands[at].iter().filter(is_text);
            plan.roles.extend(texts.map(|text| (*text, PrintRole::Refused)));
            return None;
        }
        self.operands[at].first().copied()
    }
}

impl PrintedPart {
    /// Returns how many values it has.
    pub(super) fn values(&self) -> usize {
        let of_form = match self.form {
            PrintForm::Text(_) => 0,
            PrintForm::Number => 1,
            PrintForm::Digits(_) => 2,
        };
        of_form + usize::from(self.is_padded)
    }
}

/// Returns how parts are written, whose values are numbered in order. What is left at the
/// end is 0.
pub(super) fn steps(parts: &[PrintedPart]) -> Vec<PrintStep> {
    let (mut steps, mut text, mut next) = (StepList::default(), String::new(), 0);
    // What the first part writes, it checks itself.
    for (number, part) in parts.iter().enumerate() {
        if number > 0 && !part.is_checked {
            let digits = match part.form {
                PrintForm::Digits(_) => PrintStep::Value(next + 1),
                PrintForm::Number | PrintForm::Text(_) => PrintStep::Constant(0.0),
            };
            let last = PrintStep::Value(next + part.values() - 1);
            let width = if part.is_padded { last } else { PrintStep::Constant(0.0) };
            steps.call(&[digits, width], CHECK);
        }
        next += part.values();
    }
    next = 0;
    for part in parts {
        let values = next..next + part.values();
        next = values.end;
        match &part.form {
            PrintForm::Text(own) if !part.is_padded => text.push_str(own),
            PrintForm::Text(padded) => {
                let columns = PrintStep::Constant(padded.width() as f64);
                text = steps.text(&text);
                steps.call(&[PrintStep::Value(values.start), columns], BLANKS);
                text += &steps.text(padded);
                steps.call(&[PrintStep::Negated(values.start), columns], BLANKS);
            }
            PrintForm::Number | PrintForm::Digits(_) => {
                text = steps.text(&text);
                let mut arguments: Vec<_> = values.map(PrintStep::Value).collect();
                arguments.extend((!part.is_padded).then_some(PrintStep::Constant(0.0)));
                let function = if let PrintForm::Digits(function) = part.form { function } else { NUMBER };
                steps.call(&arguments, function);
            }
        }
    }
    steps.text(&text);
    if steps.0.is_empty() {
        steps.0.push(PrintStep::Constant(0.0));
    }
    steps.0
}

#[derive(Default)]
struct StepList(Vec<PrintStep>);

impl StepList {
    fn call(&mut self, arguments: &[PrintStep], function: &'static str) {
        if !self.0.is_empty() {
            self.0.push(PrintStep::Next);
        }
        self.0.extend_from_slice(arguments);
        self.0.push(PrintStep::Call(function, arguments.len() as u32));
    }

    /// Adds what writes a text; returns what is then still to be written: nothing.
    fn text(&mut self, text: &str) -> String {
        pieces(text.as_bytes()).for_each(|piece| self.call(&[PrintStep::Constant(piece)], TEXT));
        String::new()
    }
}

/// Returns whether a word prints, or says how, unless the program defines a function of that
/// name.
pub(crate) fn is_printing_word(word: &str) -> bool {
    matches!(word, "print" | "write" | "fixed" | "sci" | "pad")
}

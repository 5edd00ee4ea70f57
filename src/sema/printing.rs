//! `print` and `write`: what their arguments are, and what they are checked as.
//!
//! All numbers among the arguments are evaluated first, from left to right, and then all
//! is written: calls of [functions of the host](crate::host::printing) that no program
//! can name.

use super::checked::CheckedNode;
use super::resolve::Resolver;
use crate::diagnostic::ErrorCode;
use crate::host::printing::{BLANKS, FIXED, NUMBER, SCIENTIFIC, TEXT, pieces};
use crate::module::MemberKind;
use crate::name::Name;
use crate::source::Span;
use crate::syntax::ast::{Ast, Node};
use crate::syntax::text;
use rustc_hash::FxHashMap;
use unicode_width::UnicodeWidthStr;

/// What a node is in a call of `print` or `write`.
#[derive(Clone, Debug)]
pub(super) enum PrintRole {
    /// A text, or a call that says how a number is written: only its arguments are evaluated.
    Part,
    /// The call, which writes these.
    Statement(Vec<PrintedPart>),
}

/// A part of what is printed.
#[derive(Clone, Debug)]
pub(super) struct PrintedPart {
    form: PrintForm,
    /// Whether its last value is its width.
    is_padded: bool,
}

#[derive(Clone, Debug)]
enum PrintForm {
    Text(String),
    /// One value: what is written.
    Number,
    /// Two values: what is written, and how many digits.
    Digits(&'static str),
}

impl Resolver<'_, '_> {
    /// Returns what the nodes of a body are in the calls of `print` and `write` in it.
    pub(super) fn printing(&mut self, body: &Ast) -> FxHashMap<usize, PrintRole> {
        let mut roles = FxHashMap::default();
        let statements = ["print", "write"].map(|word| self.environment().names().get(word));
        let is_statement = |node: &Node| match node {
            Node::Call { callee, .. } => statements.contains(&Some(*callee)),
            _ => false,
        };
        if !body.nodes.iter().any(is_statement) {
            return roles;
        }
        let operands = operands(body);
        for (at, node) in body.nodes.iter().enumerate() {
            let Node::Call { callee, .. } = node else { continue };
            if !is_statement(node) || !self.is_word(*callee, body.spans[at]) {
                continue;
            }
            let mut parts: Vec<_> =
                operands[at].iter().map(|operand| self.part(body, &operands, *operand, &mut roles)).collect();
            if Some(*callee) == statements[0] {
                let form = PrintForm::Text("\n".into());
                parts.push(PrintedPart { form, is_padded: false });
            }
            roles.insert(at, PrintRole::Statement(parts));
        }
        roles
    }

    /// Returns whether an expression is a call of `print` or `write`.
    pub(super) fn prints(&mut self, body: &Ast) -> bool {
        let Some(Node::Call { callee, .. }) = body.nodes.last() else { return false };
        let names = self.environment().names();
        ["print", "write"].iter().any(|word| names.get(word) == Some(*callee))
            && body.spans.last().is_some_and(|span| self.is_word(*callee, *span))
    }

    /// Returns whether a name has its meaning in `print`: nothing else is called so.
    fn is_word(&mut self, name: Name, span: Span) -> bool {
        let stands_for = self.stands_for(name, MemberKind::Function, span);
        let environment = self.environment();
        stands_for == Some(name)
            && !self.defines(name)
            && environment.function(name).is_none()
            && environment.declared(name).is_none()
            && environment.hosts().get(name).is_none()
    }

    /// Returns what an argument is, and records what its nodes are.
    fn part(
        &mut self,
        body: &Ast,
        operands: &[Vec<usize>],
        at: usize,
        roles: &mut FxHashMap<usize, PrintRole>,
    ) -> PrintedPart {
        if let Some([inner, _]) = self.words(body, operands, at, "pad", 2)
            && let Some(form) = self.form(body, operands, inner, roles)
        {
            roles.insert(at, PrintRole::Part);
            return PrintedPart { form, is_padded: true };
        }
        let form = self.form(body, operands, at, roles).unwrap_or(PrintForm::Number);
        PrintedPart { form, is_padded: false }
    }

    fn form(
        &mut self,
        body: &Ast,
        operands: &[Vec<usize>],
        at: usize,
        roles: &mut FxHashMap<usize, PrintRole>,
    ) -> Option<PrintForm> {
        if let Node::Text(name) = body.nodes[at] {
            roles.insert(at, PrintRole::Part);
            return Some(PrintForm::Text(
                text::value(&self.environment().names().text(name)).unwrap_or_default(),
            ));
        }
        for (word, function) in [("fixed", FIXED), ("sci", SCIENTIFIC)] {
            if self.words(body, operands, at, word, 2).is_some() {
                roles.insert(at, PrintRole::Part);
                return Some(PrintForm::Digits(function));
            }
        }
        Some(PrintForm::Number)
    }

    /// Returns the arguments of a node that is a call of a word of `print`; reports another
    /// number of arguments.
    fn words(
        &mut self,
        body: &Ast,
        operands: &[Vec<usize>],
        at: usize,
        word: &str,
        wanted: u32,
    ) -> Option<[usize; 2]> {
        let Node::Call { callee, arguments } = body.nodes[at] else { return None };
        let span = body.spans[at];
        if self.environment().names().get(word) != Some(callee) || !self.is_word(callee, span) {
            return None;
        }
        if arguments != wanted {
            self.fits(callee, arguments, span, wanted, None);
        }
        operands[at].get(..2)?.try_into().ok()
    }

    /// Adds what a call of `print` or `write` does: its values are on the stack.
    pub(super) fn print(&mut self, parts: &[PrintedPart], span: Span) {
        let values = |part: &PrintedPart| {
            usize::from(part.is_padded)
                + match part.form {
                    PrintForm::Text(_) => 0,
                    PrintForm::Number => 1,
                    PrintForm::Digits(_) => 2,
                }
        };
        let count: usize = parts.iter().map(values).sum();
        let mut locals: Vec<u32> = Vec::with_capacity(count);
        for _ in 0..count {
            let local = self.begin_hidden();
            self.push(CheckedNode::Bind(local), span);
            locals.push(local);
        }
        // The last value is on top.
        let mut locals = locals.into_iter().rev();
        let (mut text, mut is_first) = (String::new(), true);
        for part in parts {
            let own: Vec<u32> = locals.by_ref().take(values(part)).collect();
            if let (PrintForm::Text(own), false) = (&part.form, part.is_padded) {
                text.push_str(own);
                continue;
            }
            self.write(&std::mem::take(&mut text), &mut is_first, span);
            match &part.form {
                PrintForm::Text(padded) => {
                    let columns = padded.width() as f64;
                    for before in [true, false] {
                        self.next(&mut is_first, span);
                        own.iter().for_each(|width| self.push(CheckedNode::Local(*width), span));
                        if !before {
                            self.push(CheckedNode::Unary(crate::syntax::operator::UnaryOp::Negate), span);
                        }
                        self.constant(columns, span);
                        self.call_hidden(BLANKS, 2, span);
                        if before {
                            self.write(padded, &mut is_first, span);
                        }
                    }
                }
                PrintForm::Number | PrintForm::Digits(_) => {
                    self.next(&mut is_first, span);
                    own.iter().for_each(|value| self.push(CheckedNode::Local(*value), span));
                    if !part.is_padded {
                        self.constant(0.0, span);
                    }
                    match part.form {
                        PrintForm::Digits(function) => self.call_hidden(function, 3, span),
                        _ => self.call_hidden(NUMBER, 2, span),
                    }
                }
            }
        }
        self.write(&text, &mut is_first, span);
        if is_first {
            self.constant(0.0, span);
        }
        (0..count).for_each(|_| self.end_hidden());
    }

    /// Adds calls that write a text.
    fn write(&mut self, text: &str, is_first: &mut bool, span: Span) {
        for piece in pieces(text.as_bytes()) {
            self.next(is_first, span);
            self.constant(piece, span);
            self.call_hidden(TEXT, 1, span);
        }
    }

    /// Takes the value of the call before, if there is one.
    fn next(&mut self, is_first: &mut bool, span: Span) {
        if !std::mem::take(is_first) {
            let local = self.begin_hidden();
            self.push(CheckedNode::Bind(local), span);
            self.end_hidden();
        }
    }

    fn constant(&mut self, value: f64, span: Span) {
        let number = self.number(value);
        self.push(number, span);
    }

    fn call_hidden(&mut self, function: &str, arity: u32, span: Span) {
        let name = self.environment().names().intern(function);
        let call = self.callee(name, arity, span);
        self.push(call, span);
    }

    /// Reports a text that is not printed.
    pub(super) fn misplaced_text(&mut self, span: Span) {
        let message = "a text stands only among the arguments of `print` and `write`".to_owned();
        let error = self.error(ErrorCode::MisplacedText, span, message);
        error.labels[0].message = "every value is a number".into();
    }
}

/// Returns the operands of each call.
fn operands(body: &Ast) -> Vec<Vec<usize>> {
    let starts = body.starts();
    let of_call = |(at, node): (usize, &Node)| {
        let Node::Call { arguments, .. } = node else { return Vec::new() };
        let (mut operands, mut end) = (Vec::new(), at);
        for _ in 0..*arguments {
            let Some(last) = end.checked_sub(1) else { break };
            operands.push(last);
            end = starts[last];
        }
        operands.reverse();
        operands
    };
    body.nodes.iter().enumerate().map(of_call).collect()
}

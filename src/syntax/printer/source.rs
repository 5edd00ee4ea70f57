//! Trees as Kaleidoscope source.
//!
//! Parentheses are written where the tree would read differently without
//! them, by the same rule that the parser folds operators with, and around
//! `if`, `for` and `var` as operands.

use crate::name::{Name, Names};
use crate::syntax::ast::{Ast, ImportHead, Item, ItemKind, Node, Prototype, Spanned};
use crate::syntax::is_operator_in;
use crate::syntax::number;
use crate::syntax::operator::{DEFAULT_PRECEDENCE, Fixity, Infix, OpenOperator, Operators};
use crate::syntax::tree::Tree;
use std::fmt::Write;

/// Returns an item as source without a separator after it. With the operators
/// that were in force at its place, it reads back as the same tree.
pub fn source(item: &Item, names: &Names, operators: &Operators) -> String {
    let mut printer = Printer { names, operators, own: None, text: String::new() };
    match &item.kind {
        ItemKind::Expression(ast) => printer.expressions(ast),
        ItemKind::Effect(ast) => {
            printer.text.push_str("do ");
            printer.expressions(ast);
        }
        ItemKind::Variables(ast) => {
            printer.text.push_str("var ");
            printer.expressions(ast);
        }
        ItemKind::Extern(prototype) => {
            printer.text.push_str("extern ");
            printer.prototype(prototype);
        }
        ItemKind::Import(import) => printer.text.push_str(&import_source(import, names)),
        ItemKind::Definition(prototype, ast) => {
            printer.own = prototype.fixity;
            printer.text.push_str("def ");
            printer.prototype(prototype);
            printer.text.push(' ');
            printer.expressions(ast);
        }
    }
    printer.text
}

/// Returns an import as source.
pub(super) fn import_source(import: &ImportHead, names: &Names) -> String {
    let mut text = format!("import {}", names.text(import.module.name));
    if let Some(alias) = import.alias {
        let _ = write!(text, " as {}", names.text(alias.name));
    }
    if let Some(imported) = &import.names {
        let written = |name: &Spanned| {
            let name = names.text(name.name);
            let operator = ["unary", "binary"].iter().find_map(|arity| {
                let operator = name.strip_prefix(arity).filter(|rest| is_operator_in(rest, names))?;
                Some(format!("{arity} {operator}"))
            });
            operator.unwrap_or_else(|| name.to_string())
        };
        let _ = write!(text, "({})", imported.iter().map(written).collect::<Vec<_>>().join(" "));
    }
    text
}

struct Printer<'a> {
    names: &'a Names,
    operators: &'a Operators,
    /// The operator that the item defines.
    own: Option<Fixity>,
    text: String,
}

/// The form of an entry, as far as its neighbours are concerned.
#[derive(Clone, Copy)]
enum EntryShape {
    /// Closed on both sides.
    Primary,
    /// An operator before an operand.
    Prefix,
    /// An operator between operands.
    Infix(Infix),
    /// `if`, `for`, `while`, `var`: open on the right.
    Construct,
}

/// Shapes and parentheses of a tree's entries.
struct ParenthesisPlan {
    shapes: Vec<EntryShape>,
    parentheses: Vec<bool>,
    edges: Vec<Edges>,
}

/// The operators at both ends of an entry, next to its neighbours.
#[derive(Clone, Copy, Default)]
struct Edges {
    /// The loosest operator that an operator before the entry has to be
    /// compared with.
    first: Option<Infix>,
    /// Whether one of those ends a unary operator.
    ends_unary: bool,
    /// The loosest operator that is open where the entry ends.
    last: Option<Infix>,
    /// Whether a unary operator is open there.
    unary: bool,
}

impl Edges {
    /// Returns whether the entry would be cut short as the last operand of
    /// `open`.
    fn cut(self, open: OpenOperator) -> bool {
        match open {
            OpenOperator::Prefix => self.ends_unary,
            OpenOperator::Infix(_) => self.first.is_some_and(|first| open.ends_before(first)),
        }
    }

    /// Returns whether the whole entry ends before `next`.
    fn end_before(self, next: Infix) -> bool {
        (!self.unary || OpenOperator::Prefix.ends_before(next))
            && self.last.is_none_or(|last| OpenOperator::Infix(last).ends_before(next))
    }
}

/// Returns the looser of two operators; of equal ones, the left-associative
/// one.
fn looser(one: Infix, other: Option<Infix>) -> Infix {
    let key = |infix: &Infix| (infix.precedence, infix.right_associative);
    other.into_iter().chain([one]).min_by_key(key).unwrap_or(one)
}

/// What is still to be written.
enum SourceTask {
    Entry(usize),
    Text(&'static str),
    Name(Name),
    Operator(String),
}

impl Printer<'_> {
    fn prototype(&mut self, prototype: &Prototype) {
        match prototype.fixity {
            None => self.text.push_str(&self.names.text(prototype.name.name)),
            Some(Fixity::Unary { operator }) => {
                self.text.push_str("unary ");
                self.text.push_str(&self.names.text(operator));
                self.text.push(' ');
            }
            Some(Fixity::Binary { operator, precedence }) => {
                self.text.push_str("binary ");
                self.text.push_str(&self.names.text(operator));
                let _ = write!(self.text, " {precedence} ");
            }
        }
        let mut functions = prototype.functions.iter().peekable();
        let parameters = (0..).zip(&prototype.parameters).map(|(position, parameter)| {
            let name = self.names.text(parameter.name).to_string();
            match functions.next_if(|function| function.position == position) {
                Some(function) => {
                    let own = function.parameters.iter().map(|own| self.names.text(own.name).to_string());
                    format!("{name}({})", own.collect::<Vec<_>>().join(" "))
                }
                None => name,
            }
        });
        let parameters = parameters.collect::<Vec<_>>().join(" ");
        let _ = write!(self.text, "({parameters})");
    }

    /// Prints an expression, or the initialisers of top-level variables.
    fn expressions(&mut self, ast: &Ast) {
        let tree = Tree::new(ast);
        let plan = self.plan(&tree);
        let mut tasks = Vec::new();
        if tree.root_names.is_empty() {
            tasks.extend(tree.roots.iter().map(|&root| SourceTask::Entry(root)));
        } else {
            push_bindings(&tree.root_names, &tree.roots, &mut tasks);
        }
        tasks.reverse();
        while let Some(task) = tasks.pop() {
            match task {
                SourceTask::Entry(entry) => self.entry(&tree, &plan, entry, &mut tasks),
                SourceTask::Text(text) => self.text.push_str(text),
                SourceTask::Name(name) => self.text.push_str(&self.names.text(name)),
                SourceTask::Operator(text) => self.text.push_str(&text),
            }
        }
    }

    fn plan(&self, tree: &Tree) -> ParenthesisPlan {
        let count = tree.entries.len();
        let mut plan =
            ParenthesisPlan { shapes: Vec::with_capacity(count), parentheses: Vec::new(), edges: Vec::new() };
        for entry in 0..count {
            let node = tree.entries[entry].node;
            let shape = self.shape(node);
            plan.shapes.push(shape);
            plan.parentheses.push(self.would_end_the_item(node));
            // A comparison of what another found is no chain.
            let left = tree.children(entry).first().filter(|_| node.comparison().is_some());
            let goes_on = matches!(node, Node::Chained { is_first: false, .. });
            if let Some(left) =
                left.filter(|left| tree.entries[**left].node.comparison() == node.comparison())
            {
                plan.parentheses[*left] |= !goes_on;
            }
            let edges = plan.operands(shape, tree.children(entry));
            plan.edges.push(edges);
        }
        plan
    }

    fn shape(&self, node: Node) -> EntryShape {
        match node {
            Node::Unary(_) | Node::Operator { arguments: 1, .. } => EntryShape::Prefix,
            Node::Assign(_) => EntryShape::Infix(Infix::ASSIGNMENT),
            Node::Sequence => EntryShape::Infix(Infix::SEQUENCE),
            Node::Binary(op) | Node::Chained { op, .. } => EntryShape::Infix(Infix::built_in(op)),
            Node::Operator { callee, .. } => EntryShape::Infix(self.defined(callee)),
            Node::If | Node::For | Node::While | Node::Var(_) => EntryShape::Construct,
            // Marks are not entries of a tree.
            Node::Number(_)
            | Node::Text(_)
            | Node::Function(_)
            | Node::Variable(_)
            | Node::Call { .. }
            | Node::ShortCircuit(_)
            | Node::Then
            | Node::Else
            | Node::ForVariable(_)
            | Node::ForCondition
            | Node::ForStep
            | Node::WhileCondition
            | Node::WhileBody
            | Node::Next
            | Node::Bind(_) => EntryShape::Primary,
        }
    }

    fn defined(&self, callee: Name) -> Infix {
        let operator = self.names.get(operator_text(&self.names.text(callee)));
        if let Some(meaning) = operator.and_then(|operator| self.operators.binary(operator)) {
            return meaning.infix;
        }
        match self.own {
            Some(Fixity::Binary { operator: own, precedence }) if Some(own) == operator => {
                Infix::defined(precedence)
            }
            _ => Infix::defined(DEFAULT_PRECEDENCE),
        }
    }

    /// Returns whether a binary operator would be read as the next item's unary
    /// one.
    fn would_end_the_item(&self, node: Node) -> bool {
        let Node::Operator { callee, arguments: 2 } = node else { return false };
        let Some(operator) = self.names.get(operator_text(&self.names.text(callee))) else { return false };
        let is_unary = match self.own {
            Some(Fixity::Unary { operator: own }) if own == operator => true,
            Some(Fixity::Binary { operator: own, .. }) if own == operator => return false,
            _ => self.operators.unary(operator).is_some(),
        };
        is_unary && self.operators.binary(operator).is_none()
    }

    fn entry(&mut self, tree: &Tree, plan: &ParenthesisPlan, entry: usize, tasks: &mut Vec<SourceTask>) {
        let first = tasks.len();
        if plan.parentheses[entry] {
            tasks.push(SourceTask::Text("("));
        }
        self.parts(tree, plan, entry, tasks);
        if plan.parentheses[entry] {
            tasks.push(SourceTask::Text(")"));
        }
        tasks[first..].reverse();
    }

    /// Pushes the tasks that print the parts of an entry, in order.
    fn parts(&mut self, tree: &Tree, plan: &ParenthesisPlan, entry: usize, tasks: &mut Vec<SourceTask>) {
        let children = tree.children(entry);
        match (tree.entries[entry].node, children) {
            (Node::Number(value), _) => tasks.push(SourceTask::Operator(number::text(value))),
            (Node::Text(name) | Node::Function(name) | Node::Variable(name), _) => {
                tasks.push(SourceTask::Name(name));
            }
            (Node::Assign(name), &[value]) => {
                tasks.extend([SourceTask::Name(name), SourceTask::Text(" = "), SourceTask::Entry(value)]);
            }
            (Node::Unary(op), &[operand]) => prefix(op.text(), plan, operand, tasks),
            (Node::Operator { callee, .. }, &[operand]) => {
                prefix(operator_text(&self.names.text(callee)), plan, operand, tasks);
            }
            (Node::Sequence, &[left, right]) => infix(":", left, right, tasks),
            (Node::Binary(op) | Node::Chained { op, .. }, &[left, right]) => {
                infix(op.text(), left, right, tasks);
            }
            (Node::Operator { callee, .. }, &[left, right]) => {
                infix(operator_text(&self.names.text(callee)), left, right, tasks);
            }
            (Node::Call { callee, .. }, _) => {
                tasks.extend([SourceTask::Name(callee), SourceTask::Text("(")]);
                push_list(children, tasks);
                tasks.push(SourceTask::Text(")"));
            }
            (Node::If, &[condition, yes, no]) => {
                tasks.extend([
                    SourceTask::Text("if "),
                    SourceTask::Entry(condition),
                    SourceTask::Text(" then "),
                ]);
                tasks.extend([SourceTask::Entry(yes), SourceTask::Text(" else "), SourceTask::Entry(no)]);
            }
            (Node::For, &[start, condition, step, body]) => {
                tasks.push(SourceTask::Text("for "));
                tasks.extend(tree.names(entry).iter().map(|&name| SourceTask::Name(name)));
                tasks.push(SourceTask::Text(" = "));
                push_list(&[start, condition, step], tasks);
                tasks.extend([SourceTask::Text(" in "), SourceTask::Entry(body)]);
            }
            (Node::While, &[condition, body]) => {
                tasks.extend([SourceTask::Text("while "), SourceTask::Entry(condition)]);
                tasks.extend([SourceTask::Text(" in "), SourceTask::Entry(body)]);
            }
            (Node::Var(_), [values @ .., body]) => {
                tasks.push(SourceTask::Text("var "));
                push_bindings(tree.names(entry), values, tasks);
                tasks.extend([SourceTask::Text(" in "), SourceTask::Entry(*body)]);
            }
            _ => {}
        }
    }
}

impl ParenthesisPlan {
    /// Decides on the parentheses of an entry's operands; returns the operators
    /// at its own ends.
    fn operands(&mut self, shape: EntryShape, children: &[usize]) -> Edges {
        match (shape, children) {
            (EntryShape::Prefix, &[operand]) => {
                let right = self.right_operand(OpenOperator::Prefix, operand);
                Edges { first: None, ends_unary: false, last: right.last, unary: true }
            }
            (EntryShape::Infix(infix), &[value]) => self.infix(infix, Edges::default(), value),
            (EntryShape::Infix(infix), &[left, right]) => {
                let left = self.left_operand(infix, left);
                self.infix(infix, left, right)
            }
            // Primaries; constructs get parentheses as operands.
            _ => Edges::default(),
        }
    }

    fn infix(&mut self, infix: Infix, left: Edges, right: usize) -> Edges {
        let right = self.right_operand(OpenOperator::Infix(infix), right);
        Edges {
            first: Some(looser(infix, left.first)),
            ends_unary: left.ends_unary || OpenOperator::Prefix.ends_before(infix),
            last: Some(looser(infix, right.last)),
            unary: right.unary,
        }
    }

    /// Decides on parentheses of a left operand: the operator must end every
    /// operator that is open in it.
    fn left_operand(&mut self, infix: Infix, operand: usize) -> Edges {
        let ends = self.edges(operand).end_before(infix);
        self.parentheses[operand] |= !ends || matches!(self.shapes[operand], EntryShape::Construct);
        self.edges(operand)
    }

    /// Decides on parentheses of a right operand: the operator must not end
    /// inside it.
    fn right_operand(&mut self, operator: OpenOperator, operand: usize) -> Edges {
        let is_cut = self.edges(operand).cut(operator);
        self.parentheses[operand] |= is_cut || matches!(self.shapes[operand], EntryShape::Construct);
        self.edges(operand)
    }

    fn edges(&self, entry: usize) -> Edges {
        if self.parentheses[entry] { Edges::default() } else { self.edges[entry] }
    }
}

/// Prints an operator before its operand. A blank separates it from another
/// operator, and a point from the digits after it.
fn prefix(operator: &str, plan: &ParenthesisPlan, operand: usize, tasks: &mut Vec<SourceTask>) {
    let meets_operator = matches!(plan.shapes[operand], EntryShape::Prefix) && !plan.parentheses[operand];
    let blank = if meets_operator || operator == "." { " " } else { "" };
    tasks.extend([SourceTask::Operator(format!("{operator}{blank}")), SourceTask::Entry(operand)]);
}

fn infix(operator: &str, left: usize, right: usize, tasks: &mut Vec<SourceTask>) {
    tasks.extend([
        SourceTask::Entry(left),
        SourceTask::Operator(format!(" {operator} ")),
        SourceTask::Entry(right),
    ]);
}

fn push_list(entries: &[usize], tasks: &mut Vec<SourceTask>) {
    for (position, &entry) in entries.iter().enumerate() {
        tasks.extend((position > 0).then_some(SourceTask::Text(", ")));
        tasks.push(SourceTask::Entry(entry));
    }
}

fn push_bindings(names: &[Name], values: &[usize], tasks: &mut Vec<SourceTask>) {
    for (position, (&name, &value)) in names.iter().zip(values).enumerate() {
        tasks.extend((position > 0).then_some(SourceTask::Text(", ")));
        tasks.extend([SourceTask::Name(name), SourceTask::Text(" = "), SourceTask::Entry(value)]);
    }
}

/// Returns the operator that a function defines: `!` for `unary!`.
fn operator_text(function: &str) -> &str {
    function.strip_prefix("unary").or_else(|| function.strip_prefix("binary")).unwrap_or(function)
}

//! Trees as Kaleidoscope source.
//!
//! Parentheses are written where the tree would read differently without
//! them, by the same rule that the parser folds operators with, and around
//! `if`, `for` and `var` as operands.

use super::number;
use crate::name::{Name, Names};
use crate::syntax::ast::{Ast, Item, ItemKind, Node, Prototype};
use crate::syntax::operator::{
    BinaryAction, BinaryOp, DEFAULT_PRECEDENCE, Fixity, Operators, UNARY_PRECEDENCE,
};
use crate::syntax::tree::Tree;
use std::fmt::Write;

/// An item as source text without a separator behind it. With the operators
/// that were in force where it stood, it reads back as the same tree.
pub fn source(item: &Item, names: &Names, operators: &Operators) -> String {
    let mut printer = Printer { names, operators, own: None, text: String::new() };
    match &item.kind {
        ItemKind::Expression(ast) => printer.expressions(ast),
        ItemKind::Variables(ast) => {
            printer.text.push_str("var ");
            printer.expressions(ast);
        }
        ItemKind::Extern(prototype) => {
            printer.text.push_str("extern ");
            printer.prototype(prototype);
        }
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

struct Printer<'a> {
    names: &'a Names,
    operators: &'a Operators,
    /// The operator that the item defines.
    own: Option<Fixity>,
    text: String,
}

/// How an entry is written, as far as its surroundings care.
#[derive(Clone, Copy)]
enum Shape {
    /// Closed on both sides.
    Primary,
    /// An operator before an operand.
    Prefix,
    /// An operator between operands.
    Infix { precedence: u8, right_associative: bool },
    /// `if`, `for`, `var`: open on the right.
    Construct,
}

/// Shapes and parentheses of a tree's entries.
struct Plan {
    shapes: Vec<Shape>,
    parentheses: Vec<bool>,
    /// The loosest operator that an operator behind the entry has to end.
    loosest: Vec<u8>,
}

/// What is still to be written.
enum Task {
    Entry(usize),
    Text(&'static str),
    Name(Name),
    Operator(String),
}

/// Binds tighter than any operator.
const CLOSED: u8 = u8::MAX;

const UNARY: Shape = Shape::Infix { precedence: UNARY_PRECEDENCE, right_associative: false };

impl Printer<'_> {
    fn prototype(&mut self, prototype: &Prototype) {
        match prototype.fixity {
            None => self.text.push_str(self.names.text(prototype.name.name)),
            Some(Fixity::Unary { operator }) => {
                self.text.push_str("unary ");
                self.text.push_str(self.names.text(operator));
                self.text.push(' ');
            }
            Some(Fixity::Binary { operator, precedence }) => {
                self.text.push_str("binary ");
                self.text.push_str(self.names.text(operator));
                let _ = write!(self.text, " {precedence} ");
            }
        }
        let parameters = prototype.parameters.iter().map(|parameter| self.names.text(parameter.name));
        let parameters = parameters.collect::<Vec<_>>().join(" ");
        let _ = write!(self.text, "({parameters})");
    }

    /// An expression, or the initialisers of top-level variables.
    fn expressions(&mut self, ast: &Ast) {
        let tree = Tree::new(ast);
        let plan = self.plan(&tree);
        let mut tasks = Vec::new();
        if tree.root_names.is_empty() {
            tasks.extend(tree.roots.iter().map(|&root| Task::Entry(root)));
        } else {
            push_bindings(&tree.root_names, &tree.roots, &mut tasks);
        }
        tasks.reverse();
        while let Some(task) = tasks.pop() {
            match task {
                Task::Entry(entry) => self.entry(&tree, &plan, entry, &mut tasks),
                Task::Text(text) => self.text.push_str(text),
                Task::Name(name) => self.text.push_str(self.names.text(name)),
                Task::Operator(text) => self.text.push_str(&text),
            }
        }
    }

    fn plan(&self, tree: &Tree) -> Plan {
        let count = tree.entries.len();
        let mut plan =
            Plan { shapes: Vec::with_capacity(count), parentheses: Vec::new(), loosest: Vec::new() };
        for entry in 0..count {
            let node = tree.entries[entry].node;
            let shape = self.shape(node);
            plan.shapes.push(shape);
            plan.parentheses.push(self.would_end_the_item(node));
            let loosest = plan.operands(shape, tree.children(entry), matches!(node, Node::Assign(_)));
            plan.loosest.push(loosest);
        }
        plan
    }

    fn shape(&self, node: Node) -> Shape {
        let infix = |(precedence, right_associative)| Shape::Infix { precedence, right_associative };
        match node {
            Node::Unary(_) | Node::Operator { arguments: 1, .. } => Shape::Prefix,
            Node::Assign(_) => infix((2, true)),
            Node::Binary(op) => infix(self.built_in(op)),
            Node::Operator { callee, .. } => infix((self.precedence(callee), false)),
            Node::If | Node::For | Node::Var(_) => Shape::Construct,
            // Marks are no entries of a tree.
            Node::Number(_)
            | Node::Variable(_)
            | Node::Call { .. }
            | Node::ShortCircuit(_)
            | Node::Then
            | Node::Else
            | Node::ForVariable(_)
            | Node::ForCondition
            | Node::ForStep
            | Node::Bind(_) => Shape::Primary,
        }
    }

    fn built_in(&self, op: BinaryOp) -> (u8, bool) {
        let meaning = self.names.get(op.text()).and_then(|name| self.operators.binary(name));
        match meaning {
            Some(meaning) if meaning.action == BinaryAction::BuiltIn(op) => {
                (meaning.precedence, meaning.right_associative)
            }
            _ => (op.precedence(), op == BinaryOp::Power),
        }
    }

    fn precedence(&self, callee: Name) -> u8 {
        let operator = self.names.get(self.operator_text(callee));
        if let Some(meaning) = operator.and_then(|operator| self.operators.binary(operator)) {
            return meaning.precedence;
        }
        match self.own {
            Some(Fixity::Binary { operator: own, precedence }) if Some(own) == operator => precedence,
            _ => DEFAULT_PRECEDENCE,
        }
    }

    /// Whether a binary operator would be read as the next item's unary one.
    fn would_end_the_item(&self, node: Node) -> bool {
        let Node::Operator { callee, arguments: 2 } = node else { return false };
        let Some(operator) = self.names.get(self.operator_text(callee)) else { return false };
        let is_unary = match self.own {
            Some(Fixity::Unary { operator: own }) if own == operator => true,
            Some(Fixity::Binary { operator: own, .. }) if own == operator => return false,
            _ => self.operators.unary(operator).is_some(),
        };
        is_unary && self.operators.binary(operator).is_none()
    }

    fn operator_text(&self, callee: Name) -> &str {
        let text = self.names.text(callee);
        text.strip_prefix("unary").or_else(|| text.strip_prefix("binary")).unwrap_or(text)
    }

    fn entry(&mut self, tree: &Tree, plan: &Plan, entry: usize, tasks: &mut Vec<Task>) {
        let first = tasks.len();
        if plan.parentheses[entry] {
            tasks.push(Task::Text("("));
        }
        self.parts(tree, plan, entry, tasks);
        if plan.parentheses[entry] {
            tasks.push(Task::Text(")"));
        }
        tasks[first..].reverse();
    }

    /// The parts of an entry in their order.
    fn parts(&mut self, tree: &Tree, plan: &Plan, entry: usize, tasks: &mut Vec<Task>) {
        let children = tree.children(entry);
        match (tree.entries[entry].node, children) {
            (Node::Number(value), _) => tasks.push(Task::Operator(number(value))),
            (Node::Variable(name), _) => tasks.push(Task::Name(name)),
            (Node::Assign(name), &[value]) => {
                tasks.extend([Task::Name(name), Task::Text(" = "), Task::Entry(value)]);
            }
            (Node::Unary(op), &[operand]) => prefix(op.text(), plan, operand, tasks),
            (Node::Operator { callee, .. }, &[operand]) => {
                prefix(self.operator_text(callee), plan, operand, tasks);
            }
            (Node::Binary(op), &[left, right]) => infix(op.text(), left, right, tasks),
            (Node::Operator { callee, .. }, &[left, right]) => {
                infix(self.operator_text(callee), left, right, tasks);
            }
            (Node::Call { callee, .. }, _) => {
                tasks.extend([Task::Name(callee), Task::Text("(")]);
                push_list(children, tasks);
                tasks.push(Task::Text(")"));
            }
            (Node::If, &[condition, yes, no]) => {
                tasks.extend([Task::Text("if "), Task::Entry(condition), Task::Text(" then ")]);
                tasks.extend([Task::Entry(yes), Task::Text(" else "), Task::Entry(no)]);
            }
            (Node::For, &[start, condition, step, body]) => {
                tasks.push(Task::Text("for "));
                tasks.extend(tree.names(entry).iter().map(|&name| Task::Name(name)));
                tasks.push(Task::Text(" = "));
                push_list(&[start, condition, step], tasks);
                tasks.extend([Task::Text(" in "), Task::Entry(body)]);
            }
            (Node::Var(_), [values @ .., body]) => {
                tasks.push(Task::Text("var "));
                push_bindings(tree.names(entry), values, tasks);
                tasks.extend([Task::Text(" in "), Task::Entry(*body)]);
            }
            _ => {}
        }
    }
}

impl Plan {
    /// Decides on the parentheses of an entry's operands; gives the loosest
    /// operator that is open at its right end.
    fn operands(&mut self, shape: Shape, children: &[usize], is_assignment: bool) -> u8 {
        match (shape, children) {
            (Shape::Prefix, &[operand]) => self.right_operand(UNARY, operand),
            (Shape::Infix { .. }, &[value]) if is_assignment => self.right_operand(shape, value),
            (Shape::Infix { .. }, &[left, right]) => {
                self.left_operand(shape, left);
                self.right_operand(shape, right)
            }
            // Primaries; constructs get parentheses as operands.
            _ => CLOSED,
        }
    }

    /// The operator must end every operator that is open in its left operand.
    fn left_operand(&mut self, operator: Shape, operand: usize) {
        let Shape::Infix { precedence, right_associative } = operator else { return };
        let loosest = self.open(operand);
        let ends = loosest > precedence || loosest == precedence && !right_associative;
        self.parentheses[operand] |= !ends || matches!(self.shapes[operand], Shape::Construct);
    }

    /// The operator must not be ended by that of its right operand.
    fn right_operand(&mut self, operator: Shape, operand: usize) -> u8 {
        let Shape::Infix { precedence, .. } = operator else { return CLOSED };
        self.parentheses[operand] |= match self.shapes[operand] {
            Shape::Primary | Shape::Prefix => false,
            Shape::Construct => true,
            Shape::Infix { precedence: own, right_associative } => {
                own < precedence || own == precedence && !right_associative
            }
        };
        precedence.min(self.open(operand))
    }

    fn open(&self, entry: usize) -> u8 {
        if self.parentheses[entry] { CLOSED } else { self.loosest[entry] }
    }
}

/// A blank keeps the operator apart from another one, and a point apart from
/// the digits behind it.
fn prefix(operator: &str, plan: &Plan, operand: usize, tasks: &mut Vec<Task>) {
    let meets_operator = matches!(plan.shapes[operand], Shape::Prefix) && !plan.parentheses[operand];
    let blank = if meets_operator || operator == "." { " " } else { "" };
    tasks.extend([Task::Operator(format!("{operator}{blank}")), Task::Entry(operand)]);
}

fn infix(operator: &str, left: usize, right: usize, tasks: &mut Vec<Task>) {
    tasks.extend([Task::Entry(left), Task::Operator(format!(" {operator} ")), Task::Entry(right)]);
}

fn push_list(entries: &[usize], tasks: &mut Vec<Task>) {
    for (position, &entry) in entries.iter().enumerate() {
        tasks.extend((position > 0).then_some(Task::Text(", ")));
        tasks.push(Task::Entry(entry));
    }
}

fn push_bindings(names: &[Name], values: &[usize], tasks: &mut Vec<Task>) {
    for (position, (&name, &value)) in names.iter().zip(values).enumerate() {
        tasks.extend((position > 0).then_some(Task::Text(", ")));
        tasks.extend([Task::Name(name), Task::Text(" = "), Task::Entry(value)]);
    }
}

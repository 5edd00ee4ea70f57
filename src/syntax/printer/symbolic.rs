//! Trees as S-expressions: `(+ a (* b c))`.
//!
//! A list that does not fit on its line puts its parts on lines of their own,
//! indented; beyond a depth the indentation stays the same, so that a deep
//! tree is not quadratically long.

use crate::name::{Name, Names};
use crate::syntax::ast::{Ast, ImportHead, Item, ItemKind, Node, Prototype};
use crate::syntax::number;
use crate::syntax::operator::Fixity;
use crate::syntax::tree::Tree;

/// The width of a line in columns.
const WIDTH: usize = 100;
/// The deepest indentation.
const DEEPEST: usize = 40;
const INDENT: usize = 2;

/// Returns an item as an S-expression, on one or more lines, each with its line
/// feed.
pub fn symbolic(item: &Item, names: &Names) -> String {
    let mut writer = SymbolicWriter { names, events: Vec::new(), open: Vec::new() };
    match &item.kind {
        ItemKind::Expression(ast) => writer.expression(ast),
        ItemKind::Effect(ast) => {
            writer.begin("do");
            writer.expression(ast);
            writer.end();
        }
        ItemKind::Variables(ast) => {
            writer.begin("var");
            writer.expression(ast);
            writer.end();
        }
        ItemKind::Extern(prototype) => {
            writer.begin("extern");
            writer.prototype(prototype);
            writer.end();
        }
        ItemKind::Import(import) => {
            writer.begin("import");
            writer.import(import);
            writer.end();
        }
        ItemKind::Definition(prototype, ast) => {
            writer.begin("def");
            writer.prototype(prototype);
            writer.expression(ast);
            writer.end();
        }
    }
    lay_out(&writer.events)
}

/// The elements of the text, before it is broken into lines.
enum LayoutEvent {
    /// The beginning of a list, with its width on one line.
    Open(usize),
    Atom(String),
    Close,
}

struct SymbolicWriter<'n> {
    names: &'n Names,
    events: Vec<LayoutEvent>,
    /// The events that opened the lists not yet closed.
    open: Vec<usize>,
}

/// What remains to be written of a tree.
enum SymbolicTask {
    Entry(usize),
    Binding(Name, usize),
    End,
}

impl SymbolicWriter<'_> {
    fn begin(&mut self, head: &str) {
        self.open.push(self.events.len());
        self.events.push(LayoutEvent::Open(0));
        self.atom(head);
    }

    fn end(&mut self) {
        let Some(opened) = self.open.pop() else { return };
        self.events.push(LayoutEvent::Close);
        let Some(LayoutEvent::Open(width)) = self.events.get_mut(opened) else { return };
        *width += 1;
        let width = *width;
        self.grow(width + 1);
    }

    fn atom(&mut self, text: &str) {
        self.events.push(LayoutEvent::Atom(text.to_owned()));
        self.grow(text.chars().count() + 1);
    }

    /// Adds a part's width, with the blank or parenthesis before it, to its list.
    fn grow(&mut self, by: usize) {
        if let Some(&opened) = self.open.last()
            && let LayoutEvent::Open(width) = &mut self.events[opened]
        {
            *width += by;
        }
    }

    fn import(&mut self, import: &ImportHead) {
        let names = self.names;
        self.atom(&names.text(import.module.name));
        if let Some(alias) = import.alias {
            self.atom("as");
            self.atom(&names.text(alias.name));
        }
        if let Some(imported) = &import.names {
            self.begin("names");
            imported.iter().for_each(|name| self.atom(&names.text(name.name)));
            self.end();
        }
    }

    fn prototype(&mut self, prototype: &Prototype) {
        let names = self.names;
        self.begin(&names.text(prototype.name.name));
        if let Some(Fixity::Binary { precedence, .. }) = prototype.fixity {
            self.atom(&precedence.to_string());
        }
        let mut functions = prototype.functions.iter().peekable();
        for (position, parameter) in (0..).zip(&prototype.parameters) {
            let text = names.text(parameter.name);
            let Some(function) = functions.next_if(|function| function.position == position) else {
                self.atom(&text);
                continue;
            };
            self.begin(&text);
            function.parameters.iter().for_each(|own| self.atom(&names.text(own.name)));
            self.end();
        }
        self.end();
    }

    fn expression(&mut self, ast: &Ast) {
        let tree = Tree::new(ast);
        let mut tasks: Vec<SymbolicTask> = if tree.root_names.is_empty() {
            tree.roots.iter().map(|&root| SymbolicTask::Entry(root)).collect()
        } else {
            tree.root_names
                .iter()
                .zip(&tree.roots)
                .map(|(&name, &root)| SymbolicTask::Binding(name, root))
                .collect()
        };
        tasks.reverse();
        while let Some(task) = tasks.pop() {
            match task {
                SymbolicTask::Entry(entry) => self.entry(&tree, entry, &mut tasks),
                SymbolicTask::Binding(name, value) => {
                    let names = self.names;
                    self.begin(&names.text(name));
                    tasks.extend([SymbolicTask::End, SymbolicTask::Entry(value)]);
                }
                SymbolicTask::End => self.end(),
            }
        }
    }

    fn entry(&mut self, tree: &Tree, entry: usize, tasks: &mut Vec<SymbolicTask>) {
        let names = self.names;
        match tree.entries[entry].node {
            Node::Number(value) => return self.atom(&number::text(value)),
            Node::Text(name) | Node::Function(name) | Node::Variable(name) => {
                return self.atom(&names.text(name));
            }
            Node::Assign(name) => {
                self.begin("=");
                self.atom(&names.text(name));
            }
            Node::Unary(op) => self.begin(op.text()),
            Node::Binary(op) | Node::Chained { op, is_first: true, .. } => self.begin(op.text()),
            Node::Chained { op, .. } => self.begin(&format!("…{}", op.text())),
            Node::Call { callee, .. } | Node::Operator { callee, .. } => self.begin(&names.text(callee)),
            Node::Sequence => self.begin(":"),
            Node::While => self.begin("while"),
            Node::If => self.begin("if"),
            Node::For => {
                self.begin("for");
                tree.names(entry).iter().for_each(|&name| self.atom(&names.text(name)));
            }
            Node::Var(_) => return self.scope(tree, entry, tasks),
            Node::ShortCircuit(_)
            | Node::Then
            | Node::Else
            | Node::ForVariable(_)
            | Node::ForCondition
            | Node::ForStep
            | Node::WhileCondition
            | Node::WhileBody
            | Node::Next
            | Node::Bind(_) => return,
        }
        tasks.push(SymbolicTask::End);
        tasks.extend(tree.children(entry).iter().rev().map(|&child| SymbolicTask::Entry(child)));
    }

    fn scope(&mut self, tree: &Tree, entry: usize, tasks: &mut Vec<SymbolicTask>) {
        self.begin("var");
        tasks.push(SymbolicTask::End);
        if let [values @ .., body] = tree.children(entry) {
            tasks.push(SymbolicTask::Entry(*body));
            let bindings = tree.names(entry).iter().zip(values).rev();
            tasks.extend(bindings.map(|(&name, &value)| SymbolicTask::Binding(name, value)));
        }
    }
}

/// A list that is being written.
struct OpenList {
    /// Whether each of its parts is on a line of its own.
    broken: bool,
    /// Whether the parts so far are atoms on the line of the parenthesis.
    on_head: bool,
    indent: usize,
}

fn lay_out(events: &[LayoutEvent]) -> String {
    let mut text = String::new();
    let mut column = 0;
    let mut frames: Vec<OpenList> = Vec::new();
    for event in events {
        match event {
            LayoutEvent::Close => {
                text.push(')');
                column += 1;
                frames.pop();
            }
            LayoutEvent::Open(width) => {
                separate(&mut text, &mut column, frames.last_mut(), None);
                let indent = frames.last().map_or(0, |frame| frame.indent) + INDENT;
                let broken = frames.last().is_none_or(|frame| frame.broken) && column + width > WIDTH;
                frames.push(OpenList { broken, on_head: true, indent: indent.min(DEEPEST) });
                text.push('(');
                column += 1;
            }
            LayoutEvent::Atom(atom) => {
                let width = atom.chars().count();
                separate(&mut text, &mut column, frames.last_mut(), Some(width));
                text.push_str(atom);
                column += width;
            }
        }
    }
    text.push('\n');
    text
}

/// Writes the separator before a part of the innermost list: an atom of the
/// given width, or another list.
fn separate(text: &mut String, column: &mut usize, frame: Option<&mut OpenList>, atom: Option<usize>) {
    let Some(frame) = frame else { return };
    if text.ends_with('(') {
        return;
    }
    frame.on_head &= atom.is_some_and(|width| *column + width < WIDTH);
    if frame.broken && !frame.on_head {
        text.push('\n');
        text.extend(std::iter::repeat_n(' ', frame.indent));
        *column = frame.indent;
    } else {
        text.push(' ');
        *column += 1;
    }
}

//! The array of nodes under construction.
//!
//! Operators are folded here with the shunting-yard method (Dijkstra 1961): an
//! operator waits until one that binds looser, or the end of its expression.
//! Nothing recurses, so a chain of operators may be as long as memory allows.

use super::failure::SyntaxFailure;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::{HeldName, Name, Names};
use crate::source::Span;
use crate::stop::Poll;
use crate::syntax::ast::{Ast, FunctionParameter, ImportHead, ItemKind, Node, Prototype, Spanned};
use crate::syntax::foreign;
use crate::syntax::operator::{
    BinaryAction, BinaryMeaning, DEFAULT_PRECEDENCE, Fixity, Infix, OpenOperator, Operators, UnaryMeaning,
};
use crate::syntax::token::{Terminal, Tokens};
use chumsky::input::{Checkpoint, Cursor};
use chumsky::inspector::Inspector;

/// Limits of what the parser accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParseLimits {
    /// How deep parentheses, arguments, `if`, `for` and `var` may nest.
    pub max_nesting: u32,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { max_nesting: 10_000 }
    }
}

/// An operator whose last operand is still being read.
#[derive(Clone, Copy, Debug)]
struct PendingOperator {
    binds: OpenOperator,
    /// The node that it becomes.
    node: Node,
    span: Span,
}

/// A construct that has ended.
pub(super) struct Construct<'s> {
    tokens: &'s Tokens,
    /// The token that it began with.
    token: usize,
    /// How many of its parts were counted.
    pub(super) parts: u32,
}

impl Construct<'_> {
    /// Returns the name that it began with.
    pub(super) fn name(&self) -> Name {
        self.tokens.name(self.token)
    }
}

/// The kind of the item that was read.
#[derive(Clone, Copy, Default, Debug)]
pub(super) enum ItemShape {
    Definition,
    Extern,
    Import,
    Variables,
    #[default]
    Expression,
    Effect,
}

/// The item under construction; reused for all items of a text.
#[derive(Default, Debug)]
pub(super) struct Builder {
    pub(super) shape: ItemShape,
    pub(super) prototype: Option<Prototype>,
    import: Option<ImportHead>,
    pub(super) ast: Ast,
    waiting: Vec<PendingOperator>,
    /// Index into `waiting` of the first operator of the innermost expression.
    base: usize,
    /// How many expressions are open.
    depth: u32,
    /// How many of them are followed by something before the item can end.
    enclosing: u32,
    /// The constructs that have begun and not ended: the token of each, and the
    /// number of its parts so far.
    constructs: Vec<(u32, u32)>,
    /// The tokens of the parentheses now open.
    pub(super) open_parentheses: Vec<u32>,
    /// The number of nodes when parentheses closed last.
    pub(super) grouped: usize,
    /// The token at which an `if` ended that could have gone on with `else`.
    pub(super) open_choice: Option<usize>,
    /// The first operator without a meaning, which the check will refuse
    /// however the item continues: its token, and the number of operands it
    /// seems to have.
    pub(super) unknown_operator: Option<(usize, u8)>,
    /// The functions of its operators.
    pub(super) functions: Vec<HeldName>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Builder {
    pub(super) fn clear(&mut self) {
        self.shape = ItemShape::Expression;
        self.prototype = None;
        self.import = None;
        self.ast.nodes.clear();
        self.ast.spans.clear();
        self.waiting.clear();
        self.base = 0;
        self.depth = 0;
        self.enclosing = 0;
        self.constructs.clear();
        self.open_parentheses.clear();
        self.grouped = 0;
        self.open_choice = None;
        self.unknown_operator = None;
        self.functions.clear();
        self.diagnostics.clear();
    }

    /// Returns the finished item; `None` if it should have a prototype and does
    /// not.
    pub(super) fn finish(&mut self) -> Option<ItemKind> {
        let ast = Ast { nodes: self.ast.nodes.as_slice().into(), spans: self.ast.spans.as_slice().into() };
        Some(match self.shape {
            ItemShape::Definition => ItemKind::Definition(self.prototype.take()?, ast),
            ItemShape::Extern => ItemKind::Extern(self.prototype.take()?),
            ItemShape::Import => ItemKind::Import(self.import.take()?),
            ItemShape::Variables => ItemKind::Variables(ast),
            ItemShape::Expression => ItemKind::Expression(ast),
            ItemShape::Effect => ItemKind::Effect(ast),
        })
    }

    pub(super) fn push(&mut self, node: Node, span: Span) {
        self.ast.nodes.push(node);
        self.ast.spans.push(span);
    }

    /// Returns the terminal that the innermost construct began with.
    pub(super) fn innermost(&self, tokens: &Tokens) -> Option<Terminal> {
        let (token, _) = self.constructs.last()?;
        tokens.terminals().get(*token as usize).copied()
    }

    /// Makes the comparison that is the last node one of a chain that goes on, if it is
    /// of that group and not in parentheses. Returns whether it does.
    fn chain(&mut self, group: u8) -> bool {
        let is_grouped = self.grouped == self.ast.nodes.len();
        let Some(last) = self.ast.nodes.last_mut() else { return false };
        if is_grouped || last.comparison() != Some(group) {
            return false;
        }
        match last {
            Node::Binary(op) => *last = Node::Chained { op: *op, is_first: true, is_last: false },
            Node::Chained { is_last, .. } => *is_last = false,
            _ => return false,
        }
        true
    }

    /// Appends the waiting operators of the innermost expression whose operands
    /// end before `next`; all of them at the end of the expression.
    fn settle(&mut self, next: Option<Infix>) {
        while self.waiting.len() > self.base {
            let top = self.waiting[self.waiting.len() - 1];
            if next.is_some_and(|next| !top.binds.ends_before(next)) {
                return;
            }
            self.push(top.node, top.span);
            self.waiting.pop();
        }
    }
}

/// The state that the grammar's parsers use and change besides the input.
pub(super) struct ParserState<'s> {
    pub(super) tokens: &'s Tokens,
    pub(super) names: &'s Names,
    pub(super) operators: &'s Operators,
    pub(super) limits: ParseLimits,
    /// The item's first token, where chumsky's input begins.
    pub(super) start: usize,
    /// The token after the item, once it has been read.
    pub(super) end: Option<usize>,
    /// The last mistake that alternatives have found: the item's, if it has one.
    pub(super) failure: SyntaxFailure,
    pub(super) builder: &'s mut Builder,
    pub(super) poll: &'s Poll,
}

/// The grammar is decided by one token, so chumsky never goes back.
impl<'t> Inspector<'t, &'t [Terminal]> for ParserState<'_> {
    type Checkpoint = ();

    fn on_token(&mut self, _token: &Terminal) {}

    fn on_save<'parse>(&self, _cursor: &Cursor<'t, 'parse, &'t [Terminal]>) {}

    fn on_rewind<'parse>(&mut self, _marker: &Checkpoint<'t, 'parse, &'t [Terminal], ()>) {}
}

impl<'s> ParserState<'s> {
    fn span(&self, token: usize) -> Span {
        self.tokens.span(token)
    }

    pub(super) fn push(&mut self, node: Node, token: usize) {
        self.builder.push(node, self.tokens.span(token));
    }

    /// Adds a node at the empty place after the token before `token`.
    pub(super) fn push_gap(&mut self, node: Node, token: usize) {
        let end = self.tokens.span(token.saturating_sub(1)).end;
        self.builder.push(node, Span { start: end, end });
    }

    /// Adds the value of an `if` that has no `else`, which would be at `token`.
    pub(super) fn no_alternative(&mut self, token: usize) {
        self.push_gap(Node::Else, token);
        self.push_gap(Node::Number(0.0), token);
        self.builder.open_choice = Some(token);
    }

    pub(super) fn number(&mut self, token: usize) {
        self.push(Node::Number(self.tokens.number(token)), token);
    }

    pub(super) fn text(&mut self, token: usize) {
        self.push(Node::Text(self.tokens.name(token)), token);
    }

    pub(super) fn variable(&mut self, token: usize) {
        self.push(Node::Variable(self.tokens.name(token)), token);
    }

    /// Begins a construct at `token`.
    pub(super) fn begin(&mut self, token: usize) {
        self.builder.constructs.push((token as u32, 0));
    }

    /// Counts a part of the innermost construct.
    pub(super) fn count(&mut self) {
        if let Some((_, parts)) = self.builder.constructs.last_mut() {
            *parts += 1;
        }
    }

    /// Ends the innermost construct with `node`, at the place where it began.
    pub(super) fn end_construct(&mut self, node: impl Fn(Construct<'s>) -> Node) {
        if let Some((token, parts)) = self.builder.constructs.pop() {
            let token = token as usize;
            self.push(node(Construct { tokens: self.tokens, token, parts }), token);
        }
    }

    /// Opens an expression; returns the argument for `leave`, or `None` if it
    /// is nested too deep.
    pub(super) fn enter(&mut self) -> Option<usize> {
        if self.builder.depth > self.limits.max_nesting {
            return None;
        }
        self.builder.depth += 1;
        Some(std::mem::replace(&mut self.builder.base, self.builder.waiting.len()))
    }

    /// Closes the innermost expression.
    pub(super) fn leave(&mut self, outer_base: usize) {
        self.builder.settle(None);
        self.builder.base = outer_base;
        self.builder.depth -= 1;
    }

    /// Begins an expression that something of the same item must follow; ends
    /// with `enclosed_end`.
    pub(super) fn enclosed_begin(&mut self) {
        self.builder.enclosing += 1;
    }

    pub(super) fn enclosed_end(&mut self) {
        self.builder.enclosing -= 1;
    }

    /// Adds the operator at `token` before its operand.
    pub(super) fn unary(&mut self, token: usize) {
        let name = self.tokens.name(token);
        let node = match self.unary_meaning(name) {
            Some(UnaryMeaning::BuiltIn(op)) => Node::Unary(op),
            Some(UnaryMeaning::Function(callee)) => {
                self.hold(callee);
                Node::Operator { callee, arguments: 1 }
            }
            None => {
                self.builder.unknown_operator.get_or_insert((token, 1));
                Node::Operator { callee: self.function("unary", name), arguments: 1 }
            }
        };
        self.builder.waiting.push(PendingOperator {
            binds: OpenOperator::Prefix,
            node,
            span: self.span(token),
        });
    }

    /// Adds the operator at `token` after a complete operand; false if the
    /// expression ends before it. One that only has a meaning before an operand
    /// begins the next item, if the item can end here; so does a command of the
    /// prompt.
    pub(super) fn binary(&mut self, token: usize) -> bool {
        let operator = self.tokens.name(token);
        let is_command =
            || foreign::begins_command(self.tokens.source(), self.span(token)) && self.builder.enclosing == 0;
        let meaning = match self.binary_meaning(operator) {
            Some(meaning) if meaning.action == BinaryAction::Sequence && is_command() => return false,
            Some(meaning) => meaning,
            None if self.builder.enclosing == 0 && self.unary_meaning(operator).is_some() => return false,
            None if is_command() => return false,
            None => {
                self.builder.unknown_operator.get_or_insert((token, 2));
                let action = BinaryAction::Function(self.function("binary", operator));
                BinaryMeaning { infix: Infix::defined(DEFAULT_PRECEDENCE), action }
            }
        };
        self.builder.settle(Some(meaning.infix));
        let (node, span) = match meaning.action {
            BinaryAction::Assign => self.assignment(token),
            BinaryAction::Update { operator } => self.update(operator, meaning.infix, token),
            BinaryAction::Function(callee) => {
                self.hold(callee);
                (Node::Operator { callee, arguments: 2 }, self.span(token))
            }
            BinaryAction::Sequence => {
                self.push(Node::Next, token);
                (Node::Sequence, self.span(token))
            }
            BinaryAction::BuiltIn(op) => {
                if op.short_circuits() {
                    self.push(Node::ShortCircuit(op), token);
                }
                let is_chained = op.comparison().is_some_and(|group| self.builder.chain(group));
                let chained = Node::Chained { op, is_first: false, is_last: true };
                (if is_chained { chained } else { Node::Binary(op) }, self.span(token))
            }
        };
        self.builder.waiting.push(PendingOperator { binds: OpenOperator::Infix(meaning.infix), node, span });
        true
    }

    /// Begins to change the variable that is the last node by an operator.
    fn update(&mut self, operator: Name, infix: Infix, token: usize) -> (Node, Span) {
        let span = self.span(token);
        let ast = &self.builder.ast;
        let variable = ast.nodes.last().copied().zip(ast.spans.last().copied());
        let (node, place) = self.assignment(token);
        if let Some((Node::Variable(name), place)) = variable {
            self.builder.push(Node::Variable(name), place);
        }
        // It ends with the operator.
        self.builder.waiting.push(PendingOperator { binds: OpenOperator::Infix(infix), node, span: place });
        let node = match self.binary_meaning(operator).map(|meaning| meaning.action) {
            Some(BinaryAction::BuiltIn(op)) => Node::Binary(op),
            Some(BinaryAction::Function(callee)) => {
                self.hold(callee);
                Node::Operator { callee, arguments: 2 }
            }
            _ => Node::Operator { callee: self.function("binary", operator), arguments: 2 },
        };
        (node, span)
    }

    /// Removes the variable to assign to from the nodes.
    fn assignment(&mut self, token: usize) -> (Node, Span) {
        let ast = &mut self.builder.ast;
        if let (Some(&Node::Variable(name)), Some(&span)) = (ast.nodes.last(), ast.spans.last()) {
            ast.nodes.pop();
            ast.spans.pop();
            return (Node::Assign(name), span);
        }
        let place = self.span(token);
        if self.builder.diagnostics.is_empty() {
            self.builder.diagnostics.push(foreign::bad_assignment(self.tokens.source(), place));
        }
        (Node::Assign(self.tokens.name(token)), place)
    }

    /// Returns the meaning of `operator` before an operand, if it has one. In the definition of
    /// a built-in operator, that is the built-in one, also when it is defined again.
    fn unary_meaning(&self, operator: Name) -> Option<UnaryMeaning> {
        if matches!(self.own_operator(), Some((Fixity::Unary { operator: own }, _)) if own == operator)
            && let Some(built_in) = UnaryMeaning::built_in(&self.names.text(operator))
        {
            return Some(built_in);
        }
        self.operators.unary(operator).or_else(|| match self.own_operator()? {
            (Fixity::Unary { operator: own }, function) if own == operator => {
                Some(UnaryMeaning::Function(function))
            }
            _ => None,
        })
    }

    /// Returns the meaning of `operator` after an operand, in the same way.
    fn binary_meaning(&self, operator: Name) -> Option<BinaryMeaning> {
        if matches!(self.own_operator(), Some((Fixity::Binary { operator: own, .. }, _)) if own == operator)
            && let Some(built_in) = BinaryMeaning::built_in(&self.names.text(operator))
        {
            return Some(built_in);
        }
        self.operators.binary(operator).or_else(|| match self.own_operator()? {
            (Fixity::Binary { operator: own, precedence }, function) if own == operator => {
                let action = BinaryAction::Function(function);
                Some(BinaryMeaning { infix: Infix::defined(precedence), action })
            }
            _ => None,
        })
    }

    /// Returns the operator that the item itself defines.
    fn own_operator(&self) -> Option<(Fixity, Name)> {
        let prototype = self.builder.prototype.as_ref()?;
        Some((prototype.fixity?, prototype.name.name))
    }

    /// Returns the name of the function that defines an operator: `unary!`,
    /// `binary|`.
    fn function(&mut self, arity: &str, operator: Name) -> Name {
        let text = format!("{arity}{}", self.names.text(operator));
        let held = self.names.hold(&text);
        let name = held.name();
        self.builder.functions.push(held);
        name
    }

    /// Holds the function of an operator.
    fn hold(&mut self, function: Name) {
        if !self.builder.functions.iter().any(|held| held.name() == function) {
            self.builder.functions.push(self.names.text(function));
        }
    }

    /// Begins the prototype of the function named at `token`.
    pub(super) fn function_head(&mut self, token: usize) {
        let name = self.identifier(token);
        self.builder.prototype =
            Some(Prototype { name, parameters: Vec::new(), functions: Vec::new(), fixity: None });
    }

    /// Begins the prototype of the operator at `token` before an operand.
    pub(super) fn unary_head(&mut self, token: usize) {
        self.refuse_reserved(token);
        self.operator_head("unary", token, Fixity::Unary { operator: self.tokens.name(token) });
    }

    /// Begins the prototype of the operator at `token` between operands.
    pub(super) fn binary_head(&mut self, token: usize) {
        let operator = self.tokens.name(token);
        self.operator_head("binary", token, Fixity::Binary { operator, precedence: DEFAULT_PRECEDENCE });
    }

    /// Begins the prototype of an operator; the place of its name covers the
    /// keyword before it.
    fn operator_head(&mut self, arity: &str, token: usize, fixity: Fixity) {
        let span = self.span(token.saturating_sub(1)).to(self.span(token));
        let name = Spanned { name: self.function(arity, self.tokens.name(token)), span };
        self.builder.prototype =
            Some(Prototype { name, parameters: Vec::new(), functions: Vec::new(), fixity: Some(fixity) });
    }

    /// Adds the parameter at `token` to the prototype.
    pub(super) fn parameter(&mut self, token: usize) {
        let parameter = self.identifier(token);
        self.builder.prototype.iter_mut().for_each(|prototype| prototype.parameters.push(parameter));
    }

    /// Makes the last parameter a function.
    pub(super) fn takes_function(&mut self) {
        if let Some(prototype) = &mut self.builder.prototype {
            let position = prototype.parameters.len() as u32 - 1;
            prototype.functions.push(FunctionParameter { position, parameters: Vec::new() });
        }
    }

    /// Adds the parameter at `token` to the last function among the parameters.
    pub(super) fn inner_parameter(&mut self, token: usize) {
        let parameter = self.identifier(token);
        let functions =
            self.builder.prototype.iter_mut().flat_map(|prototype| prototype.functions.last_mut());
        functions.for_each(|function| function.parameters.push(parameter));
    }

    /// Adds the operator at `token` as a function.
    pub(super) fn operator_given(&mut self, arity: &str, token: usize) {
        let span = self.span(token.saturating_sub(1)).to(self.span(token));
        let name = self.function(arity, self.tokens.name(token));
        self.builder.push(Node::Function(name), span);
    }

    /// Sets the precedence of the operator that the prototype defines to the
    /// number at `token`.
    pub(super) fn precedence(&mut self, token: usize) {
        let value = self.tokens.number(token);
        if !(1.0..=100.0).contains(&value) || value.fract() != 0.0 {
            let message = format!("`{}` is not a precedence", self.tokens.text(token));
            let help = "a precedence is a whole number from 1 to 100";
            self.report(ErrorCode::BadPrecedence, token, message, "the precedence", help);
        } else if let Some(Prototype { fixity: Some(Fixity::Binary { precedence, .. }), .. }) =
            &mut self.builder.prototype
        {
            #[expect(clippy::cast_sign_loss, reason = "1 to 100")]
            let value = value as u8;
            *precedence = value;
        }
    }

    fn identifier(&self, token: usize) -> Spanned {
        Spanned { name: self.tokens.name(token), span: self.tokens.span(token) }
    }

    /// Refuses `=` as an operator before an operand.
    fn refuse_reserved(&mut self, token: usize) {
        if self.tokens.terminals()[token] == Terminal::Equals {
            let message = "the unary operator `=` cannot be defined".to_owned();
            self.report(
                ErrorCode::ReservedOperator,
                token,
                message,
                "this operator assigns",
                "any other operator can be defined",
            );
        }
    }

    /// Begins the import of the module named at `token`.
    pub(super) fn imported_module(&mut self, token: usize) {
        self.builder.import = Some(ImportHead { module: self.identifier(token), alias: None, names: None });
    }

    /// Sets what the module is called here.
    pub(super) fn module_alias(&mut self, token: usize) {
        let alias = self.identifier(token);
        self.builder.import.iter_mut().for_each(|import| import.alias = Some(alias));
    }

    /// Returns whether the parentheses that open at `token` have nothing but
    /// names in them.
    pub(super) fn is_list_of_names(&self, token: usize) -> bool {
        let terminals = &self.tokens.terminals()[token + 1..];
        let (mut is_behind_name, mut rest) = (false, terminals.iter());
        while let Some(terminal) = rest.next() {
            is_behind_name = match terminal {
                Terminal::RightParenthesis => return is_behind_name,
                Terminal::Identifier => true,
                Terminal::Unary | Terminal::Binary => rest.next().is_some_and(|next| next.is_operator()),
                Terminal::Comma if is_behind_name => false,
                _ => return false,
            };
            if !is_behind_name && *terminal != Terminal::Comma {
                return false;
            }
        }
        false
    }

    /// Adds the name at `token` to those that are imported.
    pub(super) fn imported_name(&mut self, token: usize) {
        let name = self.identifier(token);
        self.import_name(name);
    }

    /// Adds the operator at `token` to what is imported.
    pub(super) fn imported_operator(&mut self, arity: &str, token: usize) {
        let span = self.span(token.saturating_sub(1)).to(self.span(token));
        let name = Spanned { name: self.function(arity, self.tokens.name(token)), span };
        self.import_name(name);
    }

    fn import_name(&mut self, name: Spanned) {
        self.builder.import.iter_mut().for_each(|import| import.names.get_or_insert_default().push(name));
    }

    fn report(&mut self, code: ErrorCode, token: usize, message: String, note: &str, help: &str) {
        let diagnostic = Diagnostic::error(code, self.tokens.source(), self.tokens.span(token), message);
        self.builder.diagnostics.push(diagnostic.with_note(note).with_help(help));
    }
}

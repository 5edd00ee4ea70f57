//! Resolving a body: one walk over the flat tree that replaces names.
//!
//! The walk keeps the scopes of `var` and `for` as an undo list, so it needs
//! no recursion and each name costs one look-up, however deep the nesting.

mod given;

use super::checked::{Callee, CheckedFunction, CheckedNode, EXPRESSION, KnownIdentity, Made, TakenFunction};
use super::checker::Checker;
use super::constant::constant;
use super::environment::{SourcePlace, arguments};
use super::instance::{shown, taken_name};
use super::mistakes::Mistakes;
use super::printing::{self, PrintPlan, PrintRole, PrintStep, PrintedPart};
use super::scope::LocalScope;
use super::spans::SpanPacker;
use super::unqualified;
use crate::diagnostic::suggest::nearest;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::module::MemberKind;
use crate::name::Name;
use crate::source::Span;
use crate::syntax::ast::{self, Ast, Spanned};
use crate::syntax::foreign;
use crate::syntax::operator::{BinaryOp, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The state of resolving one body.
pub(super) struct Resolver<'c, 'a> {
    checker: &'c mut Checker<'a>,
    head: Spanned,
    /// The name of the head as it was written: in a module it stands for another.
    pub(super) written: Name,
    parameters: Box<[Name]>,
    scope: LocalScope,
    nodes: Vec<CheckedNode>,
    spans: SpanPacker,
    /// Where the scopes of locals end, as far as that is known.
    scope_ends: Vec<u32>,
    /// Which of these belong to open scopes, innermost last.
    open_scopes: Vec<usize>,
    numbers: Vec<f64>,
    callees: Vec<Callee>,
    callee_index: FxHashMap<(Name, u32), u32>,
    mistakes: Mistakes,
    /// The nearest variable for each name that is not declared.
    near: FxHashMap<Name, Option<String>>,
    /// The variables reported as not declared: each is reported once.
    undeclared: FxHashSet<Name>,
    /// The functions that it takes.
    pub(super) functions: Box<[TakenFunction]>,
    /// The functions that calls are given, by the nodes of these.
    given: FxHashMap<usize, Vec<GivenFunction>>,
    /// The calls that take a function and are given a number.
    wanted: Vec<WantedFunction>,
    /// For each node that is an argument, the node of the call and its place there, once
    /// that has been needed.
    arguments: Option<FxHashMap<usize, (usize, u32)>>,
}

/// A function that a call takes, and is given a number for.
struct WantedFunction {
    /// The node of the call.
    call: usize,
    callee: Name,
    function: TakenFunction,
    /// What is given in another place: a function, and where.
    misplaced: Option<(Name, u32)>,
}

/// A function that a call is given.
struct GivenFunction {
    position: u32,
    /// What it is called in the name of the instance.
    text: String,
    name: Name,
    /// The number of its arguments, if it is known.
    arity: Option<u32>,
    span: Span,
}

impl<'c, 'a> Resolver<'c, 'a> {
    pub(super) fn new(checker: &'c mut Checker<'a>, head: Spanned, parameters: &[Spanned]) -> Self {
        let written = head.name;
        let mut scope = LocalScope::default();
        for parameter in parameters {
            scope.open(parameter.name);
        }
        let checker_diagnostics = checker.diagnostics.len();
        Self {
            checker,
            head,
            written,
            parameters: parameters.iter().map(|parameter| parameter.name).collect(),
            scope,
            nodes: Vec::new(),
            spans: SpanPacker::default(),
            scope_ends: Vec::new(),
            open_scopes: Vec::new(),
            numbers: Vec::new(),
            callees: Vec::new(),
            callee_index: FxHashMap::default(),
            mistakes: Mistakes::new(checker_diagnostics),
            near: FxHashMap::default(),
            undeclared: FxHashSet::default(),
            functions: Box::default(),
            given: FxHashMap::default(),
            wanted: Vec::new(),
            arguments: None,
        }
    }

    /// Resolves a body; returns its function.
    pub(super) fn body(mut self, body: &Ast, span: Span) -> CheckedFunction {
        self.walk(body);
        self.finish(span)
    }

    /// Resolves a top-level `var` to a function: its initialisers fill locals,
    /// and the variables of the context are assigned only when all of these
    /// have a value. Its result is the last value.
    pub(super) fn declarations(mut self, initialisers: &Ast, span: Span) -> (CheckedFunction, Vec<Name>) {
        self.walk(initialisers);
        while !self.open_scopes.is_empty() {
            self.end_scope(0);
        }
        let declared: Vec<Name> = self.scope.names().collect();
        let variables: Vec<Name> =
            declared.iter().map(|name| self.checker.head(Spanned { name: *name, span }).name).collect();
        for (index, name) in variables.iter().enumerate() {
            self.push(CheckedNode::Local(index as u32), span);
            self.push(CheckedNode::SetVariable(*name), span);
            if index + 1 < variables.len() {
                // Only to take the value: nothing can see this local.
                self.scope_ends.push(self.nodes.len() as u32);
                self.push(CheckedNode::Bind(index as u32), span);
            }
        }
        (self.finish(span), variables)
    }

    fn finish(self, span: Span) -> CheckedFunction {
        CheckedFunction {
            name: self.head.name,
            name_span: self.head.span,
            parameters: self.parameters,
            functions: self.functions,
            made: Made::Written,
            locals: self.scope.most(),
            nodes: self.nodes.into(),
            spans: self.spans.finish(),
            scope_ends: self.scope_ends.into(),
            numbers: self.numbers.into(),
            callees: self.callees.into(),
            source: self.checker.source.clone(),
            span,
            names: self.checker.names(),
            identity: KnownIdentity::default(),
        }
    }

    /// Begins the scope of a variable; returns its local.
    fn begin_scope(&mut self, name: Name) -> u32 {
        self.open_scopes.push(self.scope_ends.len());
        self.scope_ends.push(0);
        self.scope.open(name)
    }

    /// Ends the innermost scope, after that many more nodes.
    fn end_scope(&mut self, more: usize) {
        if let Some(scope) = self.open_scopes.pop() {
            self.scope_ends[scope] = (self.nodes.len() + more) as u32;
        }
    }

    /// Begins the scope of a local that the program cannot name, which the next node
    /// declares; returns it.
    fn begin_hidden(&mut self) -> u32 {
        self.scope_ends.push(self.nodes.len() as u32);
        self.scope.open(self.checker.environment.names().intern(EXPRESSION))
    }

    /// Ends the scope of the innermost hidden local.
    fn end_hidden(&mut self) {
        self.scope.close();
    }

    /// Returns whether an expression is a call of `print` or `write`.
    pub(super) fn prints(&self, body: &Ast) -> bool {
        let is_word = |name, at: usize| self.is_word(name, body.spans[at]);
        PrintPlan::prints(body, self.checker.environment.names(), &is_word)
    }

    /// Plans the calls of `print` and `write` in a body.
    fn printing(&mut self, body: &Ast) -> PrintPlan {
        let is_word = |name, at: usize| self.is_word(name, body.spans[at]);
        let plan = PrintPlan::of(body, self.checker.environment.names(), &is_word);
        for (at, wanted) in &plan.misfits {
            if let ast::Node::Call { callee, arguments } = body.nodes[*at] {
                self.mistakes.at = *at;
                self.fits(callee, arguments, body.spans[*at], *wanted, None);
            }
        }
        plan
    }

    /// Returns whether a name has its meaning in `print`: nothing else is called so.
    fn is_word(&self, name: Name, span: Span) -> bool {
        let environment = self.checker.environment;
        // In a module, a name that is nowhere defined is one of the module.
        let Some(meaning) = self.checker.stands_for(name, MemberKind::Function, span) else { return false };
        meaning != self.head.name
            && name != self.written
            && environment.function(meaning).is_none()
            && environment.declared(meaning).is_none()
            && environment.hosts().get(meaning).is_none()
    }

    /// Adds what a call of `print` or `write` does, whose values are on the stack.
    fn print(&mut self, parts: &[PrintedPart], span: Span) {
        let count: usize = parts.iter().map(PrintedPart::values).sum();
        let mut locals: Vec<u32> = Vec::with_capacity(count);
        for _ in 0..count {
            let local = self.begin_hidden();
            self.push(CheckedNode::Bind(local), span);
            locals.push(local);
        }
        // The last value was on top.
        locals.reverse();
        for step in printing::steps(parts) {
            let node = match step {
                PrintStep::Value(value) => CheckedNode::Local(locals[value]),
                PrintStep::Negated(value) => {
                    self.push(CheckedNode::Local(locals[value]), span);
                    CheckedNode::Unary(UnaryOp::Negate)
                }
                PrintStep::Constant(value) => self.number(value),
                PrintStep::Call(function, arity) => {
                    let name = self.checker.environment.names().intern(function);
                    self.callee(name, arity, span)
                }
                PrintStep::Next => {
                    let local = self.begin_hidden();
                    self.end_hidden();
                    CheckedNode::Bind(local)
                }
            };
            self.push(node, span);
        }
        locals.iter().for_each(|_| self.end_hidden());
    }

    /// Reports a text that is not printed.
    fn misplaced_text(&mut self, span: Span) {
        let message = "a text stands only among the arguments of `print` and `write`".to_owned();
        let help = foreign::printed_otherwise(self.checker.source, span).map(str::to_owned);
        let help = help.or_else(|| self.printed_by_function(span));
        if help.is_some() {
            self.mistakes.found_foreign();
        }
        let error = self.error(ErrorCode::MisplacedText, span, message);
        error.labels[0].message = "every value is a number".into();
        error.help = help;
    }

    /// Returns the advice for a text that a function of the program called `print` or `write`
    /// is given.
    fn printed_by_function(&self, span: Span) -> Option<String> {
        let callee = foreign::called_with(self.checker.source, span)?;
        let name = self.checker.environment.names().get(callee)?;
        (matches!(callee, "print" | "write") && !self.is_word(name, span)).then(|| {
            format!("`{callee}` is a function of this program: to print texts, call it something else")
        })
    }

    /// Compares in a chain: `a < b < c` is `a < b && b < c` with `b` evaluated once.
    fn chained(&mut self, op: BinaryOp, is_first: bool, is_last: bool, span: Span) {
        let operand = if is_first { self.begin_hidden() } else { self.innermost() };
        if !is_last {
            if !is_first {
                self.scope_ends.push(self.nodes.len() as u32);
            }
            self.push(CheckedNode::Bind(operand), span);
            self.push(CheckedNode::Local(operand), span);
        }
        self.push(CheckedNode::Binary(op), span);
        if !is_first {
            self.push(CheckedNode::Binary(BinaryOp::And), span);
        }
        if is_last {
            self.scope.close();
        } else {
            self.push(CheckedNode::ShortCircuit(BinaryOp::And), span);
            self.push(CheckedNode::Local(operand), span);
        }
    }

    /// Returns the local of the innermost scope.
    fn innermost(&self) -> u32 {
        self.scope.innermost()
    }

    /// Begins a `while`, which is checked as a loop that tests what its body found: `while
    /// c in b` is `for _ = 0, going, 0 in if going = c then b else 0`.
    fn begin_while(&mut self, span: Span) {
        let zero = self.number(0.0);
        self.push(zero, span);
        let going = self.begin_hidden();
        self.push(CheckedNode::Bind(going), span);
        self.push(zero, span);
        let counter = self.begin_hidden();
        self.push(CheckedNode::ForVariable(counter), span);
        self.push(CheckedNode::Local(going), span);
        self.push(CheckedNode::ForCondition, span);
        self.push(zero, span);
        self.push(CheckedNode::ForStep, span);
    }

    /// Reports a number such as `000`, if it is the end of `1,000`.
    fn grouped(&mut self, span: Span) {
        if !self.checker.source.slice(span).starts_with('0') {
            return;
        }
        let comma = Span { start: span.start.saturating_sub(1), end: span.start };
        if self.checker.source.slice(comma) == ","
            && let Some(number) = foreign::grouped_digits(self.checker.source, comma)
        {
            let error = self.error(ErrorCode::MalformedNumber, span, "a comma is between arguments".into());
            error.labels[0].message = "another number".into();
            error.help = Some(format!("write `{number}`"));
        }
    }

    fn number(&mut self, value: f64) -> CheckedNode {
        self.numbers.push(value);
        CheckedNode::Number(self.numbers.len() as u32 - 1)
    }

    fn push(&mut self, node: CheckedNode, span: Span) {
        self.nodes.push(node);
        self.spans.push(span);
    }

    fn walk(&mut self, body: &Ast) {
        self.nodes.reserve(body.nodes.len());
        let printing = self.printing(body);
        for (at, (node, span)) in body.nodes.iter().zip(&body.spans).enumerate() {
            if let Some(request) = self.checker.poll.step() {
                self.checker.diagnostics.push(request.while_reading(self.checker.source, *span));
                return;
            }
            self.mistakes.at = at;
            match printing.roles.get(&at) {
                Some(PrintRole::Part) => {
                    self.given_to_print();
                    continue;
                }
                Some(PrintRole::Refused) => {
                    let zero = self.number(0.0);
                    self.push(zero, *span);
                    continue;
                }
                Some(PrintRole::Statement(parts)) => {
                    self.given_to_print();
                    self.print(parts, *span);
                    continue;
                }
                None => {}
            }
            if self.gives(body, at, *span) {
                continue;
            }
            if let Some(node) = self.node(*node, *span) {
                self.push(node, *span);
            }
        }
        self.suggest_functions(body);
        self.functions_wanted(body);
        self.mistakes.suppress(body, &mut self.checker.diagnostics);
    }

    /// Returns what a name that is not a local stands for.
    fn global(&mut self, name: Name, kind: MemberKind, span: Span) -> Name {
        let before = self.checker.diagnostics.len();
        let name = self.checker.global(name, kind, span);
        if self.checker.diagnostics.len() > before {
            self.mistakes.nodes.push(self.mistakes.at);
            self.undeclared.insert(name);
        }
        name
    }

    fn error(&mut self, code: ErrorCode, span: Span, message: String) -> &mut Diagnostic {
        self.mistakes.nodes.push(self.mistakes.at);
        self.checker.error(code, span, message)
    }

    fn node(&mut self, node: ast::Node, span: Span) -> Option<CheckedNode> {
        Some(match node {
            ast::Node::Number(value) => {
                self.grouped(span);
                self.number(value)
            }
            ast::Node::Text(_) => {
                self.misplaced_text(span);
                self.number(0.0)
            }
            ast::Node::Variable(name) => match self.scope.local(name) {
                Some(local) => CheckedNode::Local(local),
                None => {
                    let known = self.global(name, MemberKind::Variable, span);
                    let is_own = known != name || self.checker.environment.has_variable(name);
                    match constant(&self.checker.text(name)).filter(|_| !is_own) {
                        Some(value) => self.number(value),
                        None => CheckedNode::Variable(self.variable(known, span)),
                    }
                }
            },
            ast::Node::Assign(name) => match self.scope.local(name) {
                Some(local) => CheckedNode::SetLocal(local),
                None => {
                    let name = self.global(name, MemberKind::Variable, span);
                    CheckedNode::SetVariable(self.assigned(name, span))
                }
            },
            ast::Node::Unary(op) => CheckedNode::Unary(op),
            ast::Node::Binary(op) => CheckedNode::Binary(op),
            ast::Node::ShortCircuit(op) => CheckedNode::ShortCircuit(op),
            ast::Node::Chained { op, is_first, is_last } => {
                self.chained(op, is_first, is_last, span);
                return None;
            }
            ast::Node::Function(name) => {
                let text = self.checker.text(name);
                self.function_as_value(&text, span);
                self.number(0.0)
            }
            ast::Node::Call { callee, arguments } => {
                let given = self.given.remove(&self.mistakes.at).unwrap_or_default();
                match self.taken(callee) {
                    Some(function) => {
                        given.iter().for_each(|given| self.not_taken(given));
                        self.fits(callee, arguments, span, function.arity, None);
                        let name = taken_name(&self.checker.text(callee));
                        let name = self.checker.hold(&name);
                        self.callee(name, arguments, span)
                    }
                    None => {
                        let callee = self.global(callee, MemberKind::Function, span);
                        self.call_given(callee, arguments, &given, span)
                    }
                }
            }
            ast::Node::Operator { callee, arguments } => {
                let callee = if callee == self.written { self.head.name } else { callee };
                self.operator(callee, arguments, span)
            }
            ast::Node::Then => CheckedNode::Then,
            ast::Node::Else => CheckedNode::Else,
            ast::Node::If => CheckedNode::If,
            ast::Node::ForVariable(name) => CheckedNode::ForVariable(self.begin_scope(name)),
            ast::Node::ForCondition => CheckedNode::ForCondition,
            ast::Node::ForStep => CheckedNode::ForStep,
            ast::Node::For => {
                self.scope.close();
                self.end_scope(1);
                CheckedNode::For
            }
            ast::Node::WhileCondition => {
                self.begin_while(span);
                return None;
            }
            ast::Node::WhileBody => {
                self.push(CheckedNode::SetLocal(self.innermost() - 1), span);
                CheckedNode::Then
            }
            ast::Node::While => {
                self.push(CheckedNode::Else, span);
                let zero = self.number(0.0);
                self.push(zero, span);
                self.push(CheckedNode::If, span);
                self.end_hidden();
                self.end_hidden();
                CheckedNode::For
            }
            ast::Node::Next => {
                let local = self.begin_hidden();
                self.end_hidden();
                CheckedNode::Bind(local)
            }
            ast::Node::Sequence => return None,
            ast::Node::Bind(name) => CheckedNode::Bind(self.begin_scope(name)),
            ast::Node::Var(count) => {
                for _ in 0..count {
                    self.scope.close();
                    self.end_scope(0);
                }
                return None;
            }
        })
    }

    /// Resolves a name that is not a local: it must be a variable of the
    /// context.
    fn variable(&mut self, name: Name, span: Span) -> Name {
        let environment = self.checker.environment;
        if !environment.has_variable(name) && self.undeclared.insert(name) {
            let text = shown(&environment.names().text(name));
            // Who expects one of them expects the other: that is one mistake.
            let other = foreign::counterpart(&text).and_then(|other| environment.names().get(other));
            self.undeclared.extend(other);
            let near = self.near(name);
            let is_function = environment.function(name).is_some() || environment.hosts().get(name).is_some();
            let near = near.or_else(|| nearest(&text, ["else"]).map(str::to_owned));
            let otherwise = foreign::assigned_otherwise(self.checker.source, span);
            let is_comment = foreign::begins_comment(self.checker.source, span);
            let is_construct = foreign::begins_construct(&text) && !is_function;
            if is_construct || is_comment || matches!(otherwise, Some((_, true))) {
                self.mistakes.found_foreign();
            }
            let ended = foreign::ended_definition(self.checker.source, span);
            let ended = ended.or_else(|| foreign::continues_declaration(self.checker.source, span));
            let unqualified = unqualified::advice(&text, environment.names(), environment.hosts());
            let (message, help) = match (foreign::word(self.checker.source, span), near) {
                _ if is_comment => (None, Some("a comment begins with `#`".to_owned())),
                _ if ended.is_some() => (None, ended),
                _ if unqualified.is_some() => (None, unqualified),
                (Some((message, help)), _) if is_function && foreign::is_infix(&text) => {
                    (Some(message), Some(help))
                }
                _ if is_function => (None, Some(format!("`{text}` is a function: call it as `{text}(…)`"))),
                (Some((message, help)), _) => (Some(message), Some(help)),
                (None, Some(near)) => (None, Some(format!("did you mean `{near}`?"))),
                (None, None) if otherwise.is_some() => (None, otherwise.map(|(help, _)| help)),
                (None, None) if foreign::is_updated(self.checker.source, span) => {
                    (None, Some(format!("to declare one: `var {text} = 0`")))
                }
                (None, None) => (None, None),
            };
            let message = message.unwrap_or_else(|| format!("unknown variable `{text}`"));
            let error = self.error(ErrorCode::UnknownVariable, span, message);
            error.labels[0].message = "not declared".into();
            error.help = help;
        }
        name
    }

    /// Returns the variable nearest to an undeclared name; searched for once,
    /// within the budget.
    fn near(&mut self, name: Name) -> Option<String> {
        let environment = self.checker.environment;
        let (names, budget) = (environment.names(), environment.suggestions());
        if let Some(known) = self.near.get(&name) {
            return known.clone();
        }
        if budget.is_empty() {
            return None;
        }
        let known: Vec<Name> = self.scope.names().chain(environment.variables()).collect();
        let near = budget.nearest(&names.text(name), known.iter().map(|known| names.text(*known)));
        let near = near.map(|near| near.to_string());
        self.near.insert(name, near.clone());
        near
    }

    /// Resolves a name that is assigned to and not a local.
    fn assigned(&mut self, name: Name, span: Span) -> Name {
        let environment = self.checker.environment;
        if self.taken(name).is_some() {
            self.function_assigned(name, span);
            return name;
        }
        let text = self.checker.text(name);
        if let Some((module, short)) = self.checker.environment.imports().constant(&text) {
            self.constant_assigned(module, short, span);
            return name;
        }
        if environment.has_variable(name) || self.near(name).is_some() {
            return self.variable(name, span);
        }
        // In `x = y = 3`, the first of them is what is assigned first.
        let is_of_chain = matches!(self.nodes.last(), Some(CheckedNode::SetVariable(value)) if self.undeclared.contains(value));
        if !self.undeclared.insert(name) || is_of_chain {
            return name;
        }
        let text = environment.names().text(name);
        let assigned = foreign::assigned(self.checker.source, span);
        let value = assigned.unwrap_or("0");
        let help = match &*environment.names().text(self.head.name) {
            _ if foreign::follows_variable(self.checker.source, span) => {
                format!("a comma separates variables: `var x = 1, {text} = {}`", assigned.unwrap_or("…"))
            }
            EXPRESSION => format!("to declare one: `var {text} = {value}`"),
            _ if foreign::ends_too_early(self.checker.source, span) => format!(
                "to declare one: `var {text} = {value} in …`; the `;` ends the definition, `:` goes on"
            ),
            _ => {
                format!("to declare one: `var {text} = {value} in …`, or `var {text}` before the definition")
            }
        };
        let error = self.error(ErrorCode::UnknownVariable, span, format!("no variable `{text}`"));
        error.labels[0].message = "assigned, but not declared".into();
        error.help = Some(help);
        name
    }

    /// Reports an assignment to a constant of a module.
    fn constant_assigned(&mut self, module: &str, short: &str, span: Span) {
        let message = format!("`{short}` is a constant of `{module}`");
        let help = format!("to have a variable of that name: `var {short} = 3`");
        let error = self.error(ErrorCode::BadAssignment, span, message);
        error.labels[0].message = "assigned".into();
        error.help = Some(help);
    }

    fn call(&mut self, callee: Name, arity: u32, span: Span) -> CheckedNode {
        let environment = self.checker.environment;
        if callee == self.head.name {
            self.fits(callee, arity, span, self.parameters.len() as u32, None);
        } else if let Some(known) = environment.function(callee) {
            let place = SourcePlace { source: known.source.clone(), span: known.name_span };
            self.fits(callee, arity, span, known.arity(), Some(place));
        } else if let Some(host) = environment.hosts().get(callee) {
            self.fits(callee, arity, span, host.arity, None);
        } else if let Some(declared) = environment.declared(callee) {
            self.fits(callee, arity, span, declared.arity(), Some(declared.place.clone()));
        }
        self.callee(callee, arity, span)
    }

    fn operator(&mut self, callee: Name, operands: u8, span: Span) -> CheckedNode {
        let environment = self.checker.environment;
        let is_known = || environment.function(callee).is_some() || environment.declared(callee).is_some();
        if callee != self.head.name && !is_known() {
            let (diagnostic, is_foreign) = foreign::unknown_operator(self.checker.source, span, operands);
            self.mistakes.found_operator(is_foreign);
            self.checker.diagnostics.push(diagnostic);
        }
        self.callee(callee, u32::from(operands), span)
    }

    fn callee(&mut self, name: Name, arity: u32, span: Span) -> CheckedNode {
        let callees = &mut self.callees;
        let index = *self.callee_index.entry((name, arity)).or_insert_with(|| {
            callees.push(Callee { name, arity, span });
            callees.len() as u32 - 1
        });
        CheckedNode::Call(index)
    }

    fn fits(&mut self, callee: Name, passed: u32, span: Span, wanted: u32, place: Option<SourcePlace>) {
        if passed == wanted {
            return;
        }
        let text = shown(&self.checker.text(callee));
        let message = format!("`{text}` takes {}, not {passed}", arguments(wanted as usize));
        let own = (callee == self.head.name)
            .then(|| SourcePlace { source: self.checker.source.clone(), span: self.head.span });
        let error = self.error(ErrorCode::WrongArity, span, message);
        error.labels[0].message = format!("called with {}", arguments(passed as usize));
        match place.or(own) {
            Some(place) => {
                let takes = format!("takes {}", arguments(wanted as usize));
                *error = error.clone().with_label(&place.source, place.span, takes);
            }
            None => error.help = foreign::taking_more(&text, passed).map(str::to_owned),
        }
    }
}

//! Previews: the value of an expression that is still being typed.
//!
//! A preview never has an effect and never takes long. Only pure expressions
//! have one: they and all they call assign nothing but locals and call no
//! function of the host but those of the mathematical library. The source, the
//! functions it needs and their work are limited in advance, so that the worst
//! case is fast enough for every keystroke.

use super::Context;
use crate::diagnostic::suggest::Budget;
use crate::float_environment::DefaultEnvironment;
use crate::host::HostFunctions;
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, Name, Names};
use crate::sema::checked::{Callee, CheckedFunction, CheckedNode};
use crate::sema::{self, Environment};
use crate::source::Source;
use crate::stop::Poll;
use crate::syntax::ast::ItemKind;
use crate::syntax::lexer::lex;
use crate::syntax::operator::BinaryOp;
use crate::syntax::parser::{ParseLimits, Parser};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Longer sources have no preview, in bytes.
const LONGEST_TEXT: usize = 400;

/// The most nodes that the expression and all that it calls may have together.
const MOST_NODES: usize = 1_000;

/// The most function entries and loop iterations.
const MOST_FUEL: u32 = 10_000;

/// The most work: fuel times the cost of the most expensive function.
const MOST_WORK: u32 = 100_000;

/// The cost of a call of the mathematical library, in nodes.
const LIBRARY_CALL: u32 = 20;

impl Context {
    /// Evaluates a pure expression outside of the program: this prints, assigns
    /// and counts nothing, and takes less than a millisecond. `None` if the
    /// source is not a single expression, if the expression or a callee has an
    /// effect, or if it fails or takes long.
    ///
    /// ```
    /// let mut context = kal::Engine::new()?.context()?;
    /// context.eval("def square(x) x * x; var side = 3")?;
    /// assert_eq!(context.preview("square(side) + 1"), Some(10.0));
    /// assert_eq!(context.preview("side = 4"), None);
    /// assert_eq!(context.preview("square("), None);
    /// # Ok::<(), kal::Error>(())
    /// ```
    pub fn preview(&self, text: &str) -> Option<f64> {
        let _environment = DefaultEnvironment::enter();
        let expression = self.expression(text)?;
        let mut needed = Needed::new(self);
        needed.take(&expression)?;
        while let Some(name) = needed.waiting.pop() {
            let meant = self.world.meaning(name)?;
            // An alias that nothing has called yet.
            let is_alias = meant.name != name;
            let alias = || Arc::new(meant.under(self.engine.names().text(name)));
            let function = if is_alias { alias() } else { meant.clone() };
            needed.take(&function)?;
            needed.functions.push(function);
        }
        let fuel = MOST_FUEL.min(MOST_WORK / needed.heaviest);
        self.backend.try_out(&self.engine, &expression, &needed.functions, fuel)
    }

    /// Returns the only item of a source, if it is an expression without
    /// mistakes.
    fn expression(&self, text: &str) -> Option<Arc<CheckedFunction>> {
        if text.len() > LONGEST_TEXT {
            return None;
        }
        let tokens = lex(&Source::new("<preview>", text), self.engine.names()).ok()?;
        let limits = ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        let item =
            Parser::new(&tokens, self.engine.names(), limits).only_item(self.world.operators()).ok()?;
        let ItemKind::Expression(_) = &item.kind else { return None };
        match sema::check(&item, &Quiet { context: self, suggestions: Budget::default() }) {
            Ok(sema::CheckedItem::Expression(function)) => Some(function),
            Ok(_) | Err(_) => None,
        }
    }
}

/// What an expression needs to be evaluated.
struct Needed<'c> {
    context: &'c Context,
    functions: Vec<Arc<CheckedFunction>>,
    /// The functions that have not been visited yet.
    waiting: Vec<Name>,
    seen: FxHashSet<Name>,
    nodes: usize,
    /// The cost of the most expensive function.
    heaviest: u32,
}

impl<'c> Needed<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            context,
            functions: Vec::new(),
            waiting: Vec::new(),
            seen: FxHashSet::default(),
            nodes: 0,
            heaviest: 1,
        }
    }

    /// Adds the callees of a function; `None` if it is not pure, or too large.
    fn take(&mut self, function: &CheckedFunction) -> Option<()> {
        self.nodes += function.nodes.len();
        if self.nodes > MOST_NODES {
            return None;
        }
        if function.nodes.iter().any(|node| matches!(node, CheckedNode::SetVariable(_))) {
            return None;
        }
        function.callees.iter().try_for_each(|callee| self.call(callee))?;
        self.heaviest = self.heaviest.max(self.cost(function));
        Some(())
    }

    fn call(&mut self, callee: &Callee) -> Option<()> {
        if let Some(function) = self.context.world.meaning(callee.name) {
            if !function.fits(callee.arity) {
                return None;
            }
            if self.seen.insert(callee.name) {
                self.waiting.push(callee.name);
            }
            return Some(());
        }
        let host = self.context.hosts().get(callee.name)?;
        (host.is_pure && host.arity == callee.arity).then_some(())
    }

    /// Returns an upper bound for the work of one entry of a function, or of
    /// one iteration in it.
    fn cost(&self, function: &CheckedFunction) -> u32 {
        let is_library =
            |callee: u32| self.context.hosts().get(function.callees[callee as usize].name).is_some();
        let cost = |node: &CheckedNode| match node {
            CheckedNode::Binary(BinaryOp::Power | BinaryOp::Remainder) => LIBRARY_CALL,
            CheckedNode::Call(callee) if is_library(*callee) => LIBRARY_CALL,
            _ => 1,
        };
        function.nodes.iter().map(cost).sum()
    }
}

/// An environment without suggestions, which would not be shown, and without
/// interruption, since the source is short.
struct Quiet<'c> {
    context: &'c Context,
    suggestions: Budget,
}

impl Environment for Quiet<'_> {
    fn names(&self) -> &Names {
        self.context.names()
    }

    fn hosts(&self) -> &HostFunctions {
        self.context.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        Environment::function(self.context, name)
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        self.context.global(name, kind)
    }

    fn imports(&self) -> &Imports {
        self.context.imports()
    }

    fn declared(&self, name: Name) -> Option<&sema::Extern> {
        Environment::declared(self.context, name)
    }

    fn has_variable(&self, name: Name) -> bool {
        self.context.has_variable(name)
    }

    fn functions(&self) -> Vec<Name> {
        Vec::new()
    }

    fn variables(&self) -> Vec<Name> {
        Vec::new()
    }

    fn suggestions(&self) -> &Budget {
        &self.suggestions
    }

    fn poll(&self) -> Poll {
        Poll::default()
    }
}

//! Formulas: expressions with parameters, compiled once and run many times.

use super::Context;
use super::limit::Limit;
use crate::backend::FormulaCode;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::engine::Engine;
use crate::error::Error;
use crate::float_environment::{DefaultEnvironment, PresentEnvironment};
use crate::name::HeldName;
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, Environment};
use crate::source::{Source, Span};
use crate::syntax::ast::Item;
use crate::syntax::foreign;
use crate::syntax::is_identifier_in;
use crate::syntax::lexer::lex_polled;
use crate::syntax::parser::{ParseLimits, Parser};
use rustc_hash::FxHashSet;
use std::fmt;
use std::sync::Arc;

/// An expression with parameters, compiled. It is bound to no name. It calls
/// functions by name, so a redefinition takes effect at the next call.
///
/// ```
/// let mut context = kal::Engine::new()?.context()?;
/// let area = context.formula("w * h / 2", &["w", "h"])?;
/// assert_eq!(area.call(&mut context, &[3.0, 4.0])?, 6.0);
/// # Ok::<(), kal::Error>(())
/// ```
///
/// Every context of the engine can run it, also several threads at once, each
/// in a context of its own. A clone is the same formula, with the same code.
#[derive(Clone)]
pub struct Formula {
    engine: Engine,
    code: Arc<FormulaCode>,
    function: Arc<CheckedFunction>,
    /// Whether it calls instances, which is asked at every call.
    calls_instances: bool,
}

impl Formula {
    /// Evaluates the formula with these arguments.
    ///
    /// # Errors
    /// [`Error::Failed`] if it does not run to its end, [`Error::Arity`] for
    /// another number of arguments than it has parameters,
    /// [`Error::OtherEngine`] for a context of another engine.
    pub fn call(&self, context: &mut Context, arguments: &[f64]) -> Result<f64, Error> {
        self.call_from(PresentEnvironment::read(), context, arguments)
    }

    /// Evaluates the formula, like [`call`](Self::call), where the floating-point environment has
    /// been read already.
    #[doc(hidden)]
    pub fn call_from(
        &self,
        present: PresentEnvironment,
        context: &mut Context,
        arguments: &[f64],
    ) -> Result<f64, Error> {
        let asked = arguments.len() as u32;
        if !context.engine().is(&self.engine) {
            return Err(Error::OtherEngine);
        }
        let takes = self.function.arity();
        if asked != takes {
            return Err(Error::Arity { name: "the formula".into(), takes, asked });
        }
        if let Some(value) = self.call_context_free(context, arguments, present) {
            return Ok(value);
        }
        let _environment = DefaultEnvironment::enter_from(present);
        let _limit = context.limit()?;
        context.backend.admit_formula(&self.engine, &self.code)?;
        // Other contexts may not have bound the aliases and instances that it calls.
        if self.calls_instances || !context.world.imports().is_empty() {
            context.adopt_unbound(&self.function);
        }
        let result = context.backend.run_formula(&self.code, arguments, &mut context.outside);
        result.map_err(|stopped| {
            context.suggestions.refill();
            context.stopped(&stopped)
        })
    }

    /// Evaluates the formula if its code needs no run, and so calls nothing that this context may
    /// not have bound yet; `None`, without effect, if it may.
    #[inline]
    pub(super) fn call_context_free(
        &self,
        context: &Context,
        arguments: &[f64],
        present: PresentEnvironment,
    ) -> Option<f64> {
        let may = context.may_call_at_once();
        may.then(|| context.backend.call_formula_context_free(&self.code, arguments, present))?
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formula").field("arity", &self.function.arity()).finish_non_exhaustive()
    }
}

impl Context {
    /// Compiles an expression whose free names are `parameters`. It is read
    /// with the operators and variables of this moment.
    ///
    /// # Errors
    /// [`Error::Invalid`] for what is not one expression, [`Error::Failed`] if
    /// it cannot be compiled, or an interrupt or the deadline comes first.
    pub fn formula(&mut self, text: &str, parameters: &[&str]) -> Result<Formula, Error> {
        self.formula_of(&Source::new("<formula>", text), parameters)
    }

    /// Compiles an expression, like [`formula`](Self::formula), from a source
    /// with the name that errors show.
    pub(crate) fn formula_of(&mut self, source: &Source, parameters: &[&str]) -> Result<Formula, Error> {
        let _environment = DefaultEnvironment::enter();
        // It holds until the formula is compiled.
        let (function, _limit) = self.limited_formula(source, parameters)?;
        self.backend.admit(&self.engine, &function)?;
        let code = self.backend.formula(&function).map_err(|failure| self.failed(&failure))?;
        let calls_instances = function.takes_or_gives(self.engine.names());
        Ok(Formula { engine: self.engine.clone(), code: Arc::new(code), function, calls_instances })
    }

    /// Returns the function of an expression with parameters.
    pub(crate) fn formula_function(
        &mut self,
        source: &Source,
        parameters: &[&str],
    ) -> Result<Arc<CheckedFunction>, Error> {
        self.limited_formula(source, parameters).map(|(function, _)| function)
    }

    /// Returns the function of an expression with parameters, and the limit in force.
    fn limited_formula(
        &mut self,
        source: &Source,
        parameters: &[&str],
    ) -> Result<(Arc<CheckedFunction>, Option<Limit>), Error> {
        self.suggestions.refill();
        let limit = self.limit()?;
        let function = self.read_formula(source, parameters);
        let function = self.begin_item(limit.as_ref()).and(function)?;
        self.adopt_aliases(&function);
        Ok((function, limit))
    }

    fn read_formula(&self, source: &Source, parameters: &[&str]) -> Result<Arc<CheckedFunction>, Error> {
        let item = self.only_item(source)?;
        let held = parameters.iter().map(|text| self.name(text)).collect::<Result<Vec<_>, _>>()?;
        self.check_parameters(parameters)?;
        let names: Vec<_> = held.iter().map(HeldName::name).collect();
        sema::check_formula(&item, &names, self).map_err(Error::Invalid)
    }

    /// Checks that the parameters are distinct identifiers.
    fn check_parameters(&self, parameters: &[&str]) -> Result<(), Error> {
        let mut known = FxHashSet::default();
        for parameter in parameters {
            let source = Source::new("<parameter>", *parameter);
            let whole = Span::new(0, parameter.len());
            if !is_identifier_in(parameter, self.engine.names()) {
                return Err(refused(&source, whole, "a parameter must be a name", "not a name"));
            }
            if !known.insert(*parameter) {
                let message = format!("two parameters are called `{parameter}`");
                let error = Diagnostic::error(ErrorCode::DuplicateParameter, &source, whole, message);
                return Err(Error::Invalid(vec![error.with_note("declared again")]));
            }
        }
        Ok(())
    }

    fn only_item(&self, source: &Source) -> Result<Item, Error> {
        let mut items = self.parse(source)?.into_iter();
        let end = Span::new(source.text().len(), source.text().len());
        match (items.next(), items.next()) {
            (Some(item), None) => Ok(item),
            (None, _) => {
                Err(refused(source, end, "expected an expression, found nothing", "expected an expression"))
            }
            (Some(_), Some(second)) => {
                let rest = &source.text()[second.span.range()];
                let length = rest.find(|sign| !unicode_ident::is_xid_continue(sign)).unwrap_or(rest.len());
                let word = Span::new(second.span.range().start, second.span.range().start + length);
                let several = || {
                    let message = "expected one expression, found several items";
                    refused(source, second.span, message, "a second item")
                };
                let infix = foreign::misplaced(source, Some(word), None);
                Err(infix.map_or_else(several, |infix| Error::Invalid(vec![infix])))
            }
        }
    }

    /// Parses the items of a source with the operators in force now.
    pub(super) fn parse(&self, source: &Source) -> Result<Vec<Item>, Error> {
        let (names, limits) = (self.engine.names(), self.engine.config().limits);
        let poll = self.poll();
        let tokens = lex_polled(source, names, limits.max_source_bytes, &poll)
            .map_err(|diagnostic| Error::Invalid(vec![diagnostic]))?;
        let limits = ParseLimits { max_nesting: limits.max_nesting };
        let mut parser = Parser::new(&tokens, names, limits).polled(&poll);
        let mut items = Vec::new();
        while let Some(item) = parser.next_item(self.world.operators()) {
            items.push(item.map_err(|errors| Error::Invalid(errors.diagnostics))?);
        }
        Ok(items)
    }
}

fn refused(source: &Source, span: Span, message: &str, note: &str) -> Error {
    Error::Invalid(vec![Diagnostic::error(ErrorCode::UnexpectedToken, source, span, message).with_note(note)])
}

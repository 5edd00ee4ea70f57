//! Listings: a text or a definition as one stage of the compiler sees it.

use super::Context;
use crate::error::Error;
use crate::failure::Failure;
use crate::float_environment::DefaultEnvironment;
use crate::jit::Defined;
use crate::listing::{self, Listing};
use crate::sema::{self, checked};
use crate::source::Source;
use crate::syntax::lexer::lex;
use crate::syntax::printer;
use crate::tape::TooMany;
use std::sync::Arc;

/// A stage of the compiler.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Stage {
    /// One token a line, with its place.
    Tokens,
    /// Syntax trees as S-expressions.
    Ast,
    /// Interpreted instructions, with the places they were made for.
    Tape,
    /// LLVM IR, optimised; with what is inlined. Needs the feature `compiler`.
    Ir,
    /// Assembly of that. Needs the feature `compiler`.
    Assembly,
}

impl Context {
    /// Returns the output of a stage of the compiler for a definition, given by
    /// its name, or for any other source. Nothing is run, nothing is defined.
    /// LLVM is started for its stages, even where programs are interpreted.
    ///
    /// ```
    /// let context = kal::Engine::new()?.context()?;
    /// assert_eq!(context.listing(kal::Stage::Ast, "1 + 2 * x(3)")?, "(+ 1 (* 2 (x 3)))\n");
    /// # Ok::<(), kal::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a source that is refused, [`Error::Failed`] if it
    /// cannot be compiled, or an interrupt or the deadline comes first.
    pub fn listing(&self, stage: Stage, text: &str) -> Result<String, Error> {
        let _environment = DefaultEnvironment::enter();
        let _limit = self.limit_of_compile()?;
        let bound = self.name_of(text.trim()).and_then(|name| self.world.function(name));
        match bound {
            Some(function) => self.list_definition(stage, function),
            None => self.list_text(stage, &Source::new("<input>", text)),
        }
    }

    fn list_definition(
        &self,
        stage: Stage,
        function: &Arc<checked::CheckedFunction>,
    ) -> Result<String, Error> {
        let source = Source::new(function.source.name(), function.text());
        match stage {
            Stage::Tokens => self.list_text(stage, &source),
            Stage::Ast => Ok(self
                .reread(function)
                .map_or_else(String::new, |item| printer::symbolic(&item, self.engine.names()))),
            Stage::Tape => self.tapes(std::slice::from_ref(function)),
            Stage::Ir | Stage::Assembly => self.compiled(stage, vec![function.clone()]),
        }
    }

    fn list_text(&self, stage: Stage, source: &Source) -> Result<String, Error> {
        let names = self.engine.names();
        match stage {
            Stage::Tokens => {
                let tokens = lex(source, names).map_err(|diagnostic| Error::Invalid(vec![diagnostic]))?;
                Ok(printer::token_list(&tokens, |_| true))
            }
            Stage::Ast => {
                let items = self.parse(source)?;
                Ok(items.iter().map(|item| printer::symbolic(item, names)).collect())
            }
            Stage::Tape => self.tapes(&self.checked(source)?),
            Stage::Ir | Stage::Assembly => self.compiled(stage, self.checked(source)?),
        }
    }

    /// Checks a source and returns its functions, including top-level
    /// expressions.
    pub(crate) fn checked(&self, source: &Source) -> Result<Vec<Arc<checked::CheckedFunction>>, Error> {
        let mut functions = Vec::new();
        for item in self.parse(source)? {
            match sema::check(&item, self).map_err(Error::Invalid)? {
                sema::CheckedItem::Definition(function, _)
                | sema::CheckedItem::Variables(function, _)
                | sema::CheckedItem::Expression(function)
                | sema::CheckedItem::Effect(function) => functions.push(function),
                sema::CheckedItem::Extern(_) | sema::CheckedItem::Import(_) => {}
            }
        }
        Ok(functions)
    }

    fn tapes(&self, functions: &[Arc<checked::CheckedFunction>]) -> Result<String, Error> {
        let is_bound = |name| self.world.defines(name);
        let titled = functions.iter().map(|function| (function, self.title(function)));
        let text = listing::tapes(titled, &self.engine, is_bound);
        text.map_err(|TooMany(what)| self.failed(&Failure::TooMany(what)))
    }

    fn title(&self, function: &checked::CheckedFunction) -> String {
        match &*self.engine.names().text(function.name) {
            checked::EXPRESSION => "this expression".to_owned(),
            name => name.to_owned(),
        }
    }

    fn compiled(&self, stage: Stage, functions: Vec<Arc<checked::CheckedFunction>>) -> Result<String, Error> {
        let listing = if stage == Stage::Ir { Listing::Ir } else { Listing::Assembly };
        let with_symbol = |(number, function): (usize, Arc<checked::CheckedFunction>)| {
            let symbol = match &*self.engine.names().text(function.name) {
                checked::EXPRESSION => format!("$expression${number}"),
                name => format!("{name}$impl"),
            };
            (function, symbol)
        };
        let functions = functions.into_iter().enumerate().map(with_symbol).collect();
        let listed = self.list_code(listing, functions, &|name| self.world.function(name).cloned())?;
        Ok(String::from_utf8_lossy(&listed).into_owned())
    }

    /// Returns what functions are compiled to, each under a symbol, in a program
    /// that has these definitions only.
    ///
    /// # Errors
    /// As [`listing`](Self::listing).
    pub(crate) fn list_code(
        &self,
        listing: Listing,
        functions: Vec<(Arc<checked::CheckedFunction>, String)>,
        defined: Defined<'_>,
    ) -> Result<Vec<u8>, Error> {
        let listed = self.engine.jit()?.listing(listing, functions, defined, &self.backend.stopper());
        listed.map_err(|failure| self.failed(&failure))
    }
}

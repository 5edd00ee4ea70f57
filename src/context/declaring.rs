//! Declaring: what an `extern` does in a context.

use super::history::Changed;
use super::{Context, Outcome};
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::error::Error;
use crate::host::ForeignFunction;
use crate::name::Name;
use crate::sema::{self, Declaration, Extern, declaration};

impl Context {
    /// Accepts an `extern`, and records it if it adds something new.
    pub(super) fn declare_extern(&mut self, declared: &Extern) -> Result<Outcome, Error> {
        let declares = declaration::meaning(declared, self).map_err(refused)?;
        let name = declared.name;
        let is_foreign = self.engine.hosts().foreign(name).is_some();
        let says_something = is_foreign || declares == Declaration::Forward;
        if says_something && declares != Declaration::Defined && self.world.declaration(name).is_none() {
            self.check_declaration(declared)?;
            let moment = self.history.moment(&self.world);
            self.set_extern(name, Some(declared.clone()));
            self.history.push(moment, &self.world, Changed::Declaration(self.engine.names().text(name)));
        }
        Ok(Outcome::Extern { name: self.engine.names().text(name).to_string(), declares })
    }

    /// Checks that one more declaration fits into the table.
    fn check_declaration(&self, declared: &Extern) -> Result<(), Error> {
        let Extern { name, ref place, .. } = *declared;
        let most = self.engine.config().limits.max_definitions;
        if self.world.declaration_count() >= most {
            let message = format!("no more than {most} declarations are allowed");
            return Err(refused(Diagnostic::error(ErrorCode::TooMany, &place.source, place.span, message)));
        }
        let is_foreign = self.engine.hosts().foreign(name).is_some();
        if is_foreign && self.engine.config().is_for_prelude {
            let message = "a prelude calls no C functions of the host";
            let error = Diagnostic::error(ErrorCode::Unsupported, &place.source, place.span, message);
            return Err(refused(error.with_note("declared here")));
        }
        if is_foreign && declared.arity() > ForeignFunction::MOST_ARGUMENTS {
            let message =
                format!("a C function may have {} arguments at most", ForeignFunction::MOST_ARGUMENTS);
            let error = Diagnostic::error(ErrorCode::Unsupported, &place.source, place.span, message);
            return Err(refused(error.with_note("too many parameters")));
        }
        Ok(())
    }

    /// Sets what a name is declared as.
    pub(super) fn set_extern(&mut self, name: Name, declared: Option<Extern>) {
        self.tell_declared(name, declared.as_ref().map(Extern::arity));
        self.world.declare(name, declared);
    }

    /// Sets what a foreign function is declared as in the back end.
    pub(super) fn tell_declared(&mut self, name: Name, arity: Option<u32>) {
        if self.engine.hosts().foreign(name).is_some() {
            self.backend.declare(name, arity);
        }
    }

    /// Checks that an item of a program that was checked elsewhere fits the
    /// declarations of this context.
    pub(super) fn fits(&self, item: &sema::CheckedItem) -> Result<(), Error> {
        match item {
            sema::CheckedItem::Definition(function, _) => {
                declaration::misfit(function, self).map_or(Ok(()), |misfit| Err(refused(misfit)))
            }
            sema::CheckedItem::Extern(_)
            | sema::CheckedItem::Import(_)
            | sema::CheckedItem::Variables(..)
            | sema::CheckedItem::Expression(_)
            | sema::CheckedItem::Effect(_) => Ok(()),
        }
    }

    /// Returns the signatures, such as `even(n)`, of the functions that are
    /// declared but neither defined nor offered by the host, in alphabetical
    /// order.
    pub fn undefined_declarations(&self) -> Vec<String> {
        let is_undefined = |declared: &&Extern| {
            let name = declared.name;
            !self.world.defines(name) && self.engine.hosts().foreign(name).is_none()
        };
        self.heads(is_undefined)
    }

    /// Returns the signatures of the declared functions that a script must
    /// declare again.
    pub(super) fn unbound_declarations(&self) -> Vec<String> {
        self.heads(|declared| !self.world.defines(declared.name))
    }

    fn heads(&self, is_wanted: impl Fn(&&Extern) -> bool) -> Vec<String> {
        let wanted = self.world.declarations().filter(is_wanted);
        let mut heads: Vec<String> =
            wanted.map(|declared| declaration::head(declared, self.engine.names())).collect();
        heads.sort();
        heads
    }
}

fn refused(diagnostic: Diagnostic) -> Error {
    Error::Invalid(vec![diagnostic])
}

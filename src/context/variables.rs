//! The variables of a context: their declaration, their values, and the places
//! where these are.
//!
//! A place has a number, which is the same in all contexts of an engine as long
//! as one of them, or code, holds it. A context holds the places of its declared
//! variables, and of those that its history can bring back.

use super::Context;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::error::Error;
use crate::failure::Failure;
use crate::module::MemberKind;
use crate::name::{HeldName, Name};
use crate::runtime::Variable;
use crate::sema::checked::CheckedFunction;
use crate::syntax::comment::documentation;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

impl Context {
    /// Keeps the `##` lines above a declaration of variables.
    pub(super) fn note_variables(&mut self, declaration: &CheckedFunction, names: &[HeldName]) {
        let Some(text) = documentation(&declaration.source, declaration.span) else { return };
        names.iter().for_each(|name| self.notes.insert(name.clone(), text.clone()));
    }

    /// Returns the `##` lines above the declaration of a variable, without the marks.
    pub(crate) fn variable_documentation(&self, name: &str) -> Option<&str> {
        self.notes.get(self.declared(name).ok()?)
    }

    /// Checks that the variables of a declaration fit into the book.
    pub(super) fn check_variables(&self, declaration: &CheckedFunction, names: &[Name]) -> Result<(), Error> {
        let most = self.engine.config().limits.max_variables;
        let new = names.iter().filter(|name| !self.world.has_variable(**name)).count();
        if self.world.variable_count() + new <= most {
            return Ok(());
        }
        let message = format!("no more than {most} variables are allowed");
        let (source, span) = (&declaration.source, declaration.span);
        let diagnostic = Diagnostic::error(ErrorCode::TooMany, source, span, message);
        Err(Error::Invalid(vec![diagnostic.with_note("one variable too many")]))
    }

    /// Holds the places of variables that are about to be declared.
    pub(super) fn hold_variables(&mut self, names: &[Name]) -> Result<(), Error> {
        if names.iter().all(|name| self.variables.hold(*name).is_some()) {
            return Ok(());
        }
        self.release_variables();
        Err(self.failed(&Failure::TooMany("variables")))
    }

    /// Releases the places of variables that are not declared and that the
    /// history cannot bring back. They are 0 afterwards.
    pub(super) fn release_variables(&mut self) {
        if self.variables.len() <= self.world.variable_count() {
            return;
        }
        let (world, history, backend) = (&self.world, &self.history, &self.backend);
        let kept: FxHashSet<Name> = history.variables().collect();
        let keeps = |name| world.has_variable(name) || kept.contains(&name);
        self.variables.retain(keeps, |number| backend.set_variable(Variable(number), 0.0));
    }

    /// Returns the place of a declared variable.
    fn place(&self, name: Name) -> Result<Variable, Error> {
        let number = self.variables.find(name).map(Variable);
        number.ok_or_else(|| self.failed(&Failure::internal("a variable has no place")))
    }

    /// Returns the value of a variable.
    ///
    /// # Errors
    /// [`Error::NoVariable`] if it is not declared.
    pub fn variable(&self, name: &str) -> Result<f64, Error> {
        self.value_of(self.declared(name)?)
    }

    /// Returns the value of a variable that is declared.
    pub(super) fn value_of(&self, name: Name) -> Result<f64, Error> {
        Ok(self.backend.variable(self.place(name)?))
    }

    /// Sets the value of a variable that is declared.
    pub(super) fn set_value_of(&mut self, name: Name, value: f64) -> Result<(), Error> {
        let place = self.place(name)?;
        self.backend.set_variable(place, value);
        Ok(())
    }

    /// Sets the value of a variable that the program, or a module that it imports, has declared.
    ///
    /// # Errors
    /// [`Error::NoVariable`] if it is not declared, [`Error::Constant`] if it is of a module that is
    /// part of Kal.
    pub fn set_variable(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let name = self.declared(name)?;
        let text = self.engine.names().text(name);
        if let Some((module, short)) = self.world.imports().constant(&text) {
            return Err(Error::Constant { name: short.to_owned(), module: module.to_owned() });
        }
        self.set_value_of(name, value)
    }

    /// Declares a variable, as a top-level `var` does, and gives it a value.
    ///
    /// # Errors
    /// [`Error::BadName`] if the name is not an identifier, [`Error::Failed`] if
    /// there are too many variables.
    pub fn declare(&mut self, name: &str, value: f64) -> Result<(), Error> {
        if !crate::syntax::is_identifier(name) {
            return Err(Error::BadName(name.to_owned()));
        }
        let name = self.name(name)?;
        let most = self.engine.config().limits.max_variables;
        if !self.world.has_variable(name.name()) && self.world.variable_count() >= most {
            return Err(self.failed(&Failure::TooMany("variables")));
        }
        self.hold_variables(&[name.name()])?;
        self.backend.set_variable(self.place(name.name())?, value);
        self.world.declare_variable(name);
        Ok(())
    }

    /// Holds the name of a text that the host has given.
    pub(super) fn name(&self, text: &str) -> Result<HeldName, Error> {
        let too_many = |_| self.failed(&Failure::TooMany("names"));
        self.engine.names().try_hold(text).map_err(too_many)
    }

    /// Returns the names of the variables, in alphabetical order.
    pub fn variable_names(&self) -> Vec<String> {
        let imports = self.world.imports();
        let spelling = |name| imports.spelling(&self.engine.names().text(name)).into_owned();
        let texts = self.world.variables().map(spelling);
        texts.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns whether a name is one that the program may use: not that of a module which is not
    /// imported, or not any more.
    #[cfg(feature = "cli")]
    pub(crate) fn is_of_import(&self, name: &str) -> bool {
        let qualifier = crate::module::parts(name).map(|(qualifier, _)| qualifier);
        qualifier.is_none_or(|qualifier| self.world.imports().module(qualifier).is_some())
    }

    /// Returns the variables with the bits of their values, in alphabetical order.
    pub(super) fn variable_bits(&self) -> Vec<(String, u64)> {
        let value = |name: String| {
            let bits = self.variable(&name).ok()?.to_bits();
            Some((name, bits))
        };
        self.variable_names().into_iter().filter_map(value).collect()
    }

    pub(super) fn declared(&self, text: &str) -> Result<Name, Error> {
        let name = self.engine.names().get(&self.world.imports().everywhere(text));
        let own = name.filter(|name| self.world.has_variable(*name));
        let imported =
            || Some(self.world.imports().alias(name?, MemberKind::Variable).ok()??.qualified.name());
        own.or_else(imported).ok_or_else(|| Error::NoVariable(text.to_owned()))
    }
}

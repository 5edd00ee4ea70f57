//! Definitions at the debugger's prompt: they take effect at once, for calls
//! that begin later. Calls in progress keep running the code they began with.

use super::evaluate::{drawn, parse};
use super::{Inner, NewDefinition};
use crate::abi::HeldVariables;
use crate::interp::KeptFunction;
use crate::interp::inspect::PausedRun;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, CheckedItem};
use crate::source::Source;
use crate::syntax::ast::ItemKind;
use crate::syntax::operator::Fixity;
use crate::syntax::parser::is_incomplete;
use std::sync::Arc;

impl Inner {
    /// Executes a definition, which may continue on further lines. Returns
    /// whether it was one: `var a = 1 in a` is an expression.
    pub(super) fn define(&mut self, stop: &mut PausedRun<'_>, line: &str) -> bool {
        let Some(text) = self.complete(line) else {
            self.last.clear();
            return true;
        };
        let item = match parse(&text, &self.names, &self.scope) {
            Ok(item) if matches!(item.kind, ItemKind::Expression(_) | ItemKind::Effect(_)) => return false,
            Ok(item) => self.checking(|surroundings| sema::check(&item, surroundings)),
            Err(diagnostics) => Err(diagnostics),
        };
        match item {
            Ok(CheckedItem::Definition(function, fixity)) => self.bind(stop, &function, fixity),
            Ok(CheckedItem::Variables(function, names)) => self.declare(stop, &function, &names),
            Ok(CheckedItem::Import(_)) => self.error("an import is for the kal> prompt or the program"),
            Ok(CheckedItem::Extern(_)) => self.error("an extern is for the kal> prompt or the program"),
            Ok(CheckedItem::Expression(_) | CheckedItem::Effect(_)) => return false,
            Err(diagnostics) => self.console.say(&drawn(&diagnostics)),
        }
        true
    }

    /// Reads further lines until the definition is complete, or given up.
    fn complete(&mut self, line: &str) -> Option<String> {
        let mut text = line.to_owned();
        while is_incomplete(&Source::new("<debug>", &*text), &self.names, self.scope.world.operators()) {
            let more = self.console.read_more("...> ")?;
            if more.trim().is_empty() {
                break;
            }
            text = format!("{text}\n{more}");
        }
        Some(text)
    }

    fn bind(&mut self, stop: &mut PausedRun<'_>, function: &Arc<CheckedFunction>, fixity: Option<Fixity>) {
        let is_redefined = self.scope.world.defines(function.name);
        if !is_redefined && self.hosts.get(function.name).is_some() {
            let name = self.names.text(function.name);
            return self.error(&format!(
                "`{name}` is built in, and the running code uses it: define it before the run"
            ));
        }
        self.adopt_called(stop, function);
        stop.define(function);
        self.breakpoints.note(function);
        self.scope.world.define(function, fixity);
        self.read.clear();
        self.has_changed = true;
        let how = if is_redefined { "redefined" } else { "defined" };
        let signature = self.signature(function);
        self.console.say(&format!("{signature} {how}"));
        self.defined.insert(function.name);
        self.changes.functions.push(NewDefinition { function: function.clone(), fixity });
    }

    fn declare(&mut self, stop: &mut PausedRun<'_>, function: &Arc<CheckedFunction>, names: &[Name]) {
        let mut held = HeldVariables::of(&self.variables);
        if names.iter().any(|name| held.hold(*name).is_none()) {
            return self.error("there are too many variables");
        }
        match stop.evaluate(&Arc::new(KeptFunction { function: function.clone() }), &[]) {
            Ok(_) => {
                let names: Vec<_> = names.iter().map(|name| self.names.text(*name)).collect();
                names.iter().for_each(|name| self.scope.world.declare_variable(name.clone()));
                self.changes.variables.push(held);
                self.console.say(&format!("{} declared", names.join(", ")));
            }
            Err(stopped) => {
                let why = self.why(&stopped);
                self.console.say(&why.to_string());
            }
        }
    }
}

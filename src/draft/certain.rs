//! Failures that are certain: what `kal check` knows about a run without
//! running.
//!
//! The items are taken in order, as a run takes them. What a top-level
//! expression calls outside of branches is called, and so is what that calls;
//! the first of these calls that finds no function, or one that takes another
//! number of arguments, ends the program.

use super::Draft;
use crate::diagnostic::{Diagnostic, ErrorCode, Severity};
use crate::name::Name;
use crate::sema::checked::{Callee, CheckedFunction, EXPRESSION};
use crate::sema::instance::shown;
use crate::sema::{CheckedItem, arguments, misfit, taken};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The functions defined at one point of the program.
type DefinedHere<'d> = FxHashMap<Name, &'d Arc<CheckedFunction>>;

/// Calls deeper than this are not followed.
const DEEPEST: usize = 256;

/// A call that fails.
struct Fatal<'d> {
    caller: &'d Arc<CheckedFunction>,
    callee: Callee,
    /// What the callee is bound to when it is called.
    found: Option<&'d Arc<CheckedFunction>>,
}

impl Draft<'_> {
    /// Returns all diagnostics in source order: mistakes, failures that are
    /// certain, and warnings.
    pub(crate) fn findings(&self) -> Vec<Diagnostic> {
        let place = |diagnostic: &Diagnostic| {
            let label = diagnostic.labels.first()?;
            let source = self.sources.iter().position(|source| *source == label.source);
            Some((source, label.span.start))
        };
        let mut findings = self.certain_failures();
        let certain: FxHashSet<_> = findings.iter().map(place).collect();
        let others = self
            .diagnostics
            .iter()
            .filter(|other| other.severity == Severity::Error || !certain.contains(&place(other)));
        findings.extend(others.chain(&self.lints).cloned());
        findings.sort_by_key(place);
        findings
    }

    /// Returns the failures that are certain, as errors, one for each call.
    pub(crate) fn certain_failures(&self) -> Vec<Diagnostic> {
        if self.has_lost_import {
            return Vec::new();
        }
        let (mut defined, mut reported) = (DefinedHere::default(), FxHashSet::default());
        let mut failures = Vec::new();
        for item in &self.items {
            match item {
                CheckedItem::Definition(function, _) => _ = defined.insert(function.name, function),
                CheckedItem::Extern(_) | CheckedItem::Import(_) => {}
                CheckedItem::Variables(function, _)
                | CheckedItem::Expression(function)
                | CheckedItem::Effect(function) => {
                    let mut visited = FxHashSet::from_iter([function.name]);
                    let fatal = self.fatal(function, &defined, &mut visited, 0);
                    let is_new =
                        |fatal: &Fatal<'_>| reported.insert((Arc::as_ptr(fatal.caller), fatal.callee.span));
                    failures.extend(fatal.filter(is_new).map(|fatal| self.failure(&fatal, function)));
                }
            }
        }
        failures
    }

    /// Returns the first call that fails once `caller` runs.
    fn fatal<'d>(
        &self,
        caller: &'d Arc<CheckedFunction>,
        defined: &DefinedHere<'d>,
        visited: &mut FxHashSet<Name>,
        depth: usize,
    ) -> Option<Fatal<'d>> {
        for callee in caller.certain_calls() {
            match defined.get(&callee.name) {
                Some(known) if !known.fits(callee.arity) => {
                    return Some(Fatal { caller, callee: *callee, found: Some(known) });
                }
                Some(known) => {
                    let is_new = depth < DEEPEST && visited.insert(callee.name);
                    if let Some(fatal) =
                        is_new.then(|| self.fatal(known, defined, visited, depth + 1)).flatten()
                    {
                        return Some(fatal);
                    }
                }
                None if self.is_of_the_host(callee.name) || self.refused.contains_key(&callee.name) => {}
                None => return Some(Fatal { caller, callee: *callee, found: None }),
            }
        }
        None
    }

    /// Returns the error for a call that fails in the run of `outermost`.
    fn failure(&self, fatal: &Fatal<'_>, outermost: &Arc<CheckedFunction>) -> Diagnostic {
        let Fatal { caller, callee, found } = fatal;
        let text = self.names.text(callee.name);
        let error = |code, message| Diagnostic::error(code, &caller.source, callee.span, message);
        let diagnostic =
            match (found, self.functions.get(&callee.name)) {
                (Some(known), _) => {
                    let (passed, takes) = (arguments(callee.arity as usize), taken(known));
                    let calls = match &*self.names.text(caller.name) {
                        EXPRESSION => "this expression calls".to_owned(),
                        name => format!("`{}` calls", shown(name)),
                    };
                    let mistake = misfit(known, &shown(&text), callee.arity);
                    let message = format!("{calls} {mistake}");
                    error(ErrorCode::StaleCall, message)
                        .with_note(format!("called with {passed}"))
                        .with_label(&known.source, known.name_span, format!("takes {takes}"))
                }
                (None, Some(later)) => error(
                    ErrorCode::UndefinedFunction,
                    format!("`{}` is called before it is defined", shown(&text)),
                )
                .with_note("this call")
                .with_label(&later.source, later.name_span, "defined only after the call"),
                (None, None) => self.never_defined(caller, callee),
            };
        if Arc::ptr_eq(caller, outermost) {
            return diagnostic;
        }
        diagnostic.with_label(&outermost.source, outermost.name_span, "the call happens in this run")
    }
}

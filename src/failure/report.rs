//! What failures mean for people: diagnostics, with what else is defined.

use super::{CallGroup, Failure, RunFailure};
use crate::diagnostic::suggest::Budget;
use crate::diagnostic::{Diagnostic, ErrorCode, Label};
use crate::host::HostFunctions;
use crate::host::decimal::grouped;
use crate::host::printing;
use crate::module::standard;
use crate::name::{Name, Names};
use crate::sema::checked::{Callee, CheckedFunction, CheckedNode, Made};
use crate::sema::instance::{
    given_text, instance_parts, misgiven, operands_of, shown, shown_call, shown_nameless,
};
use crate::sema::{
    Extern, SourcePlace, arguments, called_variable, declaration, misfit, mistaken_call, taken, unqualified,
};
use crate::source::{Source, Span};
use crate::syntax::foreign;
use crate::world::World;
use std::sync::Arc;

/// Turns failures into diagnostics: the names in them, and what else is
/// defined.
pub(crate) struct FailureReport<'a> {
    pub(crate) names: &'a Names,
    pub(crate) hosts: &'a HostFunctions,
    /// What is defined and declared.
    pub(crate) world: &'a World,
    /// What suggestions may cost.
    pub(crate) suggestions: &'a Budget,
}

impl FailureReport<'_> {
    /// Returns the diagnostic for a failed run, with its call trace.
    pub(crate) fn diagnose_run(&self, stopped: &RunFailure) -> Diagnostic {
        let mut diagnostic = self.diagnose(&stopped.failure);
        let (inner, omitted, outer) = stopped.trace.shown();
        let innermost = inner.first().and_then(|calls| calls.functions().first());
        if let (true, Some(function)) = (diagnostic.labels.is_empty(), innermost) {
            let (span, note) = match &stopped.failure {
                Failure::Host { callee, passed, .. } => failed_call(function, *callee, passed),
                _ => None,
            }
            .unwrap_or_else(|| (function.name_span, self.running(function)));
            diagnostic = diagnostic.with_label(&function.source, span, note);
        }
        // A single call is the place that is shown anyway.
        if inner.len() + outer.len() > 1 || inner.first().is_some_and(|calls| calls.count > 1) {
            let omitted = (omitted > 0).then(|| format!("… {} more", grouped(omitted)));
            let inner = inner.iter().map(|calls| self.describe_calls(calls));
            diagnostic.trace =
                inner.chain(omitted).chain(outer.iter().map(|calls| self.describe_calls(calls))).collect();
        }
        diagnostic
    }

    fn running(&self, function: &CheckedFunction) -> &'static str {
        match shown_nameless(&self.names.text(function.name)) {
            Some(_) => "while evaluating this",
            None => "while running this function",
        }
    }

    /// Describes a group of calls: `fib(n) × 48,211`, `even(n) ↔ odd(n) ×
    /// 24,105`.
    fn describe_calls(&self, calls: &CallGroup) -> String {
        let signatures: Vec<String> =
            calls.functions().iter().map(|function| self.describe_call(function)).collect();
        let signatures = signatures.join(" ↔ ");
        if calls.count == 1 { signatures } else { format!("{signatures} × {}", grouped(calls.count)) }
    }

    fn describe_call(&self, function: &CheckedFunction) -> String {
        shown_call(function, SHOWN_PARAMETERS, self.names)
    }

    /// Returns the diagnostic for a failure.
    pub(crate) fn diagnose(&self, failure: &Failure) -> Diagnostic {
        match failure {
            Failure::Undefined { callee, passed, caller } => {
                self.undefined(*callee, *passed, caller.as_ref())
            }
            Failure::Undeclared { callee, passed, caller } => {
                self.undeclared(*callee, *passed, caller.as_ref())
            }
            Failure::Stale { callee, passed, caller } => self.stale(callee, *passed, caller.as_ref()),
            Failure::HostArity { callee, wanted, passed, caller } => {
                let text = self.names.text(*callee);
                let problem =
                    format!("the host function `{text}`, which takes {}", arguments(*wanted as usize));
                self.call(ErrorCode::WrongArity, *callee, *passed, caller.as_ref(), &problem)
            }
            Failure::StackOverflow => nowhere(ErrorCode::StackOverflow, "stack overflow".into())
                .with_help("is there an endless recursion?"),
            Failure::OutOfFuel => nowhere(ErrorCode::OutOfFuel, "out of fuel".into()),
            Failure::Interrupted => nowhere(ErrorCode::Interrupted, "interrupted".into()),
            Failure::DeadlineExceeded => {
                nowhere(ErrorCode::DeadlineExceeded, "the run took longer than allowed".into())
            }
            Failure::Host { callee, message, .. } => {
                let text = self.names.text(*callee);
                let name = if printing::is_part(&text) { "print" } else { &text };
                nowhere(ErrorCode::HostFailure, format!("`{name}` failed: {message}"))
            }
            Failure::Compile { function, message } => {
                let what = self.describe(function);
                let message = format!("{what} cannot be compiled: {message}");
                Diagnostic::error(ErrorCode::CompileFailure, &function.source, function.name_span, message)
                    .with_note("this function")
            }
            Failure::OverLimit { function, limit } => {
                let what = self.describe(function);
                let message = format!("{what} is not compiled: {limit}");
                Diagnostic::error(ErrorCode::ContextLimit, &function.source, function.name_span, message)
                    .with_note("this function")
            }
            Failure::TooMany(what) => nowhere(ErrorCode::TooMany, format!("there are too many {what}")),
            Failure::System(message) => {
                nowhere(ErrorCode::CompileFailure, format!("the system refused a resource: {message}"))
            }
            Failure::Internal { message, function } => bug(message, function.as_ref()),
            Failure::Console(message) => {
                nowhere(ErrorCode::HostFailure, format!("the debugger's console panicked: {message}"))
            }
        }
    }

    /// Returns the warning for a definition that calls `callee` with a number
    /// of arguments, or with functions, that it no longer takes.
    pub(crate) fn stale_caller(
        &self,
        caller: &Arc<CheckedFunction>,
        callee: &Arc<CheckedFunction>,
    ) -> Option<Diagnostic> {
        let mut calls = caller.callees.iter();
        if let Some(call) = calls.find(|call| call.name == callee.name && !callee.fits(call.arity)) {
            return Some(self.stale(callee, call.arity, Some(caller)).as_warning());
        }
        let name = self.names.text(callee.name);
        let gives = |call: &&Callee| {
            let called = self.names.text(call.name);
            let is_instance = instance_parts(&called).is_some_and(|(pattern, _)| pattern == &*name);
            is_instance && !callee.is_pattern_of(&called)
        };
        let call = caller.callees.iter().find(gives)?;
        Some(self.undefined(call.name, call.arity, Some(caller)).as_warning())
    }

    /// Returns the warning that counts the callers that are not named.
    pub(crate) fn more_stale_callers(&self, more: usize, callee: &Arc<CheckedFunction>) -> Diagnostic {
        let text = self.names.text(callee.name);
        let callers =
            if more == 1 { "1 more definition calls" } else { &format!("{more} more definitions call") };
        let takes = taken(callee);
        let message = format!("{callers} `{text}` with another number of arguments");
        Diagnostic::error(ErrorCode::StaleCall, &callee.source, callee.name_span, message)
            .with_note(format!("takes {takes}"))
            .as_warning()
    }

    fn undefined(&self, callee: Name, passed: u32, caller: Option<&Arc<CheckedFunction>>) -> Diagnostic {
        let text = self.names.text(callee);
        if let Some(declared) = self.world.declaration(callee) {
            return self.unfulfilled(declared, passed, caller);
        }
        if let Some(operands) = operands_of(&text) {
            let problem = mistaken_call(&given_text(&text), passed, &operands.to_string());
            return self.call(ErrorCode::StaleCall, callee, passed, caller, &problem);
        }
        let diagnostic = self.call(
            ErrorCode::UndefinedFunction,
            callee,
            passed,
            caller,
            &format!("`{}`, which is not defined", shown(&text)),
        );
        if let Some((pattern, given)) = instance_parts(&text) {
            let habit = || foreign::function(pattern).map(str::to_owned);
            if let Some(help) = standard::import_help(pattern, self.world.imports()).or_else(habit) {
                return diagnostic.with_help(help);
            }
            let is_defined = |name: &str| self.names.get(name).is_some_and(|name| self.world.defines(name));
            let is_function = |name: &str| {
                is_defined(name) || self.names.get(name).is_some_and(|name| self.hosts.get(name).is_some())
            };
            return match is_defined(pattern) {
                true => diagnostic.with_help(misgiven(pattern, &given, is_function)),
                false => {
                    let imports = self.world.imports();
                    diagnostic.with_any_help(standard::misspelt_help(pattern, imports, self.suggestions))
                }
            };
        }
        let call = diagnostic.labels.first().filter(|_| caller.is_some());
        if let Some(line) = call.and_then(|call| defined_after(&text, call)) {
            return diagnostic.with_help(format!("`{text}` is defined only later, on line {line}"));
        }
        let across = call.and_then(|call| foreign::called_across_lines(&call.source, call.span));
        let head = || caller.and_then(|caller| caller.head_taking(callee, self.names));
        let taken = || head().map(|head| format!("to take a function: `def {head} …`"));
        let offered = || {
            let imports = self.world.imports();
            let dropped = imports.qualified_spelling(&text).filter(|spelling| {
                let name = self.names.get(&imports.everywhere(spelling));
                !name.is_some_and(|name| self.world.defines(name))
            });
            match dropped {
                Some(spelling) => {
                    Some(format!("`{spelling}` was dropped; importing the module again restores it"))
                }
                None => standard::import_help(&text, imports),
            }
        };
        let variable = self.world.has_variable(callee).then(|| called_variable(&text));
        let habit = || foreign::function(&text).map(str::to_owned);
        if let Some(help) = across.or(variable).or_else(taken).or_else(offered).or_else(habit) {
            return diagnostic.with_help(help);
        }
        if let Some(help) = unqualified::advice(&text, self.names, self.hosts) {
            return diagnostic.with_help(help);
        }
        if self.suggestions.is_empty() {
            return diagnostic;
        }
        let bound = self.world.function_names();
        let functions: Vec<Name> = bound.chain(self.hosts.names()).collect();
        // A function that misspells a callee hardly means itself.
        let is_caller = |name: &Name| caller.is_some_and(|caller| caller.name == *name);
        let others = functions.iter().filter(|name| !is_caller(name));
        match self.suggestions.nearest(&text, others.map(|name| self.names.text(*name))) {
            Some(near) => {
                let spelling = self.world.imports().spelling(&near);
                diagnostic.with_help(format!("did you mean `{spelling}`?"))
            }
            None => {
                let imports = self.world.imports();
                diagnostic.with_any_help(standard::misspelt_help(&text, imports, self.suggestions))
            }
        }
    }

    /// Returns the diagnostic for a call of a function that has only been
    /// declared.
    fn unfulfilled(
        &self,
        declared: &Extern,
        passed: u32,
        caller: Option<&Arc<CheckedFunction>>,
    ) -> Diagnostic {
        let problem = format!("`{}`, which is declared but not defined", self.names.text(declared.name));
        let SourcePlace { source, span } = &declared.place;
        self.call(ErrorCode::UndefinedFunction, declared.name, passed, caller, &problem)
            .with_label(source, *span, "the declaration")
            .with_help(declaration::advice(declared, self.names, self.hosts, self.suggestions))
    }

    fn undeclared(&self, callee: Name, passed: u32, caller: Option<&Arc<CheckedFunction>>) -> Diagnostic {
        let text = self.names.text(callee);
        let problem = format!("`{text}`, which is not declared");
        let parameters: Vec<_> = ["x", "y", "z", "u", "v", "w"].into_iter().take(passed as usize).collect();
        self.call(ErrorCode::UndefinedFunction, callee, passed, caller, &problem)
            .with_help(format!("say how many arguments it takes: `extern {text}({})`", parameters.join(" ")))
    }

    fn stale(
        &self,
        callee: &Arc<CheckedFunction>,
        passed: u32,
        caller: Option<&Arc<CheckedFunction>>,
    ) -> Diagnostic {
        let text = self.names.text(callee.name);
        let takes = taken(callee);
        let problem = misfit(callee, &text, passed);
        self.call(ErrorCode::StaleCall, callee.name, passed, caller, &problem).with_label(
            &callee.source,
            callee.name_span,
            format!("takes {takes}"),
        )
    }

    /// Returns the diagnostic `caller calls problem`, at the place of the call
    /// if that is known.
    fn call(
        &self,
        code: ErrorCode,
        callee: Name,
        passed: u32,
        caller: Option<&Arc<CheckedFunction>>,
        problem: &str,
    ) -> Diagnostic {
        let caller = caller.filter(|caller| caller.made != Made::Dispatcher);
        let Some(caller) = caller else { return nowhere(code, format!("a call of {problem}")) };
        let mut calls = caller.callees.iter();
        let call = calls.find(|call| call.name == callee && call.arity == passed);
        let span = call.map_or(caller.name_span, |call| call.span);
        let message = format!("{} calls {problem}", self.describe(caller));
        Diagnostic::error(code, &caller.source, span, message).with_note("this call")
    }

    fn describe(&self, function: &CheckedFunction) -> String {
        let name = self.names.text(function.name);
        shown_nameless(&name).map_or_else(|| format!("`{}`", shown(&name)), str::to_owned)
    }
}

/// What a report of a bug should contain.
pub(crate) const REPORT: &str =
    "please report it, with the program, the options and what `kal --version --verbose` prints";

/// Returns the diagnostic for a bug in Kal.
fn bug(message: &str, function: Option<&Arc<CheckedFunction>>) -> Diagnostic {
    let message = format!("this is a bug in Kal: {message}");
    let diagnostic = match function {
        None => nowhere(ErrorCode::Internal, message),
        Some(function) => {
            Diagnostic::error(ErrorCode::Internal, &function.source, function.name_span, message)
                .with_note("while compiling this")
        }
    };
    diagnostic.with_help(REPORT)
}

/// Returns the place of a call of a host function that failed, and what it is: of several calls
/// that may have passed these arguments, the first one.
fn failed_call(function: &CheckedFunction, callee: Name, passed: &[f64]) -> Option<(Span, &'static str)> {
    let nodes = &function.nodes;
    let is_call = |at: &usize| matches!(nodes[*at], CheckedNode::Call(index) if function.callees[index as usize].name == callee);
    // The arguments are before the call, the last one next to it.
    let may_pass = |at: &usize| {
        let numbers = nodes[..*at].iter().rev().map_while(|node| {
            let CheckedNode::Number(number) = node else { return None };
            function.numbers.get(*number as usize)
        });
        passed.iter().rev().zip(numbers).all(|(passed, number)| passed.to_bits() == number.to_bits())
    };
    let spans: Vec<Span> = function.spans.iter().collect();
    let mut calls = (0..nodes.len()).filter(is_call).filter(may_pass).map(|at| spans[at]);
    let first = calls.next()?;
    Some((first, if calls.all(|span| span == first) { "this call" } else { "this call, or a later one" }))
}

/// Returns the line after a call on which its source defines the function.
fn defined_after(name: &str, call: &Label) -> Option<usize> {
    let text = call.source.text();
    let rest = text.get(call.span.end as usize..)?;
    let defines = |at: &usize| {
        let line = rest[..*at].rsplit('\n').next().unwrap_or("");
        let head = rest[at + "def".len()..].trim_start().strip_prefix(name);
        let is_apart = !line.ends_with(unicode_ident::is_xid_continue) && !line.contains('#');
        is_apart && head.is_some_and(|after| after.trim_start().starts_with('('))
    };
    let at = rest.match_indices("def ").map(|(at, _)| at).find(defines)?;
    Some(call.source.line(call.span.end + at as u32))
}

/// How many parameters a trace names.
const SHOWN_PARAMETERS: usize = 8;

/// Returns a diagnostic without a place.
fn nowhere(code: ErrorCode, message: String) -> Diagnostic {
    let source = Source::new("", "");
    let mut diagnostic = Diagnostic::error(code, &source, Span::default(), message);
    diagnostic.labels.clear();
    diagnostic
}

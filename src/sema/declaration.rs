//! Declarations: what an `extern` declares, and whether that is consistent.
//!
//! An `extern` of a host function repeats what is known. One of a foreign
//! function, which the user has allowed, sets its number of arguments. Any
//! other name is declared ahead of its definition: calls and the definition
//! must fit, and a call before the definition fails. A declaration never gives
//! access to anything.

use super::checked::CheckedFunction;
use super::environment::{Environment, Extern, SourcePlace, arguments};
use crate::diagnostic::suggest::Budget;
use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::host::HostFunctions;
use crate::module;
use crate::name::Names;
use crate::syntax::foreign;

/// What an `extern` declares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Declaration {
    /// A host function.
    Host,
    /// A function that the program has already defined.
    Defined,
    /// A function that the program will define.
    Forward,
}

/// Returns what an `extern` declares.
///
/// # Errors
/// If the function of that name takes another number of arguments.
pub fn meaning(declared: &Extern, environment: &dyn Environment) -> Result<Declaration, Diagnostic> {
    let Extern { name, ref place, .. } = *declared;
    let (text, arity) = (environment.names().text(name), declared.arity());
    let refuse = |what: String| {
        let note = format!("declared with {}", arguments(arity as usize));
        let error =
            Diagnostic::error(ErrorCode::ExternArity, &place.source, place.span, what).with_note(note);
        let is_typed =
            declared.parameters.iter().any(|name| foreign::is_type(&environment.names().text(*name)));
        if is_typed { error.with_help(foreign::NO_TYPES) } else { error }
    };
    if let Some(function) = environment.function(name) {
        if function.arity() == arity {
            return Ok(Declaration::Defined);
        }
        let takes = arguments(function.arity() as usize);
        return Err(refuse(format!("`{text}` takes {takes}, not {arity}")).with_label(
            &function.source,
            function.name_span,
            format!("takes {takes}"),
        ));
    }
    match environment.hosts().get(name).map(|host| host.arity) {
        Some(takes) if takes == arity => return Ok(Declaration::Host),
        Some(takes) => {
            let takes = arguments(takes as usize);
            return Err(refuse(format!("the host function `{text}` takes {takes}, not {arity}")));
        }
        None => {}
    }
    if let Some(before) = environment.declared(name).filter(|before| before.arity() != arity) {
        let takes = arguments(before.arity() as usize);
        return Err(refuse(format!("`{text}` is already declared to take {takes}, not {arity}")).with_label(
            &before.place.source,
            before.place.span,
            format!("first declared with {takes}"),
        ));
    }
    let is_foreign = environment.hosts().foreign(name).is_some();
    Ok(if is_foreign { Declaration::Host } else { Declaration::Forward })
}

/// Returns the error for a definition that does not fit its earlier
/// declaration.
pub fn misfit(function: &CheckedFunction, environment: &dyn Environment) -> Option<Diagnostic> {
    let (name, arity) = (function.name, function.arity());
    let declared = environment.declared(name).filter(|declared| declared.arity() != arity)?;
    let hosts = environment.hosts();
    if environment.function(name).is_some() || hosts.foreign(name).is_some() || hosts.get(name).is_some() {
        return None;
    }
    let (text, takes) = (environment.names().text(name), arguments(declared.arity() as usize));
    let message = format!("`{text}` is declared to take {takes}, not {arity}");
    let SourcePlace { source, span } = &declared.place;
    let error = Diagnostic::error(ErrorCode::ExternArity, &function.source, function.name_span, message);
    let note = format!("defined with {}", parameters(arity));
    Some(error.with_note(note).with_label(source, *span, format!("declared with {takes}")))
}

/// Returns the warning for a declaration that a whole program does not define.
pub fn undefined(declared: &Extern, names: &Names, hosts: &HostFunctions, budget: &Budget) -> Diagnostic {
    let SourcePlace { source, span } = &declared.place;
    let message = format!("`{}` is declared but never defined", names.text(declared.name));
    Diagnostic::error(ErrorCode::UnknownExtern, source, *span, message)
        .as_warning()
        .with_note("the declaration")
        .with_help(advice(declared, names, hosts, budget))
}

/// Returns what to do about a declaration without a definition.
pub fn advice(declared: &Extern, names: &Names, hosts: &HostFunctions, budget: &Budget) -> String {
    let text = names.text(declared.name);
    match budget.nearest(&text, hosts.names().map(|host| names.text(host))) {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            let head = head(declared, names);
            let short = module::parts(&text).map_or(&*text, |(_, short)| short);
            format!(
                "it is not a host function; define it: `def {head} …`; or, if it is a C function that takes \
                 and returns doubles, allow it: `--allow-extern {short}`"
            )
        }
    }
}

/// Returns a count with its noun: `1 parameter`, `2 parameters`.
fn parameters(count: u32) -> String {
    if count == 1 { "1 parameter".into() } else { format!("{count} parameters") }
}

/// Returns the signature of the function, such as `even(n)`.
pub fn head(declared: &Extern, names: &Names) -> String {
    let parameters: Vec<_> = declared.parameters.iter().map(|name| names.text(*name)).collect();
    format!("{}({})", names.text(declared.name), parameters.join(" "))
}

//! The semantic check: from syntax to checked definitions.
//!
//! This is the only maker of [`CheckedFunction`]s and [`CheckedItem`]s, which
//! guarantee that every variable is bound, every operator is defined and every
//! call of a known function fits. What a source means depends on what is
//! already defined; the check asks an [`Environment`] for that and keeps no
//! state.

pub mod asked;
pub mod call_graph;
pub mod checked;
mod checker;
pub mod constant;
pub mod declaration;
mod environment;
mod identity;
pub mod instance;
mod mistakes;
mod printing;
mod resolve;
mod scope;
pub mod spans;
pub mod stored;
pub mod unqualified;

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::module::MemberKind;
use crate::name::{HeldName, Name, Names};
use crate::source::Source;
use crate::syntax::ast::{self, ItemKind, Prototype, Spanned};
use crate::syntax::operator::Fixity;
use checked::CheckedFunction;
use checker::Checker;
pub use declaration::Declaration;
pub use environment::{Environment, Extern, Import, SourcePlace};
pub(crate) use environment::{arguments, called_variable, misfit, mistaken_call, taken};
pub(crate) use printing::is_printing_word;
use resolve::Resolver;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// An item that passed the check.
#[derive(Clone, Debug)]
pub enum CheckedItem {
    /// `def`: the definition, and its fixity if it is an operator.
    Definition(Arc<CheckedFunction>, Option<Fixity>),
    /// An `extern` that agrees with what its name means.
    Extern(Extern),
    /// `import`.
    Import(Import),
    /// A top-level `var`: a function without parameters that assigns the
    /// variables, and their names.
    Variables(Arc<CheckedFunction>, Vec<Name>),
    /// A top-level expression as a function without parameters.
    Expression(Arc<CheckedFunction>),
    /// `do`, or a call of `print` or `write`: such a function, whose value is not printed.
    Effect(Arc<CheckedFunction>),
}

/// Checks an item in its environment.
///
/// # Errors
/// Every mistake found in the item, in source order.
pub fn check(item: &ast::Item, environment: &dyn Environment) -> Result<CheckedItem, Vec<Diagnostic>> {
    let mut checker = Checker::new(environment, &item.source, item.names.clone());
    let checked = checker.item(item);
    if checker.diagnostics.is_empty() { Ok(checked) } else { Err(in_order(checker.diagnostics)) }
}

/// Returns what an `import` asks for; `None` of another item.
pub fn import(item: &ast::Item, names: &Names) -> Option<Import> {
    let ItemKind::Import(import) = &item.kind else { return None };
    Some(import_of(import, &item.source, names))
}

fn import_of(import: &ast::ImportHead, source: &Source, names: &Names) -> Import {
    let held = |spanned: &Spanned| names.text(spanned.name);
    let with_place = |spanned: &Spanned| (held(spanned), spanned.span);
    Import {
        module: held(&import.module),
        alias: import.alias.as_ref().map(held),
        names: import.names.as_ref().map(|names| names.iter().map(with_place).collect()),
        place: SourcePlace { source: source.clone(), span: import.module.span },
    }
}

/// Checks an expression with parameters, as a function without a name.
///
/// # Errors
/// As [`check`]; also if the item is not an expression.
pub fn check_formula(
    item: &ast::Item,
    parameters: &[Name],
    environment: &dyn Environment,
) -> Result<Arc<CheckedFunction>, Vec<Diagnostic>> {
    let ItemKind::Expression(body) = &item.kind else {
        let message = "expected an expression, found a definition";
        let error = Diagnostic::error(ErrorCode::UnexpectedToken, &item.source, item.span, message);
        return Err(vec![error.with_note("a definition")]);
    };
    let held = item.names.iter().map(HeldName::name).chain(parameters.iter().copied());
    let held = environment.names().hold_all(held);
    let mut checker = Checker::new(environment, &item.source, held);
    let spanned = |name| Spanned { name, span: item.span };
    let nameless = spanned(environment.names().intern(checked::EXPRESSION));
    let parameters: Vec<Spanned> = parameters.iter().copied().map(spanned).collect();
    let function = Resolver::new(&mut checker, nameless, &parameters).body(body, item.span);
    if checker.diagnostics.is_empty() { Ok(Arc::new(function)) } else { Err(in_order(checker.diagnostics)) }
}

/// Sorts the mistakes of one item by their places.
fn in_order(mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    diagnostics.sort_by_key(|diagnostic| diagnostic.labels[0].span.start);
    diagnostics
}

/// Returns the warning for a definition that its operator never calls: `=`
/// assigns, whatever a program defines.
pub fn uncalled(function: &CheckedFunction, fixity: Option<Fixity>, names: &Names) -> Option<Diagnostic> {
    let Some(Fixity::Binary { operator, .. }) = fixity else { return None };
    let message = "`=` assigns: `a = b` does not call this definition";
    (names.text(operator) == "=").then(|| {
        Diagnostic::error(ErrorCode::ReservedOperator, &function.source, function.name_span, message)
            .as_warning()
            .with_note("this operator assigns")
            .with_help("to compare, write `==`")
    })
}

/// Returns the names of the numbers that a definition takes, and its functions.
pub fn parameters_of(prototype: &Prototype) -> (Vec<Spanned>, Box<[checked::TakenFunction]>) {
    let taken = |function: &ast::FunctionParameter| {
        let parameter = prototype.parameters.get(function.position as usize)?;
        let (position, arity) = (function.position, function.parameters.len() as u32);
        Some(checked::TakenFunction { name: parameter.name, position, arity })
    };
    let functions: Box<[checked::TakenFunction]> = prototype.functions.iter().filter_map(taken).collect();
    let is_number = |position: u32| functions.iter().all(|function| function.position != position);
    let numbers = (0..).zip(&prototype.parameters).filter(|(position, _)| is_number(*position));
    (numbers.map(|(_, parameter)| *parameter).collect(), functions)
}

impl Checker<'_> {
    fn item(&mut self, item: &ast::Item) -> CheckedItem {
        let names = self.environment.names();
        let nameless = || Spanned { name: names.intern(checked::EXPRESSION), span: item.span };
        match &item.kind {
            ItemKind::Definition(prototype, body) => {
                self.parameters(&prototype.parameters);
                self.arity_of_operator(prototype);
                let head = self.head(prototype.name);
                let (numbers, functions) = parameters_of(prototype);
                let mut resolver = Resolver::new(self, head, &numbers);
                resolver.functions = functions;
                resolver.written = prototype.name.name;
                let function = resolver.body(body, item.span);
                self.diagnostics.extend(declaration::misfit(&function, self.environment));
                CheckedItem::Definition(Arc::new(function), prototype.fixity)
            }
            ItemKind::Import(import) => CheckedItem::Import(import_of(import, &item.source, names)),
            ItemKind::Extern(prototype) => {
                self.parameters(&prototype.parameters);
                self.no_functions(prototype);
                CheckedItem::Extern(self.declaration(prototype))
            }
            ItemKind::Variables(initialisers) => {
                let resolver = Resolver::new(self, nameless(), &[]);
                let (function, variables) = resolver.declarations(initialisers, item.span);
                CheckedItem::Variables(Arc::new(function), variables)
            }
            ItemKind::Expression(body) => {
                let resolver = Resolver::new(self, nameless(), &[]);
                let prints = resolver.prints(body);
                let function = Arc::new(resolver.body(body, item.span));
                if prints { CheckedItem::Effect(function) } else { CheckedItem::Expression(function) }
            }
            ItemKind::Effect(body) => {
                let function = Resolver::new(self, nameless(), &[]).body(body, item.span);
                CheckedItem::Effect(Arc::new(function))
            }
        }
    }

    fn parameters(&mut self, parameters: &[Spanned]) {
        let mut seen = FxHashMap::default();
        for parameter in parameters {
            if let Some(first) = seen.insert(parameter.name, parameter.span) {
                let message = format!("parameter `{}` is declared twice", self.text(parameter.name));
                let source = self.source.clone();
                let error = self.error(ErrorCode::DuplicateParameter, parameter.span, message);
                error.labels[0].message = "declared again".into();
                *error = error.clone().with_label(&source, first, "first declared");
            }
        }
    }

    /// Refuses parameters of a declaration that are functions.
    fn no_functions(&mut self, prototype: &Prototype) {
        for function in &prototype.functions {
            let Some(parameter) = prototype.parameters.get(function.position as usize) else { continue };
            let message = "only a definition takes functions".to_owned();
            let error = self.error(ErrorCode::UnknownExtern, parameter.span, message);
            error.labels[0].message = "a function".into();
        }
    }

    /// Checks the arity of an operator: the grammar ensures it, except for the
    /// prototype of an `extern` or a plain name.
    fn arity_of_operator(&mut self, prototype: &Prototype) {
        let wanted = match prototype.fixity {
            None => return,
            Some(Fixity::Unary { .. }) => 1,
            Some(Fixity::Binary { .. }) => 2,
        };
        if prototype.parameters.len() != wanted {
            let message = format!("this operator takes {}", operands(wanted));
            let error = self.error(ErrorCode::WrongArity, prototype.name.span, message);
            error.labels[0].message = format!("declared with {}", arguments(prototype.parameters.len()));
        }
    }

    /// Returns what a declaration names: in a module, too, a C function that the user has allowed
    /// is that.
    fn declared_head(&mut self, head: Spanned) -> Spanned {
        let environment = self.environment;
        let is_foreign = environment.hosts().foreign(head.name).is_some();
        let is_of_host = || environment.global(head.name, MemberKind::Function);
        if is_foreign && is_of_host().is_ok_and(|found| found.name() == head.name) {
            return head;
        }
        self.head(head)
    }

    fn declaration(&mut self, prototype: &Prototype) -> Extern {
        let Spanned { name, span } = self.declared_head(prototype.name);
        let declared = Extern {
            name,
            parameters: prototype.parameters.iter().map(|parameter| parameter.name).collect(),
            functions: Box::default(),
            place: SourcePlace { source: self.source.clone(), span },
            names: self.names(),
        };
        match prototype.fixity {
            None => self.diagnostics.extend(declaration::meaning(&declared, self.environment).err()),
            Some(_) => {
                let message = format!("`{}` cannot be declared", self.text(name));
                let error = self.error(ErrorCode::UnknownExtern, span, message);
                error.help = Some("an operator is defined with `def`, before its first use".into());
                error.labels[0].message = "an operator".into();
            }
        }
        declared
    }
}

fn operands(count: usize) -> String {
    if count == 1 { "1 operand".into() } else { format!("{count} operands") }
}

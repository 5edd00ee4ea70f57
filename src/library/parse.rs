//! The first pass over a module: its items, and the names it defines.

use crate::module::{Member, Module, ModuleOperator, by_name, qualified};
use crate::name::{HeldName, Name, Names};
use crate::sema::{self, Extern, Import, SourcePlace};
use crate::source::Source;
use crate::syntax::ast::{Item, ItemKind, Node};
use crate::syntax::operator::{DEFAULT_PRECEDENCE, Fixity, Operators};
use crate::syntax::token::{Terminal, Tokens};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// A module as it was parsed.
pub(super) struct ParsedModule {
    pub(super) name: HeldName,
    pub(super) source: Source,
    /// The items, with the operators in force before each.
    pub(super) items: Vec<(Item, Arc<Operators>)>,
    pub(super) imports: Vec<Import>,
    /// The operators in its text.
    pub(super) used: FxHashSet<Name>,
    functions: Vec<Member>,
    variables: Vec<Member>,
    operators: Vec<ModuleOperator>,
    /// The operators in force, as long as they stay the same.
    in_force: Option<Arc<Operators>>,
}

impl ParsedModule {
    /// Begins a module. Its operators are found ahead of the rest, so that a module
    /// that it imports can import it.
    pub(super) fn begin(name: HeldName, tokens: &Tokens, names: &Names) -> Self {
        let mut module = Self {
            name,
            source: tokens.source().clone(),
            items: Vec::new(),
            imports: Vec::new(),
            used: FxHashSet::default(),
            functions: Vec::new(),
            variables: Vec::new(),
            operators: Vec::new(),
            in_force: None,
        };
        module.find_operators(tokens, names);
        module
    }

    fn find_operators(&mut self, tokens: &Tokens, names: &Names) {
        let terminals = tokens.terminals();
        for at in 0..terminals.len() {
            let (arity, is_binary) = match terminals[at..] {
                [Terminal::Def, Terminal::Unary, operator, ..] if operator.is_operator() => ("unary", false),
                [Terminal::Def, Terminal::Binary, operator, ..] if operator.is_operator() => ("binary", true),
                _ => continue,
            };
            let operator = tokens.name(at + 2);
            let token = names.text(operator);
            let fixity = if is_binary {
                let has_precedence = terminals.get(at + 3) == Some(&Terminal::Number);
                let precedence = if has_precedence { tokens.number(at + 3) } else { 0.0 };
                #[expect(clippy::cast_sign_loss, reason = "1 to 100")]
                let precedence =
                    if (1.0..=100.0).contains(&precedence) { precedence as u8 } else { DEFAULT_PRECEDENCE };
                Fixity::Binary { operator, precedence }
            } else {
                Fixity::Unary { operator }
            };
            let function = self.member(names.hold(&format!("{arity}{token}")), names);
            self.operators.push(ModuleOperator { fixity, token, function });
        }
    }

    fn member(&self, short: HeldName, names: &Names) -> Member {
        let qualified = names.hold(&qualified(&self.name, &short));
        Member { short, qualified }
    }

    /// Returns the function of an operator that the module defines.
    pub(super) fn operator(&self, function: Name, names: &Names) -> HeldName {
        names.hold(&qualified(&self.name, &names.text(function)))
    }

    /// Adds an item, behind which these operators are in force.
    pub(super) fn add(&mut self, item: Item, operators: &Operators, names: &Names) {
        let before = self.in_force.take().unwrap_or_else(|| Arc::new(Operators::new(names)));
        let changes = match &item.kind {
            ItemKind::Definition(prototype, _) => {
                let short = names.text(prototype.name.name);
                self.functions.push(self.member(short, names));
                prototype.fixity.is_some()
            }
            ItemKind::Variables(ast) => {
                let declared = ast.nodes.iter().filter_map(|node| match node {
                    Node::Bind(name) => Some(names.text(*name)),
                    _ => None,
                });
                for short in declared {
                    self.variables.push(self.member(short, names));
                }
                false
            }
            ItemKind::Import(_) => true,
            ItemKind::Extern(_) | ItemKind::Expression(_) | ItemKind::Effect(_) => false,
        };
        self.in_force = Some(if changes { Arc::new(operators.clone()) } else { before.clone() });
        self.items.push((item, before));
    }

    /// Returns what it offers, as far as it has been parsed, without what it imports.
    pub(super) fn interface(&self) -> Module {
        let operators = self.operators.iter().map(|operator| operator.function.clone());
        let functions = by_name(self.functions.iter().cloned().chain(operators));
        let variables = by_name(self.variables.iter().cloned());
        let (name, source) = (self.name.clone(), self.source.clone());
        Module::new(name, source, Arc::new(functions), variables, self.operators.clone())
    }

    /// Returns the heads of its functions.
    pub(super) fn heads(&self, names: &Names) -> Vec<(Name, Extern)> {
        let head = |(item, _): &(Item, Arc<Operators>)| {
            let ItemKind::Definition(prototype, _) = &item.kind else { return None };
            let member = self.member(names.text(prototype.name.name), names);
            let (numbers, functions) = sema::parameters_of(prototype);
            let parameters = numbers.iter().map(|parameter| parameter.name).collect();
            let place = SourcePlace { source: self.source.clone(), span: prototype.name.span };
            let held = item.names.iter().cloned().chain([member.qualified.clone()]).collect();
            let name = member.qualified.name();
            Some((name, Extern { name, parameters, functions, place, names: held }))
        };
        self.items.iter().filter_map(head).collect()
    }
}

//! Modules: what the files of a library offer, and what imports make of it.
//!
//! Inside a module everything is called by a qualified name, `stats.mean`. An
//! import makes a name of the module known without the qualifier, as an *alias*:
//! a program that defines the name itself hides it, and the module's own calls
//! never see that.

pub mod standard;

use crate::diagnostic::{Diagnostic, ErrorCode};
use crate::name::{HeldName, Name, Names};
use crate::source::{Source, Span};
use crate::syntax::operator::{BinaryAction, Fixity, Operators, UnaryMeaning};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What a file of a library offers.
#[derive(Clone)]
pub struct Module {
    /// The name, `stats` or `stats.robust`.
    pub name: HeldName,
    /// The text of the file.
    pub source: Source,
    functions: Arc<dyn MemberTable>,
    variables: FxHashMap<Name, Member>,
    /// The operators that it defines.
    pub operators: Vec<ModuleOperator>,
    /// What it imports itself.
    pub imports: Imports,
}

/// Members by their short names.
pub trait MemberTable: Send + Sync {
    /// Returns the member of that name.
    fn member(&self, short: Name) -> Option<&Member>;

    /// Returns all, in no order.
    fn members(&self) -> Box<dyn Iterator<Item = &Member> + '_>;
}

impl MemberTable for FxHashMap<Name, Member> {
    fn member(&self, short: Name) -> Option<&Member> {
        self.get(&short)
    }

    fn members(&self) -> Box<dyn Iterator<Item = &Member> + '_> {
        Box::new(self.values())
    }
}

/// Returns members by their short names; the last one of each name.
pub fn by_name(members: impl IntoIterator<Item = Member>) -> FxHashMap<Name, Member> {
    members.into_iter().map(|member| (member.short.name(), member)).collect()
}

/// What a name stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MemberKind {
    /// A function.
    Function,
    /// A variable.
    Variable,
}

/// A name that a module defines.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name inside of the module; `binary⊕` for the function of an operator.
    pub short: HeldName,
    /// The name everywhere: `stats.mean`.
    pub qualified: HeldName,
}

impl Member {
    fn is_private(&self) -> bool {
        is_private(&self.short)
    }
}

/// An operator that a module defines.
#[derive(Clone, Debug)]
pub struct ModuleOperator {
    /// How it is read.
    pub fixity: Fixity,
    /// The operator's text.
    pub token: HeldName,
    /// The function that defines it.
    pub function: Member,
}

/// Returns whether a name is for its own module only.
fn is_private(short: &str) -> bool {
    short.starts_with('_')
}

/// Returns the name that a name of a module has everywhere.
pub fn qualified(module: &str, short: &str) -> String {
    format!("{module}.{short}")
}

/// Returns the module and the name in it that a qualified name consists of;
/// `None` if the name is not qualified.
pub fn parts(name: &str) -> Option<(&str, &str)> {
    name.rsplit_once('.').filter(|(module, short)| !module.is_empty() && !short.is_empty())
}

/// Returns the name in its module of what has a qualified name; `None` if nothing has met it, or
/// the name is not qualified.
pub fn short_name(qualified: Name, names: &Names) -> Option<Name> {
    names.get(parts(&names.text(qualified))?.1)
}

impl Module {
    /// Creates a module that defines these functions and variables, and imports nothing.
    pub fn new(
        name: HeldName,
        source: Source,
        functions: Arc<dyn MemberTable>,
        variables: FxHashMap<Name, Member>,
        operators: Vec<ModuleOperator>,
    ) -> Self {
        Self { name, source, functions, variables, operators, imports: Imports::default() }
    }

    /// Returns what a name means inside of the module.
    pub fn member(&self, short: Name, kind: MemberKind) -> Option<&Member> {
        match kind {
            MemberKind::Function => self.functions.member(short),
            MemberKind::Variable => self.variables.get(&short),
        }
    }

    /// Returns the module with what it imports.
    pub fn importing(&self, imports: Imports) -> Self {
        Self { imports, ..self.clone() }
    }

    /// Returns whether an import may name this.
    pub fn offers(&self, short: &HeldName) -> bool {
        let has = |kind| self.member(short.name(), kind).is_some();
        !is_private(short) && (has(MemberKind::Function) || has(MemberKind::Variable))
    }

    /// Returns its functions, also those for itself only, in no order.
    pub fn functions(&self) -> impl Iterator<Item = &Member> {
        self.functions.members()
    }

    /// Returns the names that can be imported, in no order.
    pub fn offered(&self, kind: MemberKind) -> impl Iterator<Item = &Member> {
        let functions = (kind == MemberKind::Function).then(|| self.functions.members());
        let variables = (kind == MemberKind::Variable).then(|| self.variables.values());
        let members = functions.into_iter().flatten().chain(variables.into_iter().flatten());
        members.filter(|member| !member.is_private())
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Which names of a module an import makes known without the qualifier.
#[derive(Clone, Debug)]
pub enum ImportedNames {
    /// All.
    All,
    /// None: the module has another qualifier.
    Qualified,
    /// These.
    Listed(Vec<HeldName>),
}

/// One import.
#[derive(Clone, Debug)]
pub struct ImportedModule {
    /// The module.
    pub module: Arc<Module>,
    /// What qualifies its names here.
    pub qualifier: HeldName,
    /// The names that need no qualifier.
    pub names: ImportedNames,
}

impl ImportedModule {
    fn offers(&self, short: Name, kind: MemberKind) -> Option<&Member> {
        let is_named = match &self.names {
            ImportedNames::All => true,
            ImportedNames::Qualified => false,
            ImportedNames::Listed(names) => names.iter().any(|name| name.name() == short),
        };
        self.module.member(short, kind).filter(|member| is_named && !member.is_private())
    }

    /// Returns it as source.
    pub fn text(&self) -> String {
        let mut text = format!("import {}", self.module.name);
        if self.qualifier != self.module.name {
            text += &format!(" as {}", self.qualifier);
        }
        if let ImportedNames::Listed(names) = &self.names {
            let operators = || self.module.operators.iter();
            let written = |name: &HeldName| {
                let operator = operators().find(|operator| operator.function.short == *name);
                operator.map_or_else(
                    || name.to_string(),
                    |operator| match operator.fixity {
                        Fixity::Unary { .. } => format!("unary {}", operator.token),
                        Fixity::Binary { .. } => format!("binary {}", operator.token),
                    },
                )
            };
            text += &format!("({})", names.iter().map(written).collect::<Vec<_>>().join(" "));
        }
        text
    }

    /// Returns the operators that it brings into force.
    pub fn operators(&self) -> impl Iterator<Item = &ModuleOperator> {
        let is_named = move |operator: &&ModuleOperator| match &self.names {
            ImportedNames::All => true,
            ImportedNames::Qualified => false,
            ImportedNames::Listed(names) => names.contains(&operator.function.short),
        };
        self.module.operators.iter().filter(is_named)
    }
}

/// The imports in force. A clone takes constant time.
#[derive(Clone, Debug, Default)]
pub struct Imports(Arc<Vec<ImportedModule>>);

/// Why a name has no meaning.
#[derive(Clone, Debug)]
pub struct NameMistake {
    code: ErrorCode,
    message: String,
    note: &'static str,
    help: Option<String>,
}

impl NameMistake {
    /// Returns the mistake of a library that defines a name of another module.
    pub fn foreign_head(name: &str, module: &str) -> Self {
        Self {
            code: ErrorCode::UnknownModule,
            message: format!("the module `{module}` cannot define `{name}`"),
            note: "of another module",
            help: Some("a library defines its own names; a program can define any".into()),
        }
    }

    /// Returns it as a diagnostic at a place.
    pub fn at(self, source: &Source, span: Span) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.code, source, span, self.message).with_note(self.note);
        match self.help {
            Some(help) => diagnostic.with_help(help),
            None => diagnostic,
        }
    }
}

impl Imports {
    /// Returns whether nothing is imported.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the imports, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ImportedModule> {
        self.0.iter()
    }

    /// Returns the module and the name in it of a variable that is a constant for programs: one of an
    /// imported module that is part of Kal, by its qualified name.
    pub fn constant<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let (module, short) = parts(name)?;
        let import = self.iter().find(|import| &*import.module.name == module)?;
        import.module.source.is_of_standard_library().then_some((module, short))
    }

    /// Adds an import. One of the same module under the same qualifier is
    /// replaced, with the names of both.
    pub fn add(&mut self, mut import: ImportedModule) {
        let imports = Arc::make_mut(&mut self.0);
        let is_same = |known: &ImportedModule| {
            known.module.name == import.module.name && known.qualifier == import.qualifier
        };
        match imports.iter_mut().find(|known| is_same(known)) {
            Some(known) => {
                // A list takes away nothing that is known.
                if let ImportedNames::Listed(names) = &mut import.names {
                    match &known.names {
                        ImportedNames::All => import.names = ImportedNames::All,
                        ImportedNames::Listed(before) => {
                            let more = before.iter().filter(|name| !names.contains(name)).cloned();
                            let more: Vec<_> = more.collect();
                            names.extend(more);
                        }
                        ImportedNames::Qualified => {}
                    }
                }
                *known = import;
            }
            None => imports.push(import),
        }
    }

    /// Makes all imports of a module those of another version of it.
    pub fn replace(&mut self, module: &Arc<Module>) {
        for import in Arc::make_mut(&mut self.0) {
            if import.module.name == module.name {
                import.module = module.clone();
            }
        }
    }

    /// Returns the names that they make known, with and without their qualifier.
    pub fn names(&self, kind: MemberKind) -> Vec<String> {
        let mut names = Vec::new();
        for import in self.0.iter() {
            for member in import.module.offered(kind) {
                names.push(qualified(&import.qualifier, &member.short));
                if import.offers(member.short.name(), kind).is_some() {
                    names.push(member.short.to_string());
                }
            }
        }
        names
    }

    /// Returns how a function is called here whose name without a qualifier is that, if one is
    /// imported.
    pub fn qualified_spelling(&self, function: &str) -> Option<String> {
        let is_offered = |import: &&ImportedModule| {
            import.module.offered(MemberKind::Function).any(|member| *member.short == *function)
        };
        self.0.iter().find(is_offered).map(|import| qualified(&import.qualifier, function))
    }

    /// Returns the names that are known without a qualifier, some more than once.
    pub fn aliases(&self, kind: MemberKind) -> impl Iterator<Item = Name> {
        let members = self.0.iter().flat_map(move |import| {
            import.module.offered(kind).map(move |member| (import, member.short.name()))
        });
        members.filter(move |(import, short)| import.offers(*short, kind).is_some()).map(|(_, short)| short)
    }

    /// Returns the module of a qualifier.
    pub fn module(&self, qualifier: &str) -> Option<&Arc<Module>> {
        self.0.iter().find(|import| *import.qualifier == *qualifier).map(|import| &import.module)
    }

    /// Returns the name that a text has everywhere: `stats.mean` for `s.mean`, after `import stats
    /// as s`.
    pub fn everywhere<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let named = parts(text).and_then(|(qualifier, short)| Some((self.module(qualifier)?, short)));
        named.map_or(Cow::Borrowed(text), |(module, short)| Cow::Owned(qualified(&module.name, short)))
    }

    /// Returns how a name is written here: `s.mean` for `stats.mean`, after `import stats as s`
    /// alone.
    pub fn spelling<'t>(&self, name: &'t str) -> Cow<'t, str> {
        let Some((module, short)) = parts(name).filter(|(module, _)| self.module(module).is_none()) else {
            return Cow::Borrowed(name);
        };
        let import = self.0.iter().find(|import| *import.module.name == *module);
        import.map_or(Cow::Borrowed(name), |import| Cow::Owned(qualified(&import.qualifier, short)))
    }

    /// Returns what a name without a qualifier is an alias of; `None` if nothing
    /// that is imported has the name.
    ///
    /// # Errors
    /// If two modules offer it.
    pub fn alias(&self, short: Name, kind: MemberKind) -> Result<Option<&Member>, NameMistake> {
        let mut found: Option<(&ImportedModule, &Member)> = None;
        for import in self.0.iter() {
            let Some(member) = import.offers(short, kind) else { continue };
            match found {
                Some((_, first)) if first.qualified == member.qualified => {}
                Some((_, first)) => {
                    let (first, second) = (&first.qualified, &member.qualified);
                    return Err(NameMistake {
                        code: ErrorCode::AmbiguousName,
                        message: format!("`{}` is offered by two imports", member.short),
                        note: "which one?",
                        help: Some(format!("write `{first}` or `{second}`")),
                    });
                }
                None => found = Some((import, member)),
            }
        }
        Ok(found.map(|(_, member)| member))
    }

    /// Returns the name that a qualified name stands for.
    ///
    /// # Errors
    /// If its module is not imported, or keeps the name for itself.
    pub fn qualified(&self, text: &str, names: &Names) -> Result<HeldName, NameMistake> {
        let mistake = |message: String, note, help| {
            Err(NameMistake { code: ErrorCode::UnknownModule, message, note, help })
        };
        let Some((qualifier, short)) = parts(text) else { return Ok(names.hold(text)) };
        let Some(module) = self.module(qualifier) else {
            let help = format!("import it: `import {qualifier}`; or put blanks around the operator `.`");
            return mistake(format!("no module `{qualifier}` is imported"), "not imported", Some(help));
        };
        if is_private(short) {
            let message = format!("`{short}` is private to the module `{}`", module.name);
            return mistake(message, "begins with `_`", None);
        }
        let known = names.get(short);
        let member = |kind| module.member(known?, kind);
        let member = member(MemberKind::Function).or_else(|| member(MemberKind::Variable));
        Ok(match member {
            Some(member) => member.qualified.clone(),
            None => names.hold(&qualified(&module.name, short)),
        })
    }
}

/// Brings the operators of an import into force.
///
/// # Errors
/// An operator of it that another import gives another meaning.
pub fn add_operators<'i>(
    import: &'i ImportedModule,
    operators: &mut Operators,
    names: &Names,
) -> Result<(), (&'i ModuleOperator, HeldName)> {
    for operator in import.operators() {
        let function = operator.function.qualified.name();
        let present = match operator.fixity {
            Fixity::Unary { operator } => match operators.unary(operator) {
                Some(UnaryMeaning::Function(present)) => Some(present),
                Some(UnaryMeaning::BuiltIn(_)) | None => None,
            },
            Fixity::Binary { operator, .. } => match operators.binary(operator).map(|meaning| meaning.action)
            {
                Some(BinaryAction::Function(present)) => Some(present),
                Some(
                    BinaryAction::BuiltIn(_)
                    | BinaryAction::Assign
                    | BinaryAction::Sequence
                    | BinaryAction::Update { .. },
                )
                | None => None,
            },
        };
        if let Some(present) = present.filter(|present| *present != function).map(|name| names.text(name)) {
            let is_own = ["unary", "binary"].iter().any(|arity| present.starts_with(arity));
            if !is_own {
                return Err((operator, present));
            }
        }
        let held = [operator.token.clone(), operator.function.qualified.clone()];
        operators.define(operator.fixity, function, &held);
    }
    Ok(())
}

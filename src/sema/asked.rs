//! What reading an item asked about the program around it.
//!
//! An item means the same wherever these questions have the same answers. So a
//! context in which they have need not parse and check it again.

mod stored;

use super::{Environment, Extern};
use crate::diagnostic::suggest::Budget;
use crate::distinct::Distinct;
use crate::host::HostFunctions;
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, HeldNames, Name, Names};
use crate::sema::checked::CheckedFunction;
use crate::stop::Poll;
use crate::syntax::operator::{BinaryMeaning, Operators, UnaryMeaning};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::sync::Arc;

/// A question with its answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Asked {
    /// The arity of the definition that a name is bound to.
    Function(Name, Option<u32>),
    /// The arity that an `extern` declares.
    Declared(Name, Option<u32>),
    /// Whether a variable is declared.
    Variable(Name, bool),
    /// What a name stands for.
    Global(Name, MemberKind, Option<Name>),
    /// What an operator means, before an operand and between operands.
    Operator(Name, Option<UnaryMeaning>, Option<BinaryMeaning>),
}

/// All that reading one item asked, with the answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReadingRecord {
    asked: Box<[Asked]>,
    /// Whether anything was imported.
    has_aliases: bool,
    /// The names asked about, held.
    names: HeldNames,
}

impl ReadingRecord {
    /// Returns whether something that the program declares was known.
    pub fn knows_declared(&self, name: Name, arity: u32) -> bool {
        self.asked.contains(&Asked::Declared(name, Some(arity)))
    }

    /// Returns the names that were asked about.
    pub fn asked_names(&self) -> impl Iterator<Item = Name> {
        self.asked.iter().flat_map(Asked::names)
    }

    /// Returns what the records of a module's items have asked together and the module does
    /// not answer itself, as `is_own` says; and what the operators that it uses mean by its
    /// imports alone.
    pub fn of_module(
        records: &[Self],
        used: impl Iterator<Item = Name>,
        imported: &Operators,
        is_own: impl Fn(Name, Option<MemberKind>) -> bool,
    ) -> Self {
        let meaning = |name| Asked::Operator(name, imported.unary(name), imported.binary(name));
        let mut asked: Vec<_> = used.map(meaning).collect();
        let (mut seen, mut held) = (FxHashSet::default(), FxHashSet::default());
        for record in records {
            for question in &record.asked {
                let question = match *question {
                    // Whether it is defined or declared depends on what is read together.
                    Asked::Declared(_, None) => continue,
                    Asked::Function(name, arity) | Asked::Declared(name, arity) => {
                        Asked::Function(name, arity)
                    }
                    Asked::Variable(..) | Asked::Global(..) | Asked::Operator(..) => *question,
                };
                let is_answered = match question {
                    Asked::Function(name, _) | Asked::Variable(name, _) => is_own(name, None),
                    Asked::Global(name, kind, _) => is_own(name, Some(kind)),
                    Asked::Operator(..) | Asked::Declared(..) => false,
                };
                if !is_answered && seen.insert(question) {
                    asked.push(question);
                }
            }
            held.extend(record.names.iter().cloned());
        }
        // Of a function that is declared only, both were asked.
        let arities: FxHashSet<Name> = asked.iter().filter_map(Asked::name_with_arity).collect();
        asked.retain(|asked| !matches!(asked, Asked::Function(name, None) if arities.contains(name)));
        Self { asked: asked.into(), has_aliases: true, names: held.into_iter().collect() }
    }

    /// Returns whether all questions of a module's [record](Self::of_module) have the same
    /// answers here, where its imports alone make operators mean `imported`.
    pub fn holds_in_module(&self, environment: &dyn Environment, imported: &Operators) -> bool {
        self.asked.iter().all(|asked| match *asked {
            Asked::Function(name, arity) => {
                let declared = || environment.declared(name).map(Extern::signature);
                environment.arity(name).or_else(declared) == arity
            }
            _ => asked.holds(environment, imported),
        })
    }

    /// Returns whether all questions have the same answers here.
    pub fn holds(&self, environment: &dyn Environment, operators: &Operators) -> bool {
        environment.has_aliases() == self.has_aliases
            && self.asked.iter().all(|asked| asked.holds(environment, operators))
    }
}

/// What successive items answer themselves.
pub struct OwnAnswers<'i> {
    /// What they define, with the arity.
    pub defined: &'i FxHashMap<Name, u32>,
    /// The variables that they declare.
    pub variables: &'i FxHashSet<Name>,
    /// The operators that they define, and what operators mean after them.
    pub operators: &'i FxHashSet<Name>,
    pub present: &'i Operators,
}

/// What reading successive items has asked together that they do not answer themselves.
#[derive(Default)]
pub struct OutsideQuestions {
    asked: Distinct<Asked>,
    /// Whether anything was imported, once that is known.
    has_aliases: Option<bool>,
    names: Vec<HeldName>,
}

impl OutsideQuestions {
    /// Adds what reading the next item asked, where those before answer this. Returns `false` if
    /// the answers were others.
    pub fn add(&mut self, record: &ReadingRecord, own: &OwnAnswers<'_>, names: &Names) -> bool {
        let defined = |name: Name| own.defined.get(&name).copied();
        if *self.has_aliases.get_or_insert(record.has_aliases) != record.has_aliases {
            return false;
        }
        for asked in &record.asked {
            let is_answered = match *asked {
                Asked::Function(name, arity) => match defined(name) {
                    Some(own) if arity == Some(own) => true,
                    Some(_) => return false,
                    None => false,
                },
                // What is declared later is compared then.
                Asked::Declared(_, None) => true,
                Asked::Declared(..) => false,
                Asked::Variable(name, is_declared) => is_declared && own.variables.contains(&name),
                Asked::Global(name, kind, stands_for) => {
                    let is_own = match kind {
                        MemberKind::Function => defined(name).is_some(),
                        MemberKind::Variable => own.variables.contains(&name),
                    };
                    is_own && stands_for == Some(name)
                }
                Asked::Operator(name, unary, binary) if own.operators.contains(&name) => {
                    let present = own.present;
                    if (present.unary(name), present.binary(name)) != (unary, binary) {
                        return false;
                    }
                    true
                }
                Asked::Operator(..) => false,
            };
            if !is_answered && self.asked.add(*asked).1 {
                self.names.extend(asked.names().map(|name| names.text(name)));
            }
        }
        true
    }

    /// Returns what was asked of others in the end, where these names are defined.
    pub fn record(self, is_defined: impl Fn(Name) -> bool) -> ReadingRecord {
        // A name that the items define is known to mean nothing else before.
        let is_open = |asked: &Asked| match *asked {
            Asked::Function(name, None) | Asked::Global(name, MemberKind::Function, _) => !is_defined(name),
            _ => true,
        };
        ReadingRecord {
            asked: self.asked.into_values().into_iter().filter(is_open).collect(),
            has_aliases: self.has_aliases.unwrap_or_default(),
            names: self.names.into(),
        }
    }
}

impl Asked {
    /// Returns the names in it.
    fn names(&self) -> impl Iterator<Item = Name> + use<> {
        let (name, other) = match *self {
            Self::Function(name, _)
            | Self::Declared(name, _)
            | Self::Variable(name, _)
            | Self::Operator(name, ..) => (name, None),
            Self::Global(name, _, other) => (name, other),
        };
        std::iter::once(name).chain(other)
    }

    /// Returns whether the question has the same answer here.
    fn holds(&self, environment: &dyn Environment, operators: &Operators) -> bool {
        match *self {
            Self::Function(name, arity) => environment.arity(name) == arity,
            Self::Declared(name, arity) => environment.declared(name).map(Extern::signature) == arity,
            Self::Variable(name, is_declared) => environment.has_variable(name) == is_declared,
            Self::Global(name, kind, stands_for) => {
                environment.global(name, kind).ok().map(|held| held.name()) == stands_for
            }
            Self::Operator(name, unary, binary) => {
                operators.unary(name) == unary && operators.binary(name) == binary
            }
        }
    }

    /// Returns the name whose arity is the answer.
    fn name_with_arity(&self) -> Option<Name> {
        match self {
            Self::Function(name, Some(_)) => Some(*name),
            _ => None,
        }
    }
}

/// An environment that records what it is asked. What it is asked for
/// suggestions alone, which only mistakes have, is not recorded.
pub struct Recorder<'e> {
    environment: &'e dyn Environment,
    /// What the operators mean with which the item was parsed.
    operators: &'e Operators,
    /// Those that it was parsed with, each once.
    used: Vec<Name>,
    asked: RefCell<Distinct<Asked>>,
    names: HeldNames,
}

impl<'e> Recorder<'e> {
    /// Creates a recorder of questions to `environment`, about an item that
    /// was parsed with these meanings of the operators that were used, each of which is there
    /// once, and has these names.
    pub fn new(
        environment: &'e dyn Environment,
        operators: &'e Operators,
        used: Vec<Name>,
        names: HeldNames,
    ) -> Self {
        Self { environment, operators, used, asked: RefCell::new(Distinct::default()), names }
    }

    /// Returns what was asked, each question once.
    pub fn record(self) -> ReadingRecord {
        let has_aliases = self.environment.has_aliases();
        let meaning =
            |name: &Name| Asked::Operator(*name, self.operators.unary(*name), self.operators.binary(*name));
        let asked = self.asked.into_inner().into_values();
        let asked = self.used.iter().map(meaning).chain(asked).collect();
        ReadingRecord { asked, has_aliases, names: self.names }
    }

    fn note(&self, asked: Asked) {
        self.asked.borrow_mut().add(asked);
    }
}

impl Environment for Recorder<'_> {
    fn names(&self) -> &Names {
        self.environment.names()
    }

    fn hosts(&self) -> &HostFunctions {
        self.environment.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        let function = self.environment.function(name);
        self.note(Asked::Function(name, function.as_ref().map(|function| function.signature())));
        function
    }

    fn declared(&self, name: Name) -> Option<&Extern> {
        let declared = self.environment.declared(name);
        self.note(Asked::Declared(name, declared.map(Extern::signature)));
        declared
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        let found = self.environment.global(name, kind);
        self.note(Asked::Global(name, kind, found.as_ref().ok().map(HeldName::name)));
        found
    }

    fn head(&self, name: Name) -> Result<HeldName, NameMistake> {
        self.environment.head(name)
    }

    fn has_aliases(&self) -> bool {
        self.environment.has_aliases()
    }

    fn imports(&self) -> &Imports {
        self.environment.imports()
    }

    fn has_variable(&self, name: Name) -> bool {
        let is_declared = self.environment.has_variable(name);
        self.note(Asked::Variable(name, is_declared));
        is_declared
    }

    fn functions(&self) -> Vec<Name> {
        self.environment.functions()
    }

    fn variables(&self) -> Vec<Name> {
        self.environment.variables()
    }

    fn suggestions(&self) -> &Budget {
        self.environment.suggestions()
    }

    fn poll(&self) -> Poll {
        self.environment.poll()
    }
}

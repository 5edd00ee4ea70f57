//! Layers: definitions that are there as a whole, and decoded one by one when they are
//! needed.
//!
//! Layers lie below a book: a long run of a program's definitions, and modules. A name
//! that the book does not bind is looked up in them. What concerns the definitions of a
//! layer, as removing one does, makes the book bind them all.

use super::bound::{BoundFunction, Origin};
use super::lazy::LazyTable;
use super::opening::StoredOpening;
use super::stored::StoredText;
use crate::bytes::Damage;
use crate::name::{HeldName, Name};
use crate::sema::asked::ReadingRecord;
use crate::sema::instance::instance_parts;
use crate::sema::{CheckedItem, Import};
use crate::syntax::operator::Operators;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The definitions of a text that an earlier run has checked.
pub struct Layer {
    text: Arc<StoredText>,
    opening: Arc<StoredOpening>,
    /// The module that it is, in which all names are qualified.
    module: Option<HeldName>,
    /// The operators in force before the first item, and after each that changes them.
    operators: Vec<Arc<Operators>>,
    /// What its functions call that may be the name of an alias or an instance.
    adoptable: Box<[Name]>,
    /// The definitions that have been decoded.
    bound: LazyTable<BoundFunction>,
    /// The item of the text that a program has come to: it knows no name that is defined later.
    reached: AtomicUsize,
}

impl Layer {
    /// Creates a layer of the opening of a text, of which that is known, where these are
    /// the operators in force before it; `None` if the text is damaged.
    pub(super) fn new(
        text: &Arc<StoredText>,
        opening: StoredOpening,
        operators: &Arc<Operators>,
    ) -> Option<Self> {
        Self::of(text, Arc::new(opening), None, operators, &|_, _| None)
    }

    /// Creates a layer of a module, of which that is known; `None` if the text is damaged,
    /// or `import` refuses to bring the operators of an import into force.
    pub fn of_module(
        module: HeldName,
        text: &Arc<StoredText>,
        opening: &Arc<StoredOpening>,
        import: &dyn Fn(&Import, &mut Operators) -> Option<()>,
    ) -> Option<Self> {
        let operators = Arc::new(Operators::new(text.names()));
        Self::of(text, opening.clone(), Some(module), &operators, import)
    }

    fn of(
        text: &Arc<StoredText>,
        opening: Arc<StoredOpening>,
        module: Option<HeldName>,
        operators: &Arc<Operators>,
        import: &dyn Fn(&Import, &mut Operators) -> Option<()>,
    ) -> Option<Self> {
        let bound = LazyTable::new(text.opening().len());
        let mut operators = vec![operators.clone()];
        for number in &opening.operators {
            let mut present = Operators::clone(operators.last()?);
            match text.checked_item(*number).ok()? {
                CheckedItem::Definition(function, Some(fixity)) => {
                    present.define(fixity, function.name, &function.names);
                }
                CheckedItem::Import(imported) => import(&imported, &mut present)?,
                _ => return None,
            }
            operators.push(Arc::new(present));
        }
        let names = text.names();
        // A module calls nothing by an alias.
        let is_adoptable = |name: &Name| module.is_none() || instance_parts(&names.text(*name)).is_some();
        let adoptable = opening.calls.iter().copied().filter(is_adoptable).collect();
        let reached = AtomicUsize::new(if module.is_some() { usize::MAX } else { text.opening().start });
        Some(Self { text: text.clone(), opening, module, operators, adoptable, bound, reached })
    }

    /// Returns the module that it is; `None` if it is the opening of a program.
    pub fn module(&self) -> Option<&HeldName> {
        self.module.as_ref()
    }

    /// Returns the text that it is the opening of.
    pub fn text(&self) -> &Arc<StoredText> {
        &self.text
    }

    /// Returns what its reading asked that it does not answer itself.
    pub fn record(&self) -> &ReadingRecord {
        &self.opening.record
    }

    /// Returns the number of nodes of the largest function of a module.
    pub fn largest(&self) -> usize {
        self.opening.largest
    }

    /// Returns the items that are no definitions in force, in order.
    ///
    /// # Errors
    /// When the text is damaged.
    pub fn others(&self) -> impl Iterator<Item = Result<CheckedItem, Damage>> {
        self.opening.others.iter().map(|number| self.text.checked_item(*number))
    }

    /// Returns the numbers of the items in the text that are no definitions in force, in order.
    pub fn other_items(&self) -> &[usize] {
        &self.opening.others
    }

    /// Returns the number of definitions.
    pub fn len(&self) -> usize {
        self.bound.len() - self.opening.others.len()
    }

    /// Returns the operators in force after it.
    pub(super) fn operators(&self) -> &Arc<Operators> {
        &self.operators[self.operators.len() - 1]
    }

    /// Returns whether it defines a name.
    pub fn defines(&self, name: Name) -> bool {
        self.find(name).is_some()
    }

    /// Returns its definition of a name.
    pub fn definition(&self, name: Name) -> Option<&BoundFunction> {
        self.bound(self.find(name)?)
    }

    /// Returns the numbers of parameters and of nodes of its definition at a position,
    /// without decoding it.
    pub(super) fn size(&self, position: usize) -> Option<(u32, u32)> {
        self.text.size_of(self.text.opening().start + position)
    }

    /// Returns all its definitions, in the order of the text.
    pub fn definitions(&self) -> impl Iterator<Item = &BoundFunction> {
        self.text.definitions().filter_map(|number| self.bound(number - self.text.opening().start))
    }

    /// Returns the names that it defines, in the order of the text, as far as a program has
    /// [come](Self::reach).
    pub fn names(&self) -> impl Iterator<Item = HeldName> {
        let reached = self.reached.load(Ordering::Relaxed);
        let known = self.text.definitions().take_while(move |number| *number < reached);
        known.filter_map(|number| self.text.name(number))
    }

    /// Notes that the program has come to an item of the text.
    pub fn reach(&self, item: usize) {
        self.reached.store(item, Ordering::Relaxed);
    }

    /// Returns whether one of its functions calls a name that it does not define, or that
    /// it defines with another number of arguments.
    pub fn calls(&self, name: Name) -> bool {
        self.opening.calls.contains(&name)
    }

    /// Returns what its functions call and it does not define, or defines with another
    /// number of arguments.
    pub(super) fn called(&self) -> impl Iterator<Item = Name> {
        self.opening.calls.iter().copied()
    }

    /// Returns what its functions call that may be the name of an alias or an instance.
    pub fn adoptable(&self) -> &[Name] {
        &self.adoptable
    }

    /// Returns whether what a name means concerns one of its definitions: it defines the
    /// name, or [calls](Self::calls) it.
    pub fn concerns(&self, name: Name) -> bool {
        self.calls(name) || self.defines(name)
    }

    /// Returns its definition at a position among its definitions.
    pub fn function_at(&self, index: usize) -> Option<&Arc<crate::sema::checked::CheckedFunction>> {
        self.bound(index).map(|bound| &bound.function)
    }

    /// Returns the position of its definition of a name.
    pub fn position(&self, name: Name) -> Option<usize> {
        self.find(name)
    }

    fn find(&self, name: Name) -> Option<usize> {
        self.find_text(&self.text.names().text(name))
    }

    /// Returns the position of its definition of the name that reads so.
    pub(super) fn find_text(&self, text: &str) -> Option<usize> {
        // Other names need not be looked up.
        if self.module.as_ref().is_some_and(|module| !text.starts_with(&**module)) {
            return None;
        }
        self.text.find(text)?.checked_sub(self.text.opening().start)
    }

    /// Returns the name of its definition at a position.
    pub(super) fn name_at(&self, index: usize) -> Option<Name> {
        self.text.name(self.text.opening().start + index).map(|name| name.name())
    }

    /// Returns its definition at a position.
    pub(super) fn bound(&self, index: usize) -> Option<&BoundFunction> {
        self.bound.get_or_make(index, || self.decode(index))
    }

    fn decode(&self, index: usize) -> Result<BoundFunction, Damage> {
        let number = self.text.opening().start + index;
        let CheckedItem::Definition(function, fixity) = self.text.checked_item(number)? else {
            return Err(Damage { what: "not a definition", at: 0 });
        };
        let before = self.opening.operators.partition_point(|operator| *operator < number);
        let operators = self.operators[before].clone();
        // Operators of a module come into force by an import.
        let (origin, fixity) =
            if self.module.is_some() { (Origin::Module, None) } else { (Origin::Program, fixity) };
        Ok(BoundFunction { function, operators, fixity, origin })
    }
}

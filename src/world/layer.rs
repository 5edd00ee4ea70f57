//! Layers: definitions that are there as a whole, and decoded one by one when they are
//! needed.
//!
//! A layer lies below a book in which nothing else is defined. A name that the book does
//! not bind is looked up in the layer. What concerns all definitions at once, as removing
//! one does, makes the book bind them all.

use super::bound::{BoundFunction, Origin};
use super::lazy::LazyTable;
use super::stored::{StoredOpening, StoredText};
use crate::bytes::Damage;
use crate::name::Name;
use crate::sema::CheckedItem;
use crate::syntax::operator::Operators;
use std::sync::Arc;

/// The definitions of a text that an earlier run has checked.
pub struct Layer {
    text: Arc<StoredText>,
    opening: StoredOpening,
    /// The operators in force before the first item, and after each that defines one.
    operators: Vec<Arc<Operators>>,
    /// The definitions that have been decoded.
    bound: LazyTable<BoundFunction>,
}

impl Layer {
    /// Creates a layer of the opening of a text, which is described so, where these are
    /// the operators in force before it; `None` if the text is damaged.
    pub(super) fn new(
        text: &Arc<StoredText>,
        opening: StoredOpening,
        operators: &Arc<Operators>,
    ) -> Option<Self> {
        let bound = LazyTable::new(text.opening().len());
        let mut operators = vec![operators.clone()];
        for number in &opening.operators {
            let CheckedItem::Definition(function, Some(fixity)) = text.checked_item(*number).ok()? else {
                return None;
            };
            let mut present = Operators::clone(operators.last()?);
            present.define(fixity, function.name, &function.names);
            operators.push(Arc::new(present));
        }
        Some(Self { text: text.clone(), opening, operators, bound })
    }

    /// Returns the number of definitions.
    pub fn len(&self) -> usize {
        self.bound.len()
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

    /// Returns its function of a name.
    #[cfg(feature = "compiler")]
    pub fn function(&self, name: Name) -> Option<&Arc<crate::sema::checked::CheckedFunction>> {
        self.definition(name).map(|bound| &bound.function)
    }

    /// Returns all its definitions, in the order of the text.
    pub fn definitions(&self) -> impl Iterator<Item = &BoundFunction> {
        (0..self.len()).filter_map(|index| self.bound(index))
    }

    /// Returns whether one of its functions calls a name that it does not define, or that
    /// it defines with another number of arguments.
    pub(super) fn calls(&self, name: Name) -> bool {
        self.opening.calls.contains(&name)
    }

    fn find(&self, name: Name) -> Option<usize> {
        let text = self.text.names().text(name);
        self.text.find(&text)?.checked_sub(self.text.opening().start)
    }

    fn bound(&self, index: usize) -> Option<&BoundFunction> {
        self.bound.get_or_make(index, || self.decode(index))
    }

    fn decode(&self, index: usize) -> Result<BoundFunction, Damage> {
        let number = self.text.opening().start + index;
        let CheckedItem::Definition(function, fixity) = self.text.checked_item(number)? else {
            return Err(Damage { what: "not a definition", at: 0 });
        };
        let before = self.opening.operators.partition_point(|operator| *operator < number);
        let operators = self.operators[before].clone();
        Ok(BoundFunction { function, operators, fixity, origin: Origin::Program })
    }
}

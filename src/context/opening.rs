//! What a text defines first in a context that defines nothing yet: a library,
//! mostly. It is kept as a whole, so that another context in which as little is
//! declared takes no step for each definition.

use super::{Context, Interest, Outcome};
use crate::config::Mode;
use crate::sema::CheckedItem;
use crate::status::State;
use crate::text_cache::{CachedItem, CachedText, Opening};
use crate::world::{Layer, StoredText, World};
use std::sync::Arc;

/// The search for the opening of a text that is being run.
pub(super) struct OpeningSearch {
    /// `None` once it is over.
    text: Option<Arc<CachedText>>,
    interest: Interest,
    found: Option<OpeningItems>,
}

/// The items that define and declare, as many as have been run.
struct OpeningItems {
    /// What was declared before.
    start: World,
    from: usize,
    until: usize,
    /// The offset in the text where the last one ends.
    end: u32,
    /// The number of items before them that had bound a name again.
    redefined: u64,
    has_warnings: bool,
}

impl OpeningSearch {
    /// Begins a search in a text, for a caller with that interest; there is none if it is
    /// `None`.
    pub(super) fn new(text: Option<Arc<CachedText>>, interest: Interest) -> Self {
        Self { text, interest, found: None }
    }

    /// Returns the opening, if it is known, begins with item number `next`, and
    /// does the same in a context.
    pub(super) fn next(&self, context: &Context, next: usize) -> Option<Arc<Opening>> {
        let opening = self.text.as_ref()?.opening().filter(|opening| opening.from == next)?;
        let leaves_out = opening.has_warnings && self.interest != Interest::Values;
        if leaves_out {
            return None;
        }
        opening.start.declares_the_same(&context.world).then_some(opening)
    }

    /// Prepares for an item: one that does more than define or declare ends the
    /// opening.
    pub(super) fn before(&mut self, context: &Context, item: &CachedItem, number: usize) {
        let Some(text) = &self.text else { return };
        let adds = match &item.item {
            CheckedItem::Definition(..) | CheckedItem::Extern(_) => true,
            CheckedItem::Import(_)
            | CheckedItem::Variables(..)
            | CheckedItem::Expression(_)
            | CheckedItem::Effect(_) => false,
        };
        if !adds {
            if self.found.is_some() {
                self.finish(context);
            }
        } else if self.found.is_none() {
            if context.world.len() > 0 || text.opening().is_some() {
                self.text = None;
                return;
            }
            self.found = Some(OpeningItems {
                start: context.world.clone(),
                from: number,
                until: number,
                end: 0,
                redefined: context.redefined,
                has_warnings: false,
            });
        }
    }

    /// Notes that an item has been run.
    pub(super) fn after(&mut self, item: &CachedItem, outcome: &Outcome) {
        if let Some(found) = &mut self.found {
            found.until += 1;
            found.end = item.end;
            found.has_warnings |=
                matches!(outcome, Outcome::Defined { warnings, .. } if !warnings.is_empty());
        }
    }

    /// Ends the search: an item was refused or has failed, or the opening is known.
    pub(super) fn end(&mut self) {
        self.text = None;
    }

    /// Keeps the opening for other contexts.
    pub(super) fn finish(&mut self, context: &Context) {
        let (Some(text), Some(found)) = (self.text.take(), self.found.take()) else { return };
        let OpeningItems { start, from, until, end, redefined, has_warnings } = found;
        let last = until.checked_sub(1).and_then(|last| text.item(last));
        // What is too large to be compiled is admitted when it is defined.
        let mut functions = context.world.functions();
        let is_simple = !functions.any(|function| context.engine.is_too_large(function));
        if is_simple && last.is_some_and(|last| last.end == end) {
            let (world, redefined) = (context.world.clone(), context.redefined - redefined);
            let bindings = context.backend.share();
            let new = Opening::new((from, until, end), (start, world), redefined, has_warnings, bindings);
            text.set_opening(new);
        }
    }
}

impl Context {
    /// Puts the opening of a text that an earlier run has checked below the program. Returns the
    /// layer; `None`, without effect, if it would mean something else here.
    pub(super) fn take_layer(&mut self, text: &Arc<StoredText>) -> Option<Arc<Layer>> {
        let most = self.engine.config().limits.max_definitions;
        let fits = self.world.len() + text.opening().len() <= most
            && self.engine.names().has_room_for(text.name_count())
            && self.backend.takes_layers();
        let layer = self.world.layer_of(text).filter(|_| fits).map(Arc::new)?;
        let is_same = layer.record().holds(self, self.world.operators());
        (is_same && self.put_below(&layer)).then_some(layer)
    }

    /// Removes the definitions of a layer that are those of items of its text from one on.
    pub(super) fn take_back(&mut self, layer: &Layer, from: usize) {
        let text = layer.text();
        let names: Vec<_> = text.definitions().filter(|number| *number >= from).collect();
        for name in names.into_iter().filter_map(|number| text.name(number)) {
            let (present, own) = (self.world.function(name.name()), layer.definition(name.name()));
            let is_own = present.zip(own).is_some_and(|(present, own)| Arc::ptr_eq(present, &own.function));
            if is_own {
                // It is known, as has been seen.
                let _ = self.drop_function(&name);
            }
        }
    }

    /// Defines and declares what the opening of a text does.
    pub(super) fn open(&mut self, opening: &Opening) {
        self.world = opening.world.clone();
        if !opening.bindings().is_some_and(|bindings| self.backend.adopt(bindings)) {
            self.world.functions().for_each(|function| self.backend.define(function));
            self.backend.share().into_iter().for_each(|bindings| opening.keep(bindings));
        }
        for declared in opening.world.declarations() {
            self.tell_declared(declared.name, Some(declared.arity()));
        }
        if self.engine.mode() == Mode::Eager {
            let is_pending = |name| self.backend.state(name) == Some(State::Pending);
            for function in opening.world.functions().filter(|function| is_pending(function.name)) {
                self.backend.prepare_soon(function.name);
            }
        }
        self.redefined += opening.redefined;
        self.items_known += (opening.until - opening.from) as u64;
    }
}

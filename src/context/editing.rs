//! Reading a text of which an earlier run has checked an earlier form: only what was
//! changed is parsed.

use super::Context;
use crate::bytes::SharedParts;
use crate::diagnostic::suggest::Budget;
use crate::host::HostFunctions;
use crate::module::{Imports, MemberKind, NameMistake};
use crate::name::{HeldName, Name, Names};
use crate::sema::asked::Recorder;
use crate::sema::checked::CheckedFunction;
use crate::sema::{self, CheckedItem, Environment, Extern};
use crate::source::Source;
use crate::stop::Poll;
use crate::syntax::lexer::Pieces;
use crate::syntax::operator::Operators;
use crate::syntax::parser::{ParseLimits, Parser};
use crate::syntax::token::{Terminal, Tokens};
use crate::world::{EditedText, StoredItem, StoredText};
use rustc_hash::FxHashSet;
use std::cell::Cell;
use std::sync::Arc;

/// What is known of the program before an item of the opening.
struct OpeningEnvironment<'a> {
    context: &'a Context,
    text: &'a StoredText,
    item: usize,
    /// The variables that items of the opening declare before this one.
    variables: &'a FxHashSet<Name>,
    /// Whether a definition cannot be read.
    is_damaged: Cell<bool>,
}

impl Context {
    /// Returns what comes before the opening of an earlier text, if a text begins with the same
    /// items.
    pub(super) fn before_opening(&mut self, earlier: SharedParts, source: &Source) -> Option<StoredText> {
        let engine = self.engine.clone();
        let earlier = EditedText::new(earlier, source, engine.stored_environment()?)?;
        let text = earlier.before_opening()?;
        if let Some(last) = text.len().checked_sub(1) {
            // The last item may go on, or its last word.
            let end = text.end(last).ok()?;
            begins_apart(&self.tokens_at(source, end)?, end).then_some(())?;
        }
        Some(text)
    }

    /// Returns the items of a text, with which the program begins, and of which all that
    /// comes before the opening has been run, as far as they can be taken from those of an
    /// earlier text and from definitions that are read again; `None` if it is too different
    /// from that.
    pub(super) fn edited_text(&mut self, earlier: SharedParts, source: &Source) -> Option<StoredText> {
        let engine = self.engine.clone();
        let environment = engine.stored_environment()?;
        let mut edited = EditedText::new(earlier, source, environment)?;
        let opening = edited.text().opening();
        let mut next = edited.compare(0)?;
        if next < opening.start {
            return None;
        }
        let described = edited.text().described().ok()?;
        let mut operators = Operators::clone(self.world.operators());
        let mut own_operators = described.operators.iter().copied().peekable();
        let (mut others, mut variables) = (described.others.iter().copied().peekable(), FxHashSet::default());
        loop {
            let start = edited.text().start(next).ok()?;
            let tokens = self.tokens_at(source, start)?;
            let Some(first) = tokens.terminals().first() else {
                if next < edited.text().len() {
                    (next >= opening.end).then(|| edited.cut(next))?;
                }
                break;
            };
            // If this does not begin an item, what comes before may go on here: the item, or
            // its last word.
            let is_apart = begins_apart(&tokens, start) || *first == Terminal::Semicolon;
            if next > opening.end || next == opening.end && is_apart {
                edited.cut(if is_apart { next } else { next - 1 });
                break;
            }
            let (at, tokens) = if is_apart {
                (next, tokens)
            } else {
                let before = next.checked_sub(1).filter(|before| *before >= opening.start)?;
                (before, self.tokens_at(source, edited.text().start(before).ok()?)?)
            };
            while let Some(number) = own_operators.next_if(|number| *number < at) {
                let item = edited.text().checked_item(number).ok()?;
                let CheckedItem::Definition(function, Some(fixity)) = item else { return None };
                operators.define(fixity, function.name, &function.names);
            }
            while let Some(number) = others.next_if(|number| *number < at) {
                if let CheckedItem::Variables(_, declared) = edited.text().checked_item(number).ok()? {
                    variables.extend(declared);
                }
            }
            let context = &*self;
            let is_damaged = Cell::new(false);
            let before = OpeningEnvironment {
                context,
                text: edited.text(),
                item: at,
                variables: &variables,
                is_damaged,
            };
            let read = before.read(&tokens, &operators)?;
            if at < next && read.end == edited.text().end(at).ok()? {
                if next < opening.end {
                    return None;
                }
                edited.cut(next);
                break;
            }
            edited.replace(at, read, &described.others, environment.largest)?;
            next = edited.compare(at + 1)?;
        }
        self.items_read += edited.changed() as u64;
        edited.finish()
    }

    /// Returns the tokens from an offset on, up to the next definition or further.
    fn tokens_at(&self, source: &Source, start: u32) -> Option<Tokens> {
        let limits = self.engine.config().limits;
        let pieces = Pieces::new(source, self.engine.names(), limits.max_source_bytes).ok()?;
        let mut pieces = pieces.polled(&self.poll()).short();
        pieces.skip_to(start);
        pieces.next()
    }

    fn parser_of<'t>(&'t self, tokens: &'t Tokens) -> Parser<'t> {
        let limits = ParseLimits { max_nesting: self.engine.config().limits.max_nesting };
        Parser::new(tokens, self.engine.names(), limits).polled(&self.poll())
    }
}

/// Returns whether tokens from an offset on begin an item, which no word before it grows into.
fn begins_apart(tokens: &Tokens, start: u32) -> bool {
    let begins = tokens.terminals().first().is_some_and(|first| first.begins_item());
    begins && (start == 0 || tokens.span(0).start > start)
}

impl OpeningEnvironment<'_> {
    /// Reads the first item of tokens; `None` if it has mistakes.
    fn read(&self, tokens: &Tokens, operators: &Operators) -> Option<StoredItem> {
        let mut parser = self.context.parser_of(tokens);
        let item = parser.next_item(operators)?.ok()?;
        let recorder = Recorder::new(self, operators, parser.operators(), item.names.clone());
        let checked = sema::check(&item, &recorder).ok()?;
        let is_whole = !self.is_damaged.get();
        is_whole.then(|| StoredItem { item: checked, record: recorder.record(), end: item.span.end })
    }

    /// Returns the item that defines a name before this one.
    fn defining(&self, name: Name) -> Option<usize> {
        self.text.find(&self.names().text(name)).filter(|item| *item < self.item)
    }
}

impl Environment for OpeningEnvironment<'_> {
    fn names(&self) -> &Names {
        self.context.names()
    }

    fn hosts(&self) -> &HostFunctions {
        self.context.hosts()
    }

    fn function(&self, name: Name) -> Option<Arc<CheckedFunction>> {
        let Some(item) = self.defining(name) else { return self.context.function(name) };
        let item = self.text.checked_item(item);
        let function = item.ok().and_then(|item| item.function().cloned());
        self.is_damaged.set(self.is_damaged.get() || function.is_none());
        function
    }

    fn declared(&self, name: Name) -> Option<&Extern> {
        Environment::declared(self.context, name)
    }

    fn global(&self, name: Name, kind: MemberKind) -> Result<HeldName, NameMistake> {
        let is_own = match kind {
            MemberKind::Function => self.defining(name).is_some(),
            MemberKind::Variable => self.variables.contains(&name),
        };
        if is_own { Ok(self.names().text(name)) } else { self.context.global(name, kind) }
    }

    fn imports(&self) -> &Imports {
        self.context.imports()
    }

    fn has_variable(&self, name: Name) -> bool {
        self.variables.contains(&name) || self.context.has_variable(name)
    }

    fn functions(&self) -> Vec<Name> {
        self.context.functions()
    }

    fn variables(&self) -> Vec<Name> {
        self.context.variables()
    }

    fn suggestions(&self) -> &Budget {
        self.context.suggestions()
    }

    fn poll(&self) -> Poll {
        Environment::poll(self.context)
    }
}

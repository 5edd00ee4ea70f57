//! Reading a source item by item, and running each before the next is read.
//!
//! Items that another context of the engine has read, and that mean the same
//! here, are taken from the engine's cache of texts; the opening of a text, as a
//! whole.

use super::limit::Limit;
use super::opening::OpeningSearch;
use super::refused::RefusedNames;
use super::{Context, Each, Error, Evaluation, FrontEnd, IfUnchanged, Interest};
use crate::backend::Backend;
use crate::bytes::SharedParts;
use crate::cache::CheckedText;
use crate::config::Mode;
use crate::debugger::Debugger;
use crate::engine::Engine;
use crate::float_environment::{DefaultEnvironment, as_host};
use crate::sema::asked::{ReadingRecord, Recorder};
use crate::sema::{self, CheckedItem, Environment};
use crate::source::Source;
use crate::syntax::ast::Item;
use crate::syntax::lexer::{Pieces, fitting};
use crate::syntax::lint;
use crate::syntax::parser::{ParseLimits, Parser, SyntaxErrors};
use crate::text_cache::{CachedItem, CachedText, KeptProgram, KeptText};
use crate::world::{Layer, StoredText};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// What reading texts of at least this many bytes asks is recorded by a child that reads them
/// again, if there is one: of a shorter one that would take as long as to fork.
pub(super) const LONG: usize = 64 << 10;

/// An item that can be run, or why not.
type ItemRead = Result<Arc<CachedItem>, Error>;

/// Runs an item, which was known or has just been read.
type RunItem<'r> = dyn FnMut(&mut Context, &mut Progress, ItemRead, bool) -> ControlFlow<()> + 'r;

/// The functions that parse the rest of a text. They are reached by pointers, so that a program
/// that runs what is in its image only is linked without them.
#[derive(Clone, Copy)]
struct TextReader {
    /// [`Context::read_rest`].
    rest: fn(&mut Context, &Source, &mut Progress, Option<&Limit>, &mut RunItem<'_>) -> ControlFlow<()>,
    /// [`Context::before_opening`].
    before_opening: fn(&mut Context, SharedParts, &Source) -> Option<StoredText>,
    /// [`Context::edited_text`].
    edited: fn(&mut Context, SharedParts, &Source) -> Option<StoredText>,
}

/// All of them.
const READER: TextReader = TextReader {
    rest: Context::read_rest,
    before_opening: Context::before_opening,
    edited: Context::edited_text,
};

/// Returns the error for a text that would have to be parsed where there is no parser.
fn unread() -> Error {
    Error::ImageRequired("the program is damaged: a part of it cannot be read".to_owned())
}

/// The place in a text up to which items have been run.
struct Progress {
    reader: Option<TextReader>,
    /// The text in the cache; `None` once reading it has met a mistake.
    cached: Option<Arc<CachedText>>,
    /// The text as it is kept for later runs, if only for these; `None` once reading it
    /// has met a mistake.
    kept: Option<KeptProgram>,
    /// The text of an earlier run with which the text is to be compared when its opening
    /// begins. What comes before is the same.
    earlier: Option<SharedParts>,
    /// The number of items.
    items: usize,
    /// The offset where the last item ended.
    end: u32,
    /// An offset where it had not begun.
    last: u32,
    opening: OpeningSearch,
    /// The items of the layer that stands for definitions, until all of them have been passed.
    within: Option<LayerItems>,
    /// Whether a layer may stand for definitions: the program begins with the text.
    may_take_layer: bool,
    /// Whether an item has been parsed.
    has_parsed: bool,
    refused: RefusedNames,
}

/// The items of a text for whose definitions a layer stands.
struct LayerItems {
    layer: Arc<Layer>,
    /// How many of those that are run have been passed.
    run: usize,
}

impl Context {
    /// Does what [`items`](Self::items) says. What is not known of the source is parsed, or else an
    /// error.
    pub(super) fn run_items<const PARSES: bool>(
        &mut self,
        source: &Source,
        if_unchanged: IfUnchanged,
        interest: Interest,
        each: &mut Each<'_>,
    ) -> ControlFlow<()> {
        let reader = PARSES.then_some(READER);
        let _environment = DefaultEnvironment::enter();
        let _source = self.begin_source();
        let _step = self.history.step();
        self.suggestions.refill();
        self.debugger.iter().for_each(Debugger::forget_ending);
        let engine = self.engine.clone();
        let opened = engine.open_cached(source, None);
        if engine.mode() == Mode::Eager && opened.is_none() && source.text().contains("def") {
            Engine::warm_up();
        }
        // A debugger finds places by the source it has been given.
        let keeps_items = engine.config().keeps_texts;
        let is_for_later = engine.caches(source);
        let keeps = (keeps_items || is_for_later) && self.debugger.is_none();
        let may_take_layer = interest == Interest::Shown
            && if_unchanged == IfUnchanged::Replace
            && self.history.depth == 0
            && engine.mode() == Mode::Lazy
            && self.world.is_untouched(engine.operators());
        let read_before = self.items_read;
        let (stored, earlier) = match (opened, engine.stored_environment()) {
            (Some(CheckedText::Same(bytes)), Some(known)) => {
                (StoredText::new(bytes, source, known).ok(), None)
            }
            (Some(CheckedText::Earlier(bytes)), Some(_)) if keeps && !keeps_items && may_take_layer => {
                let before = reader.and_then(|reader| {
                    self.parsing(|context| (reader.before_opening)(context, bytes.clone(), source))
                });
                let earlier = before.is_some().then_some(bytes);
                (before, earlier)
            }
            _ => (None, None),
        };
        // What no other context is given, and no earlier run has read, goes by at once.
        let goes_by = keeps && !keeps_items && stored.is_none();
        let known = engine.stored_environment().filter(|_| goes_by);
        let kept = known.map(|known| {
            let is_left = self.leaves_recording(source);
            if is_left { KeptProgram::Unrecorded } else { KeptProgram::new(known, source) }
        });
        let cached = if keeps && kept.is_none() { engine.texts().text(source, is_for_later) } else { None };
        if let Some((cached, stored)) = cached.as_ref().zip(stored) {
            cached.restore(stored, keeps_items);
        }
        let source = cached.as_ref().map_or(source, |text| text.source()).clone();
        if let Err(too_long) = fitting(&source, engine.config().limits.max_source_bytes) {
            return each(self, Err(Error::Invalid(vec![too_long])));
        }
        let limit = match self.limit() {
            Ok(limit) => limit,
            Err(error) => return each(self, Err(error)),
        };
        // Where each definition is of interest, or a step of the history, none is
        // left out.
        let is_plain = interest != Interest::Everything && if_unchanged == IfUnchanged::Replace;
        let may_open = is_plain && self.history.depth == 0;
        let opening = OpeningSearch::new(cached.clone().filter(|_| may_open), interest);
        let has_parsed = self.items_read > read_before;
        self.parsed_units += u64::from(has_parsed);
        let progress = Progress::new(cached, kept, opening);
        let mut progress = Progress { reader, earlier, may_take_layer, has_parsed, ..progress };
        let mut run = |context: &mut Self, progress: &mut Progress, item: ItemRead, is_known: bool| {
            let declares = item.as_ref().is_ok_and(|item| matches!(item.item, CheckedItem::Variables(..)));
            let outcome = context.begin_item(limit.as_ref()).and(item);
            let outcome = outcome.and_then(|item| {
                progress.opening.before(context, &item, progress.items.saturating_sub(1));
                let outcome = context.item(item.item.clone(), if_unchanged)?;
                progress.opening.after(&item, &outcome);
                if is_known {
                    context.keep_definition(&item);
                }
                Ok(outcome)
            });
            if outcome.is_err() {
                progress.opening.end();
                if declares {
                    // What follows may mean something else without the variables.
                    progress.leave_layer(context);
                }
            }
            let Some(outcome) = progress.refused.without_consequences(outcome) else {
                return ControlFlow::Continue(());
            };
            as_host(|| each(context, outcome))?;
            // The names that have been read are of the engine of this source.
            // Nothing goes on in another one.
            if !context.engine.is(&engine) {
                progress.within = None;
                let _ = each(context, Err(Error::OtherEngine));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let flow = self.each_item(&source, &mut progress, limit.as_ref(), &mut run);
        progress.leave_layer(self);
        flow?;
        progress.opening.finish(self);
        ControlFlow::Continue(())
    }

    /// Passes each item to `run`.
    fn each_item(
        &mut self,
        source: &Source,
        progress: &mut Progress,
        limit: Option<&Limit>,
        run: &mut RunItem<'_>,
    ) -> ControlFlow<()> {
        while let Some(item) = progress.known(self, limit) {
            run(self, progress, item, true)?;
        }
        match progress.reader {
            _ if progress.is_at_end() => ControlFlow::Continue(()),
            Some(reader) => (reader.rest)(self, source, progress, limit, run),
            None => run(self, progress, Err(unread()), false),
        }
    }

    /// Returns whether what reading a text asks is not recorded, since it takes a child less to
    /// read it again: it is long, and the program begins with it.
    fn leaves_recording(&self, source: &Source) -> bool {
        self.engine.config().leaves_keeping()
            && source.text().len() >= LONG
            && self.engine.mode() != Mode::Eager
            && self.world.is_untouched(self.engine.operators())
    }

    /// Creates a context that can [record](Self::record) a program.
    pub(crate) fn for_recording(engine: &Engine) -> Result<Self, Error> {
        // Of all back ends, this one takes the least time for a definition.
        let mut context = Self::over(engine, Backend::counting(engine)?, FrontEnd::WHOLE);
        context.evaluation = Evaluation::Record;
        Ok(context)
    }

    /// Reads a program again, as the first of a context [for that](Self::for_recording), and runs
    /// nothing of it. What reading it asks is kept for later runs, if it meets no mistake.
    pub(crate) fn record(&mut self, source: &Source) {
        let Some(known) = self.engine.stored_environment().cloned() else { return };
        let kept = Some(KeptProgram::new(&known, source));
        let mut progress = Progress::new(None, kept, OpeningSearch::new(None, Interest::Values));
        let _source = self.begin_source();
        let _ = self.read_rest(source, &mut progress, None, &mut |context, progress, item, _| {
            progress.kept.iter_mut().for_each(KeptProgram::write_items);
            let outcome = item.and_then(|item| context.item(item.item.clone(), IfUnchanged::Replace));
            // What could not be read to its end is not kept.
            outcome.map_or(ControlFlow::Break(()), |_| ControlFlow::Continue(()))
        });
    }

    /// Reads what follows the items that are known, and passes each item to `run`.
    fn read_rest(
        &mut self,
        source: &Source,
        progress: &mut Progress,
        limit: Option<&Limit>,
        run: &mut RunItem<'_>,
    ) -> ControlFlow<()> {
        let (engine, poll) = (self.engine.clone(), self.poll());
        let limits = engine.config().limits;
        let mut pieces = match Pieces::new(source, engine.names(), limits.max_source_bytes) {
            Ok(pieces) => pieces.polled(&poll),
            Err(diagnostic) => return run(self, progress, Err(Error::Invalid(vec![diagnostic])), false),
        };
        // What comes before an item can explain a mistake in it.
        pieces.skip_to(progress.last);
        while let Some(tokens) = self.parsing(|_| pieces.next()) {
            let limits = ParseLimits { max_nesting: limits.max_nesting };
            let mut parser = Parser::new(&tokens, engine.names(), limits).polled(&poll);
            loop {
                while let Some(item) = progress.known(self, limit) {
                    run(self, progress, item, true)?;
                }
                parser.skip_to(progress.end);
                let Some(item) = self.parsing(|context| context.next_item(&mut parser, progress)) else {
                    break;
                };
                if item.is_err() {
                    parser.refuse();
                }
                let intended = if item.is_err() { parser.intended() } else { Vec::new() };
                run(self, progress, item, false)?;
                progress.refused.extend(source, intended, engine.names());
            }
        }
        progress.complete(&engine, source);
        ControlFlow::Continue(())
    }

    /// Runs `work`, and counts its time as parsing.
    fn parsing<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let started = Instant::now();
        let result = work(self);
        self.parse_time += started.elapsed();
        result
    }

    /// Parses and checks the next item.
    fn next_item(&mut self, parser: &mut Parser<'_>, progress: &mut Progress) -> Option<ItemRead> {
        let parsed = parser.next_item(self.world.operators())?;
        self.items_read += 1;
        progress.leave_edited(&self.engine);
        if !std::mem::replace(&mut progress.has_parsed, true) {
            self.parsed_units += 1;
        }
        let read = match parsed {
            Ok(item) => {
                let is_recorded = progress.kept.as_ref().is_some_and(KeptProgram::is_recorded);
                let checked = self.check(&item, parser, progress.cached.is_some() || is_recorded);
                checked.map(|(checked, record)| (checked, record, item.span.end))
            }
            Err(SyntaxErrors { diagnostics, .. }) => Err(Error::Invalid(diagnostics)),
        };
        Some(match read {
            Ok((item, record, end)) => Ok(progress.add(CachedItem::new(item, record, end))),
            Err(error) => {
                progress.kept = None;
                if let Some(text) = progress.cached.take() {
                    self.engine.texts().forget(text.source());
                }
                Err(error)
            }
        })
    }

    /// Checks an item; returns what its reading asked as well, if that `is_kept`.
    fn check(
        &self,
        item: &Item,
        parser: &Parser<'_>,
        is_kept: bool,
    ) -> Result<(CheckedItem, ReadingRecord), Error> {
        let recorder = is_kept
            .then(|| Recorder::new(self, self.world.operators(), parser.operators(), item.names.clone()));
        let environment: &dyn Environment = match &recorder {
            Some(recorder) => recorder,
            None => self,
        };
        let checked = sema::check(item, environment).map_err(|mistakes| {
            Error::Invalid(if parser.runs_on() { lint::explain_run_on(mistakes) } else { mistakes })
        })?;
        Ok((checked, recorder.map(Recorder::record).unwrap_or_default()))
    }

    /// Makes the cache keep the code of a definition that two contexts have read.
    fn keep_definition(&self, item: &CachedItem) {
        let CheckedItem::Definition(function, _) = &item.item else { return };
        if item.definition.get().is_none()
            && let Some(definition) = self.backend.shared_definition(function)
        {
            let _ = item.definition.set(definition);
        }
    }
}

impl Progress {
    /// Begins a text, of which nothing is known but what is cached.
    fn new(cached: Option<Arc<CachedText>>, kept: Option<KeptProgram>, opening: OpeningSearch) -> Self {
        Self {
            reader: None,
            cached,
            kept,
            earlier: None,
            items: 0,
            end: 0,
            last: 0,
            opening,
            within: None,
            may_take_layer: false,
            has_parsed: false,
            refused: RefusedNames::default(),
        }
    }

    /// Returns the next item, if it is known and means the same in a context.
    /// Goes past the opening of the text first, if that begins here: an error says
    /// that it must not begin.
    fn known(&mut self, context: &mut Context, limit: Option<&Limit>) -> Option<ItemRead> {
        if let Some(opening) = self.opening.next(context, self.items) {
            self.opening.end();
            if let Err(error) = context.begin_item(limit) {
                return Some(Err(error));
            }
            context.open(&opening);
            (self.items, self.end) = (opening.until, opening.end);
        }
        if let Some(earlier) = self.earlier_opening() {
            self.compare(context, earlier);
        }
        if let Some(text) = self.layer() {
            if let Err(error) = context.begin_item(limit) {
                return Some(Err(error));
            }
            self.may_take_layer = false;
            self.within = context.take_layer(&text).map(|layer| LayerItems { layer, run: 0 });
        }
        self.pass_definitions(context);
        let item = self.cached.as_ref().and_then(|text| text.item(self.items));
        let Some(item) = item.filter(|item| item.record().holds(context, context.world.operators())) else {
            self.leave_layer(context);
            return None;
        };
        self.items += 1;
        (self.last, self.end) = (self.end, item.end);
        context.items_known += 1;
        Some(Ok(item))
    }

    /// Goes past the definitions for which a layer stands, up to what is run next.
    fn pass_definitions(&mut self, context: &mut Context) {
        let Some(LayerItems { layer, run }) = &mut self.within else { return };
        let next = layer.other_items().get(*run).copied();
        let until = next.unwrap_or(layer.text().opening().end);
        if let Some(last) = until.checked_sub(1).filter(|last| *last >= self.items) {
            let (Ok(start), Ok(end)) = (layer.text().start(last), layer.text().end(last)) else {
                return self.leave_layer(context);
            };
            context.items_known += (until - self.items) as u64;
            (self.items, self.last, self.end) = (until, start, end);
            layer.reach(until);
        }
        *run += 1;
        self.within.take_if(|_| next.is_none());
    }

    /// Takes the definitions of the layer back that have not been passed: what comes before them
    /// in the text does not lead to them.
    fn leave_layer(&mut self, context: &mut Context) {
        let Some(LayerItems { layer, .. }) = self.within.take() else { return };
        context.take_back(&layer, self.items);
    }

    /// Returns the text of an earlier run, if its opening begins here.
    fn earlier_opening(&mut self) -> Option<SharedParts> {
        let text = self.cached.as_ref().filter(|_| self.earlier.is_some())?.stored()?;
        self.earlier.take_if(|_| text.opening().start == self.items)
    }

    /// Goes on with what an earlier run has checked of an earlier text, as far as that is the
    /// same, or parses what follows.
    fn compare(&mut self, context: &mut Context, earlier: SharedParts) {
        let Some(cached) = self.cached.clone() else { return };
        let read_before = context.items_read;
        let edited = |reader: TextReader| {
            context.parsing(|context| (reader.edited)(context, earlier, cached.source()))
        };
        match self.reader.and_then(edited) {
            Some(text) => {
                if context.items_read > read_before && !std::mem::replace(&mut self.has_parsed, true) {
                    context.parsed_units += 1;
                }
                cached.restore(text, false);
            }
            None => self.write_anew(&context.engine),
        }
    }

    /// Goes on without the text in the cache, and keeps the text as it is now for later runs.
    fn write_anew(&mut self, engine: &Engine) {
        let Some(cached) = self.cached.take() else { return };
        let (Some(text), Some(known)) = (cached.stored(), engine.stored_environment()) else { return };
        let mut kept = KeptProgram::new(known, cached.source());
        for number in 0..self.items {
            let Ok(item) = text.item(number) else { return };
            kept.add(&Arc::new(item.into()));
        }
        self.kept = Some(kept);
    }

    /// Goes on without the text in the cache if the rest of that is different.
    fn leave_edited(&mut self, engine: &Engine) {
        if self.earlier.take().is_some() {
            self.write_anew(engine);
        }
        let is_edited = |text: &Arc<CachedText>| text.stored().is_some_and(|text| text.is_edited());
        self.cached.take_if(|text| is_edited(text));
    }

    /// Returns the stored text whose opening begins here.
    fn layer(&self) -> Option<Arc<StoredText>> {
        let text = self.cached.as_ref().filter(|_| self.may_take_layer)?.stored()?;
        let begins = !text.opening().is_empty() && text.opening().start == self.items;
        begins.then_some(text)
    }

    /// Adds the item that was read next. Returns the one to run, which may be
    /// that of another context that was quicker.
    fn add(&mut self, item: CachedItem) -> Arc<CachedItem> {
        let item = Arc::new(item);
        self.end = item.end;
        self.kept.iter_mut().for_each(|kept| kept.add(&item));
        let Some(text) = &self.cached else { return item };
        let present = text.add(self.items, item.clone());
        self.items += 1;
        if present.end != item.end {
            // The items do not correspond any more.
            self.cached = None;
            return item;
        }
        if present.record() == item.record() { present } else { item }
    }

    fn is_at_end(&self) -> bool {
        self.cached.as_ref().is_some_and(|text| text.ends_after(self.items))
    }

    /// Records that all of a text has been read.
    fn complete(&mut self, engine: &Engine, source: &Source) {
        if let Some(text) = &self.cached {
            text.complete(self.items);
        }
        if let Some(program) = self.kept.take() {
            engine.texts().keep(source, None, KeptText::Program(program));
        }
    }
}

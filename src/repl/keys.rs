//! The keys that behave differently at this prompt than in other line editors.
//!
//! A key is a function of the buffer and the cursor that returns the editor's
//! command; `None` keeps the usual meaning.

use super::indent;
use super::input::{self, Grammar};
use super::recall::HistoryWalk;
use crate::terminal::margin::{self, EDGE, MARGIN};
use parking_lot::Mutex;
use rustyline::{
    At, CharSearch, Cmd, ConditionalEventHandler, EditMode, Event, EventContext, EventHandler, InputMode,
    KeyCode, KeyEvent, Modifiers, Movement, RepeatCount, Word,
};
use std::mem;
use std::sync::Arc;

/// The state that keys and prompt share.
pub(super) struct Keys {
    grammar: Mutex<Grammar>,
    pub(super) walk: Arc<Mutex<HistoryWalk>>,
    intent: Mutex<Intent>,
}

/// What a buffer that is handed over is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Intent {
    #[default]
    Answer,
    /// To be opened in the user's editor.
    Edit,
    /// To be left as it is.
    Abandon,
}

type KeyAction = fn(&Keys, &EventContext<'_>) -> Option<Cmd>;

struct Key {
    keys: Arc<Keys>,
    action: KeyAction,
}

impl Keys {
    pub(super) fn new(grammar: Grammar) -> Self {
        Self { grammar: Mutex::new(grammar), walk: Arc::default(), intent: Mutex::default() }
    }

    /// Sets the grammar for the following inputs.
    pub(super) fn follow(&self, grammar: Grammar) {
        *self.grammar.lock() = grammar;
    }

    /// Returns what the buffer is for; resets that.
    pub(super) fn take_intent(&self) -> Intent {
        mem::take(&mut self.intent.lock())
    }
}

/// Returns all keys with their actions.
pub(super) fn bindings(keys: &Arc<Keys>) -> impl Iterator<Item = (Event, EventHandler)> {
    let plain = |code| KeyEvent(code, Modifiers::NONE);
    let alt = |code| KeyEvent(code, Modifiers::ALT);
    let actions: Vec<(Vec<KeyEvent>, KeyAction)> = vec![
        (vec![plain(KeyCode::Enter)], enter),
        (vec![KeyEvent::ctrl('J')], enter),
        (vec![alt(KeyCode::Enter)], |_, context| Some(new_row(context))),
        (vec![plain(KeyCode::Up)], up),
        (vec![plain(KeyCode::Down)], down),
        (vec![plain(KeyCode::Home)], start_of_row),
        (vec![KeyEvent::ctrl('A')], start_of_row),
        (vec![plain(KeyCode::Left)], left),
        (vec![KeyEvent::ctrl('B')], left),
        (vec![plain(KeyCode::Right)], right),
        (vec![KeyEvent::ctrl('F')], right),
        (vec![plain(KeyCode::End)], end_of_row),
        (vec![KeyEvent::ctrl('E')], end_of_row),
        (vec![KeyEvent::alt('f')], word_of_hint),
        (vec![alt(KeyCode::Right)], word_of_hint),
        (vec![plain(KeyCode::Backspace)], join_rows),
        (vec![KeyEvent::ctrl('W')], join_rows),
        (vec![alt(KeyCode::Backspace)], join_rows),
        (vec![KeyEvent::ctrl('U')], clear_row),
        (vec![KeyEvent::ctrl('D')], end_of_input),
        (vec![KeyEvent::ctrl('C')], abandon),
        (vec![plain(KeyCode::Esc)], keep_match),
        (vec![KeyEvent::ctrl('X'), KeyEvent::ctrl('E')], edit),
    ];
    let keys = keys.clone();
    actions.into_iter().map(move |(sequence, action)| {
        let key = Key { keys: keys.clone(), action };
        (Event::KeySeq(sequence), EventHandler::Conditional(Box::new(key)))
    })
}

impl ConditionalEventHandler for Key {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, context: &EventContext<'_>) -> Option<Cmd> {
        (self.action)(&self.keys, context)
    }
}

/// Ends the input if it is complete, or if its last row is left empty.
fn enter(keys: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    *keys.intent.lock() = Intent::Answer;
    let text = margin::removed(context.line());
    let input = input::without_prompts(&text);
    let is_complete = has_left(context) || !keys.grammar.lock().is_incomplete(&input);
    Some(if is_complete { Cmd::AcceptLine } else { new_row(context) })
}

fn new_row(context: &EventContext<'_>) -> Cmd {
    let before = margin::removed(&context.line()[..context.pos()]);
    let blanks = " ".repeat(indent::after(&before));
    Cmd::Insert(1, format!("\n{MARGIN}{blanks}"))
}

/// Returns whether the cursor is at the end, in an empty row that is not the
/// first.
fn has_left(context: &EventContext<'_>) -> bool {
    let is_at_end = context.pos() == context.line().len();
    is_at_end && input::ends_with_empty_row(context.line())
}

fn end_of_input(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    has_left(context).then_some(Cmd::AcceptLine)
}

fn up(keys: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    if context.line()[..context.pos()].contains('\n') {
        return None;
    }
    keys.walk.lock().note(context.line(), context.pos());
    Some(Cmd::HistorySearchBackward)
}

fn down(keys: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    if context.line()[context.pos()..].contains('\n') {
        return None;
    }
    keys.walk.lock().note(context.line(), context.pos());
    Some(Cmd::HistorySearchForward)
}

/// Returns whether the cursor is directly after the margin of its row.
fn is_at_margin(context: &EventContext<'_>) -> bool {
    margin::before_cursor(context.line(), context.pos()) == MARGIN
}

fn start_of_row(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    let has_margin = margin::before_cursor(context.line(), context.pos()).starts_with(MARGIN);
    has_margin.then_some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::BackwardAfter(EDGE))))
}

fn clear_row(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    let has_margin = margin::before_cursor(context.line(), context.pos()).starts_with(MARGIN);
    has_margin.then_some(Cmd::Kill(Movement::ViCharSearch(1, CharSearch::BackwardAfter(EDGE))))
}

fn left(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    is_at_margin(context).then_some(Cmd::Move(Movement::ViCharSearch(1, CharSearch::Backward('\n'))))
}

/// Moves over the margin of the next row; at the end, accepts the hint.
fn right(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    let rest = &context.line()[context.pos()..];
    let Some(next) = rest.strip_prefix('\n').and_then(|next| next.strip_prefix(MARGIN)) else {
        // A hint that cannot be accepted should not beep.
        let is_at_end = rest.is_empty() && context.has_hint();
        return whole_hint(context).or(is_at_end.then_some(Cmd::Noop));
    };
    let is_empty = next.lines().next().is_none_or(|row| row.trim().is_empty());
    let movement =
        if is_empty { Movement::LineDown(1) } else { Movement::ForwardWord(1, At::Start, Word::Big) };
    Some(Cmd::Move(movement))
}

fn end_of_row(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    whole_hint(context)
}

/// Accepts the hint after the end of the buffer, if there is one.
fn whole_hint(context: &EventContext<'_>) -> Option<Cmd> {
    let is_at_end = context.pos() == context.line().len();
    (is_at_end && context.hint_text().is_some()).then_some(Cmd::CompleteHint)
}

fn word_of_hint(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    whole_hint(context)?;
    let hint = context.hint_text()?;
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let start = hint.find(is_part).unwrap_or(hint.len());
    let length = hint[start..].find(|character| !is_part(character)).unwrap_or(hint.len() - start);
    Some(Cmd::Insert(1, hint[..start + length].to_owned()))
}

fn join_rows(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    let deletes = context.mode() == EditMode::Emacs || context.input_mode() != InputMode::Command;
    (deletes && is_at_margin(context))
        .then_some(Cmd::Kill(Movement::ViCharSearch(1, CharSearch::Backward('\n'))))
}

/// Ends a search and keeps what was found: any movement does, and this one
/// moves nothing.
fn keep_match(_: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    (context.mode() == EditMode::Emacs).then_some(Cmd::Move(Movement::WholeLine))
}

fn edit(keys: &Keys, _: &EventContext<'_>) -> Option<Cmd> {
    *keys.intent.lock() = Intent::Edit;
    Some(Cmd::AcceptLine)
}

/// Hands a buffer with a hint over to be abandoned: the editor's own command
/// would leave the hint behind it on the screen, as if it had been typed.
fn abandon(keys: &Keys, context: &EventContext<'_>) -> Option<Cmd> {
    context.has_hint().then(|| {
        *keys.intent.lock() = Intent::Abandon;
        Cmd::AcceptLine
    })
}

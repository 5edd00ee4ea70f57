//! What the fuzz targets do with the bytes that they are given. The targets in
//! `fuzz/` call these functions; the suite does so with the seeds and with
//! what was once found.

use crate::choices::Bytes;
use crate::model::Session;
use crate::modes::{MODES, engine, observe};
use crate::program::{Item, Program, program};
use crate::reading;
use kal::{Config, Engine, Limits, TierUp};
use std::cell::LazyCell;

/// Does something with bytes.
type Target = fn(&[u8]);

/// A target of this file: its name, which is that of its folder of seeds.
pub const TARGETS: &[(&str, Target)] =
    &[("text", text), ("programs", programs), ("redefinitions", redefinitions), ("api", api)];

/// A program that runs for longer says nothing new.
const FUEL: u64 = 200_000;

thread_local! {
    /// The engines of every mode.
    static ENGINES: LazyCell<Vec<Engine>> =
        LazyCell::new(|| (0..MODES.len()).map(|mode| engine(mode, Limits::default())).collect());
    /// An engine that counts, to know which programs are short.
    static COUNTING: LazyCell<Engine> =
        LazyCell::new(|| engine(0, Limits { fuel: Some(FUEL), ..Limits::default() }));
    /// The engine for sessions.
    static SESSIONS: LazyCell<Engine> = LazyCell::new(|| {
        let limits = Limits { stack: 1 << 20, ..Limits::default() };
        Engine::with_config(Config::new().tier_up(TierUp::After(5)).limits(limits)).expect("it starts")
    });
}

/// Parses any bytes: what is valid prints as the same program, what is not is
/// drawn.
pub fn text(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    reading::round_trips(&text);
    reading::mistakes_are_drawn(&text);
}

/// Checks that a random program gives the same in every mode.
pub fn programs(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let program = program(&mut Bytes(rest));
    if !is_short(&program) {
        return;
    }
    ENGINES.with(|engines| {
        let expected = observe(&engines[0], &program);
        let mode = 1 + usize::from(*first) % (MODES.len() - 1);
        assert_eq!(observe(&engines[mode], &program), expected, "{}:\n{}", MODES[mode].0, program.text());
    });
}

/// After any number of redefinitions, functions mean what they mean where only
/// the last definitions were ever seen.
pub fn redefinitions(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let program = program(&mut Bytes(rest));
    let questions = questions(&program);
    let history = Program([program.0.clone(), questions.clone()].concat());
    if !is_short(&history) {
        return;
    }
    let fresh = Program([last_definitions(&program), questions.clone()].concat());
    ENGINES.with(|engines| {
        let engine = &engines[usize::from(*first) % MODES.len()];
        let (history_seen, fresh_seen) = (observe(engine, &history), observe(engine, &fresh));
        let last = |seen: &[String]| seen[seen.len() - questions.len()..].to_vec();
        assert_eq!(last(&history_seen), last(&fresh_seen), "{}\n{}", history.text(), fresh.text());
    });
}

/// A session keeps to its model, whatever is asked of it in which order.
pub fn api(bytes: &[u8]) {
    SESSIONS.with(|engine| {
        let mut choices = Bytes(bytes);
        let mut session = Session::new(engine, &mut choices);
        while !session.choices_are_over() {
            session.step();
        }
    });
}

fn is_short(program: &Program) -> bool {
    COUNTING.with(|engine| observe(engine, program).iter().all(|seen| !seen.contains("fuel")))
}

/// Returns the name and the number of parameters of a definition.
fn signature(item: &Item) -> Option<(&str, usize)> {
    let Item::Define { head, .. } = item else { return None };
    let (name, parameters) = head.split_once('(')?;
    Some((name, parameters.trim_end_matches(')').split_whitespace().count()))
}

fn is_operator(item: &Item) -> bool {
    signature(item).is_some_and(|(name, _)| name.contains(' '))
}

/// Returns a program that assigns known values to the variables, then calls
/// every function.
fn questions(program: &Program) -> Vec<Item> {
    let variables = program.0.iter().filter(|item| matches!(item, Item::Variables(_))).cloned();
    let mut known: Vec<(&str, usize)> = program.0.iter().filter_map(signature).collect();
    known.sort_unstable();
    known.dedup();
    let calls = known
        .into_iter()
        .filter(|(name, _)| !name.contains(' '))
        .flat_map(|(name, arity)| [1.0, -2.5].map(|first| Item::call(name, &vec![first; arity])));
    variables.chain(calls).collect()
}

/// Returns the last definition of everything: operators first, so that all
/// source after them is read with them.
fn last_definitions(program: &Program) -> Vec<Item> {
    let is_last = |index: usize, item: &Item| {
        let later = program.0[index + 1..].iter().filter_map(signature);
        signature(item).is_some_and(|own| later.into_iter().all(|other| other.0 != own.0))
    };
    let last: Vec<Item> = program
        .0
        .iter()
        .enumerate()
        .filter(|(index, item)| is_last(*index, item))
        .map(|(_, item)| item.clone())
        .collect();
    let variables = program.0.iter().filter(|item| matches!(item, Item::Variables(_))).cloned();
    // They come first: who gives something has to be known as one who does.
    let mut patterns: Vec<Item> = Vec::new();
    for item in program.0.iter().filter(|item| matches!(item, Item::Pattern { .. })) {
        let head = |item: &Item| match item {
            Item::Pattern { head, .. } => Some(*head),
            _ => None,
        };
        patterns.retain(|known| head(known) != head(item));
        patterns.push(item.clone());
    }
    let (operators, functions): (Vec<Item>, Vec<Item>) = last.into_iter().partition(is_operator);
    variables.chain(operators).chain(patterns).chain(functions).collect()
}

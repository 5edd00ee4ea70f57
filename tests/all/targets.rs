//! What the fuzz targets do with the bytes that they are given. The targets in
//! `fuzz/` call these functions; the suite does so with the seeds and with
//! what was once found.

use crate::choices::{Bytes, Choices, Random};
use crate::model::Session;
use crate::modes::{MODES, engine, observe};
use crate::program::{Item, Program, program};
use crate::{reading, rows};
use kal::{Config, Engine, Limits, Processor, Run, TierUp};
use std::cell::LazyCell;

/// Does something with bytes.
type Target = fn(&[u8]);

/// A target of this file: its name, which is that of its folder of seeds.
pub const TARGETS: &[(&str, Target)] = &[
    ("text", text),
    ("programs", programs),
    ("redefinitions", redefinitions),
    ("api", api),
    ("columns", columns),
];

/// A program that runs for longer says nothing new.
const FUEL: u64 = 200_000;

thread_local! {
    /// The engines of every mode.
    static ENGINES: LazyCell<Vec<Engine>> =
        LazyCell::new(|| (0..MODES.len()).map(|mode| engine(mode, Limits::default())).collect());
    /// An engine that counts, to know which programs are short.
    static COUNTING: LazyCell<Engine> =
        LazyCell::new(|| engine(0, Limits { fuel: Some(FUEL), ..Limits::default() }));
    /// Engines whose kernels differ: in their lanes, and in what their masks are.
    static LANES: LazyCell<Vec<Engine>> = LazyCell::new(|| {
        let engine = |(lanes, level): (u32, &str)| {
            let processor: Processor = level.parse().expect("it is one");
            Engine::with_config(Config::new().workers(1).lanes(lanes).processor(processor)).ok()
        };
        let levels = ["x86-64", "x86-64-v3", "native"];
        let pairs = levels.iter().flat_map(|level| [2, 4, 8, 16, 32].map(|lanes| (lanes, *level)));
        pairs.filter_map(engine).collect()
    });
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

/// Functions over columns give the bits of calls, and take their fuel, with any number of
/// lanes and of threads.
pub fn columns(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let mut choices = Bytes(rest);
    let count = [1, 37, 257, 8200][choices.below(4)];
    let (every, threads) = (choices.below(4), 1 + 2 * choices.below(2));
    let text = rows::functions(&mut choices);
    // What is left of the bytes is too little for so many.
    let mut random = Random::new(bytes.iter().fold(7, |seed, byte| seed * 31 % 65_521 + u64::from(*byte)));
    let table = [rows::numbers(&mut random, count), rows::numbers(&mut random, count)];
    let inputs = rows::inputs(&table, every);
    LANES.with(|engines| {
        let mut context = engines[usize::from(*first) % engines.len()].context().expect("there is memory");
        let mut counting = COUNTING.with(|engine| engine.context().expect("there is memory"));
        context.eval(&text).expect("it is right");
        counting.eval(&text).expect("it is right");
        for description in context.definitions() {
            let name = description.name.as_str();
            let kernel = context.kernel(name).expect("it is defined");
            let (mut expected, mut taken) = (Vec::new(), Vec::new());
            for row in 0..count {
                let arguments = [0, 1].map(|column| rows::value_at(&inputs[column], row));
                // What takes too long says nothing new.
                let Ok(value) = counting.call(name, &arguments) else { return };
                expected.push(value);
                taken.push(FUEL - counting.fuel().expect("it is counted"));
            }
            let expected = rows::bits(&expected);
            let same =
                |found: &[f64]| found.iter().zip(&expected).all(|(found, value)| found.to_bits() == *value);
            assert!(same(&rows::applied(&kernel, &inputs, count, threads)), "{name}:\n{text}");
            let total: u64 = taken.iter().sum();
            let (mut run, mut output) = (Run::new(), vec![7.0; count]);
            let fuel = total * random.below(9) as u64 / 8;
            (run.threads, run.fuel) = (threads, Some(fuel));
            let end = kernel.apply(&inputs, &mut output, &mut run).err().and_then(|error| error.row);
            let mut sum = 0;
            let last = taken.iter().position(|taken| {
                sum += taken;
                sum > fuel
            });
            assert_eq!(end, last, "{name}, fuel {fuel} of {total}:\n{text}");
            assert!(same(&output[..end.unwrap_or(count)]), "{name}, fuel {fuel}:\n{text}");
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

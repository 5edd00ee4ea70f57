//! Every way to run a program, and what can be seen of a run.

use crate::program::Program;
use kal::host::Output;
use kal::source::Source;
use kal::{Config, Engine, Level, Limits, Mode, Outcome, TierUp};
use std::io;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// Sets a mode.
pub type Configure = fn(Config) -> Config;

/// Every way to run a program. The first is what the others are compared with.
pub const MODES: &[(&str, Configure)] = &[
    ("--interpret", |config| config.mode(Mode::Interpret)),
    ("--lazy -O0", |config| config.level(Level::O0)),
    ("--lazy -O1", |config| config.level(Level::O1).tier_up(TierUp::Never)),
    ("--lazy -O2", |config| config.level(Level::O2).tier_up(TierUp::Never)),
    ("--lazy -O3", |config| config.level(Level::O3).tier_up(TierUp::Never)),
    ("--lazy -O1 --tier-up-after 1", |config| baseline(config, Level::O1, 1)),
    ("--lazy -O2 --tier-up-after 2", |config| baseline(config, Level::O2, 2)),
    ("--lazy -O3 --tier-up-after 5", |config| baseline(config, Level::O3, 5)),
    ("--lazy", |config| config),
    ("--eager -O0", |config| config.mode(Mode::Eager).level(Level::O0)),
    ("--eager -O1", |config| config.mode(Mode::Eager).level(Level::O1)),
    ("--eager -O2", |config| config.mode(Mode::Eager).level(Level::O2)),
    ("--eager -O3", |config| config.mode(Mode::Eager).level(Level::O3)),
    ("--tiered", |config| config.mode(Mode::Tiered)),
    ("--tiered -O0 --tier-up-after 1", |config| tiered(config, Level::O0, 1)),
    ("--tiered -O1 --tier-up-after 2", |config| tiered(config, Level::O1, 2)),
    ("--tiered -O2 --tier-up-after 4", |config| tiered(config, Level::O2, 4)),
];

/// Returns a configuration that switches from baseline code to optimised code
/// after `after` calls or iterations, waiting for it.
fn baseline(config: Config, level: Level, after: u32) -> Config {
    config.level(level).tier_up(TierUp::After(after)).wait_for_code(true)
}

/// Returns a configuration that switches to compiled code after `after` calls
/// or iterations, waiting for it.
fn tiered(config: Config, level: Level, after: u32) -> Config {
    config.mode(Mode::Tiered).level(level).tier_up(TierUp::After(after)).wait_for_code(true)
}

/// Returns an engine for a mode, with a host function of the test's own.
pub fn engine(mode: usize, limits: Limits) -> Engine {
    let config = host_functions(Config::new().workers(1).limits(limits));
    Engine::with_config(MODES[mode].1(config)).expect("an engine starts")
}

/// Adds the host functions that random programs call.
pub fn host_functions(config: Config) -> Config {
    config.host_function("mix", 3, |call| {
        let [x, y, z] = call.arguments else { return Ok(f64::NAN) };
        call.output.byte(b'#')?;
        Ok(x.mul_add(0.25, *y) - z)
    })
}

/// What a program writes, in order.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<String>>);

impl Output for Written {
    fn value(&mut self, value: f64) -> io::Result<()> {
        self.0.lock().expect("nobody panics").push_str(&bits(value));
        Ok(())
    }

    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.0.lock().expect("nobody panics").push(char::from(byte));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns which NaN it is cannot be seen by a program.
fn bits(value: f64) -> String {
    if value.is_nan() { "[nan]".into() } else { format!("[{value:?} {:x}]", value.to_bits()) }
}

/// Returns everything that can be observed of a run, item by item.
pub fn observe(engine: &Engine, program: &Program) -> Vec<String> {
    observe_texts(engine, &[&program.text()])
}

/// Returns everything that can be observed when a context runs these texts.
pub fn observe_texts(engine: &Engine, texts: &[&str]) -> Vec<String> {
    let mut context = engine.context().expect("a context starts");
    let written = Written::default();
    context.set_output(Box::new(written.clone()));
    let mut seen = Vec::new();
    for text in texts {
        let _ = context.run(&Source::new("random", *text), &mut |_, outcome| {
            let outcome = match outcome {
                Ok(Outcome::Value(value)) => bits(value),
                Ok(_) => "done".to_owned(),
                Err(error) => error.to_string(),
            };
            let printed = std::mem::take(&mut *written.0.lock().expect("nobody panics"));
            seen.push(format!("{printed} {outcome}"));
            ControlFlow::Continue(())
        });
    }
    seen
}

/// Evaluates texts in a new context, each up to its first error; returns what
/// each gave.
pub fn evaluate_texts(engine: &Engine, texts: &[&str]) -> Vec<String> {
    let mut context = engine.context().expect("a context starts");
    let written = Written::default();
    context.set_output(Box::new(written.clone()));
    let evaluate = |text: &&str| {
        let outcome = match context.eval(text) {
            Ok(value) => value.map_or_else(|| "done".to_owned(), bits),
            Err(error) => error.to_string(),
        };
        let printed = std::mem::take(&mut *written.0.lock().expect("nobody panics"));
        format!("{printed} {outcome}")
    };
    texts.iter().map(evaluate).collect()
}

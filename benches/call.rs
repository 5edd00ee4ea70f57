//! What a call of a compiled function from Rust takes, without limits and with
//! each kind of deadline: prints nanoseconds, the median of many measurements.
//! `cargo bench --bench call`, or `-- limit` for those with that word.

use kal::{Config, Context, Engine, Limits};
use std::hint::black_box;
use std::time::{Duration, Instant};

const CALLS: u32 = 100_000;

fn context(deadline: Option<Duration>) -> Context {
    let limits = Limits { deadline, ..Limits::default() };
    let engine = Engine::with_config(Config::new().limits(limits)).expect("an engine");
    let mut context = engine.context().expect("a context");
    context.eval("var scale = 3; def one(x) x + 1; def scaled(x) scale * x").expect("it is right");
    context
}

fn measure(what: &str, function: &str, mut context: Context) {
    if std::env::args().nth(1).is_some_and(|only| !only.starts_with("--") && !what.contains(&only)) {
        return;
    }
    let function = context.function::<fn(f64) -> f64>(function).expect("it is defined");
    let mut times: Vec<f64> = (0..51)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(function.call(&mut context, (black_box(2.0),)).is_ok());
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{what:<40} {:>6.1} ns", times[times.len() / 2]);
}

fn main() {
    measure("no deadline", "one", context(None));
    measure("no deadline, a variable", "scaled", context(None));
    let mut set = context(None);
    set.set_deadline(Some(Instant::now() + Duration::from_secs(3600)));
    measure("a deadline of the context", "one", set);
    measure("a limit of 5 s for each call", "one", context(Some(Duration::from_secs(5))));
    measure("a limit of 30 ms for each call, a variable", "scaled", context(Some(Duration::from_millis(30))));
}

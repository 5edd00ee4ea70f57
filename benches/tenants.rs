//! What contexts of one engine cost beside each other: prints how long a first
//! and a second context take for the same program, and what requests cost that
//! take a context each. `cargo bench --bench tenants`, or `-- requests` for those
//! with that word.

use kal::source::Source;
use kal::{Config, Context, Engine, Mode};
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Returns a program of `count` functions that might each call the one before.
fn chain(count: usize) -> String {
    let mut text = String::from("def f0(x) x + 1\n");
    for index in 1..count {
        let _ = writeln!(
            text,
            "def f{index}(x) if x < 0 then f{}(x) * 0.5 + {index} else x + {index}",
            index - 1
        );
    }
    text
}

fn engine(mode: Mode) -> Engine {
    Engine::with_config(Config::new().mode(mode)).expect("an engine")
}

fn context(engine: &Engine) -> Context {
    engine.context().expect("a context")
}

/// Returns the memory in use by this process, in bytes.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    status.split(' ').nth(1).and_then(|pages| pages.parse::<i64>().ok()).unwrap_or(0) * 4096
}

/// A first, a second and a third context define a program and call all of it.
fn starts(mode: Mode, how: &str, text: &str, call_all: fn(&mut Context)) {
    let engine = engine(mode);
    let mut kept = Vec::new();
    for _ in 0..3 {
        let (start, memory) = (Instant::now(), resident());
        let mut context = context(&engine);
        context.eval(text).expect("it is right");
        let defined = start.elapsed();
        call_all(&mut context);
        let stats = context.stats();
        println!(
            "{mode:?}, {how}: defined in {:.2} ms, all called after {:.2} ms, {} KB; items read {}, IR of {}, objects {}",
            defined.as_secs_f64() * 1e3,
            start.elapsed().as_secs_f64() * 1e3,
            (resident() - memory) / 1024,
            stats.items_read,
            stats.ir_generated,
            stats.objects_linked
        );
        kept.push(context);
    }
}

/// Calls each function of a [`chain`] of 10,000.
fn call_each(context: &mut Context) {
    for index in 0..10_000 {
        context.call(&format!("f{index}"), &[1.0]).expect("it runs");
    }
}

/// Returns a program of 10,000 functions that one function calls, in groups of
/// 100.
fn groups() -> String {
    let mut text: String = (0..10_000)
        .map(|index| format!("def g{index}(x) if x < 0 then g{index}(x + 1) * 0.5 else x + {index}\n"))
        .collect();
    for group in 0..100 {
        let calls: Vec<String> = (0..100).map(|index| format!("g{}(x)", 100 * group + index)).collect();
        let _ = writeln!(text, "def group{group}(x) {}", calls.join(" + "));
    }
    let groups: Vec<String> = (0..100).map(|group| format!("group{group}(x)")).collect();
    let _ = writeln!(text, "def all(x) {}", groups.join(" + "));
    text
}

fn call_at_once(context: &mut Context) {
    context.call("all", &[1.0]).expect("it runs");
}

/// A request makes a context, defines five functions, calls one, and drops all.
fn requests(mode: Mode) {
    let (engine, text) = (engine(mode), chain(5));
    let (start, mut count) = (Instant::now(), 0u32);
    while start.elapsed() < Duration::from_secs(2) {
        let mut context = context(&engine);
        context.eval(&text).expect("it is right");
        context.call("f4", &[1.0]).expect("it runs");
        count += 1;
    }
    println!("{mode:?}: {:.0} requests a second", f64::from(count) / start.elapsed().as_secs_f64());
}

/// Many contexts with as many functions each, of which some are called.
fn tenants(count: usize, functions: usize, called: usize) {
    let (engine, text) = (engine(Mode::Lazy), chain(functions));
    let (start, memory) = (Instant::now(), resident());
    let mut contexts: Vec<Context> = (0..count)
        .map(|_| {
            let mut context = context(&engine);
            context.eval(&text).expect("it is right");
            context
        })
        .collect();
    let defined = start.elapsed();
    for context in &mut contexts {
        for index in 0..called {
            context.call(&format!("f{index}"), &[1.0]).expect("it runs");
        }
    }
    let called = start.elapsed() - defined;
    let memory = resident() - memory;
    let start = Instant::now();
    drop(contexts);
    println!(
        "{count} contexts of {functions} functions: defined {:.0} ms, first calls {:.0} ms, {} MB, {} KB each, dropped in {:.0} ms",
        defined.as_secs_f64() * 1e3,
        called.as_secs_f64() * 1e3,
        memory >> 20,
        memory / 1024 / count as i64,
        start.elapsed().as_secs_f64() * 1e3
    );
}

/// Many contexts that read the same large program, and call a function of it.
fn over(count: usize, called: &str) {
    let (engine, source) = (engine(Mode::Lazy), Source::new("groups", groups()));
    let begin = || {
        let mut context = context(&engine);
        let flow = context.run_for_values(&source, &mut |_, outcome| {
            outcome.expect("it is right");
            ControlFlow::Continue(())
        });
        assert!(flow.is_continue());
        context.call(called, &[1.0]).expect("it runs");
        context
    };
    let first = begin();
    let (start, memory) = (Instant::now(), resident());
    let contexts: Vec<Context> = (0..count).map(|_| begin()).collect();
    println!(
        "{count} contexts of the same 10,000 functions, `{called}` called: {:.0} µs and {:.1} KB each, {} MB",
        start.elapsed().as_secs_f64() * 1e6 / count as f64,
        (resident() - memory) as f64 / 1024.0 / count as f64,
        (resident() - memory) >> 20,
    );
    drop((first, contexts));
}

/// Returns the median of times in microseconds.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// What a context does beside idle ones: an expression of a known shape, one of a
/// new shape, a new function with its call.
fn beside(idle: usize) {
    let engine = engine(Mode::Lazy);
    let contexts: Vec<Context> = (0..idle)
        .map(|_| {
            let mut context = context(&engine);
            context.eval("def idle(x) x + 1; idle(1)").expect("it is right");
            context
        })
        .collect();
    let mut context = context(&engine);
    let mut time = |text: String| {
        let start = Instant::now();
        context.eval(&text).expect("it is right");
        start.elapsed().as_secs_f64() * 1e6
    };
    let known = median((0..200_000).map(|index| time(format!("{index} * 2 + 1"))).collect());
    let new = median((1..500).map(|index| time(vec!["1"; index].join("+"))).collect());
    let function = median((0..500).map(|index| time(format!("def f{index}(x) x; f{index}(1)"))).collect());
    println!(
        "beside {} idle contexts: an expression {known:.1} µs, of a new shape {new:.0} µs, a function {function:.0} µs",
        contexts.len()
    );
}

fn main() {
    let only = std::env::args().nth(1).filter(|only| !only.starts_with("--"));
    let is_wanted = |what: &str| only.as_ref().is_none_or(|only| what.contains(only.as_str()));
    for mode in [Mode::Lazy, Mode::Eager, Mode::Interpret] {
        if is_wanted("starts") {
            starts(mode, "one by one", &chain(10_000), call_each);
            starts(mode, "at once", &groups(), call_at_once);
        }
        if is_wanted("requests") {
            requests(mode);
        }
    }
    for count in [1, 100, 1_000, 10_000] {
        if is_wanted("tenants") {
            tenants(count, 50, 10);
        }
    }
    if is_wanted("tenants") {
        tenants(50_000, 50, 10);
        tenants(1_000, 1_000, 1_000);
    }
    for count in [100, 1_000, 10_000] {
        if is_wanted("over") {
            over(count, "g77");
            over(count.min(1_000), "all");
        }
    }
    for idle in [0, 1_000, 10_000] {
        if is_wanted("beside") {
            beside(idle);
        }
    }
}

//! What single steps take: `cargo bench --bench micro [-- FILTER]`.
//!
//! Parsing, defining, generating code at each level, linking, calling.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kal::name::Names;
use kal::source::Source;
use kal::syntax::lexer::Pieces;
use kal::syntax::operator::Operators;
use kal::syntax::parser::{ParseLimits, Parser};
use kal::{Config, Context, Engine, Level};
use kal_orc::{Session, SessionOptions};
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Duration;

/// Returns a program of `count` definitions, like a generated one.
fn definitions(count: usize) -> String {
    let mut text = String::new();
    for index in 0..count {
        let other = (index * 7 + 3) % count;
        let _ = writeln!(
            text,
            "def f{index}(x y) if x < y then x*{index} + f{other}(y, x-1) else (x-y)*2.5 # a comment"
        );
    }
    text
}

fn context(level: Level) -> Context {
    Engine::with_config(Config::new().level(level)).and_then(|engine| engine.context()).expect("a context")
}

fn reading(criterion: &mut Criterion) {
    let names = Names::new();
    let source = Source::new("bench", definitions(2000));
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Bytes(source.text().len() as u64)).sample_size(30);
    group.bench_function("lex", |bencher| {
        bencher.iter(|| {
            let pieces = Pieces::new(&source, &names, u32::MAX).expect("it is short");
            for tokens in pieces {
                black_box(&tokens);
            }
        });
    });
    let operators = Operators::new(&names);
    group.bench_function("lex and parse", |bencher| {
        bencher.iter(|| {
            let pieces = Pieces::new(&source, &names, u32::MAX).expect("it is short");
            for tokens in pieces {
                let mut parser = Parser::new(&tokens, &names, ParseLimits::default());
                while let Some(item) = parser.next_item(&operators) {
                    black_box(item.is_ok());
                }
            }
        });
    });
    let text = source.text().to_owned();
    group.bench_function("lex, parse, check and define", |bencher| {
        let mut context = context(Level::O2);
        bencher.iter(|| context.eval(black_box(&text)).is_ok());
    });
    group.finish();
}

fn compiling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compile and link");
    group.sample_size(30);
    for (name, level) in [("O0", Level::O0), ("O1", Level::O1), ("O2", Level::O2), ("O3", Level::O3)] {
        let mut context = context(level);
        group.bench_function(format!("a function at {name}"), |bencher| {
            let define = |context: &mut Context| context.eval("def f(x y) if x < y then x*2 else g(y)*x");
            bencher.iter(|| define(&mut context).and_then(|_| context.prepare_all()).is_ok());
        });
        let mut context = self::context(level);
        group.bench_function(format!("an expression at {name}, and run"), |bencher| {
            bencher.iter(|| context.eval(black_box("1.5 * 2 + 3")).is_ok());
        });
    }
    group.finish();
}

/// Measures linking an object file with nothing but `nothing: ret`.
fn linking(criterion: &mut Criterion) {
    let program = std::env::temp_dir().join(format!("kal-bench-{}", std::process::id()));
    let (source, object) = (program.with_extension("s"), program.with_extension("o"));
    std::fs::write(&source, ".globl nothing\n.type nothing,@function\nnothing: ret\n").expect("a file");
    let made = std::process::Command::new("cc").arg("-c").arg(&source).arg("-o").arg(&object).status();
    let bytes = made.is_ok().then(|| std::fs::read(&object).ok()).flatten();
    let _ = (std::fs::remove_file(source), std::fs::remove_file(object));
    let Some(bytes) = bytes else {
        println!("link: left out, there is no C compiler to make an object with");
        return;
    };
    let session = Session::new(&SessionOptions::default()).expect("a session");
    let dylib = session.create_dylib("bench").expect("a dylib");
    criterion.bench_function("link an object, look it up, remove it", |bencher| {
        bencher.iter(|| {
            let tracker = dylib.create_tracker();
            tracker.add_object(&bytes).expect("the object is good");
            black_box(session.lookup(&dylib, "nothing").expect("it is there"));
            tracker.remove().expect("nobody uses it");
        });
    });
}

fn calling(criterion: &mut Criterion) {
    let mut context = context(Level::O2);
    context
        .eval("def one(x) x + 1 def four(a b c d) a*b + c*d def leaf(x) x def calls(x) leaf(x) + 1")
        .expect("it is right");
    let one = context.function::<fn(f64) -> f64>("one").expect("it is defined");
    let four = context.function::<fn(f64, f64, f64, f64) -> f64>("four").expect("it is defined");
    let calls = context.function::<fn(f64) -> f64>("calls").expect("it is defined");
    criterion.bench_function("call from Rust, 1 argument", |bencher| {
        bencher.iter(|| one.call(&mut context, (black_box(2.0),)).is_ok());
    });
    criterion.bench_function("call from Rust, 4 arguments", |bencher| {
        bencher.iter(|| four.call(&mut context, (black_box(2.0), 3.0, 4.0, 5.0)).is_ok());
    });
    criterion.bench_function("call from Rust, that calls", |bencher| {
        bencher.iter(|| calls.call(&mut context, (black_box(2.0),)).is_ok());
    });
}

fn starting(criterion: &mut Criterion) {
    criterion.bench_function("an engine and a context", |bencher| {
        bencher.iter_batched(
            || (),
            |()| Engine::new().and_then(|engine| engine.context()).is_ok(),
            BatchSize::PerIteration,
        );
    });
}

/// Returns settings with short samples: everything takes about two minutes.
fn short() -> Criterion {
    Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3))
}

criterion_group! {
    name = benches;
    config = short();
    targets = reading, compiling, linking, calling, starting
}
criterion_main!(benches);

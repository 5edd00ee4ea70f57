//! What a call of a compiled function from Rust takes: prints nanoseconds, the
//! median of many measurements. `cargo bench --bench call`.

use std::hint::black_box;
use std::time::Instant;

const CALLS: u32 = 100_000;

fn main() {
    let mut context = kal::Engine::new().and_then(|engine| engine.context()).expect("a context");
    context.eval("def one(x) x + 1").expect("it is right");
    let one = context.function::<fn(f64) -> f64>("one").expect("it is defined");
    let mut times: Vec<f64> = (0..51)
        .map(|_| {
            let start = Instant::now();
            for _ in 0..CALLS {
                black_box(one.call(&mut context, (black_box(2.0),)).is_ok());
            }
            start.elapsed().as_nanos() as f64 / f64::from(CALLS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{:.1}", times[times.len() / 2]);
}

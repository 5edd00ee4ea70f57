//! Many threads use an engine in every way at once: no wrong answer, no hang,
//! no panic that gets out, and memory stays level.
//!
//! `KAL_STORM` is how many seconds each mode is stormed, `KAL_STORM_THREADS` by
//! how many threads; `KAL_STORM_MODE=Lazy` storms one mode only. `make storm` takes ten minutes for each mode.

use crate::choices::{Choices, Random};
use crate::robustness::{alone, resident};
use crate::scale;
use kal::{Config, Context, Engine, Error, Formula, InterruptHandle, Limits, Mode, TierUp};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What has been done so far.
#[derive(Default)]
struct Counts {
    answers: AtomicU64,
    stops: AtomicU64,
    overflows: AtomicU64,
    panics: AtomicU64,
    contexts: AtomicU64,
    steps: AtomicU64,
}

fn add(count: &AtomicU64) {
    count.fetch_add(1, Ordering::Relaxed);
}

/// What threads know of each other.
struct Shared {
    engine: Engine,
    counts: Counts,
    /// Of contexts of all threads, some of them long gone.
    handles: Mutex<Vec<InterruptHandle>>,
    ends: Instant,
    /// Threads that are done.
    done: AtomicU64,
}

/// One thread with a context, and the results it must get.
struct Stormer<'a> {
    shared: &'a Shared,
    random: Random,
    context: Context,
    formula: Option<(Formula, u32)>,
    /// What `f` adds, if it is known to be defined.
    adds: Option<u32>,
}

const FUNCTIONS: &str = "def binary : 1 (a b) b; \
     def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2); \
     def sum(n) var s = 0 in (for i = 1, i < n in s = s + i) : s; \
     def deep(n) 1 + deep(n + 1)";

impl<'a> Stormer<'a> {
    fn new(shared: &'a Shared, seed: u64) -> Self {
        let context = shared.engine.context().expect("a context starts");
        let mut stormer = Self { shared, random: Random::new(seed), context, formula: None, adds: None };
        stormer.start_anew();
        stormer
    }

    fn start_anew(&mut self) {
        add(&self.shared.counts.contexts);
        self.formula = None;
        self.adds = None;
        self.context = self.shared.engine.context().expect("a context starts");
        let mut handles = self.shared.handles.lock().expect("nobody panics with it");
        if handles.len() >= 128 {
            let place = self.random.below(128);
            handles[place] = self.context.interrupt_handle();
        } else {
            handles.push(self.context.interrupt_handle());
        }
        drop(handles);
        // Others may interrupt it from now on.
        while self.context.state("deep").is_none() {
            let result = self.context.eval(FUNCTIONS);
            self.check(result.map(|_| 0.0), None);
        }
    }

    /// Counts a result: the value, if that is known, or a stop that was
    /// requested.
    fn check(&mut self, result: Result<f64, Error>, expected: Option<f64>) -> bool {
        let counts = &self.shared.counts;
        match result {
            Ok(value) => {
                add(&counts.answers);
                if let Some(expected) = expected {
                    assert_eq!(value, expected);
                }
                return true;
            }
            Err(error) => match error.to_string().as_str() {
                "interrupted" | "the run took longer than allowed" => add(&counts.stops),
                text if text.contains("stack") => add(&counts.overflows),
                text if text.contains("panicked") => add(&counts.panics),
                text => panic!("{text}"),
            },
        }
        false
    }

    fn step(&mut self) {
        add(&self.shared.counts.steps);
        match self.random.below(16) {
            0 | 1 => self.define(),
            2..=4 => self.call(),
            5 => self.handle(),
            6 | 7 => self.call_formula(),
            8 => self.make_formula(),
            9 => self.interrupt(),
            10 => self.hurry(),
            11 => self.recur(),
            12 => self.panic(),
            13 => self.loop_long(),
            14 => self.prepare(),
            _ => {
                if self.random.below(8) == 0 {
                    self.start_anew();
                }
            }
        }
    }

    fn define(&mut self) {
        let adds = self.random.below(1000) as u32;
        let result = self.context.eval(&format!("def f(x) x + {adds}; def g(x) f(x) * 2 + fib(5)"));
        // Where it was stopped is not known.
        self.adds = self.check(result.map(|_| 0.0), None).then_some(adds);
    }

    fn call(&mut self) {
        let Some(adds) = self.adds else { return self.define() };
        let x = self.random.below(1000) as f64;
        let result = self.context.call("g", &[x]);
        self.check(result, Some((x + f64::from(adds)) * 2.0 + 5.0));
        let result = self.context.eval(&format!("f({x}) + 1")).map(|value| value.expect("it has one"));
        self.check(result, Some(x + f64::from(adds) + 1.0));
    }

    fn handle(&mut self) {
        let fib = self.context.function::<fn(f64) -> f64>("fib").expect("it is defined");
        for _ in 0..20 {
            let result = fib.call(&mut self.context, (10.0,));
            self.check(result, Some(55.0));
        }
    }

    fn make_formula(&mut self) {
        let adds = self.random.below(1000) as u32;
        match self.context.formula(&format!("x + y * fib(6) + {adds}"), &["x", "y"]) {
            Ok(formula) => self.formula = Some((formula, adds)),
            Err(error) => {
                self.check(Err(error), None);
            }
        }
    }

    fn call_formula(&mut self) {
        let Some((formula, adds)) = self.formula.take() else { return self.make_formula() };
        for _ in 0..20 {
            let x = self.random.below(100) as f64;
            let result = formula.call(&mut self.context, &[x, 2.0]);
            self.check(result, Some(x + 16.0 + f64::from(adds)));
        }
        self.formula = Some((formula, adds));
    }

    /// Interrupts a context, perhaps this thread's next run.
    fn interrupt(&mut self) {
        let handles = self.shared.handles.lock().expect("nobody panics with it");
        handles[self.random.below(handles.len())].interrupt();
    }

    fn hurry(&mut self) {
        let time = Duration::from_micros(self.random.below(3000) as u64);
        self.context.set_deadline(Some(Instant::now() + time));
        self.call();
        let result = self.context.eval("for i = 0, 1 in i");
        assert!(!self.check(result.map(|_| 0.0), None), "it has no end");
        self.context.set_deadline(None);
    }

    fn recur(&mut self) {
        let result = self.context.eval("deep(0)");
        assert!(!self.check(result.map(|_| 0.0), None), "it has no end");
    }

    fn panic(&mut self) {
        let result = self.context.eval("fail(3)");
        assert!(!self.check(result.map(|_| 0.0), None), "it panics");
        let result = self.context.eval("twice(21)").map(|value| value.expect("it has one"));
        self.check(result, Some(42.0));
    }

    fn loop_long(&mut self) {
        let result = self.context.eval("sum(20000)").map(|value| value.expect("it has one"));
        self.check(result, Some(200_010_000.0));
    }

    fn prepare(&mut self) {
        match self.random.below(4) {
            0 => {
                let result = self.context.prepare_all();
                self.check(result.map(|()| 0.0), None);
            }
            1 => {
                self.context.undo();
                self.context.redo();
            }
            _ => self.context.prepare("fib").expect("a worker starts"),
        }
    }
}

fn engine(mode: Mode) -> Engine {
    let limits = Limits { stack: 1 << 20, ..Limits::default() };
    let config = Config::new()
        .mode(mode)
        .limits(limits)
        .tier_up(TierUp::After(200))
        .host_function("fail", 1, |_| panic!("as it should"))
        .host_function("twice", 1, |call| Ok(call.arguments[0] * 2.0));
    Engine::with_config(config).expect("it starts")
}

/// Storms an engine; returns the memory in use when a third of the time was
/// over, and at the end.
fn storm(mode: Mode, time: Duration) -> (i64, i64) {
    let (start, threads) = (Instant::now(), scale("KAL_STORM_THREADS", 16));
    let shared = Shared {
        engine: engine(mode),
        counts: Counts::default(),
        handles: Mutex::default(),
        ends: start + time,
        done: AtomicU64::new(0),
    };
    let work = |seed: u64| {
        let mut stormer = Stormer::new(&shared, seed);
        while Instant::now() < shared.ends {
            stormer.step();
        }
        drop(stormer);
        add(&shared.done);
    };
    let seed = scale("KAL_SEED", 1) * 1000;
    let settled = std::thread::scope(|scope| {
        for thread in 0..threads {
            let work = &work;
            scope.spawn(move || work(seed + thread));
        }
        std::thread::sleep(time / 3);
        let settled = resident();
        await_all(&shared, threads);
        settled
    });
    let (count, grown) = (|count: &AtomicU64| count.load(Ordering::Relaxed), resident() - settled);
    let counts = &shared.counts;
    println!(
        "{mode:?}, {threads} threads, {:?}: {} steps, {} answers, {} stops, {} overflows, {} panics, {} contexts; {} MB, {grown} bytes more",
        start.elapsed(),
        count(&counts.steps),
        count(&counts.answers),
        count(&counts.stops),
        count(&counts.overflows),
        count(&counts.panics),
        count(&counts.contexts),
        settled >> 20,
    );
    assert!(count(&counts.answers) > 0);
    (settled, settled + grown)
}

/// Waits until all threads are done. One that hangs, or has panicked, is not.
fn await_all(shared: &Shared, threads: u64) {
    let patience = shared.ends + Duration::from_secs(120);
    while shared.done.load(Ordering::Relaxed) < threads {
        if Instant::now() > patience {
            println!("{} threads of {threads} came to an end", shared.done.load(Ordering::Relaxed));
            // Nothing could wait for the others.
            std::process::abort();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What the allocator and LLVM may keep more after they have settled.
const MOST_GROWN: i64 = 64 << 20;

/// After this many seconds all threads have used their whole stacks, and every
/// pool has its size.
const SETTLING: u64 = 20;

#[test]
fn threads_storm_an_engine() {
    alone("storm::threads_storm_an_engine", || {
        // Panics are a part of it.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if panic.payload().downcast_ref::<&str>() != Some(&"as it should") {
                usual(panic);
            }
        }));
        let seconds = scale("KAL_STORM", 2);
        let modes = [Mode::Lazy, Mode::Eager, Mode::Tiered, Mode::Interpret];
        let only = std::env::var("KAL_STORM_MODE").ok();
        for mode in
            modes.into_iter().filter(|mode| only.as_ref().is_none_or(|only| *only == format!("{mode:?}")))
        {
            let (settled, end) = storm(mode, Duration::from_secs(seconds));
            let is_level = end - settled < MOST_GROWN;
            assert!(is_level || seconds / 3 < SETTLING, "{mode:?}: {} bytes more", end - settled);
        }
    });
}

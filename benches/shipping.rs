//! What is shipped: how long images, executables, libraries and sessions take beside what they are
//! to take. `make shipping-bench`, which builds the command and the runtime first; with `ARGS=images`,
//! or another part, that alone.

use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, Mode};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

#[path = "peers/generated.rs"]
#[allow(dead_code, reason = "other benchmarks use the rest")]
mod generated;

/// How often a process is started.
const STARTS: usize = 51;

/// How many functions the image has.
const FUNCTIONS: usize = 10_000;

/// A program that calls an exported function, and prints how many nanoseconds a call takes.
const CALLER: &str = r#"
#define _POSIX_C_SOURCE 200809L
#include "mean.h"
#include <stdio.h>
#include <time.h>
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}
int main(void) {
    enum { CALLS = 1000000, ROUNDS = 31 };
    double least = 1e300, sum = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int call = 0; call < CALLS; call++) sum += mean(call, sum);
        double took = (now() - start) / CALLS;
        if (took < least) least = took;
    }
    double least_in = 1e300, result = 0;
    mean_context *context = mean_context_new();
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int call = 0; call < CALLS; call++) mean_in(context, call, sum, &result), sum += result;
        double took = (now() - start) / CALLS;
        if (took < least_in) least_in = took;
    }
    double least_loop = 1e300;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now();
        for (int call = 0; call < CALLS / 10; call++) sum += root(call);
        double took = (now() - start) / CALLS * 10;
        if (took < least_loop) least_loop = took;
    }
    fprintf(stderr, "%g\n", sum);
    printf("%.2f %.2f %.2f\n", least, least_in, least_loop);
    return 0;
}
"#;

/// What is measured, by name.
const PARTS: [(&str, Measure); 4] =
    [("images", images), ("executables", executables), ("sessions", sessions), ("contexts", contexts)];

type Measure = fn(&Bench);

struct Bench {
    folder: tempfile::TempDir,
    kal: PathBuf,
}

impl Bench {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the command, with a cache of its own.
    fn kal(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.kal);
        command.args(arguments).current_dir(self.folder.path());
        command.env("XDG_CACHE_HOME", self.at("caches")).env("XDG_STATE_HOME", self.at("state"));
        command.env_remove("KAL_CACHE").stdout(Stdio::null());
        command
    }
}

/// Runs a command; returns how long it takes, in milliseconds.
fn timed(command: &mut Command) -> f64 {
    let start = Instant::now();
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}: {status}");
    start.elapsed().as_secs_f64() * 1e3
}

/// Returns the median, and the least, of a number of runs.
fn median(times: usize, mut run: impl FnMut() -> f64) -> (f64, f64) {
    let mut all: Vec<f64> = (0..times).map(|_| run()).collect();
    all.sort_by(f64::total_cmp);
    (all[times / 2], all[0])
}

fn row(what: &str, unit: &str, (median, least): (f64, f64), target: f64) {
    let reached = if median <= target { "" } else { ", missed" };
    println!("{what:<52} {median:>8.2} {unit:<3} (least {least:.2}; to be at most {target}{reached})");
}

fn images(bench: &Bench) {
    let text = generated::functions_in_branches(FUNCTIONS, generated::Language::Kal);
    fs::write(bench.at("p.kal"), text).expect("it can be written");
    let build = ["image", "build", "--threads", "2", "p.kal", "-o", "p.so"];
    let eager = median(3, || timed(&mut bench.kal(&["--cache", "off", "--eager", "-O2", "p.kal"])));
    let built = median(3, || timed(&mut bench.kal(&build)));
    row("image of 10,000, three targets, over eager -O2", "x", (built.0 / eager.0, built.1 / eager.1), 3.0);
    // What has just been written is checked as a whole each time.
    std::thread::sleep(std::time::Duration::from_millis(200));
    let start = || timed(&mut bench.kal(&["--image", "p.so", "p.kal"]));
    start();
    row("start from it, all called", "ms", median(STARTS, start), 4.0);
    fs::write(bench.at("one.kal"), "def f(x) x\nf(1)\n").expect("it can be written");
    let start = || timed(&mut bench.kal(&["one.kal"]));
    row("beside it: a program of one function", "ms", median(STARTS, start), f64::INFINITY);
}

fn executables(bench: &Bench) {
    fs::write(bench.at("sum.kal"), "1+1\n").expect("it can be written");
    timed(&mut bench.kal(&["build", "sum.kal", "-o", "sum"]));
    timed(Command::new("strip").arg(bench.at("sum")));
    let size = fs::metadata(bench.at("sum")).expect("it is there").len() as f64 / f64::from(1 << 20);
    row("executable of `1+1`, stripped", "MiB", (size, size), 2.0);
    let start = || timed(Command::new(bench.at("sum")).stdout(Stdio::null()));
    row("its start", "ms", median(STARTS, start), 1.2);

    fs::write(
        bench.at("mean.kal"),
        "def mean(x y) (x + y) / 2\n\
        def root(x) var r = 1 in (for i = 1, i < 3 in r = (r + x / r) / 2) : r\n",
    )
    .expect("it can be written");
    fs::write(bench.at("caller.c"), CALLER).expect("it can be written");
    let library =
        ["build", "--lib", "mean.kal", "--export", "mean,root", "-o", "libmean.so", "--header", "mean.h"];
    timed(&mut bench.kal(&library));
    let folder = bench.folder.path();
    let mut compile = Command::new("cc");
    compile.args(["-O2", "caller.c", "-o", "caller", "-L.", "-lmean"]).current_dir(folder);
    timed(&mut compile);
    let called = Command::new(bench.at("caller")).env("LD_LIBRARY_PATH", folder).output().expect("it starts");
    let took: Vec<f64> = String::from_utf8_lossy(&called.stdout)
        .split_whitespace()
        .map(|took| took.parse().expect("it prints numbers"))
        .collect();
    row("call of an exported function from C", "ns", (took[0], took[0]), 5.0);
    row("beside it: in a context", "ns", (took[1], took[1]), f64::INFINITY);
    row("beside it: of one with a loop", "ns", (took[2], took[2]), f64::INFINITY);
}

fn context(engine: &Engine) -> Context {
    engine.context().expect("an engine has contexts")
}

fn sessions(bench: &Bench) {
    let text = generated::functions_in_branches(1000, generated::Language::Kal);
    let cache = || CacheOptions::new(bench.at("caches"), bench.at("key"));
    let config = || Config::new().cache(cache()).keep_code(true);
    let engine = Engine::with_config(config()).expect("it starts");
    let mut saved = context(&engine);
    saved.eval(&text).expect("it is right");
    let mut bytes = Vec::new();
    let save = || {
        let start = Instant::now();
        bytes = saved.save().expect("it can be saved").bytes;
        start.elapsed().as_secs_f64() * 1e3
    };
    row("save 1,000 definitions with code", "ms", median(11, save), 10.0);
    let resume = || {
        let engine = Engine::with_config(config()).expect("it starts");
        let mut resumed = context(&engine);
        let start = Instant::now();
        resumed.resume("work.kses", &bytes).expect("it can be resumed");
        start.elapsed().as_secs_f64() * 1e3
    };
    row("resume them", "ms", median(11, resume), 6.0);
}

/// Returns the memory in use by this process, in mebibytes.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = status.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages / 256.0
}

fn contexts(_: &Bench) {
    let text = generated::definitions_in_branches(FUNCTIONS) + "group7(50)\n";
    let engine = Engine::with_config(Config::new().mode(Mode::Lazy)).expect("it starts");
    let mut first = context(&engine);
    let source = Source::new("p.kal", text);
    let run = |context: &mut Context| {
        let ran = context.run_for_values(&source, &mut |_, outcome| match outcome {
            Ok(_) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        assert!(ran.is_continue());
    };
    run(&mut first);
    let (start, before) = (Instant::now(), resident());
    let all: Vec<Context> = (0..FUNCTIONS)
        .map(|_| {
            let mut context = context(&engine);
            run(&mut context);
            context
        })
        .collect();
    let each = start.elapsed().as_secs_f64() * 1e6 / all.len() as f64;
    row("10,000 contexts over 10,000 functions", "MiB", (resident() - before, resident() - before), 200.0);
    row("each of them, one called", "us", (each, each), 100.0);
}

fn main() {
    let kal = PathBuf::from(env!("CARGO_BIN_EXE_kal"));
    assert!(Path::new(&kal).exists());
    let bench = Bench { folder: tempfile::tempdir().expect("a folder can be made"), kal };
    let only = std::env::args().nth(1).filter(|only| !only.starts_with("--"));
    let is_wanted = |what: &str| only.as_ref().is_none_or(|only| what.contains(only.as_str()));
    for (what, measure) in PARTS {
        if is_wanted(what) {
            measure(&bench);
        }
    }
}

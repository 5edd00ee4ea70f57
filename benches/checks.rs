//! What the checks in compiled code cost: `make check-costs`, or
//! `cargo bench --bench checks -- [--instructions] KAL UNCHECKED [FILTER …]`.
//!
//! KAL is the command, UNCHECKED the same built with the feature `unchecked`,
//! which leaves the checks out. Both run every kernel, in turn. Seconds are
//! of processor time, the least of many short runs, which other programs
//! disturb least. With `--instructions`, valgrind counts instructions instead,
//! at a smaller size. In both, a run that hardly does anything is subtracted, so
//! that the start and the compiling do not dilute the cost.

#[path = "peers/contestant.rs"]
#[expect(dead_code, reason = "the other benchmark looks at more")]
mod contestant;
#[path = "peers/prompt.rs"]
mod prompt;

use contestant::Contestant;
use std::process::Command;

/// A program whose last function does the work: its definitions, the function,
/// and its number of iterations when it is timed.
type Kernel = (&'static str, &'static str, &'static str, u64);

/// Loops of little work, calls of small functions, and both: what checks cost
/// most in.
const KERNELS: &[Kernel] = &[
    ("fib", "def fib(n) if n < 2 then n else fib(n-1) + fib(n-2)
             def work(n) var s in (for i = 1, i < n in s = s + fib(25)) + s", "work", 4_000),
    ("ackermann", "def ack(m n) if m < 1 then n + 1 else if n < 1 then ack(m-1, 1) else ack(m-1, ack(m, n-1))
             def work(n) var s in (for i = 1, i < n in s = s + ack(2, 60)) + s", "work", 65_000),
    ("tak", "def tak(x y z) if y < x then tak(tak(x-1, y, z), tak(y-1, z, x), tak(z-1, x, y)) else z
             def work(n) var s in (for i = 1, i < n in s = s + tak(12, 8, 4)) + s", "work", 400_000),
    ("gcd", "def gcd(a b) if b == 0 then a else gcd(b, a % b)
             def work(n) var s in (for i = 1, i < n in s = s + gcd(i, 720720)) + s", "work", 3_200_000),
    ("empty loop", "def work(n) for i = 1, i < n in i", "work", 800_000_000),
    ("sum", "def work(n) var s in (for i = 1, i < n in s = s + 1 / (i * i)) + s", "work", 400_000_000),
    ("nested loops", "def work(n) var s in (for i = 1, i < n in for j = 1, j < 10 in s = s + i * j) + s", "work", 80_000_000),
    ("collatz", "def steps(n) var c in (for k = 0, n > 1 in var t = (if n % 2 == 0 then n = n / 2 else n = 3*n + 1) in c = c + 1) + c
             def work(n) var s in (for i = 1, i < n in s = s + steps(i)) + s", "work", 800_000),
    ("primes", "def prime(n) var p = 1 in (for d = 2, d * d <= n && p, 1 in p = n % d != 0 || n == d) + p
             def work(n) var s in (for i = 2, i < n in s = s + prime(i)) + s", "work", 900_000),
    ("mandelbrot", "def rounds(cr ci) var zr, zi, n in (for k = 1, k < 255 && zr*zr + zi*zi < 4 in
               var t = zr*zr - zi*zi + cr, u = (zi = 2*zr*zi + ci), v = (zr = t) in n = n + 1) + n
             def work(n) var s in (for y = 1, y < n in for x = 1, x < 100 in s = s + rounds(x*3/100 - 2, y*2/n - 1)) + s", "work", 25_000),
    ("newton", "def root(x) var r = x in (for i = 1, i < 20 in r = (r + x / r) / 2) + r
             def work(n) var s in (for i = 1, i < n in s = s + root(i)) + s", "work", 12_000_000),
    ("simpson", "def f(x) x*x*x - 2*x + 1
             def work(n) var s in (for i = 1, i < n in s = s + f(i/n) + 4*f((i+0.5)/n) + f((i+1)/n)) + s", "work", 60_000_000),
    ("sines", "def work(n) var s in (for i = 1, i < n in s = s + sin(i) * cos(i)) + s", "work", 20_000_000),
    ("chain of calls", "def f1(x) x + 1 def f2(x) f1(x) + 1 def f3(x) f2(x) + 1 def f4(x) f3(x) + 1 def f5(x) f4(x) + 1
             def work(n) var s in (for i = 1, i < n in s = s + f5(i)) + s", "work", 75_000_000),
    ("logistic", "def step(r x) r * x * (1 - x)
             def work(n) var x = 0.5 in (for i = 1, i < n in x = step(3.7, x)) + x", "work", 100_000_000),
];

/// How much smaller the size is at which instructions are counted.
const SMALLER: u64 = 250;

/// How often each program is timed.
const ROUNDS: usize = 15;

fn main() {
    contestant::measure_if_asked();
    let mut words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let counts = words.first().is_some_and(|word| word == "--instructions");
    words.drain(..usize::from(counts));
    let [checked, unchecked, filters @ ..] = words.as_slice() else {
        eprintln!("usage: cargo bench --bench checks -- [--instructions] KAL UNCHECKED [FILTER …]");
        return;
    };
    let asked =
        |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
    println!("| kernel | without | with | more |\n|---|---:|---:|---:|");
    let mut ratios = Vec::new();
    for kernel in KERNELS.iter().filter(|kernel| asked(kernel.0)) {
        let ratio = if counts {
            let [with, without] = [checked, unchecked].map(|kal| instructions(kal, kernel) as f64 / 1e6);
            println!("| {} | {without:.1} M | {with:.1} M | {} |", kernel.0, percent(with / without));
            with / without
        } else {
            let [with, without] = times([checked, unchecked], kernel);
            println!("| {} | {without:.3} | {with:.3} | {} |", kernel.0, percent(with / without));
            with / without
        };
        ratios.push(ratio);
    }
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!("| **geometric mean** | | | **{}** |", percent(mean));
}

fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// Returns the command line that runs a kernel at a size.
fn command(kal: &str, kernel: &Kernel, size: u64) -> Vec<String> {
    let (_, definitions, function, _) = kernel;
    ["-O2", "--no-tier-up", "-e", definitions, "-e", &format!("{function}({size})")]
        .iter()
        .fold(vec![kal.to_owned()], |words, word| [words, vec![(*word).to_owned()]].concat())
}

/// Returns the processor time of the work with each, in seconds.
fn times(kals: [&String; 2], kernel: &Kernel) -> [f64; 2] {
    let contestant = |kal: &String, size| Contestant::new("", Ok(command(kal, kernel, size)));
    let mut work = kals.map(|kal| contestant(kal, kernel.3));
    let mut start = kals.map(|kal| contestant(kal, 1));
    for _ in 0..ROUNDS {
        work.iter_mut().chain(&mut start).for_each(Contestant::run);
    }
    assert_eq!(work[0].answer, work[1].answer, "{} gives two answers", kernel.0);
    [0, 1].map(|index| {
        let seconds = |contestant: &Contestant| contestant.least_cpu().expect("it runs");
        seconds(&work[index]) - seconds(&start[index])
    })
}

/// Returns how many instructions the work takes.
fn instructions(kal: &str, kernel: &Kernel) -> u64 {
    let size = kernel.3 / SMALLER;
    counted(&command(kal, kernel, size + 1)) - counted(&command(kal, kernel, 1))
}

fn counted(words: &[String]) -> u64 {
    // Code is written to memory that is a file for valgrind.
    let output = Command::new("valgrind")
        .env("KAL_CACHE", "off")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", "--smc-check=all"])
        .args(words)
        .output()
        .expect("valgrind is installed");
    let told = String::from_utf8_lossy(&output.stderr);
    let line =
        told.lines().find_map(|line| line.split_once("I   refs:").or_else(|| line.split_once("I refs:")));
    let digits = line.map(|(_, rest)| rest.chars().filter(char::is_ascii_digit).collect::<String>());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_else(|| panic!("valgrind says\n{told}"))
}

//! What a call costs, in each build and in the C library: for arguments of the size that
//! programs use, and where it costs most.

use crate::exact::{Exact, FUNCTIONS};
use crate::{Function, libm};
use kal_math::Build;
use std::hint::black_box;
use std::time::Instant;

const CALLS: usize = 4096;
pub(super) const REPETITIONS: usize = 60;

/// Prints a table of nanoseconds a call: the least of many repetitions.
pub(super) fn print(builds: &[Build], only: Option<&str>) {
    println!("{:8} {:>9} {:>9} {:>9} {:>7}", "ns", "C library", "baseline", "FMA", "ratio");
    let mut ratios = Vec::new();
    for exact in FUNCTIONS.iter().filter(|exact| only.is_none_or(|name| name == exact.name)) {
        let arguments = arguments(exact);
        let of_c = libm::named(exact.name, exact.is_binary());
        let functions: Vec<Function> = std::iter::once(of_c)
            .chain(builds.iter().map(|build| Function::named(exact.name, *build)))
            .collect();
        let mut best = vec![f64::INFINITY; functions.len()];
        // In turns, so that what else the machine does falls on all of them.
        for _ in 0..REPETITIONS {
            for (function, best) in functions.iter().zip(&mut best) {
                *best = best.min(time(function, &arguments));
            }
        }
        let fastest = best.last().copied().unwrap_or(f64::NAN);
        let ratio = fastest / best[0];
        ratios.push((ratio, exact.name));
        let times: String = best.iter().map(|time| format!(" {time:>9.1}")).collect();
        println!("{:8}{times} {ratio:>7.2}", exact.name);
    }
    let mean = (ratios.iter().map(|(ratio, _)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let worst = ratios.iter().max_by(|left, right| left.0.total_cmp(&right.0));
    println!("geometric mean {mean:.2}, worst {worst:.2?}");
    println!("{:8} {:>9} {:>9}  where calls cost most", "ns", "C library", "fastest");
    let chosen = FUNCTIONS.iter().filter(|exact| only.is_none_or(|name| name == exact.name));
    for exact in chosen {
        let of_c = libm::named(exact.name, exact.is_binary());
        let fastest = Function::named(exact.name, builds[builds.len() - 1]);
        let least = |function: &Function, arguments: &[[f64; 2]]| {
            (0..5).map(|_| time(function, arguments)).fold(f64::INFINITY, f64::min)
        };
        let costs = regions().map(|(place, arguments)| (least(&fastest, &arguments), place, arguments));
        let Some((cost, place, arguments)) = costs.max_by(|left, right| left.0.total_cmp(&right.0)) else {
            continue;
        };
        println!("{:8} {:>9.1} {cost:>9.1}  {place}", exact.name, least(&of_c, &arguments));
    }
}

/// Returns arguments of one size each, and their place: near 0 and 1, and larger ones. A
/// function is often computed by another method there, and where that leaves the rounding
/// open for nearly all, each call costs many times what others do.
fn regions() -> impl Iterator<Item = (String, Vec<[f64; 2]>)> {
    let mut random = random();
    let mut from_1_to_2 = move || 1.0 + random();
    let mut part = move |place: String, x: &dyn Fn(f64) -> f64| {
        (place, (0..512).map(|_| [x(from_1_to_2()), from_1_to_2()]).collect())
    };
    (-70..16).flat_map(move |exponent| {
        let size = 2_f64.powi(exponent);
        let mut parts = vec![part(format!("2^{exponent}"), &|x| size * x)];
        if (-50..0).contains(&exponent) {
            parts.push(part(format!("1 + 2^{exponent}"), &|x| 1.0 + size * x));
            parts.push(part(format!("1 - 2^{}", exponent - 1), &|x| 1.0 - size * x / 2.0));
        }
        parts
    })
}

pub(super) fn time(function: &Function, arguments: &[[f64; 2]]) -> f64 {
    let begin = Instant::now();
    let mut sum = 0.0;
    match function {
        Function::One(function) => arguments.iter().for_each(|[x, _]| sum += function(black_box(*x))),
        Function::Two(function) => arguments.iter().for_each(|[x, y]| sum += function(black_box(*x), *y)),
    }
    black_box(sum);
    begin.elapsed().as_secs_f64() * 1e9 / arguments.len() as f64
}

/// Returns arguments of the size that programs use, in no order.
pub(super) fn arguments(exact: &Exact) -> Vec<[f64; 2]> {
    let (low, high) = match exact.name {
        "acos" | "asin" | "atanh" => (-1.0, 1.0),
        "acosh" => (1.0, 20.0),
        "log" | "log2" | "log10" | "log1p" | "pow" => (0.0, 100.0),
        "erfc" | "erf" => (-4.0, 4.0),
        "tgamma" | "lgamma" => (0.0, 30.0),
        _ => (-10.0, 10.0),
    };
    let mut next = random();
    (0..CALLS).map(|_| [low + (high - low) * next(), -10.0 + 20.0 * next()]).collect()
}

/// Returns an endless sequence of numbers from 0 to 1, the same in every run.
fn random() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

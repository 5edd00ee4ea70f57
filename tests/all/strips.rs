//! Loops that run in strips: the same bits, output and errors as where every iteration computes
//! everything in its turn.

use crate::binary;
use crate::modes::{MODES, engine, observe_texts};
use kal::diagnostic::ErrorCode;
use kal::{Config, Engine, Limits, Mode, Stage, TierUp};
use std::fmt::Write as _;
use std::time::Duration;

/// Functions that the loops call.
const PRELUDE: &str = "
def poly(x) x*x*x - 3*x*x + 2*x - 1 + x/7
def length(x) var n = 0, y = x in (for k = 1, y > 1 && k < 200 in
  (y = if y % 2 == 0 then y/2 else 3*y + 1) : (n = n + 1)) : n
def wave(x a) exp(-x*x/a)*cos(3*x) + sqrt(fabs(x))
def series(x n) var t = 0 in (for j = 1, j < n in t = t + x/(j + x*x)) : t
def step(x) if x < 0 then -1/x else if x > 100 then sqrt(x) else x*x*x/3
";

/// Loops over `i`, with what they add up; `n` is the limit.
const HEADS: &[&str] = &[
    "for i = 1, i < n in",
    "for i = 0, i <= n, 2 in",
    "for i = n, i > 0, -1 in",
    "for i = -n, i < n, 0.25 in",
    "for i = 0, i < n, 0.1 in",
    "for i = -0, i < n in",
    "for i = n, i >= -3, 0 - 0.5 in",
    "for i = 4503599627370000, i < 4503599627370000 + n in",
    "for i = 9007199254740000, i < 9007199254740000 + 9*n, 3 in",
    "for i = 1, i*i < n*n in",
    "for i = 1, n > i in",
    "for i = 1, i < n && i < 1e9 in",
    "for i = 1, i < n, 1 + k/4 in",
    "for i = n + 1, i < n in",
    "for i = 0/0, i < n in",
];

/// What the loops do. `s` and `t` are local, `g` is a variable of the program.
const BODIES: &[&str] = &[
    "s = s + poly(i)",
    "s = s*0.5 + 1/(i*i + k)",
    "s = s + length(fabs(i) % 50)",
    "s = s + wave(i, 3 + k) - g",
    "if poly(i) > s then s = poly(i) else t = t + sqrt(i*i + 1)*3",
    "(var y = poly(i), z = wave(y, 2) in s = s + y*z)",
    "(var y = i*2, z = y + k in s = s + poly(z)/(1 + y*y))",
    "(var y = poly(i) in (y = y + 1) : s = s + y*y/(3 + y)/(4 + y))",
    "s = s + series(i, 5) - series(k, 3)",
    "s = s + (var y = i in (for j = 1, j < 4 in y = y/(j + y*y)) : y)",
    "g = g + poly(i)/(1 + t*t)",
    "s = s + poly(i + g/1e9) : (g = g + 1)",
    "s = s + step(i - 20) + (i % 7)*(i % 3.5)",
    "(s = s + poly(i)) : (t = t + poly(i + 1) + wave(i, 1) + step(i) + series(i, 3) + length(3))",
    "s = (if i > n/2 then pow(fabs(i), 1.5) else atan2(i, 2)) - s/3",
    "s = s + (i > 3 && poly(i) > 2) + (poly(i) < 0 || i == 5)",
    "(for j = 1, j < 3 in s = s + poly(i*j)) : (s = s + poly(i))",
    "t = t + 1 : s = s + i*t",
];

/// Returns a program: functions, each with a loop, and calls of them for several limits.
fn program(head: &str) -> String {
    let mut text = PRELUDE.to_owned() + "var g = 0.5\n";
    for (number, body) in BODIES.iter().enumerate() {
        let _ = writeln!(text, "def f{number}(n k) var s = 1, t = 0.25 in ({head} {body}) : s + t*1e-3");
        for limit in [0, 1, 7, 31, 32, 33, 40, 127, 128, 129, 160, 257, 300] {
            let _ = writeln!(text, "f{number}({limit}, 0)\n1000 + f{number}({limit}, 3)");
        }
        text.push_str("g\n");
    }
    text
}

/// The modes that are compared with the first: those that optimise.
fn optimising() -> impl Iterator<Item = usize> {
    let is_one = |mode: &usize| MODES[*mode].0.contains("-O2") || MODES[*mode].0.contains("-O3");
    (1..MODES.len()).filter(is_one)
}

#[test]
fn loops_give_the_same_bits_in_strips() {
    let complaints = binary::in_parallel(HEADS, |head| {
        let text = program(head);
        let expected = observe_texts(&engine(0, Limits::default()), &[&text]);
        let errors = expected.iter().filter(|seen| seen.contains("error")).count();
        assert_eq!(errors, 0, "{head}: {expected:?}");
        for mode in optimising() {
            let found = observe_texts(&engine(mode, Limits::default()), &[&text]);
            let differs = expected.iter().zip(&found).zip(text.lines().skip(PRELUDE.lines().count()));
            if let Some(((expected, found), line)) =
                differs.into_iter().find(|((one, other), _)| one != other)
            {
                return Err(format!("{head}, {}, near {line}: {expected} {found}", MODES[mode].0));
            }
            assert_eq!(expected.len(), found.len());
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Returns how many expressions a function computes in strips, by its optimised code.
fn parts(text: &str, name: &str) -> usize {
    let mut context = Engine::new().and_then(|engine| engine.context()).expect("it starts");
    context.eval(text).expect("it runs");
    let ir = context.listing(Stage::Ir, name).expect("it is compiled");
    ir.lines().filter(|line| line.starts_with("define") && line.contains("$strip")).count()
}

#[test]
fn loops_compute_ahead_what_no_iteration_changes() {
    if !["avx2", "fma"].iter().all(|feature| features().contains(feature)) {
        return;
    }
    let loops = [
        // What is added up depends on the counter only.
        ("for i = 1, i < n in s = s + poly(i)", 1),
        ("for i = n, 0 < i, -1 in s = s + poly(i)*g", 1),
        ("for i = 1, i < n in s = s + sqrt(i)", 1),
        ("for i = 1, i < n in s = s + gcd(i, 12)", 1),
        // Two of them, and one from the other.
        ("for i = 1, i < n in (s = s + poly(i)) : (t = t + length(i))", 2),
        ("for i = 1, i < n in var y = length(i) in s = s*y + gcd(y, 12)", 2),
        ("for i = 1, i < n in var y = 2*i in s = s + poly(y)", 1),
        ("for y = 1, y < n in for x = 1, x < n in s = s + length(x*y)", 1),
        // Conditions.
        ("for i = 1, i < n in if i % 9 == 2 then s = s + length(i)", 2),
        ("for i = 1, i < n in if s < 10 then s = s + poly(i)", 0),
        ("for i = 1, i < n in if s < 10 then s = s + length(i)", 0),
        // Too little, or in steps that take as long.
        ("for i = 1, i < n in s = s + i*i", 0),
        ("for i = 1, i < n in s = s + 1/(1 + i*i)", 0),
        ("for i = 1, i < n, 0.5 in s = s + poly(i)", 1),
        ("for i = 1, i < n, 0.1 in s = s + poly(i)", 0),
        ("for i = 1, i < n, 0.1 in s = s + length(i)", 1),
        // What an iteration changes.
        ("for i = 1, i < n in s = s + poly(i + s)", 0),
        ("for i = 1, i < n in (g = g + 1) : (s = s + length(i + g))", 0),
        ("for i = 1, i < n in (i = i + 1) : (s = s + poly(i))", 0),
        ("for i = 1, i < n - s in s = s + poly(i)", 0),
        ("for i = 1, i < n && s < 9 in s = s + poly(i)", 0),
        ("while s < n in s = s + poly(s)", 0),
        // What is printed comes before what may run for long.
        ("for i = 1, i < n in s = s + printd(length(i))", 0),
        // A function that may recur needs its frame.
        ("for i = 1, i < n in s = s + printd(poly(i))", 0),
        ("for i = 1, i < n in s = s + printd(poly(i)*sin(i)*exp(i)*cos(i))", 1),
        // What is inlined has its own, also where what calls it is inlined.
        ("for i = 1, i < n in s = s*0.5 + around(i + s, n)", 1),
        ("for i = 1, i < n in s = s + fib(i)", 0),
    ];
    for (text, expected) in loops {
        let text = format!(
            "{PRELUDE}
             var g = 1
             def gcd(a b) if b == 0 then a else gcd(b, a % b)
             def fib(n) if n < 3 then 1 else fib(n - 1) + fib(n - 2)
             def inner(a m) var s = 0 in (for i = 1, i < m in s = s + sin(i*a)) : s
             def around(a m) inner(a, m) + 1
             def f(n) var s = 0, t = 0 in ({text}) : s + t"
        );
        assert_eq!(parts(&text, "f"), expected, "{text}");
    }
}

/// The memory for strips is in frames, of which a recursion has many.
#[test]
fn functions_recur_as_deeply_as_without_strips() {
    let assignments = "Z = Z*0.5 + n : ".repeat(13);
    let text = format!(
        "var Z = 0
         def g(n) ({assignments}if n < 1 then 0 else a(n - 1))
         def a(n) var s = 0 in (for i = 1, i < 40 in s = s + sin(i) * exp(i)) : s + g(n)
         a(200000)"
    );
    let of = |config: Config| {
        let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
        context.eval(&text).expect("the stack is large enough")
    };
    let compiled = of(Config::new().tier_up(TierUp::Never));
    let interpreted = of(Config::new().mode(Mode::Interpret));
    assert_eq!(format!("{compiled:?}"), format!("{interpreted:?}"));
}

/// Returns the features of this processor.
fn features() -> String {
    std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

#[test]
fn functions_that_call_themselves_last_give_the_same_bits_in_strips() {
    const RECURSIONS: &[&str] = &[
        "def r(a b) if b == 0 then a else r(b, a % b)",
        "def r(a b) if a > 1000 then a else r(a*2 + b, b + 1)",
        "def r(a b) if a < 1 then b else if a % 2 == 0 then r(a - 1, b*1.5) else r(a - 2, b/(1 + a))",
        "def r(a b) var c = a - 1 in if c > 0 && c < 90 then r(c, b + sqrt(c)) else if c >= 90 then r(c/2, b) else b",
        "def r(a b) if a > b then r(a - 3, b) else a + (for k = 1, k < 4 in b) + b",
        "def r(a b) if a > 0 then r(a - 1, b + 1) else b",
        "def h(a) if a > 7 then h(a - 7) else a
         def r(a b) if a > 20 then r(a - h(a), b + h(b)) else a*b",
    ];
    let complaints = binary::in_parallel(RECURSIONS, |recursion| {
        let text = format!(
            "{recursion}
             def one(n k) var s = 0 in (for i = 1, i < n in s = s*0.5 + r(i, k)) : s
             def two(n k) var s = 0 in (for i = n, i > 0, -1 in s = s*0.5 + r(i*9, 3)/(1 + r(17, k))) : s
             one(20, 3); one(100, 12); one(3000, 6); two(40, 2); two(700, 5)"
        );
        let expected = observe_texts(&engine(0, Limits::default()), &[&text]);
        for mode in optimising() {
            let found = observe_texts(&engine(mode, Limits::default()), &[&text]);
            if found != expected {
                return Err(format!("{recursion}, {}: {expected:?} {found:?}", MODES[mode].0));
            }
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn what_does_not_end_is_stopped_where_it_is() {
    let text = "var g = 0
                def f(x) var y = x in (while x == 57 && y > 0 in y = y + 1) : x*x*x*x*x*x*x
                def r(x) if x == 57 then r(x) else x*x*x*x*x*x*x
                def loops(n) for i = 1, i < n in g = g + f(i)
                def recurs(n) for i = 1, i < n in g = g + r(i)";
    let limits = Limits { deadline: Some(Duration::from_millis(300)), ..Limits::default() };
    for tier_up in [TierUp::Never, TierUp::After(2)] {
        let config = Config::new().tier_up(tier_up).wait_for_code(true).limits(limits);
        let mut context = Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts");
        context.eval(text).expect("it runs");
        // The stack may last longer than there is time.
        let due = [ErrorCode::DeadlineExceeded, ErrorCode::StackOverflow];
        for (call, codes) in [("loops(1000)", &due[..1]), ("recurs(1000)", &due)] {
            context.eval("g = 0").expect("it runs");
            let error = context.eval(call).expect_err("it does not end");
            assert!(codes.contains(&error.diagnostics()[0].code), "{error:?}");
            // All that comes before has been done, in turn, or nothing of its strip.
            let g = context.eval("g").expect("it runs").expect("it has a value");
            let sums: Vec<f64> = (0..57).map(|n| (1..=n).map(|x| f64::powi(f64::from(x), 7)).sum()).collect();
            assert!(sums.contains(&g), "{g}");
            assert_eq!(context.eval("loops(50) : g").expect("it ends").map(|sum| sum > g), Some(true));
        }
    }
}

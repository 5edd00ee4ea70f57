//! Which mathematical functions there are, beside the C library's own, and that each
//! mode returns the nearest double.
//!
//! The C library is reached with `--allow-extern NAME=libm.so.6`, the function
//! Kal has without.

use crate::binary;
use crate::modes::MODES;
use kal::{Config, Context, Engine};
use std::fmt::Write;

/// The functions that are computed exactly, so that every library returns the
/// same.
const EXACT: [(&str, usize); 13] = [
    ("ceil", 1),
    ("copysign", 2),
    ("fabs", 1),
    ("fdim", 2),
    ("floor", 1),
    ("fma", 3),
    ("fmax", 2),
    ("fmin", 2),
    ("fmod", 2),
    ("rint", 1),
    ("round", 1),
    ("sqrt", 1),
    ("trunc", 1),
];

const NUMBERS: [f64; 20] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    -3.7,
    1e16,
    4503599627370495.5,
    4503599627370497.5,
    -9007199254740993.0,
    5e-324,
    -2.2250738585072014e-308,
    1.7976931348623157e308,
    f64::INFINITY,
    f64::NEG_INFINITY,
    std::f64::consts::PI,
    0.49999999999999994,
];

/// Returns a program that calls a function with all pairs of numbers, and with
/// each divides 1, which shows the sign of a 0.
fn program(name: &str, arity: usize) -> String {
    let parameters = ["x", "y", "z"][..arity].join(" ");
    let mut text = format!("extern {name}({parameters});\n");
    for (index, first) in NUMBERS.iter().enumerate() {
        for second in &NUMBERS[..if arity == 1 { 1 } else { NUMBERS.len() }] {
            let third = NUMBERS[(index * 7 + 3) % NUMBERS.len()];
            let arguments: Vec<String> =
                [*first, *second, third][..arity].iter().map(|number| literal(*number)).collect();
            let call = format!("{name}({})", arguments.join(", "));
            let _ = writeln!(text, "{call}; 1 / {call};");
        }
    }
    text
}

fn literal(number: f64) -> String {
    let magnitude = if number.is_infinite() { "1e999".to_owned() } else { format!("{:e}", number.abs()) };
    if number.is_sign_negative() { format!("(-{magnitude})") } else { magnitude }
}

/// Returns the lines that a program prints, with Kal's own function or the C
/// library's.
fn lines(name: &str, text: &str, of_c: bool) -> Vec<String> {
    let mut command = binary::kal();
    command.arg("-O0");
    if of_c {
        command.arg(format!("--allow-extern={name}=libm.so.6"));
    }
    let ran = binary::feed(command.arg("-"), text.as_bytes());
    assert_eq!((ran.code, ran.err()), (Some(0), ""), "{name}");
    ran.out().lines().map(str::to_owned).collect()
}

#[test]
fn exact_functions_are_those_of_the_c_library() {
    let differs = |&(name, arity): &(&str, usize)| {
        let text = program(name, arity);
        let (ours, theirs) = (lines(name, &text, false), lines(name, &text, true));
        assert_eq!(ours.len(), 2 * NUMBERS.len().pow(arity.min(2) as u32));
        let calls = text.lines().skip(1).zip(ours.chunks(2).zip(theirs.chunks(2)));
        // The greater one of 0 and -0 is either.
        let is_known = |call: &str| name.starts_with("fm") && call.matches("0e0").count() >= 4;
        let different = calls.filter(|(call, (ours, theirs))| ours != theirs && !is_known(call));
        different.map(|(call, (ours, theirs))| format!("{call} {ours:?} {theirs:?}")).collect::<Vec<_>>()
    };
    assert_eq!(EXACT.iter().flat_map(differs).collect::<Vec<_>>(), [""; 0]);
}

/// The double nearest to a cube root has the least error among its neighbours.
#[test]
fn the_cube_root_is_the_nearest_double() {
    let numbers: Vec<f64> =
        (1..400).map(|index| f64::from(index) * 0.731 + f64::from(index * index)).collect();
    let text = numbers.iter().fold(String::new(), |text, number| text + &format!("cbrt({number:e});\n"));
    for (number, line) in numbers.iter().zip(lines("cbrt", &text, false)) {
        let root: f64 = line.parse().unwrap();
        let error = |root: f64| cube_error(root, *number).abs();
        assert!(error(root) <= error(root.next_up()) && error(root) <= error(root.next_down()), "{number}");
    }
}

/// Returns `root³ - number`, with the bits that a product loses.
fn cube_error(root: f64, number: f64) -> f64 {
    let square = root * root;
    let square_rest = root.mul_add(root, -square);
    let cube = square * root;
    let cube_rest = square.mul_add(root, -cube);
    (cube - number) + (cube_rest + square_rest * root)
}

/// Returns the lines of the table of `kal-math`: a name, one or two arguments, and the
/// double nearest to the exact value.
fn nearest() -> impl Iterator<Item = (&'static str, Vec<f64>, f64)> {
    include_str!("../../crates/math/tests/nearest.txt").lines().map(|line| {
        let mut words = line.split(' ');
        let name = words.next().expect("a name");
        let bits = |word| u64::from_str_radix(word, 16).expect("bits");
        let mut arguments: Vec<f64> = words.map(|word| f64::from_bits(bits(word))).collect();
        let result = arguments.pop().expect("a result");
        (name, arguments, result)
    })
}

fn is_same(left: f64, right: f64) -> bool {
    left.to_bits() == right.to_bits() || left.is_nan() && right.is_nan()
}

/// Returns a context of every mode, with its name.
fn contexts() -> impl Iterator<Item = (&'static str, Context)> {
    MODES.iter().map(|(mode, configure)| {
        let engine = Engine::with_config(configure(Config::new().workers(1))).expect("an engine starts");
        (*mode, engine.context().expect("a context"))
    })
}

#[test]
fn every_mode_returns_the_nearest_double() {
    for (mode, mut context) in contexts() {
        let mut wrong = Vec::new();
        let mut check = |said: String, result: f64, nearest: f64| {
            if !is_same(result, nearest) {
                wrong.push(format!("{said} is {nearest:e}, not {result:e}"));
            }
        };
        for (index, (name, arguments, nearest)) in nearest().enumerate() {
            let parameters = ["x", "y"][..arguments.len()].join(", ");
            let called = format!("called_{name}");
            if !context.is_function(&called) {
                let definition =
                    format!("def {called}({}) {name}({parameters})", parameters.replace(',', ""));
                context.eval(&definition).expect("it is valid");
            }
            let result = context.call(&called, &arguments).expect("it returns");
            check(format!("{name}{arguments:?}"), result, nearest);
            if index % 25 == 0 && arguments.iter().all(|argument| !argument.is_nan()) {
                let given: Vec<String> = arguments.iter().map(|argument| literal(*argument)).collect();
                let call = format!("{name}({})", given.join(", "));
                let result = context.eval(&call).expect("it is valid").expect("a value");
                check(call, result, nearest);
            }
        }
        assert!(wrong.is_empty(), "{mode}:\n{}", wrong.join("\n"));
    }
}

/// With a constant exponent, a power may be another instruction; see `x`, which is none.
#[test]
fn powers_with_constant_exponents_are_those_of_pow() {
    let exponents = ["0", "1", "2", "(-1)", "-1", "0.5", "3", "-2", "0.25"];
    for (mode, mut context) in contexts() {
        context.eval("def power(x y) x ^ y; def same(x) x").expect("it is valid");
        for (index, exponent) in exponents.iter().enumerate() {
            let text = format!(
                "def operator{index}(x) x ^ {exponent}
                 def function{index}(x) pow(x, {exponent})
                 def nested{index}(x) 1 * same(x + 0 * x) ^ {exponent} - -(x ^ {exponent})"
            );
            context.eval(&text).expect("it is valid");
            let y: f64 = exponent.trim_matches(['(', ')']).parse().expect("a number");
            for x in NUMBERS {
                let expected = context.call("power", &[x, y]).expect("it returns");
                for name in ["operator", "function"] {
                    let result = context.call(&format!("{name}{index}"), &[x]).expect("it returns");
                    assert!(
                        is_same(result, expected),
                        "{mode}: {x:e} ^ {exponent} is {expected:e}, not {result:e}"
                    );
                }
                let base = x + 0.0 * x;
                let twice = context.call("power", &[base, y]).expect("it returns") + expected;
                let result = context.call(&format!("nested{index}"), &[x]).expect("it returns");
                assert!(
                    is_same(result, twice),
                    "{mode}: {x:e} ^ {exponent} twice is {twice:e}, not {result:e}"
                );
            }
        }
    }
}

/// Returns what a tape or the IR of a function says.
fn listing(arguments: &[&str], text: &str) -> String {
    let ran = binary::feed(binary::kal().arg("emit").args(arguments).arg("-"), text.as_bytes());
    assert_eq!((ran.code, ran.err()), (Some(0), ""), "{text}");
    ran.out().to_owned()
}

#[test]
fn constants_and_exact_powers_are_no_calls() {
    let exact = ["x ^ 2", "pow(x, 2)", "x ^ -1", "x ^ 1", "x ^ 0.5", "(x + 1) ^ 2", "x * exp(-1.5) * 2 ^ 10"];
    let called = ["x ^ 3", "2 ^ x", "x ^ -0.5", "exp(x)"];
    for (bodies, calls) in [(&exact[..], false), (&called[..], true)] {
        for body in bodies {
            let text = format!("def f(x) {body}");
            let ir = listing(&["ir"], &text);
            assert_eq!(ir.contains("@\"kal$"), calls, "{body}: {ir}");
            let tape = listing(&["tape"], &text);
            // Behind the semicolons are the operators of the source.
            let mut operations = tape.lines().filter_map(|line| line.split(';').next());
            let is_call = operations.any(|operation| {
                let is_power = operation.contains('^') && !operation.contains("^ 0.5");
                operation.contains("host") || is_power
            });
            assert_eq!(is_call, calls, "{body}: {tape}");
        }
    }
}

/// See `tests/programs/numbers/two_at_once.kal` for what they return.
#[test]
fn two_calls_of_one_function_are_one_and_so_are_a_sine_and_a_cosine() {
    let both = [
        "sin(x) * sin(y)",
        "erfc(x) - 2 * erfc(y / 3)",
        "hypot(x, y) + hypot(y, 1)",
        "x ^ y - y ^ x",
        "sin(x) * cos(x)",
        "cos(x) - 2 * sin(y)",
    ];
    let each = ["sin(x) * exp(y)", "sin(sin(x))", "cos(sin(x))"];
    let (of_two, of_one) = ("call <2 x double> @\"kal$two$", "call double @\"kal$");
    for (bodies, calls, no_calls) in [(&both[..], of_two, of_one), (&each[..], of_one, of_two)] {
        for body in bodies {
            let ir = listing(&["ir"], &format!("def f(x y) {body}"));
            assert!(ir.contains(calls) && !ir.contains(no_calls), "{body}: {ir}");
        }
    }
    // What is seen between them stays between them.
    let ir = listing(&["ir"], "extern putchard(x)\ndef f(x y) var s = sin(x) in (putchard(s) : s + sin(y))");
    assert_eq!(ir.matches("call double @\"kal$sin").count(), 2, "{ir}");
}

#[test]
fn calls_come_out_of_loops_and_stay_in_branches() {
    let text = "def loop(n r t) var s = 0 in (for i = 1, i < n in (if s < 3 * i then s += exp(-r * t))) : s
                def branch(x y) if x < y then pow(x, y) else if y < 1 then lgamma(x) else x * 2";
    let ir = listing(&["ir", "--fn", "loop"], text);
    let (entry, body) = ir.split_once("\nbody:").expect("there is a loop");
    assert!(entry.contains("@\"kal$exp\"(") && !body.contains("call double @\"kal$exp"), "{ir}");
    let ir = listing(&["ir", "--fn", "branch"], text);
    let (entry, branches) = ir.split_once("br i1").expect("there is a branch");
    assert!(!entry.contains("call double") && branches.matches("call double").count() == 2, "{ir}");
}

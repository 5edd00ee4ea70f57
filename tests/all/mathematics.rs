//! Which mathematical functions there are, beside the C library's own.
//!
//! The C library is reached with `--allow-extern NAME=libm.so.6`, the function
//! Kal has without.

use crate::binary;
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

//! The arguments that are tried: edge values and their neighbours, numbers near those at
//! which CORE-MATH's sources make a difference, and random ones of four kinds.

use std::fs;

/// An endless sequence of pairs, the same in every run. A function of one argument does
/// not look at the second.
pub(super) struct Arguments {
    /// Numbers at or near which results are hard to round, or special.
    hard: Vec<f64>,
    /// The largest exponent of many of the others.
    size: u64,
    random: Random,
    index: usize,
}

impl Arguments {
    pub(super) fn of(name: &str) -> Self {
        let mut hard = EDGES.to_vec();
        hard.extend(literals(name));
        hard.extend((0..=400).flat_map(|number| {
            let number = f64::from(number);
            [number, number / 2.0, number * std::f64::consts::FRAC_PI_2, number.exp2(), number.exp()]
        }));
        hard.extend((-40..=40).map(|exponent| 10_f64.powi(exponent)));
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let is_periodic = matches!(name, "sin" | "cos" | "tan");
        if is_periodic {
            // Near multiples of pi/32, also of many turns.
            let multiple = |exponent: u64| {
                let turns = random.next() % (1 << exponent);
                turns as f64 * (std::f64::consts::PI / 32.0)
            };
            hard.extend((8..44).flat_map(|exponent| [exponent; 100]).map(multiple));
        }
        hard.extend(hard.clone().into_iter().map(|number| -number));
        Self { hard, size: if is_periodic { 40 } else { 12 }, random, index: 0 }
    }

    /// Returns an endless sequence of pairs as programs have them, in which a vector is rarely
    /// left to the function of one double.
    pub(super) fn usual(name: &str) -> impl Iterator<Item = [f64; 2]> {
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        let mut uniform = move || random.next() as f64 / 2_f64.powi(64);
        let (low, high) = match name {
            "acos" | "asin" | "atanh" => (-1.0, 1.0),
            "exp" | "exp2" | "expm1" | "sinh" | "cosh" => (-710.0, 710.0),
            "sin" | "cos" | "tan" | "atan" | "atan2" => (-1e3, 1e3),
            "erf" | "erfc" => (-8.0, 8.0),
            "tanh" => (-30.0, 30.0),
            _ => (0.0, 1e3),
        };
        // Half of them in all of the range, the others nearer and nearer to 0 or 1.
        std::iter::from_fn(move || {
            let size = if uniform() < 0.5 { 1.0 } else { (-30.0 * uniform()).exp2() };
            let centre = if uniform() < 0.5 && low >= -1.0 { 1.0 } else { 0.0 };
            let x = (low + (high - low) * uniform()) * size + centre;
            Some([x, (uniform() - 0.5) * 100.0 * size])
        })
    }

    /// Returns a hard number, or one a few places from it.
    fn near_hard(&mut self, number: f64) -> f64 {
        let places = self.random.next() % 8;
        (0..places / 2)
            .fold(number, |near, _| if places % 2 == 0 { near.next_up() } else { near.next_down() })
    }

    fn any_hard(&mut self) -> f64 {
        let place = self.random.next() as usize % self.hard.len();
        let number = self.hard[place];
        self.near_hard(number)
    }

    /// Returns a number whose binary exponent is from `-size` to `size`.
    fn sized(&mut self, size: u64) -> f64 {
        let bits = self.random.next();
        let exponent = 1023 + self.random.next() % (2 * size + 1) - size;
        f64::from_bits(bits & !(0x7ff << 52) | exponent << 52)
    }

    /// Returns a number that has few digits: sums, products and powers of such are exact,
    /// or lie in the middle of two doubles.
    fn short(&mut self) -> f64 {
        let number =
            (self.random.next() % (1 << 12)) as f64 * if self.random.next() % 4 == 0 { -1.0 } else { 1.0 };
        number / (1_u64 << (self.random.next() % 12)) as f64
    }
}

impl Iterator for Arguments {
    type Item = [f64; 2];

    fn next(&mut self) -> Option<[f64; 2]> {
        let index = self.index;
        self.index += 1;
        // First each hard number as it is, with edges beside it.
        if let Some(number) = self.hard.get(index) {
            return Some([*number, EDGES[index % EDGES.len()]]);
        }
        Some(match self.random.next() % 6 {
            0 => [f64::from_bits(self.random.next()), f64::from_bits(self.random.next())],
            1 => [self.any_hard(), self.any_hard()],
            2 => [self.any_hard(), self.sized(4)],
            3 => [self.sized(self.size), self.sized(6)],
            4 => [self.sized(2), self.sized(9)],
            _ => [self.short(), self.short()],
        })
    }
}

/// Numbers at which something changes.
const EDGES: [f64; 24] = [
    0.0,
    f64::from_bits(1),
    2.2250738585072009e-308,
    f64::MIN_POSITIVE,
    1e-300,
    1.4901161193847656e-8,
    1e-5,
    0.1,
    0.3333333333333333,
    0.5,
    0.9999999999999999,
    1.0,
    1.0000000000000002,
    1.5,
    2.0,
    3.0,
    709.782712893384,
    745.1332191019412,
    1024.0,
    9007199254740992.0,
    1e22,
    f64::MAX,
    f64::INFINITY,
    f64::NAN,
];

/// Returns the hexadecimal numbers in the source of a function. Among them are the
/// arguments of its hardest cases, which it treats on their own.
fn literals(name: &str) -> Vec<f64> {
    let path = format!("{}/{name}/{name}.c", env!("CORE_MATH"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    text.split("0x").skip(1).filter_map(hexadecimal).collect()
}

/// Returns the worst cases of a function that a copy of CORE-MATH's repository has, and how many
/// lines are left out: those with other numbers than hexadecimal ones, such as `+snan`. `None` if
/// there is no file.
pub(super) fn worst(folder: &str, name: &str, is_binary: bool) -> Option<(Vec<[f64; 2]>, usize)> {
    let text = fs::read_to_string(format!("{folder}/src/binary64/{name}/{name}.wc")).ok()?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let (mut cases, mut left_out) = (Vec::new(), 0);
    for line in lines.filter(|line| !line.is_empty()) {
        let mut numbers = line.split(',').map(|number| signed(number.trim()));
        match (numbers.next().flatten(), numbers.next().flatten()) {
            (Some(x), y) if y.is_some() || !is_binary => cases.push([x, y.unwrap_or(0.0)]),
            _ => left_out += 1,
        }
    }
    Some((cases, left_out))
}

/// Returns the hexadecimal number that a text is, with or without a sign.
fn signed(text: &str) -> Option<f64> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1.0, magnitude),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    Some(sign * hexadecimal(magnitude.strip_prefix("0x").or_else(|| magnitude.strip_prefix("0X"))?)?)
}

/// Returns the number that a text begins with, `1.8p-3`, without its `0x`.
pub(super) fn hexadecimal(text: &str) -> Option<f64> {
    let (digits, rest) = text.split_once('p')?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let significand = u64::from_str_radix(&format!("{whole}{fraction}"), 16)
        .ok()
        .filter(|bits| *bits as f64 as u64 == *bits)?;
    let end = rest.char_indices().find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && "+-".contains(*c)));
    let exponent: i32 = rest[..end.map_or(rest.len(), |(at, _)| at)].trim_start_matches('+').parse().ok()?;
    let exponent = exponent - 4 * fraction.len() as i32;
    // In two steps: a power of 2 itself may be too small.
    let half = exponent / 2;
    Some(significand as f64 * f64::from(half).exp2() * f64::from(exponent - half).exp2())
}

/// Random numbers by SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ bits >> 31
    }
}

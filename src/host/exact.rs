//! Exact functions that no instruction computes and Rust's own library does not have. With
//! these, programs that `kal build` makes need no `libm.so`, whose loading is a twentieth of
//! their start.

/// Computes `logb` of the language: the exponent of a double, as if it were normal.
pub(super) extern "C" fn logb(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if !x.is_finite() {
        return x * x;
    }
    let bits = x.to_bits() & !(1 << 63);
    let exponent = match (bits >> 52) as i32 {
        // The unit of a subnormal number is 2⁻¹⁰⁷⁴.
        0 => bits.ilog2() as i32 - 1074,
        biased => biased - 1023,
    };
    f64::from(exponent)
}

/// Computes `nextafter` of the language: the double next to `x`, towards `y`.
pub(super) extern "C" fn nextafter(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        x + y
    } else if x == y {
        y
    } else if x < y {
        x.next_up()
    } else {
        x.next_down()
    }
}

/// Computes `remainder` of the language: `x - n * y`, where `n` is the integer nearest to `x / y`,
/// the even one if there are two (IEEE 754-2019, 5.3.1).
pub(super) extern "C" fn remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    let divisor = y.abs();
    let twice = divisor + divisor;
    // What is left of an even quotient; less than `twice`.
    let mut rest = if twice.is_finite() { x.abs() % twice } else { x.abs() };
    let exceeds_half = |rest: f64| {
        // Neither overflows nor is rounded.
        if twice.is_finite() { rest + rest > divisor } else { rest > divisor / 2.0 }
    };
    let is_half = |rest: f64| if twice.is_finite() { rest + rest == divisor } else { rest == divisor / 2.0 };
    if exceeds_half(rest) {
        rest -= divisor;
        // The quotient is odd.
        if exceeds_half(rest) || is_half(rest) {
            rest -= divisor;
        }
    }
    if x.is_sign_negative() { -rest } else { rest }
}

#[allow(unsafe_code)]
#[cfg(test)]
mod tests {
    use super::*;

    // Those of the C library, to compare with.
    // SAFETY: these are functions of the C standard over doubles (C11 7.12): they take and
    // return doubles by value and have no preconditions. `unsafe extern` only states that.
    unsafe extern "C" {
        #[link_name = "logb"]
        safe fn c_logb(x: f64) -> f64;
        #[link_name = "nextafter"]
        safe fn c_nextafter(x: f64, y: f64) -> f64;
        #[link_name = "remainder"]
        safe fn c_remainder(x: f64, y: f64) -> f64;
    }

    /// Numbers at which something changes.
    const SPECIAL: [f64; 17] = [
        0.0,
        f64::from_bits(1),
        f64::from_bits(2),
        f64::from_bits((1 << 52) - 1),
        f64::MIN_POSITIVE,
        2.0 * f64::MIN_POSITIVE,
        0.5,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        f64::MAX / 2.0,
        f64::MAX / 2.0 * 1.5,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];

    fn assert_same(computed: f64, expected: f64, call: &str) {
        let is_same = computed.to_bits() == expected.to_bits() || computed.is_nan() && expected.is_nan();
        assert!(is_same, "{call}: {computed:e}, not {expected:e}");
    }

    fn compare(x: f64, y: f64) {
        assert_same(logb(x), c_logb(x), &format!("logb({x:e})"));
        assert_same(nextafter(x, y), c_nextafter(x, y), &format!("nextafter({x:e}, {y:e})"));
        assert_same(remainder(x, y), c_remainder(x, y), &format!("remainder({x:e}, {y:e})"));
    }

    #[test]
    fn they_are_those_of_the_c_library() {
        let special = || SPECIAL.iter().flat_map(|x| [*x, -x]);
        special().for_each(|x| special().for_each(|y| compare(x, y)));
        // A linear congruential generator (Knuth's MMIX), of which the upper bits are used.
        let mut state = 1_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 32
        };
        for _ in 0..200_000 {
            let bits = [random() << 32 | random(), random() << 32 | random()];
            let [x, y] = bits.map(f64::from_bits);
            compare(x, y);
            // Of about the same size, and with ties.
            let near =
                f64::from_bits(x.to_bits() & !0x0030_0000_0000_0000 | random() << 50 & 0x0030_0000_0000_0000);
            compare(x, near);
            compare(f64::from((random() % 64) as u32) / 4.0, f64::from((random() % 16) as u32) / 2.0);
            compare(near, y);
        }
    }
}

//! Powers with constant exponents that are exact sequences of instructions: as `pow`
//! returns the double nearest to the exact value, so do they, with the same bits.

use super::{Builtin, NativeFunction, PureFunction};

/// How `x ^ n` is computed for an exponent that is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExactPower {
    /// `x ^ 1` is `x`.
    Same,
    /// `x ^ 2` is `x * x`.
    Square,
    /// `x ^ -1` is `1 / x`.
    Reciprocal,
    /// `x ^ 0.5` is the square root, but for -0 and the negative infinity: see [`root`].
    Root,
}

impl ExactPower {
    /// Returns how the power with this exponent is computed; `None` if `pow` does it.
    pub fn of(exponent: f64) -> Option<Self> {
        const EXACT: [(f64, ExactPower); 4] = [
            (1.0, ExactPower::Same),
            (2.0, ExactPower::Square),
            (-1.0, ExactPower::Reciprocal),
            (0.5, ExactPower::Root),
        ];
        EXACT.iter().find(|(known, _)| *known == exponent).map(|(_, power)| *power)
    }
}

/// Computes `x ^ 0.5`. Other than the square root, it is 0 for -0, which adding 0 turns
/// into 0, and infinite for the negative infinity.
pub fn root(x: f64) -> f64 {
    if x == f64::NEG_INFINITY { f64::INFINITY } else { (x + 0.0).sqrt() }
}

/// Computes the operator `^`: the library's `pow`.
pub fn pow(x: f64, y: f64) -> f64 {
    kal_math::pow(x, y)
}

impl Builtin {
    /// Returns whether it is `pow`, which is also the operator `^`.
    pub fn is_pow(self) -> bool {
        PureFunction::pow().is_some_and(|pow| self == Self::Call(pow))
    }

    /// Returns its result; `None` for another number of arguments.
    pub fn call(self, arguments: &[f64]) -> Option<f64> {
        let (_, function): (_, NativeFunction) = super::library().find(|(name, _)| *name == self.text())?;
        function.call(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_powers_are_those_of_pow() {
        let edges = [
            0.0,
            f64::from_bits(1),
            1e-310,
            f64::MIN_POSITIVE,
            1e-160,
            1.5e-154,
            0.1,
            0.9999999999999999,
            1.0,
            1.0000000000000002,
            3.0,
            9007199254740991.0,
            1.3407807929942596e154,
            1.3407807929942597e154,
            f64::MAX,
            f64::INFINITY,
            f64::NAN,
        ];
        let mut numbers: Vec<f64> = edges.iter().flat_map(|number| [*number, -number]).collect();
        numbers
            .extend((1_u64..20_000).map(|index| f64::from_bits(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))));
        let exponents = [1.0, 2.0, -1.0, 0.5];
        for (x, exponent) in numbers.iter().flat_map(|x| exponents.map(|exponent| (*x, exponent))) {
            let exact = match ExactPower::of(exponent).expect("it is exact") {
                ExactPower::Same => x,
                ExactPower::Square => x * x,
                ExactPower::Reciprocal => 1.0 / x,
                ExactPower::Root => root(x),
            };
            let power = pow(x, exponent);
            let is_same = exact.to_bits() == power.to_bits() || exact.is_nan() && power.is_nan();
            assert!(is_same, "{x:e} ^ {exponent}: {exact:e}, not {power:e}");
        }
        assert_eq!(ExactPower::of(0.0), None);
        assert_eq!(ExactPower::of(3.0), None);
        assert_eq!(ExactPower::of(f64::NAN), None);
    }

    #[test]
    fn a_builtin_is_called_by_its_own_name() {
        let pow = Builtin::Call(PureFunction::pow().expect("it is there"));
        assert!(pow.is_pow());
        assert_eq!(pow.call(&[2.0, 10.0]), Some(1024.0));
        assert_eq!(pow.call(&[2.0]), None);
        assert_eq!(Builtin::Instruction(super::super::Intrinsic::Sqrt).call(&[2.0]), Some(2_f64.sqrt()));
    }
}

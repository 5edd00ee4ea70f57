//! The processors that code is compiled for, and which code this one can run.
//!
//! A [`Processor`] is a level of x86-64 with features added or left out, in LLVM's
//! words: `x86-64-v3,-bmi2`. Levels are those of the psABI. Answers never depend on
//! it: no level contracts or reorders operations.

use std::fmt;
use std::str::FromStr;

/// A feature of x86-64 that not every processor has: what LLVM calls it, and the first
/// level that has it.
struct Feature {
    name: &'static str,
    level: u8,
    is_there: fn() -> bool,
}

/// Makes the table of features.
macro_rules! features {
    ($($level:literal: $($name:literal $detected:tt),+;)+) => {
        const FEATURES: &[Feature] = &[$($(
            Feature { name: $name, level: $level, is_there: || features!(@detect $detected) },
        )+)+];
    };
    (@detect $detected:tt) => {{
        #[cfg(target_arch = "x86_64")]
        { std::arch::is_x86_feature_detected!($detected) }
        #[cfg(not(target_arch = "x86_64"))]
        { false }
    }};
}

features! {
    2: "cx16" "cmpxchg16b", "popcnt" "popcnt", "sse3" "sse3", "sse4.1" "sse4.1", "sse4.2" "sse4.2",
       "ssse3" "ssse3";
    3: "avx" "avx", "avx2" "avx2", "bmi" "bmi1", "bmi2" "bmi2", "f16c" "f16c", "fma" "fma",
       "lzcnt" "lzcnt", "movbe" "movbe", "xsave" "xsave";
    4: "avx512f" "avx512f", "avx512bw" "avx512bw", "avx512cd" "avx512cd", "avx512dq" "avx512dq",
       "avx512vl" "avx512vl";
}

/// What the first level is called; the others add `-v` and their number.
const BASE: &str = "x86-64";

/// What the processor of this machine is called.
const NATIVE: &str = "native";

/// A kind of processor that code is compiled for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum Processor {
    /// That of this machine, with all that it has.
    #[default]
    Native,
    /// Every one that has these features.
    Portable(FeatureSet),
}

/// A set of features that processors have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FeatureSet(u32);

impl FeatureSet {
    /// Returns what every processor of a level has.
    fn of_level(level: u8) -> Self {
        Self::all(|feature| feature.level <= level)
    }

    /// Returns what the processor of this machine has.
    pub fn present() -> Self {
        Self::all(|feature| (feature.is_there)())
    }

    fn all(has: impl Fn(&Feature) -> bool) -> Self {
        let bits = FEATURES.iter().enumerate().filter(|(_, feature)| has(feature)).map(|(bit, _)| 1 << bit);
        Self(bits.sum())
    }

    /// Returns the names of the features.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let is_in = move |bit: usize| self.0 >> bit & 1 == 1;
        FEATURES.iter().enumerate().filter(move |(bit, _)| is_in(*bit)).map(|(_, feature)| feature.name)
    }

    /// Returns what is in it and not in the other.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether nothing is in it.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the feature of that name alone, as LLVM spells it.
    pub fn named(name: &str) -> Option<Self> {
        FEATURES.iter().position(|feature| feature.name == name).map(|bit| Self(1 << bit))
    }

    /// Returns whether the feature of that name is in it, as LLVM spells it.
    pub(crate) fn has(self, name: &str) -> bool {
        Self::named(name).is_some_and(|feature| feature.without(self).is_empty())
    }

    /// Returns how good code for it is, where it can run: by the width of vectors, then by
    /// the number of features.
    pub fn rank(self) -> (u32, u32) {
        let width = if self.has("avx512f") { 512 } else { 128 << u32::from(self.has("avx")) };
        (width, self.0.count_ones())
    }

    /// Returns it as a number that [`of_bits`](Self::of_bits) reads.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Returns the set of that number; `None` if it has features that are not known.
    pub(crate) fn of_bits(bits: u32) -> Option<Self> {
        (bits >> FEATURES.len() == 0).then_some(Self(bits))
    }

    /// Returns the level that has just these features.
    fn level(self) -> Option<u8> {
        (1..=4).find(|level| Self::of_level(*level) == self)
    }
}

fn level_name(level: u8) -> String {
    if level == 1 { BASE.to_owned() } else { format!("{BASE}-v{level}") }
}

impl fmt::Display for FeatureSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The level from which it differs least.
        let distance = |level: &u8| (Self::of_level(*level).0 ^ self.0).count_ones();
        let level = self.level().or_else(|| (1..=4).min_by_key(distance)).unwrap_or(1);
        f.write_str(&level_name(level))?;
        let of_level = Self::of_level(level);
        self.without(of_level).names().try_for_each(|name| write!(f, ",+{name}"))?;
        of_level.without(*self).names().try_for_each(|name| write!(f, ",-{name}"))
    }
}

impl Processor {
    /// Returns the features that it has.
    pub(crate) fn features(self) -> FeatureSet {
        match self {
            Self::Native => FeatureSet::present(),
            Self::Portable(features) => features,
        }
    }

    /// Returns the number of rows that code for it computes at once: two vectors, so that
    /// one is computed while the other waits. Four of a short function, if there are
    /// registers enough, as with AVX-512, or if it calls the library, which has one vector at a
    /// time in registers.
    pub(crate) fn lanes(self, is_short: bool, calls_library: bool) -> u32 {
        let features = self.features();
        let vectors = if is_short && (calls_library || features.has("avx512f")) { 4 } else { 2 };
        vectors * features.rank().0 / u64::BITS
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str(NATIVE),
            Self::Portable(features) => features.fmt(f),
        }
    }
}

/// Why a text names no processor.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ProcessorError {
    /// It begins with no level.
    #[error("unknown processor `{0}`; one of native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4 is expected")]
    Level(String),
    /// A feature is not known.
    #[error("unknown feature `{0}`; `+` or `-` and one of {known} is expected", known = known_features())]
    Feature(String),
}

fn known_features() -> String {
    FEATURES.iter().map(|feature| feature.name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Processor {
    type Err = ProcessorError;

    /// Reads `native`, or a level, and what it is to have more and less:
    /// `x86-64-v3,-bmi2,+avx512f`.
    fn from_str(text: &str) -> Result<Self, ProcessorError> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let mut features = match name {
            NATIVE => FeatureSet::present(),
            _ => (1..=4)
                .find(|level| level_name(*level) == name)
                .map(FeatureSet::of_level)
                .ok_or_else(|| ProcessorError::Level(name.to_owned()))?,
        };
        let mut is_native = name == NATIVE;
        for part in parts {
            let unknown = || ProcessorError::Feature(part.to_owned());
            let sign = part.chars().next().filter(|sign| ['+', '-'].contains(sign)).ok_or_else(unknown)?;
            let named = FeatureSet::named(&part[1..]).ok_or_else(unknown)?;
            features = FeatureSet(if sign == '+' { features.0 | named.0 } else { features.0 & !named.0 });
            is_native = false;
        }
        Ok(if is_native { Self::Native } else { Self::Portable(features) })
    }
}

/// Returns the features of a portable processor.
#[cfg(test)]
pub(crate) fn features(text: &str) -> FeatureSet {
    match text.parse() {
        Ok(Processor::Portable(features)) => features,
        other => panic!("{text}: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_written_as_they_are_read() {
        for text in
            ["native", "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v3,-bmi2", "x86-64,+avx"]
        {
            assert_eq!(text.parse::<Processor>().map(|processor| processor.to_string()), Ok(text.to_owned()));
        }
        let refused = |text: &str| text.parse::<Processor>().map_err(|error| error.to_string()).unwrap_err();
        assert!(refused("x87").starts_with("unknown processor `x87`; one of native, x86-64,"));
        assert!(
            refused("x86-64,avx").starts_with("unknown feature `avx`; `+` or `-` and one of cx16, popcnt,")
        );
        assert!(refused("x86-64,+").starts_with("unknown feature `+`"));
    }

    #[test]
    fn wider_vectors_are_better_than_more_features() {
        let ranked = ["x86-64", "x86-64-v2", "x86-64,+avx", "x86-64-v3", "x86-64,+avx512f", "x86-64-v4"];
        assert!(ranked.map(|text| features(text).rank()).is_sorted());
        let missing: Vec<_> =
            features("x86-64-v3").without(features("x86-64-v3,-bmi2,-fma")).names().collect();
        assert_eq!(missing, ["bmi2", "fma"]);
        assert!(features("x86-64-v2").without(features("x86-64-v3")).is_empty());
    }
}

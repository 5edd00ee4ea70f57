//! Values of many rows at once.

use crate::processor::FeatureSet;
use inkwell::values::{FloatValue, IntValue, PointerValue, VectorValue};

/// A value of a row.
#[derive(Clone, Copy)]
pub(super) enum Wide<'c> {
    /// The same in every row.
    Every(FloatValue<'c>),
    /// A vector with a lane for each row.
    Each(VectorValue<'c>),
}

/// A truth of a row.
#[derive(Clone, Copy)]
pub(super) enum WideTruth<'c> {
    Every(IntValue<'c>),
    Each(VectorValue<'c>),
}

/// The lanes that are alive; all of them if `None`.
pub(super) type Mask<'c> = Option<VectorValue<'c>>;

/// A local of a function.
#[derive(Clone, Copy)]
pub(super) enum WideLocal<'c> {
    /// Not bound yet.
    Unbound,
    /// Never assigned.
    Value(Wide<'c>),
    /// In memory, as a vector.
    Place(PointerValue<'c>),
    /// In memory, as one double: it is the same in every lane.
    Single(PointerValue<'c>),
}

/// The number of doubles in a register of AVX.
pub(super) const REGISTER: u32 = 4;

/// Returns whether truths are as wide as doubles in code for these features.
pub(super) fn has_wide_truths(features: FeatureSet, lanes: u32) -> bool {
    features.has("avx2") && !features.has("avx512f") && lanes >= REGISTER
}

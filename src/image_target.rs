//! The targets of images: kinds of processors, and which functions are compiled for each.

use crate::processor::{FeatureSet, Processor, ProcessorError};
use std::fmt;
use std::str::FromStr;

/// A kind of processor that an image has a version for, and which functions are compiled for it.
///
/// A version is *complete*, or it is a set of *clones* of the functions that gain from what the
/// processor has more, those with loops or with rounding; all others are those of its *base*,
/// a complete version before it.
///
/// It is read and written as Julia's `JULIA_CPU_TARGET` has it, with the processors of Kal:
/// `x86-64-v3,-bmi2,clone_all`, or `x86-64-v4,base(1)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ImageTarget {
    pub(crate) processor: Processor,
    pub(crate) functions: TargetFunctions,
}

/// Which functions are compiled for a target.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum TargetFunctions {
    /// All.
    All,
    /// Clones; the others are of the target of that number, or of the best before it if it is
    /// `None`.
    Clones(Option<usize>),
}

/// Why a text is no target, or a list of them is none of an image.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageTargetError {
    /// It names no processor.
    #[error(transparent)]
    Processor(#[from] ProcessorError),
    /// Its base has no number.
    #[error("`{0}`: a number is expected, as in `base(0)`: that of a target before this one")]
    Base(String),
    /// Its base is none.
    #[error("{0}: `base({1})` is no target before this one that has all functions")]
    NoBase(ImageTarget, usize),
    /// Its base needs more.
    #[error("{0}: `base({1})` is for processors with more features: {2}")]
    Beyond(ImageTarget, usize, String),
}

impl ImageTarget {
    /// Creates the target for which all functions are compiled.
    pub fn complete(processor: Processor) -> Self {
        Self { processor, functions: TargetFunctions::All }
    }

    /// Creates the target for which those functions are compiled that gain from it.
    pub fn clones(processor: Processor) -> Self {
        Self { processor, functions: TargetFunctions::Clones(None) }
    }

    /// Returns the features that processors need for it.
    pub(crate) fn features(self) -> FeatureSet {
        self.processor.features()
    }

    /// Returns the versions for targets: what processors need, and the number of the base, among
    /// those before it; `None` for a complete one, as the first is, and one to which none before
    /// it fits. Targets for the same processors have one version, complete if one of them is.
    ///
    /// # Errors
    /// The first that has a wrong base.
    pub(crate) fn versions(targets: &[Self]) -> Result<Vec<(FeatureSet, Option<usize>)>, ImageTargetError> {
        let mut merged: Vec<Self> = Vec::new();
        let mut numbers = Vec::with_capacity(targets.len());
        for (own, target) in targets.iter().enumerate() {
            if let TargetFunctions::Clones(Some(asked)) = target.functions
                && asked >= own
            {
                return Err(ImageTargetError::NoBase(*target, asked));
            }
            let known = merged.iter().position(|known| known.features() == target.features());
            numbers.push(known.unwrap_or(merged.len()));
            match known {
                None => merged.push(*target),
                Some(known) if target.functions == TargetFunctions::All => merged[known] = *target,
                Some(_) => {}
            }
        }
        let mut versions: Vec<(FeatureSet, Option<usize>)> = Vec::with_capacity(merged.len());
        for target in merged {
            let features = target.features();
            let base = match target.functions {
                TargetFunctions::All => None,
                TargetFunctions::Clones(None) => {
                    let complete = versions.iter().enumerate().filter(|(_, (_, base))| base.is_none());
                    let fitting = complete.filter(|(_, (needed, _))| needed.without(features).is_empty());
                    fitting.max_by_key(|(_, (needed, _))| needed.rank()).map(|(number, _)| number)
                }
                TargetFunctions::Clones(Some(asked)) => {
                    let base = numbers.get(asked).and_then(|number| Some((*number, versions.get(*number)?)));
                    let Some((number, (needed, None))) = base else {
                        return Err(ImageTargetError::NoBase(target, asked));
                    };
                    let more: Vec<_> = needed.without(features).names().collect();
                    if !more.is_empty() {
                        return Err(ImageTargetError::Beyond(target, asked, more.join(", ")));
                    }
                    Some(number)
                }
            };
            versions.push((features, base));
        }
        Ok(versions)
    }
}

impl fmt::Display for ImageTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.processor)?;
        match self.functions {
            TargetFunctions::All => f.write_str(",clone_all"),
            TargetFunctions::Clones(None) => Ok(()),
            TargetFunctions::Clones(Some(base)) => write!(f, ",base({base})"),
        }
    }
}

impl FromStr for ImageTarget {
    type Err = ImageTargetError;

    fn from_str(text: &str) -> Result<Self, ImageTargetError> {
        let (mut processor, mut functions) = (Vec::new(), TargetFunctions::Clones(None));
        for part in text.split(',').map(str::trim) {
            match part {
                "clone_all" | "+clone_all" => functions = TargetFunctions::All,
                "-clone_all" => functions = TargetFunctions::Clones(None),
                _ if part.starts_with("base(") => {
                    let number = part.strip_prefix("base(").and_then(|rest| rest.strip_suffix(')'));
                    let number = number.and_then(|number| number.trim().parse().ok());
                    let number = number.ok_or_else(|| ImageTargetError::Base(part.to_owned()))?;
                    functions = TargetFunctions::Clones(Some(number));
                }
                _ => processor.push(part),
            }
        }
        Ok(Self { processor: processor.join(",").parse()?, functions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bases(list: &str) -> Result<Vec<Option<usize>>, String> {
        let targets: Result<Vec<ImageTarget>, _> = list.split(';').map(str::parse).collect();
        let versions = targets.and_then(|targets| ImageTarget::versions(&targets));
        let bases = versions.map(|versions| versions.into_iter().map(|(_, base)| base).collect());
        bases.map_err(|error| error.to_string())
    }

    #[test]
    fn targets_are_written_as_they_are_read() {
        for text in
            ["x86-64", "x86-64-v3,clone_all", "x86-64-v4,base(1)", "x86-64-v3,-bmi2,base(0)", "native"]
        {
            assert_eq!(text.parse::<ImageTarget>().map(|target| target.to_string()), Ok(text.to_owned()));
        }
        let read = |text: &str| text.parse::<ImageTarget>();
        assert_eq!(read("x86-64-v3, base( 2 ), -clone_all"), read("x86-64-v3"));
        assert_eq!(read("clone_all,x86-64-v3"), read("x86-64-v3,clone_all"));
        for text in
            ["x86-64,base", "x86-64,base(", "x86-64,base(x)", "base(0)", "x86-64,clone", "x86-64,opt_size"]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn clones_have_a_complete_base_that_runs_where_they_do() {
        assert_eq!(bases("x86-64"), Ok(vec![None]));
        assert_eq!(bases("x86-64;x86-64-v3;x86-64-v4"), Ok(vec![None, Some(0), Some(0)]));
        assert_eq!(bases("x86-64;x86-64-v3,clone_all;x86-64-v4"), Ok(vec![None, None, Some(1)]));
        assert_eq!(bases("x86-64;x86-64-v3,clone_all;x86-64-v4,base(0)"), Ok(vec![None, None, Some(0)]));
        // One that runs where none before it does has all functions.
        assert_eq!(bases("x86-64-v4;x86-64-v3;x86-64-v3,-bmi2"), Ok(vec![None, None, None]));
        // Two for the same processors are one.
        assert_eq!(
            bases("x86-64;x86-64-v3;x86-64-v3,clone_all;x86-64-v4,base(2)"),
            Ok(vec![None, None, Some(1)])
        );
        let no_base = "is no target before this one that has all functions";
        for (list, base) in [
            ("x86-64,base(0)", 0),
            ("x86-64;x86-64-v3;x86-64-v4,base(1)", 1),
            ("x86-64;x86-64-v3,base(2);x86-64-v4", 2),
            ("x86-64;x86-64-v3;x86-64-v3,base(9)", 9),
            ("x86-64;x86-64-v3,base(2);x86-64", 2),
        ] {
            let error = bases(list).expect_err("it has no base");
            assert!(error.ends_with(&format!("`base({base})` {no_base}")), "{error}");
        }
        let beyond = "x86-64-v3,-bmi2,base(0): `base(0)` is for processors with more features: bmi2";
        assert_eq!(bases("x86-64-v3;x86-64-v3,-bmi2,base(0)"), Err(beyond.to_owned()));
    }
}

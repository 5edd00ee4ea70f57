//! The cache in a build without the compiler: there is no code to keep.

use super::{CacheEvent, CacheOptions, CheckedText, CheckedTexts};
use crate::source::Source;

/// The packs of an engine's programs: none.
pub struct Cache;

impl Cache {
    pub fn new(_: CacheOptions, _: bool) -> Self {
        Self
    }

    pub fn keeps(&self, _: &Source) -> bool {
        false
    }

    pub fn nanoseconds(&self) -> u64 {
        0
    }

    pub fn open(&self, _: &Source, _: Option<&str>) -> Option<CheckedText> {
        None
    }

    pub fn begin_session(&self, _: &Source) {}

    pub fn end_session(&self, _: &Source) {}

    pub fn resume_session(&self, _: &Source, _: Vec<u8>) -> Result<(), String> {
        Err("this build of Kal has no compiler".into())
    }

    pub fn write(&self, _: CheckedTexts<'_>) {}

    #[cfg(feature = "cli")]
    pub fn write_library(
        &self,
        _: &std::path::Path,
        _: bool,
        _: CheckedTexts<'_>,
    ) -> Result<(usize, usize), String> {
        Err("this build of Kal has no compiler".into())
    }

    #[cfg(feature = "cli")]
    pub fn verify(&self) -> (usize, Vec<CacheEvent>) {
        (0, Vec::new())
    }

    #[cfg(feature = "cli")]
    pub fn explain(
        &self,
        functions: &[(String, crate::fingerprint::Fingerprint)],
    ) -> Vec<super::Explanation> {
        vec![super::Explanation::NeverCompiled; functions.len()]
    }

    pub fn take_events(&self) -> Vec<CacheEvent> {
        Vec::new()
    }
}

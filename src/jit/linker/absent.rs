//! The linker of a build without a compiler: there is nothing to link.

use super::Jit;
use super::refusal::LinkError;
use kal_code::{Address, Slab};
use std::sync::Weak;

/// Refuses everything.
pub(super) struct Linker;

/// A type without values.
pub(super) enum LinkedObject {}

impl Linker {
    pub(super) fn new(_: &Weak<Jit>, _: &Slab, _: bool) -> Self {
        Self
    }

    pub(super) fn add(&self, _: &[u8]) -> Result<LinkedObject, LinkError> {
        Err(LinkError::Internal("this build of Kal has no linker".into()))
    }

    pub(super) fn remove(object: LinkedObject) -> bool {
        match object {}
    }

    pub(super) fn lookup(&self, _: &str) -> Result<Address, LinkError> {
        Err(LinkError::Internal("this build of Kal has no linker".into()))
    }

    pub(super) fn clear_dead_symbols(&self) {}
}

//! The code of one layer below the bindings.

use crate::jit::Jit;
use crate::jit::code::CodeBlock;
use crate::jit::slots::HeldCalls;
use crate::world::Layer;
use std::sync::Arc;

/// A layer whose code earlier runs have made.
#[derive(Clone)]
pub(super) struct LayerBlock {
    pub(super) layer: Arc<Layer>,
    pub(super) code: LayerCode,
}

/// The code of what a layer defines.
#[derive(Clone)]
pub(super) enum LayerCode {
    /// It can be placed together, as long as nothing has been bound or declared that
    /// concerns the layer. Until then its calls have the slots that are best for it.
    Unplaced(#[expect(dead_code, reason = "only kept")] Arc<[HeldCalls]>),
    /// What is not bound yet is bound with its code.
    Placed(Arc<CodeBlock>),
}

impl LayerBlock {
    /// Returns the code of a layer that is about to lie below the bindings.
    pub(super) fn unplaced(jit: &Jit, layer: &Arc<Layer>) -> Self {
        Self { layer: layer.clone(), code: LayerCode::Unplaced(jit.hold_calls_of(layer)) }
    }
}

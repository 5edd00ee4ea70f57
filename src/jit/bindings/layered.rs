//! The code of layers below the bindings: placed together, and bound when it is needed.
//!
//! As long as a name of a layer is not bound, its slots lead to code in the block, and
//! the table knows nothing of what that code assumes. So before a name that concerns the
//! layer gets another meaning, all that has code in the block is bound: see
//! [`prepare_change`](BindingTable::prepare_change).

use super::layer_block::{LayerBlock, LayerCode};
use super::{BindingTable, Bindings};
use crate::jit::Jit;
use crate::jit::code::CodeBlock;
use crate::jit::definition::Definition;
use crate::jit::state::{Event, State, transition};
use crate::name::Name;
use crate::runtime::Slot;
use crate::world::Layer;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Bindings {
    /// Places the code of the layer that defines a name, once, if earlier runs have made
    /// some and nothing that it assumes has changed. Returns whether it has.
    pub(in crate::jit) fn place_layer_of(&self, jit: &Arc<Jit>, name: Name) -> bool {
        if self.table(|table| table.unplaced(name).is_none()) || self.is_observed() {
            return false;
        }
        self.table(|table| {
            let Some(at) = table.unplaced(name) else { return false };
            // What it holds is the block's then.
            let LayerBlock { layer, code: _held } = table.blocks.swap_remove(at);
            // What the layer takes for a function of the host may be defined by now.
            let is_hidden = jit.hosts.names().any(|name| layer.calls(name) && table.is_bound(name));
            let may_place = !table.is_inspected && !is_hidden;
            let Some(block) = may_place.then(|| CodeBlock::of(jit, &layer, &self.budget)).flatten() else {
                return false;
            };
            block.add_user(&self.run_epoch);
            if table.sharing.is_some() {
                block.admit_several();
            }
            let code = LayerCode::Placed(block.clone());
            table.blocks.push(LayerBlock { layer: layer.clone(), code });
            // What is bound already and has no code gets it; other code stays.
            let names: Vec<Name> = table.bindings.names().collect();
            for name in names {
                let binding = table.bindings.get(name);
                let is_waiting = binding.is_some_and(|binding| match binding.state {
                    State::Pending | State::Inlined => layer
                        .definition(name)
                        .is_some_and(|bound| Arc::ptr_eq(&bound.function, binding.definition.function())),
                    State::NotDefined | State::Materializing | State::Materialized => false,
                });
                if is_waiting {
                    table.bind_code(name);
                }
            }
            // Of what is bound, other code stays.
            let other = |name: Name| {
                let (slot, body) = block.entry_of(&layer, name)?;
                let own = table.bindings.get(name)?.entry;
                own.is_none_or(|(_, own)| own != body).then_some(slot)
            };
            let others: FxHashSet<Slot> = table.bindings.names().filter_map(other).collect();
            block.lead(jit, &self.memory, &others);
            true
        })
    }
}

impl BindingTable {
    /// Returns where the layer is that defines a name, if its code can be placed.
    fn unplaced(&self, name: Name) -> Option<usize> {
        let mut blocks = self.blocks.iter();
        blocks.position(|block| matches!(block.code, LayerCode::Unplaced(_)) && block.layer.defines(name))
    }

    /// Returns the blocks that are placed.
    pub(super) fn placed(&self) -> impl Iterator<Item = &Arc<CodeBlock>> {
        self.blocks.iter().filter_map(|block| match &block.code {
            LayerCode::Placed(block) => Some(block),
            LayerCode::Unplaced(_) => None,
        })
    }

    /// Binds a name, which is bound to what a layer defines, to the code of that in its
    /// block, if it has some.
    pub(super) fn bind_code(&mut self, name: Name) {
        let Some(binding) = self.bindings.get(name) else { return };
        let of_layer = |block: &&LayerBlock| block.layer.defines(name);
        let Some(LayerBlock { layer, code: LayerCode::Placed(block) }) =
            self.blocks.iter().find(of_layer).cloned()
        else {
            return;
        };
        let Some((code, slot)) = block.code(&layer, binding.definition.function()) else { return };
        if self.sharing.is_some() {
            code.admit_several();
        }
        for inlined in &code.assumptions().inlined {
            if !self.bindings.contains(inlined.name) && !block.has(&layer, inlined.name) {
                self.bind(inlined.name, Definition::new(inlined.clone()));
            }
            let binding = self.bindings.get_mut(inlined.name);
            binding
                .into_iter()
                .for_each(|binding| binding.state = transition(binding.state, Event::Inlined).0);
        }
        self.depends(name, code.assumptions());
        let Some(binding) = self.bindings.get_mut(name) else { return };
        binding.definition.restore(code.clone());
        binding.state = State::Materialized;
        binding.entry = Some((slot, code.body()));
        binding.installed = Some(code);
    }

    /// Binds all names of the layers that `concerns` selects.
    pub(super) fn bind_layers(&mut self, concerns: impl Fn(&Layer) -> bool) {
        for layer in self.layers.clone().iter().filter(|layer| concerns(layer)) {
            layer.definitions().for_each(|bound| self.bind_from_layer(bound.function.name));
        }
        self.layers.take(&concerns);
        let (bound, blocks) =
            std::mem::take(&mut self.blocks).into_iter().partition(|block| concerns(&block.layer));
        self.blocks = blocks;
        for LayerBlock { layer, code } in bound {
            if let LayerCode::Placed(block) = code {
                block.retract(&layer, |name| !self.bindings.contains(name));
            }
        }
    }

    /// Prepares for a change of what a name means: code of the layers that this concerns
    /// gets to know what it assumes.
    pub(super) fn prepare_change(&mut self, name: Name) {
        if !self.blocks.is_empty() {
            self.settle_blocks(|layer| layer.concerns(name));
        }
    }

    /// Binds what has code in the blocks of the layers that `concerns` selects, or does
    /// without the blocks that are not placed.
    pub(super) fn settle_blocks(&mut self, concerns: impl Fn(&Layer) -> bool) {
        let settled: Vec<_> = self.blocks.iter().filter(|block| concerns(&block.layer)).cloned().collect();
        for LayerBlock { layer, code } in &settled {
            let LayerCode::Placed(block) = code else { continue };
            block.names(layer).for_each(|name| self.bind_from_layer(name));
            block.retract(layer, |name| !self.bindings.contains(name));
        }
        self.blocks.retain(|block| !concerns(&block.layer));
    }
}

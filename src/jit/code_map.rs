//! The map from code addresses to functions.

use super::block_layout::BlockLayout;
use crate::name::Names;
use crate::process::{self, Activity, SteadyCell};
use crate::sema::checked::CheckedFunction;
use crate::world::Layer;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The bodies that are linked now, by address.
#[derive(Default)]
pub(super) struct CodeMap(Mutex<BTreeMap<usize, MappedCode>>);

/// What begins at an address.
enum MappedCode {
    Body(CodeOwner),
    Block(Arc<BlockOwners>),
}

/// What the bodies of a block belong to: definitions of a layer, which are decoded when
/// an address is looked up.
pub(super) struct BlockOwners {
    layer: Arc<Layer>,
    layout: Arc<BlockLayout>,
    /// The offset of each body, in ascending order, with the position of its definition.
    bodies: SteadyCell<Vec<(u32, u32)>>,
}

/// What the code belongs to; `None` if that cannot be decoded.
type Owner = Option<CodeOwner>;

/// The function that code was made for.
#[derive(Clone)]
pub(super) struct CodeOwner {
    pub(super) function: Arc<CheckedFunction>,
    /// Whether it is also the code of functions with other numbers.
    pub(super) is_shared_by_shape: bool,
    /// Whether it is OSR code. What has called that, if anything compiled, is
    /// baseline code that it replaces.
    pub(super) is_osr: bool,
}

impl CodeMap {
    pub(super) fn insert(&self, body: usize, owner: CodeOwner) {
        self.bodies(|bodies| bodies.insert(body, MappedCode::Body(owner)));
    }

    /// Registers the bodies of a block that begins at an address.
    pub(super) fn insert_block(&self, start: usize, owners: BlockOwners) {
        self.bodies(|bodies| bodies.insert(start, MappedCode::Block(Arc::new(owners))));
    }

    pub(super) fn remove(&self, body: usize) {
        let owner = self.bodies(|bodies| bodies.remove(&body));
        drop(owner);
    }

    /// Returns the owner of the body that contains an address inside linked
    /// code, and the range of addresses with the same answer.
    pub(super) fn find(&self, address: usize) -> Option<(Range<usize>, Owner)> {
        let (range, block) = self.bodies(|bodies| {
            let (start, mapped) = bodies.range(..=address).next_back()?;
            let end = bodies.range(address + 1..).next().map_or(usize::MAX, |(next, _)| *next);
            Some((
                *start..end,
                match mapped {
                    MappedCode::Body(owner) => Err(owner.clone()),
                    MappedCode::Block(block) => Ok(block.clone()),
                },
            ))
        })?;
        // Decoding takes other locks.
        Some(match block {
            Ok(block) => block.find(range, address),
            Err(owner) => (range, Some(owner)),
        })
    }

    /// Calls `work` with the map. No fork comes in between.
    fn bodies<T>(&self, work: impl FnOnce(&mut BTreeMap<usize, MappedCode>) -> T) -> T {
        process::within(Activity::Steady, || work(&mut self.0.lock()))
    }
}

impl BlockOwners {
    pub(super) fn new(layer: &Arc<Layer>, layout: &Arc<BlockLayout>) -> Self {
        Self { layer: layer.clone(), layout: layout.clone(), bodies: SteadyCell::default() }
    }

    /// Returns the owner of the body that contains an address, in a block that has a
    /// range of addresses, and the part of them with the same answer.
    fn find(&self, block: Range<usize>, address: usize) -> (Range<usize>, Owner) {
        let bodies = self.bodies.get_or_make(|| self.layout.by_offset());
        let next = bodies.partition_point(|(offset, _)| block.start + *offset as usize <= address);
        let end = bodies.get(next).map_or(block.end, |(offset, _)| block.start + *offset as usize);
        let Some((offset, position)) = next.checked_sub(1).map(|at| bodies[at]) else {
            return (block.start..end, None);
        };
        let function = self.layer.function_at(position as usize);
        let owner = function.map(|function| CodeOwner {
            function: function.clone(),
            is_shared_by_shape: false,
            is_osr: false,
        });
        (block.start + offset as usize..end, owner)
    }
}

impl CodeOwner {
    /// Returns whether the code is also that of a function.
    pub(super) fn is_code_of(&self, function: &CheckedFunction, names: &Names) -> bool {
        if self.is_shared_by_shape {
            self.function.has_shape_of(function)
        } else {
            self.function.means_the_same_as(function, names)
        }
    }
}

/// Look-ups that mostly repeat: caches the most recent answers.
pub(super) struct Finder<'a, M> {
    map: &'a CodeMap,
    /// Returns the function that is meant by the owner of code.
    meant: M,
    recent: Vec<(Range<usize>, Found)>,
}

/// A function, and whether its code at an address is OSR code.
type Found = Option<(Arc<CheckedFunction>, bool)>;

/// The number of cached answers.
const RECENT: usize = 8;

impl<'a, M: Fn(CodeOwner) -> Arc<CheckedFunction>> Finder<'a, M> {
    pub(super) fn new(map: &'a CodeMap, meant: M) -> Self {
        Self { map, meant, recent: Vec::new() }
    }

    /// Returns the function whose code contains an address, and whether that is OSR
    /// code.
    pub(super) fn find(&mut self, address: usize) -> Found {
        if let Some((_, owner)) = self.recent.iter().find(|(range, _)| range.contains(&address)) {
            return owner.clone();
        }
        let (range, owner) = self.map.find(address)?;
        let owner = owner.map(|owner| {
            let is_osr = owner.is_osr;
            ((self.meant)(owner), is_osr)
        });
        self.recent.insert(0, (range, owner.clone()));
        self.recent.truncate(RECENT);
        owner
    }
}

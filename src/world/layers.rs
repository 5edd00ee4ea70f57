//! The layers below a book, or below bindings.

use super::bound::BoundFunction;
use super::layer::Layer;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

/// Some layers, no two of which define the same name. A clone takes constant time.
#[derive(Clone, Default)]
pub struct Layers(Arc<[Arc<Layer>]>);

impl Layers {
    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the layers, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Layer>> {
        self.0.iter()
    }

    /// Adds a layer.
    pub fn add(&mut self, layer: &Arc<Layer>) {
        self.0 = self.0.iter().chain([layer]).cloned().collect();
    }

    /// Removes and returns the layers that `concerns` selects.
    pub fn take(&mut self, concerns: impl Fn(&Layer) -> bool) -> Vec<Arc<Layer>> {
        let taken: Vec<_> = self.0.iter().filter(|layer| concerns(layer)).cloned().collect();
        if !taken.is_empty() {
            self.0 = self.0.iter().filter(|layer| !concerns(layer)).cloned().collect();
        }
        taken
    }

    /// Returns the number of definitions in them.
    pub fn definition_count(&self) -> usize {
        self.0.iter().map(|layer| layer.len()).sum()
    }

    /// Returns the name that reads so, if one of them defines it.
    pub fn name(&self, text: &str) -> Option<Name> {
        let name = |layer: &Arc<Layer>| layer.name_at(layer.find_text(text)?);
        self.0.iter().find_map(name)
    }

    /// Returns the layer that defines a name, and the position of the definition in it.
    fn find(&self, name: Name) -> Option<(&Arc<Layer>, usize)> {
        let text = self.0.first()?.text().names().text(name);
        self.0.iter().find_map(|layer| Some((layer, layer.find_text(&text)?)))
    }

    /// Returns the definition of a name.
    pub fn definition(&self, name: Name) -> Option<&BoundFunction> {
        self.find(name).and_then(|(layer, position)| layer.bound(position))
    }

    /// Returns the function of a name.
    pub fn function(&self, name: Name) -> Option<&Arc<CheckedFunction>> {
        self.definition(name).map(|bound| &bound.function)
    }

    /// Returns the number of parameters of the function of a name, without decoding it.
    pub fn arity(&self, name: Name) -> Option<u32> {
        self.find(name).and_then(|(layer, position)| layer.size(position)).map(|(arity, _)| arity)
    }

    /// Returns the number of nodes of the function of a name, without decoding it.
    pub fn node_count(&self, name: Name) -> Option<usize> {
        self.find(name).and_then(|(layer, position)| layer.size(position)).map(|(_, nodes)| nodes as usize)
    }

    /// Returns whether one of them defines a name.
    pub fn defines(&self, name: Name) -> bool {
        self.find(name).is_some()
    }

    /// Returns whether one of their functions calls a name that its layer does not define,
    /// or that it defines with another number of arguments.
    pub fn calls(&self, name: Name) -> bool {
        self.0.iter().any(|layer| layer.calls(name))
    }
}

//! Modules that an earlier run has checked: what they offer is known without reading them.

use crate::bytes::SharedParts;
use crate::module::{Member, MemberTable, Module, ModuleOperator, by_name, qualified};
use crate::name::{HeldName, Name};
use crate::sema::{CheckedItem, Import};
use crate::source::Source;
use crate::syntax::operator::Operators;
use crate::world::{Layer, LazyTable, StoredEnvironment, StoredOpening, StoredText};
use std::sync::Arc;

/// A module as an earlier run has checked it. It may mean something else now.
pub(super) struct StoredModule {
    text: Arc<StoredText>,
    opening: Arc<StoredOpening>,
    pub(super) imports: Vec<Import>,
    /// What it offers, without what it imports.
    pub(super) interface: Arc<Module>,
}

impl StoredModule {
    /// Reads what a module offers and imports; `None` if the text is damaged.
    pub(super) fn new(
        name: &HeldName,
        source: &Source,
        bytes: SharedParts,
        environment: &Arc<StoredEnvironment>,
    ) -> Option<Self> {
        let text = Arc::new(StoredText::new(bytes, source, environment).ok()?);
        let opening = Arc::new(text.described().ok()?);
        let names = text.names();
        let member = |function: Name| {
            let qualified = names.text(function);
            let short = qualified.strip_prefix(&**name)?.strip_prefix('.')?;
            Some(Member { short: names.hold(short), qualified: qualified.clone() })
        };
        let (mut imports, mut operators) = (Vec::new(), Vec::new());
        for number in &opening.operators {
            match text.checked_item(*number).ok()? {
                CheckedItem::Import(import) => imports.push(import),
                CheckedItem::Definition(function, Some(fixity)) => {
                    let token = names.text(fixity.operator());
                    let function = member(function.name)?;
                    operators.push(ModuleOperator { fixity, token, function });
                }
                _ => return None,
            }
        }
        let mut variables = Vec::new();
        for number in &opening.others {
            if let CheckedItem::Variables(_, declared) = text.checked_item(*number).ok()? {
                variables.extend(declared.into_iter().filter_map(member));
            }
        }
        let members = LazyTable::new(text.len());
        let functions = StoredMembers { text: text.clone(), module: name.clone(), members };
        let variables = by_name(variables);
        let interface = Module::new(name.clone(), source.clone(), Arc::new(functions), variables, operators);
        Some(Self { text, opening, imports, interface: Arc::new(interface) })
    }

    /// Returns it as a layer, unless `import` refuses to bring the operators of an import
    /// into force.
    pub(super) fn layer(&self, import: &dyn Fn(&Import, &mut Operators) -> Option<()>) -> Option<Layer> {
        Layer::of_module(self.interface.name.clone(), &self.text, &self.opening, import)
    }
}

/// The functions of a stored module, by their short names.
struct StoredMembers {
    text: Arc<StoredText>,
    module: HeldName,
    members: LazyTable<Member>,
}

impl StoredMembers {
    fn of_item(&self, number: usize) -> Option<&Member> {
        self.members.get_or_make(number, || {
            let qualified = self.text.name(number).ok_or(())?;
            let short = qualified.strip_prefix(&*self.module).and_then(|rest| rest.strip_prefix('.'));
            Ok::<_, ()>(Member { short: self.text.names().hold(short.ok_or(())?), qualified })
        })
    }
}

impl MemberTable for StoredMembers {
    fn member(&self, short: Name) -> Option<&Member> {
        let short = self.text.names().text(short);
        self.of_item(self.text.find(&qualified(&self.module, &short))?)
    }

    fn members(&self) -> Box<dyn Iterator<Item = &Member> + '_> {
        Box::new(self.text.definitions().filter_map(|number| self.of_item(number)))
    }
}

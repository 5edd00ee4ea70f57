//! Names behind a module that need none, as in `math.sqrt(2)`.

use super::constant::constant;
use crate::host::HostFunctions;
use crate::name::Names;
use crate::syntax::foreign;

/// Returns the advice for an unknown qualified name whose last part is known without a module.
pub fn advice(name: &str, names: &Names, hosts: &HostFunctions) -> Option<String> {
    if name == "console.log" {
        return Some(foreign::PRINT.into());
    }
    let (_, own) = name.rsplit_once('.')?;
    let lower = own.to_ascii_lowercase();
    if constant(&lower).is_some() {
        return Some(format!("`{lower}` needs no module"));
    }
    hosts.get(names.get(own)?)?;
    Some(format!("`{own}` needs no module: `{own}(…)`"))
}

//! Names behind a module that need none, as in `math.sqrt(2)`.

use super::constant::constant;
use crate::syntax::foreign;

/// Returns the advice for an unknown qualified name whose last part is known without a module.
pub fn advice(name: &str, is_host_function: impl Fn(&str) -> bool) -> Option<String> {
    if name == "console.log" {
        return Some(foreign::PRINT.into());
    }
    let (_, own) = name.rsplit_once('.')?;
    if constant(own).is_some() {
        return Some(format!("`{own}` needs no module"));
    }
    is_host_function(own).then(|| format!("`{own}` needs no module: `{own}(…)`"))
}

//! Comparing a program with what the code in the cache was made of.

use super::Explanation;
use crate::fingerprint::Fingerprint;
use crate::pack::origin::CodeOrigin;
use rustc_hash::FxHashMap;

/// Explains each of the functions of a program, which are given by name and identity.
pub(super) fn explain(functions: &[(String, Fingerprint)], origins: &[CodeOrigin]) -> Vec<Explanation> {
    let present: FxHashMap<&str, Fingerprint> =
        functions.iter().map(|(name, function)| (name.as_str(), *function)).collect();
    let mut by_name: FxHashMap<&str, Vec<&CodeOrigin>> = FxHashMap::default();
    for origin in origins {
        by_name.entry(&origin.name).or_default().push(origin);
    }
    let explain = |(name, function): &(String, Fingerprint)| {
        let Some(known) = by_name.get(name.as_str()) else { return Explanation::NeverCompiled };
        let same = known.iter().filter(|origin| origin.function == *function);
        // One without a difference is enough.
        let differences: Option<Vec<_>> = same.map(|origin| difference(origin, &present)).collect();
        let Some(differences) = differences else { return Explanation::Cached };
        differences.into_iter().next().unwrap_or(Explanation::Changed)
    };
    functions.iter().map(explain).collect()
}

/// Returns why code of that origin does not fit a program with these functions; `None`
/// if it does.
fn difference(origin: &CodeOrigin, present: &FxHashMap<&str, Fingerprint>) -> Option<Explanation> {
    let changed = origin.inlined.iter().find(|(name, function)| present.get(&**name) != Some(function));
    let redefined = || origin.builtins.iter().find(|name| present.contains_key(&***name));
    let changed = changed.map(|(name, _)| Explanation::InlinedChanged(name.to_string()));
    changed.or_else(|| redefined().map(|name| Explanation::Redefined(name.to_string())))
}

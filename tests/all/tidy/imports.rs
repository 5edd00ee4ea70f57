//! Which file uses which: what `use` declarations and paths name, traced to the
//! file that defines it, through whatever is re-exported on the way.
//!
//! A file that only re-exports something, or imports it for its parts, does not
//! use it. Tests are left out.

use std::collections::{BTreeMap, BTreeSet};

/// A module, as the names from the crate's root to it.
type Module = Vec<String>;

/// The files of a crate and what they name.
pub struct Imports {
    files: BTreeMap<Module, Source>,
}

struct Source {
    path: String,
    /// The code without comments, tests and `use` declarations.
    code: String,
    named: Vec<Named>,
}

/// A path that a file names.
#[derive(Clone)]
struct Named {
    path: Vec<String>,
    /// What the file calls it.
    alias: String,
    /// Whether it is from a `use` declaration.
    is_imported: bool,
}

/// One file uses another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    pub user: String,
    pub used: String,
}

impl Imports {
    /// Reads files, given by their path below `src/` and their text.
    pub fn of<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let is_test = |path: &str| path.ends_with("tests.rs") || path.ends_with("testing.rs");
        let sources = files.filter(|(path, _)| *path != "main.rs" && !is_test(path));
        let mut files: BTreeMap<Module, Source> = sources
            .map(|(path, text)| {
                let (code, named) = without_imports(&without_tests(text));
                (module(path), Source { path: path.to_owned(), code, named })
            })
            .collect();
        let modules: BTreeSet<Module> = files.keys().cloned().collect();
        for (module, source) in &mut files {
            source.named.extend(paths(&source.code, &parts(module, &modules)));
        }
        Self { files }
    }

    /// Returns every use of another file.
    pub fn uses(&self) -> BTreeSet<Use> {
        let mut uses = BTreeSet::new();
        for (module, source) in self.files.iter().filter(|(module, _)| !module.is_empty()) {
            let is_used = |named: &&Named| !named.is_imported || has_word(&source.code, &named.alias);
            for named in source.named.iter().filter(is_used) {
                let definer = self.definer(&named.path, module, 0);
                let used = definer.and_then(|definer| self.files.get(&definer));
                if let Some(used) = used.filter(|used| used.path != source.path) {
                    uses.insert(Use { user: source.path.clone(), used: used.path.clone() });
                }
            }
        }
        uses
    }

    /// Returns the module that defines what a path means in a module; `None` for
    /// another crate's.
    fn definer(&self, path: &[String], module: &Module, depth: usize) -> Option<Module> {
        let mut path = path;
        let mut here = module.clone();
        match path.first()?.as_str() {
            "crate" => (here, path) = (Module::new(), &path[1..]),
            "self" => path = &path[1..],
            "super" => {
                while path.first().is_some_and(|name| name == "super") {
                    here.pop();
                    path = &path[1..];
                }
            }
            name if !self.files.contains_key(&below(&here, name)) => return None,
            _ => {}
        }
        while let Some((name, rest)) = path.split_first() {
            if !self.files.contains_key(&below(&here, name)) {
                let imported = self.files.get(&here)?.named.iter().filter(|named| {
                    named.is_imported && named.alias == *name && named.path.len() > 1 && depth < 8
                });
                let elsewhere = imported.into_iter().find_map(|named| {
                    let full = [named.path.as_slice(), rest].concat();
                    self.definer(&full, &here, depth + 1)
                });
                return elsewhere.or(Some(here));
            }
            here.push(name.clone());
            path = rest;
        }
        Some(here)
    }
}

/// Returns the uses that are on a circle, or between circles.
pub fn circles(mut uses: BTreeSet<Use>) -> BTreeSet<Use> {
    loop {
        let users: BTreeSet<String> = uses.iter().map(|found| found.user.clone()).collect();
        let used: BTreeSet<String> = uses.iter().map(|found| found.used.clone()).collect();
        let before = uses.len();
        uses.retain(|found| users.contains(&found.used) && used.contains(&found.user));
        if uses.len() == before {
            return uses;
        }
    }
}

fn module(path: &str) -> Module {
    let path = path.trim_end_matches(".rs");
    if path == "lib" { Module::new() } else { path.split('/').map(str::to_owned).collect() }
}

fn below(module: &Module, name: &str) -> Module {
    [module.as_slice(), &[name.to_owned()]].concat()
}

/// Returns the names of the modules in a module.
fn parts(module: &Module, modules: &BTreeSet<Module>) -> Vec<String> {
    let is_part = |other: &&Module| other.len() == module.len() + 1 && other.starts_with(module);
    modules.iter().filter(is_part).filter_map(|part| part.last().cloned()).collect()
}

/// Returns code without comments, and without the tests at its end.
fn without_tests(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: Vec<&str> = lines.map(|line| line.split(" // ").next().unwrap_or(line)).collect();
    let is_test = |at: usize| code[at] == "#[cfg(test)]" && code[at + 1].starts_with("mod tests {");
    let end = (0..code.len().saturating_sub(1)).find(|at| is_test(*at)).unwrap_or(code.len());
    code[..end].join("\n")
}

/// Splits code into what is no `use` declaration, and what these name.
fn without_imports(code: &str) -> (String, Vec<Named>) {
    let (mut rest, mut named, mut declaration) = (String::new(), Vec::new(), None::<String>);
    for line in code.lines() {
        let words = line.trim_start().trim_start_matches("pub(crate) ").trim_start_matches("pub(super) ");
        let tree = words.trim_start_matches("pub ").strip_prefix("use ");
        match (&mut declaration, tree) {
            (Some(begun), _) => begun.push_str(line.trim()),
            (None, Some(tree)) => declaration = Some(tree.to_owned()),
            (None, None) => {
                rest.push_str(line);
                rest.push('\n');
            }
        }
        if let Some(whole) = declaration.take_if(|begun| begun.ends_with(';')) {
            expand(whole.trim_end_matches(';'), &[], &mut named);
        }
    }
    (rest, named)
}

/// Adds what a tree of a `use` declaration names: `a::{b, c as d}`.
fn expand(tree: &str, above: &[String], named: &mut Vec<Named>) {
    let segments = |text: &str| -> Vec<String> {
        text.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let Some((head, list)) = tree.split_once('{') else {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let mut path = [above, &segments(path)].concat();
        path.pop_if(|last| last == "self");
        let alias = alias.map(str::to_owned).or_else(|| path.last().cloned()).unwrap_or_default();
        named.push(Named { path, alias, is_imported: true });
        return;
    };
    let above = [above, &segments(head)].concat();
    let (mut depth, mut start) = (0_usize, 0);
    let list = list.trim_end().trim_end_matches('}');
    for (at, sign) in list.char_indices().chain([(list.len(), ',')]) {
        match sign {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == list.len() => {
                let part = list[start..at].trim();
                if !part.is_empty() {
                    // What ends the list was cut off with the outer one.
                    let closed = part.matches('{').count() > part.matches('}').count();
                    expand(&(part.to_owned() + if closed { "}" } else { "" }), &above, named);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// Returns the paths that code spells out: from the crate, a module above, or a
/// part.
fn paths(code: &str, parts: &[String]) -> Vec<Named> {
    let is_in_path = |sign: char| sign.is_alphanumeric() || sign == '_' || sign == ':';
    let words = code.split(|sign| !is_in_path(sign)).filter(|word| word.contains("::"));
    let path = |word: &str| -> Vec<String> {
        word.split("::")
            .filter(|name| !name.is_empty())
            .map(|name| name.trim_matches(':').to_owned())
            .collect()
    };
    let is_ours = |path: &Vec<String>| {
        let first = path.first().map_or("", String::as_str);
        ["crate", "super"].contains(&first) || parts.iter().any(|part| part == first)
    };
    let ours = words.filter(|word| !word.starts_with(':')).map(path).filter(is_ours);
    ours.map(|path| Named { path, alias: String::new(), is_imported: false }).collect()
}

fn has_word(code: &str, word: &str) -> bool {
    let is_end = |sign: Option<char>| sign.is_none_or(|sign| !sign.is_alphanumeric() && sign != '_');
    code.match_indices(word).any(|(at, _)| {
        is_end(code[..at].chars().next_back()) && is_end(code[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let uses = Imports::of(files.iter().copied()).uses();
        uses.into_iter().map(|found| format!("{} {}", found.user, found.used)).collect()
    }

    #[test]
    fn uses_are_traced_to_where_things_are_defined() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use b::Thing;"),
            ("a.rs", "use crate::b::{self, Thing as Other};\nfn f(_: Other) { b::g(); }"),
            ("b.rs", "mod inner;\npub use inner::{Thing, twice::Made};\npub fn g() {}"),
            ("b/inner.rs", "pub mod twice;\npub struct Thing;"),
            ("b/inner/twice.rs", "use super::Thing;\npub fn made(_: Thing) -> crate::a::X {}"),
        ];
        assert_eq!(
            uses(&files),
            ["a.rs b.rs", "a.rs b/inner.rs", "b/inner/twice.rs a.rs", "b/inner/twice.rs b/inner.rs"]
        );
    }

    #[test]
    fn tests_comments_and_exports_use_nothing() {
        let text =
            "// crate::b::g\nuse crate::b::g;\n#[cfg(test)]\nmod tests {\n    fn f() { crate::b::g() }\n}";
        assert!(
            uses(&[("a.rs", text), ("b.rs", ""), ("a/tests.rs", "use crate::b::g;\nfn f() { g() }")])
                .is_empty()
        );
    }

    #[test]
    fn circles_are_what_leads_back() {
        let edges = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(user, used)| Use { user: (*user).into(), used: (*used).into() }).collect()
        };
        let found = circles(edges(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]));
        assert!(found == edges(&[("b", "c"), ("c", "b")]));
        assert!(circles(edges(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    }
}

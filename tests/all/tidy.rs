//! The architecture, made executable.
//!
//! The tables below say which module may use which, where `unsafe` may be, and
//! what every file looks like. They are applied to the text of the files; there
//! is no other place where these rules are kept.

mod imports;

use crate::{binary, programs};
use imports::{Imports, Use, circles};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The modules of the crate, lowest layer first. A module uses modules of its
/// own layer and of lower ones.
const LAYERS: &[&[&str]] = &[
    &[
        "source",
        "name",
        "diagnostic",
        "host",
        "bytes",
        "distinct",
        "fingerprint",
        "stop",
        "budget",
        "thread_address",
        "float_environment",
        "process",
        "processor",
        "llvm",
        "abi",
        "tier",
        "status",
    ],
    &["syntax"],
    &["module", "sema", "world", "failure"],
    &["tape", "interp", "codegen", "runtime", "pack", "baseline"],
    &["jit", "cache"],
    &[
        "limits",
        "deadline",
        "prelude",
        "image",
        "config",
        "error",
        "output",
        "stats",
        "text_cache",
        "engine",
        "debugger",
        "backend",
        "saved_session",
        "context",
        "function",
        "interrupt",
        "kernel",
        "library",
        "image_target",
        "image_builder",
        "storing",
        "draft",
        "listing",
        "program",
    ],
    &["terminal"],
    &["executable", "table", "repl"],
    &["cli"],
];

/// The layer of the embedding API, which the crate exports: only higher ones
/// use what is exported.
const EMBEDDING_API: usize = 5;

/// What a module must not use although its layer would allow it, and why.
const NEVER: &[(&str, &[&str], &str)] = &[
    ("tape", &["interp", "codegen", "runtime"], "what is done with it is not its business"),
    ("interp", &["codegen", "runtime"], "it knows no machine code"),
    ("codegen", &["tape", "interp", "runtime"], "code does not know the process it will run in"),
    ("baseline", &["tape", "interp", "runtime"], "code does not know the process it will run in"),
    ("runtime", &["codegen", "syntax", "sema"], "it runs code, however made"),
    ("debugger", &["codegen", "runtime", "jit"], "it stops tapes, not code"),
    ("syntax", &["host", "abi"], "text means the same everywhere"),
    ("terminal", &["codegen", "jit", "runtime", "sema"], "it uses the embedding API"),
    ("repl", &["codegen", "jit", "runtime", "sema"], "it uses the embedding API"),
    ("cli", &["codegen", "jit", "runtime"], "it uses the embedding API"),
    ("cli/run", &["sema"], "only `emit` looks into the compiler"),
    ("cli/check", &["sema"], "only `emit` looks into the compiler"),
    ("cli/map", &["sema"], "only `emit` looks into the compiler"),
    ("cli/stdin", &["sema"], "only `emit` looks into the compiler"),
];

/// Files that know each other, since one owns the others and is lent to them:
/// the parts, the owner, and why. All other imports are free of circles.
const OWNERS: &[(&str, &str, &str)] = &[
    ("interp/", "interp.rs", "compiled code and the inspector are lent the interpreter"),
    ("jit/code.rs", "jit.rs", "code retires in the JIT that owns it"),
    ("jit/linker.rs", "jit.rs", "symbols are those of the JIT that owns it"),
    ("jit/make.rs", "jit.rs", "code is linked by the JIT that owns it"),
    ("jit/place.rs", "jit.rs", "code is placed in the memory of the JIT that owns it"),
    ("jit/body_request.rs", "jit.rs", "a body is made by the JIT that owns it"),
    ("jit/definition.rs", "jit.rs", "a definition is compiled by the JIT that owns it"),
    ("slab/", "slab.rs", "what a fork does with slabs is their own business"),
    ("orc/", "orc/", "a session owns its parts, and each keeps it alive"),
];

/// Words that a module's files must not contain outside comments, and why.
const NEVER_SAYS: &[(&str, &[&str], &str)] = &[
    ("source", &["std::fs", "std::io"], "reads files"),
    ("name", &["std::fs", "std::io"], "reads files"),
    ("diagnostic", &["std::fs", "std::io"], "writes"),
    ("host", &["std::fs"], "reads files"),
    (
        "syntax",
        &["std::fs", "std::io", "inkwell", "llvm_sys", "kal_code", "kal_orc", "unsafe"],
        "knows LLVM or files",
    ),
    (
        "sema",
        &["std::fs", "std::io", "inkwell", "llvm_sys", "kal_code", "kal_orc", "unsafe"],
        "knows LLVM or files",
    ),
    (
        "world",
        &["std::fs", "std::io", "std::thread", "Mutex", "kal_code", "kal_orc", "unsafe"],
        "knows a back end or a thread",
    ),
    ("codegen", &["std::fs", "llvm_sys::orc2", "kal_code", "kal_orc"], "knows ORC or files"),
    (
        "baseline",
        &["inkwell", "llvm_sys", "kal_code", "kal_orc", "std::fs", "unsafe"],
        "knows LLVM, files or a process",
    ),
    ("runtime", &["inkwell", "llvm_sys", "kal_code", "kal_orc", "std::fs"], "knows LLVM"),
    ("tape", &["inkwell", "llvm_sys", "kal_code", "kal_orc", "std::fs", "unsafe"], "knows LLVM or files"),
    ("interp", &["inkwell", "llvm_sys", "kal_code", "kal_orc", "std::fs"], "knows LLVM or files"),
    ("jit", &["std::fs", "inkwell", "llvm_sys"], "touches disk, or LLVM but through kal-orc and codegen"),
    ("debugger", &["kal_code", "kal_orc"], "knows compiled code"),
    ("repl", &["kal_code", "kal_orc"], "looks into the JIT"),
    ("cli", &["kal_code", "kal_orc"], "looks into the JIT"),
    ("context", &["stderr", "println!"], "touches the terminal"),
    ("engine", &["stderr", "println!"], "touches the terminal"),
];

/// The files with `unsafe`.
const UNSAFE: &[&str] = &[
    "src/host.rs",
    "src/host/counting.rs",
    "src/host/exact.rs",
    "src/host/foreign.rs",
    "src/host/lanes.rs",
    "src/host/refilling.rs",
    "src/config.rs",
    "src/image.rs",
    "src/image/mapped.rs",
    "src/executable.rs",
    "src/executable/",
    "src/float_environment.rs",
    "src/thread_address.rs",
    "src/cli/options.rs",
    "src/runtime.rs",
    "src/runtime/",
    "src/codegen.rs",
    "src/codegen/",
    "src/jit/columns.rs",
    "src/jit/context.rs",
    "src/cli/settings.rs",
    "src/terminal/exit.rs",
    "src/terminal/interrupt.rs",
    "src/llvm.rs",
    "src/process.rs",
    "src/process/",
    "src/source/content.rs",
    "crates/code/",
    "crates/math/src/extern_functions.rs",
    "crates/math/src/lib.rs",
    "crates/orc/",
    "crates/runtime/",
    "tests/all/denied.rs",
    "tests/all/leaving.rs",
    "tests/all/images.rs",
    "tests/all/preludes.rs",
    "tests/all/float_environment.rs",
    "tests/all/forking.rs",
    "tests/hosts/",
    "tests/loom/src/uses.rs",
    "tests/mathematics/src/bounds.rs",
    "tests/mathematics/src/lanes.rs",
    "tests/mathematics/src/libm.rs",
    "benches/columns/main.rs",
    "benches/peers/contestant.rs",
];

const LONGEST_FILE: usize = 800;

/// Words that comments avoid, because the field has others: the caller, another
/// thread, again, the count, the compilation status. In pieces, so that this
/// file does not find itself.
const CALQUES: &[[&str; 2]] = &[
    ["who", "ever"],
    ["Who", "ever"],
    ["some", "body"],
    ["Some", "body"],
    ["no", "body"],
    ["No", "body"],
    ["an", "ew"],
    ["so m", "any"],
    ["how f", "ar the code"],
];

/// Words that no doc comment begins with: it says Returns, Compiles, Redirects …
const OPENINGS: &[&str] = &["Gives", "Has", "Lets", "Leads", "Tells"];

struct File {
    /// The path within the repository.
    path: String,
    text: String,
}

impl File {
    /// Returns the module: `jit` for `src/jit.rs` and everything below
    /// `src/jit`.
    fn module(&self) -> Option<&str> {
        let inner = self.path.strip_prefix("src/")?;
        inner.split(['/', '.']).next().filter(|module| !["lib", "main"].contains(module))
    }

    /// Returns the lines that are no comments, without what follows `//`, and
    /// their numbers.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
            .map(|(number, line)| (number + 1, line.split(" // ").next().unwrap_or(line)))
    }
}

fn rust_files() -> Vec<File> {
    let mut paths = Vec::new();
    for root in ["build", "crates", "src", "tests", "examples", "benches", "fuzz/fuzz_targets"] {
        let directory = binary::directory(root);
        if directory.exists() {
            paths.extend(binary::files(&directory, "rs"));
        }
    }
    paths.push(binary::directory("build.rs"));
    paths
        .iter()
        .map(|path| File { path: relative(path), text: std::fs::read_to_string(path).unwrap() })
        .collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(binary::directory("")).unwrap_or(path).display().to_string()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Returns the name of the type that a line defines; associated types are none.
fn defined_type(line: &str) -> Option<&str> {
    let words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || *word == "unsafe");
    let [kind, name] = words.take(2).collect::<Vec<_>>().try_into().ok()?;
    let is_associated = kind == "type" && line.starts_with(' ');
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
    let is_type = ["struct", "enum", "trait", "union", "type"].contains(&kind) && !is_associated;
    (is_type && end > 0).then(|| &name[..end])
}

/// Returns whether a line has a word, and not as a part of another.
fn has_word(line: &str, word: &str) -> bool {
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        is_end(line[..at].chars().next_back()) && is_end(line[at + word.len()..].chars().next())
    })
}

/// Returns the top-level modules that a line names: `crate::jit::…`,
/// `crate::{jit, …}`.
fn used(line: &str) -> Vec<&str> {
    let mut modules = Vec::new();
    for rest in line.split("crate::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap_or(list).split(',').map(str::trim).collect(),
            None => vec![rest],
        };
        for name in names {
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            modules.push(&name[..end]);
        }
    }
    modules
}

fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n{}", found.join("\n"));
}

#[test]
fn every_module_has_a_layer() {
    let files = rust_files();
    let modules: BTreeSet<&str> = files.iter().filter_map(File::module).collect();
    let known: BTreeSet<&str> = LAYERS.iter().flat_map(|layer| layer.iter().copied()).collect();
    assert_eq!(modules, known);
}

#[test]
fn modules_stand_in_the_order_of_their_layers() {
    let lib = std::fs::read_to_string(binary::directory("src/lib.rs")).unwrap();
    let declared = lib
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
    let layers: Vec<usize> =
        declared.map(|module| layer(module).unwrap_or_else(|| panic!("{module}"))).collect();
    assert!(layers.is_sorted(), "{layers:?}");
}

#[test]
fn modules_use_no_layer_above_them() {
    let mut found = Vec::new();
    for file in rust_files() {
        let Some(own) = file.module().and_then(layer) else { continue };
        for (number, line) in file.code() {
            for module in
                used(line).into_iter().filter(|module| layer(module).is_some_and(|layer| layer > own))
            {
                found.push(format!("{}:{number} uses {module}", file.path));
            }
            // What is re-exported at the root belongs to the embedding API.
            let root = |module: &&str| module.starts_with(char::is_uppercase);
            if own < EMBEDDING_API && used(line).iter().any(root) {
                found.push(format!("{}:{number} uses what the crate exports", file.path));
            }
        }
    }
    assert_none("uses of a layer above", &found);
}

#[test]
fn imports_run_in_no_circles() {
    let files = rust_files();
    let sources = files.iter().filter_map(|file| Some((file.path.strip_prefix("src/")?, &*file.text)));
    let mut uses = Imports::of(sources).uses();
    assert!(uses.len() > 1000, "{} uses", uses.len());
    let is_owner = |found: &Use| {
        let knows = |(part, owner, _): &&(&str, &str, &str)| {
            found.user.starts_with(part) && found.used.starts_with(owner)
        };
        OWNERS.iter().any(|row| knows(&row))
    };
    uses.retain(|found| !is_owner(found));
    let found: Vec<String> =
        circles(uses).iter().map(|found| format!("{} uses {}", found.user, found.used)).collect();
    assert_none("imports that lead back, or are between circles", &found);
}

#[test]
fn modules_keep_to_what_they_never_do() {
    let mut found = Vec::new();
    for file in rust_files() {
        // The tests of a module and their support, not a part of it.
        if file.path.ends_with("/testing.rs") || file.path.ends_with("/tests.rs") {
            continue;
        }
        let belongs = |module: &str| {
            file.path == format!("src/{module}.rs") || file.path.starts_with(&format!("src/{module}/"))
        };
        for (module, never, why) in NEVER.iter().filter(|(module, ..)| belongs(module)) {
            for (number, line) in file.code() {
                for other in used(line).into_iter().filter(|other| never.contains(other)) {
                    found.push(format!("{}:{number} {module} uses {other}, but {why}", file.path));
                }
            }
        }
        for (module, never, why) in NEVER_SAYS.iter().filter(|(module, ..)| belongs(module)) {
            for (number, line) in file.code() {
                for word in never.iter().filter(|word| line.contains(*word)) {
                    found.push(format!("{}:{number} says `{word}`: {module} never {why}", file.path));
                }
            }
        }
    }
    assert_none("what a module must not do", &found);
}

/// What a forked child would find as another thread has left it for ever.
#[test]
fn only_the_process_fills_cells_and_starts_threads() {
    let words = ["OnceLock", "LazyLock", "thread::spawn", "builder.spawn", ".into()).spawn"];
    let is_of_the_library =
        |file: &&File| file.path.starts_with("src/") && !file.path.starts_with("src/process");
    let mut found = Vec::new();
    for file in rust_files().iter().filter(is_of_the_library).filter(|file| !file.path.contains("/test")) {
        // Their tests do not fork.
        for (number, line) in file.code().take_while(|(_, line)| !line.contains("mod tests {")) {
            for word in words.iter().filter(|word| line.contains(*word)) {
                found.push(format!("{}:{number} says `{word}`", file.path));
            }
        }
    }
    assert_none("what a fork may come in between", &found);
}

/// Returns whether a line of code has `unsafe` as a word outside a string.
fn is_unsafe(line: &str) -> bool {
    let outside: String = line.split('"').step_by(2).collect();
    outside.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe")
}

#[test]
fn unsafe_code_stands_in_few_places() {
    let mut found = Vec::new();
    for file in rust_files() {
        let allowed = UNSAFE
            .iter()
            .any(|place| file.path == *place || (place.ends_with('/') && file.path.starts_with(place)));
        for (number, line) in file.code().filter(|(_, line)| is_unsafe(line)) {
            if !allowed {
                found.push(format!("{}:{number} {}", file.path, line.trim()));
            }
        }
    }
    assert_none("`unsafe` where none is allowed", &found);
}

#[test]
fn unsafe_code_is_justified() {
    let mut found = Vec::new();
    for file in rust_files() {
        let lines: Vec<&str> = file.text.lines().collect();
        for (number, line) in file.code().filter(|(_, line)| is_unsafe(line)) {
            let above = || lines[..number - 1].iter().rev().map(|line| line.trim());
            let mut comment = above().take_while(|line| line.starts_with("//") || line.starts_with('#'));
            let justified = if line.contains("unsafe(") || is_pointer_type(line) {
                true
            } else if is_declaration(line) {
                // A duty of the caller; for private functions, that is this
                // file.
                !line.trim_start().starts_with("pub ") || comment.any(|line| line.contains("# Safety"))
            } else {
                let mut statement = above().take_while(|line| !line.is_empty()).take(STATEMENT);
                line.contains("SAFETY:") || statement.any(|line| line.starts_with("// SAFETY:"))
            };
            if !justified {
                found.push(format!("{}:{number} {}", file.path, line.trim()));
            }
        }
    }
    assert_none("`unsafe` without a word on why it is sound", &found);
}

/// In how many lines above a word `unsafe` its justification is looked for.
const STATEMENT: usize = 12;

/// Returns whether a line declares a function or trait that is unsafe to use, or
/// a block of foreign functions.
fn is_declaration(line: &str) -> bool {
    ["unsafe fn ", "unsafe extern ", "unsafe trait "].iter().any(|declaration| line.contains(declaration))
}

/// Returns whether a line only has `unsafe extern "C" fn(…)` as a type.
fn is_pointer_type(line: &str) -> bool {
    line.contains("unsafe extern \"C\" fn(") || line.contains("unsafe extern \"C-unwind\" fn(")
}

#[test]
fn every_file_says_what_it_is() {
    let found: Vec<String> = rust_files()
        .iter()
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.path.clone())
        .collect();
    assert_none("files that do not begin with `//!`", &found);
}

#[test]
fn no_file_is_too_long_or_called_after_nothing() {
    let mut found = Vec::new();
    for file in rust_files() {
        let lines = file.text.lines().count();
        if lines > LONGEST_FILE {
            found.push(format!("{} has {lines} lines", file.path));
        }
        let name = file.path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if ["util", "utils", "helper", "helpers", "common", "manager", "misc"].contains(&name) {
            found.push(format!("{} is called after nothing in particular", file.path));
        }
    }
    assert_none("files", &found);
}

#[test]
fn a_type_name_has_one_meaning() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    // What is called `absent` stands for another file, with the same names.
    let is_of_a_crate = |path: &str| {
        (path.starts_with("src/") || path.starts_with("crates/")) && !path.contains("/examples/")
    };
    let is_checked = |file: &&File| is_of_a_crate(&file.path) && !file.path.ends_with("/absent.rs");
    for file in rust_files().iter().filter(is_checked) {
        for (number, line) in file.code() {
            if let Some(name) = defined_type(line) {
                places.entry(name.to_owned()).or_default().push(format!("{}:{number}", file.path));
            }
        }
    }
    assert!(places.len() > 300, "{} type names", places.len());
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    let found: Vec<String> = shared.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert_none("type names with several meanings", &found);
}

#[test]
fn comments_speak_the_language_of_the_field() {
    let mut found = Vec::new();
    for file in rust_files().iter().filter(|file| !file.path.starts_with("tests/")) {
        let mut above = "";
        for (number, line) in file.text.lines().map(str::trim).enumerate() {
            let opening = line.strip_prefix("/// ").and_then(|text| text.split(' ').next());
            let is_first = !above.starts_with("///");
            let is_opening = is_first && opening.is_some_and(|word| OPENINGS.contains(&word));
            let is_calque = || CALQUES.iter().any(|word| has_word(line, &word.concat()));
            if is_opening || (line.starts_with("//") && is_calque()) {
                found.push(format!("{}:{} {line}", file.path, number + 1));
            }
            above = line;
        }
    }
    assert_none("comments in words that the field does not use", &found);
}

#[test]
fn nothing_is_left_for_later() {
    // In pieces, so that this file does not find itself.
    let words =
        [["TO", "DO"], ["FIX", "ME"], ["XX", "X"], ["to", "do!"], ["unimple", "mented!"], ["db", "g!"]];
    let mut found = Vec::new();
    for file in rust_files() {
        for (number, line) in file.text.lines().enumerate() {
            if words.iter().any(|word| line.contains(&word.concat())) {
                found.push(format!("{}:{} {}", file.path, number + 1, line.trim()));
            }
        }
    }
    assert_none("left for later", &found);
}

#[test]
fn every_example_is_run() {
    let run = programs::paths();
    for example in binary::files(&binary::directory("examples"), "kal") {
        assert!(run.contains(&example), "{}", example.display());
    }
}

/// Returns what the command and the library depend on, as `Cargo.toml` says.
fn dependencies(manifest: &str) -> Vec<&str> {
    let sections = manifest.split("\n[");
    let mut names: Vec<&str> = sections
        .filter(|section| section.starts_with("dependencies]") || section.starts_with("build-dependencies]"))
        .flat_map(|section| section.lines().filter_map(|line| line.split_once(" = ")))
        .map(|(name, _)| name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Otherwise `--locked` refuses to build them, which is seen only when they are built.
#[test]
fn the_lock_files_of_other_workspaces_know_every_dependency() {
    let read = |path: &str| std::fs::read_to_string(binary::directory(path)).expect("it is there");
    let manifest = read("Cargo.toml");
    for path in ["tests/hosts/inkwell/Cargo.lock", "fuzz/Cargo.lock"] {
        let lock = read(path);
        let package = lock.split("[[package]]").find(|package| package.contains("name = \"kal-lang\""));
        let (_, list) = package.and_then(|text| text.split_once("dependencies = [")).expect("Kal is locked");
        let locked: Vec<&str> = list.lines().filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(locked, dependencies(&manifest), "{path}: run `cargo metadata` there");
    }
}

//! The standard library: every function is documented, with an example that is run; the
//! numbers are as accurate as the tables in `tests/accuracy` say; and `docs/library.md` says
//! both.
//!
//! A table begins with the definitions that its rows need. `[f(x)] domain: 2 ulp` begins a
//! group: each of its rows is the arguments and what is expected, with 25 digits. The bound
//! is in units in the last place, or `relative`, or `absolute`.
//!
//! `UPDATE=1` writes the answers of the examples into the modules, and the document.

use crate::binary::{directory, feed, files, kal, update};
use crate::transcripts::{Folder, entries, typed};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A public function or variable of a module.
pub struct Documented {
    pub head: String,
    /// The comment above it, without the marks.
    pub lines: Vec<String>,
}

impl Documented {
    /// Returns the lines of the example, without their indentation.
    fn example(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.strip_prefix("    ")).collect()
    }
}

/// Returns the modules with their files.
pub fn modules() -> Vec<(String, PathBuf)> {
    let files = files(&directory("src/module/standard"), "kal");
    let name = |path: &PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), path)).collect()
}

/// Returns what a module offers.
pub fn documented(text: &str) -> Vec<Documented> {
    let (mut found, mut comment) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(line) = line.strip_prefix("##") {
            comment.push(line.strip_prefix(' ').unwrap_or(line).to_owned());
            continue;
        }
        let lines = std::mem::take(&mut comment);
        let head = match line.split_once(' ') {
            Some(("def", rest)) => head(rest),
            Some(("var", rest)) => rest.split(' ').next().unwrap(),
            _ => continue,
        };
        if !head.starts_with('_') {
            found.push(Documented { head: head.to_owned(), lines });
        }
    }
    found
}

/// Returns the head that a text begins with: up to the parenthesis that closes it.
fn head(text: &str) -> &str {
    let mut open = 0;
    for (at, letter) in text.char_indices() {
        open += i32::from(letter == '(') - i32::from(letter == ')');
        if letter == ')' && open == 0 {
            return &text[..=at];
        }
    }
    text
}

/// Returns what the prompt answers to an example, with its inputs.
fn answered(module: &str, example: &[&str], folder: &Path) -> Vec<String> {
    let input = format!("import {module}\n{}", typed(&entries(example.iter().copied())));
    let ran = feed(
        kal().args(["repl", "--transcript", "--no-init"]).current_dir(folder).env("COLUMNS", "80"),
        input.as_bytes(),
    );
    assert_eq!(ran.err(), "", "{module}: {example:?}");
    ran.out().lines().skip(2).map(str::to_owned).collect()
}

#[test]
fn every_function_has_an_example_that_is_true() {
    let folder = Folder::new("standard");
    let mut wrong = String::new();
    for (module, path) in modules() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut new = text.clone();
        for known in documented(&text) {
            let example = known.example();
            let is_variable = !known.head.contains('(');
            if known.lines.is_empty() || (example.is_empty() && !is_variable) {
                let _ = writeln!(wrong, "{module}: {} has no comment, or no example", known.head);
                continue;
            }
            let found = answered(&module, &example, folder.path());
            if !is_variable && found != example {
                let _ = writeln!(wrong, "{module}: {}: {found:#?}, not {example:#?}", known.head);
                let marked = |lines: &[String]| {
                    lines.iter().map(|line| format!("##     {line}\n")).collect::<String>()
                };
                let example: Vec<String> = example.iter().map(|line| (*line).to_owned()).collect();
                new = new.replacen(&marked(&example), &marked(&found), 1);
            }
        }
        if update() {
            std::fs::write(&path, new).unwrap();
        }
    }
    assert!(update() || wrong.is_empty(), "{wrong}");
}

/// A group of an accuracy table.
struct Group {
    signature: String,
    domain: String,
    bound: f64,
    unit: String,
    /// The arguments, and the double that is nearest to what is expected.
    rows: Vec<(String, f64)>,
}

/// Returns the definitions and the groups of a table; nothing if a module has none.
fn table(module: &str) -> (String, Vec<Group>) {
    let path = directory("tests/accuracy").join(format!("{module}.txt"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let (mut definitions, mut groups) = (String::new(), Vec::<Group>::new());
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix('[') {
            let (signature, rest) = rest.split_once("] ").unwrap();
            let (domain, bound) = rest.rsplit_once(": ").unwrap();
            let (bound, unit) = bound.split_once(' ').unwrap();
            groups.push(Group {
                signature: signature.to_owned(),
                domain: domain.to_owned(),
                bound: bound.parse().unwrap(),
                unit: unit.to_owned(),
                rows: Vec::new(),
            });
        } else if let Some(group) = groups.last_mut() {
            let (arguments, expected) = line.split_once(" = ").unwrap();
            group.rows.push((arguments.replace(' ', ", "), expected.parse().unwrap()));
        } else {
            definitions += line;
            definitions.push('\n');
        }
    }
    (definitions, groups)
}

impl Group {
    fn name(&self) -> &str {
        self.signature.split('(').next().unwrap()
    }

    /// Returns how far a value is from what is expected, in the unit of the bound.
    fn error(&self, found: f64, expected: f64) -> f64 {
        if found == expected {
            return 0.0;
        }
        let difference = (found - expected).abs();
        match &*self.unit {
            "ulp" => difference / (expected.abs().next_up() - expected.abs()),
            "relative" => difference / expected.abs(),
            "absolute" => difference,
            unit => panic!("{unit}"),
        }
    }
}

#[test]
fn numbers_are_as_accurate_as_the_tables_say() {
    let mut wrong = String::new();
    for (module, _) in modules() {
        let (definitions, groups) = table(&module);
        let mut text = format!("import {module};\n{definitions}");
        for group in &groups {
            for (arguments, _) in &group.rows {
                let _ = writeln!(text, "do print({}({arguments}))", group.name());
            }
        }
        // The tape computes with the same bits.
        let values = |mode: &str| {
            let ran = feed(kal().args([mode, "-"]), text.as_bytes());
            assert_eq!((ran.code, ran.err()), (Some(0), ""), "{module}");
            ran.out().lines().map(|line| line.parse().unwrap()).collect::<Vec<f64>>()
        };
        let (found, interpreted) = (values("--lazy"), values("--interpret"));
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&found), bits(&interpreted), "{module}");
        let mut found = found.into_iter();
        for group in &groups {
            let errors = group.rows.iter().map(|(arguments, expected)| {
                (group.error(found.next().unwrap(), *expected), arguments.as_str())
            });
            // A nan is the largest.
            let (worst, at) = errors.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
            if worst.is_nan() || worst > group.bound {
                let Group { signature, domain, bound, unit, .. } = group;
                let _ =
                    writeln!(wrong, "{module}: {signature} {domain}: {worst:e} {unit} at {at}, not {bound}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the document about the library, from its modules and the tables.
fn document() -> String {
    let mut text = String::from(
        "# The standard library\n\n\
         These modules are part of Kal: `import math` reads one when it is needed, and a module\n\
         of your own hides one of the same name. At the prompt, `:help library` lists them,\n\
         `?math` what one offers, and `?clamp` explains a function after the import. The names\n\
         that everybody types are known without an import: `?pi`, `?min`, `:help functions`.\n\n\
         This page is written from the modules (`src/module/standard`). The examples are run by\n\
         the test suite, which also checks the accuracies against tables with 25 digits\n\
         (`tests/accuracy`): *ulp* is a unit in the last place of the result.\n\n",
    );
    let modules = modules();
    for (module, _) in &modules {
        let _ = writeln!(text, "- [`{module}`](#{module})");
    }
    for (module, path) in modules {
        let source = std::fs::read_to_string(path).unwrap();
        let about: Vec<&str> = source
            .lines()
            .map_while(|line| line.strip_prefix('#'))
            .map(|line| line.strip_prefix(' ').unwrap_or(line))
            .collect();
        let _ = write!(text, "\n## {module}\n\n{}\n", about.join("\n"));
        for known in documented(&source) {
            let _ = write!(text, "\n### `{}`\n\n", known.head);
            let said = known.lines.iter().take_while(|line| !line.starts_with("    "));
            let said: Vec<&str> = said.map(String::as_str).collect();
            let _ = writeln!(text, "{}", said.join("\n").trim_end());
            let example = known.example();
            if !example.is_empty() {
                let _ = write!(text, "\n```kal\n{}\n```\n", example.join("\n"));
            }
        }
        let groups = table(&module).1;
        if !groups.is_empty() {
            let _ = write!(
                text,
                "\n### Accuracy of `{module}`\n\n| function | where | error at most |\n|---|---|---|\n"
            );
            for Group { signature, domain, bound, unit, .. } in groups {
                let bound =
                    if unit == "ulp" && bound == 0.0 { "exact".into() } else { format!("{bound:?} {unit}") };
                let bound = bound.replace(".0 ", " ");
                let _ = writeln!(text, "| `{signature}` | {domain} | {bound} |");
            }
        }
    }
    text
}

#[test]
fn the_document_says_what_the_modules_say() {
    let path = directory("docs/library.md");
    if update() {
        std::fs::write(&path, document()).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == document(), "UPDATE=1 writes docs/library.md");
}

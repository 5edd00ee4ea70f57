//! What `kal check` says.
//!
//! Every `*.kal` in `tests/checks` is checked. The output is at the end of the
//! file, as in `programs`, with every label that is not about the place itself;
//! `UPDATE=1` rewrites it. There are no false alarms: the examples and the
//! programs of the tutorial have no lint.

use crate::binary;
use kal::diagnostic::draw::{Style, draw};
use kal::diagnostic::{Diagnostic, ErrorCode};
use kal::source::{Source, Span};
use std::path::{Path, PathBuf};

fn checked(path: &Path) -> (Vec<String>, Option<i32>) {
    let directory = path.parent().expect("a file has a directory");
    let name = path.file_name().expect("a file has a name");
    let ran = binary::finish(binary::kal().current_dir(directory).arg("check").arg(name));
    assert_eq!(ran.out(), "", "{}", path.display());
    (ran.said(), ran.code)
}

fn files() -> Vec<PathBuf> {
    binary::files(&binary::directory("tests/checks"), "kal")
}

#[test]
fn everything_wrong_is_said_once_and_in_order() {
    for path in files() {
        let text = std::fs::read_to_string(&path).expect("a program is text");
        let (expected, program): (Vec<&str>, Vec<&str>) =
            text.split_inclusive('\n').partition(|line| line.starts_with("#!") || line.starts_with("#?"));
        let (said, code) = checked(&path);
        let mut found: String = said.iter().map(|line| format!("#! {line}\n")).collect();
        found += &code.filter(|code| *code != 0).map_or(String::new(), |code| format!("#? {code}\n"));
        if binary::update() {
            std::fs::write(&path, program.concat() + &found).expect("the expectation can be written");
        } else {
            assert_eq!(found, expected.concat(), "{}", path.display());
        }
    }
}

#[test]
fn a_missing_body_is_called_so() {
    for text in ["def f(x)\ndef g(y) y\n", "def f(x)\n", "def binary + 5 (a b)\nextern sin(x)\n"] {
        let ran = binary::run_with(&["check", "-"], text.as_bytes());
        assert_eq!(ran.code, Some(1), "{text}");
        assert!(ran.err().contains("^ the body must follow, an expression"), "{text}: {}", ran.err());
        let head = text.find(')').expect("it has parameters") + 1;
        assert!(ran.err().contains(&format!("<stdin>:1:{head}\n")), "{text}: {}", ran.err());
    }
}

#[test]
fn every_lint_is_reached() {
    let said: String = files().iter().flat_map(|path| checked(path).0).collect();
    for code in ErrorCode::ALL.iter().filter(|code| code.is_lint()) {
        assert!(said.contains(&format!("warning[{code}]")), "{code} ({})", code.meaning());
    }
}

#[test]
fn there_are_no_false_alarms() {
    let mut programs = binary::files(&binary::directory("examples"), "kal");
    programs.extend(binary::files(&binary::directory("tests/programs/tutorial"), "kal"));
    assert!(programs.len() > 15);
    for program in programs {
        let (said, _) = checked(&program);
        let lints: Vec<&String> = said.iter().filter(|line| line.starts_with("warning[W")).collect();
        assert!(lints.is_empty(), "{}: {lints:?}", program.display());
    }
}

#[test]
fn labels_say_what_a_place_is() {
    let mut programs = files();
    programs.extend(binary::files(&binary::directory("tests/programs/errors"), "kal"));
    for program in programs {
        let ran = binary::finish(binary::kal().arg("check").arg(&program));
        let drawn = String::from_utf8_lossy(&ran.stderr).into_owned();
        let lines: Vec<&str> = drawn.lines().chain([""]).collect();
        // A remark is behind its place or hangs from it.
        let is_bare = |pair: &&[&str]| {
            let [marks, below] = [pair[0].trim_start(), pair[1].trim_start()];
            marks.starts_with("| ") && marks.ends_with(['^', '-']) && !below.starts_with("| ")
        };
        assert_eq!(lines.windows(2).find(is_bare), None, "{}", program.display());
    }
}

#[test]
fn runs_of_files_do_not_lint() {
    let lints = binary::directory("tests/checks").join("lints.kal");
    let ran = binary::finish(binary::kal().args(["--fuel", "1000"]).arg(lints));
    assert!(ran.said().iter().all(|line| !line.starts_with("warning[W")), "{}", ran.err());
}

#[test]
fn labels_fit_beside_long_lines() {
    const COLUMNS: usize = 60;
    let source = Source::new("test.kal", format!("{}wrong", "1 + ".repeat(12)));
    let end = source.text().len();
    let place = Span::new(end - 5, end);
    let drawn = draw(
        &Diagnostic::error(ErrorCode::UnknownVariable, &source, place, "unknown variable `wrong`")
            .with_note("not declared anywhere in this program"),
        Style { colour: false, columns: Some(COLUMNS) },
    );
    assert!(drawn.contains("not declared anywhere in this program"), "{drawn}");
    assert!(drawn.contains("... + wrong"), "{drawn}");
    for line in drawn.lines().skip(1) {
        assert!(line.chars().count() <= COLUMNS, "{line}");
    }
}

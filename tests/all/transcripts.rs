//! Documents made of sessions, replayed: every `text` block of the README and
//! of a document in `docs/` that begins with a prompt is typed at one prompt,
//! and the answers must be those in the document. `…` in a line matches
//! anything. `UPDATE=1` writes the answers into the document; a line with `…`
//! that still holds is kept.

use crate::binary::{directory, feed, files, kal, update};

use std::fmt::Write;
use std::path::{Path, PathBuf};

const PROMPT: &str = "kal> ";
const CONTINUATION: &str = "...> ";
/// Behind the number of the selected call.
const STOPPED: &str = "|debug>";

/// A directory of its own, gone when the test is over.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("kal-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory can be made");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// An input and what is answered, as lines.
#[derive(Default, Debug)]
pub struct Entry {
    input: Vec<String>,
    answer: Vec<String>,
}

/// Returns the entries of a transcript.
pub fn entries<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines {
        if line.starts_with(PROMPT.trim_end()) || is_at_stop(line) {
            entries.push(Entry { input: vec![line.to_owned()], answer: Vec::new() });
        } else if let Some(last) = entries.last_mut() {
            let is_input = line.starts_with(CONTINUATION.trim_end()) && last.answer.is_empty();
            (if is_input { &mut last.input } else { &mut last.answer }).push(line.to_owned());
        }
    }
    entries
}

/// Returns whether a line was typed where a run had stopped.
fn is_at_stop(line: &str) -> bool {
    line.trim_start_matches(|letter: char| letter.is_ascii_digit()).starts_with(STOPPED)
}

/// Returns what has to be typed for them.
pub fn typed(entries: &[Entry]) -> String {
    let lines = entries.iter().flat_map(|entry| &entry.input);
    let without_prompt = |line: &String| {
        let (_, rest) = line.split_once('>').expect("it begins with a prompt");
        rest.strip_prefix(' ').unwrap_or(rest).to_owned() + "\n"
    };
    lines.map(without_prompt).collect()
}

/// Returns whether a line is as expected.
pub fn fits(line: &str, expected: &str) -> bool {
    let mut parts = expected.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        last = Some(part);
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    last.map_or(rest.is_empty(), |last| rest.is_empty() || last.is_empty() || line.ends_with(last))
}

/// Returns the answers, with the lines of the document where these still hold.
fn merged(answer: &[String], expected: &[String]) -> Vec<String> {
    let line = |(index, line): (usize, &String)| match expected.get(index) {
        Some(expected) if fits(line, expected) => expected.clone(),
        Some(_) | None => line.clone(),
    };
    answer.iter().enumerate().map(line).collect()
}

fn replay(document: &str, folder: &Folder) -> Vec<Entry> {
    let blocks = blocks(document);
    let input = blocks.iter().map(|block| typed(&entries(block.lines()))).collect::<String>();
    // Sessions are saved with their code.
    let cache = Folder::new("transcripts");
    let ran = feed(
        kal()
            .env("KAL_CACHE", cache.path())
            .env("XDG_STATE_HOME", cache.path())
            .args(["repl", "--transcript", "--no-init"])
            .current_dir(folder.path())
            .env("EDITOR", "sed -i 's/x \\* x/x * x * x/'")
            .env_remove("VISUAL")
            .env("COLUMNS", "80"),
        input.as_bytes(),
    );
    assert_eq!(ran.err(), "");
    // Optimised code comes from the background, between any two lines.
    let is_of_the_input = |line: &&str| !fits(line, "[… ms] … optimised");
    entries(ran.out().lines().filter(is_of_the_input))
}

/// Returns the fenced blocks of a document: the language and the text of each.
pub fn fenced(document: &str) -> impl Iterator<Item = (&str, &str)> {
    document.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n'))
}

/// Returns the blocks of a document that are transcripts.
fn blocks(document: &str) -> Vec<&str> {
    let texts = fenced(document).filter(|(language, _)| *language == "text").map(|(_, text)| text);
    texts.filter(|text| text.starts_with(PROMPT)).collect()
}

/// Returns the document with other answers.
fn rewritten(document: &str, mut answers: std::vec::IntoIter<Vec<String>>) -> String {
    let mut text = document.to_owned();
    for block in blocks(document) {
        let mut new = String::new();
        for entry in entries(block.lines()) {
            let lines = entry.input.into_iter().chain(answers.next().unwrap_or_default());
            for line in lines {
                let _ = writeln!(new, "{line}");
            }
        }
        text = text.replacen(block, &new, 1);
    }
    text
}

#[test]
fn documents_are_true() {
    for path in files(&directory("docs"), "md").into_iter().chain([directory("README.md")]) {
        let document = std::fs::read_to_string(&path).expect("it can be read");
        let folder = Folder::new("transcripts");
        let expected: Vec<Entry> =
            blocks(&document).iter().flat_map(|block| entries(block.lines())).collect();
        // The tables that it shows.
        for (language, text) in fenced(&document) {
            if let Some(name) = language.strip_prefix("csv ") {
                std::fs::write(folder.path().join(name), text).expect("it can be written");
            }
        }
        let found = replay(&document, &folder);
        assert_eq!(found.len(), expected.len(), "{}: entries", path.display());
        let pairs = || found.iter().zip(&expected);
        if update() {
            let answers: Vec<_> =
                pairs().map(|(found, expected)| merged(&found.answer, &expected.answer)).collect();
            std::fs::write(&path, rewritten(&document, answers.into_iter())).expect("it can be written");
            continue;
        }
        for (found, expected) in pairs() {
            assert_eq!(found.input, expected.input, "{}", path.display());
            let is_right = found.answer.len() == expected.answer.len()
                && found.answer.iter().zip(&expected.answer).all(|(line, expected)| fits(line, expected));
            let (found, wanted) = (found.answer.join("\n"), expected.answer.join("\n"));
            assert!(is_right, "{}: {:?}\n{found}\n--- wanted:\n{wanted}", path.display(), expected.input);
        }
    }
}

#[test]
fn the_tutorial_shows_every_command() {
    let tutorial = std::fs::read_to_string(directory("docs/tutorial.md")).expect("it is there");
    let folder = Folder::new("commands");
    let help = feed(kal().args(["repl", "--no-init"]).current_dir(folder.path()), b":help\n");
    let commands = help.out().lines().filter_map(|line| line.trim_start().strip_prefix(':'));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(tutorial.contains(&format!("kal> :{name}")), ":{name} is not in the tutorial");
    }
}

#[test]
fn lines_may_leave_something_open() {
    assert!(fits("abc", "abc"));
    assert!(!fits("abcd", "abc"));
    assert!(fits("took 1.5 ms", "took … ms"));
    assert!(!fits("took 1.5 s", "took … ms"));
    assert!(fits("a 1 b 2", "a … b …"));
    assert!(fits("[     3.944 ms] fib optimised", "[… ms] … optimised"));
}

//! Sessions on standard input: the answer to each item, in order.
//!
//! A session is a text file below `tests/sessions`. Lines that begin with `> `
//! are the input, one item after the other; the lines below them are what Kal
//! prints, on standard output and standard error together. The first line
//! says what the session shows. `UPDATE=1 cargo test --test all sessions`
//! rewrites the answers.
//!
//! The binary gets both streams as one pipe, so their order is the real one.

use crate::binary::{self, kal};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::Stdio;

/// Prints a line of its own between the items.
const MARK: f64 = 987_654_321.0;

/// Returns what is printed for each input line, and the exit code.
fn play(inputs: &[&str]) -> (Vec<Vec<String>>, Option<i32>) {
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let mut child = kal()
        .stdin(Stdio::piped())
        .stdout(writer.try_clone().expect("a pipe"))
        .stderr(writer)
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let script: String = inputs.iter().map(|input| format!("{input}\n{MARK};\n")).collect();
    let mut output = String::new();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(script.as_bytes()).expect("it reads all"));
        reader.read_to_string(&mut output).expect("it prints text");
    });
    let mark = format!("{MARK}\n");
    let mut answers: Vec<&str> = output.split(mark.as_str()).collect();
    assert_eq!(answers.pop(), Some(""), "something comes after the last item: {output}");
    (answers.into_iter().map(binary::said).collect(), child.wait().expect("it ends").code())
}

fn replay(path: &PathBuf) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let inputs: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    let (answers, code) = play(&inputs);
    let title = text.lines().next().unwrap_or_default();
    let mut replayed = format!("{title}\n\n");
    for (input, answer) in inputs.iter().zip(answers) {
        let _ = writeln!(replayed, "> {input}");
        for line in &answer {
            let _ = writeln!(replayed, "{line}");
        }
    }
    let _ = writeln!(replayed, "\nexit {}", code.map_or("by a signal".to_owned(), |code| code.to_string()));
    if replayed == text {
        return Ok(());
    }
    if binary::update() {
        return std::fs::write(path, replayed).map_err(|error| error.to_string());
    }
    Err(format!("{}:\n{replayed}", path.display()))
}

#[test]
fn sessions_go_as_written() {
    let sessions = binary::files(&binary::directory("tests/sessions"), "txt");
    assert!(sessions.len() >= 5);
    let complaints = binary::in_parallel(&sessions, replay);
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

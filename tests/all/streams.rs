//! When a command answers what it reads, and shows what it prints.

use crate::binary::{Ran, feed, kal};
use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A command that is talked with.
struct Conversation {
    child: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Conversation {
    fn new(arguments: &[&str]) -> Self {
        let mut command = kal();
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let stdin = child.stdin.take().expect("it is piped");
        let stdout = child.stdout.take().expect("it is piped");
        Self { child, stdin, answers: BufReader::new(stdout).lines() }
    }

    fn say(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).expect("it reads");
    }

    /// Waits for a line.
    fn hears(&mut self, answer: &str) {
        assert_eq!(self.answers.next().expect("an answer").expect("text"), answer);
    }

    /// Ends the input; what is left of the output, and the exit code.
    fn ends(mut self) -> (Vec<String>, Option<i32>) {
        drop(self.stdin);
        let rest = self.answers.map(|line| line.expect("text")).collect();
        (rest, self.child.wait().expect("it ends").code())
    }
}

#[test]
fn an_item_is_answered_when_the_next_one_begins() {
    let mut conversation = Conversation::new(&[]);
    conversation.say("3*3\n4*4\n");
    conversation.hears("9");
    conversation.say("+ 1\ndef f(x)\n  x + 1\n");
    conversation.hears("17");
    conversation.say("f(1)\n(f(2)\n");
    conversation.say("+ 1)\n");
    conversation.hears("2");
    conversation.say("5");
    conversation.say("\n6");
    assert_eq!(conversation.ends(), (vec!["4".into(), "5".into(), "6".into()], Some(0)));
}

#[test]
fn what_was_printed_is_shown_before_input_is_waited_for() {
    let mut conversation = Conversation::new(&["-e", "printd(1)", "-"]);
    conversation.hears("1");
    conversation.hears("0");
    conversation.say("printd(2);");
    conversation.hears("2");
    assert_eq!(conversation.ends(), (vec!["0".into()], Some(0)));
}

#[test]
fn a_program_on_a_pipe_means_what_it_means_in_a_file() {
    let program = "def binary~ 5 (a b) a - b\n1\n~ 2\n## f\ndef f(x)\n  x + 0\n\n(3)\n1 + )\n+ 2\n4 ~ 3\nf(1";
    let path = std::env::temp_dir().join(format!("kal-stream-{}.kal", std::process::id()));
    std::fs::write(&path, program).expect("the temporary directory can be written");
    let whole = feed(kal().args(["check"]).arg(&path), b"");
    let _ = std::fs::remove_file(&path);
    let places = |ran: &Ran| ran.said().iter().map(|line| line[..16].to_owned()).collect::<Vec<_>>();
    for pieces in [program.len(), 1, 7] {
        let mut conversation = Conversation::new(&["--interpret"]);
        for piece in program.as_bytes().chunks(pieces) {
            conversation.say(std::str::from_utf8(piece).expect("it is ASCII"));
        }
        assert_eq!(conversation.ends(), (vec!["-1".into(), "3".into(), "1".into()], Some(1)));
    }
    let ran = feed(&mut kal(), program.as_bytes());
    assert_eq!(places(&ran), places(&whole));
}

#[test]
fn a_long_item_on_a_pipe_takes_no_longer_than_in_a_file() {
    let program = "0.00000001 +\n".repeat(800_000) + "1";
    let ran = feed(kal().args(["--interpret", "--timeout", "100s"]), program.as_bytes());
    assert_eq!((ran.out(), ran.err(), ran.code), ("1.0079999999999605\n", "", Some(0)));
}

#[test]
fn an_endless_input_without_items_is_an_error() {
    let ran = feed(kal().arg("--interpret"), &b"+\n".repeat(40 << 20));
    assert_eq!((ran.out(), ran.code), ("", Some(1)));
    assert_eq!(ran.said(), ["error[E0109] 1:1 no item ends in 67108864 bytes of standard input"]);
}

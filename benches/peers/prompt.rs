//! How long the answer takes at a prompt, from Enter on.

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What is typed at a prompt.
#[derive(Clone, Copy)]
pub struct Typed {
    /// Lines that are typed before.
    pub before: &'static [&'static str],
    /// The line whose answer is measured.
    pub line: &'static str,
    /// What is printed when the answer is there.
    pub answer: &'static str,
}

/// A prompt is ready when nothing has been printed for this long.
const QUIET: Duration = Duration::from_millis(150);

/// The longest that is waited for an answer.
const LONGEST: Duration = Duration::from_secs(20);

/// Types lines at the prompt of a command. Returns the seconds from Enter to the
/// answer of the last.
pub fn seconds(words: &[String], typed: Typed) -> Result<f64, String> {
    let fails = |error: &dyn std::fmt::Display| error.to_string();
    let size = PtySize { rows: 24, cols: 120, pixel_width: 0, pixel_height: 0 };
    let pair = native_pty_system().openpty(size).map_err(|error| fails(&error))?;
    let mut command = CommandBuilder::new(&words[0]);
    command.args(&words[1..]);
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).map_err(|error| fails(&error))?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().map_err(|error| fails(&error))?;
    let mut keyboard = pair.master.take_writer().map_err(|error| fails(&error))?;
    let (sender, printed) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            if sender.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    wait_until_quiet(&printed);
    for line in typed.before {
        write!(keyboard, "{line}\r").map_err(|error| fails(&error))?;
        wait_until_quiet(&printed);
    }
    write!(keyboard, "{}", typed.line).map_err(|error| fails(&error))?;
    wait_until_quiet(&printed);
    let start = Instant::now();
    keyboard.write_all(b"\r").map_err(|error| fails(&error))?;
    let took = wait_for(&printed, typed.answer).map(|()| start.elapsed().as_secs_f64());
    let _ = child.kill();
    let _ = child.wait();
    took
}

fn wait_until_quiet(printed: &Receiver<Vec<u8>>) {
    let start = Instant::now();
    while start.elapsed() < LONGEST && printed.recv_timeout(QUIET).is_ok() {}
}

fn wait_for(printed: &Receiver<Vec<u8>>, answer: &str) -> Result<(), String> {
    let mut text = String::new();
    while !text.contains(answer) {
        match printed.recv_timeout(LONGEST) {
            Ok(bytes) => text += &String::from_utf8_lossy(&bytes),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return Err(format!("it does not answer {answer}"));
            }
        }
    }
    Ok(())
}

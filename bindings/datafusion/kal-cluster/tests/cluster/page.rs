//! The commands in the page about SQL, run in an empty folder, one after another.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// What separates the output of commands.
const MARK: &str = "--- the next command ---";

/// Returns the commands of the page, each with its output.
fn commands(page: &str) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => is_inside = line == "```console",
            _ if !is_inside => {}
            Some(command) => commands.push((command.to_owned() + "\n", String::new())),
            None => {
                let (command, output) = commands.last_mut().expect("a command is first");
                let (text, line) = match line.strip_prefix("> ") {
                    Some(more) => (command, more),
                    None => (output, line),
                };
                *text += &(line.to_owned() + "\n");
            }
        }
    }
    commands
}

#[test]
fn the_page_about_sql_shows_what_happens() {
    let page =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/sql.md")).unwrap();
    let commands = commands(&page);
    assert!(commands.len() > 8);
    // A port that is free here, and not among those that the executors of other tests are given.
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (first..32_000).find(is_free).expect("a port is free").to_string();
    let mut script = String::new();
    for (command, _) in &commands {
        script += &command.replace("50050", &port);
        script += &format!("echo '{MARK}'\n");
    }
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_kal-cluster"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .env("PATH", path)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let output = String::from_utf8(output.stdout).unwrap();
    // Bash says when it has noticed that a process has ended.
    let is_notice = |line: &&str| line.starts_with('[') && line.contains("Terminated ");
    let output: String = output.split_inclusive('\n').filter(|line| !is_notice(line)).collect();
    let given: Vec<&str> = output.split(&format!("{MARK}\n")).collect();
    for ((command, expected), given) in commands.iter().zip(&given) {
        assert_eq!(given, expected, "{command}");
    }
    assert_eq!(given.len(), commands.len() + 1, "{output}");
}

//! The command line: options, commands, their help.

use crate::binary::{self, Ran, feed, kal, run};
use crate::transcripts::Folder;
use std::path::Path;
use std::process::Command;

/// Returns the standard output of a run that succeeds without any message.
fn printed(ran: &Ran) -> &str {
    assert_eq!((ran.code, ran.err()), (Some(0), ""));
    ran.out()
}

/// Returns the first line that a wrong command line is answered with.
fn refused(arguments: &[&str]) -> String {
    let ran = run(arguments);
    assert_eq!((ran.code, ran.out()), (Some(2), ""), "{arguments:?}: {}", ran.err());
    ran.err().lines().next().unwrap_or_default().to_owned()
}

fn in_folder(folder: &Path, arguments: &[&str], input: &str) -> Ran {
    feed(kal().args(arguments).current_dir(folder), input.as_bytes())
}

/// Returns a folder with `p.kal`, which defines and calls a function.
fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::write(folder.path().join("p.kal"), "def f(x) x + 1\nf(2)\n").expect("it can be written");
    folder
}

#[test]
fn options_stand_before_and_after_the_command() {
    let folder = folder("global");
    for arguments in [
        &["-O", "0", "run", "p.kal"][..],
        &["run", "p.kal", "-O", "0"],
        &["run", "-O", "0", "p.kal"],
        &["-O3", "p.kal", "-O0"],
        &["--tiered", "run", "--tier-up-waits", "p.kal"],
        &["--interpret", "--color", "never", "run", "p.kal", "--fuel", "1e6"],
    ] {
        assert_eq!(printed(&in_folder(folder.path(), arguments, "")), "3\n", "{arguments:?}");
    }
    assert_eq!(printed(&in_folder(folder.path(), &["--eager", "check", "p.kal"], "")), "");
    assert_eq!(printed(&in_folder(folder.path(), &["--tiered", "-q", "repl", "--no-init"], "7")), "7\n");
    let early = in_folder(folder.path(), &["--max-nesting", "1", "check", "-e", "((1))"], "");
    assert!(early.err().starts_with("error[E0106]"), "{}", early.err());
}

#[test]
fn what_may_be_repeated_counts_on_both_sides() {
    let folder = folder("repeated");
    let ran = in_folder(folder.path(), &["-e", "f(0)", "-e", "1", "run", "-e", "2", "p.kal"], "");
    assert_eq!((ran.out(), ran.code), ("", Some(1)));
    let ran = in_folder(folder.path(), &["-e", "1", "run", "-e", "2", "p.kal", "-e", "3"], "");
    assert_eq!(printed(&ran), "1\n2\n3\n3\n");
    let both = ["--allow-extern", "j0=libm.so.6", "run", "--allow-extern", "j1=libm.so.6"];
    let call = ["-e", "extern j0(x); extern j1(x); j0(0) + j1(0)"];
    assert_eq!(printed(&run(&[&both[..], &call].concat())), "1\n");
}

#[test]
fn arguments_that_cannot_be_meant_are_told_apart() {
    let folder = folder("told");
    let first = |arguments: &[&str]| {
        let ran = in_folder(folder.path(), arguments, "");
        assert_eq!((ran.code, ran.out()), (Some(2), ""), "{arguments:?}");
        ran.err().lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        first(&["chekc", "p.kal"]),
        "error: there is no file `chekc`, and no such command; did you mean `kal check`?"
    );
    assert_eq!(first(&["nosuch"]), "error: there is no file `nosuch`, and no such command");
    assert_eq!(first(&["p.kal", "check"]), "error: a command comes before FILE");
    assert_eq!(first(&["--lazy", "run", "--eager", "p.kal"]), "error: --lazy cannot be used with --eager");
    for other in ["--interpret", "--no-tier-up"] {
        let message = format!("error: --tier-up-waits cannot be used with {other}");
        assert_eq!(first(&[other, "--tier-up-waits", "p.kal"]), message);
    }
    let missing = "error: the program is missing: name a FILE, or give it with -e TEXT";
    for command in [&["check"][..], &["emit", "ir"], &["debug"]] {
        assert_eq!(first(command), missing);
    }
    // A file of that name goes before a command that is near.
    std::fs::write(folder.path().join("chekc"), "5").expect("it can be written");
    assert_eq!(printed(&in_folder(folder.path(), &["chekc"], "")), "5\n");
}

#[test]
fn numbers_may_have_units() {
    let loops = "for i = 1, 1 in 0";
    for fuel in ["1e3", "1_000", "1k", "1000"] {
        let ran = run(&["--fuel", fuel, "-e", loops]);
        assert!(ran.err().starts_with("error[E0308]"), "{fuel}: {}", ran.err());
    }
    for arguments in [["--timeout", "50ms"], ["--timeout", "0.05"], ["--timeout", "5e-2s"]] {
        assert_eq!(run(&[&arguments[..], &["-e", loops]].concat()).code, Some(124), "{arguments:?}");
    }
    assert_eq!(printed(&run(&["--timeout", "1h", "--stack-size", "64MiB", "-e", "1"])), "1\n");
    let deep = ["-e", "def f(n) if n < 1 then 0 else 1 + f(n - 1)", "-e", "f(1e5)", "--interpret"];
    assert_eq!(printed(&run(&[&deep[..], &["--stack-size", "1GB"]].concat())), "100000\n");
    assert_eq!(run(&[&deep[..], &["--stack-size", "1024KiB"]].concat()).code, Some(1));
}

#[test]
fn numbers_that_are_none_are_explained() {
    let invalid = |option: &str, value: &str| refused(&[option, value, "-e", "1"]);
    for (option, value, why) in [
        ("--fuel", "many", "a count is written 5000, 1e6, 1_000 or 100k"),
        ("--fuel", "-5", "it must not be negative; a count is written 5000, 1e6, 1_000 or 100k"),
        ("--timeout", "-1s", "it must not be negative; a time is written 2s, 500ms, 1.5m or 1h"),
        ("--timeout", "2y", "unknown unit `y`; the units are us, ms, s, m, min, h, d"),
        ("--stack-size", "0", "a stack has between 1MiB and 1024GiB"),
        ("--max-nesting", "5G", "the count is larger than 4294967295"),
        ("--tier-up-after", "1.5", "a count is a whole number; a count is written 5000, 1e6, 1_000 or 100k"),
    ] {
        let line = invalid(option, value);
        assert!(line.starts_with(&format!("error: invalid value '{value}' for '{option} <")), "{line}");
        assert!(line.ends_with(&format!(": {why}")), "{line}");
    }
}

#[test]
fn a_text_may_begin_with_a_minus() {
    assert_eq!(printed(&run(&["-e", "-1"])), "-1\n");
    assert_eq!(printed(&run(&["-e", "var x = 2", "-e", "-x"])), "-2\n");
    assert_eq!(printed(&run(&["run", "-e", "--1"])), "1\n");
}

#[test]
fn a_prompt_follows_a_program() {
    let folder = folder("interactive");
    let prompt = |arguments: &[&str], input: &str| in_folder(folder.path(), arguments, input);
    for arguments in [&["-i", "p.kal"][..], &["run", "-i", "p.kal"], &["-i", "run", "p.kal"]] {
        let arguments = [arguments, &["--no-init"]].concat();
        assert_eq!(printed(&prompt(&arguments, "f(5)\n")), "3\n6\n", "{arguments:?}");
    }
    let ran = prompt(&["-i", "--no-init", "-e", "def g(x) x * 2", "-e", "missing()"], "g(4)\n");
    assert_eq!((ran.out(), ran.code), ("8\n", Some(1)));
    assert!(ran.err().starts_with("error[E0301]"), "{}", ran.err());
    assert_eq!(printed(&prompt(&["repl", "--no-init", "-e", "def g(x) x * 2"], "g(4)\n")), "8\n");
    std::fs::write(folder.path().join("p.kal"), "def f(x) x + 10").expect("it can be written");
    let ran = prompt(&["-i", "--no-init", "p.kal"], "f(1)\n:reload\nf(2)\n");
    assert_eq!(printed(&ran).lines().collect::<Vec<_>>(), ["11", "p.kal: 1 unchanged", "12"]);
    assert_eq!(refused(&["-i", "-"]), "error: with -i, standard input is for the prompt: name a FILE");
}

#[test]
fn texts_go_with_every_command() {
    let folder = folder("texts");
    let ran = |arguments: &[&str], input: &str| in_folder(folder.path(), arguments, input);
    std::fs::write(folder.path().join("n.kal"), "f(n)\n").expect("it can be written");
    let given = ["-e", "def f(x) x * 2", "-e", "var n = 5"];
    assert_eq!(printed(&ran(&[&["check"], &given[..], &["n.kal"]].concat(), "")), "");
    assert_eq!(ran(&["check", "n.kal"], "").code, Some(1));
    let ran_out = ran(&["check", "-e", "x", "-e", "y"], "");
    assert_eq!(ran_out.said().len(), 2, "{}", ran_out.err());
    let tree = ran(&[&["emit", "ast"], &given[..], &["n.kal"]].concat(), "");
    assert_eq!(printed(&tree).lines().filter(|line| line.starts_with('(')).count(), 3, "{}", tree.out());
    let only = ran(&[&["emit", "ir", "--fn", "f"], &given[..]].concat(), "");
    assert!(printed(&only).contains("f$impl"), "{}", only.out());
    let stored = ran(&[&["emit", "tape", "-o", "n.tape"], &given[..], &["n.kal"]].concat(), "");
    assert_eq!(printed(&stored), "");
    assert_eq!(printed(&ran(&["n.tape"], "")), "10\n");
    let debugged = ran(&["debug", "-b", "f", "-e", "def f(x) x * 2", "-e", "f(21)"], "p x\nc\n");
    assert!(debugged.out().contains("21") && debugged.out().ends_with("42\n"), "{}", debugged.out());
}

#[test]
fn several_programs_are_checked_each_by_itself() {
    let folder = folder("several");
    std::fs::write(folder.path().join("q.kal"), "def g(x) y\n").expect("it can be written");
    std::fs::write(folder.path().join("r.kal"), "f(1)\n").expect("it can be written");
    let ran = in_folder(folder.path(), &["check", "--json", "p.kal", "q.kal", "missing.kal", "r.kal"], "");
    let found = ran.out().lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let found: Vec<serde_json::Value> = found.collect();
    let files: Vec<_> = found.iter().map(|found| found["file"].as_str().expect("a name")).collect();
    assert_eq!(files, ["q.kal", "missing.kal", "r.kal"]);
    // What is wrong with a whole file has no code.
    let [_, missing, _] = &found[..] else { panic!("{found:?}") };
    let message = "missing.kal: No such file or directory (os error 2)";
    assert_eq!((&missing["message"], &missing["severity"]), (&message.into(), &"error".into()));
    assert_eq!((&missing["line"], missing["code"].is_null()), (&1.into(), true));
    assert_eq!((ran.err(), ran.code), ("", Some(1)));
    let ran = in_folder(folder.path(), &["check", "q.kal", "missing.kal"], "");
    assert!(
        ran.err().ends_with("error: missing.kal: No such file or directory (os error 2)\n"),
        "{}",
        ran.err()
    );
}

#[test]
fn help_shows_what_means_something() {
    let check = run(&["check", "--help"]);
    for option in ["--json", "--max-nesting", "--eval", "--color"] {
        assert!(printed(&check).contains(option), "{option}");
    }
    for option in ["--eager", "--gdb", "--stack-size", "--fuel", "--tier-up-after", "--quiet"] {
        assert!(!check.out().contains(option), "{option}: {}", check.out());
        assert!(run(&["--help"]).out().contains(option), "{option}");
    }
    assert!(check.out().lines().count() < 50, "{}", check.out());
    assert_eq!(run(&["help", "check"]).out(), check.out());
    for command in ["build", "image", "map", "debug"] {
        let help = run(&[command, "--help"]);
        assert!(printed(&help).contains("--eager") && !help.out().contains("--no-init"), "{command}");
    }
    let cache = run(&["cache"]);
    assert_eq!(cache.code, Some(2));
    assert!(cache.err().contains("  verify ") && !cache.err().contains("--eager"), "{}", cache.err());
    for heading in ["Compilation:", "Limits:", "Inspection:", "Prompt:", "Host:"] {
        assert!(run(&["--help"]).out().contains(heading), "{heading}");
    }
    let help = run(&["--help"]);
    for text in ["init.kal", "kal/history", "must take doubles and return a double", "141 broken pipe"] {
        assert!(help.out().contains(text), "{text}");
    }
}

#[test]
fn versions_say_how_it_was_built() {
    let short = format!("kal {}\n", env!("CARGO_PKG_VERSION"));
    for arguments in [&["--version"][..], &["-V"], &["version"]] {
        assert_eq!(printed(&run(arguments)), short);
    }
    for arguments in [&["--version", "--verbose"][..], &["--verbose", "-V"], &["version", "--verbose"]] {
        let ran = run(arguments);
        let lines: Vec<&str> = printed(&ran).lines().collect();
        let kinds: Vec<&str> = lines[1..].iter().filter_map(|line| line.split(": ").next()).collect();
        assert_eq!((lines[0], kinds), (short.trim_end(), vec!["build", "LLVM", "target", "features"]));
        assert!(ran.out().contains("\nLLVM: 22."), "{}", ran.out());
        assert_eq!(lines[1], format!("build: {}", kal::Fingerprint::BUILD));
    }
}

/// Returns what a shell is offered for a command line, whose last word is
/// being typed.
fn offered(shell: &str, folder: &Folder, line: &[&str]) -> Vec<String> {
    let mut command = kal();
    command.env("KAL_COMPLETE", shell).env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string());
    command.env("_CLAP_IFS", "\n").args(["--"]).args(line).current_dir(folder.path());
    let ran = binary::finish(&mut command);
    let value = |line: &str| line.split([':', '\t']).next().unwrap_or_default().to_owned();
    printed(&ran).lines().map(value).collect()
}

#[test]
fn shells_complete_commands_options_and_files() {
    let folder = Folder::new("completions");
    std::fs::write(folder.path().join("prog.kal"), "1").expect("it can be written");
    let commands = ["repl", "run", "debug", "emit", "check", "completions", "man", "version", "help"];
    let stages = ["tokens", "ast", "tape", "ir", "asm", "obj"];
    for shell in ["bash", "zsh", "fish"] {
        let offered = |line: &[&str]| offered(shell, &folder, line);
        let all = offered(&["kal", ""]);
        assert!(
            commands.iter().chain(&["prog.kal"]).all(|word| all.iter().any(|known| known == word)),
            "{all:?}"
        );
        assert!(all.iter().all(|word| !word.starts_with('-')), "{all:?}");
        assert_eq!(offered(&["kal", "ch"]), ["check"]);
        assert_eq!(offered(&["kal", "emit", ""]), stages);
        assert_eq!(offered(&["kal", "-O", "1", "emit", "a"]), ["ast", "asm"]);
        assert_eq!(offered(&["kal", "emit", "--f"]), ["--fn", "--fuel"]);
        for line in
            [&["kal", "run", ""][..], &["kal", "emit", "asm", ""], &["kal", "check", "p"], &["kal", "pr"]]
        {
            assert_eq!(offered(line), ["prog.kal"], "{line:?}");
        }
        assert_eq!(offered(&["kal", "emit", "asm", "-o", ""]), ["prog.kal"]);
        assert_eq!(offered(&["kal", "debug", "-b", ""]), [""; 0]);
        assert_eq!(offered(&["kal", "--timeout", ""]), [""; 0]);
        assert_eq!(offered(&["kal", "completions", ""]), ["bash", "elvish", "fish", "powershell", "zsh"]);
        assert_eq!(offered(&["kal", "-O", ""]), ["0", "1", "2", "3"]);
        assert_eq!(offered(&["kal", "--color", ""]), ["auto", "always", "never"]);
        assert!(printed(&run(&["completions", shell])).contains("KAL_COMPLETE"), "{shell}");
    }
}

#[test]
fn the_script_for_bash_completes() {
    let folder = folder("completes");
    let script = run(&["completions", "bash"]);
    std::fs::write(folder.path().join("kal.bash"), script.out()).expect("it can be written");
    let complete = "source kal.bash; COMP_WORDS=(kal ch); COMP_CWORD=1; COMP_TYPE=9; \
                    $(complete -p kal | grep -o '_[a-z_]*') kal ch kal; echo ${COMPREPLY[@]}";
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_kal")).parent().expect("it is in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("there is one"));
    let mut command = Command::new("bash");
    let ran = binary::finish(command.args(["-c", complete]).env("PATH", path).current_dir(folder.path()));
    assert_eq!(ran.out(), "check\n", "{}", ran.err());
}

#[test]
fn the_manual_page_has_every_command_and_option() {
    let ran = run(&["man"]);
    let page = printed(&ran).replace("\\-", "-");
    assert!(page.contains(".TH kal 1"), "{page}");
    for command in ["REPL", "RUN", "DEBUG", "EMIT", "CHECK", "COMPLETIONS"] {
        assert!(page.contains(&format!("KAL {command}\"")), "{command}");
    }
    for option in ["--tiered", "--timeout", "--json", "--break", "--allow-extern"] {
        assert!(page.contains(option), "{option}");
    }
    for text in
        ["Compile everything at the full level", "Do not run init.kal", "How deep expressions", "keys of vi"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("kal-repl"), "there are no other pages");
}

#[test]
fn a_timeout_ends_checking_too() {
    let mut child = kal()
        .args(["--timeout", "50ms", "check", "-"])
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    // Nothing is written: it would wait for ever.
    let stdin = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(stdin);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), said.as_str()), (Some(124), "error: timed out\n"));
}

#[test]
fn functions_of_c_can_be_called_in_every_mode() {
    let allowed = ["--allow-extern", "j0=libm.so.6", "--allow-extern", "jn=libm.so.6"];
    for mode in ["--lazy", "--eager", "--interpret", "--tiered"] {
        let ran = |lines: &[&str]| {
            let texts = lines.iter().flat_map(|line| ["-e", *line]);
            run(&allowed.into_iter().chain([mode]).chain(texts).collect::<Vec<_>>())
        };
        let program = ["extern j0(x)", "def f(x) j0(x) + 1", "f(0)", "def j0(x) x", "f(5)", "j0(2)"];
        assert_eq!(printed(&ran(&program)), "2\n6\n2\n", "{mode}");
        let undeclared = ran(&["def f(x) j0(x)", "f(0)"]);
        assert_eq!(undeclared.said()[0], "error[E0301] 1:10 `f` calls `j0`, which is not declared");
        let late = ran(&["def f(x) if x then j0(0) else 3", "f(0)", "extern j0(x)", "f(1)"]);
        assert_eq!(printed(&late), "3\n1\n", "{mode}");
        let many = ran(&["extern jn(a b c d e f g h i j k l m n o p q)"]);
        assert_eq!(many.said()[0], "error[E0110] 1:8 a C function may have 16 arguments at most");
    }
}

#[test]
fn a_trace_names_each_function_that_is_compiled() {
    let folder = Folder::new("trace-compile");
    let program = "def f(x) x + 1\ndef binary | 5 (a b) a + b\nf(1) | 2\ndef f(x) x + 2 * x\nf(2)\n";
    std::fs::write(folder.path().join("p.kal"), program).expect("it can be written");
    let ran = in_folder(folder.path(), &["--eager", "--cache", "off", "--trace-compile", "t", "p.kal"], "");
    assert_eq!(printed(&ran), "4\n6\n");
    let trace = std::fs::read_to_string(folder.path().join("t")).expect("it is written");
    let traced = |line: &str| {
        let (function, about) = line.strip_prefix("precompile(")?.split_once(") # full, ")?;
        let (took, again) = about.split_once(" ms")?;
        took.parse::<f64>().ok()?;
        Some(format!("{function}{again}"))
    };
    let mut lines: Vec<String> =
        trace.lines().map(|line| traced(line).unwrap_or_else(|| panic!("{line}"))).collect();
    lines.sort();
    assert_eq!(lines, ["binary|/2", "f/1", "f/1, recompiled"]);
    let ran = in_folder(folder.path(), &["--trace-compile", "stderr", "-e", "def g() 1; g()"], "");
    assert!(ran.err().starts_with("precompile(g/0) # quick, "), "{}", ran.err());
    let ran = in_folder(folder.path(), &["--trace-compile", "missing/t", "p.kal"], "");
    assert_eq!((ran.code, ran.out()), (Some(1), ""));
    assert!(ran.err().starts_with("error: missing/t: No such file or directory"), "{}", ran.err());
}

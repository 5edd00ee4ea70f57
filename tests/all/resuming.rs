//! Sessions that are saved and resumed: nothing is lost, nothing is compiled again, and no
//! damage is an answer.

use crate::binary::{Ran, feed, finish, kal};
use crate::choices::{Choices, Random};
use crate::programs;
use crate::scale;
use kal::host::Output;
use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, Error, Mode, Outcome, TierUp};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What a program writes, and how it ends.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<String>>);

impl Output for Written {
    fn byte(&mut self, byte: u8) -> io::Result<()> {
        self.0.lock().expect("nobody panics").push(char::from(byte));
        Ok(())
    }

    fn value(&mut self, value: f64) -> io::Result<()> {
        *self.0.lock().expect("nobody panics") += &shown(value);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a context with the cache of a folder, of which each process of a user has one.
fn context(folder: &Path, config: Config) -> Context {
    let options = CacheOptions::new(folder.join("cache"), folder.join("key"));
    let engine = Engine::with_config(config.cache(options).keep_code(true).keep_texts(false));
    engine.and_then(|engine| engine.context()).expect("it starts")
}

/// Returns what running a text writes, each value, and the first error, which ends it.
fn run(context: &mut Context, source: &Source) -> String {
    let written = Written::default();
    context.set_output(Box::new(written.clone()));
    let mut values = String::new();
    let _ = context.run(source, &mut |_, outcome| {
        match outcome {
            Ok(Outcome::Value(value)) => values += &shown(value),
            Err(error) => {
                values += &format!("{error}\n");
                return ControlFlow::Break(());
            }
            Ok(_) => {}
        }
        ControlFlow::Continue(())
    });
    let written = written.0.lock().expect("nobody panics").clone();
    written + &values
}

/// Returns a value; which NaN it is, operations do not say.
fn shown(value: f64) -> String {
    if value.is_nan() { "nan\n".to_owned() } else { format!("{value:?} {:x}\n", value.to_bits()) }
}

/// Returns the variables with the bits of their values.
fn variables(context: &Context) -> Vec<(String, u64)> {
    let value = |name: String| {
        let bits = context.variable(&name).expect("it is declared").to_bits();
        (name, bits)
    };
    context.variable_names().into_iter().map(value).collect()
}

/// Returns what a script consists of: functions that call each other have no order.
fn parts(script: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = script.split("\n\n").map(str::trim).collect();
    parts.sort_unstable();
    parts
}

type Configure = fn(Config) -> Config;

const MODES: [(&str, Configure); 3] = [
    ("--lazy", |config| config),
    ("--lazy --tier-up-after 1", |config| config.tier_up(TierUp::After(1)).wait_for_code(true)),
    ("--interpret", |config| config.mode(Mode::Interpret)),
];

/// Every program runs on after it was saved and resumed as it would have without that.
#[test]
fn programs_go_on_as_if_they_had_not_been_saved() {
    for path in programs::paths() {
        let text = std::fs::read_to_string(&path).expect("programs are text");
        let is_deep = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("e0303"));
        // What time it is, and the numbers of a generator, are not in a session; some programs
        // need limits to end, or a deep stack.
        if ["clock(", "now(", "random(", "#: options"].iter().any(|word| text.contains(word)) || is_deep {
            continue;
        }
        let source = Source::new("program", text);
        for (mode, configure) in MODES {
            let folder = TempDir::new().expect("there is room");
            let start = || {
                let parent = path.parent().expect("a file has a folder");
                let mut context = context(folder.path(), configure(Config::new().program_folder(parent)));
                context.set_input(Box::new(io::empty()));
                context
            };
            let mut before = start();
            run(&mut before, &source);
            let saved = before.save().unwrap_or_else(|error| panic!("{mode} {}: {error}", path.display()));
            let saved = saved.bytes;
            let mut after = start();
            let resumed = after.resume("session", &saved).expect("it was saved");
            assert_eq!(resumed.without_code, None, "{mode} {}", path.display());
            let script = before.script(&[]);
            assert_eq!(parts(&after.script(&[])), parts(&script), "{mode} {}", path.display());
            assert_eq!(variables(&after), variables(&before), "{mode} {}\n{script}", path.display());
            // What a program has redefined may keep it from ending a second time.
            before.set_deadline(Instant::now().checked_add(Duration::from_millis(500)));
            let expected = run(&mut before, &source);
            if expected.contains("took longer") {
                break;
            }
            assert_eq!(run(&mut after, &source), expected, "{mode} {}\n{script}", path.display());
        }
    }
}

const SESSION: &str = "
import stats
def binary | 5 (a b) a * 10 + b
def apply(f(x) x) f(x) + 1
def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
var x = -0, y = 0 / 0
def change(v) x = v | 3
def both(n) apply(fib, n) + change(n)
both(10)
both(10)
def binary | 50 (a b) a * 10 + b
normal_cumulative(0)
";

const QUESTIONS: &str = "x; both(12); x; 1 + 1 | 2; fib(5); y; normal_cumulative(1); change(2)";

fn answers(context: &mut Context) -> String {
    run(context, &Source::new("questions", QUESTIONS))
}

fn saved(folder: &Path) -> (Vec<u8>, String) {
    let mut context = context(folder, Config::new());
    assert!(!run(&mut context, &Source::new("session", SESSION)).contains("error"));
    let saved = context.save().expect("it can be saved");
    assert_eq!(saved.without_code, None);
    (saved.bytes, answers(&mut context))
}

#[test]
fn a_resumed_session_has_its_code() {
    let folder = TempDir::new().expect("there is room");
    let (bytes, expected) = saved(folder.path());
    let mut context = context(folder.path(), Config::new());
    assert_eq!(context.resume("w.kses", &bytes).expect("it is whole").without_code, None);
    let stats = context.stats();
    assert_eq!((stats.items_read, stats.objects_linked), (0, 0), "{stats:?}");
    // Nothing has mentioned these names yet.
    assert_eq!(context.call("fib", &[10.0]).expect("it is there"), 55.0);
    assert!(context.fingerprint("both").is_some() && context.prepare("change").is_ok());
    assert_eq!(context.describe("change").expect("it is there").callers, ["both"]);
    assert_eq!(context.callers("fib"), ["apply(fib, …)", "fib"]);
    assert_eq!(context.eval("fib(20)").expect("it runs"), Some(6765.0));
    // The expression.
    let stats = context.stats();
    assert_eq!((stats.ir_generated, stats.objects_linked), (0, 1), "{stats:?}");
    assert_eq!(answers(&mut context), expected);
    // Redefinition and undo are as they were.
    context.keep_history(10);
    assert_eq!(context.eval("def fib(n) n; both(12)").expect("it runs"), Some(12.0 + 1.0 + 123.0));
    let _ = context.undo();
    assert_eq!(context.eval("both(12)").expect("it runs"), Some(144.0 + 1.0 + 123.0));
    // What was resumed is saved again with its code.
    let again = context.save().expect("it can be saved").bytes;
    let mut third = self::context(folder.path(), Config::new());
    third.resume("w.kses", &again).expect("it is whole");
    third.eval("fib(20)").expect("it runs");
    assert_eq!(third.stats().ir_generated, 0, "{:?}", third.stats());
}

#[test]
fn other_users_other_builds_and_other_scripts_have_no_code_to_offer() {
    let (folder, stranger) = (TempDir::new().expect("there is room"), TempDir::new().expect("there is room"));
    let (bytes, expected) = saved(folder.path());
    let refused = |folder: &Path, bytes: &[u8], config: Config, reason: &str| {
        let mut context = context(folder, config);
        let resumed = context.resume("w.kses", bytes).expect("its script runs");
        assert_eq!(resumed.without_code.as_deref(), Some(reason));
        assert_eq!(answers(&mut context), expected, "{reason}");
    };
    // The other user has a key of their own.
    let _ = saved(stranger.path());
    refused(stranger.path(), &bytes, Config::new(), "made with another key, or damaged");
    let place =
        |wanted: &[u8]| bytes.windows(wanted.len()).position(|window| window == wanted).expect("it is there");
    let pack = place(b"KALPACK");
    assert!(pack > 0);
    let mut other_build = bytes.clone();
    other_build[pack + 16] ^= 1;
    refused(folder.path(), &other_build, Config::new(), "made by another build");
    // The code of another session.
    let mut other = context(folder.path(), Config::new());
    other.eval("def fib(n) 7 * n; def both(n) 1; fib(1); both(1)").expect("it runs");
    let other = other.save().expect("it can be saved").bytes;
    let other_pack = other.windows(7).position(|window| window == b"KALPACK").expect("it has one");
    let swapped = [&bytes[..pack], &other[other_pack..]].concat();
    refused(folder.path(), &swapped, Config::new(), "made of another script");
    // Without a cache, no code is looked for.
    let engine = Engine::new().expect("it starts");
    let mut without = engine.context().expect("it starts");
    assert_eq!(without.resume("w.kses", &bytes).expect("it is whole").without_code, None);
    assert_eq!(answers(&mut without), expected);
    assert_eq!(without.save().expect("it can be saved").without_code.as_deref(), Some("there is no cache"));
}

#[test]
fn contexts_of_one_engine_are_saved_at_once() {
    let folder = TempDir::new().expect("there is room");
    let first = context(folder.path(), Config::new());
    std::thread::scope(|scope| {
        for number in 0..4 {
            let mut context = first.engine().context().expect("it starts");
            scope.spawn(move || {
                for round in 0..10 {
                    context.eval(&format!("def f(x) x * {number} + {round}; f(2)")).expect("it runs");
                    let saved = context.save().expect("it can be saved");
                    assert_eq!(saved.without_code, None);
                    let mut again = context.engine().context().expect("it starts");
                    let resumed =
                        again.resume(&format!("{number}.{round}"), &saved.bytes).expect("it is whole");
                    assert_eq!(resumed.without_code, None);
                    assert_eq!(again.call("f", &[2.0]).expect("it runs"), f64::from(2 * number + round));
                }
            });
        }
    });
}

/// As many damaged sessions as `KAL_SESSIONS` says.
#[test]
fn a_damaged_session_is_refused_or_means_the_same() {
    let folder = TempDir::new().expect("there is room");
    let (bytes, expected) = saved(folder.path());
    let engine = || {
        let options = CacheOptions::new(folder.path().join("cache"), folder.path().join("key"));
        Engine::with_config(Config::new().cache(options).keep_texts(false)).expect("it starts")
    };
    let (mut random, mut refused, mut without) = (Random::new(1), 0, 0);
    let (mut last, mut used) = (engine(), 0);
    for number in 0..scale("KAL_SESSIONS", 400) {
        let mut damaged = bytes.clone();
        match number % 4 {
            0 => damaged.truncate(random.below(bytes.len())),
            _ => {
                for _ in 0..1 + number % 3 {
                    let at = random.below(bytes.len());
                    damaged[at] ^= 1 << random.below(8);
                }
            }
        }
        if used == 50 {
            (last, used) = (engine(), 0);
        }
        used += 1;
        let mut context = last.context().expect("it starts");
        match context.resume(&format!("{number}.kses"), &damaged) {
            Err(Error::DamagedSession(_)) => refused += 1,
            Ok(resumed) => {
                without += u64::from(resumed.without_code.is_some());
                assert_eq!(answers(&mut context), expected, "number {number}");
            }
            Err(error) => panic!("number {number}: {error}"),
        }
    }
    assert!(refused > 0 && without > 0, "{refused} {without}");
}

#[test]
fn random_numbers_go_on_where_a_session_was_saved() {
    let engine = Engine::with_config(Config::new()).expect("it starts");
    let next = |context: &mut Context| context.eval("random()").expect("it is a number");
    let mut first = engine.context().expect("it starts");
    let beginning = next(&mut first);
    first.eval("do seed(5)").expect("it is a number");
    next(&mut first);
    let saved = first.save().expect("it can be saved").bytes;
    let mut second = engine.context().expect("it starts");
    second.resume("w.kses", &saved).expect("it is whole");
    let expected = next(&mut first);
    assert_eq!(next(&mut second), expected);
    assert_ne!(beginning, expected);
}

#[test]
fn what_another_prompt_has_saved_is_not_overwritten() {
    let folder = TempDir::new().expect("there is room");
    let session = folder.path().join("w.kses");
    let prompt = || {
        let mut command = kal();
        command.args(["repl", "--no-init", "--resume", "w.kses"]).current_dir(folder.path());
        command
    };
    let mut first = prompt();
    first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut first = first.spawn().expect("the binary starts");
    let mut typed = first.stdin.take().expect("it is piped");
    let mut answers = BufReader::new(first.stdout.take().expect("it is piped"));
    let mut says = |input: &str, expected: &str| {
        typed.write_all(input.as_bytes()).expect("it reads");
        let mut line = String::new();
        answers.read_line(&mut line).expect("it answers");
        assert_eq!(line, expected);
    };
    says("def f(x) x + 1\n", "f(x) defined\n");
    says(":save\n", "w.kses: 1 definition saved without code: there is no cache\n");
    says(":autosave on\n", "w.kses is written after every input\n");
    let second = feed(&mut prompt(), b"def g(x) x + 2\n:save\n");
    assert_eq!(second.err(), "");
    let saved = std::fs::read(&session).expect("it was saved");
    says("def h(x) x + 3\n", "h(x) defined\n");
    drop(typed);
    let ended = first.wait_with_output().expect("it ends");
    let said = String::from_utf8(ended.stderr).expect("it is text");
    let expected = "w.kses was written by another session in the meantime; `:save! w.kses` overwrites it; \
                    autosave is off";
    assert!(said.contains(expected), "{said}");
    assert_eq!(std::fs::read(&session).expect("it is there"), saved);
    let typed = ":save\n:drop g\n:save\n";
    assert_eq!(feed(&mut prompt(), typed.as_bytes()).err(), "", "its own changes are its own");
}

/// Types inputs at a prompt that is started in a folder.
fn typed_in(folder: &Path, arguments: &[&str], typed: &str) -> Ran {
    let mut command = kal();
    command.env("KAL_CACHE", folder.join("cache")).env("XDG_STATE_HOME", folder);
    command.args(["repl", "--no-init"]).args(arguments).current_dir(folder);
    feed(&mut command, typed.as_bytes())
}

#[test]
fn a_session_goes_on_without_a_module_that_is_gone_and_keeps_it() {
    let folder = TempDir::new().expect("there is room");
    let prompt = |arguments: &[&str], typed: &str| typed_in(folder.path(), arguments, typed);
    let geo = folder.path().join("geo.kal");
    let text = "def area(x) x * x\nvar unit = 7\n";
    std::fs::write(&geo, text).expect("it can be written");
    let typed = "var w = 5\nimport geo\ndef f(x) area(x) + unit\ndef g(x) area(x)\ndef h(x) x + w\n\
                 unit = 9\nh(1)\n:save w.kses\n";
    let ran = prompt(&[], typed);
    assert_eq!((ran.err(), ran.code), ("", Some(0)));
    let file = folder.path().join("w.kses");
    let saved = std::fs::read(&file).expect("it was saved");

    std::fs::remove_file(&geo).expect("it is there");
    let ran = prompt(&["--resume", "w.kses"], "h(2)\ng(3)\n:save\n:autosave on\ndef i(x) x\n");
    let said = ran.said();
    assert_eq!(said[0], "error[E0209] 1:8 there is no module `geo`");
    assert!(said.iter().any(|line| line.ends_with("unknown variable `unit`")), "{said:?}");
    assert!(said.iter().any(|line| line.ends_with("`g` calls `area`, which is not defined")), "{said:?}");
    let resumed = "w.kses is resumed without these items, and keeps them\nw.kses: 2 definitions resumed\n7\n";
    assert!(ran.out().starts_with(resumed), "{}", ran.out());
    let kept = "error: w.kses holds what this session was resumed without; `:save! w.kses` overwrites it";
    assert_eq!(said.iter().filter(|line| *line == kept).count(), 2, "{said:?}");
    assert_eq!(ran.code, Some(1));
    assert!(std::fs::read(&file).expect("it is there") == saved);

    std::fs::write(&geo, text).expect("it can be written");
    let ran = prompt(&["--resume", "w.kses"], "f(2)\nh(2)\nunit\n:save\n");
    let expected = "w.kses: 3 definitions resumed\n13\n7\n9\nw.kses: 3 definitions saved\n";
    assert_eq!((ran.out(), ran.err()), (expected, ""));
}

#[test]
fn a_reset_loses_nothing_that_is_saved_after_every_input() {
    let folder = TempDir::new().expect("there is room");
    let prompt = |arguments: &[&str], typed: &str| typed_in(folder.path(), arguments, typed);
    let many: String = (0..50).map(|number| format!("def f{number}(x) x + {number}\n")).collect();
    let typed = format!(":save w.kses\n:autosave on\n{many}:reset\ndef g(x) x\n");
    let ran = prompt(&[], &typed);
    let expected = "everything was removed\nw.kses keeps what was saved; autosave is off\ng(x) defined\n";
    assert!(ran.out().ends_with(expected) && ran.err().is_empty(), "{}{}", ran.out(), ran.err());
    let ran = prompt(&["--resume", "w.kses"], "f0(1) + f49(1)\n:reset\n");
    let expected = "w.kses: 50 definitions resumed\n51\neverything was removed\n";
    assert_eq!((ran.out(), ran.err()), (expected, ""));
}

#[test]
fn the_prompt_saves_and_goes_on() {
    let folder = TempDir::new().expect("there is room");
    let prompt = |arguments: &[&str], typed: &str| typed_in(folder.path(), arguments, typed);
    let ran = prompt(&["--resume", "w.kses"], "def f(x) x * 2\nvar v = 0.1 + 0.2\nf(4)\n:save\n");
    assert_eq!(
        (ran.out(), ran.err()),
        ("f(x) defined\nv = 0.30000000000000004\n8\nw.kses: 1 definition saved\n", "")
    );
    let ran = prompt(&["--resume", "w.kses"], "f(ans)\nv\ndef g(x) f(x) + 1\n");
    let expected = "w.kses: 1 definition resumed\n16\n0.30000000000000004\ng(x) defined\n";
    assert_eq!((ran.out(), ran.err()), (expected, ""));
    // Nothing is written by itself, unless that is asked for.
    let ran = prompt(&["--resume", "w.kses"], "g(1)\n");
    assert!(ran.err().contains("`g`"), "{}", ran.err());
    let typed = ":autosave on\ndef g(x) f(x) + 1\n3\n:quit\n";
    let ran = prompt(&["--resume", "w.kses"], typed);
    assert!(ran.out().contains("w.kses is written after every input"), "{}", ran.out());
    let ran = prompt(&["--resume", "w.kses"], "g(ans)\n");
    assert_eq!(ran.out(), "w.kses: 2 definitions resumed\n7\n");
    // It is a script, too, and what it is not is not overwritten.
    assert_eq!(finish(kal().args(["check", "w.kses"]).current_dir(folder.path())).code, Some(0));
    let ran = prompt(&[], ":load w.kses\ng(1)\n:save w.kses\n:autosave on\n");
    assert!(ran.out().contains("\n3\n"), "{}{}", ran.out(), ran.err());
    assert!(
        ran.out().ends_with("w.kses: 2 definitions saved\nw.kses is written after every input\n"),
        "{}",
        ran.out()
    );
    std::fs::write(folder.path().join("mine.kses"), "my text").expect("it can be written");
    let ran = prompt(&[], "def f(x) x\n:save mine.kses\n:save\n:autosave on\n:autosave x\n");
    let said = [
        "mine.kses was not written by :save",
        "usage: :save FILE",
        "name the file first",
        "usage: :autosave",
    ];
    for said in said {
        assert!(ran.err().contains(said), "{}", ran.err());
    }
    for more in [None, Some("--transcript")] {
        let arguments = ["--resume", "mine.kses"].into_iter().chain(more).collect::<Vec<_>>();
        let ran = prompt(&arguments, "1\n");
        assert_eq!((ran.code, ran.out()), (Some(1), ""));
        let said = "error: mine.kses: not a saved session: it does not begin like one";
        assert!(ran.err().contains(said), "{}", ran.err());
    }
    assert_eq!(std::fs::read(folder.path().join("mine.kses")).expect("it is there"), b"my text");
}

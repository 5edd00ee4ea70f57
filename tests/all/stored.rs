//! Stored programs: what is read back runs like its source, and damaged bytes
//! are refused or run to an end.
//!
//! `KAL_MUTATIONS=100000 cargo test --test all stored` tries more damage than
//! the few thousand cases of a usual run; `KAL_SEED` tries other cases.

use crate::{binary, programs};
use kal::diagnostic::{ErrorCode, draw};
use kal::source::Source;
use kal::{Config, Context, Engine, Error, Limits, Mode, Outcome, Program};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Duration;

const MUTATIONS: u64 = 4000;

/// The place of the checksum in a stored program, whose end is where the summed
/// bytes begin.
const CHECKSUM: std::ops::Range<usize> = 48..56;

/// One of this many cases is compiled; the others are interpreted.
const COMPILED: u64 = 100;

fn seal(bytes: &mut [u8]) {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let sum = bytes[CHECKSUM.end..].iter().fold(0xcbf2_9ce4_8422_2325, step);
    let length = (bytes.len() - CHECKSUM.end) as u64;
    bytes[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
    bytes[CHECKSUM.start - 8..CHECKSUM.start].copy_from_slice(&length.to_le_bytes());
}

fn engine(mode: Mode, deadline: Option<Duration>) -> Engine {
    let limits = Limits { deadline, stack: 1 << 20, ..Limits::default() };
    Engine::with_config(Config::new().mode(mode).limits(limits)).expect("an engine")
}

/// Returns what came of the items, up to the first error.
fn observed(
    engine: &Engine,
    run: impl FnOnce(&mut Context, &mut kal::Each<'_>) -> ControlFlow<()>,
) -> String {
    let mut context = engine.context().expect("a context");
    context.set_output(Box::new(kal::LineOutput::new(std::io::sink())));
    let mut text = String::new();
    let _ = run(&mut context, &mut |_, outcome| {
        let (line, flow) = match outcome {
            Ok(Outcome::Value(value)) => (format!("{value:?}"), ControlFlow::Continue(())),
            Ok(Outcome::Defined { name, warnings, .. }) => {
                let drawn = warnings.iter().map(|warning| draw::draw(warning, draw::Style::default()));
                (format!("{name} {}", drawn.collect::<String>()), ControlFlow::Continue(()))
            }
            Ok(_) => (String::new(), ControlFlow::Continue(())),
            Err(error) => {
                let drawn = error
                    .diagnostics()
                    .iter()
                    .map(|diagnostic| draw::draw(diagnostic, draw::Style::default()));
                (drawn.collect(), ControlFlow::Break(()))
            }
        };
        let _ = writeln!(text, "{line}");
        flow
    });
    text
}

#[test]
fn every_program_runs_as_its_text_does() {
    let mut stored = 0;
    for path in programs::paths() {
        let text = std::fs::read_to_string(&path).expect("programs are text");
        if text.contains("#: options") || text.contains("#: calls differ") {
            continue;
        }
        let source = Source::new("program", text);
        for mode in [Mode::Interpret, Mode::Lazy] {
            let engine = engine(mode, None);
            let Ok(program) = Program::new(&engine, &source) else { continue };
            stored += 1;
            let bytes = program.to_bytes();
            let loaded = Program::from_bytes(&engine, &bytes).expect("it was just stored");
            assert_eq!(loaded.to_bytes(), bytes, "{}", path.display());
            // What it imports is defined by the stored program itself.
            let imports = source.text().lines().any(|line| line.starts_with("import "));
            let compared = |observed: String| {
                let is_shown = |line: &&str| !imports || !(line.is_empty() || line.ends_with(' '));
                observed.lines().filter(is_shown).collect::<Vec<_>>().join("\n")
            };
            let expected = compared(observed(&engine, |context, each| context.run(&source, each)));
            let found = compared(observed(&engine, |context, each| context.run_program(&loaded, each)));
            assert_eq!(found, expected, "{} in mode {mode:?}", path.display());
        }
    }
    assert!(stored > 100, "only {stored} programs could be stored");
}

#[test]
fn a_wrong_byte_is_an_error() {
    let engine = engine(Mode::Interpret, None);
    let program = Program::new(&engine, &Source::new("p", "def f(x) x + 1; f(2)")).unwrap();
    let bytes = program.to_bytes();
    let is_damaged = |bytes: &[u8]| matches!(Program::from_bytes(&engine, bytes), Err(Error::Damaged(_)));
    for at in 0..bytes.len() {
        for change in [1, 0x80, 0xff] {
            let mut wrong = bytes.clone();
            wrong[at] ^= change;
            assert!(is_damaged(&wrong), "byte {at}");
        }
        assert!(is_damaged(&bytes[..at]), "{at} bytes");
    }
    assert!(is_damaged(&[&bytes[..], &[0]].concat()));
    assert!(Program::is_stored(&bytes) && !Program::is_stored(b"1 + 1"));
    let other = self::engine(Mode::Interpret, None);
    let mut refused = false;
    let _ = other.context().unwrap().run_program(&program, &mut |_, outcome| {
        refused = matches!(outcome, Err(Error::OtherEngine));
        ControlFlow::Break(())
    });
    assert!(refused);
}

/// A generator of numbers that look arbitrary (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end.max(1)
    }
}

const TEXTS: [&str; 4] = [
    "def f(x y) if x < y && y then f(x + 1, y) * 2 else for i = x, i < y, y in sin(i) + fma(x, y, i)
     def g(x) var a = x, b = a * 2 in (for i = 0, i < 10 in a = a + b / (i + 1)) + f(a, b) ^ 2 % 3; g(3); f(1, 5)",
    "var t = 1, u = t / 3; def binary| 5 (a b) if a then 1 else !!b; def unary~(v) -v; t | ~u; t = t + 4; printd(t)",
    "def a(n) if n < 1 then 0 else b(n - 1) + 1; def b(n) a(n) * 2; a(9); extern sqrt(x); sqrt(2) + copysign(1, -2)",
    "def s(n) var r = 0 in (for i = 1, i < n in for j = 1, j < i, 2 in r = r + (if i == j then 1 else floor(i / j))) + r; s(20)",
];

/// Returns a stored program with some bytes changed, missing, or from another
/// one.
fn damaged(programs: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = programs[random.below(programs.len())].clone();
    for _ in 0..=random.below(3) {
        let at = CHECKSUM.end + random.below(bytes.len() - CHECKSUM.end);
        match random.below(8) {
            0 => bytes.truncate(at.max(CHECKSUM.end + 1)),
            1 => {
                let other = &programs[random.below(programs.len())][CHECKSUM.end..];
                let from = random.below(other.len());
                let length = random.below(other.len() - from).min(bytes.len() - at);
                bytes[at..at + length].copy_from_slice(&other[from..from + length]);
            }
            2 => drop(bytes.remove(at.min(bytes.len() - 1))),
            3 => bytes[at] = random.below(256) as u8,
            4 => bytes[at] = bytes[at].wrapping_add(1),
            5 => bytes[at] = bytes[at].wrapping_sub(1),
            _ => bytes[at] ^= 1 << random.below(8),
        }
        if bytes.len() < CHECKSUM.end + 8 {
            break;
        }
    }
    seal(&mut bytes);
    bytes
}

#[test]
fn damage_is_refused_or_runs_to_an_end() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let mutations = number("KAL_MUTATIONS").unwrap_or(MUTATIONS);
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ number("KAL_SEED").unwrap_or(0) << 1);
    let deadline = Some(Duration::from_millis(5));
    let maker = engine(Mode::Interpret, None);
    let stored =
        TEXTS.map(|text| Program::new(&maker, &Source::new("p", text)).expect("it is right").to_bytes());
    let (mut refused, mut ran) = (0, 0);
    // Engines keep every name they have met, so they are replaced now and then.
    for round in 0..mutations.div_ceil(1000) {
        let interpreter = engine(Mode::Interpret, deadline);
        let compiler = engine(Mode::Lazy, deadline);
        for case in round * 1000..((round + 1) * 1000).min(mutations) {
            let bytes = damaged(&stored, &mut random);
            let engine = if case % COMPILED == 0 { &compiler } else { &interpreter };
            match Program::from_bytes(engine, &bytes) {
                Ok(program) => {
                    observed(engine, |context, each| context.run_program(&program, each));
                    ran += 1;
                }
                Err(error) => {
                    // Reading has the same deadline, which a busy machine may miss.
                    let code = error.diagnostics().first().map(|found| found.code);
                    let is_late = code == Some(ErrorCode::DeadlineExceeded);
                    assert!(is_late || matches!(error, Error::Damaged(_)), "{error}");
                    refused += u64::from(!is_late);
                }
            }
        }
    }
    println!("{refused} refused, {ran} ran");
    assert!(refused > mutations / 4 && ran > mutations / 50, "{refused} refused, {ran} ran");
}

#[test]
fn the_command_stores_and_runs_programs() {
    let folder = std::env::temp_dir().join(format!("kal-stored-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (text, stored) = (folder.join("p.kal"), folder.join("p.tape"));
    std::fs::write(&text, "def f(x) sin(x) * 0 + x * 2; f(4); printd(1); 3 + nope(1)").expect("a file");
    let run = |arguments: &[&str]| binary::finish(binary::kal().args(arguments).current_dir(&folder));
    let emitted = run(&["emit", "tape", "p.kal", "-o", "p.tape"]);
    assert_eq!((emitted.code, emitted.out(), emitted.err()), (Some(0), "", ""));
    let expected = run(&["p.kal"]);
    assert_eq!(expected.out(), "8\n1\n0\n");
    for mode in ["--lazy", "--eager", "--interpret", "--tiered"] {
        for command in [&[mode, "p.tape"][..], &["run", mode, "p.tape"]] {
            let ran = run(command);
            assert_eq!((ran.code, ran.out(), ran.err()), (Some(1), expected.out(), expected.err()), "{mode}");
        }
        // What a name means is decided where the program runs.
        let ran = run(&[mode, "-e", "def sin(x) 1e999", "p.tape"]);
        assert_eq!(ran.out(), "nan\n1\n0\n", "{mode}");
    }
    for only in [&[][..], &["--fn", "f"]] {
        let listing = |file| run(&[&["emit", "tape", file], only].concat()).out().to_owned();
        assert!(listing("p.tape").starts_with("f$impl: 1 local"), "{}", listing("p.tape"));
        assert_eq!(listing("p.tape"), listing("p.kal"));
    }
    let nowhere = run(&["emit", "tape", "p.tape", "--fn", "g"]);
    assert_eq!((nowhere.code, nowhere.out()), (Some(1), ""));
    assert!(nowhere.err().contains("p.tape defines no function `g`"), "{}", nowhere.err());
    assert_eq!(run(&["emit", "tape", "p.tape", "-o", "again.tape"]).code, Some(0));
    assert_eq!(std::fs::read(folder.join("again.tape")).ok(), std::fs::read(&stored).ok());
    let refused = run(&["emit", "ir", "p.tape"]);
    assert!(refused.err().contains("p.tape is a stored program"), "{}", refused.err());
    let refused = run(&["check", "p.tape"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err().contains("p.tape is a stored program"), "{}", refused.err());
    assert_eq!(run(&["emit", "tape", "p.kal", "--fn", "f", "-o", "q.tape"]).code, Some(1));
    let mut bytes = std::fs::read(&stored).expect("it was written");
    *bytes.last_mut().expect("it is long") ^= 1;
    std::fs::write(&stored, bytes).expect("a file");
    let refused = run(&["p.tape"]);
    assert_eq!((refused.code, refused.out()), (Some(1), ""));
    assert!(refused.err().contains("p.tape: not a valid stored program: bad checksum"));
    // The identity of the build follows the magic number.
    let mut bytes = std::fs::read(folder.join("again.tape")).expect("it was written");
    assert_eq!(&bytes[8..40], kal::Fingerprint::BUILD.as_bytes());
    bytes[39] ^= 1;
    std::fs::write(&stored, bytes).expect("a file");
    let refused = run(&["p.tape"]);
    assert_eq!((refused.code, refused.out()), (Some(1), ""));
    assert!(refused.err().contains("p.tape: not a valid stored program: made by another build of Kal"));
    std::fs::remove_dir_all(folder).expect("it is ours");
}

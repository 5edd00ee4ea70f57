//! Texts that were changed since an earlier run: what is taken over from that, and that
//! nothing shows it.

use crate::caching::World;
use crate::choices::{Choices, Random};
use kal::source::Source;
use kal::{CacheOptions, Config, Engine, Limits, Outcome, TierUp};
use std::fs;
use std::ops::ControlFlow;

const PROGRAM: &str = "extern cbrt(x)
def double(x) x * 2
def twice(x) double(double(x))
# A comment.
def binary ⊕ 15 (a b) a * 10 + b
def joined(a b) a ⊕ b ⊕ 1; def root(x) cbrt(x)
def loop(n) for i = 1, i < n in double(i)
def last(x) twice(x) + joined(x, 2)
last(3)
root(27) + last(1)
";

/// Returns what a program says in a world, and how many items were read.
fn said(world: &World, arguments: &[&str]) -> ((String, Vec<String>, Option<i32>), u64) {
    let ran = world.run(arguments);
    (ran.outcome(), ran.count("items_read").unwrap_or(u64::MAX))
}

#[test]
fn only_what_was_changed_is_parsed() {
    // What is replaced by what, and how many items are read then; all, if there is no number.
    let changes: &[(&str, &str, Option<u64>)] = &[
        ("x * 2", "x * 3", Some(1)),
        ("x * 2", "x * 200 + missing(x) * 0", Some(1)),
        ("def double(x) x * 2", "\n\n # Longer.\ndef double(y)\n  y + y + 0", Some(1)),
        ("x * 2", "undefined_name", None),
        ("x * 2", "", None),
        ("double(double(x))", "double(x) + (if x < 0 then last(x) else 0)", Some(1)),
        ("double(double(x))", "double(double(x)) + cbrt(x)", Some(1)),
        ("double(double(x))", "double(x, 1)", None),
        ("double(double(x))", "twice(last(x, 1))", None),
        ("def double(x) x * 2", "def double(x y) x * 2", None),
        ("def double(x)", "def triple(x)", None),
        ("a ⊕ b ⊕ 1", "a ⊕ b ⊕ 2", Some(1)),
        ("a * 10 + b", "a * 20 + b", None),
        ("⊕ 15", "⊕ 1", None),
        ("for i = 1, i < n in", "for i = 2, i < n in", Some(1)),
        ("# A comment.", "# Another one.", None),
        ("# A comment.\n", "", None),
        ("last(3)\n", "last(4)\n", Some(2)),
        ("last(3)\n", "last(4)\n- 1\n", Some(2)),
        ("last(3)\n", "def more(x) x\nlast(3)\n", Some(3)),
        ("last(3)\n", "+ 1\nlast(3)\n", Some(1)),
        ("last(3)\n", "", Some(1)),
        ("last(1)\n", "last(1)\n# The end.\n", Some(0)),
        ("last(1)\n", "last(1);\n", Some(0)),
        ("last(1)\n", "last(1)\n+ 3\n", Some(1)),
        ("last(1)\n", "last(1)\nlast(2)\ndef double(x) x\nlast(2)", Some(4)),
        ("last(1)\n", "last(1, 2)", Some(2)),
        ("extern cbrt(x)", "extern cbrt(x y)", None),
        ("extern cbrt(x)", "extern  cbrt(x)", None),
        ("extern cbrt(x)\n", "", None),
        // Words that grow together.
        ("x * 2\ndef", "x * 2def", None),
        ("x * 2\ndef", "xdef", None),
        ("last(1)\n", "last(1)\n2\n", Some(2)),
        ("last(3)\nroot(27)", "2extern sin(x)\nroot(27)", Some(1)),
        ("last(3)\n", "last(3) 2 + nothing\n", Some(2)),
        ("last(1)\n", "last(1) +)\n", Some(1)),
        ("def last(x)", "2 def last(x)", None),
        ("x * 2", "if x > 7 then nowhere(x) else x * 2", Some(1)),
    ];
    // What comes before the definitions is run, and not read again.
    let starts = [("", 1), ("import math\nvar v = clamp(7, 1, 3)\nprint(v)\n", 4)];
    let changes = starts.iter().flat_map(|start| changes.iter().map(move |change| (start, change)));
    for ((start, before), (from, to, expected)) in changes {
        let world = World::new();
        let program = format!("{start}{PROGRAM}");
        world.write("p.kal", &program);
        said(&world, &["p.kal"]);
        let changed = program.replacen(from, to, 1);
        assert_ne!(changed, program);
        world.write("p.kal", &changed);
        let (right, all) = said(&world, &["--cache", "off", "p.kal"]);
        // Twice: what the first run of the changed text leaves serves the second.
        for run in 0..2 {
            let (ran, read) = said(&world, &["p.kal"]);
            assert_eq!(ran, right, "{from:?} by {to:?}, run {run}");
            match expected {
                Some(expected) => assert_eq!(read, *expected, "{from:?} by {to:?}, run {run}"),
                None if run == 0 => {
                    assert!(read == all || read + before == all, "{from:?} by {to:?}: {read} of {all}");
                }
                None => {}
            }
        }
        world.write("p.kal", &program);
        assert_eq!(said(&world, &["p.kal"]).1, 0, "{from:?} by {to:?}, and back");
    }
}

#[test]
fn places_in_a_changed_text_are_those_of_the_text() {
    let world = World::new();
    let text = |first: &str| {
        format!("def first(x) {first}\ndef other(x)\n  if x > 5 then missing(x) else x\nother(first(5))\n")
    };
    world.write("p.kal", &text("x"));
    said(&world, &["p.kal"]);
    world.write("p.kal", &text("x +\n\n\n  1"));
    let right = said(&world, &["--cache", "off", "p.kal"]).0;
    assert!(right.1.iter().any(|line| line.contains("p.kal:6:17")), "{right:?}");
    let (ran, read) = said(&world, &["p.kal"]);
    assert_eq!((ran, read), (right, 1));
}

#[test]
fn only_what_a_change_concerns_is_compiled() {
    let world = World::new();
    let text = |number: u32| {
        let define = |index: u32| {
            let large = " + x * 2 - x / 3".repeat(12);
            format!("def f{index}(x) if x < 0 then f{}(x){large} else x + {index}\n", (index + 1) % 50)
        };
        let definitions: String = (0..50).map(define).collect();
        let definitions = definitions.replace("x + 20\n", &format!("x + {number}\n"));
        let calls: Vec<_> = (0..50).map(|index| format!("f{index}(1)")).collect();
        format!("{definitions}def all(x) {}\nall(1)\n", calls.join(" + "))
    };
    world.write("p.kal", &text(20));
    let first = world.run(&["--no-tier-up", "p.kal"]);
    assert!(first.out == "1275\n" && first.compiled > 50, "{}", first.compiled);
    // What has been compiled before is not compiled again.
    for (number, compiled) in [(21, 1), (22, 1), (20, 0), (21, 0)] {
        world.write("p.kal", &text(number));
        let ran = world.run(&["--no-tier-up", "p.kal"]);
        assert_eq!((ran.out, ran.compiled), (format!("{}\n", 1255 + number), compiled), "{number}");
    }
    // Nothing but the code of what was changed is written.
    let sizes = world.pack_sizes();
    assert!(sizes.iter().filter(|size| **size > 8 << 10).count() == 1, "{sizes:?}");
}

/// Changes a text somewhere.
fn change(text: &str, random: &mut Random) -> String {
    if random.below(5) == 0 {
        // A character goes; a line may go on.
        let gone = random.below(text.chars().count());
        return text.chars().enumerate().filter(|(at, _)| *at != gone).map(|(_, char)| char).collect();
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let line = random.below(lines.len());
    let splice = random.pick(&[
        " + 1",
        "(",
        ")",
        " x",
        ";",
        "\n# A comment.\n",
        " - ",
        "\ndef q(x) x\n",
        " f1(2)",
        "2",
        " def ",
        "\n\n",
        " f0(x, 1)",
        "\nextern sin(x)\n",
        " ⊕ 3",
        "\ndef f2(x) x * 7\n",
        "1 = 2",
        "ü",
        " if ",
        "\n1\n",
    ]);
    match random.below(7) {
        0 => _ = lines.remove(line),
        1 if random.below(2) == 0 && line + 1 < lines.len() => {
            let next = lines.remove(line + 1);
            lines[line].push_str(&next);
        }
        1 => lines.insert(line, lines[line].clone()),
        2 => {
            let other = random.below(lines.len());
            lines.swap(line, other);
        }
        3 | 4 => {
            let digit = random.below(10).to_string();
            let at = lines[line].rfind(|char: char| char.is_ascii_digit());
            at.into_iter().for_each(|at| lines[line].replace_range(at..=at, &digit));
        }
        _ => {
            let places: Vec<_> = lines[line].char_indices().map(|(at, _)| at).collect();
            let at = if places.is_empty() { 0 } else { random.pick(&places) };
            lines[line].insert_str(at, splice);
        }
    }
    lines.join("\n") + "\n"
}

/// Whatever is changed, in whatever order, values and errors are those without a cache.
/// What random programs begin with.
const STARTS: [&str; 8] = [
    "",
    "extern sin(x)\n",
    "extern f3(x)\n",
    "import math\nvar v = 3\n",
    "import stats(mean)\nvar v = 1, f7 = 2\n1 + v\n",
    "def early(x) f3(x)\ndef clamp(x y z) x\n2\n",
    "def taking(f(x) x) f(f(x)) + 1\n",
    "var w = 2\ndef taking(f(x) x) f(x)\ndo w = taking(exp, w)\n",
];

#[test]
fn random_changes_show_nowhere() {
    let world = World::new();
    let options = CacheOptions::new(world.at("cache"), world.at("secret"));
    let limits = Limits { fuel: Some(200_000), ..Limits::default() };
    let run = |text: &str, config: Config| {
        let config = config.tier_up(TierUp::Never).keep_texts(false).limits(limits);
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let source = Source::in_folder(world.at("p.kal").display().to_string(), text.into(), world.at(""));
        let mut said = Vec::new();
        let _ = context.run_for_values(&source, &mut |_, outcome| {
            match outcome {
                Ok(Outcome::Value(value)) => said.push(format!("{value} ({:x})", value.to_bits())),
                Ok(_) => {}
                Err(error) => said.push(error.to_string()),
            }
            ControlFlow::Continue(())
        });
        let read = context.stats().items_read;
        for index in 0..12 {
            let outcome = context.eval(&format!("f{index}(3)")).map_err(|error| error.to_string());
            said.push(format!("{outcome:?}"));
        }
        (said, read)
    };
    world.write("p.kal", "");
    let define = |index: usize, random: &mut Random| match random.below(8) {
        0 => format!("def f{index}(x) x * {index} + f{}(x)\n", index.saturating_sub(1)),
        1 => format!("def f{index}(x) if x < {index} then f{}(x + 1) else x\n", random.below(12)),
        2 => format!("def f{index}(x) sin(x) + {index} ⊕ x\n"),
        3 => format!("# About it.\ndef f{index}(x)\n  var y = {index} in y - x; "),
        4 => format!("def f{index}(x) x + {index}\n"),
        // Too large to be inlined: it has code of its own.
        _ => format!("def f{index}(x) x * 2{} + f{}(x)\n", " - x / 3".repeat(20), index.saturating_sub(2)),
    };
    // What lies between definitions, in every second program.
    let between = |index: usize, random: &mut Random| match random.below(9) {
        0 | 1 => format!("f{}(2)\n", random.below(12)),
        2 => format!("var a{index} = {index}\n"),
        3 => format!("var a{index} = f{}(1)\n", random.below(12)),
        4 => format!("do f{index}(f3(1))\n"),
        5 => format!("var a{index} = 1 in a{index} ⊕ f{index}(1)\n"),
        _ => String::new(),
    };
    let count: u64 = std::env::var("KAL_CHANGES").ok().and_then(|count| count.parse().ok()).unwrap_or(16);
    let (mut taken, mut runs) = (0, 0);
    for seed in 0..count {
        let mut random = Random::new(seed);
        let start = random.pick(&STARTS);
        let is_mixed = seed % 2 == 1;
        let definitions: String = (0..12_usize)
            .map(|index| {
                let definition = define(index, &mut random);
                let own = if is_mixed { between(index, &mut random) } else { String::new() };
                // A variable, if there is one.
                let used = if own.starts_with("var") && !own.contains(" in ") {
                    format!("def u{index}(x) x + a{index}\nu{index}(1)\n")
                } else {
                    String::new()
                };
                definition + &own + &used
            })
            .collect();
        let definitions = if start.contains("taking") {
            definitions
                .replace("x + 4\n", "taking(f2, x)\n")
                .replace("x + 9\n", "taking(f8, x) + taking(sin, x)\n")
        } else {
            definitions.replace("x + 4\n", "clamp(x, v, 9)\n")
        };
        let original = format!("{start}def binary ⊕ 5 (a b) a - b\n{definitions}f1(2)\nf11(3) + f5(1)\n");
        let mut text = original.clone();
        for step in 0..8 {
            let (right, all) = run(&text, Config::new());
            let (found, read) = run(&text, Config::new().cache(options.clone()));
            assert_eq!(found, right, "seed {seed}, step {step}:\n{text}");
            taken += u32::from(step > 0 && read < all);
            runs += 1;
            // Mostly of what it was at first: a text with a mistake is not kept.
            let from = if random.below(4) == 0 { &text } else { &original };
            text = change(from, &mut random);
        }
    }
    assert!(taken * 8 > runs, "{taken} of {runs}");
}

/// Programs of the suite, changed somewhere, say what they say without a cache.
#[test]
fn changed_programs_of_the_suite_run_as_without_a_cache() {
    for (seed, path) in crate::programs::paths().iter().enumerate() {
        let text = fs::read_to_string(path).expect("it is text");
        // What takes long, or reads what is beside it, says nothing of changes.
        if text.contains("import ") || text.contains("#: options") || text.len() > 6000 {
            continue;
        }
        let (world, mut random) = (World::new(), Random::new(seed as u64));
        let options = ["--fuel", "300000", "--no-tier-up"];
        let run = |cache: &str| world.run(&[&options[..], &["--cache", cache, "p.kal"]].concat()).outcome();
        let cache = world.at("caches").display().to_string();
        world.write("p.kal", &text);
        run(&cache);
        for step in 0..3 {
            let changed = change(&text, &mut random);
            world.write("p.kal", &changed);
            assert_eq!(run(&cache), run("off"), "{}, step {step}:\n{changed}", path.display());
        }
    }
}

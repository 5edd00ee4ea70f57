//! Images in files: code is used where it is there, and all of one is checked once.

use crate::binary::finish;
use crate::caching::{CachedRun, World};
use crate::images::load;
use crate::marks::{is_marked, leave_alone};
use kal::source::Source;
use kal::{CacheEvent, CacheOptions, Config, Context, Engine, ImageBuilder, TierUp, Wanted};
use std::fs;
use std::path::{Path, PathBuf};

/// How many functions the program has. Their code is large.
const FUNCTIONS: usize = 3000;

fn definitions(numbers: std::ops::Range<usize>) -> String {
    let one = |n| {
        format!(
            "def f{n}(x y) if x < y then x * {n} + y * 2.5 else (x - y) * {} + x / {}\n",
            n % 13,
            n % 7 + 1
        )
    };
    numbers.map(one).collect()
}

/// Returns a program of which each function is called by one other, and what it computes.
fn program(numbers: std::ops::Range<usize>) -> String {
    let groups = numbers.clone().step_by(100);
    let call = |n| format!("(if z > 0 then f{n}(z, {}) else z)", n % 100);
    let of_group = |first: usize| {
        let calls: Vec<_> = (first..(first + 100).min(numbers.end)).map(call).collect();
        format!("def group{first}(z) {}\n", calls.join(" + "))
    };
    let sum: Vec<_> = groups.clone().map(|first| format!("group{first}(50)")).collect();
    definitions(numbers.clone()) + &groups.map(of_group).collect::<String>() + &sum.join(" + ") + "\n"
}

/// Returns a world with that program and an image of it.
fn imaged(text: &str) -> (World, PathBuf) {
    let world = World::new();
    world.write("p.kal", text);
    let built = world.kal(&["image", "build", "p.kal", "-o", "p.so"]).output().expect("it starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let image = world.at("p.so");
    (world, image)
}

/// Returns a file with an image of a program, both of that name.
fn image_file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let built = ImageBuilder::new(Config::new()).build(&[Source::new(name, text)], Wanted::Reached);
    let file = folder.path().join(name).with_extension("image");
    fs::write(&file, built.expect("it can be built").bytes).expect("it can be written");
    file
}

/// Returns the value of the last expression of a text.
fn value(context: &mut Context, name: &str, text: &str) -> f64 {
    value_of(context, &Source::new(name, text))
}

/// Returns the value of the last expression of a source.
fn value_of(context: &mut Context, source: &Source) -> f64 {
    let mut last = f64::NAN;
    let _ = context.run_for_values(source, &mut |_, outcome| {
        if let Ok(kal::Outcome::Value(value)) = outcome {
            last = value;
        }
        std::ops::ControlFlow::Continue(())
    });
    last
}

/// What is mapped of a file to be executed, and how much of that this process has written to, in
/// bytes.
fn executable(file: &Path) -> (usize, usize) {
    let maps = fs::read_to_string("/proc/self/smaps").expect("Linux has it");
    let name = file.to_str().expect("it is a text");
    let (mut size, mut written, mut is_it) = (0, 0, false);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (first, second) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let bytes = || second.parse::<usize>().map_or(0, |kilobytes| kilobytes * 1024);
        match first {
            "Size:" if is_it => size += bytes(),
            "Private_Dirty:" if is_it => written += bytes(),
            _ if first.contains('-') => is_it = second == "r-xp" && line.ends_with(name),
            _ => {}
        }
    }
    (size, written)
}

/// Returns what a program computes without an image.
fn expected(text: &str) -> u64 {
    let context = Engine::new().and_then(|engine| engine.context());
    value(&mut context.expect("it starts"), "alone", text).to_bits()
}

#[test]
fn code_of_an_image_is_executed_where_it_is_in_the_file() {
    let text = program(0..FUNCTIONS);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let image = image_file(&folder, "one.kal", &text);
    let engine = Engine::with_config(Config::new().image(load(&image))).expect("it starts");
    let mut context = engine.context().expect("it starts");
    assert_eq!(value(&mut context, "one.kal", &text).to_bits(), expected(&text));
    let stats = context.stats();
    assert_eq!((stats.items_read, stats.ir_generated, stats.objects_linked), (0, 0, 0));
    let (size, written) = executable(&image);
    assert!(size >= 256 << 10, "{size} bytes");
    assert_eq!(written, 0, "no page of it is this process's own");

    // Another context has the same code, and each has its own meaning of a name.
    let mut other = engine.context().expect("it starts");
    assert_eq!(value(&mut other, "one.kal", &text).to_bits(), expected(&text));
    assert_eq!(executable(&image), (size, 0));
    let change = "def f7(x y) 1000000\ngroup0(50)\n";
    assert_eq!(value(&mut other, "change", change).to_bits(), expected(&(text.clone() + change)));
    assert_eq!(
        value(&mut context, "again", "group0(50)\n").to_bits(),
        expected(&(text.clone() + "group0(50)\n"))
    );
    assert_ne!(expected(change), expected(&(text + "group0(50)\n")));
    drop((context, other, engine));
    assert_eq!(executable(&image), (0, 0), "it is unmapped");
}

#[test]
fn a_second_image_is_placed_beside_the_first() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let texts = [program(0..FUNCTIONS), program(FUNCTIONS - 300..2 * FUNCTIONS)];
    let images = [image_file(&folder, "one.kal", &texts[0]), image_file(&folder, "two.kal", &texts[1])];
    let config = images.iter().fold(Config::new(), |config, image| config.image(load(image)));
    let engine = Engine::with_config(config).expect("it starts");
    let mut contexts = Vec::new();
    // Some functions of both have one name and number of arguments, and so one slot.
    for (name, text) in [("one.kal", &texts[0]), ("two.kal", &texts[1]), ("one.kal", &texts[0])] {
        let mut context = engine.context().expect("it starts");
        assert_eq!(value(&mut context, name, text).to_bits(), expected(text));
        assert_eq!((context.stats().items_read, context.stats().ir_generated), (0, 0));
        contexts.push(context);
    }
    let mapped = images.map(|image| executable(&image));
    assert!(mapped.iter().all(|(size, _)| *size >= 256 << 10), "{mapped:?}");
    assert_eq!(mapped[0].1, 0);
}

#[test]
fn an_image_is_checked_as_a_whole_until_it_has_been_left_alone() {
    let (world, image) = imaged(&program(0..FUNCTIONS));
    let run = || {
        let ran = finish(&mut world.quiet_kal(&["--image", "p.so", "p.kal"]));
        (ran.out().to_owned(), ran.code)
    };
    let out = run();
    assert_eq!(out.1, Some(0));
    assert!(!is_marked(&image), "it has just been written");
    leave_alone(&image);
    assert_eq!(run(), out);
    if !is_marked(&image) {
        eprintln!("this file system has no attributes of users");
        return;
    }
    assert_eq!(run(), out);
    let whole = fs::read(&image).expect("it is there");
    let size = whole.len();
    for at in [size / 8, size / 3, size / 2] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&image, &damaged).expect("it is ours");
        let ran = run();
        // The image is refused, or what is damaged in it is compiled.
        assert!(ran == out || ran.1 != Some(0), "byte {at}: {ran:?}");
        fs::write(&image, &whole).expect("it is ours");
        leave_alone(&image);
        assert_eq!(run(), out);
    }
}

#[test]
fn code_of_the_cache_that_an_image_has_better_is_not_placed() {
    let (world, image) = imaged(&program(0..FUNCTIONS));
    let image = image.to_str().expect("it is a text");
    let alone = world.run(&["--image", image, "p.kal"]);
    world.run(&["p.kal"]);
    let cached = world.run(&["p.kal"]);
    let code = |run: &CachedRun| run.count("context_code_bytes").expect("it is counted");
    assert!(code(&cached) > 100_000, "it has code of its own");
    let beside = world.run(&["--image", image, "p.kal"]);
    assert_eq!(beside.out, alone.out);
    // The expression may have that of the cache.
    assert!(code(&beside).abs_diff(code(&alone)) < 1000, "{} {}", code(&alone), code(&beside));
    // What is called through a slot of a layer need not be bound.
    assert!([alone, cached, beside].iter().all(|run| run.count("loaded_functions") < Some(10)));
}

#[test]
fn the_cache_is_read_only_for_what_an_image_lacks() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let text = "def f(x) x * 2\ndef g(x) f(x) + 1\ng(1)\n";
    let path = folder.path().join("p.kal");
    fs::write(&path, text).expect("it can be written");
    let source = Source::in_folder(path.display().to_string(), text.to_owned(), folder.path());
    let built = ImageBuilder::new(Config::new()).build(std::slice::from_ref(&source), Wanted::All);
    let image = folder.path().join("p.image");
    fs::write(&image, built.expect("it can be built").bytes).expect("it can be written");
    let cache = CacheOptions::new(folder.path().join("cache"), folder.path().join("key"));
    // Returns what is computed, how many functions were compiled, and how many packs were read and
    // written, before and after one function is redefined.
    let run = |with_image: bool| {
        let config = Config::new().cache(cache.clone()).tier_up(TierUp::Never);
        let config = if with_image { config.image(load(&image)) } else { config };
        let engine = Engine::with_config(config).expect("it starts");
        let mut context = engine.context().expect("it starts");
        let mut said = vec![value_of(&mut context, &source)];
        let count = |context: &Context| {
            let events = engine.take_cache_events();
            let read = events.iter().filter(|event| matches!(event, CacheEvent::Opened { .. })).count();
            let written = events.iter().filter(|event| matches!(event, CacheEvent::Written { .. })).count();
            assert_eq!(read + written, events.len(), "{events:?}");
            (context.stats().ir_generated, read, written)
        };
        let before = count(&context);
        context.eval("def f(x) x * 10").expect("it is right");
        said.push(context.call("g", &[1.0]).expect("it returns"));
        engine.write_cache();
        assert_eq!(said, [3.0, 11.0]);
        (before, count(&context))
    };
    let first = run(false);
    assert_eq!((first.0.1, first.1.1, first.1.2), (0, 0, 1), "nothing is there, one pack is written");
    // The code of `g` with the other `f` is in the cache only.
    assert_eq!(run(true), ((0, 0, 0), (0, 1, 0)));
}

//! Images: what is in one is neither checked nor compiled, and says the same as what is.

use crate::binary::{self, directory, finish, in_parallel, kal};
use kal::source::Source;
use kal::{
    Config, Context, Engine, FeatureSet, Image, ImageBuilder, ImageTarget, LineOutput, Outcome, Processor,
    Wanted,
};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The last has clones only, and the others of the first.
const TARGETS: [&str; 4] = ["x86-64", "x86-64-v3,clone_all", "x86-64-v4,clone_all", "x86-64-v3"];

/// What a program writes.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns what running a source prints, and the error that ends it.
fn run(context: &mut Context, source: &Source) -> String {
    let written = Written::default();
    context.set_output(Box::new(LineOutput::new(written.clone())));
    context.set_input(Box::new(io::empty()));
    let mut ended = String::new();
    let _ = context.run_for_values(source, &mut |context, outcome| match outcome {
        Ok(Outcome::Value(value)) => match context.output().value(value) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        },
        Ok(_) => ControlFlow::Continue(()),
        Err(error) => {
            let place = error.diagnostics().first().and_then(|diagnostic| diagnostic.labels.first());
            let place = place.map(|label| label.source.position(label.span.start));
            ended = format!("{error} {place:?}\n");
            ControlFlow::Break(())
        }
    });
    let _ = context.output().flush();
    let written = written.0.lock().expect("no writer panics").clone();
    String::from_utf8_lossy(&written).into_owned() + &ended
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

/// Reads an image that tests have made.
#[allow(unsafe_code)]
pub fn open(bytes: Vec<u8>) -> Result<Image, kal::ImageError> {
    // SAFETY: these tests have made it; what is damaged is found to be before its code is.
    unsafe { Image::from_bytes("test.so", bytes) }
}

/// Loads an image that tests have written to a file.
#[allow(unsafe_code)]
pub fn load(file: &Path) -> Image {
    // SAFETY: nothing writes to it while it is used.
    unsafe { Image::load(file) }.expect("it is whole")
}

fn built(config: Config, sources: &[Source], target: &str) -> Image {
    let target: ImageTarget = target.parse().expect("it is a target");
    let built = ImageBuilder::new(config).target(target).build(sources, Wanted::Reached);
    open(built.expect("it can be built").bytes).expect("it is whole")
}

fn fits(target: &str) -> bool {
    let processor = target.split(",clone_all").next().map(str::parse);
    matches!(processor, Some(Ok(Processor::Portable(features))) if features.without(FeatureSet::present()).is_empty())
}

fn source(path: &Path) -> Source {
    let text = std::fs::read_to_string(path).expect("programs are text");
    Source::in_folder(path.display().to_string(), text, path.parent().expect("it is in a folder"))
}

/// Returns the programs of the suite that need no options, and no modules beside `kal`.
fn programs() -> Vec<PathBuf> {
    let mut programs = binary::files(&directory("tests/programs"), "kal");
    programs.extend(binary::files(&directory("examples"), "kal"));
    programs.retain(|path| !std::fs::read_to_string(path).expect("programs are text").contains("#: options"));
    programs
}

#[test]
fn programs_say_the_same_with_their_images_and_compile_nothing() {
    let programs = programs();
    assert!(programs.len() > 100, "only {} programs", programs.len());
    let targets: Vec<_> = TARGETS.into_iter().filter(|target| fits(target)).collect();
    let complaints = in_parallel(&programs, |path| {
        let source = source(path);
        let expected = run(&mut context(Config::new()), &source);
        for target in &targets {
            let target: ImageTarget = target.parse().expect("it is a target");
            let base = ImageTarget::complete(Processor::Portable(FeatureSet::default()));
            let builder = ImageBuilder::new(Config::new()).target(base).target(target);
            let image = match builder.build(std::slice::from_ref(&source), Wanted::Reached) {
                Ok(built) => open(built.bytes).map_err(|error| error.to_string())?,
                // What cannot be read has no image.
                Err(_) => continue,
            };
            let mut context = context(Config::new().image(image));
            let said = run(&mut context, &source);
            if said != expected {
                return Err(format!("{}, {target}: {said}\ninstead of\n{expected}", path.display()));
            }
            let stats = context.stats();
            let made = (stats.ir_generated, stats.expressions, stats.parsed_units);
            // A text without definitions is parsed as quickly as it is found, and one that a
            // module of it imports is read as two.
            let imports_itself = ["even.kal", "odd.kal"].iter().any(|name| path.ends_with(name));
            let may_parse = imports_itself || !source.text().contains("def ");
            if made != (0, 0, u64::from(may_parse) * made.2) {
                return Err(format!("{}, {target}: {made:?} functions, expressions, texts", path.display()));
            }
        }
        Ok(())
    });
    assert!(complaints.is_empty(), "{} of {}:\n{}", complaints.len(), programs.len(), complaints.join("\n"));
}

#[test]
fn redefinition_and_undo_go_on_over_an_image() {
    let program = Source::new("test", "def f(x) x + 1\ndef g(x) f(x) * 2\ng(1)");
    let image = built(Config::new(), std::slice::from_ref(&program), "x86-64");
    let mut context = context(Config::new().image(image));
    assert_eq!(run(&mut context, &program), "4\n");
    assert_eq!(context.eval("def f(x) x + 10; g(1)").ok(), Some(Some(22.0)));
    assert_eq!(context.stats().redefined, 1);
    assert_eq!(context.eval("g(2)").ok(), Some(Some(24.0)));
    assert_eq!(context.eval("def f(x) x + 1; g(2)").ok(), Some(Some(6.0)));
}

#[test]
fn a_second_context_of_an_engine_with_an_image_makes_nothing() {
    let program = Source::new("test", "import math\nvar k = 2\ndef f(x) clamp(x, 0, 2) + k\nf(3)");
    let image = built(Config::new(), std::slice::from_ref(&program), "x86-64");
    let engine = Engine::with_config(Config::new().image(image)).expect("it starts");
    let mut answers = Vec::new();
    for _ in 0..3 {
        let mut context = engine.context().expect("it starts");
        answers.push(run(&mut context, &program));
        let stats = context.stats();
        assert_eq!((stats.ir_generated, stats.expressions, stats.parsed_units), (0, 0, 0));
    }
    assert_eq!(answers, ["4\n"; 3]);
}

#[test]
fn what_is_not_in_an_image_is_compiled() {
    let other = Source::new("other", "def h(x) x * 3\nh(2)");
    let image = built(Config::new(), &[Source::new("test", "def f(x) x + 1\nf(1)")], "x86-64");
    let mut context = context(Config::new().image(image));
    assert_eq!(run(&mut context, &other), "6\n");
    assert!(context.stats().ir_generated > 0);
}

#[test]
fn an_image_for_other_options_is_left_out_or_an_error() {
    let program = Source::new("test", "def f(x) x + 1\nf(1)");
    let image = built(Config::new(), std::slice::from_ref(&program), "x86-64");
    let engine =
        Engine::with_config(Config::new().level(kal::Level::O3).image(image.clone())).expect("it starts");
    assert_eq!(engine.image_failures(), ["test.so has code of level 2, not of level 3"]);
    let config = Config::new().level(kal::Level::O3).image(image.clone()).require_images(true);
    let error = Engine::with_config(config).expect_err("it is required");
    assert_eq!(error.to_string(), "test.so has code of level 2, not of level 3");
    // An image that is given twice is one.
    let mut context = context(Config::new().image(image.clone()).image(image));
    assert_eq!(run(&mut context, &program), "2\n");
    assert_eq!(context.stats().ir_generated, 0);
}

#[test]
fn bytes_do_not_depend_on_threads_or_on_what_was_compiled_before() {
    let functions: String = (0..200)
        .map(|n| format!("def f{n}(x) if x < {n} then x * {n} + sin(x) else for i = 1, i < x in i * {n}\n"))
        .collect();
    let calls: String = (0..200).map(|n| format!("f{n}({n})\n")).collect();
    let program = Source::new("test", functions + &calls);
    let bytes = |workers| {
        let builder = ImageBuilder::new(Config::new().workers(workers));
        builder.build(std::slice::from_ref(&program), Wanted::All).expect("it can be built").bytes
    };
    let one = bytes(1);
    assert!(one == bytes(2) && one == bytes(8) && one == bytes(1));
}

#[test]
fn images_are_built_in_a_process_of_their_own_and_in_any_number_of_shards() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let text: String =
        (0..300).map(|i| format!("def f{i}(x) if x < 0 then f{i}(-x) else x * {i}\n")).collect();
    std::fs::write(file("many.kal"), text).expect("it is written");
    let build = |more: &[&str]| {
        let (output, source) = (file("many.so"), file("many.kal"));
        let given = ["image", "build", "--all", "--target", "x86-64", "-o", &output, &source];
        let built = finish(kal().args([&given, more].concat()));
        assert_eq!((built.out(), built.err(), built.code), ("", "", Some(0)), "{more:?}");
        std::fs::read(&output).expect("it was written")
    };
    let one = build(&["--in-process"]);
    for shards in ["1", "3", "64"] {
        assert!(build(&["--shards", shards]) == one, "{shards} shards");
    }
    // One that cannot be built says so as ever, and one that is ended leaves nothing.
    std::fs::write(file("wrong.kal"), "def f(x) x +").expect("it is written");
    let wrong = finish(kal().args(["image", "build", "-o", &file("wrong.so"), &file("wrong.kal")]));
    assert!(wrong.code == Some(1) && wrong.err().starts_with("error[E"), "{wrong:?}");
    let limited = format!(
        "ulimit -c 0; ulimit -t 1; exec '{}' image build --preinit '{}' -o '{}' '{}'",
        env!("CARGO_BIN_EXE_kal"),
        file("endless.kal"),
        file("ended.so"),
        file("many.kal")
    );
    std::fs::write(file("endless.kal"), "while 1 in 0").expect("it is written");
    let ended = finish(std::process::Command::new("sh").args(["-c", &limited]));
    assert_eq!(
        (ended.err(), ended.code),
        ("error: the process that compiles was ended by signal 9\n", Some(1))
    );
    assert!(!std::path::Path::new(&file("ended.so")).exists());
}

#[test]
fn functions_that_gain_from_a_target_are_cloned_and_others_are_of_its_base() {
    if !fits("x86-64-v3") {
        return;
    }
    let text = "def add(x y) x + y * 2
        def total(n) (var s = 0 in (for i = 1, i < n in s = s + i) + s)
        def whole(x) floor(x) + 1
        def part(x) x % 1
        def twice(x) whole(x) * 2
        def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
        add(1, 2) + total(10) + whole(2.5) + part(2.5) + twice(3.5) + fib(10)";
    let program = Source::new("test", text);
    let build = |targets: &[&str]| {
        let target = |target: &&str| target.parse::<ImageTarget>().expect("it is a target");
        let builder = targets.iter().map(target).fold(ImageBuilder::new(Config::new()), ImageBuilder::target);
        builder.build(std::slice::from_ref(&program), Wanted::All)
    };
    let functions = |targets: &[&str]| {
        let built = build(targets).expect("it can be built");
        let mut context =
            context(Config::new().image(open(built.bytes).expect("it is whole")).require_images(true));
        assert_eq!(run(&mut context, &program), "126.5\n");
        let stats = context.stats();
        assert_eq!((stats.ir_generated, stats.expressions, stats.parsed_units), (0, 0, 0), "{targets:?}");
        built.versions.iter().map(|version| version.functions).collect::<Vec<_>>()
    };
    // All but `add`; the expression has them inlined.
    assert_eq!(functions(&["x86-64", "x86-64-v3"]), [7, 6]);
    assert_eq!(functions(&["x86-64", "x86-64-v3,clone_all"]), [7, 7]);
    assert_eq!(functions(&["x86-64", "x86-64-v2,clone_all", "x86-64-v3,base(1)"]), [7, 7, 6]);
    // The clones are what is run, and not the functions of the base.
    let sizes = |targets: &[&str]| {
        build(targets)
            .expect("it can be built")
            .versions
            .iter()
            .map(|version| version.bytes)
            .collect::<Vec<_>>()
    };
    let (clones, all) = (sizes(&["x86-64", "x86-64-v3"]), sizes(&["x86-64", "x86-64-v3,clone_all"]));
    assert!(clones[0] == all[0] && clones[1] < all[1], "{clones:?} {all:?}");
    let error = build(&["x86-64", "x86-64-v3,base(1)"]).expect_err("it is its own base");
    let expected = "x86-64-v3,base(1): `base(1)` is no target before this one that has all functions";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_damaged_image_is_no_answer() {
    let program = Source::new("test", "def f(x) x + 1\ndef g(x) f(x) * 2\ng(1) + 0.5");
    let bytes = ImageBuilder::new(Config::new()).build(std::slice::from_ref(&program), Wanted::Reached);
    let bytes = bytes.expect("it can be built").bytes;
    let times = std::env::var("KAL_IMAGES").ok().and_then(|times| times.parse().ok()).unwrap_or(400);
    for number in 0..times {
        let mut changed = bytes.clone();
        let at = number * 7919 % bytes.len();
        changed[at] ^= 1 << (number % 8);
        if let Ok(image) = open(changed) {
            let said = run(&mut context(Config::new().image(image)), &program);
            assert_eq!(said, "4.5\n", "byte {at}");
        }
        assert!(open(bytes[..number * 31 % 60].to_vec()).is_err());
    }
}

#[test]
fn images_are_linked_described_and_loaded() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("lib.kal"), "## Twice a number.\ndef twice(x) 2 * x\n").expect("it is written");
    let text = "import lib\ndef f(x) twice(x) + 1\ndef unused(x) x\nf(20)\nprint(\"done\")\n";
    std::fs::write(file("app.kal"), text).expect("it is written");
    let run = |arguments: &[&str]| finish(kal().args(arguments));
    let built = run(&["image", "build", "-o", &file("app.so"), &file("app.kal")]);
    assert_eq!((built.out(), built.err(), built.code), ("", "", Some(0)));
    let info = run(&["image", "info", &file("app.so")]);
    let lines: Vec<&str> = info.out().lines().collect();
    assert!(lines[0].starts_with("made by: kal "), "{lines:?}");
    assert_eq!(lines[1], "level: 2");
    assert!(
        lines[2].starts_with("target: x86-64, ") && lines[4].starts_with("target: x86-64-v4, "),
        "{lines:?}"
    );
    assert_eq!(
        lines[5..],
        [format!("text: {} (program)", file("app.kal")), format!("text: {} (module lib)", file("lib.kal")),]
    );
    let loaded = run(&["--image", &file("app.so"), "--stats", &file("app.kal")]);
    assert_eq!((loaded.out(), loaded.code), ("41\ndone\n", Some(0)));
    assert!(loaded.err().contains("\"ir_generated\":0,\"expressions\":0,"), "{}", loaded.err());
    // What was edited is compiled.
    std::fs::write(file("app.kal"), text.replace("+ 1", "+ 2")).expect("it is written");
    let edited = run(&["--image", &file("app.so"), &file("app.kal")]);
    assert_eq!((edited.out(), edited.err()), ("42\ndone\n", ""));
    // Options.
    let other = run(&["--image", &file("app.so"), "-O1", &file("app.kal")]);
    let note =
        format!("note: {} has code of level 2, not of level 1; its functions are compiled\n", file("app.so"));
    assert_eq!((other.out(), other.err(), other.code), ("42\ndone\n", &*note, Some(0)));
    let refused = run(&["--image", &file("app.so"), "-O1", "--image-required", &file("app.kal")]);
    let error = format!("error: {} has code of level 2, not of level 1\n", file("app.so"));
    assert_eq!((refused.out(), refused.err(), refused.code), ("", &*error, Some(1)));
    let missing = run(&["--image", &file("none.so"), "-e", "1"]);
    assert!(
        missing.err().starts_with(&format!("error: {}: No such file", file("none.so"))),
        "{}",
        missing.err()
    );
    std::fs::write(file("text.so"), "no image").expect("it is written");
    let none = run(&["--image", &file("text.so"), "-e", "1"]);
    let error = format!("error: {}: not a shared object, or a damaged one\n", file("text.so"));
    assert_eq!((none.err(), none.code), (&*error, Some(1)));
    let whole = std::fs::read(file("app.so")).expect("it was written");
    for part in 1..20 {
        std::fs::write(file("cut.so"), &whole[..whole.len() * part / 20]).expect("it is written");
        for command in [&["--image", &file("cut.so"), "-e", "1"][..], &["image", "info", &file("cut.so")]] {
            let cut = run(command);
            assert!(cut.code == Some(1) && cut.err().starts_with("error: "), "{part}: {cut:?}");
        }
    }
    // What an image is built from is not overwritten.
    for other in ["app.kal", "lib.kal"] {
        let refused = run(&["image", "build", "-o", &file(other), &file("app.kal")]);
        let error = format!("error: the output would overwrite {}, which it is built from\n", file(other));
        assert_eq!((refused.err(), refused.code), (&*error, Some(1)));
    }
    let wrong = run(&["image", "build", "--target", "x86-65", "-o", &file("x.so"), &file("app.kal")]);
    assert!(wrong.err().starts_with("error: --target: unknown processor `x86-65`"), "{}", wrong.err());
    let wrong = run(&[
        "image",
        "build",
        "--target",
        "x86-64;x86-64-v3,base(2)",
        "-o",
        &file("x.so"),
        &file("app.kal"),
    ]);
    let expected =
        "error: x86-64-v3,base(2): `base(2)` is no target before this one that has all functions\n";
    assert_eq!((wrong.err(), wrong.code), (expected, Some(1)));
}

#[test]
fn a_trace_says_what_an_image_compiles() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let text = "def f(x) x + 1\ndef g(x) if x < 0 then g(x + 1) else f(x)\ndef h(x) for i = 1, i < x in i\n";
    std::fs::write(file("app.kal"), text.to_owned() + "g(1)\n").expect("it is written");
    let run = |arguments: &[&str]| finish(kal().args(arguments));
    let traced = run(&["--trace-compile", &file("trace"), "--no-tier-up", &file("app.kal")]);
    assert_eq!((traced.out(), traced.err()), ("2\n", ""));
    let mut trace = std::fs::read_to_string(file("trace")).expect("it was written");
    assert!(trace.contains("precompile(g/1) # full"), "{trace}");
    trace += "precompile(gone/2)\nwhat is this\n";
    std::fs::write(file("trace"), &trace).expect("it is written");
    let built = run(&["image", "build", "--trace", &file("trace"), "-o", &file("a.so"), &file("app.kal")]);
    let lines = trace.lines().count();
    let warnings = format!(
        "warning: {}:{lines} is no line of a trace: what is this\nwarning: the trace names `gone`, which no program defines\n",
        file("trace")
    );
    assert_eq!((built.err(), built.code), (&*warnings, Some(0)));
    let functions = |arguments: &[&str]| {
        let built = run(&[&["image", "build", "--target", "x86-64"], arguments].concat());
        assert_eq!(built.code, Some(0), "{}", built.err());
        let info = run(&["image", "info", arguments[1]]);
        let line = info.out().lines().find(|line| line.starts_with("target")).map(str::to_owned);
        line.and_then(|line| line.split(", ").nth(1)?.split(' ').next()?.parse::<u32>().ok())
            .expect("it says so")
    };
    let reached = functions(&["-o", &file("b.so"), &file("app.kal")]);
    let all = functions(&["-o", &file("c.so"), "--all", &file("app.kal")]);
    assert!(all > reached, "{all} and {reached}");
}

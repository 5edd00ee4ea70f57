//! Engine caches: an engine leaves its texts and code in a file for the next.

use crate::binary::run as kal;
use kal::source::Source;
use kal::{
    CacheEvent, CacheOptions, CompilePolicy, Config, Context, Engine, EngineCache, Level, Mode, TierUp,
    UpdatePolicy,
};
use std::ops::ControlFlow;
use std::path::PathBuf;
use tempfile::TempDir;

const LIBRARY: &str = "\
import stats
var calls = 0
def cube(x) calls += 1 : x * x * x
def unused(x) if x < 0 then cube(-x) else sqrt(x)
def binary⊕ 30 (a b) sqrt(a * a + b * b)
def fib(n) if n < 2 then n else fib(n - 1) + fib(n - 2)
";

struct Place {
    _folder: TempDir,
    file: PathBuf,
    cache: EngineCache,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let file = folder.path().join("engine");
        let cache = EngineCache::new(&file, folder.path().join("key"));
        Self { _folder: folder, file, cache }
    }

    fn config(&self) -> Config {
        Config::new().engine_cache(self.cache.clone())
    }
}

fn library() -> Source {
    Source::new("library", LIBRARY)
}

fn run(context: &mut Context, source: &Source) {
    let flow = context.run(source, &mut |_, outcome| match outcome {
        Ok(_) => ControlFlow::Continue(()),
        Err(error) => panic!("{}: {error}", source.name()),
    });
    assert!(flow.is_continue());
}

/// Runs the library and calls some of it. Returns the engine, and the numbers of functions
/// compiled and texts parsed.
fn use_library(config: Config) -> (Engine, u64, u64) {
    let engine = Engine::with_config(config).expect("it starts");
    let mut context = engine.context().expect("it starts");
    run(&mut context, &library());
    assert_eq!(context.call("cube", &[3.0]).ok(), Some(27.0));
    assert_eq!(context.call("fib", &[15.0]).ok(), Some(610.0));
    assert_eq!(context.variable("calls").ok(), Some(1.0), "values are not stored");
    let stats = context.stats();
    (engine, stats.ir_generated, stats.parsed_units)
}

fn events(engine: &Engine) -> Vec<String> {
    engine.take_cache_events().iter().map(ToString::to_string).collect()
}

#[test]
fn the_next_engine_parses_and_compiles_nothing() {
    for mode in [Mode::Lazy, Mode::Eager, Mode::Tiered] {
        let place = Place::new();
        let config = || place.config().mode(mode).wait_for_code(true);
        let (engine, compiled, parsed) = use_library(config());
        assert!((compiled > 0 || mode == Mode::Tiered) && parsed > 0, "{mode:?}");
        assert_eq!(events(&engine).len(), 1);
        drop(engine);
        let (engine, compiled, parsed) = use_library(config());
        assert_eq!((compiled, parsed), (0, 0), "{mode:?}");
        let loaded = events(&engine);
        assert!(loaded[0].starts_with("engine: loaded"), "{loaded:?}");
        // Nothing is new, so nothing is written.
        engine.update_engine_cache();
        assert_eq!(events(&engine), [""; 0]);
    }
}

/// The optimiser chooses one of two slots there, and calls it.
#[test]
fn a_choice_of_callees_is_kept() {
    let text = "def up(n a) if n < 1 then a else up(n - 1, a + 1)\n\
                def down(n a) if n < 1 then a else down(n - 1, a - 1)\n\
                def either(n a) if a < 0 then up(n, a) else down(n, a)";
    let place = Place::new();
    let compiled = || {
        let config = place.config().tier_up(TierUp::Never);
        let engine = Engine::with_config(config).expect("it starts");
        let mut context = engine.context().expect("it starts");
        run(&mut context, &Source::new("choice", text));
        assert_eq!(context.call("either", &[3.0, -1.0]).ok(), Some(2.0));
        assert_eq!(context.call("either", &[3.0, 1.0]).ok(), Some(-2.0));
        context.stats().ir_generated
    };
    assert_eq!((compiled(), compiled()), (3, 0));
}

#[test]
fn what_is_compiled_before_is_chosen() {
    let calls = |policy| {
        let mut place = Place::new();
        place.cache.compile = policy;
        let (engine, ..) = use_library(place.config());
        let stored = engine.store(&place.file).expect("it is stored");
        assert_eq!(events(&engine)[1], format!("engine: preparing to be stored (compile policy {policy})"));
        drop(engine);
        // What is in it is optimised code if nothing need be compiled for it.
        let config = place.config().tier_up(TierUp::Never);
        let engine = Engine::with_config(config).expect("it starts");
        let mut context = engine.context().expect("it starts");
        run(&mut context, &library());
        let mut compiled = |name: &str, argument: f64| {
            let before = context.stats().ir_generated;
            context.call(name, &[argument]).expect("it runs");
            context.stats().ir_generated > before
        };
        (stored.functions > 0, compiled("fib", 5.0), compiled("unused", -2.0), context.stats().parsed_units)
    };
    assert_eq!(calls(CompilePolicy::None), (false, true, true, 0));
    assert_eq!(calls(CompilePolicy::Compiled), (true, true, true, 0));
    assert_eq!(calls(CompilePolicy::Executed), (true, false, true, 0));
    assert_eq!(calls(CompilePolicy::Aot), (true, false, false, 0));
    // What is hot is being compiled when the engine is stored.
    let place = Place::new();
    let engine = Engine::with_config(place.config().tier_up(TierUp::After(5))).expect("it starts");
    let mut context = engine.context().expect("it starts");
    run(&mut context, &library());
    assert_eq!(context.call("fib", &[15.0]).ok(), Some(610.0));
    engine.store(&place.file).expect("it is stored");
    drop((context, engine));
    let engine = Engine::with_config(place.config().tier_up(TierUp::Never)).expect("it starts");
    let mut context = engine.context().expect("it starts");
    run(&mut context, &library());
    assert_eq!(context.call("fib", &[10.0]).ok(), Some(55.0));
    assert_eq!(context.stats().ir_generated, 0);
}

#[test]
fn when_it_is_written_again_is_chosen() {
    let more = Source::new("more", "def more(x) x + 1");
    let value = Source::new("value", "1 + 2");
    // Whether it is written after the same, after an expression, and after a definition.
    let written = |policy| {
        let mut place = Place::new();
        drop(use_library(place.config()));
        place.cache.update = policy;
        let writes = |source: Option<&Source>| {
            let (engine, ..) = use_library(place.config());
            if let Some(source) = source {
                run(&mut engine.context().expect("it starts"), source);
            }
            engine.take_cache_events();
            engine.update_engine_cache();
            let events = engine.take_cache_events();
            let is_written = events.iter().any(|event| matches!(event, CacheEvent::StoredEngine { .. }));
            // The file stays as it was for the next.
            std::mem::forget(engine);
            is_written
        };
        [writes(None), writes(Some(&value)), writes(Some(&more))]
    };
    assert_eq!(written(UpdatePolicy::Always), [true, true, true]);
    assert_eq!(written(UpdatePolicy::Never), [false, false, false]);
    assert!(matches!(written(UpdatePolicy::NewSource), [false, _, true]));
    assert_eq!(written(UpdatePolicy::NewRoot)[..2], [false, false]);
    assert!(!written(UpdatePolicy::NewCode)[0]);
}

#[test]
fn what_others_could_have_made_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    drop(use_library(place.config()));
    let whole = std::fs::read(&place.file).expect("it was written");
    let reason = |change: &dyn Fn()| {
        change();
        let mut config = place.config();
        config = config.engine_cache(EngineCache { store: None, ..place.cache.clone() });
        let (engine, compiled, _) = use_library(config);
        assert!(compiled > 0);
        let said = events(&engine).remove(0);
        std::fs::write(&place.file, &whole).expect("it is written");
        std::fs::set_permissions(&place.file, std::fs::Permissions::from_mode(0o600)).expect("it is ours");
        said.rsplit(": ").next().unwrap_or_default().to_owned()
    };
    let changed = "it was changed, or made with another key";
    for at in [0, 9, 45, 80, whole.len() / 2, whole.len() - 1] {
        let said = reason(&|| {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            std::fs::write(&place.file, bytes).expect("it is written");
        });
        assert_eq!(said, if at == 0 { "it is no engine cache" } else { changed }, "byte {at}");
    }
    assert_eq!(reason(&|| std::fs::write(&place.file, &whole[..50]).expect("written")), "it is too short");
    let opened = reason(&|| {
        std::fs::set_permissions(&place.file, std::fs::Permissions::from_mode(0o666)).expect("it is ours");
    });
    assert_eq!(opened, "others may write it (mode 666)");
    let key = std::fs::read(&place.cache.key).expect("it was made");
    let other = reason(&|| std::fs::write(&place.cache.key, [7; 32]).expect("it is written"));
    assert_eq!(other, changed);
    std::fs::write(&place.cache.key, key).expect("it is written");
    let (engine, compiled, _) = use_library(place.config().level(Level::O1));
    assert!(compiled > 0 && events(&engine)[0].contains("has code of level 2, not of level 1"));
    std::mem::forget(engine);
    let (_, compiled, parsed) = use_library(place.config());
    assert_eq!((compiled, parsed), (0, 0));
}

#[test]
fn it_is_not_written_where_it_cannot_be() {
    let mut place = Place::new();
    place.cache.most_bytes = 1000;
    let (engine, ..) = use_library(place.config());
    let error = engine.store(&place.file).expect_err("it is too large").to_string();
    assert!(error.ends_with("are more than the 1000 that are allowed"), "{error}");
    assert!(!place.file.exists());
    let (engine, ..) = use_library(Config::new());
    let error = engine.store(&place.file).expect_err("it keeps nothing").to_string();
    assert_eq!(error, "the engine was not stored: the engine has no engine cache");
    let place = Place::new();
    let (engine, ..) = use_library(place.config());
    assert!(engine.store(&place.file.join("no/such/folder")).is_err());
}

#[test]
fn everything_can_be_compiled_ahead_but_what_is_too_large() {
    let limits = kal::Limits { max_compiled_operations: 50, ..kal::Limits::default() };
    let engine = Engine::with_config(Config::new().limits(limits)).expect("it starts");
    let mut context = engine.context().expect("it starts");
    let large = format!("def large(x) x{}", " + x * 2".repeat(40));
    context.eval(&format!("{large}; def small(x) missing(x)")).expect("it is right");
    assert_eq!(context.prepare_for_aot("small").ok(), Some(true));
    assert_eq!(context.prepare_for_aot("large").ok(), Some(false));
    assert!(context.prepare_for_aot("none").is_err());
}

#[test]
fn the_command_stores_and_loads() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(file("app.kal"), "def f(x) x * 2\nf(21)\n").expect("it is written");
    let run = |more: &[&str]| {
        let (engine, app) = (file("engine"), file("app.kal"));
        let given = ["--cache", "off", "--engine-cache", &engine, "--trace-cache", &app];
        kal(&[&given, more].concat())
    };
    let first = run(&["--engine-cache-compile", "aot"]);
    assert_eq!(first.out(), "42\n");
    assert!(first.err().contains("(compile policy aot)\nengine: stored in "), "{}", first.err());
    let second = run(&["--stats"]);
    assert_eq!(second.out(), "42\n");
    assert!(second.err().contains("engine: loaded"), "{}", second.err());
    assert!(second.err().contains("\"ir_generated\":0,"), "{}", second.err());
    assert!(!second.err().contains("stored"), "{}", second.err());
}

#[test]
fn what_the_users_cache_has_is_stored_too_and_other_files_are_left_alone() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = |name: &str| folder.path().join(name);
    let program = file("p.kal");
    std::fs::write(&program, "def f(n) var s = 0 in (for i = 1, i < n in s += sqrt(i)) + s\nf(10)\n")
        .expect("written");
    let run = |arguments: &[&str]| {
        let mut command = crate::binary::kal();
        command
            .env("XDG_STATE_HOME", file("state"))
            .arg("--cache")
            .arg(file("cache"))
            .args(arguments)
            .arg(&program);
        crate::binary::finish(&mut command)
    };
    let (stored, other) = (file("stored").display().to_string(), file("notes.txt").display().to_string());
    for arguments in [&[][..], &[], &["--engine-cache", &stored]] {
        assert_eq!(run(arguments).out(), "22.4682781862041\n");
    }
    let size = std::fs::metadata(&stored).expect("it was stored").len();
    assert!(size > 1000, "{size}");
    let loaded = run(&["--engine-cache", &stored, "--trace-cache"]);
    assert!(loaded.err().contains("engine: loaded"), "{}", loaded.err());
    assert!(!loaded.err().contains("engine: preparing"), "nothing is new: {}", loaded.err());
    std::fs::write(&other, "mine\n").expect("it is written");
    let refused = run(&["--engine-cache", &other, "--trace-cache"]);
    let expected = format!("engine: not stored in {other}: another file is there, which is no engine cache");
    assert!(refused.err().contains(&expected), "{}", refused.err());
    assert_eq!(std::fs::read_to_string(&other).expect("it is there"), "mine\n");
}

/// An engine with both caches, which writes the user's first, and again.
#[test]
fn what_the_users_cache_has_taken_is_stored_and_written_on() {
    let place = Place::new();
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("p.kal");
    let text = "def f(x) x * 2\ndef g(x) x + 3\nf(4)\n";
    std::fs::write(&file, text).expect("it is written");
    let source = Source::in_folder(file.display().to_string(), text.to_owned(), folder.path());
    let options = CacheOptions::new(folder.path().join("cache"), folder.path().join("secret"));
    for keeps_texts in [true, false] {
        let config = || Config::new().keep_texts(keeps_texts);
        let engine = Engine::with_config(config().engine_cache(place.cache.clone()).cache(options.clone()));
        let engine = engine.expect("it starts");
        let mut context = engine.context().expect("it starts");
        run(&mut context, &source);
        engine.write_cache();
        assert!(engine.store(&place.file).expect("it is stored").texts >= 1);
        let mut after = context_of(config().engine_cache(place.cache.clone()));
        run(&mut after, &source);
        assert_eq!(after.stats().parsed_units, 0, "{keeps_texts}");
        // A pack that is not there any more when it is to be read does not keep others from
        // being written.
        let written = events(&engine).into_iter().filter(|event| event.contains(".kpk")).count();
        assert!(written >= 1);
        std::fs::remove_dir_all(folder.path().join("cache")).expect("it was written");
        assert_eq!(context.call("g", &[1.0]).ok(), Some(4.0));
        engine.write_cache();
        let again = events(&engine).join("\n");
        assert!(again.contains(".1.kpk (1 in it)") && !again.contains("not written"), "{again}");
        let _ = std::fs::remove_dir_all(folder.path().join("cache"));
    }
}

fn context_of(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

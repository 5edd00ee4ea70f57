//! Modules whose files change, names that the program has changed itself, imports under other
//! names, and what a kernel says of all that.

use kal::source::Source;
use kal::{Column, Config, Context, Engine, Mode, Outcome, Run};
use std::ops::ControlFlow;
use std::path::Path;
use tempfile::TempDir;

const MODES: [Mode; 4] = [Mode::Lazy, Mode::Eager, Mode::Interpret, Mode::Tiered];

const GEO: &str = "var unit = 1\ndef area(r) 3 * r * r * unit\ndef volume(r) area(r) * r\n";

/// A folder with a module `geo`, and a context that finds it.
struct World {
    folder: TempDir,
    context: Context,
}

impl World {
    fn new(mode: Mode, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let engine = Engine::with_config(Config::new().mode(mode).library_path(folder.path()));
        let mut context = engine.and_then(|engine| engine.context()).expect("a context starts");
        context.keep_history(100);
        let world = Self { folder, context };
        world.write(text);
        world
    }

    fn write(&self, text: &str) {
        write(self.folder.path(), text);
    }

    /// Returns the value of the last expression of a text, which must run.
    fn value(&mut self, text: &str) -> Option<f64> {
        self.context.eval(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn refusal(&mut self, text: &str) -> String {
        let error = self.context.eval(text).expect_err(text);
        let help = error.diagnostics().first().and_then(|found| found.help.clone());
        help.map_or_else(|| error.to_string(), |help| format!("{error} ({help})"))
    }
}

fn write(folder: &Path, text: &str) {
    std::fs::write(folder.join("geo.kal"), text).expect("it can be written");
}

#[test]
fn an_alias_comes_back_with_its_function() {
    for mode in MODES {
        let mut world = World::new(mode, GEO);
        assert_eq!(world.value("import geo; def f(x) area(x); f(1)"), Some(3.0));
        assert_eq!(world.context.callers("geo.area"), ["f", "geo.volume"]);
        world.context.drop_function("geo.area").expect("it is defined");
        let dropped = "`f` calls `area`, which is not defined (`geo.area` was dropped; importing the \
                       module again restores it)";
        assert_eq!(world.refusal("f(1)"), dropped);
        world.context.undo();
        assert_eq!(world.context.callers("geo.area"), ["f", "geo.volume"]);
        assert_eq!((world.value("f(1)"), world.value("area(2)")), (Some(3.0), Some(12.0)));
        let redefinition = Source::new("", "def geo.area(r s) r * s");
        let mut warned = 0;
        let _ = world.context.update(&redefinition, &mut |_, outcome| {
            if let Ok(Outcome::Defined { warnings, .. }) = outcome {
                warned = warnings.len();
            }
            ControlFlow::Continue(())
        });
        assert_eq!(warned, 2, "of `f`, which calls it by its alias, too");
    }
}

#[test]
fn an_import_of_a_changed_file_is_undone_as_a_whole() {
    for mode in MODES {
        let mut world = World::new(mode, GEO);
        assert_eq!(world.value("import geo; def f(x) area(x); f(1)"), Some(3.0));
        world.write("var unit = 1\ndef surface(r) 7 * r\ndef volume(r) surface(r) * r\n");
        assert_eq!(world.value("import geo; surface(1) + volume(1)"), Some(14.0));
        assert!(world.refusal("f(1)").starts_with("`f` calls `area`, which is not defined"));
        world.context.undo();
        assert_eq!(world.value("f(1) + geo.volume(1)"), Some(6.0));
        assert!(world.refusal("geo.surface(1)").starts_with("this expression calls `geo.surface`"));
        world.context.redo();
        assert_eq!(world.value("surface(1) + geo.volume(1)"), Some(14.0));
        world.context.undo();
        // The file is read again.
        assert_eq!(world.value("import geo; surface(1) + volume(1)"), Some(14.0));
        world.write(GEO);
        assert_eq!(world.value("import geo; f(2)"), Some(12.0));
    }
}

#[test]
fn a_changed_file_changes_what_the_program_has_not() {
    for mode in MODES {
        let mut world = World::new(mode, GEO);
        assert_eq!(world.value("import geo; unit"), Some(1.0));
        world.write(&GEO.replace("unit = 1", "unit = 2"));
        assert_eq!(world.value("import geo; area(1)"), Some(6.0));
        world.value("geo.unit = 100");
        world.write(&GEO.replace("unit = 1", "unit = 2, other = 5"));
        assert_eq!((world.value("import geo; unit"), world.value("geo.other")), (Some(100.0), Some(5.0)));
        // What it was given when it was the first value is assigned, too, if the file changes.
        world.write(&GEO.replace("unit = 1", "unit = 3, other = 6"));
        assert_eq!((world.value("import geo; unit"), world.value("geo.other")), (Some(100.0), Some(6.0)));
        world.value("def geo.area(r) 77");
        world.write(&format!("# Another line.\n{GEO}"));
        assert_eq!(world.value("import geo; area(1) + geo.volume(1)"), Some(154.0));
        world.write(&GEO.replace("3 * r", "4 * r"));
        assert_eq!(world.value("import geo; area(1) / unit"), Some(4.0));
        world.context.undo();
        assert_eq!(world.value("area(1)"), Some(77.0));
    }
}

#[test]
fn names_are_written_with_the_qualifier_of_their_import() {
    for mode in MODES {
        let mut world = World::new(mode, GEO);
        assert_eq!(world.value("import geo as g; g.volume(1)"), Some(3.0));
        let context = &mut world.context;
        assert_eq!(context.signature("g.area").as_deref(), Some("geo.area(r)"));
        assert_eq!(context.callers("g.area"), ["geo.volume"]);
        assert_eq!(context.variable_names(), ["g.unit"]);
        assert_eq!(
            (context.variable("g.unit").ok(), context.variable("geo.unit").ok()),
            (Some(1.0), Some(1.0))
        );
        assert!(context.kernel("g.area").is_ok() && context.function::<fn(f64) -> f64>("g.area").is_ok());
        let misspelt = "this expression calls `geo.volum`, which is not defined (did you mean `g.volume`?)";
        assert_eq!(world.refusal("g.volum(1)"), misspelt);
        world.context.drop_function("g.volume").expect("it is defined");
        assert!(world.refusal("g.volume(1)").starts_with("this expression calls `geo.volume`"));
    }
}

/// Asserts that the source of a kernel, read by another engine, is a kernel with the same
/// identity and results.
fn travels(world: &mut World, name: &str, source: &str) {
    let kernel = world.context.kernel(name).expect("it is defined");
    assert_eq!(kernel.source(), source);
    let engine = Engine::with_config(Config::new().library_path(world.folder.path()));
    let mut other = engine.and_then(|engine| engine.context()).expect("a context starts");
    other.eval(&kernel.source()).unwrap_or_else(|error| panic!("{source}: {error}"));
    let arrived = other.kernel(name).expect("it is defined");
    assert_eq!(arrived.id(), kernel.id(), "{source}");
    let results = [kernel, arrived].map(|kernel| {
        let mut output = [0.0; 3];
        let run = kernel.apply(&[Column::Values(&[1.0, 2.0, 5.0])], &mut output, &mut Run::new());
        run.unwrap_or_else(|error| panic!("{source}: {error}"));
        output
    });
    assert_eq!(results[0], results[1], "{source}");
}

#[test]
fn the_source_of_a_kernel_imports_what_it_uses() {
    let mut world = World::new(Mode::Lazy, GEO);
    world.value("import geo as g; import series(sum); import stats; def cube(x) x * x * x; var k = 2");
    world.value("def total(n) sum(cube, 1, n)");
    travels(&mut world, "total", "import series(sum)\ndef cube(x) x * x * x\ndef total(n) sum(cube, 1, n)");
    world.value("def mean(x) stats.mean(cube, 1, x) * k");
    // The module `stats` calls the other.
    let mean = "import series(sum)\nimport stats\nvar k = 2\ndef cube(x) x * x * x\ndef mean(x) stats.mean(cube, 1, x) * k";
    travels(&mut world, "mean", mean);
    world.value("def twice(f(x) x) f(f(x)); def scaled(x) twice(g.area, x)");
    let scaled = "import geo as g\ndef twice(f(x) x) f(f(x))\ndef scaled(x) twice(g.area, x)";
    travels(&mut world, "scaled", scaled);
    world.value("g.unit = 10");
    let assigned = scaled.replace("as g\n", "as g\ndo g.unit = 10\n");
    travels(&mut world, "scaled", &assigned);
    world.value("def g.area(r) r + g.unit");
    let redefined = assigned.replace("def scaled", "def g.area(r) r + g.unit\ndef scaled");
    let kernel = world.context.kernel("scaled").expect("it is defined").source();
    assert_eq!(kernel.len(), redefined.len(), "{kernel}");
    travels(&mut world, "scaled", &kernel);
}

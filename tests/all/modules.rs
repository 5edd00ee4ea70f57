//! Modules that an earlier run has checked: what a second import takes over instead of
//! reading it, and when it reads it again.

use crate::caching::{CachedRun, World};
use kal::{CacheOptions, Config, Context, Engine};

/// Three modules that import each other, with operators, variables and private names.
const MODULES: [(&str, &str); 3] = [
    (
        "stats.kal",
        "import ops\nimport tools(half)\nvar scale = 2\n## The mean.\ndef mean(a b) half(a + b)\n\
         def _secret(x) x * scale\ndef scaled(x) _secret(x) ⊕ 1\ndef binary ⊗ 15 (a b) mean(a, b) * 10\n\
         def later(x) x ⊗ 4 + sooner(x)\ndef sooner(x) sin(x) * 0 + x\n",
    ),
    (
        "ops.kal",
        "def binary ⊕ 12 (a b) a * 100 + b\ndef unary ¬ (x) 0 - x\ndef early(x) tools.half(x)\nimport tools\n\
         def apply(o(x y) a b) o(a, b)\ndef joined(a b) apply(binary⊕, a, b)\n\
         def plus(a b) apply(binary+, a, b)\ndef negated(o(x) a) o(a)\ndef minus(a) negated(unary¬, a)\n",
    ),
    ("tools.kal", "import stats\ndef half(x) x / 2\ndef through(x) stats.mean(x, x) + 1\n"),
];

fn library() -> World {
    let world = World::new();
    MODULES.iter().for_each(|(name, text)| world.write(name, text));
    world
}

/// Programs that import the modules, each with something that they have to say.
const PROGRAMS: [&str; 22] = [
    "import stats\nmean(1, 2); stats.scaled(4); 1 ⊗ 2 + 3; later(5)",
    "import stats as s\ns.mean(1, 2); mean(1, 2)",
    "import stats(mean binary ⊗)\nmean(1, 2) ⊗ 4; later(1)",
    "import stats(nothing)",
    "import stats\ndef stats.mean(a b) a - b\nmean(5, 2); 1 ⊗ 2; through(3)",
    "import stats\ndef mean(a b) 7\nmean(1, 2); 1 ⊗ 2\nimport tools\nthrough(3); mean(1, 2)",
    "import stats\ndef stats.mean(a) a\nlater(2)",
    "import stats\ndef f(x) mean(x, x)\nf(2)\nimport tools\nf(3); half(8)\ndef half(x) 0\nhalf(8); f(3)",
    "import stats\nstats._secret(1)",
    "import stats\nscale; scale = 5; scaled(3); stats.scale",
    "def f(x) mean(x, 4)\nimport stats\nf(2)",
    "def binary ⊗ 60 (a b) a + b\n1 ⊗ 2 * 3\nimport stats\n1 ⊗ 2 * 3",
    "import ops\n1 ⊕ 2 + 3; ¬4; early(6)\nimport stats\nimport tools\nhalf(1) ⊕ mean(3, 3)",
    "import tools\nthrough(2)\ndef stats.mean(a b) 40\nthrough(2)",
    "import stats\nmaen(1, 2)",
    "import stats\nmean(1)",
    "import stats\ndef stats.sooner(x) missing(x)\nlater(1)",
    "import ops\njoined(1, 2); plus(3, 4); minus(5); apply(binary⊕, 3, 4)",
    "def binary + 20 (a b) a * 1000 + b\nimport ops\njoined(1, 2); plus(3, 4); apply(binary+, 3, 4)",
    "import ops\ndef f(x) apply(max, x, 1)\nf(4)\ndef apply(a) a\nf(4)",
    "import ops\ndef f(x) apply(max, x, 1)\nf(4)\ndef apply(o(x y) a b) 7\nf(4)",
    "import stats\nextern mean(a b)\nmean(2, 6)\ndef stats.new(x) x + 1\nstats.new(1)",
];

#[test]
fn programs_import_stored_modules_as_they_import_texts() {
    for program in PROGRAMS {
        let world = library();
        world.write("p.kal", program);
        let right = world.run(&["--cache", "off", "p.kal"]).outcome();
        for time in ["cold", "warm", "warm again"] {
            assert_eq!(world.run(&["p.kal"]).outcome(), right, "{program}: {time}");
        }
        for mode in ["--eager", "--tiered", "--no-tier-up"] {
            assert_eq!(world.run(&[mode, "p.kal"]).outcome(), right, "{program}: {mode}");
        }
    }
}

/// Returns how many texts a run has parsed, and how many functions it has decoded.
fn counts(ran: &CachedRun) -> (Option<u64>, Option<u64>) {
    (ran.stats["parsed_units"].as_u64(), ran.stats["loaded_functions"].as_u64())
}

#[test]
fn an_import_decodes_what_is_called() {
    let world = World::new();
    let function = |number: u32| format!("def g{number}(x) x + {number}\n");
    world.write("large.kal", &(0..1000).map(function).collect::<String>());
    world.write("p.kal", "import large\ng7(1) + g8(1)\n");
    assert_eq!(counts(&world.run(&["p.kal"])), (Some(2), Some(0)));
    // The program defines nothing, and its text is kept as well.
    let warm = world.run(&["p.kal"]);
    assert_eq!((&*warm.out, counts(&warm), warm.compiled), ("17\n", (Some(0), Some(3)), 0));
}

#[test]
fn a_module_is_read_again_when_what_it_asked_has_another_answer() {
    let world = library();
    world.write("p.kal", "import stats\nlater(1) + scaled(1)\n");
    let parsed = |world: &World| counts(&world.run(&["p.kal"])).0;
    let right = |world: &World| world.run(&["--cache", "off", "p.kal"]).outcome();
    assert_eq!((parsed(&world), parsed(&world)), (Some(4), Some(0)));
    let changes = [
        // Another body: nothing that the others asked.
        ("tools.kal", "def half(x) x / 2", "def half(x) x / 4", 1),
        // Something that is not called.
        ("tools.kal", "def through", "def new(x) x\ndef through", 1),
        // Another precedence of an operator that one of them uses.
        ("ops.kal", "⊕ 12", "⊕ 50", 2),
        // Of one that none of the others uses.
        ("ops.kal", "def unary ¬", "def binary ⊙ 3 (a b) a\ndef unary ¬", 1),
        // Another number of arguments: the call does not fit, so the import is refused.
        ("tools.kal", "def half(x) x / 4", "def half(x y) x / 4", 0),
        ("tools.kal", "def half(x y) x / 4", "def half(x) x / 8", 1),
        // A name that was the module's own becomes one that an import offers.
        ("ops.kal", "def early", "def sooner(x) 99\ndef early", 1),
        // A variable that becomes a function.
        ("stats.kal", "var scale = 2", "var scale = 3", 1),
    ];
    for (file, from, to, expected) in changes {
        let path = world.at(file);
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(from), "{file}: {from}");
        world.write(file, &text.replace(from, to));
        let expected_outcome = right(&world);
        let first = world.run(&["p.kal"]);
        let count = counts(&first).0;
        assert_eq!(first.outcome(), expected_outcome, "{file}: {to}");
        assert_eq!(count, Some(expected), "{file}: {to}");
        assert_eq!(world.run(&["p.kal"]).outcome(), expected_outcome, "{file}: {to}");
    }
}

#[test]
fn a_file_can_be_a_program_and_a_module() {
    let world = World::new();
    world.write("stats.kal", "def mean(a b) (a + b) / 2\n");
    world.write("p.kal", "import stats\nmean(1, 2)\n");
    for _ in 0..3 {
        assert_eq!(world.run(&["p.kal"]).out, "1.5\n");
        assert_eq!((&*world.run(&["stats.kal"]).out, world.run(&["stats.kal"]).code), ("", Some(0)));
    }
    // As a module of another name, too.
    world.write("deep/q.kal", "import stats.robust\nstats.robust.mean(3, 4)\n");
    world.write("deep/stats/robust.kal", "def mean(a b) _sum(a, b) / 2\ndef _sum(a b) a + b\n");
    world.write("deep/stats/r.kal", "import robust\nmean(5, 6)\n");
    for _ in 0..3 {
        assert_eq!(world.run(&["deep/q.kal"]).out, "3.5\n");
        assert_eq!(world.run(&["deep/stats/r.kal"]).out, "5.5\n");
    }
}

#[test]
fn the_last_definition_of_a_name_in_a_module_counts() {
    let world = World::new();
    world.write("m.kal", "def f(x) 1\ndef g(x) f(x)\ndef f(x) 2\nvar f = 3\ndef h(x) f + f(x)\n");
    world.write("p.kal", "import m\nf(0); g(0); h(0); m.f\n");
    let right = world.run(&["--cache", "off", "p.kal"]).outcome();
    for _ in 0..3 {
        assert_eq!(world.run(&["p.kal"]).outcome(), right);
    }
}

#[test]
fn a_program_that_is_a_module_of_its_own_imports_is_both() {
    let world = World::new();
    world.write("stats.kal", "import tools\ndef mean(a b) half(a + b)\ndef f(x) mean(x, 1) + 1\n");
    world.write("tools.kal", "import stats\ndef half(x) x / 2\ndef deep(x) stats.f(x)\n");
    world.write("p.kal", "import stats\nstats.f(5)\n");
    for name in ["stats.kal", "p.kal", "tools.kal", "p.kal", "stats.kal"] {
        let right = world.run(&["--cache", "off", name]).outcome();
        assert_eq!(world.run(&[name]).outcome(), right, "{name}");
    }
    // One that fails in its first run, after its module was read.
    let failing = "import tools\nmean(1, 2)\ndef mean(a b) half(a + b)\ndef f(x) mean(x, 1) + 1\n";
    for text in [failing, &failing.replace("mean(1, 2)\n", "f2()\n")] {
        world.write("stats.kal", text);
        for name in ["stats.kal", "stats.kal", "p.kal", "stats.kal", "p.kal"] {
            let right = world.run(&["--cache", "off", name]).outcome();
            assert_eq!(world.run(&[name]).outcome(), right, "{name}: {text}");
        }
    }
}

/// Creates a context with the cache of a world, whose programs are in its folder.
fn context(world: &World) -> Context {
    let options = CacheOptions::new(world.at("mine"), world.at("secret"));
    let config = Config::new().cache(options).program_folder(world.at(""));
    Engine::with_config(config).and_then(|engine| engine.context()).expect("a context starts")
}

#[test]
fn a_module_that_is_a_layer_is_read_again_after_an_edit() {
    let world = library();
    let begin = |world: &World| {
        let mut context = context(world);
        context.eval("import stats").expect("it is there");
        assert_eq!(context.eval("mean(1, 2) + later(1)").ok().flatten(), Some(31.5));
        context
    };
    drop(begin(&world));
    let mut warm = begin(&world);
    // The import and the expression.
    assert_eq!(warm.stats().parsed_units, 2);
    // Another context of the engine has the same, and is not concerned by what follows.
    let mut other = warm.engine().context().expect("a context starts");
    other.eval("import stats").expect("it is there");
    assert_eq!(other.stats().parsed_units, 1);
    assert_eq!(other.eval("mean(1, 2)").ok().flatten(), Some(1.5));
    let text = MODULES[0].1;
    world.write("stats.kal", &text.replace("half(a + b)", "half(a - b)").replace("sooner", "soon"));
    warm.eval("import stats").expect("it is there");
    assert_eq!(warm.eval("mean(5, 2)").ok().flatten(), Some(1.5));
    assert_eq!(warm.eval("later(1)").ok().flatten(), Some(-20.0));
    let error = warm.eval("sooner(1)").expect_err("it is gone");
    assert!(error.to_string().contains("`sooner`"), "{error}");
    assert_eq!(other.eval("mean(5, 2)").ok().flatten(), Some(3.5));
    world.write("stats.kal", text);
    warm.eval("import stats").expect("it is there");
    assert_eq!(warm.eval("mean(1, 2) + later(1)").ok().flatten(), Some(31.5));
    warm.reset();
    assert!(warm.eval("mean(1, 2)").is_err());
    warm.eval("import stats as s").expect("it is there");
    assert_eq!(warm.eval("s.mean(1, 2)").ok().flatten(), Some(1.5));
}

#[test]
fn modules_are_kept_by_runs_and_not_by_what_only_looks_at_programs() {
    let world = library();
    world.write("p.kal", "import stats\nmean(1, 2)\n");
    for arguments in [&["check", "p.kal"][..], &["emit", "tape", "p.kal"], &["cache", "explain", "p.kal"]] {
        let mut command = world.kal(&[]);
        assert_eq!(crate::binary::finish(command.args(arguments)).code, Some(0), "{arguments:?}");
        assert!(!world.at("caches").exists(), "{arguments:?}");
    }
}

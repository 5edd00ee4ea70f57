//! Checked texts and layers: what a second start takes over instead of reading it.

use crate::caching::World;
use kal::source::Source;
use kal::{CacheOptions, Config, Context, Engine, Outcome, TierUp};
use std::fs;
use std::ops::ControlFlow;

/// Returns definitions of `f0` to `f99`, each of which calls the one before.
fn definitions() -> String {
    let next = |number: u32| format!("def f{number}(x) f{}(x) + {number}\n", number - 1);
    "def f0(x) x\n".to_owned() + &(1..100).map(next).collect::<String>()
}

#[test]
fn a_second_start_parses_nothing_and_decodes_what_is_called() {
    let world = World::new();
    world.write("p.kal", &(definitions() + "f3(1)\n"));
    let first = world.run(&["p.kal"]);
    assert_eq!((first.count("parsed_units"), first.count("loaded_functions")), (Some(1), Some(0)));
    let second = world.run(&["p.kal"]);
    assert_eq!((&*second.out, second.compiled), ("7\n", 0));
    assert_eq!((second.count("parsed_units"), second.count("items_read")), (Some(0), Some(0)));
    // All are counted as defined, which needs them all; but for that, four are.
    assert_eq!(second.count("defined"), Some(100));
    assert!(second.stats["load_ms"].as_f64() > Some(0.0));
    // An edit is parsed, and compiles what it concerns.
    world.write("p.kal", &(definitions().replace("x) x\n", "x) x + 1\n") + "f3(1)\n"));
    let third = world.run(&["p.kal"]);
    assert_eq!((&*third.out, third.count("parsed_units")), ("8\n", Some(1)));
}

/// What may come after a layer, each with something that the layer has to say.
const ENDINGS: [&str; 16] = [
    "f50(1)\ndef f49(x) x\nf50(1)\ndef f49(x y) x\nf50(1)",
    "def g(x) h(x)\ng(2)\ndef h(x) f2(x)\ng(2)",
    "def binary ⊕ 15 (a b) a * b\n1 + 2 ⊕ 3\nf3(1) ⊕ 2",
    "extern f7(x y)\nf7(1)",
    "extern sin(x)\nsin(f0(1))\ndef sin(x) f1(x)\nsin(1)",
    "f3(1, 2)",
    "f100(1)",
    "f9(missing)",
    "var f5 = 3\nf5 + f5(1)",
    "def f10(x) if x > 9 then f100(x) else f10(x + 1)\nf12(1)",
    "def f0(x) undefined(x)\nf2(1)",
    "def f0(x) 1 = 2",
    "import math\nclamp(f3(1), 0, 5)\ndef clamp(a b c) f2(a)\nclamp(1, 2, 3)",
    "def unary~(x) f4(x)\n~1\ndef f4(x) -x\n~1",
    "for i = 1, i < 3 in printd(f2(i))",
    "f0(1) f1(",
];

/// What may come before a layer, each with something that the layer has to say.
const STARTS: [&str; 12] = [
    "",
    "extern cbrt(x)",
    "extern f3(x)\nextern f3(x)",
    "1",
    "import math",
    "import math(clamp)\nvar f5 = clamp(7, 1, 3)",
    "def early(x) f3(x)\nprint(1)",
    "def binary ⊕ 5 (a b) a - b\nimport stats(mean)\ndef f2(x) x",
    "def twice(f(x) x) f(f(x))\ndef user(x) twice(f3, x)",
    "var v = 3\ndef sin(x) x\nprint(sin(v))",
    "def pair(f(x y) x) f(x, x)\ndef user(x) pair(f3, x)",
    "def user(x) pair(sin, f5)\ndef pair(f(x) g(x)) f(g(1))\ndef other(x) pair(f7, f8)",
];

#[test]
fn a_program_may_begin_with_anything_and_decodes_what_is_called() {
    let starts = [
        ("import math", "clamp(f3(1), 0, 5)", "5\n"),
        ("import math(clamp)", "clamp(f3(1), 0, 5)", "5\n"),
        ("var v = 3", "f3(v)", "9\n"),
        ("print(0)", "f3(1)", "0\n7\n"),
        ("def f3(x y) x\nprint(f3(5, 2))", "f0(1)", "5\n1\n"),
        ("def twice(f(x) x) f(f(x))\ndef user(x) twice(f3, x)", "user(1)", "13\n"),
        ("do seed(1)\nextern cbrt(x)\nimport math as m", "f3(1)", "7\n"),
    ];
    for (start, ending, right) in starts {
        let world = World::new();
        let between = definitions();
        let between = if start.contains("f3(x y)") { between.replace("f3(", "g3(") } else { between };
        world.write("p.kal", &format!("{start}\n{between}{ending}\n"));
        assert_eq!(world.run(&["p.kal"]).out, right, "{start}");
        for _ in 0..2 {
            let ran = world.run(&["p.kal"]);
            assert_eq!((&*ran.out, ran.compiled), (right, 0), "{start}");
            assert_eq!((ran.count("parsed_units"), ran.count("items_read")), (Some(0), Some(0)), "{start}");
            assert!(ran.count("loaded_functions") < Some(20), "{start}: {:?}", ran.stats);
        }
    }
}

#[test]
fn programs_go_on_after_a_layer_as_without_a_cache() {
    for ending in ENDINGS {
        for start in STARTS {
            let world = World::new();
            world.write("p.kal", &format!("{start}\n{}{ending}\n", definitions()));
            let run = |arguments: &[&str]| world.run(arguments).outcome();
            let right = run(&["--cache", "off", "p.kal"]);
            for time in ["cold", "warm", "warm again"] {
                assert_eq!(run(&["p.kal"]), right, "{start}{ending}: {time}");
            }
        }
    }
}

#[test]
fn what_lies_between_definitions_runs_in_its_turn() {
    let world = World::new();
    let next = |number: u32| {
        let before = number - 1;
        match number % 5 {
            0 => format!("var v{number} = f{before}(1)\ndef f{number}(x) x + v{number}\n"),
            1 => format!(
                "def f{number}(x) f{before}(x) + later{number}(x)\ndef later{number}(x) x\nf{number}(1)\n"
            ),
            2 => format!(
                "def twice{number}(f(x) x) f(f(x))\ndef f{number}(x) twice{number}(f{before}, x)\nprint(v0)\n"
            ),
            3 => {
                let sign = "⊕⊖⊗⊘⊙⊚⊛⊜⊝⊞⊟⊠".chars().nth(number as usize / 5).expect("there are enough");
                format!(
                    "def binary {sign} 15 (a b) a * b\ndef f{number}(x) x {sign} 2\nf{number}(3) {sign} 2\n"
                )
            }
            _ => format!("def f{number}(x) x + {number}\ndo v0 = v0 + f{number}(0)\n"),
        }
    };
    let text: String = (1..60).map(next).collect();
    world.write("p.kal", &format!("var v0 = 1\ndef f0(x) x\n{text}f59(1) + v0\n"));
    let right = world.run(&["--cache", "off", "p.kal"]).out;
    assert_eq!(right.lines().count(), 37);
    assert_eq!(world.run(&["p.kal"]).out, right);
    for _ in 0..2 {
        let ran = world.run(&["p.kal"]);
        assert_eq!((&ran.out, ran.compiled), (&right, 0));
        assert_eq!((ran.count("parsed_units"), ran.count("items_read")), (Some(0), Some(0)));
        // Of functions whose code is in the block, none is decoded.
        assert!(ran.count("loaded_functions") < Some(110), "{:?}", ran.stats);
    }
}

/// What is between definitions finds what comes before it, and nothing else.
#[test]
fn what_is_defined_later_is_not_found_before() {
    let world = World::new();
    let texts = [
        "def f(x) g(x)\nf(1)\ndef g(x) x\nf(2)\n",
        "def f(x) x\ng(1)\ndef g(x) x\ng(2)\n",
        "def square(x) x\nsqar(1)\ndef sqar2(x) x\ndef sqr(x) x\nsqar(2)\n",
        "def first(x) seconds(x)\nfirst(1)\nvar b = 2\ndef second(x) b\nsecond(2)\nfirst(2)",
        "def f(x) sin(x)\nf(0)\ndef sin(x) 5\nf(0)\nsin(0)\n",
        "def f(x) x\ncos(0)\ndef cos(x) f(7)\ncos(0)\n",
        "def f(x) g(x, 1)\nf(1)\ndef g(x) x\nf(2)\ndef g(x y) x\nf(3)\n",
        "def taking(f(x) x) f(x)\ndef user(x) taking(g, x)\nuser(1)\ndef g(x) x * 3\nuser(1)\n",
        "def f(x) x\ntaking(f, 1)\ndef taking(f(x) x) f(x)\ntaking(f, 2)\ntaking(g, 2)\ndef g(x) x\ntaking(g, 3)",
        "def f(x) x\n1 + 2 * f(3)\ndef binary + 50 (a b) a - b\n1 + 2 * f(3)\n",
        "def f(x) -x\nf(3)\ndef unary - (x) x + 1\nf(3)\n-f(3)\n",
        "def f(x) if x > 0 then g(x) else 0\nvar a = f(0)\ndef g(x) x + a\nvar b = f(1)\nb\ndef h(x) b\nh(1)\n",
        "def f(x) x\nvar f1 = 3\ndef f1(x) x * f1\nf1(f1)\n",
        "def f(x) v\nvar v = 1\n",
        "var v = 1\ndef f(x) v\nf(1)\nvar v = 2\ndef g(x) v\ng(1) + f(1)\n",
        "def f(x) x\nf(1)\ndef f(x) x * 2\nf(1)\ndef g(x) f(x)\ng(1)\n",
        "def f(x) x\nf(1)\nextern cbrt(x)\ndef g(x) cbrt(f(x))\ng(8)\n",
        "def f(x) x\nf(1)\nimport math\ndef g(x) clamp(x, 0, f(1))\ng(8)\n",
    ];
    // What fails is not the end, so all of a text is kept.
    let said = |is_cached: bool| {
        let options = CacheOptions::new(world.at("mine"), world.at("secret"));
        let config = if is_cached { Config::new().cache(options) } else { Config::new() };
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let source = source(&world, "p.kal");
        let mut said = Vec::new();
        let _ =
            context.run_for_values(&source, &mut |_, outcome| {
                match outcome {
                    Ok(Outcome::Value(value)) => said.push(value.to_string()),
                    Ok(_) => {}
                    Err(error) => said.extend(error.diagnostics().iter().map(|mistake| {
                        format!("{}: {:?}, {:?}", mistake.message, mistake.help, mistake.trace)
                    })),
                }
                ControlFlow::Continue(())
            });
        (said, context.stats().items_read)
    };
    let mut taken = 0;
    for text in texts {
        world.write("p.kal", text);
        let (right, _) = said(false);
        for time in ["cold", "warm", "warm again"] {
            let (found, read) = said(true);
            assert_eq!(found, right, "{time}: {text}");
            taken += u32::from(read == 0);
        }
    }
    // A text with a mistake is not kept: two name what is not known yet where that is one.
    assert_eq!(taken as usize, 2 * (texts.len() - 2));
}

/// Where a start goes another way than the one before, no definition is there that it does not
/// come to, or would refuse.
#[test]
fn a_start_that_ends_in_the_middle_defines_what_it_has_come_to() {
    let world = World::new();
    let text = "
        def first(x) x
        first(1)
        var a = input() + first(1)
        def second(x) x + a
        second(1)
        def binary ⊕ 15 (a b) a * b
        def third(x) second(x) ⊕ 2
        third(1)
        def last(x) third(x) + unknown(x)
        last(1)";
    world.write("p.kal", text);
    // Whether the host fails, and the number of outcomes after which the source is left.
    let run = |fails: bool, most: usize, is_cached: bool| {
        let input = move |_: &mut kal::host::Call<'_>| {
            if fails { Err(kal::host::HostError("no input".into())) } else { Ok(3.0) }
        };
        let config = Config::new().host_function("input", 0, input);
        let options = CacheOptions::new(world.at("mine"), world.at("secret"));
        let config = if is_cached { config.cache(options) } else { config };
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        let source = source(&world, "p.kal");
        let mut said = Vec::new();
        let _ = context.run_for_values(&source, &mut |_, outcome| {
            match outcome {
                Ok(Outcome::Value(value)) => said.push(value.to_string()),
                Ok(Outcome::Declared { .. }) => said.push("declared".to_owned()),
                Ok(_) => return ControlFlow::Continue(()),
                Err(error) => said.push(error.to_string()),
            }
            if said.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        let read = context.stats().items_read;
        let calls = ["first(2)", "second(2)", "third(2)", "last(2)", "2 ⊕ 3", "a"];
        said.extend(calls.map(|call| format!("{:?}", context.eval(call).map_err(|error| error.to_string()))));
        (said, read)
    };
    let (right, all) = run(false, 100, false);
    assert_eq!((&run(false, 100, true).0, all), (&right, 10));
    assert_eq!(run(false, 100, true), (right, 0));
    for (fails, most) in [(true, 100), (false, 1), (false, 2), (false, 3), (false, 4), (true, 2), (true, 3)] {
        let (right, _) = run(fails, most, false);
        for _ in 0..2 {
            assert_eq!(run(fails, most, true).0, right, "{fails}, {most}");
        }
    }
}

#[test]
fn operators_of_a_layer_are_in_force_behind_their_definitions() {
    let world = World::new();
    let text = "
        def before(a b) a + b * 2
        def binary + 50 (a b) a - b
        def after(a b) a + b * 2
        def unary ! (x) -x
        def last(a) !a
        before(1, 2); after(1, 2); last(3); 1 + 2 * 3; !4";
    world.write("p.kal", text);
    let right = world.run(&["--cache", "off", "p.kal"]).out;
    assert_eq!(right, "5\n-2\n-3\n-3\n-4\n");
    for _ in 0..3 {
        assert_eq!(world.run(&["p.kal"]).out, right);
    }
}

/// Returns the source that is in a file of a world.
fn source(world: &World, file: &str) -> Source {
    let text = fs::read_to_string(world.at(file)).expect("it is text");
    Source::in_folder(world.at(file).display().to_string(), text, world.at(""))
}

/// Returns an engine with the cache of a world.
fn engine(world: &World) -> Engine {
    let options = CacheOptions::new(world.at("mine"), world.at("secret"));
    Engine::with_config(Config::new().cache(options)).expect("an engine starts")
}

/// Runs a file in a context. Returns its values, or the first error.
fn values(context: &mut Context, world: &World, file: &str) -> Result<Vec<f64>, String> {
    let source = source(world, file);
    let mut result = Ok(Vec::new());
    let _ = context.run(&source, &mut |_, outcome| {
        match (outcome, &mut result) {
            (Ok(Outcome::Value(value)), Ok(values)) => values.push(value),
            (Err(error), _) => {
                result = Err(error.to_string());
                return ControlFlow::Break(());
            }
            (Ok(_), _) => {}
        }
        ControlFlow::Continue(())
    });
    result
}

#[test]
fn what_a_text_means_in_one_program_is_not_taken_for_what_it_means_in_others() {
    let world = World::new();
    world.write("p.kal", "def f(a b) a - b * 2\ndef g(x) h(x)\nf(9, 2)\n");
    let alone = |engine: &Engine| {
        let mut context = engine.context().expect("a context starts");
        values(&mut context, &world, "p.kal")
    };
    assert_eq!(alone(&engine(&world)), Ok(vec![5.0]));
    for _ in 0..2 {
        let engine = engine(&world);
        assert_eq!(alone(&engine), Ok(vec![5.0]));
        let mut other = engine.context().expect("a context starts");
        other.eval("def binary - 90 (a b) a + b").expect("it is fine");
        assert_eq!(values(&mut other, &world, "p.kal"), Ok(vec![22.0]));
        assert_eq!(alone(&engine), Ok(vec![5.0]));
    }
    assert_eq!(alone(&engine(&world)), Ok(vec![5.0]));
    let run = |arguments: &[&str]| {
        let mut command = world.kal(arguments);
        command.env("KAL_CACHE", world.at("mine"));
        crate::binary::finish(&mut command).out().to_owned()
    };
    assert_eq!((run(&["p.kal"]), run(&["p.kal"])), ("5\n".into(), "5\n".into()));
}

#[test]
fn a_text_is_read_anew_where_other_functions_of_the_host_are_known() {
    let world = World::new();
    world.write("p.kal", "def f(x) twice(x)\nf(4)\n");
    let values_with = |arity: u32| {
        let options = CacheOptions::new(world.at("mine"), world.at("secret"));
        let config = Config::new().cache(options);
        let config = config.host_function("twice", arity, |call| Ok(call.arguments[0] * 2.0));
        let engine = Engine::with_config(config).expect("an engine starts");
        let mut context = engine.context().expect("a context starts");
        (values(&mut context, &world, "p.kal"), context.stats().parsed_units)
    };
    assert_eq!(values_with(1), (Ok(vec![8.0]), 1));
    assert_eq!(values_with(1), (Ok(vec![8.0]), 0));
    assert!(matches!(values_with(2), (Err(_), 1)));
    assert_eq!(values_with(1).0, Ok(vec![8.0]));
}

#[test]
fn a_text_is_written_once() {
    let world = World::new();
    world.write("p.kal", "def f(x) x * 2\nf(4)\n");
    for _ in 0..2 {
        let engine = engine(&world);
        let mut context = engine.context().expect("a context starts");
        assert_eq!(values(&mut context, &world, "p.kal"), Ok(vec![8.0]));
        (0..5).for_each(|_| engine.write_cache());
    }
    let mut packs = 0;
    let mut folders = vec![world.at("mine")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            packs += usize::from(path.extension().is_some_and(|ending| ending == "kpk"));
            folders.extend(path.is_dir().then_some(path));
        }
    }
    assert_eq!(packs, 1);
}

#[test]
fn a_module_that_renames_a_function_is_missed_where_it_is_called() {
    let world = World::new();
    world.write("b.kal", "def foo(x) x * 2\n");
    world.write("a.kal", "import b\ndef f(x) b.foo(x)\n");
    world.write("p.kal", "import a\na.f(21)\n");
    for _ in 0..2 {
        assert_eq!(world.run(&["p.kal"]).out, "42\n");
    }
    world.write("b.kal", "def bar(x) x * 2\n");
    for _ in 0..2 {
        let ran = world.run(&["p.kal"]);
        assert_eq!((&*ran.out, ran.code), ("", Some(1)));
        assert!(ran.says("`a.f` calls `b.foo`, which is not defined"), "{:?}", ran.said);
    }
    world.write("b.kal", "def foo(x) x * 3\n");
    assert_eq!(world.run(&["p.kal"]).out, "63\n");
}

#[test]
fn modules_that_take_and_give_functions_are_not_parsed_again() {
    let world = World::new();
    world.write(
        "a.kal",
        "import b\ndef twice(f(x) x) f(f(x))\ndef own(x) x + 1\ndef use(x) b.apply(own, x)\n",
    );
    world.write(
        "b.kal",
        "import a\ndef apply(f(x) x) a.twice(f, x) * 10\ndef use(x) a.twice(half, x)\ndef half(x) x / 2\n",
    );
    let text = "import a\nimport b\na.use(1); b.use(8)\ndef g(x) a.twice(b.half, x)\ng(4)\n";
    world.write("p.kal", text);
    let right = "30\n2\n1\n";
    assert_eq!(world.run(&["p.kal"]).out, right);
    for _ in 0..2 {
        let ran = world.run(&["p.kal"]);
        assert_eq!((&*ran.out, ran.compiled, ran.stats["parsed_units"].as_u64()), (right, 0, Some(0)));
    }
    // A redefinition reaches the instances in the modules.
    world.write("p.kal", &format!("{text}def a.twice(f(x) x) f(x)\na.use(1); b.use(8); g(4)\n"));
    for _ in 0..3 {
        assert_eq!(world.run(&["p.kal"]).out, format!("{right}20\n4\n2\n"));
    }
    world.write(
        "a.kal",
        "import b\ndef twice(f(x) x) f(x) + 0.5\ndef own(x) x + 1\ndef use(x) b.apply(own, x)\n",
    );
    world.write("p.kal", text);
    for _ in 0..3 {
        assert_eq!(world.run(&["p.kal"]).out, "25\n4.5\n2.5\n");
    }
    // A function of one argument is given to what takes one of two.
    world.write("b.kal", "import a\ndef apply(f(x y) x) f(x, x)\ndef use(x) x\ndef half(x) x / 2\n");
    for _ in 0..2 {
        let ran = world.run(&["p.kal"]);
        assert!(ran.says("`a.own` takes 1 argument, and is called with 2 arguments"), "{:?}", ran.said);
    }
}

#[test]
fn what_comes_before_a_layer_may_change() {
    let world = World::new();
    world.write("m.kal", "def clamp(x) x\nvar v = 1\n");
    world.write(
        "p.kal",
        &format!(
            "import m\n{}def last(x) f3(x) + clamp(v) + cube(1)\ndef cube(x) x\nlast(1)\n",
            definitions()
        ),
    );
    let run = || world.run(&["p.kal"]).outcome();
    assert_eq!((run().0, run().0), ("9\n".into(), "9\n".into()));
    let modules = [
        "def clamp(x) x * 2\nvar v = 4\n",
        "def clamp(x) x\nvar v = 1\ndef f2(x) 100\n",
        "def clamp(x) x\nvar v = 1\ndef cube(x) 100\ndef sin(x) x\n",
        "def clamp(x y) x\nvar v = 1\n",
        "def clamp(x) x\n",
        "def clamp(x) x\nvar v = 1\ndef binary + 20 (a b) a * b\n",
    ];
    for module in modules {
        world.write("m.kal", module);
        let mut command = world.kal(&["--cache", "off", "p.kal"]);
        let right = crate::binary::finish(&mut command).out().to_owned();
        for _ in 0..3 {
            assert_eq!(run().0, right, "{module}");
        }
    }
}

/// A program whose functions are called in branches, so that each is compiled when it is
/// called, and what it prints.
const BRANCHES: (&str, &str) = (
    "def leaf(x) x * 2
    def one(x) if x > 0 then leaf(x) + sin(0) else 0
    def two(x) if x > 0 then one(x) + leaf(x) else 0
    def unused(x) if x > 0 then leaf(x) else 0
    def all(x) if x > 0 then one(x) + two(x) + 1 else unused(x)\n",
    "all(1)\n",
);

/// Runs the program in a context of an engine with the cache of a world.
fn begin(world: &World, engine: &Engine) -> Context {
    world.write("p.kal", &(BRANCHES.0.to_owned() + BRANCHES.1));
    let source = source(world, "p.kal");
    let mut context = engine.context().expect("a context starts");
    let mut values = Vec::new();
    let _ = context.run_for_values(&source, &mut |_, outcome| {
        if let Ok(Outcome::Value(value)) = outcome {
            values.push(value);
        }
        ControlFlow::Continue(())
    });
    assert_eq!(values, [7.0]);
    context
}

/// Returns an engine with the cache of a world, whose first code is that of a tier.
fn engine_that(tier_up: TierUp, world: &World) -> Engine {
    let options = CacheOptions::new(world.at("mine"), world.at("secret"));
    Engine::with_config(Config::new().cache(options).tier_up(tier_up)).expect("an engine starts")
}

/// Baseline code first, and optimised code only, into which functions are inlined.
const TIERS: [TierUp; 2] = [TierUp::After(1000), TierUp::Never];

#[test]
fn the_code_of_a_layer_is_there_at_once_and_follows_every_change() {
    for tier_up in TIERS {
        let world = World::new();
        drop(begin(&world, &engine_that(tier_up, &world)));
        let start = || begin(&world, &engine_that(tier_up, &world));
        let eval = |context: &mut Context, text: &str| context.eval(text).map_err(|error| error.to_string());
        let mut context = start();
        let stats = context.stats();
        assert_eq!((stats.objects_linked, stats.cache_misses), (0, 0), "{tier_up:?}: {stats:?}");
        if tier_up != TierUp::Never {
            assert_eq!((stats.materialized, stats.pending), (4, 1), "{stats:?}");
        }
        // Whatever is redefined, all callers see it, also those that it is inlined into.
        assert_eq!(eval(&mut context, "def leaf(x) x * 10\nall(1)"), Ok(Some(31.0)), "{tier_up:?}");
        let mut context = start();
        assert_eq!(eval(&mut context, "def one(x) 100\nall(1)"), Ok(Some(203.0)), "{tier_up:?}");
        assert_eq!(eval(&mut context, "def leaf(x) x * 3\nall(1)"), Ok(Some(204.0)), "{tier_up:?}");
        // What was a function of the library is one of the program.
        let mut context = start();
        assert_eq!(eval(&mut context, "def sin(x) 5\nall(1)"), Ok(Some(17.0)), "{tier_up:?}");
        // Another number of arguments.
        let mut context = start();
        let stale = eval(&mut context, "def leaf(x y) x\nall(1)").expect_err("it is stale");
        assert!(stale.contains("`leaf`"), "{tier_up:?}: {stale}");
        // Removed, and as it was again.
        let mut context = start();
        context.keep_history(10);
        assert_eq!(eval(&mut context, "def leaf(x) x * 10"), Ok(None));
        assert_eq!(eval(&mut context, "all(1)"), Ok(Some(31.0)), "{tier_up:?}");
        context.undo();
        context.undo();
        assert_eq!(eval(&mut context, "all(1)"), Ok(Some(7.0)), "{tier_up:?}");
        context.drop_function("leaf").expect("it is defined");
        let gone = eval(&mut context, "all(1)").expect_err("it is gone");
        assert!(gone.contains("`leaf`"), "{tier_up:?}: {gone}");
        context.undo();
        context.undo();
        assert_eq!(eval(&mut context, "all(1)"), Ok(Some(7.0)), "{tier_up:?}");
        let mut context = start();
        context.reset();
        assert!(eval(&mut context, "all(1)").is_err());
    }
}

#[test]
fn contexts_of_an_engine_have_the_code_of_a_layer_once() {
    for tier_up in TIERS {
        let world = World::new();
        drop(begin(&world, &engine_that(tier_up, &world)));
        let engine = engine_that(tier_up, &world);
        let mut one = begin(&world, &engine);
        let code = one.stats().code_bytes;
        let mut other = begin(&world, &engine);
        assert_eq!(other.stats().objects_linked, 0);
        assert!(other.stats().code_bytes <= code + 128, "{tier_up:?}: {code} {:?}", other.stats());
        assert_eq!(one.eval("def leaf(x) x * 10\nall(1)").ok(), Some(Some(31.0)));
        assert_eq!(other.eval("all(1)").ok(), Some(Some(7.0)));
        drop(one);
        assert_eq!(other.eval("all(1) + two(1)").ok(), Some(Some(11.0)));
        drop(other);
        assert_eq!(begin(&world, &engine).eval("all(2)").ok(), Some(Some(13.0)));
    }
}

#[test]
fn the_code_of_a_layer_knows_whose_it_is() {
    let world = World::new();
    let text = "def inner(x) if x > 0 then missing(x) else x
        def middle(x) if x > 0 then inner(x) + 1 else x
        def outer(x) if x > 0 then middle(x) + 1 else x
        outer(0) + middle(0) + inner(0)
        outer(1)\n";
    world.write("p.kal", text);
    let cold = world.run(&["p.kal"]);
    assert!(cold.says("inner") && cold.says("middle") && cold.says("outer"), "{:?}", cold.said);
    let warm = world.run(&["p.kal"]);
    assert_eq!(warm.outcome(), cold.outcome());
    assert_eq!((warm.compiled, warm.stats["materialized"].as_u64()), (0, Some(3)));
}

/// Workers start on the first functions while the program goes on with others.
#[test]
fn eager_code_does_not_depend_on_when_a_worker_comes_to_it() {
    let world = World::new();
    let later = |number: usize| number + 150;
    let mut text: String =
        (0..300).map(|i| format!("def f{i}(x) if x < {i} then x else f{}(x) * 2\n", later(i))).collect();
    text += "f7(5)\n";
    text += &(300..450).map(|i| format!("def f{i}(x) x - {i}\n")).collect::<String>();
    text += "f200(1000)";
    world.write("p.kal", &text);
    let first = world.run(&["--eager", "p.kal"]);
    assert_eq!(first.out, "5\n1300\n");
    assert!(first.count("cache_misses") > Some(300), "{:?}", first.said);
    let second = world.run(&["--eager", "p.kal"]);
    let missed = second.count("cache_misses");
    assert_eq!((second.out, missed), (first.out, Some(0)), "{:?}", second.said);
}

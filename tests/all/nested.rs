//! Runs at the end of their stacks, inside other runs, and stopped before they
//! begin: every mode gives the same.

use crate::modes::MODES;
use kal::diagnostic::Code;
use kal::{Config, Context, Engine, Error, Limits};
use std::hint::black_box;
use std::mem::MaybeUninit;

fn small_stack() -> Limits {
    Limits { stack: 1 << 20, ..Limits::default() }
}

fn context(config: Config) -> Context {
    Engine::with_config(config).and_then(|engine| engine.context()).expect("it starts")
}

fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    result.expect_err("it is stopped").diagnostics()[0].code
}

#[test]
fn a_closure_has_a_stack_of_its_own_where_the_program_has_none_left() {
    for (mode, configure) in MODES {
        let config = configure(Config::new()).limits(small_stack()).host_function("deep", 1, |call| {
            // Every page of it is touched, as of all large frames.
            let mut frame = MaybeUninit::<[u8; 1 << 20]>::uninit();
            black_box(&mut frame);
            Ok(call.arguments[0] + 1.0)
        });
        let mut context = context(config);
        context.eval("def f(n) deep(n) + f(n + 1)").expect("it is defined");
        assert_eq!(code(context.eval("f(0)")), Code::StackOverflow, "{mode}");
        assert_eq!(context.eval("deep(2)").expect("it goes on"), Some(3.0), "{mode}");
    }
}

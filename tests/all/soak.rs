//! A long session agrees with its model, and keeps memory and code within
//! bounds.
//!
//! It takes a number of steps, the same on every machine, and goes on until
//! `KAL_SOAK` seconds are over; `KAL_SEED` is the seed of the choices. `make
//! soak` takes half an hour.

use crate::choices::Random;
use crate::model::Session;
use crate::robustness::{alone, resident};
use crate::scale;
use kal::{Config, Engine, Limits, TierUp};
use std::time::{Duration, Instant};

#[test]
fn a_long_session_keeps_to_its_model() {
    // Alone in its process: other tests use memory too.
    alone("soak::a_long_session_keeps_to_its_model", || {
        let end = Instant::now() + Duration::from_secs(scale("KAL_SOAK", 0));
        let limits = Limits { stack: 1 << 20, ..Limits::default() };
        let engine =
            Engine::with_config(Config::new().tier_up(TierUp::After(20)).limits(limits)).expect("it starts");
        let seed = scale("KAL_SEED", 1);
        let mut random = Random::new(seed);
        let mut soak = Session::new(&engine, &mut random);
        let mut most_code = 0;
        let mut settled = None;
        while soak.steps < STEPS || Instant::now() < end {
            for _ in 0..200 {
                soak.step();
            }
            most_code = most_code.max(soak.context.stats().code_bytes);
            if settled.is_none() && soak.steps >= SETTLING {
                settled = Some(resident());
            }
        }
        let grown = settled.map_or(0, |before| resident() - before);
        println!(
            "seed {seed}: {} steps, {} errors as expected, at most {most_code} bytes of code, {grown} bytes more memory",
            soak.steps, soak.errors
        );
        assert!(most_code < MOST_CODE, "{most_code} bytes of code");
        assert!(grown < MOST_GROWN, "{grown} bytes more memory after {} steps", soak.steps);
        soak.start_anew();
        soak.context.keep_history(0);
        drop(soak);
    });
}

/// Enough for rare combinations, such as a function that is dropped with its
/// declaration and restored.
const STEPS: u64 = 20_000;

/// By then every path has been taken and every pool has its size.
const SETTLING: u64 = 5_000;

/// A dozen functions and sixteen steps of history take much less.
const MOST_CODE: u64 = 1 << 20;

/// What the allocator and LLVM may keep more after they have settled, however
/// long the session.
const MOST_GROWN: i64 = 32 << 20;

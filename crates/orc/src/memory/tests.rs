//! Tests of the promises of a slab through a session: ranges are reused,
//! the memory is dense, its limit is an error, and no address is both writable
//! and executable.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Instant;

use super::super::testing::{
    Constants, alone, call, constant, emitting, function, memory_maps, object, resident_bytes, session,
};
use super::super::{Dylib, OrcError, Session, SessionOptions, Tracker};
use kal_code::{Address, SlabOptions};

fn session_of(limit: u64) -> Session {
    let slab = SlabOptions { limit, ..SlabOptions::default() };
    Session::new(&SessionOptions { slab, ..SessionOptions::default() }).unwrap()
}

/// Links the function `name` of `object`.
fn link(session: &Session, dylib: &Dylib, name: &str, object: Vec<u8>) -> (Tracker, Address) {
    let tracker = dylib.create_tracker();
    tracker.define(function(name), emitting(object)).unwrap();
    let address = session.lookup(dylib, name).unwrap();
    (tracker, address)
}

/// Compiles an object that defines `name`, a function that returns 7, followed
/// by `bytes` bytes of constants.
fn large(name: &str, bytes: usize) -> Vec<u8> {
    object(&format!(
        "@data = constant [{bytes} x i8] c\"\\07{}\"
         define i64 @{name}() nounwind {{
             %p = getelementptr i8, ptr @data, i64 0
             %b = load volatile i8, ptr %p
             %r = zext i8 %b to i64
             ret i64 %r }}",
        "a".repeat(bytes - 1)
    ))
}

#[test]
fn freed_ranges_are_used_again() {
    let (session, dylib) = session();
    let names = ["a", "b", "c", "d"];
    let mut linked: Vec<_> =
        (1..).zip(names).map(|(value, name)| link(&session, &dylib, name, constant(name, value))).collect();
    let addresses: Vec<_> = linked.iter().map(|(_, address)| *address).collect();
    assert!(addresses.is_sorted() && addresses[3].get() - addresses[0].get() == 3 * 64, "{addresses:?}");
    assert_eq!(session.slab().bytes(), 4 * 64);
    // A gap of one is filled first; two adjacent gaps are merged.
    linked.remove(1).0.remove().unwrap();
    let (again, address) = link(&session, &dylib, "b", constant("b", 20));
    assert_eq!((address, call(address), call(addresses[2])), (addresses[1], 20, 3));
    again.remove().unwrap();
    linked.remove(1).0.remove().unwrap();
    let (_again, address) = link(&session, &dylib, "e", large("e", 64));
    assert_eq!(session.slab().bytes(), 4 * 64);
    assert!(address.get().abs_diff(addresses[1].get()) < 2 * 64, "{address:?}");
    assert_eq!((call(address), call(addresses[0]), call(addresses[3])), (7, 1, 4));
}

#[test]
fn data_is_read_written_and_zeroed() {
    let (session, dylib) = session();
    let code = object(
        "@initial = internal global i64 40
         @zero = internal global [100 x i64] zeroinitializer
         @constants = internal constant [2 x i64] [i64 1, i64 1], align 4096
         define i64 @f() nounwind {
             %z = getelementptr i64, ptr @zero, i64 99
             %a = load volatile i64, ptr %z
             %b = load volatile i64, ptr @initial
             %c = load volatile i64, ptr @constants
             %s = add i64 %a, %b
             %r = add i64 %s, %c
             store volatile i64 %r, ptr @initial
             store volatile i64 %r, ptr %z
             ret i64 %r }",
    );
    for _ in 0..3 {
        let (tracker, address) = link(&session, &dylib, "f", code.clone());
        assert_eq!((call(address), call(address)), (41, 83));
        tracker.remove().unwrap();
        assert_eq!(session.slab().bytes(), 0);
    }
}

#[test]
fn a_full_memory_is_an_error_until_some_is_freed() {
    let session = session_of(1 << 20);
    let dylib = session.create_dylib("main").unwrap();
    let (first, _) = link(&session, &dylib, "first", large("first", 600_000));
    for round in 0..3 {
        let tracker = dylib.create_tracker();
        tracker.define(function("second"), emitting(large("second", 600_000))).unwrap();
        let used = session.slab().bytes();
        let error = session.lookup(&dylib, "second").unwrap_err();
        let OrcError::Materialize { reports, .. } = &error else { panic!("{error}") };
        assert!(reports[0].contains("the code memory is full: of 1048576 bytes"), "{error}");
        assert_eq!(session.slab().bytes(), used);
        tracker.remove().unwrap();
        // Smaller objects still fit.
        let (small, address) = link(&session, &dylib, "small", constant("small", round));
        assert_eq!(call(address), round);
        small.remove().unwrap();
    }
    first.remove().unwrap();
    let (_second, address) = link(&session, &dylib, "second", large("second", 600_000));
    assert_eq!(call(address), 7);
}

#[test]
fn limits_are_bounded() {
    for limit in [0, u64::MAX] {
        let session = session_of(limit);
        let dylib = session.create_dylib("main").unwrap();
        assert_eq!(call(link(&session, &dylib, "f", constant("f", 1)).1), 1);
    }
}

#[test]
fn a_limit_can_be_moved() {
    let (session, dylib) = session();
    let (_first, address) = link(&session, &dylib, "first", constant("first", 1));
    for (limit, fits) in [(0, false), (64, false), (127, false), (128, true), (u64::MAX, true)] {
        session.slab().set_limit(limit);
        let tracker = dylib.create_tracker();
        tracker.define(function("second"), emitting(constant("second", 2))).unwrap();
        assert_eq!(session.lookup(&dylib, "second").is_ok(), fits, "{limit}");
        tracker.remove().unwrap();
        assert_eq!((call(address), session.slab().bytes()), (1, 64));
    }
}

#[test]
fn sections_to_write_and_execute_are_refused() {
    let (session, dylib) = session();
    let tracker = dylib.create_tracker();
    let code = object(
        "module asm \".section both,\\22awx\\22,@progbits\"
         module asm \".globl f\"
         module asm \"f: ret\"",
    );
    tracker.define(function("f"), emitting(code)).unwrap();
    let error = session.lookup(&dylib, "f").unwrap_err().to_string();
    assert!(error.contains("both writable and executable"), "{error}");
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    assert!(maps.contains("r-xs") && maps.contains("rw-s"), "{maps}");
    assert!(!maps.lines().any(|map| map.contains("rwx")), "{maps}");
}

#[test]
fn threads_link_and_remove_at_once() {
    const EACH: usize = 2000;
    let (session, dylib) = session();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (session, dylib) = (&session, &dylib);
            scope.spawn(move || {
                let constants = Constants::new();
                let mut kept = Vec::new();
                for index in (thread * EACH..).take(EACH) {
                    let (name, code) = constants.get(index);
                    let (tracker, address) = link(session, dylib, &name, code);
                    let value = i64::try_from(index).unwrap();
                    assert_eq!(call(address), value);
                    kept.push((tracker, address, value));
                    if index % 3 == 0 {
                        let (tracker, ..) = kept.swap_remove(kept.len() / 2);
                        tracker.remove().unwrap();
                    }
                }
                for (tracker, address, value) in kept {
                    assert_eq!(call(address), value);
                    tracker.remove().unwrap();
                }
            });
        }
    });
    assert_eq!(session.slab().bytes(), 0);
}

#[test]
fn many_functions_take_little_memory() {
    alone("memory::tests::many_functions_take_little_memory", || {
        const COUNT: usize = 100_000;
        let (session, dylib) = session();
        let constants = Constants::new();
        let link = |index| {
            let (name, code) = constants.get(index);
            link(&session, &dylib, &name, code)
        };
        // The fixed cost of a session.
        (COUNT..COUNT + 100).for_each(|index| drop(link(index)));
        let (bytes, maps, code, start) =
            (resident_bytes(), memory_maps(), session.slab().bytes(), Instant::now());
        let linked: Vec<_> = (0..COUNT).map(link).collect();
        let took = start.elapsed() / COUNT as u32;
        for (value, (_, address)) in (0..).zip(&linked) {
            assert_eq!(call(*address), value);
        }
        let each = (resident_bytes() - bytes) / COUNT;
        let code = (session.slab().bytes() - code) / COUNT as u64;
        println!("a linked function takes {took:?} and {each} bytes, {code} of them code");
        assert!(each < 1536, "{each} bytes each");
        // Growing the heap may add a few.
        assert!(memory_maps() < maps + 20, "{maps} maps became {}", memory_maps());
        let addresses: BTreeSet<_> = linked.iter().map(|(_, address)| *address).collect();
        assert_eq!(addresses.len(), COUNT);
        let (before, code) = (resident_bytes(), session.slab().bytes());
        for (tracker, _) in linked {
            tracker.remove().unwrap();
        }
        let (freed, code) = (before - resident_bytes(), (code - session.slab().bytes()) as usize);
        assert_eq!(code, COUNT * 64);
        assert!(freed > code, "{freed} bytes came back");
    });
}

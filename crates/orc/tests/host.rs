//! A session and the process that it lives in: forks, and what a host is told.

#![allow(unsafe_code)]

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine};
use kal_code::{Address, ForkCallbacks, Host, SlabOptions};
use kal_orc::{Dylib, Session, SessionOptions};
use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Held by each test: no other thread may use a session during a fork.
static TURN: Mutex<()> = Mutex::new(());

/// Compiles an object that defines `name`, a function that returns `value`.
fn constant(name: &str, value: i64) -> Vec<u8> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let (level, reloc, model) = (OptimizationLevel::None, RelocMode::PIC, CodeModel::Small);
    let target = Target::from_triple(&triple).expect("the host is a target");
    let machine = target.create_target_machine(&triple, "generic", "", level, reloc, model);
    let ir = format!("define i64 @{name}() nounwind {{ ret i64 {value} }}");
    let text = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "test");
    let context = Context::create();
    let module = context.create_module_from_ir(text).expect("the IR is right");
    let machine = machine.expect("the host is a machine");
    let object = machine.write_to_memory_buffer(&module, FileType::Object).expect("it compiles");
    object.as_slice().to_vec()
}

/// Links an object and calls the function in it.
fn answer(session: &Session, dylib: &Dylib, name: &str, object: &[u8]) -> i64 {
    call(link(session, dylib, name, object))
}

fn link(session: &Session, dylib: &Dylib, name: &str, object: &[u8]) -> Address {
    dylib.create_tracker().add_object(object).expect("the name is free");
    session.lookup(dylib, name).expect("it is there")
}

fn call(address: Address) -> i64 {
    // SAFETY: only addresses of `constant`s are given, which are never removed.
    let function = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> i64>(address.as_ptr()) };
    function()
}

/// A host that counts what it is told.
#[derive(Debug, Default)]
struct Counting {
    forks: AtomicUsize,
    steady: AtomicUsize,
}

impl Host for Counting {
    fn at_fork(&self, _: ForkCallbacks) {
        self.forks.fetch_add(1, SeqCst);
    }

    fn steady(&self, work: &mut dyn FnMut()) {
        self.steady.fetch_add(1, SeqCst);
        work();
    }

    fn waiting(&self, work: &mut dyn FnMut()) {
        work();
    }
}

#[test]
fn a_host_is_told_of_the_beginning_and_the_end_of_a_session() {
    let _turn = TURN.lock();
    static HOST: Counting = Counting { forks: AtomicUsize::new(0), steady: AtomicUsize::new(0) };
    let session = Session::new(&SessionOptions {
        slab: SlabOptions { host: &HOST, ..SlabOptions::default() },
        debug_objects: false,
    })
    .unwrap();
    let dylib = session.create_dylib("main").unwrap();
    assert_eq!(answer(&session, &dylib, "f", &constant("f", 3)), 3);
    // The beginnings of the slab and of the session, and the room of `f`.
    assert_eq!((HOST.forks.load(SeqCst), HOST.steady.load(SeqCst)), (1, 3));
    drop((session, dylib));
    assert_eq!((HOST.forks.load(SeqCst), HOST.steady.load(SeqCst)), (1, 6));
}

#[test]
fn a_child_runs_the_code_of_its_parent_and_links_its_own() {
    let _turn = TURN.lock();
    let objects = [constant("before", 40), constant("after", 2), constant("parent", 7)];
    let session = Session::new(&SessionOptions::default()).unwrap();
    let dylib = session.create_dylib("main").unwrap();
    let before = link(&session, &dylib, "before", &objects[0]);
    let (mut go, parent_has_linked) = std::io::pipe().unwrap();
    // SAFETY: the child only waits, links and calls code, then ends without
    // destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let _ = go.read_exact(&mut [0]);
        let sum = call(before) + answer(&session, &dylib, "after", &objects[1]);
        // SAFETY: ends the process.
        unsafe { libc::_exit(sum as i32) };
    }
    let parent = link(&session, &dylib, "parent", &objects[2]);
    (&parent_has_linked).write_all(&[1]).unwrap();
    let mut status = 0;
    // SAFETY: waits for the child of above, and writes to a valid place.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status));
    // The child has used the same addresses, in memory of its own.
    assert_eq!((libc::WEXITSTATUS(status), call(before), call(parent)), (42, 40, 7));
}

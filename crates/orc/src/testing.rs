//! Objects and units for the tests of this module.

#![allow(unsafe_code)]

use std::env;
use std::fs;
use std::process::Command;

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine};

use kal_code::Address;

use super::{Dylib, MaterializationUnit, Responsibility, Session, SessionOptions, SymbolFlags};

pub(super) fn session() -> (Session, Dylib) {
    let session = Session::new(&SessionOptions::default()).expect("the host can");
    let dylib = session.create_dylib("main").expect("the name is free");
    (session, dylib)
}

/// Compiles textual IR to an object.
pub(super) fn object(ir: &str) -> Vec<u8> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let machine = Target::from_triple(&triple)
        .expect("the host is a target")
        .create_target_machine(
            &triple,
            "generic",
            "",
            OptimizationLevel::None,
            RelocMode::PIC,
            CodeModel::Small,
        )
        .expect("the host is a machine");
    let context = Context::create();
    let text = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "test");
    let module = context.create_module_from_ir(text).expect("the IR is right");
    let object = machine.write_to_memory_buffer(&module, FileType::Object).expect("it compiles");
    object.as_slice().to_vec()
}

/// Compiles an object that defines `name`, a function that returns `value`.
pub(super) fn constant(name: &str, value: i64) -> Vec<u8> {
    object(&format!("define i64 @{name}() nounwind {{ ret i64 {value} }}"))
}

/// Makes objects as [`constant`] does, but a thousand times as fast.
pub(super) struct Constants {
    object: Vec<u8>,
    name: usize,
    value: usize,
}

impl Constants {
    const NAME: &str = "function_0000000";
    const VALUE: i64 = 0x0123_4567_89ab_cdef;

    pub(super) fn new() -> Self {
        let object = constant(Self::NAME, Self::VALUE);
        let find = |wanted: &[u8]| {
            object.windows(wanted.len()).position(|bytes| bytes == wanted).expect("it is in there")
        };
        let (name, value) = (find(Self::NAME.as_bytes()), find(&Self::VALUE.to_le_bytes()));
        Self { object, name, value }
    }

    /// Returns the name and the object of a function that returns `index`.
    pub(super) fn get(&self, index: usize) -> (String, Vec<u8>) {
        let name = format!("function_{index:07}");
        let mut object = self.object.clone();
        object[self.name..][..name.len()].copy_from_slice(name.as_bytes());
        object[self.value..][..8].copy_from_slice(&index.to_le_bytes());
        (name, object)
    }
}

/// A unit that runs a closure.
pub(super) struct ClosureUnit<F>(pub(super) F);

impl<F: FnOnce(Responsibility) + Send> MaterializationUnit for ClosureUnit<F> {
    fn name(&self) -> &'static str {
        "run"
    }

    fn materialize(self: Box<Self>, responsibility: Responsibility) {
        (self.0)(responsibility);
    }
}

/// Creates a unit that emits an object.
pub(super) fn emitting(object: Vec<u8>) -> Box<dyn MaterializationUnit> {
    Box::new(ClosureUnit(move |responsibility: Responsibility| responsibility.emit_object(&object)))
}

/// Returns `name` as a function, for [`super::Tracker::define`].
pub(super) fn function(name: &str) -> [(&str, SymbolFlags); 1] {
    [(name, SymbolFlags::FUNCTION)]
}

/// Calls a function that [`constant`] compiled.
pub(super) fn call(address: Address) -> i64 {
    // SAFETY: the tests call this only with the address of a living function of
    // this type.
    let function = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> i64>(address.as_ptr()) };
    function()
}

/// Runs `body` in a process of its own, so that its measurements are not
/// disturbed. `test` is the full path of the calling test.
pub(super) fn alone(test: &str, body: impl FnOnce()) {
    const MARK: &str = "ORC_TEST_ALONE";
    if env::var_os(MARK).is_some() {
        return body();
    }
    let program = env::current_exe().expect("the test has a binary");
    let arguments = ["--exact", test, "--nocapture"];
    let output = Command::new(program).args(arguments).env(MARK, "1").output().expect("it runs again");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
    print!("{out}");
}

/// Returns the resident memory of this process in bytes.
pub(super) fn resident_bytes() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("this is Linux");
    let pages: usize = statm.split(' ').nth(1).and_then(|field| field.parse().ok()).expect("a number");
    pages * 4096
}

/// Returns the number of memory maps of this process.
pub(super) fn memory_maps() -> usize {
    fs::read_to_string("/proc/self/maps").expect("this is Linux").lines().count()
}

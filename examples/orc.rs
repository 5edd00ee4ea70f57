//! A tiny lazy JIT on `kal::orc` alone: two functions, compiled when they are
//! first called; then one is redefined, and its caller sees it.
//!
//! A name is a *slot*, a word that says where to go: first to a trampoline,
//! which has the function compiled, then to its code. Callers know only slots,
//! so to redefine is to remove the old code, promise the new, and point the slot
//! at the trampoline again. Run it with `cargo run --example orc`.

#![allow(unsafe_code)]

use std::collections::HashMap;
use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine};
use kal::orc::{
    Address, Dylib, MaterializationUnit, Responsibility, Session, SessionOptions, SymbolFlags, Tracker,
    TrampolinePool,
};

const SQUARE: &str = "define double @square(double %x) { %r = fmul double %x, %x ret double %r }";
const CUBE: &str = "define double @square(double %x) {
    %s = fmul double %x, %x %r = fmul double %s, %x ret double %r }";
const TWICE: &str = "@square.slot = external global ptr
    define double @twice(double %x) {
        %square = load ptr, ptr @square.slot
        %y = call double %square(double %x)
        %r = fadd double %y, %y
        ret double %r }";

fn main() -> Result<(), Box<dyn Error>> {
    let jit = Jit::new()?;
    jit.define("twice", TWICE)?;
    jit.define("square", SQUARE)?;
    println!("twice(3) = {}", jit.call("twice", 3.0));
    println!("twice(4) = {}", jit.call("twice", 4.0));
    jit.define("square", CUBE)?;
    println!("twice(3) = {}", jit.call("twice", 3.0));
    Ok(())
}

struct Function {
    slot: Arc<AtomicU64>,
    trampoline: Address,
    code: Tracker,
}

struct Jit {
    session: Session,
    dylib: Dylib,
    trampolines: TrampolinePool,
    functions: Mutex<HashMap<&'static str, Function>>,
}

impl Jit {
    fn new() -> Result<Arc<Self>, Box<dyn Error>> {
        let session = Session::new(&SessionOptions::default())?;
        let dylib = session.create_dylib("main")?;
        Ok(Arc::new_cyclic(|jit: &Weak<Self>| {
            let jit = jit.clone();
            let land = move |trampoline| jit.upgrade().map_or_else(nowhere, |jit| jit.first_call(trampoline));
            let trampolines = TrampolinePool::new(land, nowhere()).expect("the host has memory");
            Self { session, dylib, trampolines, functions: Mutex::default() }
        }))
    }

    /// Promises `name`, instead of its former definition if there is one.
    fn define(&self, name: &'static str, ir: &'static str) -> Result<(), Box<dyn Error>> {
        let mut functions = self.functions.lock().expect("nobody panics");
        let code = self.dylib.create_tracker();
        let (slot, trampoline) = match functions.remove(name) {
            Some(old) => {
                old.code.remove()?;
                (old.slot, old.trampoline)
            }
            None => (Arc::default(), self.trampolines.get()?),
        };
        code.define([(name, SymbolFlags::FUNCTION)], Box::new(Source { name, ir }))?;
        code.define_absolute([(&*format!("{name}.slot"), Address::of(slot.as_ptr()))])?;
        slot.store(trampoline.get(), Ordering::Release);
        functions.insert(name, Function { slot, trampoline, code });
        Ok(())
    }

    /// Where native code goes on that has called `trampoline`.
    fn first_call(&self, trampoline: Address) -> Address {
        let functions = self.functions.lock().expect("nobody panics");
        let (name, function) = functions
            .iter()
            .find(|(_, function)| function.trampoline == trampoline)
            .expect("every trampoline has its function");
        println!("  {name} is called for the first time");
        let address = self.session.lookup(&self.dylib, name).unwrap_or_else(|error| {
            eprintln!("{error}");
            nowhere()
        });
        function.slot.store(address.get(), Ordering::Release);
        address
    }

    fn call(&self, name: &str, x: f64) -> f64 {
        let slot = self.functions.lock().expect("nobody panics")[name].slot.clone();
        let address = Address::new(slot.load(Ordering::Acquire));
        // SAFETY: all functions have this type, and none is removed while it runs.
        let function =
            unsafe { std::mem::transmute::<*const (), extern "C" fn(f64) -> f64>(address.as_ptr()) };
        function(x)
    }
}

/// Where calls end that cannot be served.
fn nowhere() -> Address {
    extern "C" fn nan(_: f64) -> f64 {
        f64::NAN
    }
    Address::of(nan as *const ())
}

/// A function that is still text.
struct Source {
    name: &'static str,
    ir: &'static str,
}

impl MaterializationUnit for Source {
    fn name(&self) -> &str {
        self.name
    }

    fn materialize(self: Box<Self>, responsibility: Responsibility) {
        match compile(self.ir) {
            Ok(object) => responsibility.emit_object(object.as_slice()),
            Err(error) => responsibility.fail(error.to_string()),
        }
    }
}

/// Nothing here is shared with other threads, so any number of them may compile.
fn compile(ir: &str) -> Result<MemoryBuffer<'static>, Box<dyn Error>> {
    Target::initialize_native(&InitializationConfig::default())?;
    let triple = TargetMachine::get_default_triple();
    let machine = Target::from_triple(&triple)?
        .create_target_machine(
            &triple,
            "generic",
            "",
            OptimizationLevel::Default,
            RelocMode::PIC,
            CodeModel::Small,
        )
        .ok_or("LLVM does not know this machine")?;
    let context = Context::create();
    let module =
        context.create_module_from_ir(MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "ir"))?;
    Ok(machine.write_to_memory_buffer(&module, FileType::Object)?)
}

//! A tiny lazy JIT on `kal_orc` and `kal_code` alone: two functions, compiled when they are
//! first called; then one is redefined, and its caller sees it.
//!
//! A name is a *slot*, a word that says where to go: first to a trampoline,
//! which has the function compiled, then to its code. Callers know only slots,
//! so to redefine is to remove the old code, promise the new, and point the slot
//! at the trampoline again. Run it with `cargo run --example lazy`.

#![allow(unsafe_code)]

use std::error::Error;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{FileType, InitializationConfig, RelocMode};
use inkwell::targets::{Target, TargetMachine, TargetMachineOptions};
use kal_code::{Address, TrampolinePool};
use kal_orc::{DefineError, Dylib, MaterializationUnit, Responsibility, Session, SessionOptions};
use kal_orc::{SymbolFlags, Tracker};

const TWICE: &str = "@square.slot = external global ptr
    define double @twice(double %x) {
        %square = load ptr, ptr @square.slot
        %y = call double %square(double %x)
        %r = fadd double %y, %y
        ret double %r }";
const SQUARE: &str = "define double @square(double %x) { %r = fmul double %x, %x ret double %r }";
const CUBE: &str = "define double @square(double %x) {
    %s = fmul double %x, %x %r = fmul double %s, %x ret double %r }";

/// A name, and where calls of it go.
struct Name {
    text: &'static str,
    slot: AtomicU64,
    trampoline: AtomicU64,
}

static NAMES: [Name; 2] = [Name::new("twice"), Name::new("square")];

fn main() -> Result<(), Box<dyn Error>> {
    let [three, four, redefined] = answers()?;
    println!("twice(3) = {three}, twice(4) = {four}; with the other square, twice(3) = {redefined}");
    Ok(())
}

/// Returns what `twice` answers for 3 and 4, and for 3 once `square` is another.
fn answers() -> Result<[f64; 3], Box<dyn Error>> {
    let session = Session::new(&SessionOptions::default())?;
    let dylib = session.create_dylib("main")?;
    let (its_session, its_dylib) = (session.clone(), dylib.clone());
    let trampolines = TrampolinePool::new(move |it| first_call(&its_session, &its_dylib, it), nowhere())?;
    trampolines.reserve(NAMES.len())?;
    for (number, name) in NAMES.iter().enumerate() {
        let trampoline = trampolines.address(number).expect("it was reserved");
        name.trampoline.store(trampoline.get(), SeqCst);
        dylib.define_absolute([(&*format!("{}.slot", name.text), Address::of(name.slot.as_ptr()))])?;
    }
    let [twice, square] = &NAMES;
    twice.promise(&dylib, TWICE)?;
    let old = square.promise(&dylib, SQUARE)?;
    let (three, four) = (twice.call(3.0), twice.call(4.0));
    old.remove()?;
    square.promise(&dylib, CUBE)?;
    Ok([three, four, twice.call(3.0)])
}

impl Name {
    const fn new(text: &'static str) -> Self {
        Self { text, slot: AtomicU64::new(0), trampoline: AtomicU64::new(0) }
    }

    /// Registers `ir` to be compiled when the name is next called.
    fn promise(&self, dylib: &Dylib, ir: &'static str) -> Result<Tracker, DefineError> {
        let code = dylib.create_tracker();
        code.define([(self.text, SymbolFlags::FUNCTION)], Box::new(Source(ir)))?;
        self.slot.store(self.trampoline.load(SeqCst), SeqCst);
        Ok(code)
    }

    fn call(&self, x: f64) -> f64 {
        let code = Address::new(self.slot.load(SeqCst)).as_ptr::<()>();
        // SAFETY: all functions have this type, and none is removed while it runs.
        let code = unsafe { std::mem::transmute::<*const (), extern "C" fn(f64) -> f64>(code) };
        code(x)
    }
}

/// Returns the address where a call of `trampoline` continues.
fn first_call(session: &Session, dylib: &Dylib, trampoline: Address) -> Address {
    let mine = |name: &&Name| name.trampoline.load(SeqCst) == trampoline.get();
    let name = NAMES.iter().find(mine).expect("every trampoline has its name");
    println!("  {} is called for the first time", name.text);
    // If this panics, the call ends nowhere.
    let code = session.lookup(dylib, name.text).expect("the text is right");
    name.slot.store(code.get(), SeqCst);
    code
}

fn nowhere() -> Address {
    extern "C" fn nan(_: f64) -> f64 {
        f64::NAN
    }
    Address::of(nan as *const ())
}

/// A function that is still LLVM assembly.
struct Source(&'static str);

impl MaterializationUnit for Source {
    fn name(&self) -> &'static str {
        "source"
    }

    fn materialize(self: Box<Self>, responsibility: Responsibility) {
        match compile(self.0) {
            Ok(object) => responsibility.emit_object(object.as_slice()),
            Err(error) => responsibility.fail(error.to_string()),
        }
    }
}

/// Compiles assembly to an object. Nothing is shared with other threads, so any
/// number of them may compile.
fn compile(ir: &str) -> Result<MemoryBuffer<'static>, Box<dyn Error>> {
    Target::initialize_x86(&InitializationConfig::default());
    let triple = TargetMachine::get_default_triple();
    let options = TargetMachineOptions::new().set_reloc_mode(RelocMode::PIC);
    let machine = Target::from_triple(&triple)?.create_target_machine_from_options(&triple, options);
    let machine = machine.ok_or("LLVM does not know this machine")?;
    let context = Context::create();
    let text = MemoryBuffer::create_from_memory_range_copy(ir.as_bytes(), "ir");
    let module = context.create_module_from_ir(text)?;
    Ok(machine.write_to_memory_buffer(&module, FileType::Object)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn callers_see_the_redefinition() {
        assert_eq!(super::answers().expect("all of it compiles"), [18.0, 32.0, 54.0]);
    }
}

//! A host of Kal that uses LLVM by itself, through inkwell: MCJIT, assembly for
//! other machines, IR as text. `make hosts` builds and runs it.
#![allow(unsafe_code)]

use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetTriple};

const IR: &str = "define i64 @sum(i64 %a, i64 %b) { %r = add i64 %a, %b ret i64 %r }\0";

fn main() {
    uses_llvm();
    let engine = kal::Engine::new().expect("Kal starts");
    let mut context = engine.context().expect("Kal starts");
    assert_eq!(context.eval("def f(x) x * 2; f(21)").expect("it runs"), Some(42.0));
    uses_llvm();
    assert_eq!(context.call("f", &[4.0]).expect("it runs"), 8.0);
    println!("inkwell and Kal get on with each other");
}

fn uses_llvm() {
    Target::initialize_native(&InitializationConfig::default()).expect("this machine is known");
    Target::initialize_all(&InitializationConfig::default());
    let context = Context::create();
    let buffer = MemoryBuffer::create_from_memory_range_copy(IR.as_bytes(), "sum");
    let module = context.create_module_from_ir(buffer).expect("it is right");
    let triple = TargetTriple::create("aarch64-unknown-linux-gnu");
    let machine = Target::from_triple(&triple)
        .expect("all targets are there")
        .create_target_machine(&triple, "", "", OptimizationLevel::Default, RelocMode::PIC, CodeModel::Default)
        .expect("it can be compiled for");
    let assembly = machine.write_to_memory_buffer(&module, FileType::Assembly).expect("it is assembly");
    assert!(String::from_utf8_lossy(assembly.as_slice()).contains("add\tx0"));
    let jit = module.create_jit_execution_engine(OptimizationLevel::Default).expect("MCJIT starts");
    type Sum = unsafe extern "C" fn(i64, i64) -> i64;
    // SAFETY: the IR above gives the function this type.
    let sum = unsafe { jit.get_function::<Sum>("sum").expect("it is defined").call(40, 2) };
    assert_eq!(sum, 42);
}

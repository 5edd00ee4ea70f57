//! The reusable pass and codegen pipelines of `pipeline.cpp`.
//!
//! Two rules of that file are enforced by types: a pipeline is used by one
//! thread at a time (`&mut self`, and it is not `Sync`), and bytes it lends are
//! copied before its next use.
#![allow(unsafe_code)]

use crate::abi::{CONTEXT_FREE, ENVIRONMENT_FREE};
use crate::codegen::error::CodegenError;
use crate::codegen::options::Level;
use crate::process;
use inkwell::module::Module;
use inkwell::targets::{TargetMachine, TargetTriple};
use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::prelude::LLVMModuleRef;
use llvm_sys::target_machine::LLVMTargetMachineRef;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr::{self, NonNull};
use std::sync::Once;

// SAFETY: these are the functions of `pipeline.cpp`, with C linkage and these
// very signatures.
unsafe extern "C" {
    fn kal_pipeline_build_registry();
    fn kal_pipeline_initialize();
    fn kal_pipeline_features(host: *const c_char, cpu: *const c_char) -> *mut c_char;
    fn kal_pipeline_make_statics(machine: LLVMTargetMachineRef, level: c_uint, watch: extern "C" fn());
    fn kal_pipeline_create(
        machine: LLVMTargetMachineRef,
        level: c_uint,
        loops: c_uint,
        message: *mut *mut c_char,
    ) -> *mut c_void;
    fn kal_pipeline_dispose(pipeline: *mut c_void);
    fn kal_pipeline_prepare(pipeline: *mut c_void, module: LLVMModuleRef, keep_names: bool);
    fn kal_pipeline_optimize(pipeline: *mut c_void, module: LLVMModuleRef);
    fn kal_pipeline_round(pipeline: *mut c_void, module: LLVMModuleRef);
    fn kal_pipeline_mark(module: LLVMModuleRef, context_free: u64, environment_free: u64);
    fn kal_pipeline_emit(
        pipeline: *mut c_void,
        module: LLVMModuleRef,
        bytes: *mut *const u8,
        size: *mut usize,
    );
}

/// Builds LLVM's table of passes, which the exit of the process destroys.
pub(super) fn build_registry() {
    // SAFETY: it has no preconditions.
    unsafe { kal_pipeline_build_registry() }
}

/// Registers this machine's target with LLVM. Called once.
pub(super) fn initialize() {
    // SAFETY: it has no preconditions; the caller ensures that no other thread
    // uses LLVM's table of targets meanwhile.
    unsafe { kal_pipeline_initialize() }
}

/// Returns the CPU features to compile for on this machine, besides those that
/// the name of its processor implies.
pub(super) fn features(host: &TargetTriple, cpu: &CStr) -> String {
    // SAFETY: both texts end with a NUL; the result does, and is ours to
    // dispose of.
    unsafe {
        let features = kal_pipeline_features(host.as_str().as_ptr(), cpu.as_ptr());
        let text = CStr::from_ptr(features).to_string_lossy().into_owned();
        LLVMDisposeMessage(features);
        text
    }
}

/// What loops the functions of a module have, which says what passes they need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Loops {
    /// Neither loops nor recursion, which optimisation may turn into loops.
    None,
    /// Loops or recursion, maybe.
    Any,
    /// A loop over the rows of columns, whose body is vectors.
    Rows,
    /// The same with a long body.
    LongRows,
}

/// IR passes and object emission, built once, run for many modules.
pub(super) struct Pipeline(NonNull<c_void>);

impl Pipeline {
    /// Creates a pipeline for `machine`, which must outlive it, and for modules with such loops.
    pub(super) fn new(machine: &TargetMachine, level: Level, loops: Loops) -> Result<Self, CodegenError> {
        /// Makes an exit that begins now wait before it destroys what has been made.
        extern "C" fn watch() {
            process::watch_exit();
        }
        static MADE: [Once; 4] = [const { Once::new() }; 4];
        // SAFETY: the machine is alive.
        let make = || unsafe { kal_pipeline_make_statics(machine.as_mut_ptr(), level as c_uint, watch) };
        MADE[level as usize].call_once(make);
        let mut message = ptr::null_mut();
        // SAFETY: the machine is alive, and `message` is set exactly when null
        // is returned; it is then ours to dispose of.
        unsafe {
            let pipeline =
                kal_pipeline_create(machine.as_mut_ptr(), level as c_uint, loops as c_uint, &raw mut message);
            NonNull::new(pipeline).map(Self).ok_or_else(|| {
                let text = CStr::from_ptr(message).to_string_lossy().into_owned();
                LLVMDisposeMessage(message);
                CodegenError::Target(text)
            })
        }
    }

    /// Prepares an empty module for the target. Its values have names only if
    /// `keep_names` is set.
    pub(super) fn prepare(&mut self, module: &Module<'_>, keep_names: bool) {
        // SAFETY: both are alive, and `&mut self` makes this the only use.
        unsafe { kal_pipeline_prepare(self.0.as_ptr(), module.as_mut_ptr(), keep_names) }
    }

    /// Runs the IR passes.
    pub(super) fn optimize(&mut self, module: &Module<'_>) {
        // SAFETY: both are alive, and `&mut self` makes this the only use.
        unsafe { kal_pipeline_optimize(self.0.as_ptr(), module.as_mut_ptr()) }
    }

    /// Makes functions of an optimised module say how they round, where all of their instructions can.
    pub(super) fn round(&mut self, module: &Module<'_>) {
        // SAFETY: both are alive, and `&mut self` makes this the only use.
        unsafe { kal_pipeline_round(self.0.as_ptr(), module.as_mut_ptr()) }
    }

    /// Marks the [context-free](CONTEXT_FREE) and the [environment-free](ENVIRONMENT_FREE) bodies of
    /// an optimised module.
    pub(super) fn mark(&mut self, module: &Module<'_>) {
        // SAFETY: it is alive, and `&mut self` makes this the only use.
        unsafe { kal_pipeline_mark(module.as_mut_ptr(), CONTEXT_FREE, ENVIRONMENT_FREE) }
    }

    /// Emits the module as an object file.
    pub(super) fn emit(&mut self, module: &Module<'_>) -> Vec<u8> {
        let (mut bytes, mut size) = (ptr::null(), 0);
        // SAFETY: both are alive, and `&mut self` makes this the only use; the
        // bytes are valid until the next use, and copied here.
        unsafe {
            kal_pipeline_emit(self.0.as_ptr(), module.as_mut_ptr(), &raw mut bytes, &raw mut size);
            std::slice::from_raw_parts(bytes, size).to_vec()
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // SAFETY: made by `kal_pipeline_create`, disposed of once.
        unsafe { kal_pipeline_dispose(self.0.as_ptr()) }
    }
}

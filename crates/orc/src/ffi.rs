//! Declarations of the functions of `shim.cpp`, `slab.cpp` and
//! `trampolines.cpp`; their contracts are written there.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

use llvm_sys::error::LLVMErrorRef;
use llvm_sys::orc2::{
    LLVMOrcCSymbolFlagsMapPairs, LLVMOrcExecutionSessionRef, LLVMOrcJITDylibRef,
    LLVMOrcMaterializationResponsibilityRef, LLVMOrcMaterializationUnitDestroyFunction,
    LLVMOrcMaterializationUnitDiscardFunction, LLVMOrcMaterializationUnitMaterializeFunction,
    LLVMOrcMaterializationUnitRef, LLVMOrcObjectLayerRef, LLVMOrcResourceTrackerRef,
};
use llvm_sys::prelude::LLVMMemoryBufferRef;

/// `Session` in `shim.cpp`.
#[repr(C)]
pub(super) struct OrcShimSession {
    _opaque: [u8; 0],
}

/// `Memory` in `shim.cpp`.
#[repr(C)]
pub(super) struct OrcShimMemory {
    _opaque: [u8; 0],
}

/// `Lookup` in `shim.cpp`.
#[repr(C)]
pub(super) struct OrcShimLookup {
    _opaque: [u8; 0],
}

/// `Trampolines` in `trampolines.cpp`.
#[repr(C)]
pub(super) struct OrcShimTrampolines {
    _opaque: [u8; 0],
}

pub(super) type LandingFunction = extern "C" fn(context: *mut c_void, trampoline: u64) -> u64;

pub(super) type FindFunction =
    extern "C" fn(context: *mut c_void, name: *const c_char, length: usize, value: *mut u64) -> c_int;

pub(super) type ReleaseFunction = extern "C" fn(context: *mut c_void);

unsafe extern "C" {
    pub(super) safe fn orc_slabs_before_fork();
    pub(super) safe fn orc_slabs_after_fork_in_parent();
    pub(super) safe fn orc_slabs_after_fork_in_child();
    pub(super) fn orc_shim_memory_create(
        limit: u64,
        anonymous: bool,
        result: *mut *mut OrcShimMemory,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_memory_destroy(memory: *mut OrcShimMemory);
    pub(super) fn orc_shim_memory_perf_map(memory: *mut OrcShimMemory, path: *const c_char) -> LLVMErrorRef;
    pub(super) fn orc_shim_memory_take_room(
        memory: *mut OrcShimMemory,
        bytes: u64,
        alignment: u64,
        handle: *mut u64,
        executable: *mut *mut u8,
        writable: *mut *mut u8,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_memory_give_room(memory: *mut OrcShimMemory, handle: u64);
    pub(super) fn orc_shim_memory_name_code(
        memory: *mut OrcShimMemory,
        address: u64,
        size: u64,
        name: *const c_char,
        length: usize,
    );
    pub(super) fn orc_shim_memory_bytes(memory: *mut OrcShimMemory) -> u64;
    pub(super) fn orc_shim_memory_set_limit(memory: *mut OrcShimMemory, bytes: u64);
    pub(super) fn orc_shim_session_create(
        memory: *mut OrcShimMemory,
        result: *mut *mut OrcShimSession,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_session_constants(
        session: *mut OrcShimSession,
        context: *mut c_void,
        find: FindFunction,
        release: ReleaseFunction,
    );
    pub(super) fn orc_shim_session_debug_objects(session: *mut OrcShimSession) -> LLVMErrorRef;
    pub(super) fn orc_shim_session_end(session: *mut OrcShimSession) -> LLVMErrorRef;
    pub(super) fn orc_shim_session_destroy(session: *mut OrcShimSession);
    pub(super) fn orc_shim_session_execution_session(
        session: *mut OrcShimSession,
    ) -> LLVMOrcExecutionSessionRef;
    pub(super) fn orc_shim_session_object_layer(session: *mut OrcShimSession) -> LLVMOrcObjectLayerRef;
    pub(super) fn orc_shim_lookup_start(
        session: *mut OrcShimSession,
        dylib: LLVMOrcJITDylibRef,
        name: *const c_char,
        length: usize,
    ) -> *mut OrcShimLookup;
    pub(super) fn orc_shim_lookup_is_done(lookup: *mut OrcShimLookup) -> bool;
    pub(super) fn orc_shim_lookup_wait(lookup: *mut OrcShimLookup);
    pub(super) fn orc_shim_lookup_finish(
        lookup: *mut OrcShimLookup,
        address: *mut u64,
        not_found: *mut bool,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_define(
        dylib: LLVMOrcJITDylibRef,
        unit: LLVMOrcMaterializationUnitRef,
        tracker: LLVMOrcResourceTrackerRef,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_define_unit(
        dylib: LLVMOrcJITDylibRef,
        symbols: LLVMOrcCSymbolFlagsMapPairs,
        count: usize,
        context: *mut c_void,
        materialize: LLVMOrcMaterializationUnitMaterializeFunction,
        discard: LLVMOrcMaterializationUnitDiscardFunction,
        destroy: LLVMOrcMaterializationUnitDestroyFunction,
        tracker: LLVMOrcResourceTrackerRef,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_set_link_order(
        dylib: LLVMOrcJITDylibRef,
        others: *const LLVMOrcJITDylibRef,
        count: usize,
    );
    pub(super) fn orc_shim_emit(
        session: *mut OrcShimSession,
        responsibility: LLVMOrcMaterializationResponsibilityRef,
        object: LLVMMemoryBufferRef,
    );
    pub(super) fn orc_shim_trampolines_create(
        landing: LandingFunction,
        context: *mut c_void,
        result: *mut *mut OrcShimTrampolines,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_trampolines_destroy(trampolines: *mut OrcShimTrampolines);
    pub(super) fn orc_shim_trampolines_get(
        trampolines: *mut OrcShimTrampolines,
        address: *mut u64,
    ) -> LLVMErrorRef;
    pub(super) fn orc_shim_trampolines_release(trampolines: *mut OrcShimTrampolines, address: u64);
}

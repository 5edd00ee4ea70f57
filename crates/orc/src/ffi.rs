//! Declarations of the functions of `shim.cpp`, and of what they take; their contracts are
//! written there and in `memory.h`.

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

/// `Lookup` in `shim.cpp`.
#[repr(C)]
pub(super) struct OrcShimLookup {
    _opaque: [u8; 0],
}

/// `OrcShimRoom` in `memory.h`.
#[repr(C)]
pub(super) struct OrcShimRoom {
    pub(super) handle: u64,
    pub(super) executable: *mut u8,
    pub(super) writable: *mut u8,
}

/// `OrcShimSlab` in `memory.h`.
#[repr(C)]
pub(super) struct OrcShimSlab {
    pub(super) context: *mut c_void,
    pub(super) take: extern "C" fn(*mut c_void, u64, u64, *mut OrcShimRoom) -> LLVMErrorRef,
    pub(super) give: extern "C" fn(*mut c_void, u64),
    pub(super) name: Option<NameFunction>,
}

pub(super) type NameFunction = extern "C" fn(*mut c_void, u64, u64, *const c_char, usize);

pub(super) type FindFunction =
    extern "C" fn(context: *mut c_void, name: *const c_char, length: usize, value: *mut u64) -> c_int;

pub(super) type ReleaseFunction = extern "C" fn(context: *mut c_void);

unsafe extern "C" {
    pub(super) fn orc_shim_session_create(
        slab: OrcShimSlab,
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
}

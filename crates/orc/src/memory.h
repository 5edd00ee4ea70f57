//===- memory.h - where linked code and data live ---------------*- C++ -*-===//

#ifndef ORC_MEMORY_H
#define ORC_MEMORY_H

#include "llvm-c/Error.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"

#include <memory>

/// Room in a slab: the address that it is executed at, and the one that it is
/// written through.
struct OrcShimRoom {
  uint64_t Handle;
  char *Executable;
  char *Writable;
};

/// A slab, which is Rust's. It must outlive those who use it.
struct OrcShimSlab {
  void *Ctx;
  /// Takes room at an address that is a multiple of Alignment.
  LLVMErrorRef (*Take)(void *Ctx, uint64_t Bytes, uint64_t Alignment,
                       OrcShimRoom *Result);
  /// Frees room.
  void (*Give)(void *Ctx, uint64_t Handle);
  /// Writes the name of code for profilers; null if nobody asks.
  void (*Name)(void *Ctx, uint64_t Address, uint64_t Size, const char *Name,
               size_t Length);
};

/// Creates a memory manager that links into a slab.
std::unique_ptr<llvm::jitlink::JITLinkMemoryManager>
createSlabMemory(OrcShimSlab Slab);

#endif

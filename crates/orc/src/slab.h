//===- slab.h - where linked code and data live -----------------*- C++ -*-===//

#ifndef ORC_SLAB_H
#define ORC_SLAB_H

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"

#include <memory>

/// A memory manager that counts what it has allocated.
class CodeMemory : public llvm::jitlink::JITLinkMemoryManager {
public:
  /// Returns the bytes that are linked and not freed, or being linked.
  virtual uint64_t bytes() const = 0;

  /// Limits all allocations from now on to Most bytes together.
  virtual void allow(uint64_t Most) = 0;

  /// Room for code that is not linked: the address that it runs at, and the one
  /// that it is written through.
  struct Room {
    uint64_t Handle;
    char *Executable;
    char *Writable;
  };

  /// Takes room at an address that is a multiple of Alignment.
  virtual llvm::Expected<Room> takeRoom(uint64_t Bytes, uint64_t Alignment) = 0;

  /// Frees room.
  virtual void giveRoom(uint64_t Handle) = 0;
};

/// Creates code memory for up to Limit bytes; for less, if the process has not
/// enough address space. perf(1) looks up names in Anonymous memory, but not in
/// that of a file.
llvm::Expected<std::unique_ptr<CodeMemory>> createSlab(uint64_t Limit,
                                                       bool Anonymous);

/// Maps memory for code twice, at Base and Size bytes beyond: to execute and
/// read, and to write. Returns null, or the system call that failed. A process
/// that may not make memory executable may have this, and so may one without
/// files in memory.
const char *mapCode(char *Base, uint64_t Size, bool Anonymous);

#endif

//===- slab.h - where linked code and data live -----------------*- C++ -*-===//

#ifndef ORC_SLAB_H
#define ORC_SLAB_H

#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"

#include <memory>

/// A memory manager that knows how much it has handed out.
class CodeMemory : public llvm::jitlink::JITLinkMemoryManager {
public:
  /// Bytes that are linked and not freed, or just being linked.
  virtual uint64_t bytes() const = 0;

  /// Hands out no more than Most bytes from now on.
  virtual void allow(uint64_t Most) = 0;
};

/// Code memory for up to Limit bytes; for less, if the process has no room for
/// so many addresses. In Anonymous memory perf(1) looks names up, which it
/// does not in that of a file.
llvm::Expected<std::unique_ptr<CodeMemory>> createSlab(uint64_t Limit,
                                                       bool Anonymous);

/// Maps memory for code twice, at Base and Size bytes beyond: to execute and
/// read, and to write. Returns null, or the system call that failed. A process
/// that may not make memory executable may have this, and so may one without
/// files in memory.
const char *mapCode(char *Base, uint64_t Size, bool Anonymous);

#endif

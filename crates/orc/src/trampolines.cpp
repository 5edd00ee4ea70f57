//===- trampolines.cpp - addresses that lead elsewhere later ---------------===//
//
// LLVM's pool of trampolines, except for how they get into executable memory:
// through a second view of it, as linked code does, so that no memory ever
// changes from writable to executable, which some systems do not allow.
//
//===----------------------------------------------------------------------===//

#include "slab.h"

#include "llvm-c/Error.h"
#include "llvm/ExecutionEngine/Orc/IndirectionUtils.h"
#include "llvm/ExecutionEngine/Orc/OrcABISupport.h"
#include "llvm/Support/Errno.h"

#include <cerrno>
#include <sys/mman.h>
#include <vector>

using namespace llvm;
using namespace llvm::orc;

#if defined(__x86_64__)
using HostABI = OrcX86_64_SysV;
#elif defined(__aarch64__)
using HostABI = OrcAArch64;
#else
#error "no trampolines for this target"
#endif

typedef uint64_t (*OrcShimLandingFunction)(void *Ctx, uint64_t Trampoline);

namespace {

constexpr size_t BlockSize = 4096;

/// Allocates a block of code. Write fills the writable view, given the address
/// where the code is to run; null if the system has no memory.
template <typename F> char *makeBlock(F Write) {
  void *Mapped = ::mmap(nullptr, 2 * BlockSize, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (Mapped == MAP_FAILED)
    return nullptr;
  char *Block = static_cast<char *>(Mapped), *Writable = Block + BlockSize;
  if (mapCode(Block, BlockSize, /*Anonymous=*/false)) {
    int Error = errno;
    ::munmap(Block, 2 * BlockSize);
    errno = Error;
    return nullptr;
  }
  Write(Writable, Block);
  ::munmap(Writable, BlockSize);
  return Block;
}

class Trampolines final : public TrampolinePool {
public:
  Trampolines(OrcShimLandingFunction Landing, void *Ctx)
      : Landing(Landing), Ctx(Ctx) {}

  ~Trampolines() override {
    for (char *Block : Blocks)
      ::munmap(Block, BlockSize);
  }

  /// Writes the code that all trampolines jump to.
  Error writeResolver() {
    return add([this](char *Buffer, char *Address) {
      HostABI::writeResolverCode(Buffer, ExecutorAddr::fromPtr(Address),
                                 ExecutorAddr::fromPtr(&reenter),
                                 ExecutorAddr::fromPtr(this));
    });
  }

private:
  static uint64_t reenter(void *Pool, void *Trampoline) {
    auto &Self = *static_cast<Trampolines *>(Pool);
    return Self.Landing(Self.Ctx, reinterpret_cast<uintptr_t>(Trampoline));
  }

  Error grow() override {
    constexpr unsigned Count =
        (BlockSize - HostABI::PointerSize) / HostABI::TrampolineSize;
    Error Err = add([this](char *Buffer, char *Address) {
      HostABI::writeTrampolines(Buffer, ExecutorAddr::fromPtr(Address),
                                ExecutorAddr::fromPtr(Blocks.front()), Count);
    });
    if (Err)
      return Err;
    for (unsigned I = 0; I != Count; ++I)
      AvailableTrampolines.push_back(ExecutorAddr::fromPtr(
          Blocks.back() + I * HostABI::TrampolineSize));
    return Error::success();
  }

  template <typename F> Error add(F Write) {
    char *Block = makeBlock(Write);
    if (!Block)
      return errorCodeToError(errnoAsErrorCode());
    Blocks.push_back(Block);
    return Error::success();
  }

  const OrcShimLandingFunction Landing;
  void *const Ctx;
  /// The first is the resolver.
  std::vector<char *> Blocks;
};

} // namespace

extern "C" {

typedef struct OrcShimTrampolines OrcShimTrampolines;

static Trampolines *unwrap(OrcShimTrampolines *T) {
  return reinterpret_cast<Trampolines *>(T);
}

/// Creates trampolines for the host that jump to what Landing returns. Landing
/// may run on any thread and must not unwind.
LLVMErrorRef orc_shim_trampolines_create(OrcShimLandingFunction Landing,
                                         void *Ctx,
                                         OrcShimTrampolines **Result) {
  auto Pool = std::make_unique<Trampolines>(Landing, Ctx);
  if (Error Err = Pool->writeResolver())
    return wrap(std::move(Err));
  *Result = reinterpret_cast<OrcShimTrampolines *>(Pool.release());
  return LLVMErrorSuccess;
}

void orc_shim_trampolines_destroy(OrcShimTrampolines *T) { delete unwrap(T); }

LLVMErrorRef orc_shim_trampolines_get(OrcShimTrampolines *T,
                                      uint64_t *Address) {
  auto Trampoline = unwrap(T)->getTrampoline();
  if (!Trampoline)
    return wrap(Trampoline.takeError());
  *Address = Trampoline->getValue();
  return LLVMErrorSuccess;
}

void orc_shim_trampolines_release(OrcShimTrampolines *T, uint64_t Address) {
  unwrap(T)->releaseTrampoline(ExecutorAddr(Address));
}

} // extern "C"

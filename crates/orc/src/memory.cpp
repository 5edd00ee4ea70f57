//===- memory.cpp - where linked code and data live ------------------------===//
//
// The segments of an object in one room of a slab: code and constants are
// linked for the view to execute and written through the other, writable data
// is linked for the view to write.
//
//===----------------------------------------------------------------------===//

#include "memory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Support/CBindingWrapping.h"
#include "llvm/Support/Memory.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

using namespace llvm;
using namespace llvm::orc;

namespace {

/// What writable segments are apart from others: a cache line, so that no data
/// is written to a line that code is executed from.
constexpr uint64_t Unit = 64;

class SlabMemory final : public jitlink::JITLinkMemoryManager {
public:
  explicit SlabMemory(OrcShimSlab Slab) : Slab(Slab) {}

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &G,
                OnAllocatedFunction OnAllocated) override;
  void deallocate(std::vector<FinalizedAlloc> Allocs,
                  OnDeallocatedFunction OnDeallocated) override;

private:
  using DeallocActions = std::vector<shared::WrapperFunctionCall>;
  class InFlight;
  class Placement;

  void give(const Placement &P);
  FinalizedAlloc finalized(uint64_t Handle, DeallocActions Actions);

  const OrcShimSlab Slab;
  std::mutex Mutex;
  /// By the handle of their room; hardly any object has some.
  DenseMap<uint64_t, DeallocActions> Actions;
};

/// Segments of one lifetime, laid out one after the other.
class SlabMemory::Placement {
public:
  /// Adds a segment whose address is not known yet.
  void add(jitlink::BasicLayout::Segment &Segment, bool Writable) {
    uint64_t Boundary = std::max(Segment.Alignment.value(), Writable ? Unit : 1);
    Bytes = alignTo(Bytes, Boundary);
    Segments.push_back({&Segment, Bytes, Writable});
    Bytes += Segment.ContentSize + Segment.ZeroFillSize;
    if (Writable)
      Bytes = alignTo(Bytes, Unit);
    Alignment = std::max(Alignment, Boundary);
  }

  /// Takes room for all of them.
  Error place(const OrcShimSlab &Slab) {
    // Even an object without contents gets room, which identifies it.
    OrcShimRoom Room;
    if (LLVMErrorRef Refused = Slab.Take(Slab.Ctx, std::max<uint64_t>(Bytes, 1),
                                         Alignment, &Room))
      return unwrap(Refused);
    Taken = true;
    Handle = Room.Handle;
    Executable = Room.Executable;
    for (auto &[Segment, Offset, Writable] : Segments) {
      char *Memory = Room.Writable + Offset;
      Segment->WorkingMem = Memory;
      Segment->Addr =
          ExecutorAddr::fromPtr(Writable ? Memory : Room.Executable + Offset);
      // The room may have been used before.
      std::memset(Memory + Segment->ContentSize, 0, Segment->ZeroFillSize);
    }
    return Error::success();
  }

  bool empty() const { return Segments.empty(); }
  bool taken() const { return Taken; }
  uint64_t handle() const { return Handle; }

  void invalidateCache() const {
    if (Taken)
      sys::Memory::InvalidateInstructionCache(Executable, Bytes);
  }

private:
  struct Placed {
    jitlink::BasicLayout::Segment *Segment;
    uint64_t Offset;
    bool Writable;
  };

  SmallVector<Placed, 4> Segments;
  uint64_t Bytes = 0;
  uint64_t Alignment = 1;
  bool Taken = false;
  uint64_t Handle = 0;
  char *Executable = nullptr;
};

/// An object that is being linked, at its final address already.
class SlabMemory::InFlight final : public InFlightAlloc {
public:
  InFlight(SlabMemory &Owner, jitlink::LinkGraph &G, Placement Standard,
           Placement Temporary)
      : Owner(Owner), G(G), Standard(std::move(Standard)),
        Temporary(std::move(Temporary)) {}

  void abandon(OnAbandonedFunction OnAbandoned) override {
    Owner.give(Standard);
    Owner.give(Temporary);
    OnAbandoned(Error::success());
  }

  void finalize(OnFinalizedFunction OnFinalized) override {
    Standard.invalidateCache();
    Temporary.invalidateCache();
    auto Actions = shared::runFinalizeActions(G.allocActions());
    Owner.give(Temporary);
    if (!Actions) {
      Owner.give(Standard);
      return OnFinalized(Actions.takeError());
    }
    OnFinalized(Owner.finalized(Standard.handle(), std::move(*Actions)));
  }

private:
  SlabMemory &Owner;
  jitlink::LinkGraph &G;
  Placement Standard;
  /// Needed by the finalize actions only.
  Placement Temporary;
};

void SlabMemory::allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &G,
                          OnAllocatedFunction OnAllocated) {
  jitlink::BasicLayout Layout(G);
  Placement Standard, Temporary;
  for (auto &[Group, Segment] : Layout.segments()) {
    bool Writable = (Group.getMemProt() & MemProt::Write) != MemProt::None;
    bool Executable = (Group.getMemProt() & MemProt::Exec) != MemProt::None;
    if (Writable && Executable)
      return OnAllocated(make_error<StringError>(
          "a section is both writable and executable",
          inconvertibleErrorCode()));
    bool Stays = Group.getMemLifetime() == MemLifetime::Standard;
    (Stays ? Standard : Temporary).add(Segment, Writable);
  }
  Error Err = Standard.place(Slab);
  if (!Err && !Temporary.empty())
    Err = Temporary.place(Slab);
  if (!Err)
    Err = Layout.apply();
  if (Err) {
    give(Standard);
    give(Temporary);
    return OnAllocated(std::move(Err));
  }
  OnAllocated(std::make_unique<InFlight>(*this, G, std::move(Standard),
                                         std::move(Temporary)));
}

void SlabMemory::deallocate(std::vector<FinalizedAlloc> Allocs,
                            OnDeallocatedFunction OnDeallocated) {
  SmallVector<uint64_t, 4> Handles;
  SmallVector<DeallocActions, 0> ToRun;
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (auto &Alloc : Allocs) {
      uint64_t Handle = Alloc.release().getValue();
      Handles.push_back(Handle);
      auto Found = Actions.find(Handle);
      if (Found == Actions.end())
        continue;
      ToRun.push_back(std::move(Found->second));
      Actions.erase(Found);
    }
  }
  Error Err = Error::success();
  for (auto &Calls : reverse(ToRun))
    Err = joinErrors(std::move(Err), shared::runDeallocActions(Calls));
  for (uint64_t Handle : Handles)
    Slab.Give(Slab.Ctx, Handle);
  OnDeallocated(std::move(Err));
}

void SlabMemory::give(const Placement &P) {
  if (P.taken())
    Slab.Give(Slab.Ctx, P.handle());
}

/// The FinalizedAlloc, which the layer keeps anyway, holds all that is known of
/// an object.
SlabMemory::FinalizedAlloc SlabMemory::finalized(uint64_t Handle,
                                                 DeallocActions ToKeep) {
  if (!ToKeep.empty()) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Actions[Handle] = std::move(ToKeep);
  }
  return FinalizedAlloc(ExecutorAddr(Handle));
}

} // namespace

std::unique_ptr<jitlink::JITLinkMemoryManager>
createSlabMemory(OrcShimSlab Slab) {
  return std::make_unique<SlabMemory>(Slab);
}

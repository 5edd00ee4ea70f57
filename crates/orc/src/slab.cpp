//===- slab.cpp - where linked code and data live --------------------------===//
//
// One file in memory, mapped twice side by side: a view to execute and read,
// and a view to write. Code and constants are linked for the first view and
// written through the second; writable data is linked for the second. So
// nothing is ever writable and executable at one address, to add a function
// needs no system call, and all of it is in reach of 32-bit offsets.
//
// The file has its full size from the start, but takes memory only where it was
// written. Freed ranges are reused, and large free stretches are returned to
// the system.
//
// A forked child would share the file with its parent. So a fork copies what is
// in use to another file, which the child maps instead, at the same addresses.
//
//===----------------------------------------------------------------------===//

#include "slab.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Memory.h"
#include "llvm/Support/Process.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::orc;

namespace {

/// What ranges are counted in: a cache line, so that no object is written to a
/// line that another one is executed from.
constexpr uint64_t Unit = 64;

/// The two views together must span less than 2 GiB.
constexpr uint64_t LargestSlab = uint64_t(1) << 30;
constexpr uint64_t SmallestSlab = uint64_t(1) << 20;

Error failure(const Twine &What) {
  return make_error<StringError>(What, inconvertibleErrorCode());
}

Error systemFailure(const char *Call) {
  return failure(Twine("no code memory: ") + Call + ": " + sys::StrError());
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// A range of units; two of them fit into a FinalizedAlloc's address.
struct Range {
  uint32_t Start = 0;
  uint32_t Size = 0;

  uint32_t end() const { return Start + Size; }
};

/// The ranges that are free: best fit, lowest address first; neighbours merge.
class FreeRanges {
public:
  explicit FreeRanges(uint32_t Size) { insert({0, Size}); }

  /// An empty range if there is none that large.
  Range take(uint32_t Size, uint32_t Alignment) {
    // Room for the start to move up.
    auto Found = BySize.lower_bound({Size + Alignment - 1, 0});
    if (Found == BySize.end())
      return {};
    Range Free{Found->second, Found->first};
    erase(Free);
    Range Taken{uint32_t(alignTo(Free.Start, Alignment)), Size};
    insert({Free.Start, Taken.Start - Free.Start});
    insert({Taken.end(), Free.end() - Taken.end()});
    return Taken;
  }

  void give(Range R) {
    auto Next = ByStart.lower_bound(R.Start);
    if (Next != ByStart.begin()) {
      Range Before{std::prev(Next)->first, std::prev(Next)->second};
      if (Before.end() == R.Start) {
        erase(Before);
        R = {Before.Start, Before.Size + R.Size};
      }
    }
    if (Next != ByStart.end() && Next->first == R.end()) {
      Range After{Next->first, Next->second};
      erase(After);
      R.Size += After.Size;
    }
    insert(R);
  }

private:
  void insert(Range R) {
    if (!R.Size)
      return;
    ByStart.emplace(R.Start, R.Size);
    BySize.emplace(R.Size, R.Start);
  }

  void erase(Range R) {
    ByStart.erase(R.Start);
    BySize.erase({R.Size, R.Start});
  }

  std::map<uint32_t, uint32_t> ByStart;
  std::set<std::pair<uint32_t, uint32_t>> BySize;
};

/// Tracks which parts of the slab occupy memory that is not used.
class Chunks {
public:
  static constexpr uint32_t UnitsEach = (64 << 10) / Unit;

  explicit Chunks(uint32_t Units) : All(Units / UnitsEach + 1) {}

  void take(Range R) {
    forEach(R, [&](Chunk &C, uint32_t Units) {
      Idle -= C.Touched && !C.Used;
      C.Touched = true;
      C.Used += Units;
    });
  }

  /// Calls Visit for every stretch in use.
  template <typename F> void forEachUsed(F Visit) const {
    for (uint32_t I = 0; I != All.size(); ++I) {
      uint32_t First = I;
      while (All[I].Used)
        ++I;
      if (I != First)
        Visit(Range{First * UnitsEach, (I - First) * UnitsEach});
    }
  }

  /// Returns whether enough is idle to make `drain` worth its system calls.
  bool give(Range R) {
    forEach(R, [&](Chunk &C, uint32_t Units) {
      C.Used -= Units;
      Idle += !C.Used;
    });
    return Idle > MostIdle;
  }

  /// Calls Release for every idle stretch, which counts as untouched from then
  /// on.
  template <typename F> void drain(F Release) {
    for (uint32_t I = 0; I != All.size(); ++I) {
      uint32_t First = I;
      while (All[I].Touched && !All[I].Used)
        All[I++].Touched = false;
      if (I != First)
        Release(Range{First * UnitsEach, (I - First) * UnitsEach});
    }
    Idle = 0;
  }

private:
  static constexpr uint32_t MostIdle = 16;

  struct Chunk {
    uint16_t Used = 0;
    bool Touched = false;
  };

  template <typename F> void forEach(Range R, F Visit) {
    for (uint32_t At = R.Start; At != R.end();) {
      uint32_t I = At / UnitsEach;
      uint32_t End = std::min(R.end(), (I + 1) * UnitsEach);
      Visit(All[I], End - At);
      At = End;
    }
  }

  /// The last one is never used, so a stretch ends before it.
  std::vector<Chunk> All;
  uint32_t Idle = 0;
};

//===----------------------------------------------------------------------===//
// The slab
//===----------------------------------------------------------------------===//

class Slab final : public CodeMemory {
public:
  /// Takes ownership of 2 * Limit bytes at Base: the executable view, then the
  /// writable one.
  Slab(char *Base, uint64_t Limit)
      : Base(Base), Limit(Limit), Allowed(Limit), Free(Limit / Unit), Occupied(Limit / Unit) {
    std::lock_guard<std::mutex> Lock(slabs().Mutex);
    slabs().All.insert(this);
  }

  ~Slab() override {
    {
      std::lock_guard<std::mutex> Lock(slabs().Mutex);
      slabs().All.erase(this);
    }
    ::munmap(Base, 2 * Limit);
  }

  /// All slabs of the process; never destroyed, since processes may fork and
  /// exit at any time.
  struct Slabs {
    std::mutex Mutex;
    std::set<Slab *> All;
  };
  static Slabs &slabs() {
    static Slabs *Known = new Slabs;
    return *Known;
  }

  /// Copies what is in use to a file for the child, and blocks allocation.
  void beforeFork();
  void afterForkInParent();
  void afterForkInChild();

  void allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &G,
                OnAllocatedFunction OnAllocated) override;
  void deallocate(std::vector<FinalizedAlloc> Allocs,
                  OnDeallocatedFunction OnDeallocated) override;
  uint64_t bytes() const override { return Used * Unit; }
  void allow(uint64_t Most) override { Allowed = std::min(Most, Limit); }
  Expected<Room> takeRoom(uint64_t Bytes, uint64_t Alignment) override;
  void giveRoom(uint64_t Handle) override { give(range(Handle)); }

private:
  using DeallocActions = std::vector<shared::WrapperFunctionCall>;
  class InFlight;
  class Placement;

  /// A range as the number that its owner keeps, and back.
  static uint64_t handle(Range R) { return uint64_t(R.Size) << 32 | R.Start; }
  static Range range(uint64_t Handle) {
    return {uint32_t(Handle), uint32_t(Handle >> 32)};
  }

  char *executable(Range R) const { return Base + R.Start * Unit; }
  char *writable(Range R) const { return executable(R) + Limit; }

  Expected<Range> take(uint64_t Bytes, uint64_t Alignment);
  void give(ArrayRef<Range> Ranges);
  FinalizedAlloc finalized(Range R, DeallocActions Actions);

  char *const Base;
  const uint64_t Limit;
  std::atomic<uint64_t> Allowed;
  std::mutex Mutex;
  FreeRanges Free;
  Chunks Occupied;
  std::atomic<uint64_t> Used{0};
  /// During a fork, the file for the child.
  int Copy = -1;
  /// Whether another process may use the same memory, which must not change
  /// then.
  bool Shared = false;
  /// By the start of their range; hardly any object has some.
  DenseMap<uint32_t, DeallocActions> Actions;
};

/// Segments of one lifetime, laid out one after the other.
class Slab::Placement {
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

  /// Allocates a range for all of them.
  Error place(Slab &Owner) {
    // Even an object without contents gets a range, which identifies it.
    auto Taken = Owner.take(std::max<uint64_t>(Bytes, 1), Alignment);
    if (!Taken)
      return Taken.takeError();
    Room = *Taken;
    for (auto &[Segment, Offset, Writable] : Segments) {
      char *Memory = Owner.writable(Room) + Offset;
      Segment->WorkingMem = Memory;
      Segment->Addr = ExecutorAddr::fromPtr(
          Writable ? Memory : Owner.executable(Room) + Offset);
      // The range may have been used before.
      std::memset(Memory + Segment->ContentSize, 0, Segment->ZeroFillSize);
    }
    return Error::success();
  }

  bool empty() const { return Segments.empty(); }
  Range room() const { return Room; }

private:
  struct Placed {
    jitlink::BasicLayout::Segment *Segment;
    uint64_t Offset;
    bool Writable;
  };

  SmallVector<Placed, 4> Segments;
  uint64_t Bytes = 0;
  uint64_t Alignment = 1;
  Range Room;
};

/// An object that is being linked, at its final address already.
class Slab::InFlight final : public InFlightAlloc {
public:
  InFlight(Slab &Owner, jitlink::LinkGraph &G, Range Standard, Range Temporary)
      : Owner(Owner), G(G), Standard(Standard), Temporary(Temporary) {}

  void abandon(OnAbandonedFunction OnAbandoned) override {
    Owner.give({Standard, Temporary});
    OnAbandoned(Error::success());
  }

  void finalize(OnFinalizedFunction OnFinalized) override {
    for (Range R : {Standard, Temporary})
      sys::Memory::InvalidateInstructionCache(Owner.executable(R),
                                              R.Size * Unit);
    auto Actions = shared::runFinalizeActions(G.allocActions());
    if (!Actions) {
      Owner.give({Standard, Temporary});
      return OnFinalized(Actions.takeError());
    }
    Owner.give(Temporary);
    OnFinalized(Owner.finalized(Standard, std::move(*Actions)));
  }

private:
  Slab &Owner;
  jitlink::LinkGraph &G;
  Range Standard;
  /// Needed by the finalize actions only.
  Range Temporary;
};

void Slab::allocate(const jitlink::JITLinkDylib *, jitlink::LinkGraph &G,
                    OnAllocatedFunction OnAllocated) {
  jitlink::BasicLayout Layout(G);
  Placement Standard, Temporary;
  for (auto &[Group, Segment] : Layout.segments()) {
    bool Writable = (Group.getMemProt() & MemProt::Write) != MemProt::None;
    bool Executable = (Group.getMemProt() & MemProt::Exec) != MemProt::None;
    if (Writable && Executable)
      return OnAllocated(failure("a section is both writable and executable"));
    bool Stays = Group.getMemLifetime() == MemLifetime::Standard;
    (Stays ? Standard : Temporary).add(Segment, Writable);
  }
  Error Err = Standard.place(*this);
  if (!Err && !Temporary.empty())
    Err = Temporary.place(*this);
  if (!Err)
    Err = Layout.apply();
  if (Err) {
    give({Standard.room(), Temporary.room()});
    return OnAllocated(std::move(Err));
  }
  OnAllocated(std::make_unique<InFlight>(*this, G, Standard.room(),
                                         Temporary.room()));
}

void Slab::deallocate(std::vector<FinalizedAlloc> Allocs,
                      OnDeallocatedFunction OnDeallocated) {
  SmallVector<Range, 4> Ranges;
  SmallVector<DeallocActions, 0> ToRun;
  {
    std::lock_guard<std::mutex> Lock(Mutex);
    for (auto &Alloc : Allocs) {
      uint64_t Handle = Alloc.release().getValue();
      Ranges.push_back(range(Handle));
      auto Found = Actions.find(uint32_t(Handle));
      if (Found == Actions.end())
        continue;
      ToRun.push_back(std::move(Found->second));
      Actions.erase(Found);
    }
  }
  Error Err = Error::success();
  for (auto &Calls : reverse(ToRun))
    Err = joinErrors(std::move(Err), shared::runDeallocActions(Calls));
  give(Ranges);
  OnDeallocated(std::move(Err));
}

Expected<Range> Slab::take(uint64_t Bytes, uint64_t Alignment) {
  // The views start at a page, and addresses in them are aligned no better.
  if (Alignment > sys::Process::getPageSizeEstimate())
    return failure("a section's alignment is larger than a page");
  uint64_t Units = divideCeil(Bytes, Unit);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Shared)
    return failure("the code memory could not be copied when the process was "
                   "forked");
  Range Taken;
  if (Units <= Limit / Unit && Used + Units <= Allowed / Unit)
    Taken = Free.take(Units, std::max<uint64_t>(Alignment / Unit, 1));
  if (!Taken.Size)
    return failure(formatv("the code memory is full: of {0} bytes {1} are in "
                           "use, and {2} more are needed",
                           Allowed.load(), bytes(), Bytes));
  Occupied.take(Taken);
  Used += Taken.Size;
  return Taken;
}

void Slab::give(ArrayRef<Range> Ranges) {
  std::lock_guard<std::mutex> Lock(Mutex);
  for (Range R : Ranges) {
    if (!R.Size)
      continue;
    Used -= R.Size;
    if (Shared)
      continue;
    Free.give(R);
    if (Occupied.give(R))
      Occupied.drain([&](Range Idle) {
        // If the system refuses, the memory merely stays occupied.
        ::madvise(writable(Idle), Idle.Size * Unit, MADV_REMOVE);
      });
  }
}

Expected<CodeMemory::Room> Slab::takeRoom(uint64_t Bytes, uint64_t Alignment) {
  auto Taken = take(std::max<uint64_t>(Bytes, 1), Alignment);
  if (!Taken)
    return Taken.takeError();
  return Room{handle(*Taken), executable(*Taken), writable(*Taken)};
}

/// The FinalizedAlloc, which the layer keeps anyway, holds all that is known of
/// an object.
CodeMemory::FinalizedAlloc Slab::finalized(Range R, DeallocActions ToKeep) {
  if (!ToKeep.empty()) {
    std::lock_guard<std::mutex> Lock(Mutex);
    Actions[R.Start] = std::move(ToKeep);
  }
  return FinalizedAlloc(ExecutorAddr(handle(R)));
}

//===----------------------------------------------------------------------===//
// Mapping
//===----------------------------------------------------------------------===//

/// A file in memory that cannot be run as a program; below 0 if there are none.
int createCodeFile() {
#ifdef MFD_NOEXEC_SEAL
  int File = ::memfd_create("code", MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  // Linux before 6.3 does not know the flag.
  if (File >= 0 || errno != EINVAL)
    return File;
#endif
  return ::memfd_create("code", MFD_CLOEXEC);
}

/// Reserves addresses for two views of Limit bytes; null if there are none.
char *reserve(uint64_t Limit) {
  void *Base = ::mmap(nullptr, 2 * Limit, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return Base == MAP_FAILED ? nullptr : static_cast<char *>(Base);
}

/// Address space that is left to others if the process may have little: stacks,
/// contexts and the compiler need some too.
constexpr uint64_t Spare = uint64_t(450) << 20;

/// Returns whether the process may reserve that many more bytes of address
/// space.
bool mayReserve(uint64_t Bytes) {
  void *Base = ::mmap(nullptr, Bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return Base != MAP_FAILED && ::munmap(Base, Bytes) == 0;
}

/// Reserves addresses for two views of Limit bytes, or of fewer if the process
/// could not have the spare addresses as well. Sets Limit to the result.
char *reserveSome(uint64_t &Limit) {
  while (Limit > SmallestSlab && !mayReserve(2 * Limit + Spare))
    Limit = alignTo(Limit / 2, SmallestSlab);
  return reserve(Limit);
}

bool mapViews(char *Base, uint64_t Limit, int File) {
  auto Map = [=](char *At, int Protection) {
    return ::mmap(At, Limit, Protection, MAP_SHARED | MAP_FIXED, File, 0) !=
           MAP_FAILED;
  };
  return Map(Base, PROT_READ | PROT_EXEC) &&
         Map(Base + Limit, PROT_READ | PROT_WRITE);
}

/// Creates a file and maps its two views; returns null, or the call that
/// failed. The views keep the file.
const char *mapFile(char *Base, uint64_t Limit) {
  int File = createCodeFile();
  if (File < 0)
    return "memfd_create";
  const char *Refused = ::ftruncate(File, Limit)       ? "ftruncate"
                        : !mapViews(Base, Limit, File) ? "mmap"
                                                       : nullptr;
  ::close(File);
  return Refused;
}

/// Maps two views of anonymous memory; returns null, or the call that failed.
/// All of it is charged to the process if the system does not overcommit. The
/// view to write is a second mapping of the executable one, and never the other
/// way round: a process that may not make memory executable may still take
/// execution away.
const char *mapAnonymous(char *Base, uint64_t Limit) {
  void *Code =
      ::mmap(Base, Limit, PROT_READ | PROT_EXEC,
             MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (Code == MAP_FAILED)
    return "mmap";
  // A shared mapping of size 0 moves nothing and is mapped once more.
  char *Writable = Base + Limit;
  if (::mremap(Code, 0, Limit, MREMAP_MAYMOVE | MREMAP_FIXED, Writable) ==
      MAP_FAILED)
    return "mremap";
  return ::mprotect(Writable, Limit, PROT_READ | PROT_WRITE) ? "mprotect"
                                                             : nullptr;
}

} // namespace

const char *mapCode(char *Base, uint64_t Size, bool Anonymous) {
  const char *Refused = Anonymous ? nullptr : mapFile(Base, Size);
  // Some processes may not create such files.
  return Anonymous || Refused ? mapAnonymous(Base, Size) : nullptr;
}

namespace {

//===----------------------------------------------------------------------===//
// Forks
//===----------------------------------------------------------------------===//

void Slab::beforeFork() {
  Mutex.lock();
  Copy = createCodeFile();
  bool Copied = Copy >= 0 && ::ftruncate(Copy, Limit) == 0;
  Occupied.forEachUsed([&](Range R) {
    uint64_t Size = R.Size * Unit, Done = 0;
    while (Copied && Done != Size) {
      uint64_t At = R.Start * Unit + Done;
      ssize_t Written = ::pwrite(Copy, Base + At, Size - Done, At);
      Copied = Written > 0;
      Done += Copied ? Written : 0;
    }
  });
  if (!Copied) {
    Shared = true;
    if (Copy >= 0)
      ::close(Copy);
    Copy = -1;
  }
}

void Slab::afterForkInParent() {
  if (Copy >= 0)
    ::close(Copy);
  Copy = -1;
  Mutex.unlock();
}

void Slab::afterForkInChild() {
  if (Copy >= 0 && !mapViews(Base, Limit, Copy))
    Shared = true;
  afterForkInParent();
}

} // namespace

extern "C" {

/// Must be called around a fork, on the thread that forks, while no other
/// thread links. Slabs are neither created nor destroyed, and allocate nothing,
/// until one of the other two is called, in each of the two processes.
void orc_slabs_before_fork() {
  Slab::slabs().Mutex.lock();
  for (Slab *Each : Slab::slabs().All)
    Each->beforeFork();
}

void orc_slabs_after_fork_in_parent() {
  for (Slab *Each : Slab::slabs().All)
    Each->afterForkInParent();
  Slab::slabs().Mutex.unlock();
}

void orc_slabs_after_fork_in_child() {
  for (Slab *Each : Slab::slabs().All)
    Each->afterForkInChild();
  Slab::slabs().Mutex.unlock();
}

} // extern "C"

Expected<std::unique_ptr<CodeMemory>> createSlab(uint64_t Limit,
                                                 bool Anonymous) {
  Limit = alignTo(std::clamp(Limit, SmallestSlab, LargestSlab), SmallestSlab);
  char *Base = reserveSome(Limit);
  if (!Base)
    return systemFailure("mmap");
  auto Result = std::make_unique<Slab>(Base, Limit);
  if (const char *Refused = mapCode(Base, Limit, Anonymous))
    return systemFailure(Refused);
  return Result;
}

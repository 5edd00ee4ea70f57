//===- shim.cpp - what LLVM's C API lacks of ORC v2 ------------------------===//
//
// Everything here is `extern "C"`, takes and returns the C API's own handle
// types, and is declared once more in `ffi.rs`. The reinterpret_casts are those
// of LLVM's own C bindings (lib/ExecutionEngine/Orc/OrcV2CBindings.cpp), whose
// DEFINE_SIMPLE_CONVERSION_FUNCTIONS are not in a public header.
//
//===----------------------------------------------------------------------===//

#include "memory.h"

#include "llvm-c/Orc.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/Debugging/ELFDebugObjectPlugin.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/SelfExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"
#include "llvm/Support/CBindingWrapping.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

using namespace llvm;
using namespace llvm::orc;

namespace {

JITDylib *unwrap(LLVMOrcJITDylibRef JD) {
  return reinterpret_cast<JITDylib *>(JD);
}

MaterializationUnit *unwrap(LLVMOrcMaterializationUnitRef MU) {
  return reinterpret_cast<MaterializationUnit *>(MU);
}

MaterializationResponsibility *
unwrap(LLVMOrcMaterializationResponsibilityRef MR) {
  return reinterpret_cast<MaterializationResponsibility *>(MR);
}

ResourceTracker *unwrap(LLVMOrcResourceTrackerRef RT) {
  return reinterpret_cast<ResourceTracker *>(RT);
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

/// The parts of an LLJIT that a JIT of objects needs, in the order in which they
/// depend on each other.
struct Session {
  std::unique_ptr<jitlink::JITLinkMemoryManager> Memory;
  std::unique_ptr<ExecutionSession> ES;
  std::unique_ptr<ObjectLinkingLayer> Layer;
};

/// A lookup in progress.
struct Lookup {
  using Result = MSVCPExpected<SymbolMap>;

  explicit Lookup(std::future<Result> Found) : Found(std::move(Found)) {}

  std::future<Result> Found;
};

/// Creates a session that links into a slab.
Expected<std::unique_ptr<Session>> createSession(OrcShimSlab Slab) {
  auto EPC = SelfExecutorProcessControl::Create(
      nullptr, std::make_unique<InPlaceTaskDispatcher>());
  if (!EPC)
    return EPC.takeError();
  auto S = std::make_unique<Session>();
  S->Memory = createSlabMemory(Slab);
  S->ES = std::make_unique<ExecutionSession>(std::move(*EPC));
  S->Layer = std::make_unique<ObjectLinkingLayer>(*S->ES, *S->Memory);
  // The flags that a unit promised win over those in the object.
  S->Layer->setOverrideObjectFlagsWithResponsibilityFlags(true);
  return S;
}

/// Makes every definition that was not promised private to its object, so that
/// helpers neither clash with those of other objects nor are shared with them
/// (sharing would tie the life of one tracker's code to another's).
void keepPrivate(jitlink::LinkGraph &G, const SymbolFlagsMap &Promised) {
  auto Demote = [&](jitlink::Symbol &Sym) {
    if (!Sym.hasName() || Sym.getScope() == jitlink::Scope::Local ||
        Promised.count(Sym.getName()))
      return;
    Sym.setLinkage(jitlink::Linkage::Strong);
    Sym.setScope(jitlink::Scope::Local);
  };
  for (auto *Sym : G.defined_symbols())
    Demote(*Sym);
  for (auto *Sym : G.absolute_symbols())
    Demote(*Sym);
}

//===----------------------------------------------------------------------===//
// Plugins
//===----------------------------------------------------------------------===//

/// A plugin that takes part in linking and keeps nothing for what is linked.
class LinkPlugin : public ObjectLinkingLayer::Plugin {
public:
  Error notifyFailed(MaterializationResponsibility &) override {
    return Error::success();
  }
  Error notifyRemovingResources(JITDylib &, ResourceKey) override {
    return Error::success();
  }
  void notifyTransferringResources(JITDylib &, ResourceKey,
                                   ResourceKey) override {}
};

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

/// Looks for the value of a symbol: 1 if it is found, 0 if not, -1 for an error.
using FindFunction = int (*)(void *Ctx, const char *Name, size_t Length,
                             uint64_t *Value);
using ReleaseFunction = void (*)(void *Ctx);

/// Makes symbols that an object does not define absolute in its link graph, so
/// that the session never hears of them. Owns Ctx.
class Constants final : public LinkPlugin {
public:
  Constants(void *Ctx, FindFunction Find, ReleaseFunction Release)
      : Ctx(Ctx), Find(Find), Release(Release) {}
  ~Constants() override { Release(Ctx); }

  void modifyPassConfig(MaterializationResponsibility &, jitlink::LinkGraph &,
                        jitlink::PassConfiguration &Config) override {
    Config.PrePrunePasses.push_back(
        [this](jitlink::LinkGraph &G) { return resolve(G); });
  }

private:
  Error resolve(jitlink::LinkGraph &G) {
    // A copy: making one absolute removes it from the set.
    SmallVector<jitlink::Symbol *, 16> Unknown;
    for (auto *Sym : G.external_symbols())
      Unknown.push_back(Sym);
    for (auto *Sym : Unknown) {
      StringRef Name = *Sym->getName();
      uint64_t Value = 0;
      int Found = Find(Ctx, Name.data(), Name.size(), &Value);
      if (Found < 0)
        return createStringError("the source of constants panicked");
      if (Found)
        G.makeAbsolute(*Sym, ExecutorAddr(Value));
    }
    return Error::success();
  }

  void *Ctx;
  FindFunction Find;
  ReleaseFunction Release;
};

//===----------------------------------------------------------------------===//
// Profilers and debuggers
//===----------------------------------------------------------------------===//

/// Tells a slab the names of the functions that are linked.
class FunctionNames final : public LinkPlugin {
public:
  explicit FunctionNames(OrcShimSlab Slab) : Slab(Slab) {}

  void modifyPassConfig(MaterializationResponsibility &, jitlink::LinkGraph &,
                        jitlink::PassConfiguration &Config) override {
    Config.PostFixupPasses.push_back([this](jitlink::LinkGraph &G) {
      for (auto *Sym : G.defined_symbols())
        if (Sym->hasName() && Sym->isCallable())
          tell(*Sym);
      return Error::success();
    });
  }

private:
  void tell(jitlink::Symbol &Sym) {
    StringRef Name = *Sym.getName();
    Slab.Name(Slab.Ctx, Sym.getAddress().getValue(), Sym.getSize(), Name.data(),
              Name.size());
  }

  const OrcShimSlab Slab;
};

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

using MaterializeFunction = LLVMOrcMaterializationUnitMaterializeFunction;
using DiscardFunction = LLVMOrcMaterializationUnitDiscardFunction;
using DestroyFunction = LLVMOrcMaterializationUnitDestroyFunction;

/// The C API's custom unit at a third of its size: it keeps no name, and its
/// table of symbols is not sized for 64 of them.
class CallbackUnit final : public MaterializationUnit {
public:
  CallbackUnit(SymbolFlagsMap Symbols, void *Ctx,
               MaterializeFunction Materialize, DiscardFunction Discard,
               DestroyFunction Destroy)
      : MaterializationUnit(Interface(std::move(Symbols), nullptr)), Ctx(Ctx),
        Materialize(Materialize), Discard(Discard), Destroy(Destroy) {}

  ~CallbackUnit() override {
    if (Ctx)
      Destroy(Ctx);
  }

  /// Releases ownership of the context: it is not destroyed with the unit.
  void *release() { return std::exchange(Ctx, nullptr); }

  StringRef getName() const override { return "unit"; }

private:
  void materialize(std::unique_ptr<MaterializationResponsibility> R) override {
    Materialize(release(),
                reinterpret_cast<LLVMOrcMaterializationResponsibilityRef>(
                    R.release()));
  }

  void discard(const JITDylib &JD, const SymbolStringPtr &Name) override {
    Discard(Ctx, reinterpret_cast<LLVMOrcJITDylibRef>(
                     const_cast<JITDylib *>(&JD)),
            reinterpret_cast<LLVMOrcSymbolStringPoolEntryRef>(
                SymbolStringPoolEntryUnsafe::from(Name).rawPtr()));
  }

  void *Ctx;
  MaterializeFunction Materialize;
  DiscardFunction Discard;
  DestroyFunction Destroy;
};

/// Takes ownership of the names in Pairs.
SymbolFlagsMap takeSymbols(LLVMOrcCSymbolFlagsMapPairs Pairs, size_t Count) {
  // Not `reserve`, which allocates at least 64 entries.
  SymbolFlagsMap Symbols(Count);
  for (size_t I = 0; I != Count; ++I) {
    SymbolStringPoolEntryUnsafe Name(
        reinterpret_cast<SymbolStringPoolEntryUnsafe::PoolEntry *>(
            Pairs[I].Name));
    // The C API's generic flags are JITSymbolFlags by other names, but for
    // their bits.
    JITSymbolFlags Flags;
    if (Pairs[I].Flags.GenericFlags & LLVMJITSymbolGenericFlagsExported)
      Flags |= JITSymbolFlags::Exported;
    if (Pairs[I].Flags.GenericFlags & LLVMJITSymbolGenericFlagsWeak)
      Flags |= JITSymbolFlags::Weak;
    if (Pairs[I].Flags.GenericFlags & LLVMJITSymbolGenericFlagsCallable)
      Flags |= JITSymbolFlags::Callable;
    Symbols[Name.moveToSymbolStringPtr()] = Flags;
  }
  return Symbols;
}

} // namespace

extern "C" {

typedef struct OrcShimSession OrcShimSession;
typedef struct OrcShimLookup OrcShimLookup;

static Session *unwrapSession(OrcShimSession *S) {
  return reinterpret_cast<Session *>(S);
}

static Lookup *unwrapLookup(OrcShimLookup *L) {
  return reinterpret_cast<Lookup *>(L);
}

/// Creates a session that the caller must end, then destroy, and that links into
/// a slab, which must outlive it.
LLVMErrorRef orc_shim_session_create(OrcShimSlab Slab, OrcShimSession **Result) {
  auto S = createSession(Slab);
  if (!S)
    return wrap(S.takeError());
  if (Slab.Name)
    (*S)->Layer->addPlugin(std::make_shared<FunctionNames>(Slab));
  *Result = reinterpret_cast<OrcShimSession *>(S->release());
  return LLVMErrorSuccess;
}

/// Asks Find for the symbols that objects linked from now on do not define. Ctx
/// is released with the session.
void orc_shim_session_constants(OrcShimSession *S, void *Ctx, FindFunction Find,
                                ReleaseFunction Release) {
  unwrapSession(S)->Layer->addPlugin(
      std::make_shared<Constants>(Ctx, Find, Release));
}

/// Registers what is linked from now on with debuggers.
LLVMErrorRef orc_shim_session_debug_objects(OrcShimSession *S) {
  auto &Owner = *unwrapSession(S);
  Error Err = Error::success();
  auto Plugin = std::make_shared<ELFDebugObjectPlugin>(
      *Owner.ES, /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true,
      Err);
  if (Err)
    return wrap(std::move(Err));
  Owner.Layer->addPlugin(std::move(Plugin));
  return LLVMErrorSuccess;
}

/// Removes all definitions. Afterwards trackers can be released, and the
/// session can only be destroyed.
LLVMErrorRef orc_shim_session_end(OrcShimSession *S) {
  return wrap(unwrapSession(S)->ES->endSession());
}

/// Frees a session that was ended.
void orc_shim_session_destroy(OrcShimSession *S) {
  std::unique_ptr<Session> Owned(unwrapSession(S));
  Owned->Layer.reset();
  Owned->ES.reset();
}

LLVMOrcExecutionSessionRef
orc_shim_session_execution_session(OrcShimSession *S) {
  return reinterpret_cast<LLVMOrcExecutionSessionRef>(
      unwrapSession(S)->ES.get());
}

LLVMOrcObjectLayerRef orc_shim_session_object_layer(OrcShimSession *S) {
  // The C API's handle points to the base class, which is at another address.
  ObjectLayer *Layer = unwrapSession(S)->Layer.get();
  return reinterpret_cast<LLVMOrcObjectLayerRef>(Layer);
}

/// Begins to look Name up in JD and materializes what that needs, unless
/// another thread has begun to. To be freed by orc_shim_lookup_finish.
OrcShimLookup *orc_shim_lookup_start(OrcShimSession *S, LLVMOrcJITDylibRef JD,
                                     const char *Name, size_t Length) {
  auto &ES = *unwrapSession(S)->ES;
  auto Order = makeJITDylibSearchOrder({unwrap(JD)},
                                       JITDylibLookupFlags::MatchAllSymbols);
  std::promise<Lookup::Result> Promise;
  auto L = std::make_unique<Lookup>(Promise.get_future());
  ES.lookup(
      LookupKind::Static, Order,
      SymbolLookupSet(ES.intern(StringRef(Name, Length))), SymbolState::Ready,
      [Promise = std::move(Promise)](Expected<SymbolMap> Found) mutable {
        Promise.set_value(std::move(Found));
      },
      NoDependenciesToRegister);
  return reinterpret_cast<OrcShimLookup *>(L.release());
}

/// Returns whether the lookup has ended.
bool orc_shim_lookup_is_done(OrcShimLookup *L) {
  return unwrapLookup(L)->Found.wait_for(std::chrono::seconds(0)) ==
         std::future_status::ready;
}

/// Blocks until the lookup has ended, that is, until the threads that
/// materialize what it needs are done.
void orc_shim_lookup_wait(OrcShimLookup *L) { unwrapLookup(L)->Found.wait(); }

/// Frees a lookup that has ended, and returns what it found. On failure
/// *NotFound tells whether the dylib has no such symbol. (Strictly, the C API's
/// lookup does not guarantee to pass its context to the handler of an error, so
/// it cannot be waited for.)
LLVMErrorRef orc_shim_lookup_finish(OrcShimLookup *L, uint64_t *Address,
                                    bool *NotFound) {
  std::unique_ptr<Lookup> Owned(unwrapLookup(L));
  Expected<SymbolMap> Found = Owned->Found.get();
  if (!Found) {
    auto Err = Found.takeError();
    *NotFound = Err.isA<SymbolsNotFound>();
    return wrap(std::move(Err));
  }
  *Address = Found->begin()->second.getAddress().getValue();
  return LLVMErrorSuccess;
}

/// Defines MU in JD under RT, or under JD's default tracker if RT is null.
/// Takes MU if it succeeds; otherwise MU stays the caller's.
LLVMErrorRef orc_shim_define(LLVMOrcJITDylibRef JD,
                             LLVMOrcMaterializationUnitRef MU,
                             LLVMOrcResourceTrackerRef RT) {
  std::unique_ptr<MaterializationUnit> Unit(unwrap(MU));
  auto Err = unwrap(JD)->define(Unit, ResourceTrackerSP(unwrap(RT)));
  if (Err)
    Unit.release();
  return wrap(std::move(Err));
}

/// Defines a unit of callbacks under RT, with the contract of
/// LLVMOrcCreateCustomMaterializationUnit: takes the names in Pairs, and Ctx if
/// it succeeds; otherwise Ctx stays the caller's.
LLVMErrorRef orc_shim_define_unit(LLVMOrcJITDylibRef JD,
                                  LLVMOrcCSymbolFlagsMapPairs Pairs,
                                  size_t Count, void *Ctx,
                                  MaterializeFunction Materialize,
                                  DiscardFunction Discard,
                                  DestroyFunction Destroy,
                                  LLVMOrcResourceTrackerRef RT) {
  auto Unit = std::make_unique<CallbackUnit>(takeSymbols(Pairs, Count), Ctx,
                                             Materialize, Discard, Destroy);
  auto Err = unwrap(JD)->define(Unit, ResourceTrackerSP(unwrap(RT)));
  if (Err)
    Unit->release();
  return wrap(std::move(Err));
}

/// JD's own symbols come first, then those that the given dylibs export.
void orc_shim_set_link_order(LLVMOrcJITDylibRef JD,
                             const LLVMOrcJITDylibRef *Others, size_t Count) {
  JITDylibSearchOrder Order;
  for (size_t I = 0; I != Count; ++I)
    Order.push_back({unwrap(Others[I]),
                     JITDylibLookupFlags::MatchExportedSymbolsOnly});
  unwrap(JD)->setLinkOrder(std::move(Order));
}

/// Links Object for MR; takes both. Failures go to the error reporter and to
/// the lookups of the symbols.
void orc_shim_emit(OrcShimSession *S,
                   LLVMOrcMaterializationResponsibilityRef MR,
                   LLVMMemoryBufferRef Object) {
  auto &ES = *unwrapSession(S)->ES;
  std::unique_ptr<MaterializationResponsibility> R(unwrap(MR));
  std::unique_ptr<MemoryBuffer> Buffer(llvm::unwrap(Object));
  auto G = jitlink::createLinkGraphFromObject(Buffer->getMemBufferRef(),
                                              ES.getSymbolStringPool());
  if (!G) {
    ES.reportError(G.takeError());
    R->failMaterialization();
    return;
  }
  keepPrivate(**G, R->getSymbols());
  unwrapSession(S)->Layer->emit(std::move(R), std::move(*G),
                                std::move(Buffer));
}

} // extern "C"

//===- pipeline.cpp - reusable pass and codegen pipelines -----------------===//
//
// What LLVM's C interface lacks for compiling many small modules quickly: it
// builds a new pass pipeline and a new codegen pipeline for every module,
// which costs more than running them. Here both are built once and run for
// any number of modules, one after the other, by one thread.
//
//===----------------------------------------------------------------------===//

#include "branch_selects.h"
#include "pair_calls.h"
#include "static_rounding.h"

#include "llvm-c/Core.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/CodeGen/SelectionDAGNodes.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/IR/PrintPasses.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/PassRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/DeadStoreElimination.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/JumpThreading.h"
#include "llvm/Transforms/Scalar/LICM.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Scalar/LoopRotation.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SCCP.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

using namespace llvm;

namespace llvm {

// Tables of the X86 target, in no header of its interface.
struct X86FoldTableEntry;
const X86FoldTableEntry *lookupUnfoldTable(unsigned Opcode);
const X86FoldTableEntry *lookupBroadcastFoldTableBySize(unsigned Opcode,
                                                        unsigned Bits);

} // namespace llvm

namespace {

/// Makes the static variables that LLVM would make while it compiles. Each has a
/// guard, for which a forked child waits for ever if a thread of its parent was
/// making the variable at the fork. The exit of the process destroys them, so Watch
/// is called after each: what it registers is run before that.
class Statics : SDNode {
public:
  static void make(const Triple &Target, bool Optimizes, void (*Watch)()) {
    (void)getSDVTList(MVT::f64);
    Watch();
    (void)isPassInPrintList("");
    Watch();
    (void)isFunctionInPrintList("");
    Watch();
    (void)getGlobalPassGate();
    Watch();
    (void)nulls();
    Watch();
    (void)vfs::getRealFileSystem();
    Watch();
    if (!Optimizes)
      return;
    LibFunc Function;
    (void)TargetLibraryInfoImpl(Target).getLibFunc("sin", Function);
    Watch();
    (void)lookupUnfoldTable(0);
    Watch();
    (void)lookupBroadcastFoldTableBySize(0, 0);
    Watch();
  }
};

/// Moves calls of pure functions out of loops, also those that only some iterations
/// make. For that alone they may be called where their results may not be needed:
/// LLVM takes such a call for cheap, and would compute both branches of an `if` and
/// choose one of the results.
class HoistCallsPass : public PassInfoMixin<HoistCallsPass> {
  ModuleToFunctionPassAdaptor Hoist =
      createModuleToFunctionPassAdaptor(createFunctionToLoopPassAdaptor(
          LICMPass(LICMOptions()), /*UseMemorySSA=*/true));

public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    SmallVector<Function *, 8> Pure;
    for (Function &F : M)
      if (F.isDeclaration() && !F.isIntrinsic() && F.doesNotAccessMemory())
        Pure.push_back(&F);
    if (Pure.empty())
      return PreservedAnalyses::all();
    for (Function *F : Pure)
      F->addFnAttr(Attribute::Speculatable);
    PreservedAnalyses Preserved = Hoist.run(M, MAM);
    for (Function *F : Pure)
      F->removeFnAttr(Attribute::Speculatable);
    return Preserved;
  }
};

/// The attribute of copies that are levels of a recursion: `LEVEL` of types.rs.
constexpr StringLiteral LevelOfRecursion = "kal-level";

/// Inlines the levels of a recursion into each other. What they call has been inlined
/// before, and `Before` has merged equal calls: those of a level would be calls of so many
/// copies of the next one.
class InlineLevelsPass : public PassInfoMixin<InlineLevelsPass> {
  ModuleToFunctionPassAdaptor Before;

public:
  explicit InlineLevelsPass(FunctionPassManager Before)
      : Before(createModuleToFunctionPassAdaptor(std::move(Before))) {}

  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM) {
    SmallVector<Function *, 8> Levels;
    for (Function &F : M)
      if (F.hasFnAttribute(LevelOfRecursion))
        Levels.push_back(&F);
    if (Levels.empty())
      return PreservedAnalyses::all();
    MAM.invalidate(M, Before.run(M, MAM));
    for (Function *F : Levels)
      F->addFnAttr(Attribute::AlwaysInline);
    AlwaysInlinerPass(/*InsertLifetime=*/false).run(M, MAM);
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

/// The attribute of functions over columns: `ROWS` of wide.rs.
constexpr StringLiteral Rows = "kal-rows";

/// Keeps passes from functions over columns, in modules whose other functions have
/// loops of their own.
class RowsApart {
  bool Applies = false;

  static const Function *functionOf(const Any &IR) {
    if (auto *F = any_cast<const Function *>(&IR))
      return *F;
    if (auto *L = any_cast<const Loop *>(&IR))
      return (*L)->getHeader()->getParent();
    return nullptr;
  }

public:
  void registerWith(PassInstrumentationCallbacks &Callbacks) {
    Callbacks.registerShouldRunOptionalPassCallback(
        [this](StringRef, Any IR) {
          const Function *F = Applies ? functionOf(IR) : nullptr;
          return !F || !F->hasFnAttribute(Rows);
        });
  }

  /// From here on it applies, or no longer.
  class Begin : public PassInfoMixin<Begin> {
    RowsApart *Apart;
    bool Applies;

  public:
    Begin(RowsApart &Apart, bool Applies) : Apart(&Apart), Applies(Applies) {}

    PreservedAnalyses run(Module &, ModuleAnalysisManager &) {
      Apart->Applies = Applies;
      return PreservedAnalyses::all();
    }

    static bool isRequired() { return true; }
  };
};

/// Runs passes over the functions over columns of a module.
class RowsPass : public PassInfoMixin<RowsPass> {
  FunctionPassManager Passes;

public:
  explicit RowsPass(FunctionPassManager Passes) : Passes(std::move(Passes)) {}

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM) {
    return F.hasFnAttribute(Rows) ? Passes.run(F, FAM)
                                  : PreservedAnalyses::all();
  }
};

/// What loops the functions of a module have: `Loops` of pipeline.rs.
enum class Loops : unsigned { None, Any, Rows, LongRows };

struct Passes {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CGAM;
  ModuleAnalysisManager MAM;
  PassInstrumentationCallbacks Callbacks;
  RowsApart Apart;
  PassBuilder PB;
  ModulePassManager MPM;
  /// What is only for the code generator, and not for readers of IR.
  ModulePassManager Last;

  explicit Passes(TargetMachine *TM)
      : PB(TM, tuning(), std::nullopt, &Callbacks) {
    Apart.registerWith(Callbacks);
    PB.registerModuleAnalyses(MAM);
    PB.registerCGSCCAnalyses(CGAM);
    PB.registerFunctionAnalyses(FAM);
    PB.registerLoopAnalyses(LAM);
    PB.crossRegisterProxies(LAM, FAM, CGAM, MAM);
  }

  static PipelineTuningOptions tuning() {
    PipelineTuningOptions Options;
    Options.LoopUnrolling = true;
    Options.LoopVectorization = true;
    // It puts a loop's counter into a vector beside what is slow, such as a
    // divisor, for which the next iteration then waits.
    Options.SLPVectorization = false;
    return Options;
  }

  // Not `buildPerModuleDefaultPipeline`: its inliner pass moves its parts out
  // when it runs, so it can run only once.
  void build(const TargetMachine &TM, unsigned Level, Loops Kind) {
    if (Level == 0)
      return;
    // What is inlined often is simpler then: an `if` may be a choice already.
    if (Level >= 2)
      MPM.addPass(createModuleToFunctionPassAdaptor(early()));
    MPM.addPass(AlwaysInlinerPass(/*InsertLifetime=*/false));
    if (Level >= 2)
      MPM.addPass(InlineLevelsPass(early()));
    auto L = Level == 2 ? OptimizationLevel::O2 : OptimizationLevel::O3;
    if (Level == 1)
      MPM.addPass(createModuleToFunctionPassAdaptor(quick()));
    else if (Kind == Loops::None)
      MPM.addPass(createModuleToFunctionPassAdaptor(withoutLoops()));
    else if (Kind != Loops::Any) {
      MPM.addPass(createModuleToFunctionPassAdaptor(rows()));
      MPM.addPass(HoistCallsPass());
    } else {
      MPM.addPass(createModuleToFunctionPassAdaptor(RowsPass(rows())));
      MPM.addPass(RowsApart::Begin(Apart, /*Applies=*/true));
      MPM.addPass(createModuleToFunctionPassAdaptor(
          PB.buildFunctionSimplificationPipeline(L, ThinOrFullLTOPhase::None)));
      MPM.addPass(HoistCallsPass());
      MPM.addPass(
          PB.buildModuleOptimizationPipeline(L, ThinOrFullLTOPhase::None));
    }
    if (Level < 2)
      return;
    MPM.addPass(RowsApart::Begin(Apart, /*Applies=*/false));
    MPM.addPass(createModuleToFunctionPassAdaptor(PairCallsPass()));
    if (Kind == Loops::Any) {
      MPM.addPass(RowsApart::Begin(Apart, /*Applies=*/true));
      MPM.addPass(createModuleToFunctionPassAdaptor(BranchSelectsPass(TM)));
      MPM.addPass(RowsApart::Begin(Apart, /*Applies=*/false));
    }
    Last.addPass(createModuleToFunctionPassAdaptor(StaticRoundingPass(TM)));
  }

  /// What LLVM's own pipelines have before they inline: without it, the branches of
  /// `if a < b then a else b` are threaded to others before they become a choice.
  static FunctionPassManager early() {
    FunctionPassManager FPM;
    FPM.addPass(SimplifyCFGPass(
        SimplifyCFGOptions().convertSwitchRangeToICmp(true)));
    FPM.addPass(SROAPass(SROAOptions::ModifyCFG));
    FPM.addPass(EarlyCSEPass());
    return FPM;
  }

  // Not `parsePassPipeline`, which links every pass there is.
  static FunctionPassManager quick() {
    FunctionPassManager FPM;
    FPM.addPass(SROAPass(SROAOptions::ModifyCFG));
    FPM.addPass(InstCombinePass());
    FPM.addPass(ReassociatePass());
    FPM.addPass(GVNPass());
    FPM.addPass(SimplifyCFGPass());
    return FPM;
  }

  /// What LLVM's own pipelines for -O2 and -O3 have for functions without loops,
  /// in their order; but nothing for vectors, integers and copies of memory, of which
  /// these have none. What is known of a value by the branches before it is of integers, too.
  static FunctionPassManager withoutLoops() {
    auto CFG = SimplifyCFGOptions().convertSwitchRangeToICmp(true);
    auto Sinking =
        SimplifyCFGOptions(CFG).hoistCommonInsts(true).sinkCommonInsts(true);
    FunctionPassManager FPM;
    FPM.addPass(SROAPass(SROAOptions::ModifyCFG));
    FPM.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
    FPM.addPass(JumpThreadingPass());
    FPM.addPass(SimplifyCFGPass(CFG));
    FPM.addPass(InstCombinePass());
    FPM.addPass(ReassociatePass());
    FPM.addPass(SimplifyCFGPass(CFG));
    FPM.addPass(InstCombinePass());
    FPM.addPass(GVNPass());
    FPM.addPass(SCCPPass());
    FPM.addPass(InstCombinePass());
    FPM.addPass(JumpThreadingPass());
    FPM.addPass(ADCEPass());
    FPM.addPass(DSEPass());
    FPM.addPass(SimplifyCFGPass(Sinking));
    FPM.addPass(InstCombinePass());
    FPM.addPass(SimplifyCFGPass(SimplifyCFGOptions(Sinking)
                                    .forwardSwitchCondToPhi(true)
                                    .convertSwitchToLookupTable(true)
                                    .needCanonicalLoops(false)));
    FPM.addPass(InstCombinePass());
    FPM.addPass(InstSimplifyPass());
    FPM.addPass(SimplifyCFGPass(SimplifyCFGOptions(CFG)
                                    .speculateUnpredictables(true)
                                    .hoistLoadsStoresWithCondFaulting(true)));
    return FPM;
  }

  /// For functions over columns, which are vectors already: their loops need neither the
  /// vectorizer nor unrolling. With LLVM's own pipeline compiling takes up to twice as long, and the
  /// code is no faster. Nor is it if instructions are combined before loops as well.
  static FunctionPassManager rows() {
    FunctionPassManager FPM;
    LoopPassManager LPM;
    LPM.addPass(LoopRotatePass());
    LPM.addPass(LICMPass(LICMOptions()));
    FPM.addPass(createFunctionToLoopPassAdaptor(std::move(LPM),
                                                /*UseMemorySSA=*/true));
    FPM.addPass(GVNPass());
    FPM.addPass(SimplifyCFGPass());
    FPM.addPass(InstCombinePass());
    return FPM;
  }

  void run(Module &M) { run(M, MPM); }

  void runLast(Module &M) { run(M, Last); }

private:
  void run(Module &M, ModulePassManager &Passes) {
    Passes.run(M, MAM);
    LAM.clear();
    FAM.clear();
    CGAM.clear();
    MAM.clear();
  }
};

/// Passes that do nothing: each serves a feature that no code here uses (garbage
/// collection, atomics, exceptions, the x87 unit, debug information, hardening,
/// …). Running 47 of 68 passes for nothing is a sixth of the compile time of a
/// small function at level 0, and 4 % at level 2. A name that another version of
/// LLVM does not have does no harm.
constexpr StringLiteral Idle[] = {
    "Expand Atomic instructions",
    "Lower AMX intrinsics",
    "Lower AMX type for load/store",
    "Merge contiguous icmps into a memcmp",
    "Expand memcmp() to load/stores",
    "Lower Garbage Collection Instructions",
    "Shadow Stack GC Lowering",
    "Replace intrinsics with calls to vector library",
    "Partially inline calls to library functions",
    "Instrument function entry/exit with calls to e.g. mcount() (post inlining)",
    "Expand indirectbr instructions",
    "Exception handling preparation",
    "ObjC ARC contraction",
    "Prepare callbr",
    "Safe Stack instrumentation pass",
    "Assignment Tracking Analysis",
    "Local Dynamic TLS Access Clean-up",
    "X86 PIC Global Base Reg Initialization",
    "Argument Stack Rebase",
    "Local Stack Slot Allocation",
    "X86 Suppress APX features for relocation",
    "X86 speculative load hardening",
    "Tile Register Pre-configure",
    "Tile Register Configure",
    "Register Allocation Pass Scoring",
    "Fast Tile Register Preconfigure",
    "Fast Tile Register Configure",
    "X86 Lower Tile Copy",
    "X86 FP Stackifier",
    "X86 Load Value Injection (LVI) Load Hardening",
    "Remove Redundant DEBUG_VALUE analysis",
    "Fixup Statepoint Caller Saved",
    "Insert KCFI indirect call checks",
    "Analyze Machine Code For Garbage Collection",
    "Insert fentry calls",
    "Insert XRay ops",
    "Implement the 'patchable-function' attribute",
    "X86 Indirect Branch Tracking",
    "X86 insert wait instruction",
    "Contiguously Lay Out Funclets",
    "Remove Loads Into Fake Uses",
    "StackMap Liveness Analysis",
    "Live DEBUG_VALUE analysis",
    "Machine Sanitizer Binary Metadata",
    "Stack Frame Layout Analysis",
    "X86 Speculative Execution Side Effect Suppression",
    "X86 Indirect Thunks",
    "X86 Return Thunks",
    "Check CFA info and insert CFI instructions if needed",
    "X86 Load Value Injection (LVI) Ret-Hardening",
    "Pseudo Probe Inserter",
};

/// Passes that do nothing at level 0, and serve vectors or whatever else
/// optimisation may make.
constexpr StringLiteral IdleUnoptimized[] = {
    "Expand IR instructions",
    "Scalarize Masked Memory Intrinsics",
    "Expand reduction intrinsics",
    "X86 vzeroupper inserter",
    "Compressing EVEX instrs when possible",
    "Unpack machine instruction bundles",
};

/// Passes that do nothing where there are no loops, nor where the only loops are those of functions over
/// columns: those for scalar loops, and those for integers and memory, of which such functions have next
/// to none. Without them, object files are the same.
constexpr StringLiteral IdleWithoutScalarLoops[] = {
    "Canonicalize Freeze Instructions in Loops",
    "Loop Strength Reduction",
    "Interleaved Access Pass",
    "X86 Partial Reduction",
    "Constant Hoisting",
    "Merge disjoint stack slots",
    "X86 Domain Reassignment Pass",
    "X86 cmov Conversion",
    "X86 Avoid Store Forwarding Blocks",
    "X86 LEA Optimize",
    "X86 Atom pad short functions",
    "Early If-Conversion",
};

/// More passes that do nothing where there are no loops; and the scheduler, since what a function
/// computes once is in a good order already. (It changed one in fifty functions, and the time of none.)
constexpr StringLiteral IdleWithoutLoops[] = {
    "Early Machine Loop Invariant Code Motion",
    "Machine Loop Invariant Code Motion",
    "X86 LEA Fixup",
    "X86 Fixup SetCC",
    "X86 Byte/Word Instruction Fixup",
    "Machine InstCombiner",
    "Optimize machine instruction PHIs",
    "Machine Instruction Scheduler",
};

/// More passes that do nothing for functions over columns; and the scheduler after register allocation,
/// a tenth of the time: what is left to reorder then, the processor reorders itself.
constexpr StringLiteral IdleForRows[] = {
    "Early Tail Duplication",
    "Tail Duplication",
    "Shrink Wrapping analysis",
    "Detect Dead Lanes",
    "X86 Optimize Call Frame",
    "X86 Fixup Inst Tuning",
    "Post RA top-down list latency scheduler",
};

/// A pass manager that skips the idle passes of a pipeline.
struct BusyPasses : legacy::PassManagerBase {
  legacy::PassManager &Manager;
  bool Optimizes;
  Loops Kind;

  BusyPasses(legacy::PassManager &Manager, bool Optimizes, Loops Kind)
      : Manager(Manager), Optimizes(Optimizes), Kind(Kind) {}

  void add(Pass *P) override {
    StringRef Name = P->getPassName();
    bool AreRows = Kind == Loops::Rows || Kind == Loops::LongRows;
    if (is_contained(Idle, Name) ||
        (!Optimizes && is_contained(IdleUnoptimized, Name)) ||
        (Kind != Loops::Any && is_contained(IdleWithoutScalarLoops, Name)) ||
        (Kind == Loops::None && is_contained(IdleWithoutLoops, Name)) ||
        (AreRows && is_contained(IdleForRows, Name)) ||
        // It compares first, as far as it can, and masks have few registers.
        (Kind == Loops::LongRows && Name == "Machine Instruction Scheduler"))
      delete P;
    else
      Manager.add(P);
  }
};

struct Pipeline {
  const TargetMachine &TM;
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Stream{Bytes};
  Passes IR;
  legacy::PassManager Codegen;

  explicit Pipeline(TargetMachine *TM) : TM(*TM), IR(TM) {}
};

/// Returns the features in which this machine differs from the processor of its
/// name: usually none, or a few that a hypervisor hides. The list of all
/// features would mean the same; but LLVM parses it whenever it sets up a
/// target, and hashes it for every function.
std::string unusualFeatures(const Triple &Host, StringRef CPU) {
  SubtargetFeatures Unusual;
  std::string Message;
  const Target *T = TargetRegistry::lookupTarget(Host, Message);
  std::unique_ptr<MCSubtargetInfo> Usual(
      T ? T->createMCSubtargetInfo(Host, CPU, "") : nullptr);
  for (auto &[Feature, Present] : sys::getHostCPUFeatures()) {
    bool Known = false, Expected = false;
    if (Usual)
      for (auto &Each : Usual->getAllProcessorFeatures())
        if (Feature == Each.Key) {
          Known = true;
          Expected = Usual->getFeatureBits().test(Each.Value);
        }
    if (!Usual || (Known && Expected != Present))
      Unusual.AddFeature(Feature, Present);
  }
  return Unusual.getString();
}

Pipeline *pipeline(void *P) { return static_cast<Pipeline *>(P); }

} // namespace

extern "C" {

/// Builds LLVM's table of passes, which the exit of the process destroys.
void kal_pipeline_build_registry() { PassRegistry::getPassRegistry(); }

/// Registers this machine's target with LLVM: code generation only, without
/// the assembler and disassembler that `Target::initialize_native` links.
void kal_pipeline_initialize() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
}

/// Returns the features to compile for on this machine, besides those that its
/// processor's name implies; to be freed by LLVMDisposeMessage. The target must
/// be registered.
char *kal_pipeline_features(const char *Host, const char *CPU) {
  return LLVMCreateMessage(unusualFeatures(Triple(Host), CPU).c_str());
}

/// Makes LLVM's static variables for compiling at an optimisation level, which the exit
/// of the process destroys; calls Watch after each.
void kal_pipeline_make_statics(LLVMTargetMachineRef Machine, unsigned Level,
                               void (*Watch)()) {
  auto *TM = reinterpret_cast<TargetMachine *>(Machine);
  Statics::make(TM->getTargetTriple(), /*Optimizes=*/Level != 0, Watch);
}

/// Builds a pipeline for a target machine, which must outlive it: the IR
/// passes of an optimisation level from 0 to 3 for modules with such loops, then
/// emission of an object file. Returns null and sets `Message` (to be freed by
/// LLVMDisposeMessage) on failure. The static variables for that level must have
/// been made. Afterwards, compiling takes no lock of LLVM's that others wait for: no
/// fork may come in between.
void *kal_pipeline_create(LLVMTargetMachineRef Machine, unsigned Level,
                          unsigned Kind, char **Message) {
  auto *TM = reinterpret_cast<TargetMachine *>(Machine);
  auto P = std::make_unique<Pipeline>(TM);
  P->IR.build(*TM, Level, Loops(Kind));
  MCContext *Context = nullptr;
  BusyPasses Busy(P->Codegen, /*Optimizes=*/Level != 0, Loops(Kind));
  if (TM->addPassesToEmitMC(Busy, Context, P->Stream,
                            /*DisableVerify=*/true)) {
    *Message = LLVMCreateMessage("this target cannot emit object files");
    return nullptr;
  }
  return P.release();
}

void kal_pipeline_dispose(void *P) { delete pipeline(P); }

/// Prepares an empty module: for the target, and with or without names of the
/// values in it, which only a reader needs.
void kal_pipeline_prepare(void *P, LLVMModuleRef M, bool KeepNames) {
  Module &Empty = *unwrap(M);
  Empty.setTargetTriple(pipeline(P)->TM.getTargetTriple());
  Empty.setDataLayout(pipeline(P)->TM.createDataLayout());
  Empty.getContext().setDiscardValueNames(!KeepNames);
}

/// Runs the IR passes over a module.
void kal_pipeline_optimize(void *P, LLVMModuleRef M) {
  pipeline(P)->IR.run(*unwrap(M));
}

/// Makes functions of an optimised module say how they round.
void kal_pipeline_round(void *P, LLVMModuleRef M) {
  pipeline(P)->IR.runLast(*unwrap(M));
}

/// Makes the small functions of an optimised module that do not use their context begin with
/// the eight bytes of ContextFree, an instruction without effect; those that say how they round
/// with the eight bytes of EnvironmentFree.
void kal_pipeline_mark(LLVMModuleRef M, uint64_t ContextFree,
                       uint64_t EnvironmentFree) {
  for (Function &F : *unwrap(M)) {
    if (!isContextFree(F))
      continue;
    uint64_t Mark =
        F.hasFnAttribute(StaticRounding) ? EnvironmentFree : ContextFree;
    F.setPrologueData(ConstantInt::get(Type::getInt64Ty(F.getContext()), Mark));
  }
}

/// Emits an optimised module as an object file. The bytes belong to the
/// pipeline and are valid until its next use.
void kal_pipeline_emit(void *P, LLVMModuleRef M, const char **Bytes,
                       size_t *Size) {
  Pipeline *Self = pipeline(P);
  Self->Bytes.clear();
  Self->Codegen.run(*unwrap(M));
  *Bytes = Self->Bytes.data();
  *Size = Self->Bytes.size();
}

} // extern "C"

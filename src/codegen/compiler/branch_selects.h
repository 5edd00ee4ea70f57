//===- branch_selects.h - branches for selects that LLVM lowers badly -----===//
//
// Where a condition has more than one use, LLVM sends it through a general register, and from
// there, on processors with AVX-512, to a mask register: some ten cycles in which a number
// that the next iteration needs has to wait. On other processors it makes a branch of such a
// select, as GCC does on all. A condition with one use is a comparison that
// sets a mask, and stays.
//
//===----------------------------------------------------------------------===//

#ifndef KAL_BRANCH_SELECTS_H
#define KAL_BRANCH_SELECTS_H

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

namespace {

/// Makes the code generator expand selects of scalars in loops whose conditions have other
/// uses, or are no comparisons: by weights of a branch that it takes for predictable.
class BranchSelectsPass : public llvm::PassInfoMixin<BranchSelectsPass> {
  bool HasMasks;

public:
  explicit BranchSelectsPass(const llvm::TargetMachine &TM)
      : HasMasks(TM.getMCSubtargetInfo()->checkFeatures("+avx512f")) {}

  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &FAM) {
    if (!HasMasks)
      return llvm::PreservedAnalyses::all();
    llvm::MDNode *Predictable =
        llvm::MDBuilder(F.getContext()).createBranchWeights(1, 2000);
    auto &Loops = FAM.getResult<llvm::LoopAnalysis>(F);
    for (llvm::BasicBlock &Block : F) {
      if (!Loops.getLoopFor(&Block))
        continue;
      for (llvm::Instruction &I : Block) {
        auto *Select = llvm::dyn_cast<llvm::SelectInst>(&I);
        if (!Select || !Select->getType()->isDoubleTy())
          continue;
        llvm::Value *Condition = Select->getCondition();
        if (!llvm::isa<llvm::FCmpInst>(Condition) || !Condition->hasOneUse())
          Select->setMetadata(llvm::LLVMContext::MD_prof, Predictable);
      }
    }
    return llvm::PreservedAnalyses::all();
  }
};

} // namespace

#endif // KAL_BRANCH_SELECTS_H

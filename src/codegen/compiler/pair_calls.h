//===- pair_calls.h - one call for two ------------------------------------===//
//
// Superword-level parallelism of calls, and of nothing else: two calls of one
// function in a block, neither of which needs the other's result, become one
// call of the function's form for two lanes. Such a form takes about as long as
// one call does. The attribute "kal-two-lanes" of a function names it; it takes and
// returns vectors of two where the function has doubles, with the same bits. "kal-mixed-lanes"
// names the form that a function shares with another one, each in its "kal-lane": sine and
// cosine.
//
//===----------------------------------------------------------------------===//

#ifndef KAL_PAIR_CALLS_H
#define KAL_PAIR_CALLS_H

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"

namespace {

class PairCallsPass : public llvm::PassInfoMixin<PairCallsPass> {
  static constexpr llvm::StringLiteral TwoLanes = "kal-two-lanes";
  static constexpr llvm::StringLiteral MixedLanes = "kal-mixed-lanes";
  static constexpr llvm::StringLiteral Lane = "kal-lane";

  /// The instructions after a call among which another one is looked for: where
  /// that is farther, the first result would come much later than it could.
  static constexpr unsigned Window = 64;

  /// The second call, the symbol of what both become, and what lies between and needs the first
  /// one's result.
  struct Partner {
    llvm::CallInst *Second = nullptr;
    llvm::StringRef Form;
    llvm::SmallVector<llvm::Instruction *, 16> Dependents;
  };

  static llvm::CallInst *pairable(llvm::Instruction &I) {
    auto *Call = llvm::dyn_cast<llvm::CallInst>(&I);
    llvm::Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    return Callee && Callee->hasFnAttribute(TwoLanes) ? Call : nullptr;
  }

  static llvm::StringRef text(const llvm::Function &F, llvm::StringRef Attribute) {
    return F.getFnAttribute(Attribute).getValueAsString();
  }

  /// Returns the symbol of the form for a call of each of two functions; an empty one if
  /// there is none.
  static llvm::StringRef form(const llvm::Function &One, const llvm::Function &Other) {
    if (&One == &Other)
      return text(One, TwoLanes);
    llvm::StringRef Mixed = text(One, MixedLanes);
    return Mixed == text(Other, MixedLanes) && text(One, Lane) != text(Other, Lane)
               ? Mixed
               : llvm::StringRef();
  }

  /// Returns the next call that `First` can wait for and become one with.
  static Partner partner(llvm::CallInst &First) {
    Partner Found;
    llvm::SmallPtrSet<llvm::Value *, 16> Late = {&First};
    unsigned Left = Window;
    for (auto I = std::next(First.getIterator()); Left-- && !I->isTerminator(); ++I) {
      bool Depends = llvm::any_of(
          I->operands(), [&](llvm::Value *Each) { return Late.contains(Each); });
      if (!Depends) {
        auto *Second = pairable(*I);
        if (Second)
          Found.Form = form(*First.getCalledFunction(), *Second->getCalledFunction());
        if (!Found.Form.empty()) {
          Found.Second = Second;
          return Found;
        }
        continue;
      }
      if (I->mayReadOrWriteMemory() || I->mayHaveSideEffects())
        break;
      Late.insert(&*I);
      Found.Dependents.push_back(&*I);
    }
    return Found;
  }

  /// Replaces two calls by one, in the place of the second one.
  static void merge(llvm::CallInst &First, const Partner &Found) {
    llvm::CallInst &Second = *Found.Second;
    llvm::Function &Callee = *First.getCalledFunction();
    llvm::Function &Other = *Second.getCalledFunction();
    uint64_t Lower = &Callee != &Other && text(Callee, Lane) == "1" ? 1 : 0;
    llvm::IRBuilder<> Builder(&Second);
    auto *Vector = llvm::FixedVectorType::get(Builder.getDoubleTy(), 2);
    llvm::SmallVector<llvm::Value *, 2> Arguments;
    for (unsigned I = 0; I < First.arg_size(); ++I) {
      llvm::Value *Joined = llvm::PoisonValue::get(Vector);
      Joined = Builder.CreateInsertElement(Joined, First.getArgOperand(I), Lower);
      Joined = Builder.CreateInsertElement(Joined, Second.getArgOperand(I), 1 - Lower);
      Arguments.push_back(Joined);
    }
    llvm::SmallVector<llvm::Type *, 2> Parameters(Arguments.size(), Vector);
    llvm::FunctionCallee Form = Callee.getParent()->getOrInsertFunction(
        Found.Form,
        llvm::FunctionType::get(Vector, Parameters, /*isVarArg=*/false));
    if (auto *Declared = llvm::dyn_cast<llvm::Function>(Form.getCallee())) {
      Declared->setAttributes(Callee.getAttributes());
      for (llvm::StringRef Attribute : {TwoLanes, MixedLanes, Lane})
        Declared->removeFnAttr(Attribute);
    }
    llvm::CallInst *Both = Builder.CreateCall(Form, Arguments);
    llvm::Value *OfFirst = Builder.CreateExtractElement(Both, Lower);
    llvm::Value *OfSecond = Builder.CreateExtractElement(Both, 1 - Lower);
    for (llvm::Instruction *Each : Found.Dependents)
      Each->moveBefore(Second.getIterator());
    First.replaceAllUsesWith(OfFirst);
    Second.replaceAllUsesWith(OfSecond);
    First.eraseFromParent();
    Second.eraseFromParent();
  }

public:
  llvm::PreservedAnalyses run(llvm::Function &F, llvm::FunctionAnalysisManager &) {
    llvm::SmallVector<llvm::CallInst *, 16> Calls;
    for (llvm::BasicBlock &Block : F)
      for (llvm::Instruction &I : Block)
        if (auto *Call = pairable(I))
          Calls.push_back(Call);
    llvm::SmallPtrSet<llvm::CallInst *, 16> Merged;
    for (llvm::CallInst *First : Calls) {
      if (Merged.contains(First))
        continue;
      Partner Found = partner(*First);
      if (Found.Second) {
        Merged.insert(Found.Second);
        merge(*First, Found);
      }
    }
    if (Merged.empty())
      return llvm::PreservedAnalyses::all();
    llvm::PreservedAnalyses Preserved;
    Preserved.preserveSet<llvm::CFGAnalyses>();
    return Preserved;
  }
};

} // namespace

#endif

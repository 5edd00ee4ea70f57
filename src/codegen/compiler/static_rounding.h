//===- static_rounding.h - instructions that say how they round -----------===//
//
// What an instruction computes depends on the floating-point environment of the thread, so
// who calls code from outside looks at it first, which takes longer than a small function does.
// Instructions of AVX-512 can say themselves how they round, and then raise no exception
// (Intel's manual, volume 1, 15.6.4: static rounding, and suppressing all exceptions). All that is
// left of the environment is whether subnormal numbers are flushed to zero.
//
//===----------------------------------------------------------------------===//

#ifndef KAL_STATIC_ROUNDING_H
#define KAL_STATIC_ROUNDING_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/PassManager.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/Target/TargetMachine.h"

namespace {

/// The attribute of functions whose instructions all say how they round.
constexpr llvm::StringLiteral StaticRounding = "kal-static-rounding";

/// The number of instructions up to which a function is small. Frames of others may be so large
/// that the context is asked whether they fit.
constexpr unsigned SmallFunction = 512;

/// Returns whether a function is small and does not use its execution context, so that it can
/// be called as it is.
bool isContextFree(const llvm::Function &F) {
  return !F.isDeclaration() && !F.hasLocalLinkage() && !F.arg_empty() &&
         F.getArg(0)->use_empty() && F.getInstructionCount() <= SmallFunction;
}

/// Makes the instructions of context-free functions say that they round to nearest, where
/// all of them can.
class StaticRoundingPass : public llvm::PassInfoMixin<StaticRoundingPass> {
  bool HasAVX512;

  /// What an instruction becomes.
  struct Replacement {
    llvm::Instruction *I;
    llvm::Intrinsic::ID ID;
    /// How it rounds to an integer; 0 if it does not.
    unsigned Integer = 0;
  };

  // Immediate operands: to nearest or, where nothing is rounded, anyhow; without exceptions.
  static constexpr unsigned ToNearest = 8;
  static constexpr unsigned Down = 9, Up = 10, ToZero = 11;

  /// Returns the predicate of `vcmpsd` that raises nothing for a quiet NaN.
  static unsigned predicate(llvm::CmpInst::Predicate P) {
    using llvm::CmpInst;
    switch (P) {
    case CmpInst::FCMP_OEQ:
      return 0x00;
    case CmpInst::FCMP_UNO:
      return 0x03;
    case CmpInst::FCMP_UNE:
      return 0x04;
    case CmpInst::FCMP_ORD:
      return 0x07;
    case CmpInst::FCMP_UEQ:
      return 0x08;
    case CmpInst::FCMP_ONE:
      return 0x0c;
    case CmpInst::FCMP_OLT:
      return 0x11;
    case CmpInst::FCMP_OLE:
      return 0x12;
    case CmpInst::FCMP_UGE:
      return 0x15;
    case CmpInst::FCMP_UGT:
      return 0x16;
    case CmpInst::FCMP_ULT:
      return 0x19;
    case CmpInst::FCMP_ULE:
      return 0x1a;
    case CmpInst::FCMP_OGE:
      return 0x1d;
    case CmpInst::FCMP_OGT:
      return 0x1e;
    case CmpInst::FCMP_FALSE:
      return 0x0b;
    default:
      return 0x0f;
    }
  }

  /// Adds what an instruction becomes to All, if it has to become another. Returns whether that
  /// is known.
  static bool plan(llvm::Instruction &I,
                   llvm::SmallVectorImpl<Replacement> &All) {
    using namespace llvm;
    auto Becomes = [&](Intrinsic::ID ID, unsigned Integer = 0) {
      bool IsDouble = I.getOperand(0)->getType()->isDoubleTy();
      if (IsDouble)
        All.push_back({&I, ID, Integer});
      return IsDouble;
    };
    switch (I.getOpcode()) {
    case Instruction::FAdd:
      return Becomes(Intrinsic::x86_avx512_mask_add_sd_round);
    case Instruction::FSub:
      return Becomes(Intrinsic::x86_avx512_mask_sub_sd_round);
    case Instruction::FMul:
      return Becomes(Intrinsic::x86_avx512_mask_mul_sd_round);
    case Instruction::FDiv:
      return Becomes(Intrinsic::x86_avx512_mask_div_sd_round);
    case Instruction::FCmp:
      return Becomes(Intrinsic::x86_avx512_mask_cmp_sd);
    case Instruction::SIToFP:
    case Instruction::UIToFP:
      // Exact.
      return I.getType()->isDoubleTy() &&
             I.getOperand(0)->getType()->isIntegerTy() &&
             I.getOperand(0)->getType()->getIntegerBitWidth() <= 32;
    case Instruction::Call: {
      auto *Call = dyn_cast<IntrinsicInst>(&I);
      if (!Call)
        return false;
      switch (Call->getIntrinsicID()) {
      case Intrinsic::fabs:
      case Intrinsic::copysign:
      case Intrinsic::assume:
      case Intrinsic::is_fpclass:
        return true;
      case Intrinsic::sqrt:
        return Becomes(Intrinsic::x86_avx512_mask_sqrt_sd);
      case Intrinsic::fma:
        return Becomes(Intrinsic::x86_avx512_vfmadd_f64);
      case Intrinsic::floor:
        return Becomes(Intrinsic::x86_avx512_mask_rndscale_sd, Down);
      case Intrinsic::ceil:
        return Becomes(Intrinsic::x86_avx512_mask_rndscale_sd, Up);
      case Intrinsic::trunc:
        return Becomes(Intrinsic::x86_avx512_mask_rndscale_sd, ToZero);
      case Intrinsic::roundeven:
        return Becomes(Intrinsic::x86_avx512_mask_rndscale_sd, ToNearest);
      default:
        return false;
      }
    }
    case Instruction::FNeg:
    case Instruction::PHI:
    case Instruction::Select:
      // A vector could be converted as well, and there are none.
      return !I.getType()->isVectorTy();
    case Instruction::Br:
    case Instruction::Switch:
    case Instruction::Ret:
    case Instruction::ICmp:
    case Instruction::ZExt:
    case Instruction::Trunc:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
    case Instruction::Freeze:
    case Instruction::Unreachable:
      return true;
    default:
      return false;
    }
  }

  /// Returns a vector that begins with a double.
  static llvm::Value *vector(llvm::IRBuilder<> &Builder, llvm::Value *Double) {
    auto *Type = llvm::FixedVectorType::get(Double->getType(), 2);
    return Builder.CreateInsertElement(llvm::PoisonValue::get(Type), Double,
                                       uint64_t(0));
  }

  static llvm::Value *make(llvm::IRBuilder<> &Builder, const Replacement &R) {
    using namespace llvm;
    Instruction &I = *R.I;
    Value *Always = Builder.getInt8(0xff);
    Value *Rounding = Builder.getInt32(ToNearest);
    if (R.ID == Intrinsic::x86_avx512_vfmadd_f64)
      return Builder.CreateIntrinsic(R.ID, {},
                                     {I.getOperand(0), I.getOperand(1),
                                      I.getOperand(2), Rounding});
    Value *First = vector(Builder, I.getOperand(0));
    if (auto *Compare = dyn_cast<FCmpInst>(&I)) {
      Value *Mask = Builder.CreateIntrinsic(
          R.ID, {},
          {First, vector(Builder, Compare->getOperand(1)),
           Builder.getInt32(predicate(Compare->getPredicate())), Always,
           Rounding});
      return Builder.CreateTrunc(Mask, Builder.getInt1Ty());
    }
    Value *Others = PoisonValue::get(First->getType());
    SmallVector<Value *, 6> Operands{First};
    Operands.push_back(isa<BinaryOperator>(I)
                           ? vector(Builder, I.getOperand(1))
                           : First);
    Operands.append({Others, Always});
    if (R.Integer)
      Operands.push_back(Builder.getInt32(R.Integer));
    Operands.push_back(Rounding);
    return Builder.CreateExtractElement(
        Builder.CreateIntrinsic(R.ID, {}, Operands), uint64_t(0));
  }

public:
  explicit StaticRoundingPass(const llvm::TargetMachine &TM)
      : HasAVX512(TM.getMCSubtargetInfo()->checkFeatures("+avx512f")) {}

  llvm::PreservedAnalyses run(llvm::Function &F,
                              llvm::FunctionAnalysisManager &) {
    if (!HasAVX512 || !isContextFree(F))
      return llvm::PreservedAnalyses::all();
    llvm::SmallVector<Replacement, 32> All;
    for (llvm::Instruction &I : llvm::instructions(F))
      if (!plan(I, All))
        return llvm::PreservedAnalyses::all();
    for (const Replacement &R : All) {
      llvm::IRBuilder<> Builder(R.I);
      R.I->replaceAllUsesWith(make(Builder, R));
      R.I->eraseFromParent();
    }
    F.addFnAttr(StaticRounding);
    return llvm::PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

} // namespace

#endif // KAL_STATIC_ROUNDING_H

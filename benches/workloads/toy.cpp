//===- toy.cpp - what an LLVM tutorial's JIT pays for one expression -------===//
//
// The peer of `kal -e '1+1'`: an LLJIT that is given the IR of `1 + 1` as the
// tutorial's Kaleidoscope gives it (module, four function passes), looks the
// function up, calls it and prints the value. It has no parser; so it is the
// least that such a program can take, linked statically.
//
//===----------------------------------------------------------------------===//

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar.h"
#include "llvm/Transforms/Scalar/GVN.h"
#include "llvm/Transforms/Scalar/Reassociate.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include <cstdio>

using namespace llvm;
using namespace llvm::orc;

static ExitOnError check("toy: ");

int main() {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto jit = check(LLJITBuilder().create());

  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<Module>("toy", *context);
  module->setDataLayout(jit->getDataLayout());
  IRBuilder<> builder(*context);
  auto *type = FunctionType::get(Type::getDoubleTy(*context), false);
  auto *function =
      Function::Create(type, Function::ExternalLinkage, "__anon_expr", *module);
  builder.SetInsertPoint(BasicBlock::Create(*context, "entry", function));
  auto *one = ConstantFP::get(*context, APFloat(1.0));
  builder.CreateRet(builder.CreateFAdd(one, one));

  FunctionPassManager passes;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  passes.addPass(InstCombinePass());
  passes.addPass(ReassociatePass());
  passes.addPass(GVNPass());
  passes.addPass(SimplifyCFGPass());
  PassBuilder analyses;
  analyses.registerModuleAnalyses(modules);
  analyses.registerFunctionAnalyses(functions);
  analyses.crossRegisterProxies(loops, functions, components, modules);
  passes.run(*function, functions);

  check(jit->addIRModule(ThreadSafeModule(std::move(module), std::move(context))));
  auto symbol = check(jit->lookup("__anon_expr"));
  std::printf("%g\n", symbol.toPtr<double()>()());
}

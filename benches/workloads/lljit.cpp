//===- lljit.cpp - functions compiled LLJIT's own way ---------------------===//
//
// The peer of many functions that are each called once: the same functions,
// built as IR (there is no parser), each in a module of its own that an LLJIT
// compiles when it is looked up, at the quickest code generation level. LLJIT
// builds a new pipeline for every module.
//
//     lljit COUNT
//
//===----------------------------------------------------------------------===//

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include <cstdio>
#include <cstdlib>

using namespace llvm;
using namespace llvm::orc;

static ExitOnError check("lljit: ");

/// def f<index>(x y) if x < y then x * <index> + y * 2.5 else (x - y) * a + x / b
static ThreadSafeModule define(int index, const DataLayout &layout) {
  auto context = std::make_unique<LLVMContext>();
  auto module = std::make_unique<Module>("lljit", *context);
  module->setDataLayout(layout);
  IRBuilder<> builder(*context);
  auto *number = Type::getDoubleTy(*context);
  auto value = [&](double v) { return ConstantFP::get(number, v); };
  auto *function = Function::Create(
      FunctionType::get(number, {number, number}, false),
      Function::ExternalLinkage, "f" + std::to_string(index), *module);
  auto block = [&] { return BasicBlock::Create(*context, "", function); };
  auto *entry = block(), *less = block(), *other = block(), *meet = block();
  Value *x = function->getArg(0), *y = function->getArg(1);
  builder.SetInsertPoint(entry);
  builder.CreateCondBr(builder.CreateFCmpULT(x, y), less, other);
  builder.SetInsertPoint(less);
  auto *left = builder.CreateFAdd(builder.CreateFMul(x, value(index)),
                                  builder.CreateFMul(y, value(2.5)));
  builder.CreateBr(meet);
  builder.SetInsertPoint(other);
  auto *right = builder.CreateFAdd(
      builder.CreateFMul(builder.CreateFSub(x, y), value(index % 13)),
      builder.CreateFDiv(x, value(index % 7 + 1)));
  builder.CreateBr(meet);
  builder.SetInsertPoint(meet);
  auto *result = builder.CreatePHI(number, 2);
  result->addIncoming(left, less);
  result->addIncoming(right, other);
  builder.CreateRet(result);
  return ThreadSafeModule(std::move(module), std::move(context));
}

int main(int count, char **arguments) {
  int functions = count > 1 ? std::atoi(arguments[1]) : 1000;
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  auto machine = check(JITTargetMachineBuilder::detectHost());
  machine.setCodeGenOptLevel(CodeGenOptLevel::None);
  auto jit = check(LLJITBuilder().setJITTargetMachineBuilder(machine).create());
  // Added up in groups, as the other programs do, so that all digits agree.
  double sum = 0, group = 0;
  for (int index = 0; index < functions; ++index) {
    check(jit->addIRModule(define(index, jit->getDataLayout())));
    auto symbol = check(jit->lookup("f" + std::to_string(index)));
    group += symbol.toPtr<double(double, double)>()(50, index % 100);
    if (index % 100 == 99) {
      sum += group;
      group = 0;
    }
  }
  std::printf("%.17g\n", sum);
}

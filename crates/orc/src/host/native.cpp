// As targets.cpp, for the target of this machine alone. The results are true on
// failure.

#include "llvm-c/Target.h"

extern "C" {
LLVMBool LLVM_InitializeNativeTarget() { return LLVMInitializeNativeTarget(); }
LLVMBool LLVM_InitializeNativeAsmParser() {
  return LLVMInitializeNativeAsmParser();
}
LLVMBool LLVM_InitializeNativeAsmPrinter() {
  return LLVMInitializeNativeAsmPrinter();
}
LLVMBool LLVM_InitializeNativeDisassembler() {
  return LLVMInitializeNativeDisassembler();
}
}

// What the `llvm-sys` crate compiles for itself, if it is not asked not to: its
// functions that make targets known, for hosts that use LLVM by their own. The
// ones of llvm-c/Target.h are inline. A program that calls none of these links
// none of the targets.

#include "llvm-c/Target.h"

extern "C" {
void LLVM_InitializeAllTargetInfos() { LLVMInitializeAllTargetInfos(); }
void LLVM_InitializeAllTargets() { LLVMInitializeAllTargets(); }
void LLVM_InitializeAllTargetMCs() { LLVMInitializeAllTargetMCs(); }
void LLVM_InitializeAllAsmPrinters() { LLVMInitializeAllAsmPrinters(); }
void LLVM_InitializeAllAsmParsers() { LLVMInitializeAllAsmParsers(); }
void LLVM_InitializeAllDisassemblers() { LLVMInitializeAllDisassemblers(); }
}

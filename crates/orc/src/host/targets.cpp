// What the `llvm-sys` crate compiles itself unless it is asked not to: its
// functions that register targets, for hosts that use LLVM themselves. The ones
// of llvm-c/Target.h are inline.

#include "llvm-c/Target.h"

extern "C" {
void LLVM_InitializeAllTargetInfos() { LLVMInitializeAllTargetInfos(); }
void LLVM_InitializeAllTargets() { LLVMInitializeAllTargets(); }
void LLVM_InitializeAllTargetMCs() { LLVMInitializeAllTargetMCs(); }
void LLVM_InitializeAllAsmPrinters() { LLVMInitializeAllAsmPrinters(); }
void LLVM_InitializeAllAsmParsers() { LLVMInitializeAllAsmParsers(); }
void LLVM_InitializeAllDisassemblers() { LLVMInitializeAllDisassemblers(); }
}

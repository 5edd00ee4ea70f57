// Two LLVMs in one process: libkal.so has one inside, and libLLVM.so.22.1 is loaded beside it. Both
// compile, in turn, and neither notices the other.
//
//   beside kal|llvm LIBKAL LIBLLVM     which of them is loaded first
#include "check.h"
#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>

// Loads a function; C has no conversion of what `dlsym` returns.
static void load(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    if (!found) fprintf(stderr, "%s\n", dlerror());
    CHECK(found);
    memcpy(function, &found, sizeof found);
}

#define LOAD(library, function) __typeof__(function) *function##_ = NULL; load(library, #function, &function##_)

static void *open_library(const char *path) {
    // The names of both are for all, so that they could be taken for one another.
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) fprintf(stderr, "%s\n", dlerror());
    CHECK(library);
    return library;
}

// Compiles `double NAME(double)` by LLVM, and returns what it makes of 5: 5 * 5 + number.
static double by_llvm(void *llvm, LLVMOrcLLJITRef jit, const char *name, double number) {
    LOAD(llvm, LLVMContextCreate);
    LOAD(llvm, LLVMOrcCreateNewThreadSafeContextFromLLVMContext);
    LOAD(llvm, LLVMModuleCreateWithNameInContext);
    LOAD(llvm, LLVMDoubleTypeInContext);
    LOAD(llvm, LLVMFunctionType);
    LOAD(llvm, LLVMAddFunction);
    LOAD(llvm, LLVMAppendBasicBlockInContext);
    LOAD(llvm, LLVMCreateBuilderInContext);
    LOAD(llvm, LLVMPositionBuilderAtEnd);
    LOAD(llvm, LLVMGetParam);
    LOAD(llvm, LLVMBuildFMul);
    LOAD(llvm, LLVMBuildFAdd);
    LOAD(llvm, LLVMConstReal);
    LOAD(llvm, LLVMBuildRet);
    LOAD(llvm, LLVMDisposeBuilder);
    LOAD(llvm, LLVMOrcCreateNewThreadSafeModule);
    LOAD(llvm, LLVMOrcDisposeThreadSafeContext);
    LOAD(llvm, LLVMOrcLLJITGetMainJITDylib);
    LOAD(llvm, LLVMOrcLLJITAddLLVMIRModule);
    LOAD(llvm, LLVMOrcLLJITLookup);
    LLVMContextRef context = LLVMContextCreate_();
    LLVMOrcThreadSafeContextRef safe = LLVMOrcCreateNewThreadSafeContextFromLLVMContext_(context);
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext_(name, context);
    LLVMTypeRef real = LLVMDoubleTypeInContext_(context);
    LLVMTypeRef type = LLVMFunctionType_(real, &real, 1, 0);
    LLVMValueRef function = LLVMAddFunction_(module, name, type);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext_(context);
    LLVMPositionBuilderAtEnd_(builder, LLVMAppendBasicBlockInContext_(context, function, ""));
    LLVMValueRef x = LLVMGetParam_(function, 0);
    LLVMValueRef square = LLVMBuildFMul_(builder, x, x, "");
    LLVMBuildRet_(builder, LLVMBuildFAdd_(builder, square, LLVMConstReal_(real, number), ""));
    LLVMDisposeBuilder_(builder);
    LLVMOrcThreadSafeModuleRef owned = LLVMOrcCreateNewThreadSafeModule_(module, safe);
    LLVMOrcDisposeThreadSafeContext_(safe);
    CHECK(!LLVMOrcLLJITAddLLVMIRModule_(jit, LLVMOrcLLJITGetMainJITDylib_(jit), owned));
    LLVMOrcExecutorAddress address = 0;
    CHECK(!LLVMOrcLLJITLookup_(jit, &address, name));
    double (*compiled)(double) = NULL;
    memcpy(&compiled, &address, sizeof compiled);
    return compiled(5);
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    bool kal_first = strcmp(arguments[1], "kal") == 0;
    void *kal = NULL, *llvm = NULL;
    if (kal_first) kal = open_library(arguments[2]);
    llvm = open_library(arguments[3]);
    if (!kal_first) kal = open_library(arguments[2]);
    LOAD(kal, kal_engine_new);
    LOAD(kal, kal_engine_free);
    LOAD(kal, kal_context_new);
    LOAD(kal, kal_context_free);
    LOAD(kal, kal_eval);
    LOAD(llvm, LLVMInitializeX86TargetInfo);
    LOAD(llvm, LLVMInitializeX86Target);
    LOAD(llvm, LLVMInitializeX86TargetMC);
    LOAD(llvm, LLVMInitializeX86AsmPrinter);
    LOAD(llvm, LLVMOrcCreateLLJIT);
    LOAD(llvm, LLVMOrcDisposeLLJIT);
    LLVMOrcLLJITRef jit = NULL;
    if (!kal_first) {
        LLVMInitializeX86TargetInfo_(), LLVMInitializeX86Target_();
        LLVMInitializeX86TargetMC_(), LLVMInitializeX86AsmPrinter_();
        CHECK(!LLVMOrcCreateLLJIT_(&jit, NULL));
        CHECK(by_llvm(llvm, jit, "before", 1) == 26);
    }
    kal_engine *engine = kal_engine_new_(NULL, NULL);
    kal_context *context = kal_context_new_(engine, NULL);
    double value = 0;
    CHECK(kal_eval_(context, "def f(x) exp(log(x)) + sqrt(x); f(4)", KAL_TO_ZERO, &value, NULL, NULL));
    CHECK(value == 6);
    if (kal_first) {
        LLVMInitializeX86TargetInfo_(), LLVMInitializeX86Target_();
        LLVMInitializeX86TargetMC_(), LLVMInitializeX86AsmPrinter_();
        CHECK(!LLVMOrcCreateLLJIT_(&jit, NULL));
    }
    // In turn: each has code, constructors and tables of its own.
    for (int round = 0; round < 20; round++) {
        char name[20], text[60];
        snprintf(name, sizeof name, "round%d", round);
        CHECK(by_llvm(llvm, jit, name, round) == 25 + round);
        snprintf(text, sizeof text, "def g%d(x) f(x) * %d; g%d(4)", round, round, round);
        CHECK(kal_eval_(context, text, KAL_TO_ZERO, &value, NULL, NULL) && value == 6 * round);
    }
    if (kal_first) {
        CHECK(!LLVMOrcDisposeLLJIT_(jit) && dlclose(llvm) == 0);
        CHECK(kal_eval_(context, "f(4)", 4, &value, NULL, NULL) && value == 6);
    }
    kal_context_free_(context);
    kal_engine_free_(engine);
    // Its code stays, since its threads may be in it.
    CHECK(dlclose(kal) == 0);
    engine = kal_engine_new_(NULL, NULL);
    context = kal_context_new_(engine, NULL);
    CHECK(kal_eval_(context, "def f(x) x / 2; f(9)", KAL_TO_ZERO, &value, NULL, NULL) && value == 4.5);
    kal_context_free_(context);
    kal_engine_free_(engine);
    if (!kal_first) CHECK(!LLVMOrcDisposeLLJIT_(jit) && dlclose(llvm) == 0);
    puts("all is well");
    return 0;
}

// Runs the constructors that start.ld has set aside.

namespace {
using Constructor = void (*)(int, char **, char **);
}

// Without start.ld these are nowhere, and there is nothing to run.
extern "C" {
extern Constructor __start_kal_llvm_constructors[] __attribute__((weak, visibility("hidden")));
extern Constructor __stop_kal_llvm_constructors[] __attribute__((weak, visibility("hidden")));

void kal_llvm_start() {
  // Volatile, since the compiler takes the two for different arrays.
  Constructor *volatile begin = __start_kal_llvm_constructors;
  Constructor *volatile end = __stop_kal_llvm_constructors;
  Constructor *const last = end;
  for (Constructor *constructor = begin; constructor != last; ++constructor)
    (*constructor)(0, nullptr, nullptr);
}
}

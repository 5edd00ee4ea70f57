// Runs the constructors that start.ld has set aside.

namespace {
using Constructor = void (*)(int, char **, char **);
}

// Without start.ld these are nowhere, and there is nothing to run.
extern "C" {
extern Constructor kal_llvm_constructors[] __attribute__((weak, visibility("hidden")));
extern Constructor kal_llvm_constructors_end[] __attribute__((weak, visibility("hidden")));

void kal_llvm_start() {
  // Volatile, since the compiler takes the two for different arrays.
  Constructor *volatile begin = kal_llvm_constructors;
  Constructor *volatile end = kal_llvm_constructors_end;
  Constructor *const last = end;
  for (Constructor *constructor = begin; constructor != last; ++constructor)
    (*constructor)(0, nullptr, nullptr);
}
}

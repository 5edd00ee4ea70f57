//! Why a target is missed, when it is, as profiles show it, and what could be
//! done next.

/// Returns what is known of a row's target, by the row's name and the
/// contestant's.
pub fn reason(row: &str, contestant: &str) -> &'static str {
    match (row, contestant) {
        (_, "kal --eager -O2") => {
            "LLVM's machine passes take two thirds (instruction selection 19 %), its IR passes a quarter (SLP 5 %, \
             SimplifyCFG 4 %, SROA 3 %); calling the passes takes 6 %, memory 10 %; two threads do 1.8 times what \
             one does, since the two processors share a core. Next: keep the code from start to start."
        }
        ("10,000 functions, each called once in a branch", _) => {
            "1.1 to 1.2 million instructions for a function, each in an object of its own: instruction selection 16 %, \
             looking up and linking 13 %, the printing of machine code 12 %, making ELF's sections for each module 11 %, \
             register allocation 9 %, building IR 9 %, writing the file 6 %; nothing stands out. Next: code for \
             the likely callees of a branch in the same object, without linking what is not called."
        }
        ("the tutorial's Mandelbrot, with its own operators", _) => {
            "starting and compiling take 20 to 30 ms, which C's row does not contain; the recursion is inlined into \
             itself four times, which costs more to compile than it saves in so short a run. Next: keep the code."
        }
        ("first fib(25) at the prompt" | "first loop of 10⁶ at the prompt", _) => {
            "baseline code is made in 1 ms; the rest is the program itself, at the speed of baseline code, and the \
             compiler of better code, which shares the core with it."
        }
        ("Mandelbrot, 1000 x 1000 x 255", _) => {
            "the loops take 149 ms, as clang's code does (`--stats`: 157.6 ms, 8.5 ms of them waiting for the \
             compiler); starting and compiling come on top, which clang's row does not contain. Next: start on \
             tapes, as `--tiered` does, or keep the code."
        }
        ("sum of 1/i² to 5·10⁸", "kal") => "by less than two runs differ.",
        ("sum of 1/i² to 5·10⁸, interpreted", _) => {
            "the loop is four instructions of the tape, as it is of luajit's bytecode; 1.2 to 1.8 from one processor to \
             another. Not profiled on this one."
        }
        ("first call of a chain of 20 functions at the prompt", _) => {
            "20 objects are made one after the other, each when it is first called. Next: the chain of certain \
             calls in one object."
        }
        _ => {
            "targets in seconds were set on a processor that does the same two to four times as fast (node, in the \
             row about starting, says by how much this one is slower)."
        }
    }
}

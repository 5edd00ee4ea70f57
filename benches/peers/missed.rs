//! Why a target is missed, when it is, as profiles show it, and what could be
//! done next.

/// Returns what is known of a row's target, by the row's name and the
/// contestant's.
pub fn reason(row: &str, contestant: &str) -> &'static str {
    match (row, contestant) {
        ("10,000 functions, each called once in a branch, second start", _) => {
            "a program of one function takes 2.2 ms and 9 MB, most of these pages of the command itself. Of the \
             rest, 3.3 MB are code, 1.7 what the pack says of it and 1.1 the text; but for that, in large pages of \
             2 MB, which come in a third of the time that small ones take. When free memory is slow to come, a \
             start takes two to three times as long."
        }
        ("10,000 functions, each called before the next is defined, second start", _) => {
            "each of the 10,000 expressions is decoded, and its code found, placed and freed, in 8 µs; the functions \
             take a tenth of the time. Next: the code of expressions in the block of the functions."
        }
        (
            "100,000 definitions, 10 called, second start"
            | "import of 100,000 functions, 10 called, second start",
            _,
        ) => {
            "restoring the module, and reading the tables of its 100,000 items; that they were found to be whole \
             is known from an earlier start. Next: items that take less than 285 bytes each."
        }
        (
            "10,000 functions, each called once in a branch, first start"
            | "100,000 definitions, 10 called, first start",
            _,
        ) => {
            "a child finds out what is kept, when the program has ended; what is left is the fork, 2 to 5 ms, and \
             that runs of the same program differ by more."
        }
        ("100,000 definitions, 10 called", _) => {
            "reading: 4 µs for each definition, from tokens to a checked function; another thread finds the tokens. \
             Next: parsing ahead as well, as far as operators are known."
        }
        ("fib(40), interpreted", _) => {
            "1.1 to 1.2 from one processor to another: a call is five instructions of the tape on average."
        }
        ("fib(32), tiered", _) => {
            "the first thousand calls are interpreted, the next ones run in baseline code until LLVM has started, as \
             they do from the beginning in the other row."
        }
        (_, "kal --eager -O2") => {
            "LLVM's machine passes take two thirds (instruction selection 19 %), its IR passes a quarter \
             (SimplifyCFG 4 %, SROA 3 %); calling the passes takes 6 %, memory 10 %; two threads do 1.8 times what \
             one does, since the two processors share a core. Next: keep the code from start to start."
        }
        ("first fib(25) at the prompt" | "first loop of 10⁶ at the prompt", _) => {
            "baseline code is made in 1 ms; the rest is the program itself, at the speed of baseline code, and the \
             compiler of better code, which shares the core with it."
        }
        ("10,000 functions, each called once, tiered" | "100,000 expressions from a pipe, tiered", _) => {
            "by less than runs differ in a minute in which the other thread of the core is busy; 0.07 and 0.25 s in others."
        }
        ("sum of 1/i² to 5·10⁸", "kal") | ("Collatz to 3·10⁵, with fmod", _) => {
            "by less than two runs differ."
        }
        ("the tutorial's fibi(4·10⁸)" | "Mandelbrot, 1000 x 1000 x 255, tiered", _) => {
            "LLVM starts and compiles beside the program, on the other thread of the same core, for 10 to 20 ms; the \
             rest of the time runs of the same code differ by a tenth from one minute to another."
        }
        ("Mandelbrot in the debugger, a breakpoint not hit", _) => {
            "the debugger may stop in every function, so nothing is inlined, and what a call computes is not computed \
             ahead, in strips. Next: code with what is inlined until a breakpoint is set in it."
        }
        ("sum of 1/i² to 5·10⁸, interpreted", _) => {
            "the loop is four instructions of the tape, as it is of luajit's bytecode; 0.9 to 1.2 from one minute to \
             another, by what the other thread of the core does."
        }
        ("first call of a chain of 20 functions at the prompt", _) => {
            "20 objects are made one after the other, each when it is first called. Next: the chain of certain \
             calls in one object."
        }
        (_, "kal --eager") => {
            "eager code waits for LLVM's start and its own compilation, 12 to 18 ms, beside which lazy code runs in \
             baseline code. Next: fewer page faults at LLVM's start, of which 700 are for memory and 300 for its code."
        }
        _ => "not examined.",
    }
}

//! Why a target is missed, when it is, as profiles show it, and what could be
//! done next.

/// What is known of a row's target, by the row's name and the contestant's.
pub fn reason(row: &str, contestant: &str) -> &'static str {
    match (row, contestant) {
        ("start: print 1+1", _) => {
            "of 7.3 million instructions, LLVM's start, target machine and code generator take 4.5, the first \
             object 1, the dynamic linker 0.5; the rest of the time is page faults (790). Next: a pipeline for \
             the quick level that is built pass by pass, as they are needed."
        }
        (row, "kal") if row.starts_with("fib") || row.starts_with("sum") => {
            "the code takes what the peer's takes; 6 ms to start and 3 to 6 to compile are in the row, and not \
             in the peer's. Next: compile at the full level without the passes that found nothing in such a \
             function."
        }
        (row, "kal") if row.starts_with("Mandelbrot") => {
            "the loop takes what the peer's takes; 6 ms to start and 7 to compile two functions are in the row, \
             and not in the peer's. Next: compile one of them, the other being inlined there."
        }
        (_, "kal --eager -O2") => {
            "2.4 million instructions for a function, of which LLVM's machine passes take 64 % (instruction \
             selection 19), its IR passes 28 % (SLP 5, SimplifyCFG 4, SROA 3); two threads do 1.65 times what one \
             does, since the two processors share a core. Next: no loop passes for functions without loops."
        }
        ("10,000 times redefined and called", _) => {
            "0.9 million instructions a round, of which LLVM's code generator takes 66 % for two functions in one \
             object (a fifth of that to set up and finish an ELF file), JITLink and look-ups 15 %, building IR 7 %, \
             the verifier 4 %. Next: run such expressions on tapes, as `--tiered` does."
        }
        (_, "kal --tiered") => {
            "the interpreter runs until the compiler has started, in the background. Next: start it at the first \
             sign of heat."
        }
        _ => "not known yet.",
    }
}

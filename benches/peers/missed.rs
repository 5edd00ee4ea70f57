//! Why a target is missed, when it is, as profiles show it, and what could be
//! done next.

/// Returns what is known of a row's target, by the row's name and the
/// contestant's.
pub fn reason(row: &str, contestant: &str) -> &'static str {
    match (row, contestant) {
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
        ("Mandelbrot, 1000 x 1000 x 255", _) => {
            "the loops take 149 ms, as clang's code does (`--stats`: 157.6 ms, 8.5 ms of them waiting for the \
             compiler); starting and compiling come on top, which clang's row does not contain. Next: start on \
             tapes, as `--tiered` does, or keep the code."
        }
        _ => "not known yet.",
    }
}

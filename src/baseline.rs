//! The baseline compiler: from checked functions to portable code in one walk, without
//! LLVM.
//!
//! Most functions run a few times only, and compiling them with LLVM takes far longer than
//! that. Baseline code is written by templates, an instruction or a few for each node, as the
//! walk comes to it: locals and waiting values are in the frame, the value that was computed
//! last is in a register, and comparisons become jumps. What loops that call nothing use most
//! is in registers, too: an addition to what is in memory takes three times as long. It counts its calls and the
//! iterations of its loops, and reports when they are many: then LLVM compiles the
//! function at the optimising tier.
//!
//! What code may rely on, and what it must do, is in [`crate::abi`]; it is the same for
//! LLVM's code. Registers: `rbx` holds the execution context, `rbp` the frame, `xmm0` the
//! *accumulator*, the value that was computed last; `xmm1`, `xmm2` and `rax` are for a moment;
//! `xmm8` to `xmm15` hold locals and `ecx` the
//! count of iterations, which are saved around calls.
//!
//! ```text
//!   arguments from the ninth on │ return address │ rbp │ rbx │ locals │ values │ arguments
//!                               ▲ +16            ▲ 0   ▲ -8  ▲ -16                       ▲ rsp
//! ```

mod assembler;
mod constructs;
mod frame;
mod values;
mod walk;

use crate::codegen::{Body, CodegenError, CompileOptions, LARGEST};
use crate::name::Names;
use crate::pack::portable::PortableCode;

/// Compiles the body of a function that is entered by a call, and counts them.
///
/// # Errors
/// [`CodegenError::TooLarge`], or that the function is not what the check promises.
pub fn compile(body: Body<'_>, names: &Names, options: CompileOptions) -> Result<PortableCode, CodegenError> {
    let size = body.function.nodes.len();
    if size > LARGEST {
        return Err(CodegenError::TooLarge(size, LARGEST));
    }
    walk::Walk::new(body, names, options).compile()
}

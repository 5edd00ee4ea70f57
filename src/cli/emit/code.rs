//! The stages of `kal emit` that LLVM makes.

use super::stage::{EmitStage, Problem};
use crate::cli::options::CommonOptions;
use crate::codegen::{self, CodegenError, Compiler, ListedFunction, Listing};
use crate::engine::Engine;
use crate::name::Name;
use crate::sema::checked::CheckedFunction;
use std::sync::Arc;

impl From<CodegenError> for Problem {
    fn from(error: CodegenError) -> Self {
        match error {
            CodegenError::Internal(_) => Self::Bug(error.to_string()),
            CodegenError::Target(_) | CodegenError::TooLarge(..) => Self::Message(error.to_string()),
        }
    }
}

/// Compiles the functions of a program that defines the names that `is_defined`
/// says to IR, assembly or an object file.
pub(super) fn compile(
    stage: EmitStage,
    functions: &[(&Arc<CheckedFunction>, String)],
    is_defined: &dyn Fn(Name) -> bool,
    engine: &Engine,
    options: &CommonOptions,
) -> Result<Vec<u8>, Problem> {
    let listing = match stage {
        EmitStage::Asm => Listing::Assembly,
        EmitStage::Obj => Listing::Object,
        EmitStage::Ir | EmitStage::Tokens | EmitStage::Ast | EmitStage::Tape => Listing::Ir,
    };
    let listed = |(function, symbol): &(&Arc<CheckedFunction>, String)| ListedFunction {
        function: Arc::clone(function),
        symbol: symbol.clone(),
        instructions: function.instructions(engine.hosts(), is_defined).collect(),
    };
    let functions: Vec<_> = functions.iter().map(listed).collect();
    // LLVM recurses as deeply as the program is nested.
    let work = || {
        let options = codegen::CompileOptions { level: options.level(), counts_fuel: options.fuel.is_some() };
        Compiler::new().listing(listing, &functions, engine.names(), options)
    };
    let bytes = std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(1 << 30).spawn_scoped(scope, work);
        worker.map(std::thread::ScopedJoinHandle::join)
    });
    match bytes {
        Ok(Ok(bytes)) => Ok(bytes?),
        Ok(Err(_)) => Err(Problem::Bug("the compiler panicked".to_owned())),
        Err(error) => Err(format!("cannot start a thread for the compiler: {error}").into()),
    }
}

//! From checked functions to LLVM IR and object bytes.
//!
//! A [`Compiler`] belongs to one thread and is used for many functions, one
//! module each: target machine and pipelines are built once per optimisation
//! level. What comes out is position-independent and knows nothing of the
//! process (see [`crate::abi`]). Linking and running are not done here.

mod cost;
mod lower;
mod pipeline;
mod recursion;
mod size;
mod thunk;
mod types;

use crate::llvm;
use crate::name::Names;
use crate::process::{self, Activity};
use crate::sema::checked::CheckedFunction;
pub use cost::{cost, is_large};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, RelocMode, Target, TargetMachine, TargetMachineOptions};
use pipeline::Pipeline;
pub use size::symbol_sizes;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

/// How much the compiler does for the speed of the code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Level {
    /// Compile as quickly as possible.
    O0,
    /// The cheap passes.
    O1,
    /// What `clang -O2` does.
    #[default]
    O2,
    /// What `clang -O3` does.
    O3,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 4] = [Self::O0, Self::O1, Self::O2, Self::O3];

    fn machine(self) -> OptimizationLevel {
        match self {
            Self::O0 => OptimizationLevel::None,
            Self::O1 => OptimizationLevel::Less,
            Self::O2 => OptimizationLevel::Default,
            Self::O3 => OptimizationLevel::Aggressive,
        }
    }
}

/// How code is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompileOptions {
    /// How much is done for its speed.
    pub level: Level,
    /// Whether it counts function entries and loop rounds.
    pub counts_fuel: bool,
}

/// What is compiled into one object.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// The function.
    pub function: &'a CheckedFunction,
    /// The symbol of its body.
    pub symbol: &'a str,
    /// Functions whose calls are replaced by their bodies. Each may call those
    /// before it in the same way; all other calls go through slots.
    pub inline: &'a [Arc<CheckedFunction>],
    /// At which call it says that it is hot, by calling [`crate::abi::Header::hot`];
    /// never if `None`.
    pub hot_after: Option<u32>,
    /// Where its code begins, if not at the beginning.
    pub osr: Option<LoopEntry>,
}

/// The beginning of a round of a loop. Code that begins there is called with
/// the function's locals and the values that wait for the loop to end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LoopEntry {
    /// The node that sets the loop's variable first.
    pub node: u32,
    /// How many values wait.
    pub values: u32,
}

/// Why something could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// This machine is none that LLVM can generate code for.
    #[error("no code can be generated for this machine: {0}")]
    Target(String),
    /// LLVM refused to build or emit the code.
    #[error("LLVM cannot compile it: {0}")]
    Llvm(String),
    /// The function has more nodes than the compiler takes.
    #[error("it is too large, with {0} operations of {1} at most; `--interpret` runs it")]
    TooLarge(usize, usize),
}

/// How many nodes a function may have to be compiled: what takes a few seconds
/// and some hundred megabytes.
pub const LARGEST: usize = 1 << 20;

/// What LLVM needs of a stack for each node of a function, in bytes: it recurs
/// as deeply as functions are nested.
const STACK_PER_NODE: usize = 1 << 10;

/// The stack of a thread that can compile the largest functions, in bytes.
pub const STACK: usize = LARGEST * STACK_PER_NODE;

/// The code that lets compiled code call a closure of the host: a function of
/// doubles that puts them into memory and calls [`crate::abi::Header::host`].
#[derive(Clone, Copy, Debug)]
pub struct Thunk {
    /// What the runtime knows the closure by.
    pub closure: u64,
    /// How many doubles it takes.
    pub arity: u32,
}

/// A compiler: one thread's, for any number of functions.
pub struct Compiler {
    context: Context,
    machines: [Option<TargetPipeline>; 4],
    modules: u32,
    /// How many nodes a function may have.
    largest: usize,
}

/// A target machine and the pipeline built for it. Fields are dropped in
/// order: the pipeline refers to the machine.
struct TargetPipeline {
    pipeline: Pipeline,
    machine: TargetMachine,
}

/// An LLVM context never forgets a constant, so it is replaced after this
/// many modules, and the pipelines with it.
const MODULES_PER_CONTEXT: u32 = 512;

impl Compiler {
    /// A compiler for this machine. Cheap: pipelines are built when needed.
    pub fn new() -> Self {
        initialize();
        Self { context: Context::create(), machines: [const { None }; 4], modules: 0, largest: LARGEST }
    }

    /// Takes no larger functions than a stack of so many bytes is enough for.
    pub fn set_stack(&mut self, bytes: usize) {
        self.largest = LARGEST.min(bytes / STACK_PER_NODE);
    }

    /// Compiles functions into one object file that defines their symbols.
    ///
    /// # Errors
    /// When LLVM refuses; the compiler stays usable.
    pub fn object(
        &mut self,
        bodies: &[Body<'_>],
        names: &Names,
        options: CompileOptions,
    ) -> Result<Vec<u8>, CodegenError> {
        let sizes = bodies.iter().map(|body| body.function.nodes.len());
        if let Some(size) = sizes.max().filter(|size| *size > self.largest) {
            return Err(CodegenError::TooLarge(size, self.largest));
        }
        let level = if bodies.iter().any(|body| is_large(body.function)) { Level::O0 } else { options.level };
        let options = CompileOptions { level, ..options };
        self.emit(level, |module| {
            bodies.iter().try_for_each(|body| lower::body(module, *body, names, options))
        })
    }

    /// Compiles the thunk of a host closure into an object file that defines
    /// `symbol`.
    ///
    /// # Errors
    /// When LLVM refuses; the compiler stays usable.
    pub fn thunk(&mut self, thunk: Thunk, symbol: &str) -> Result<Vec<u8>, CodegenError> {
        self.emit(Level::O0, |module| thunk::define(module, thunk, symbol))
    }

    /// The LLVM IR of functions as text, optimised at `level`, each under its
    /// symbol.
    ///
    /// # Errors
    /// When LLVM refuses; the compiler stays usable.
    pub fn ir(
        &mut self,
        functions: &[(&CheckedFunction, String)],
        names: &Names,
        options: CompileOptions,
    ) -> Result<String, CodegenError> {
        self.optimized(functions, names, options, |_, module| Ok(module.print_to_string().to_string()))
    }

    /// The assembly of functions as text.
    ///
    /// # Errors
    /// When LLVM refuses; the compiler stays usable.
    pub fn assembly(
        &mut self,
        functions: &[(&CheckedFunction, String)],
        names: &Names,
        options: CompileOptions,
    ) -> Result<String, CodegenError> {
        self.optimized(functions, names, options, |machine, module| {
            let buffer = machine
                .machine
                .write_to_memory_buffer(module, FileType::Assembly)
                .map_err(|error| CodegenError::Llvm(error.to_string()))?;
            Ok(String::from_utf8_lossy(buffer.as_slice()).trim_end_matches('\0').to_owned())
        })
    }

    /// One object file with all the functions.
    ///
    /// # Errors
    /// When LLVM refuses; the compiler stays usable.
    pub fn objects(
        &mut self,
        functions: &[(&CheckedFunction, String)],
        names: &Names,
        options: CompileOptions,
    ) -> Result<Vec<u8>, CodegenError> {
        self.optimized(functions, names, options, |machine, module| Ok(machine.pipeline.emit(module)))
    }

    fn emit(
        &mut self,
        level: Level,
        lower: impl for<'c> FnOnce(&Module<'c>) -> Result<(), CodegenError>,
    ) -> Result<Vec<u8>, CodegenError> {
        self.compile(level, lower, |machine, module| Ok(machine.pipeline.emit(module)))
    }

    fn optimized<T>(
        &mut self,
        functions: &[(&CheckedFunction, String)],
        names: &Names,
        options: CompileOptions,
        output: impl for<'c> FnOnce(&mut TargetPipeline, &Module<'c>) -> Result<T, CodegenError>,
    ) -> Result<T, CodegenError> {
        let lower = |module: &Module<'_>| {
            functions.iter().try_for_each(|(function, symbol)| {
                let body = Body { function, symbol, inline: &[], hot_after: None, osr: None };
                lower::body(module, body, names, options)
            })
        };
        self.compile(options.level, lower, output)
    }

    /// Makes a module, lets `lower` fill it, optimises it, hands it to
    /// `output`.
    fn compile<T>(
        &mut self,
        level: Level,
        lower: impl for<'c> FnOnce(&Module<'c>) -> Result<(), CodegenError>,
        output: impl for<'c> FnOnce(&mut TargetPipeline, &Module<'c>) -> Result<T, CodegenError>,
    ) -> Result<T, CodegenError> {
        static USED: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];
        let used = &USED[level as usize];
        if used.load(Ordering::Acquire) {
            return self.compile_again(level, lower, output);
        }
        // The first time, LLVM makes tables that others wait for, and that are
        // destroyed at the exit of the process.
        let result = process::within(Activity::Steady, || self.compile_again(level, lower, output));
        if !used.swap(true, Ordering::AcqRel) {
            process::watch_exit();
        }
        result
    }

    fn compile_again<T>(
        &mut self,
        level: Level,
        lower: impl for<'c> FnOnce(&Module<'c>) -> Result<(), CodegenError>,
        output: impl for<'c> FnOnce(&mut TargetPipeline, &Module<'c>) -> Result<T, CodegenError>,
    ) -> Result<T, CodegenError> {
        self.refresh();
        let machine = match &mut self.machines[level as usize] {
            Some(machine) => machine,
            empty => empty.insert(TargetPipeline::new(level)?),
        };
        let module = self.context.create_module("kal");
        module.set_triple(&machine.machine.get_triple());
        module.set_data_layout(&machine.machine.get_target_data().get_data_layout());
        lower(&module)?;
        // Always, not only in tests: it takes less than a hundredth of the time
        // that compiling takes, and what LLVM would do otherwise is undefined.
        module.verify().map_err(|error| CodegenError::Llvm(error.to_string()))?;
        machine.pipeline.optimize(&module);
        output(machine, &module)
    }

    fn refresh(&mut self) {
        self.modules += 1;
        if self.modules > MODULES_PER_CONTEXT {
            *self = Self { largest: self.largest, ..Self::new() };
        }
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl TargetPipeline {
    fn new(level: Level) -> Result<Self, CodegenError> {
        let triple = TargetMachine::get_default_triple();
        let target = Target::from_triple(&triple).map_err(|error| CodegenError::Target(error.to_string()))?;
        let cpu = TargetMachine::get_host_cpu_name();
        let options = TargetMachineOptions::new()
            .set_cpu(cpu.to_str().unwrap_or("generic"))
            .set_features(&pipeline::features(&triple, &cpu))
            .set_level(level.machine())
            .set_reloc_mode(RelocMode::PIC)
            .set_code_model(CodeModel::Small);
        let machine = target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| CodegenError::Target(triple.to_string()))?;
        let pipeline = Pipeline::new(&machine, level)?;
        Ok(Self { pipeline, machine })
    }
}

/// The version of the LLVM this is linked with, as `22.1.0`.
pub fn llvm_version() -> String {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    format!("{major}.{minor}.{patch}")
}

/// Registers this machine's target with LLVM; done once per process, also
/// when called from several threads.
pub fn initialize() {
    static ONCE: Once = Once::new();
    let start = || {
        llvm::start();
        pipeline::initialize();
        process::watch_exit();
    };
    process::within(Activity::Steady, || ONCE.call_once(start));
}

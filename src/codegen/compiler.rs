//! Compiling with LLVM.

mod inlining;
mod library;
mod lower;
mod pipeline;
mod refusal;
mod strips;
mod types;
mod wide;

use super::body::Body;
use super::cost::{is_large, is_short, may_loop};
use super::error::CodegenError;
use super::options::{CompileOptions, Level, Listing};
use super::{LARGEST, STACK_PER_NODE};
use crate::llvm;
use crate::name::Names;
use crate::process::{self, Activity};
use crate::processor::{FeatureSet, Processor};
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, RelocMode, Target, TargetMachine, TargetMachineOptions};
use pipeline::{Loops, Pipeline};
use refusal::Result;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns what LLVM calls a level.
fn machine_level(level: Level) -> OptimizationLevel {
    match level {
        Level::O0 => OptimizationLevel::None,
        Level::O1 => OptimizationLevel::Less,
        Level::O2 => OptimizationLevel::Default,
        Level::O3 => OptimizationLevel::Aggressive,
    }
}

/// A compiler: used by one thread, for any number of functions.
pub struct Compiler {
    context: Context,
    machines: TargetPipelines,
    /// What the machines are for.
    processor: Processor,
    modules: u32,
    /// The largest function it accepts, in nodes.
    largest: usize,
}

/// A target machine and the pipeline built for it. Fields are dropped in order:
/// the pipeline refers to the machine.
struct TargetPipeline {
    pipeline: Pipeline,
    machine: TargetMachine,
}

/// By level and what loops modules have.
type TargetPipelines = [[Option<TargetPipeline>; 4]; 4];

/// Returns the pipeline for modules with such loops, after building it if there is none yet.
fn pipeline_for(
    machines: &mut TargetPipelines,
    processor: Processor,
    level: Level,
    loops: Loops,
) -> Result<&mut TargetPipeline> {
    // Baseline code has no passes for loops.
    let loops = if level > Level::O0 { loops } else { Loops::None };
    match &mut machines[level as usize][loops as usize] {
        Some(machine) => Ok(machine),
        // LLVM registers passes and makes its static variables.
        empty => {
            let new = process::within(Activity::Steady, || TargetPipeline::new(processor, level, loops));
            Ok(empty.insert(new?))
        }
    }
}

/// An LLVM context never frees a constant, so it is replaced after this
/// many modules, with its pipelines.
const MODULES_PER_CONTEXT: u32 = 512;

impl Compiler {
    /// Creates a compiler for this machine. Cheap: pipelines are built on first
    /// use.
    pub fn new() -> Self {
        initialize();
        Self {
            context: Context::create(),
            machines: [const { [const { None }; 4] }; 4],
            processor: Processor::Native,
            modules: 0,
            largest: LARGEST,
        }
    }

    /// Limits the size of functions to what a stack of `bytes` bytes allows.
    pub fn set_stack(&mut self, bytes: usize) {
        self.largest = LARGEST.min(bytes / STACK_PER_NODE);
    }

    /// Makes what compiling functions with loops so needs, except for those over columns: the next of
    /// them takes less. Nothing is
    /// said of an error, which that meets again.
    pub fn prepare(&mut self, options: CompileOptions) {
        self.make_for(options.processor);
        let _ = pipeline_for(&mut self.machines, self.processor, options.level, Loops::Any);
    }

    /// Compiles functions into one object file that defines their symbols.
    ///
    /// # Errors
    /// If LLVM refuses; the compiler stays usable.
    pub fn object(&mut self, bodies: &[Body<'_>], names: &Names, options: CompileOptions) -> Result<Vec<u8>> {
        self.bodies(bodies, names, options, None)
    }

    /// Returns what functions are compiled to.
    ///
    /// # Errors
    /// If LLVM refuses; the compiler stays usable.
    pub fn listing(
        &mut self,
        listing: Listing,
        bodies: &[Body<'_>],
        names: &Names,
        options: CompileOptions,
    ) -> Result<Vec<u8>> {
        self.bodies(bodies, names, options, Some(listing))
    }

    /// Compiles functions into one module, to an object file or as listed.
    fn bodies(
        &mut self,
        bodies: &[Body<'_>],
        names: &Names,
        options: CompileOptions,
        listing: Option<Listing>,
    ) -> Result<Vec<u8>> {
        let sizes = bodies.iter().map(|body| body.function.nodes.len());
        if let Some(size) = sizes.max().filter(|size| *size > self.largest) {
            return Err(CodegenError::TooLarge(size, self.largest));
        }
        let has_rows = |body: &Body<'_>| body.entry.columns().is_some();
        let is_slow = bodies.iter().any(|body| !has_rows(body) && is_large(body.function));
        let level = if is_slow { Level::O0 } else { options.level };
        let options = CompileOptions { level, ..options };
        // The lowest level inlines nothing.
        let inlines = level > Level::O0;
        let lower = |module: &Module<'_>| {
            bodies.iter().try_for_each(|body| {
                if let Some(entry) = body.entry.columns() {
                    return wide::body(module, *body, entry, options);
                }
                let body = Body { inline: if inlines { body.inline } else { &[] }, ..*body };
                inlining::body(module, body, names, options)
            })
        };
        let loops = if bodies.iter().any(has_rows) {
            let are_short = bodies.iter().all(|body| is_short(body.function, body.inline));
            if are_short { Loops::Rows } else { Loops::LongRows }
        } else if bodies.iter().any(|body| may_loop(body.function, body.inline)) {
            Loops::Any
        } else {
            Loops::None
        };
        self.make_for(options.processor);
        self.compile(options, loops, lower, listing)
    }

    /// Creates a module, fills it with `lower`, and compiles it to an object file
    /// or as listed.
    fn compile(
        &mut self,
        options: CompileOptions,
        loops: Loops,
        lower: impl for<'c> FnOnce(&Module<'c>) -> Result<()>,
        listing: Option<Listing>,
    ) -> Result<Vec<u8>> {
        static USED: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];
        let used = &USED[options.level as usize];
        if used.load(Ordering::Acquire) {
            return self.compile_again(options, loops, lower, listing);
        }
        // On the first use of a level, LLVM builds tables that other threads
        // wait for and that the exit of the process destroys.
        let result = process::within(Activity::Steady, || self.compile_again(options, loops, lower, listing));
        if !used.swap(true, Ordering::AcqRel) {
            process::watch_exit();
        }
        result
    }

    fn compile_again(
        &mut self,
        options: CompileOptions,
        loops: Loops,
        lower: impl for<'c> FnOnce(&Module<'c>) -> Result<()>,
        listing: Option<Listing>,
    ) -> Result<Vec<u8>> {
        self.refresh();
        let machine = pipeline_for(&mut self.machines, self.processor, options.level, loops)?;
        let module = self.context.create_module("kal");
        machine.pipeline.prepare(&module, listing.is_some());
        lower(&module)?;
        // Not in releases, where it would take a twentieth of the time of a small
        // function's baseline code: only a mistake in `lower` makes IR invalid, and
        // all tests run with this.
        if cfg!(debug_assertions) {
            module.verify().map_err(|error| CodegenError::Internal(error.to_string()))?;
        }
        machine.pipeline.optimize(&module);
        if listing == Some(Listing::Ir) {
            return Ok(module.print_to_string().to_bytes().to_vec());
        }
        if options.rounds_statically {
            machine.pipeline.round(&module);
        }
        if listing == Some(Listing::Assembly) {
            // A mark would be a number between instructions.
            return machine.assembly(&module);
        }
        machine.pipeline.mark(&module);
        Ok(machine.pipeline.emit(&module))
    }

    /// Sets what is compiled for. Target machines are made again if it changes.
    fn make_for(&mut self, processor: Processor) {
        if self.processor != processor {
            self.renew(processor);
        }
    }

    /// Begins again with a new LLVM context, for that processor.
    fn renew(&mut self, processor: Processor) {
        *self = Self { largest: self.largest, processor, ..Self::new() };
    }

    fn refresh(&mut self) {
        self.modules += 1;
        if self.modules > MODULES_PER_CONTEXT {
            self.renew(self.processor);
        }
    }
}

impl Default for Compiler {
    fn default() -> Self {
        Self::new()
    }
}

impl TargetPipeline {
    fn new(processor: Processor, level: Level, loops: Loops) -> Result<Self> {
        let triple = TargetMachine::get_default_triple();
        let target = Target::from_triple(&triple).map_err(|error| CodegenError::Target(error.to_string()))?;
        let (cpu, features) = match processor {
            Processor::Native => {
                let cpu = TargetMachine::get_host_cpu_name();
                let features = pipeline::features(&triple, &cpu);
                (cpu.to_string_lossy().into_owned(), features)
            }
            Processor::Portable(features) => ("x86-64".to_owned(), listed(features)),
        };
        let options = TargetMachineOptions::new()
            .set_cpu(&cpu)
            .set_features(&features)
            .set_level(machine_level(level))
            .set_reloc_mode(RelocMode::PIC)
            .set_code_model(CodeModel::Small);
        let machine = target
            .create_target_machine_from_options(&triple, options)
            .ok_or_else(|| CodegenError::Target(triple.to_string()))?;
        let pipeline = Pipeline::new(&machine, level, loops)?;
        Ok(Self { pipeline, machine })
    }

    fn assembly(&self, module: &Module<'_>) -> Result<Vec<u8>> {
        let buffer = self
            .machine
            .write_to_memory_buffer(module, FileType::Assembly)
            .map_err(|error| CodegenError::Internal(error.to_string()))?;
        Ok(String::from_utf8_lossy(buffer.as_slice()).trim_end_matches('\0').into())
    }
}

/// Returns features as LLVM reads them.
fn listed(features: FeatureSet) -> String {
    let mut names: Vec<String> = features.names().map(|name| format!("+{name}")).collect();
    if features.rank().0 == 512 {
        // As for its `x86-64-v4`: wider vectors slow some processors down.
        names.push("+prefer-256-bit".to_owned());
    }
    names.join(",")
}

/// Returns the version of the linked LLVM, as `22.1.0`.
pub fn llvm_version() -> Option<String> {
    let (major, minor, patch) = inkwell::support::get_llvm_version();
    Some(format!("{major}.{minor}.{patch}"))
}

/// Returns what code is compiled for, the processor and its features, and by what.
pub fn target() -> String {
    let (cpu, features) = (TargetMachine::get_host_cpu_name(), TargetMachine::get_host_cpu_features());
    let (cpu, features) = (cpu.to_string_lossy(), features.to_string_lossy());
    format!("{} {} {cpu} {features}", env!("KAL_TARGET"), env!("KAL_COMPILER_ID"))
}

/// Registers this machine's target with LLVM, once per process. Safe to call
/// from several threads.
pub fn initialize() {
    static REGISTRY: Once = Once::new();
    static TARGET: Once = Once::new();
    // The exit of the process destroys the registry, which takes most of the
    // time to fill. Exits wait for that from the moment at which it exists.
    let build_registry = || {
        llvm::start();
        pipeline::build_registry();
        process::watch_exit();
    };
    let register_target = || {
        pipeline::initialize();
        process::watch_exit();
    };
    for (once, work) in [(&REGISTRY, &build_registry as &dyn Fn()), (&TARGET, &register_target)] {
        process::within(Activity::Steady, || once.call_once(work));
    }
}

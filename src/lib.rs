//! Kal makes Kaleidoscope live: a prompt, a script runner and an embeddable
//! library for numeric functions. A definition costs next to nothing until its
//! first call, called code is native code optimised by LLVM, and anything can
//! be redefined at any time: every caller sees it.
//!
//! ```
//! let engine = kal::Engine::new()?;
//! let mut context = engine.context()?;
//!
//! context.eval("def square(x) x * x")?;
//! let square = context.function::<fn(f64) -> f64>("square")?;
//! assert_eq!(square.call(&mut context, (3.0,))?, 9.0); // compiled here
//!
//! context.eval("def square(x) x * x * 10")?;
//! assert_eq!(square.call(&mut context, (3.0,))?, 90.0); // and here again
//!
//! let error = context.eval("squar(3)").unwrap_err();
//! assert_eq!(error.to_string(), "this expression calls `squar`, which is not defined");
//! # Ok::<(), kal::Error>(())
//! ```
//!
//! # The ideas
//!
//! **Definitions are immutable, names are bindings.** A checked `def` never
//! changes. A name of a context is bound to one; redefining binds the name to
//! another. Code that is being compiled for the old one simply finishes and
//! finds the name bound elsewhere, so nothing has to be stopped or undone.
//!
//! **What all names of a program mean is one value**, the book of names
//! (`world`): definitions, operators, variables, declarations, and who calls
//! whom. A context has one. Cloning it takes constant time, so undo goes back to
//! older values of it. It knows no back end; the back ends keep what they make
//! of a definition in tables of their own.
//!
//! **One state machine per binding**, a pure function that returns actions
//! (`jit::state`): not defined, pending, inlined, materializing, materialized.
//!
//! **The lazy re-export.** Calls go through a *stub*: a dispatch slot, which
//! holds a re-entry trampoline until the first call. The trampoline has the body
//! made, the slot is redirected, and the call continues there. There are two ways to
//! make a body. The *baseline compiler* (`baseline`) writes its code in one walk over the
//! checked function, in microseconds, on the thread that makes the call; no LLVM is started for
//! that. The optimising way is for hot functions, and for what is compiled ahead: a
//! worker registers a materialization unit with ORC, under its own tracker, and
//! looks its symbol up, which materializes it (checked function → LLVM IR → object →
//! linked code).
//!
//! **Slots are for a name and a number of arguments.** A trampoline knows its
//! slot, and asks the bindings of the running context what the name means. So
//! trampolines are needed per called name, not per definition: redefining
//! takes none, an undefined callee is just a trampoline that finds nothing,
//! and a call that was compiled when the callee took another number of
//! arguments can never reach a body that does not fit. Code holds the slots that
//! it refers to, and a slot that nothing holds is used again.
//!
//! **Code knows no address.** It gets the *execution context* as a hidden
//! parameter and finds slots and variables at offsets from it, which enter an
//! object as symbols when it is linked; the runtime's routines are at fixed
//! offsets, and so are the counters of calls. One piece of code serves all
//! contexts of an engine.
//!
//! **What one context has read and compiled, the others have.** An engine keeps
//! the items of the texts it has read, each with what its reading asked: which
//! operators mean what, which names are defined with how many arguments. A
//! context in which the answers are the same takes the checked item instead of
//! reading the text, and with it the definition, whose code is made once. Code
//! assumes what its inlined functions mean; a context in which a name means
//! something else makes code of its own. What a text defines first, in a context
//! that has nothing yet, is kept as a whole: a book of names, and a table of
//! bindings that all these contexts share. So a second context that is given a
//! library takes no step for each of its functions, and finds the slots of those
//! that are compiled filled. A redefinition rebinds a name in one context, which
//! goes on with a copy of the table, and in no other.
//!
//! **A module is a file, and an import makes aliases.** Inside a module everything has
//! a qualified name, `stats.mean`, under which it is bound as any definition is. In
//! a program that imports the module, `mean` is bound to the same function when it
//! is first called; a definition of that name hides it, and what is redefined by its
//! qualified name is bound again under both. So "every caller sees it" holds across
//! modules, and no call goes a longer way. The functions of mathematics have names in modules
//! that no program can define, so that a module computes the same in every program. Modules are
//! read and checked as a whole (`library`) before anything of them is in force.
//!
//! **What the check can say in fewer words, no back end learns.** `while`, chains of
//! comparisons, `:` and `print` become nodes that were there before, with locals that no
//! program can name, and calls of host functions that no program can name. A definition
//! that takes a function, `def twice(f(x) x) …`, is a *pattern*: a call `twice(sin, 1)` is
//! one of the definition `twice[sin,](1)`, its *instance*, which has `sin` where the pattern
//! has `f`, and is bound when a definition that calls it is. From there on it is a function
//! like all others, with a slot, an identity and code in packs. There is a bound
//! of instances; beyond it, they call a *shared instance*, which gets numbers in place of
//! functions, and calls *dispatchers*, definitions of comparisons and calls
//! (`sema::instance::shared`).
//!
//! **What one run has compiled, the next one has.** Code has an identity: that of its
//! function, of what is inlined into it, and of how it was made. An object is taken
//! apart into *portable code* for each body, in which only values of symbols are
//! missing, and these are written to a *pack*, one file. A later run looks for the
//! identity before it compiles, copies the code into the code memory and fills in slots
//! and routines: nothing is compiled, and nothing linked. Packs are trusted only if
//! this user alone can have written them (`cache`), and whatever is wrong with one, the
//! code is compiled.
//!
//! **What one run has checked, the next one need not read.** A pack holds the checked
//! items of its text as well, with what their reading asked. The longest run of definitions
//! of a program, nearly, and each module that it imports, become a *layer* below the book
//! of names and below the bindings: a name that these do not bind is looked up there,
//! decoded and bound, when it is first called. What lies between the definitions runs in its turn,
//! and cannot tell that those behind it are there. So a start costs what is used of a text,
//! not what is in it. A pack links the definitions of its text with their code, and all
//! code that is linked with a layer is placed as one *block* at the first call: the slots
//! of its functions lead there, though nothing is decoded or bound. They are in a row, in the
//! order in which the pack numbers its calls; which name one is for is found when something
//! asks, and where they are the first of an engine, the code is as the pack has it. What one of them means
//! is bound, with its code, when something asks for it, and before anything changes that
//! the code assumes. An edited program is its earlier text with some other definitions: the
//! layer and the block are those of that text, without what was edited and without code
//! for which an edited definition was looked at. A library brings such packs along, if `kal compile` has made them.
//!
//! **What a program need not wait for is done beside it.** A long text is lexed on a thread of
//! its own, ahead of the parser. That changes nothing that the program sees: words become names
//! where they are parsed. A fork leaves such a thread behind, so in a child its owner goes on by itself, or without
//! (`process::OfProcess`). What a long program leaves for later runs, the command has a child
//! write when it ends (`process::leave_to_child`); the next start of that program waits for it. What
//! that depends on, the child finds out: it reads the program again, with a record of what this
//! asks (`Context::record`), and makes baseline code again.
//!
//! **What was developed ships.** An *image* is a program with its modules: their checked texts
//! and their packs, a version for each kind of processor: complete, or clones of what gains
//! from that kind, over a complete one. To make one, a context reads the
//! program and compiles what its expressions call in place of running them
//! (`context::ahead`). An engine that is given an image finds in it what others find in the
//! cache, and runs its code where it is mapped from the file. An executable is an image that is
//! linked with this crate without its compiler, and so is a library for C. What has no code there,
//! the baseline compiler compiles. An executable has no front end, either, and only the
//! mathematical functions that its texts name: a context reaches its front end by pointers, so that
//! the linker drops what is not reached. A library for C keeps both, since it can be given texts.
//!
//! **What an engine keeps is held, and what is not held is used again**: names,
//! variables, slots and code. A name is a number; a checked function, a
//! declaration or a book of names holds those that are in it. A text that is
//! refused leaves nothing, and a service whose programs call things by ever new
//! names does not fill its engine.
//!
//! **Code may stop at any safepoint, and nothing is left to clean up.** Function
//! entries and back-edges poll: they compare the stack pointer with a limit
//! word. A run that fails leaves to the point where it was entered, over frames
//! of compiled code only, which own nothing. No signal handler is involved.
//! Optimised code keeps variables of the program in registers while a loop runs; there the
//! runtime only answers that the run must leave, and the code leaves after storing them.
//! Code that uses nothing of its context needs no run: the host just calls it.
//!
//! **Programs run without the compiler, too.** A *tape* is the bytecode of a
//! function: instructions over an accumulator, without a single address in
//! them. The interpreter links tapes into one array and gives all frames one
//! stack. It has the same bindings, limits and errors, and LLVM is not even
//! started. What runs a context's program, the JIT or the interpreter, is its
//! `backend`.
//!
//! **Interpreter and code call each other.** They work on the same memory:
//! variables, fuel, requests to stop. Code calls an interpreted function through
//! its slot, which holds the trampoline as if the function had never been
//! called; that continues in one routine of the runtime, which stores the
//! arguments and enters the interpreter. The interpreter calls code by leaving
//! its instruction loop. Errors pass through both, and add their calls to one
//! trace. What each tier asks of the other is in one file, `interp::crossing`:
//! the trait of the compiled tier, and the interpreter that a run of code is
//! lent.
//!
//! **Hot code moves up a tier.** A tiered program counts calls and loop
//! iterations in the instructions of its tapes. When a counter expires, a worker
//! compiles the function at the optimising tier; the next call goes there. A
//! loop that is still running is left at its header by *on-stack replacement*
//! (OSR): code for the rest of the function, entered right there, with the
//! locals and the values that are live across the loop as its arguments. (The
//! usual way, to replace the frame in place, needs maps from one layout to the
//! other; here the layout is that of a call. The code is made for one loop, and
//! mostly runs once.) In compiled modes, everything starts at the baseline tier,
//! which counts calls and iterations as well. LLVM starts when something is hot. Such code calls itself through its
//! slot, so a recursion moves up at its next call; at a back-edge of a hot loop it
//! calls OSR code and returns its result. Baseline code of a function that was
//! redefined with other numbers loads them through the context, so that the next
//! such change compiles nothing.
//!
//! **Freeing waits for runs.** Code that no slot holds any more is freed when no
//! run is left that began before (`jit::epoch`).
//!
//! **A function has one value.** `exp(x)` is the double nearest to the exact value, and
//! so is every function of the mathematical library, from one crate for all modes. So it
//! does not matter which processor, tier or build computes it, and when: calls with
//! constants are computed ahead, `x ^ 2` is a multiplication. The processor rounds as by
//! default while a program runs, whatever the host has set (`float_environment`).
//! `docs/numbers.md` has what is promised.
//!
//! **Columns are rows in lanes.** A *kernel* is a function with all that it calls, as names
//! meant it at one moment. Where that is one piece of code that computes a value, it is
//! compiled to compute many rows at once: a value is a vector with a *lane* for each row, and
//! where rows go different ways, both ways are taken under *masks* (`codegen`'s wide
//! lowering, which does not depend on what LLVM can make vectors of). Lanes that have left a loop in
//! which others stay get the next rows. That is another
//! *entry* of the function, as OSR code is: it has an identity and is found in packs. All
//! other kernels compute row by row, with the same bits, in contexts of their own.
//!
//! **The iterations of a loop are rows, too.** What an iteration computes from the counter of its
//! loop, and from what no iteration changes, is computed for a *strip* of iterations at once, by
//! the wide lowering; then the iterations run in their order with the results (strip mining, in
//! `codegen`). Nothing is reassociated, so the bits are the same.
//!
//! # The modules, in the order of the data flow
//!
//! ```text
//!  source → tokens → syntax tree → checked function → LLVM IR → object → linked code → call
//!           └─── syntax ───┘       └─── sema ───┘    └─── codegen ──┘   └kal-orc┘    runtime
//!                                                    └────────────── jit ───────────────┘
//!                                               ├→ portable code → placed code → call
//!                                               │  └─ baseline ─┘  └── jit ──┘
//!                                               └→ tape → interpreter ⇄ call
//!                                                  └tape┘ └── interp ─┘
//! ```
//!
//! A module uses only modules above it here, and imports run in no circles, also
//! between the files of a module; `tests/all/tidy.rs` enforces both.
//!
//! | layer | module | holds | never |
//! |---|---|---|---|
//! | 0 | [`source`], [`name`], [`diagnostic`], [`host`], `bytes`, `distinct`, `stop`, `budget`, `thread_address`, `float_environment`, `process`, `processor`, `llvm`, `abi`, `tier`, `status` | sources and spans, names by number, diagnostics as data, the host functions, requests to stop, the memory budget, which thread this is, how the processor rounds, forks and exits, kinds of processors, starting LLVM, the layout that code relies on, levels and tiers, compilation status | reads files |
//! | 1 | [`syntax`] | lexer, parser, flat syntax tree, operators, printers | knows LLVM or files |
//! | 2 | `module` | what a module offers, what imports make of it | reads files |
//! | 2 | `sema` | the check, the only maker of checked functions | knows a back end |
//! | 3 | `world` | the book of names: what every name means, who calls whom; the layers below it; checked texts as bytes | knows a back end or a thread |
//! | 3 | `failure` | the results of defining and running, for all back ends | knows one of them |
//! | 3 | `tape`, `interp` | checked functions → bytecode, and the interpreter | knows LLVM, ORC or compiled code |
//! | – | the crate `kal-math` | the mathematical functions that are the nearest double, in C, compiled twice | knows anything of Kal |
//! | – | the crate `kal-orc` | a thin safe wrapper of LLVM's ORC v2, of use to other languages too | knows anything of Kal |
//! | 3 | `codegen` | checked functions → LLVM IR → object bytes | knows ORC or a process |
//! | 3 | `runtime` | execution contexts, entering and leaving code | knows how code is made |
//! | 3 | `pack` | portable code, and the file that holds it | opens a file |
//! | 3 | `baseline` | checked functions → portable code, in one walk, by an assembler of its own | knows LLVM, files or a process |
//! | 4 | `cache` | the files of packs: where they are, and which are trusted | knows what is in one |
//! | 4 | `jit` | definitions, bindings, slots, compile workers, epochs | touches disk |
//! | 5 | `prelude`, `image`, `limits`, `deadline`, `output`, `debugger`, `error`, `config`, `stats`, `text_cache`, `engine`, `backend`, `saved_session`, `context`, `function`, `interrupt`, `kernel`, `image_target`, `image_builder`, `storing`, `library`, `draft`, `listing`, `program` | the embedding API, re-exported here | touches the terminal |
//! | 6 | `terminal` | how commands end, report, read files, wait and write | knows a command |
//! | 7 | [`executable`] | running what `kal build` has made | knows the command |
//! | 7 | `table` | a formula over the columns of CSV and Parquet | knows a command |
//! | 7 | `repl` | the prompt | uses codegen's, ORC's or the JIT's insides |
//! | 8 | [`cli`] | the commands | uses codegen's, ORC's or the JIT's insides |
//!
//! # The features
//!
//! `compiler`, `cli` and `parquet` are on by default.
//!
//! - `compiler`: compiling, and everything of LLVM. Without it functions run as the code that
//!   packs and images have of them, or else in the interpreter, [`Mode::Eager`] is an error, and
//!   neither LLVM nor a C++ compiler is needed to build. The module `llvm` and the crate `kal-orc`
//!   are left out. The compiler in `codegen` and the linker in `jit` are replaced by files
//!   called `absent.rs`, which refuse everything, so that no other module need know.
//! - `executable`: [`executable`], layer 6 and what that uses: what `crates/runtime` is made of.
//! - `cli`: the command and its prompt, and `executable`. Without
//!   it no crate for terminals is compiled.
//! - `parquet`: tables in Parquet, for the command. Without it `table`'s file `absent.rs` says
//!   that there are none.
//!
//! # Words
//!
//! - *name*: what a program calls something; a *symbol* is what a linker does.
//! - *context*: a program in progress, [`Context`]; LLVM's is always the
//!   *LLVM context*, what code gets as its hidden parameter the *execution
//!   context*.
//! - *module*: a file of definitions; *qualified name*: one with its module,
//!   `stats.mean`; *alias*: a name that an import makes known without it.
//! - *pattern*: a definition that takes functions; *instance*: a pattern with the functions
//!   that a call gives it; *shared instance*: one for all functions that have a number, which
//!   a *dispatcher* calls.
//! - *layer*: definitions that are there as a whole, each decoded when it is needed.
//! - *block*: the code of many definitions of a layer, in one range of memory; *link*:
//!   which code in a pack is that of which definition of a text.
//! - *image*: a program and its modules, compiled ahead; *version*: its code for the processors
//!   that have some features; *clone*: the code of a function in a version that has not all of
//!   them, and a *base* that has.
//! - *identity*: what something was made of, as a [`Fingerprint`]; *portable code*: a
//!   body without addresses; *pack*: a file of them.
//! - *binding*: what a name means in a context, and its compilation status.
//! - *to materialize*: to compile and link a definition, as in ORC.
//! - *stub*: the address a call goes through; here, a dispatch slot.
//! - *trampoline*: an address that can be called before its destination
//!   exists; as in ORC.
//! - *body*: the compiled code of a definition.
//! - *baseline tier*: code of the *baseline compiler*, which is quick to make and counts its
//!   calls, [`Tier::Quick`]; *optimising tier*: code at the configured level,
//!   [`Tier::Full`]. Moving hot code up is to *promote* it; going back to the
//!   interpreter, for a debugger, is to *deoptimise*.
//! - *kernel*: a function over columns; *lane*: the place of a row in a vector; *mask*: the
//!   lanes that are alive; *wide*: computed for many rows at once.
//! - *strip*: iterations of a loop of which *parts* are computed at once, ahead of their turns.
//! - *safepoint*: a place where a run can stop, at function entries and
//!   back-edges; its *poll* is the comparison that finds out whether to.
//! - *OSR*: on-stack replacement, entering compiled code at a loop header.
//! - *host function*: a function of the process that a program may call;
//!   *intrinsic*: one that is exact, so that an instruction replaces its call.
//! - *tape*: the bytecode of one function; its *slots* are values of a frame,
//!   not to be confused with dispatch slots.
//! - *run*: from entering a program to leaving it; a *nested run* is inside
//!   another, through a host function or another tier.
//! - *memory budget*: the limit of an engine's code and tapes in bytes.

#![deny(unsafe_code)]

pub mod source;
pub mod name;
pub mod diagnostic;
pub mod host;
mod bytes;
mod distinct;
mod fingerprint;
mod stop;
mod budget;
mod thread_address;
mod float_environment;
mod process;
mod processor;
#[cfg(feature = "compiler")]
mod llvm;
#[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "only a compiler uses all of it"))]
mod abi;
mod tier;
mod status;
pub mod syntax;
mod module;
mod sema;
mod world;
mod failure;
mod tape;
mod interp;
#[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "only a compiler uses all of it"))]
mod codegen;
mod runtime;
mod pack;
mod baseline;
#[cfg_attr(not(feature = "compiler"), allow(dead_code, reason = "only a compiler uses all of it"))]
mod jit;
mod cache;
mod limits;
mod deadline;
mod output;
mod debugger;
mod error;
mod prelude;
mod image;
mod config;
mod stats;
mod text_cache;
mod engine;
mod backend;
mod saved_session;
mod context;
mod function;
mod interrupt;
mod kernel;
mod image_builder;
mod image_target;
mod storing;
mod library;
mod draft;
mod listing;
mod program;
#[cfg(feature = "executable")]
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "only the command uses all of it"))]
mod terminal;
#[cfg(feature = "executable")]
pub mod executable;
#[cfg(feature = "cli")]
mod table;
#[cfg(feature = "cli")]
mod repl;
#[cfg(feature = "cli")]
pub mod cli;

pub use bytes::Damage;
pub use cache::{
    CacheEvent, CacheOptions, CacheUsage, CompilePolicy, EngineCache, Explanation, StoredEngine, UpdatePolicy,
};
pub use config::{Config, Mode};
pub use context::{
    Change, Context, Description, Each, Formula, Outcome, Resumed, Saved, Stage, Trace, Transition,
};
pub use debugger::{BreakpointError, Console};
pub use engine::Engine;
pub use error::Error;
pub use fingerprint::Fingerprint;
pub use function::{Function, Signature, UntypedFunction};
pub use host::decimal::format_number;
pub use image::{Image, ImageError, ImageInfo, VersionInfo};
pub use image_builder::{BuiltImage, BuiltVersion, ImageBuilder, Wanted};
pub use image_target::{ImageTarget, ImageTargetError};
pub use interrupt::InterruptHandle;
pub use kernel::{Column, Columns, Failing, Kernel, Remark, RowError, Run, Validity};
pub use limits::Limits;
pub use output::LineOutput;
pub use prelude::Beginning;
pub use processor::{FeatureSet, Processor, ProcessorError};
pub use program::Program;
pub use sema::Declaration;
pub use stats::{Stats, Usage};
pub use status::{Compilation, Event, State};
pub use tier::{Level, Tier, TierUp};

/// The example in the page about embedding is tested with the others.
#[cfg(doctest)]
#[doc = include_str!("../docs/embedding.md")]
mod embedding_page {}

/// So are those in the page about columns.
#[cfg(doctest)]
#[doc = include_str!("../docs/columns.md")]
mod columns_page {}

/// For bindings, whose languages do not know that a value is used by one thread at a time, and
/// which convert numbers themselves, and do more before they come here.
#[doc(hidden)]
pub use {
    float_environment::{DefaultEnvironment, PresentEnvironment},
    runtime::{UseLock, Using},
};

/// For `fuzz/`, which reaches tapes and packs from outside.
#[cfg(fuzzing)]
#[doc(hidden)]
pub use {interp::damaged_tapes, pack::damaged_packs};

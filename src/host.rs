//! The table of host functions: what a program may call outside itself.
//!
//! It is an allow-list. A name that is not in it cannot be called, whatever the
//! process exports. There are three kinds of entries: *native* functions, which
//! take and return doubles by the C calling convention (the mathematical
//! library: `kal-math`, and what is exact), *closures* of the embedding program, which see their arguments as
//! a slice, may write output and may fail, and *foreign* functions, which the
//! user has allowed and whose arity is only known from the program's `extern`.

pub(crate) mod counting;
pub(crate) mod decimal;
mod exact;
mod foreign;
pub(crate) mod lanes;
pub(crate) mod library;
pub(crate) mod nesting;
mod outside;
pub(crate) mod power;
pub(crate) mod printing;
pub(crate) mod refilling;
pub(crate) mod sink;

use crate::bytes::Writer;
use crate::float_environment::as_host;
use crate::name::{HeldName, Name, Names};
use crate::stop::StopHandle;
pub use foreign::{ForeignError, ForeignFunction, is_of_process};
use kal_math::{BinaryFunction, UnaryFunction};
use outside::OutsideState;
pub(crate) use outside::{NumberInput, Outside, RandomNumbers};
use rustc_hash::FxHashMap;
pub use sink::{HostError, Output};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a closure of the host sees of the program that calls it.
pub struct Call<'a> {
    /// The values passed, as many as the function's arity.
    pub arguments: &'a [f64],
    /// Where the program's output goes.
    pub output: &'a mut dyn Output,
    state: &'a mut OutsideState,
    stopper: &'a StopHandle,
}

impl Call<'_> {
    /// Returns whether the run that makes this call has been requested to stop,
    /// by an interrupt or a deadline. The run ends when the function returns,
    /// whatever it returns; a function that may take long polls this now and
    /// then. What it runs in another context on this thread is stopped with the
    /// run.
    pub fn is_stopped(&self) -> bool {
        self.stopper.requested().is_some()
    }
}

/// A closure of the embedding program.
pub type Closure = Arc<dyn Fn(&mut Call<'_>) -> Result<f64, HostError> + Send + Sync>;

/// How a host function is called.
#[derive(Clone)]
pub enum Callable {
    /// A C function over doubles.
    Native(NativeFunction),
    /// A closure.
    Closure(Closure),
}

/// A C function that takes as many doubles as its variant says and returns a
/// double.
#[derive(Clone, Copy)]
pub enum NativeFunction {
    /// One double.
    One(extern "C" fn(f64) -> f64),
    /// Two doubles.
    Two(extern "C" fn(f64, f64) -> f64),
    /// Three doubles.
    Three(extern "C" fn(f64, f64, f64) -> f64),
}

impl NativeFunction {
    /// Returns the address of the function.
    pub fn address(self) -> usize {
        match self {
            Self::One(function) => function as usize,
            Self::Two(function) => function as usize,
            Self::Three(function) => function as usize,
        }
    }
}

impl NativeFunction {
    /// Returns the number of its arguments.
    pub fn arity(self) -> u32 {
        match self {
            Self::One(_) => 1,
            Self::Two(_) => 2,
            Self::Three(_) => 3,
        }
    }

    /// Returns its result; `None` for another number of arguments.
    pub fn call(self, arguments: &[f64]) -> Option<f64> {
        match (self, arguments) {
            (Self::One(function), &[x]) => Some(function(x)),
            (Self::Two(function), &[x, y]) => Some(function(x, y)),
            (Self::Three(function), &[x, y, z]) => Some(function(x, y, z)),
            (Self::One(_) | Self::Two(_) | Self::Three(_), _) => None,
        }
    }
}

impl fmt::Debug for Callable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native(function) => write!(f, "Native({:#x})", function.address()),
            Self::Closure(_) => f.write_str("Closure"),
        }
    }
}

/// A function that the compiler turns into an instruction instead of a call,
/// because the result is exact by definition.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Intrinsic {
    /// `sqrt(x)`.
    Sqrt,
    /// `fabs(x)`.
    Fabs,
    /// `floor(x)`.
    Floor,
    /// `ceil(x)`.
    Ceil,
    /// `trunc(x)`.
    Trunc,
    /// `copysign(x, y)`.
    Copysign,
    /// `fmod(x, y)`, which is `x % y`.
    Fmod,
}

impl Intrinsic {
    /// Every intrinsic.
    pub const ALL: [Self; 7] =
        [Self::Sqrt, Self::Fabs, Self::Floor, Self::Ceil, Self::Trunc, Self::Copysign, Self::Fmod];

    /// Returns the name of the function.
    pub fn text(self) -> &'static str {
        match self {
            Self::Sqrt => "sqrt",
            Self::Fabs => "fabs",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Trunc => "trunc",
            Self::Copysign => "copysign",
            Self::Fmod => "fmod",
        }
    }

    /// Returns the number of its arguments.
    pub fn arity(self) -> u32 {
        match self {
            Self::Sqrt | Self::Fabs | Self::Floor | Self::Ceil | Self::Trunc => 1,
            Self::Copysign | Self::Fmod => 2,
        }
    }
}

/// A function of the library that compiled code calls directly: it has no
/// effects, and its result depends on its arguments only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PureFunction(u8);

impl PureFunction {
    /// Returns `pow`, which is also the operator `^`.
    pub fn pow() -> Option<Self> {
        Self::of("pow")
    }

    fn of(name: &str) -> Option<Self> {
        library().position(|(known, _)| known == name).map(|place| Self(place as u8))
    }

    fn entry(self) -> Option<(&'static str, NativeFunction)> {
        library().nth(self.0.into())
    }

    /// Returns the name of the function.
    pub fn text(self) -> &'static str {
        self.entry().map_or("", |(name, _)| name)
    }

    /// Returns the number of its arguments.
    pub fn arity(self) -> u32 {
        self.entry().map_or(0, |(_, function)| function.arity())
    }

    /// Returns its result; `None` for another number of arguments.
    pub fn call(self, arguments: &[f64]) -> Option<f64> {
        self.entry()?.1.call(arguments)
    }
}

/// A function of the library that the compiler knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Builtin {
    /// It becomes an instruction.
    Instruction(Intrinsic),
    /// It is called directly, at most as often as its result is needed.
    Call(PureFunction),
}

impl Builtin {
    /// Returns the name of the function.
    pub fn text(self) -> &'static str {
        match self {
            Self::Instruction(intrinsic) => intrinsic.text(),
            Self::Call(function) => function.text(),
        }
    }

    /// Returns the number of its arguments.
    pub fn arity(self) -> u32 {
        match self {
            Self::Instruction(intrinsic) => intrinsic.arity(),
            Self::Call(function) => function.arity(),
        }
    }

    /// Returns its number among all of them, less than 64.
    pub fn number(self) -> u32 {
        match self {
            Self::Instruction(intrinsic) => intrinsic as u32,
            Self::Call(function) => Intrinsic::ALL.len() as u32 + u32::from(function.0),
        }
    }
}

/// What the names of functions begin with that no program can define.
const SEALED: &str = "built-in ";

fn sealed_name(name: &str) -> String {
    format!("{SEALED}{name}")
}

/// Returns whether a name is that of a function which no program can define.
pub fn is_sealed(name: &str) -> bool {
    name.strip_prefix(SEALED).is_some_and(|own| library::LibraryEntry::of(own).is_some())
}

/// Returns the name of a function as programs write it.
pub fn written_name(name: &str) -> &str {
    name.strip_prefix(SEALED).unwrap_or(name)
}

/// An entry of the table.
#[derive(Clone, Debug)]
pub struct HostFunction {
    /// The number of arguments.
    pub arity: u32,
    /// How it is called.
    pub callable: Callable,
    /// What the compiler knows it as.
    pub builtin: Option<Builtin>,
    /// Whether it has no effects and its result depends on its arguments only.
    pub is_pure: bool,
    /// Whether no program can name it.
    is_hidden: bool,
    /// Whether it is a closure of the embedding program, which runs in the floating-point
    /// environment of its own.
    is_of_host: bool,
}

/// The host functions that programs may call, by name. Immutable once an engine
/// is created.
#[derive(Clone, Debug, Default)]
pub struct HostFunctions {
    functions: FxHashMap<Name, HostFunction>,
    foreign: FxHashMap<Name, ForeignFunction>,
    /// The name of `random`, unless the host has another function of that name.
    random: Option<Name>,
    /// How closures are called, if not just where the program calls them.
    place: Option<ClosurePlace>,
}

/// Calls a closure, which does not unwind, on another stack.
pub(crate) type ClosurePlace = fn(&mut dyn FnMut());

impl HostFunctions {
    /// Creates the table that every program has: the mathematical library,
    /// `printd` and `putchard`.
    pub fn standard(names: &Names) -> Self {
        let mut table = Self::default();
        for (place, (name, function)) in library().enumerate() {
            let exact = if name == "abs" { "fabs" } else { name };
            let intrinsic = Intrinsic::ALL.into_iter().find(|intrinsic| intrinsic.text() == exact);
            let called = Builtin::Call(PureFunction(place as u8));
            let entry = HostFunction {
                arity: function.arity(),
                callable: Callable::Native(function),
                builtin: Some(intrinsic.map_or(called, Builtin::Instruction)),
                is_pure: true,
                is_hidden: false,
                is_of_host: false,
            };
            let sealed = HostFunction { is_hidden: true, ..entry.clone() };
            table.functions.insert(names.intern(name), entry);
            table.functions.insert(names.intern(&sealed_name(name)), sealed);
        }
        table.insert(names.intern("printd"), 1, Callable::Closure(Arc::new(printd)));
        table.insert(names.intern("putchard"), 1, Callable::Closure(Arc::new(putchard)));
        for (name, arity, function) in OUTSIDE {
            table.insert(names.intern(name), *arity, Callable::Closure(Arc::new(function)));
        }
        table.random = Some(names.intern("random"));
        for (name, arity, part) in printing::PARTS {
            let write = move |call: &mut Call<'_>| part(call.output, call.arguments).map(|()| 0.0);
            let name = names.intern(name);
            table.insert(name, *arity, Callable::Closure(Arc::new(write)));
            table.functions.entry(name).and_modify(|function| function.is_hidden = true);
        }
        table.functions.values_mut().for_each(|function| function.is_of_host = false);
        table
    }

    /// Adds a function; replaces one of the same name.
    pub fn insert(&mut self, name: Name, arity: u32, callable: Callable) {
        let (is_pure, is_hidden, is_of_host) = (false, false, true);
        let function = HostFunction { arity, callable, builtin: None, is_pure, is_hidden, is_of_host };
        self.functions.insert(name, function);
        self.random = self.random.filter(|random| *random != name);
    }

    /// Allows programs to declare and call a function at an address. Replaces a
    /// function of that name with a known arity.
    pub fn insert_foreign(&mut self, name: Name, function: ForeignFunction) {
        self.functions.remove(&name);
        self.random = self.random.filter(|random| *random != name);
        self.foreign.insert(name, function);
    }

    /// Returns what the compiler knows the function of a name with this many
    /// parameters as.
    pub fn builtin(&self, name: Name, arity: u32) -> Option<Builtin> {
        self.get(name).and_then(|host| host.builtin).filter(|builtin| builtin.arity() == arity)
    }

    /// Returns the name by which modules call the function of the mathematical library that
    /// has this name; `None` if it has that of something else.
    ///
    /// No program can define it: a module computes the same in every program that imports it,
    /// whatever that program calls `floor`.
    pub fn sealed(&self, name: Name, names: &Names) -> Option<HeldName> {
        self.get(name).filter(|host| host.builtin.is_some() && !host.is_hidden)?;
        Some(names.hold(&sealed_name(&names.text(name))))
    }

    /// Returns the help for the function of a name, if that belongs to the library.
    pub(crate) fn entry(&self, name: Name, names: &Names) -> Option<&'static library::LibraryEntry> {
        self.get(name).filter(|host| !host.is_of_host)?;
        library::LibraryEntry::of(&names.text(name))
    }

    /// Returns the foreign function of a name.
    pub fn foreign(&self, name: Name) -> Option<&ForeignFunction> {
        self.foreign.get(&name)
    }

    /// Returns the function of a name, unless it is foreign.
    pub fn get(&self, name: Name) -> Option<&HostFunction> {
        self.functions.get(&name)
    }

    /// Calls the function of a name with as many arguments as its arity.
    ///
    /// # Errors
    /// What a closure reports; also if there is no such function.
    pub(crate) fn call(
        &self,
        name: Name,
        arguments: &[f64],
        outside: &mut Outside,
        stopper: &StopHandle,
    ) -> Result<f64, HostError> {
        let value = match self.get(name).map(|host| &host.callable) {
            Some(Callable::Native(function)) => function.call(arguments),
            Some(Callable::Closure(_)) | None => None,
        };
        value.map_or_else(|| self.call_closure(name, arguments, outside, stopper), Ok)
    }

    /// Returns whether a name is that of `random`.
    pub(crate) fn is_random(&self, name: Name) -> bool {
        self.random == Some(name)
    }

    /// Returns the result of a call of `random`, which cannot fail, takes no time, and is
    /// called often: it needs nothing of what other closures need.
    #[inline]
    pub(crate) fn random(&self, name: Name, outside: &mut Outside) -> Option<f64> {
        (self.random == Some(name)).then(|| outside.state.random.next())
    }

    /// Calls a closure. Its error, or a panic in it, is returned as an error.
    ///
    /// # Errors
    /// What the closure reports; also if the function is not a closure.
    pub(crate) fn call_closure(
        &self,
        name: Name,
        arguments: &[f64],
        outside: &mut Outside,
        stopper: &StopHandle,
    ) -> Result<f64, HostError> {
        if let Some(number) = self.random(name, outside) {
            return Ok(number);
        }
        let Some(HostFunction { callable: Callable::Closure(closure), is_of_host, .. }) = self.get(name)
        else {
            return Err(HostError("it is no closure".into()));
        };
        let Outside { output, state } = outside;
        let mut call = Call { arguments, output: &mut **output, state, stopper };
        // A panic must not cross frames of compiled code.
        let mut caught = || catch_unwind(AssertUnwindSafe(|| closure(&mut call)));
        let mut in_environment = || if *is_of_host { as_host(&mut caught) } else { caught() };
        let result = nesting::inside(stopper, || {
            let Some(place) = self.place else { return in_environment() };
            let mut result = Ok(Err(HostError("it was not called".into())));
            place(&mut || result = in_environment());
            result
        });
        match result {
            Ok(result) => result,
            Err(panic) => Err(HostError(format!("it panicked: {}", message(panic)))),
        }
    }

    /// Makes every function fail that has effects, or whose result depends on more than its
    /// arguments.
    pub(crate) fn refuse_effects(&mut self) {
        let refuse: Closure =
            Arc::new(|_| Err(HostError("a prelude writes nothing, reads nothing and calls no host".into())));
        for function in self.functions.values_mut().filter(|function| !function.is_pure) {
            function.callable = Callable::Closure(refuse.clone());
        }
        self.random = None;
    }

    /// Sets how closures are called.
    pub(crate) fn call_in(&mut self, place: ClosurePlace) {
        self.place = Some(place);
    }

    /// Writes what programs can know of the functions.
    pub fn write(&self, names: &Names, writer: &mut Writer) {
        let known = self.functions.iter().map(|(name, function)| {
            (
                names.text(*name).to_string(),
                Some((function.arity, function.is_pure, function.builtin.is_some())),
            )
        });
        let foreign = self.foreign.keys().map(|name| (names.text(*name).to_string(), None));
        let mut all: Vec<_> = known.chain(foreign).collect();
        all.sort_unstable();
        writer.count(all.len());
        for (name, function) in all {
            writer.text(&name);
            writer.byte(function.is_some().into());
            if let Some((arity, is_pure, is_builtin)) = function {
                writer.number(arity);
                writer.byte(is_pure.into());
                writer.byte(is_builtin.into());
            }
        }
    }

    /// Returns the names that programs can write, in the order in which they were first
    /// met.
    pub fn names(&self) -> impl Iterator<Item = Name> {
        let written = self.functions.iter().filter(|(_, function)| !function.is_hidden);
        let mut names: Vec<Name> =
            written.map(|(name, _)| name).chain(self.foreign.keys()).copied().collect();
        names.sort_unstable();
        names.into_iter()
    }
}

/// Returns the message of a panic.
pub(crate) fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    discard(panic);
    text.unwrap_or_else(|| "without a message".into())
}

/// Drops the payload of a panic, which may panic in turn: that payload is
/// leaked.
pub(crate) fn discard(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
}

type Closed = fn(&mut Call<'_>) -> Result<f64, HostError>;

/// What a program asks of the world outside.
const OUTSIDE: &[(&str, u32, Closed)] = &[
    ("random", 0, |call| Ok(call.state.random.next())),
    ("seed", 1, |call| {
        // 0 and -0 are the same number.
        call.state.random = RandomNumbers::new((call.arguments[0] + 0.0).to_bits());
        Ok(0.0)
    }),
    ("clock", 0, |call| Ok(call.state.clock())),
    ("now", 0, |_| Ok(outside::now())),
    ("read", 0, |call| {
        as_host(|| call.output.flush())?;
        call.state.input.next(call.stopper)
    }),
    ("arg", 1, |call| call.state.argument(call.arguments[0])),
    ("args", 0, |call| Ok(call.state.argument_count() as f64)),
];

fn printd(call: &mut Call<'_>) -> Result<f64, HostError> {
    as_host(|| call.output.value(call.arguments[0]))?;
    Ok(0.0)
}

/// Writes the byte whose number is the argument, rounded towards zero and taken
/// modulo 256, as C's `putchar((char)x)` does.
fn putchard(call: &mut Call<'_>) -> Result<f64, HostError> {
    as_host(|| call.output.byte(call.arguments[0] as i64 as u8))?;
    Ok(0.0)
}

/// The functions that every correct library computes exactly. Which implementation that
/// is, the linker decides: Rust's own `compiler_builtins` has all of them, and is linked before
/// the C library. What that alone has is in [`exact`].
#[allow(unsafe_code)]
mod libm {
    macro_rules! functions {
        ($(safe fn $name:ident($($argument:ident),+);)+) => {
            // SAFETY: these are the C standard's functions over doubles
            // (C11 7.12): they take and return doubles by value and have no
            // preconditions. `unsafe extern` only states that.
            unsafe extern "C" {
                $(pub(super) safe fn $name($($argument: f64),+) -> f64;)+
            }
        };
    }

    functions! {
        safe fn ceil(x); safe fn fabs(x); safe fn floor(x); safe fn rint(x); safe fn round(x);
        safe fn sqrt(x); safe fn trunc(x);
        safe fn copysign(x, y); safe fn fdim(x, y); safe fn fmod(x, y);
        safe fn fma(x, y, z);
    }
}

/// Computes `copysign` of the language. The sign of a NaN depends on how it was
/// computed, so a NaN counts as positive here.
pub extern "C" fn copysign(x: f64, y: f64) -> f64 {
    x.copysign(if y.is_nan() { 1.0 } else { y })
}

/// Computes `sign` of the language: 1, -1, or the argument if it is 0 or a NaN.
extern "C" fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    }
}

/// Computes `fmax` of the language: the larger number, or the other one where one is a NaN.
/// Which 0 is larger, the standard leaves open: here the first one is.
extern "C" fn fmax(x: f64, y: f64) -> f64 {
    if x < y || x.is_nan() { y } else { x }
}

/// Computes `fmin` of the language, as [`fmax`]; the second 0 is smaller.
extern "C" fn fmin(x: f64, y: f64) -> f64 {
    if x < y || y.is_nan() { x } else { y }
}

/// Computes `mod` of the language: the remainder of `x / y` that has the sign of `y`.
extern "C" fn floored(x: f64, y: f64) -> f64 {
    let remainder = libm::fmod(x, y);
    if remainder == 0.0 {
        0.0_f64.copysign(y)
    } else if (remainder < 0.0) != (y < 0.0) {
        remainder + y
    } else {
        remainder
    }
}

/// Returns the address of a function that compiled code may call directly: pure
/// functions, and the exact functions that the code generator may choose to call.
pub fn support(symbol: &str) -> Option<usize> {
    let binary = |function: extern "C" fn(f64, f64) -> f64| Some(function as usize);
    let unary = |function: extern "C" fn(f64) -> f64| Some(function as usize);
    match symbol {
        "fmod" => binary(libm::fmod),
        "copysign" => binary(libm::copysign),
        "sqrt" => unary(libm::sqrt),
        "fabs" => unary(libm::fabs),
        "floor" => unary(libm::floor),
        "ceil" => unary(libm::ceil),
        "trunc" => unary(libm::trunc),
        "memset" => Some(libc::memset as *const () as usize),
        "memcpy" => Some(libc::memcpy as *const () as usize),
        "memmove" => Some(libc::memmove as *const () as usize),
        symbol => {
            let support = [lanes::support, counting::support, refilling::support];
            if let Some(address) = support.iter().find_map(|support| support(symbol)) {
                return Some(address);
            }
            let name = symbol.strip_prefix(PURE_FUNCTION)?;
            library().find(|(known, _)| *known == name).map(|(_, function)| function.address())
        }
    }
}

/// What the symbols of pure functions begin with. LLVM knows no function of such a
/// name, so the result is always the library's own.
const PURE_FUNCTION: &str = "kal$";

/// Returns the symbol of the pure function of that name.
pub fn pure_symbol(name: &str) -> String {
    format!("{PURE_FUNCTION}{name}")
}

/// Returns the functions of the library, in a fixed order. Those that no instruction
/// computes return the double nearest to the exact value, so that it does not matter for
/// which processor they are compiled.
fn library() -> impl Iterator<Item = (&'static str, NativeFunction)> {
    let unary = UNARY.iter().map(|(name, function)| (*name, NativeFunction::One(*function)));
    let binary = BINARY.iter().map(|(name, function)| (*name, NativeFunction::Two(*function)));
    let nearest_unary =
        UnaryFunction::ALL.iter().map(|function| (function.name(), nearest_of_one(*function)));
    let nearest_binary =
        BinaryFunction::ALL.iter().map(|function| (function.name(), nearest_of_two(*function)));
    let ln = UnaryFunction::ALL.iter().find(|function| function.name() == lanes::name_in_kal_math("ln"));
    let ln = ln.map(|function| ("ln", nearest_of_one(*function)));
    let exact = unary.chain(binary).chain([("fma", NativeFunction::Three(libm::fma))]);
    exact.chain(nearest_unary).chain(nearest_binary).chain(ln)
}

fn nearest_of_one(function: UnaryFunction) -> NativeFunction {
    NativeFunction::One(function.fastest())
}

fn nearest_of_two(function: BinaryFunction) -> NativeFunction {
    NativeFunction::Two(function.fastest())
}

type Unary = extern "C" fn(f64) -> f64;
type Binary = extern "C" fn(f64, f64) -> f64;

const UNARY: &[(&str, Unary)] = &[
    ("ceil", libm::ceil),
    ("fabs", libm::fabs),
    ("floor", libm::floor),
    ("logb", exact::logb),
    ("nearbyint", libm::rint),
    ("rint", libm::rint),
    ("round", libm::round),
    ("sqrt", libm::sqrt),
    ("trunc", libm::trunc),
    ("abs", libm::fabs),
    ("sign", sign),
];

const BINARY: &[(&str, Binary)] = &[
    ("copysign", copysign),
    ("fdim", libm::fdim),
    ("fmax", fmax),
    ("fmin", fmin),
    ("fmod", libm::fmod),
    ("nextafter", exact::nextafter),
    ("remainder", exact::remainder),
    ("max", fmax),
    ("min", fmin),
    ("mod", floored),
];

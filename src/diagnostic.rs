//! Diagnostics: what is wrong with a source, as data.
//!
//! Every layer that finds a mistake returns [`Diagnostic`]s; drawing them for
//! people happens in one place (`diagnostic::draw`) and nowhere else. Codes
//! are stable: one per kind of mistake, never reused.

use crate::source::{Source, Span};
use std::fmt;

pub mod draw;
pub mod suggest;
pub mod visible;

/// Declares [`ErrorCode`] with its number, its one-line meaning and the list of all.
macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $number:literal;)+) => {
        /// The kind of a mistake. Shown as `E0101`, or `W0401` for a lint.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum ErrorCode { $($(#[doc = $doc])+ $name),+ }

        impl ErrorCode {
            /// Every code, in the order of their numbers.
            pub const ALL: &'static [ErrorCode] = &[$(ErrorCode::$name),+];

            /// Returns the number, for example 101 for `E0101`.
            pub fn number(self) -> u16 {
                match self { $(ErrorCode::$name => $number),+ }
            }

            /// Returns whether it is a syntax error.
            pub fn is_syntax(self) -> bool {
                self.number() < 200
            }

            /// Returns whether it is a lint: a warning about valid code.
            pub fn is_lint(self) -> bool {
                self.number() >= 400
            }

            /// Returns whether it reports an interrupt or a deadline.
            pub(crate) fn is_stop(self) -> bool {
                matches!(self, Self::Interrupted | Self::DeadlineExceeded)
            }

            /// Returns the explanation of the code, in one or more lines.
            pub fn meaning(self) -> &'static str {
                match self { $(ErrorCode::$name => concat!($($doc, "\n"),+).trim_ascii()),+ }
            }
        }
    };
}

codes! {
    /// A character that no token starts with.
    UnknownCharacter = 101;
    /// A number that is not well formed, such as `1.2.3`.
    MalformedNumber = 102;
    /// A token where the grammar wants another.
    UnexpectedToken = 103;
    /// The text ends inside an item.
    UnexpectedEnd = 104;
    /// A parenthesis that is never closed.
    UnclosedParenthesis = 105;
    /// Expressions nested deeper than the limit.
    TooDeep = 106;
    /// An operator precedence outside 1 to 100.
    BadPrecedence = 107;
    /// A definition of `=`, which assigns: a warning if it is binary.
    ReservedOperator = 108;
    /// A text, or an item of one, longer than the limit.
    SourceTooLong = 109;
    /// An item of the grammar that this context cannot run.
    Unsupported = 110;
    /// A text that does not end on its line, or has an unknown escape.
    MalformedText = 111;

    /// A variable that nothing declares.
    UnknownVariable = 201;
    /// An operator without a definition.
    UnknownOperator = 202;
    /// The left side of `=` is not a variable.
    BadAssignment = 203;
    /// Two parameters of one name.
    DuplicateParameter = 204;
    /// A call with another number of arguments than the function takes.
    WrongArity = 205;
    /// An `extern` of an operator, or of a function that is never defined.
    UnknownExtern = 206;
    /// An `extern` whose arity is not that of the function it declares.
    ExternArity = 207;
    /// More definitions, variables or functions than a limit allows.
    TooMany = 208;
    /// A module that is not imported, not found, or not a library.
    UnknownModule = 209;
    /// A name that two imports offer, or an operator to which they give two
    /// meanings.
    AmbiguousName = 210;
    /// A text that is not printed: every value is a number.
    MisplacedText = 211;
    /// A number where a function is wanted.
    FunctionWanted = 212;

    /// A call of a function that is not defined, found when it ran.
    UndefinedFunction = 301;
    /// A call that does not fit the function's present arity, found when it ran.
    StaleCall = 302;
    /// The stack is used up.
    StackOverflow = 303;
    /// The run was interrupted.
    Interrupted = 304;
    /// The run took longer than allowed.
    DeadlineExceeded = 305;
    /// A host function reported an error.
    HostFailure = 306;
    /// A function could not be compiled.
    CompileFailure = 307;
    /// The fuel is used up.
    OutOfFuel = 308;
    /// A bug in Kal. Please report it.
    Internal = 309;
    /// A limit of the context on its code or its compile time is reached.
    ContextLimit = 310;

    /// An assignment where a condition is wanted, such as `if x = 0`.
    AssignedCondition = 401;
    /// An item that begins on the line of another without a `;` between them.
    RunOnItem = 402;
    /// A parameter that the body does not use.
    UnusedParameter = 403;
    /// A definition that takes an unindented next line as its body.
    SwallowedLine = 404;
    /// An assignment as the step of a `for`, which is what is added each time.
    AssignedStep = 406;
    /// An expression that goes on with a `-` at the beginning of the next line.
    ContinuedLine = 407;
    /// A `for` whose condition is a number that never changes, as if it were the last one.
    ConstantCondition = 408;
    /// A text with a format such as `%d`, which `print` writes as it is.
    FormatInText = 409;
    /// A `for` whose condition ends with `<=` or `>=`: its body runs once more than that says.
    PastTheEnd = 410;
    /// A comparison with `nan`, whose answer is always the same.
    ComparedWithNan = 411;
    /// The body of a loop ends with `: s`, whose value is dropped.
    DroppedValue = 412;
}

impl fmt::Display for ErrorCode {
    /// Writes the code: `E0101`, or `W0401` for a lint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{:04}", if self.is_lint() { 'W' } else { 'E' }, self.number())
    }
}

/// Whether it is an error or a warning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The item was refused.
    Error,
    /// The item was accepted, but something no longer fits.
    Warning,
}

/// A place and a remark about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The source of the place.
    pub source: Source,
    /// The place.
    pub span: Span,
    /// The remark; may be empty.
    pub message: String,
}

/// One mistake: a code, a sentence, the place, further places, advice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The kind of mistake.
    pub code: ErrorCode,
    /// Whether it is an error or a warning.
    pub severity: Severity,
    /// The sentence, in lower case and without a full stop.
    pub message: String,
    /// The place itself first, then related ones.
    pub labels: Vec<Label>,
    /// What to do about it; `None` if that is not known.
    pub help: Option<String>,
    /// For a run that failed: the calls in progress, innermost first.
    pub trace: Vec<String>,
}

impl Diagnostic {
    /// Creates an error of kind `code` at `span`.
    pub fn error(code: ErrorCode, source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            labels: Vec::new(),
            help: None,
            trace: Vec::new(),
        }
        .with_label(source, span, "")
    }

    /// Turns it into a warning.
    #[must_use]
    pub fn as_warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Adds a related place.
    #[must_use]
    pub fn with_label(mut self, source: &Source, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { source: source.clone(), span, message: message.into() });
        self
    }

    /// Sets the remark at the place itself.
    #[must_use]
    pub fn with_note(mut self, message: impl Into<String>) -> Self {
        if let Some(label) = self.labels.first_mut() {
            label.message = message.into();
        }
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the help, if there is some.
    #[must_use]
    pub fn with_any_help(self, help: Option<String>) -> Self {
        match help {
            Some(help) => self.with_help(help),
            None => self,
        }
    }
}

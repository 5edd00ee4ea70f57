//! Why code could not be generated.

/// Why code could not be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodegenError {
    /// This build has no compiler.
    #[cfg(not(feature = "compiler"))]
    #[error("this build of Kal has no compiler (feature `compiler`)")]
    Absent,
    /// LLVM cannot generate code for this machine.
    #[error("no code can be generated for this machine: {0}")]
    Target(String),
    /// A bug in Kal: it generates code that LLVM refuses, or relies on
    /// something that the check does not ensure.
    #[error("wrong code is generated: {0}")]
    Internal(String),
    /// The function has more nodes than the compiler accepts.
    #[error("it is too large, with {0} operations of {1} at most; `--interpret` runs it")]
    TooLarge(usize, usize),
}

impl CodegenError {
    /// Creates the error for something that the check guarantees, by the order of
    /// the nodes, and that is not so.
    pub fn missing() -> Self {
        Self::Internal("a value is missing".into())
    }
}

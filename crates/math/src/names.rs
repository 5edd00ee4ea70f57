/// The functions of one argument.
const UNARY: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "erf", "erfc", "exp",
    "exp2", "expm1", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh", "tgamma",
];

/// The functions of two arguments.
const BINARY: &[&str] = &["atan2", "hypot", "pow"];

//! Tests of the C library as it is installed: `make c-test` installs it and runs them.
//!
//! | module | tests |
//! |---|---|
//! | `header` | that `kal.h` is what the sources say, and its number changes with it |
//! | `symbols` | what the libraries show, need and weigh |
//! | `programs` | programs in C and C++, by two compilers, with both libraries, and valgrind |
//! | `examples` | the examples in C, C++, Go and Node, and what `docs/c.md` shows of them |
//! | `library` | a library that `kal build --lib` makes, from Go |
//! | `installed` | the folder of an installation |

mod installed;
mod header;
mod symbols;
mod programs;
mod examples;
mod library;

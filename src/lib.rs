//! Kal makes Kaleidoscope live.

pub mod diagnostic;
pub mod name;
pub mod orc;
pub mod source;
pub mod syntax;

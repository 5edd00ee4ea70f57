//! Drawing diagnostics for people.

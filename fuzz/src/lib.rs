//! What the fuzz targets share with the test suite: the same files.

#[path = "../../tests/all/choices.rs"]
pub mod choices;
#[path = "../../tests/all/model.rs"]
pub mod model;
#[path = "../../tests/all/modes.rs"]
pub mod modes;
#[path = "../../tests/all/program.rs"]
pub mod program;
#[path = "../../tests/all/reading.rs"]
pub mod reading;
#[path = "../../tests/all/rows.rs"]
pub mod rows;
#[path = "../../tests/all/targets.rs"]
pub mod targets;

//! What `kal emit tape` prints for the programs in `tests/tapes`.
//!
//! The disassembly is at the end of each program, after `#| `. `UPDATE=1 cargo
//! test --test all tapes` rewrites it; read the difference before you commit
//! it.

use crate::binary;

const MARK: &str = "#|";

#[test]
fn tapes_are_as_expected() {
    let programs = binary::files(&binary::directory("tests/tapes"), "kal");
    assert!(programs.len() >= 4, "only {} programs were found", programs.len());
    for path in programs {
        let text = std::fs::read_to_string(&path).expect("programs are text");
        let (expected, program): (Vec<&str>, Vec<&str>) =
            text.split_inclusive('\n').partition(|line| line.starts_with(MARK));
        let ran = binary::feed(binary::kal().args(["emit", "tape", "-"]), program.concat().as_bytes());
        assert_eq!(ran.code, Some(0), "{}: {}", path.display(), ran.err());
        let mark = |text: String, line| text + format!("{MARK} {line}").trim_end() + "\n";
        let found = ran.out().lines().fold(String::new(), mark);
        if binary::update() {
            std::fs::write(&path, program.concat() + &found).expect("the folder is writable");
        } else {
            assert_eq!(found, expected.concat(), "{}", path.display());
        }
    }
}

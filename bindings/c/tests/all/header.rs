//! `kal.h` is generated, and its number changes with it.
//!
//! `UPDATE=1` writes the header, and adds the hash of its declarations to `abi.txt` if the number
//! is new.

use crate::installed::sources;
use std::env;
use std::fs;

/// Returns the header that the sources have, with or without comments.
fn generated(with_comments: bool) -> String {
    let mut config = cbindgen::Config::from_file(sources().join("cbindgen.toml")).expect("it is right");
    config.documentation = with_comments;
    let builder = cbindgen::Builder::new().with_crate(sources()).with_config(config);
    let mut bytes = Vec::new();
    builder.generate().expect("the sources can be read").write(&mut bytes);
    let text = String::from_utf8(bytes).expect("it is UTF-8");
    for_c(&text)
}

/// Returns a header without what concerns Rust: the sections on safety, whose rules C has anyway;
/// and contexts are not `const`, though functions share them.
fn for_c(text: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_safety = false;
    for line in text.lines() {
        if line.trim_start() == "// # Safety" {
            is_safety = true;
            // The empty line of the comment before it.
            lines.pop();
        }
        is_safety &= line.trim_start().starts_with("//");
        let is_second_empty_line = line.is_empty() && lines.last().is_some_and(|last| last.is_empty());
        if !is_safety && !is_second_empty_line {
            lines.push(line);
        }
    }
    lines.join("\n").replace("const kal_context *", "kal_context *") + "\n"
}

#[test]
fn the_header_is_what_the_sources_say() {
    let (path, expected) = (sources().join("include/kal.h"), generated(true));
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, &expected).expect("it can be written");
    }
    let found = fs::read_to_string(path).expect("it is there");
    assert!(found == expected, "kal.h is not what the sources say: `UPDATE=1 make c-test` writes it");
}

/// Returns a number that the header defines.
fn number(header: &str, name: &str) -> u32 {
    let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
    line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("there is no number {name}"))
}

/// Returns what is wrong with the numbers of a header, by the hashes of those before it.
fn mistake(header: &str, known: &str) -> Option<String> {
    let (abi, oldest) = (number(header, "KAL_ABI"), number(header, "KAL_ABI_OLDEST"));
    let numbers: Vec<(u32, &str)> = known
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(' '))
        .filter_map(|(number, hash)| Some((number.parse().ok()?, hash)))
        .collect();
    if numbers.iter().zip(1..).any(|((number, _), expected)| *number != expected) {
        return Some("the numbers in abi.txt are not in order".to_owned());
    }
    if oldest == 0 || oldest > abi {
        return Some("KAL_ABI_OLDEST is not a number up to KAL_ABI".to_owned());
    }
    match numbers.last() {
        Some((last, _)) if abi < *last => Some("KAL_ABI is less than it was".to_owned()),
        Some((last, hash)) if abi == *last && **hash != hash_of(header) => Some(format!(
            "the declarations have changed, and KAL_ABI is still {abi}: raise it in src/lib.rs, and \
             KAL_ABI_OLDEST if older programs have to be compiled again"
        )),
        Some((last, _)) if abi == *last => None,
        _ => Some("KAL_ABI is new: `UPDATE=1 make c-test` adds it to abi.txt".to_owned()),
    }
}

/// Returns the hash of declarations, without their numbers.
fn hash_of(header: &str) -> String {
    let lines = header.lines().filter(|line| !line.starts_with("#define KAL_ABI"));
    let lines = lines.map(|line| line.split("//").next().unwrap_or_default().trim_end());
    let text: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    blake3::hash(text.join("\n").as_bytes()).to_hex()[..32].to_owned()
}

#[test]
fn a_changed_header_has_another_number() {
    let (path, header) = (sources().join("tests/abi.txt"), generated(false));
    let known = fs::read_to_string(&path).expect("it is there");
    let abi = number(&header, "KAL_ABI");
    let is_known = known.lines().any(|line| line.starts_with(&format!("{abi} ")));
    if env::var_os("UPDATE").is_some() && !is_known {
        fs::write(&path, format!("{known}{abi} {}\n", hash_of(&header))).expect("it can be written");
    }
    let known = fs::read_to_string(&path).expect("it is there");
    assert_eq!(mistake(&header, &known), None);

    // What the check finds.
    let changed = header.replace("bool kal_eval(", "int kal_eval(");
    assert!(mistake(&changed, &known).is_some_and(|text| text.contains("raise it")));
    let raised = |header: &str, abi: u32| {
        header.replace(
            &format!("#define KAL_ABI {}\n", number(header, "KAL_ABI")),
            &format!("#define KAL_ABI {abi}\n"),
        )
    };
    assert!(mistake(&raised(&changed, abi + 1), &known).is_some_and(|text| text.contains("is new")));
    let both = format!("{known}{} {}\n", abi + 1, hash_of(&changed));
    assert_eq!(mistake(&raised(&changed, abi + 1), &both), None);
    assert!(mistake(&header, &both).is_some_and(|text| text.contains("less than it was")));
    // A comment is no change.
    assert_eq!(hash_of(&generated(true)), hash_of(&header));
}

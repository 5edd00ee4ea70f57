//! `kal map`: tables in, tables out.

use crate::binary::{Ran, directory, feed, finish, kal};
use crate::terminal::Terminal;
use crate::transcripts::{Folder, fenced};
use portable_pty::CommandBuilder;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Maps a table on standard input.
fn map(arguments: &[&str], table: &str) -> Ran {
    feed(kal().arg("map").args(arguments), table.as_bytes())
}

/// Returns the table that is written, if nothing is wrong.
fn mapped(arguments: &[&str], table: &str) -> String {
    let ran = map(arguments, table);
    assert_eq!((ran.err(), ran.code), ("", Some(0)), "{arguments:?}");
    ran.out().to_owned()
}

/// Returns what is said about a table or a formula that is refused.
fn refused(arguments: &[&str], table: &str) -> Vec<String> {
    let ran = map(arguments, table);
    assert_eq!(ran.code, Some(1), "{arguments:?} {ran:?}");
    ran.said()
}

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).expect("it can be written");
}

fn read(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).expect("it can be read")
}

/// Returns the names of a folder's files.
fn names(folder: &Folder) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).expect("it is a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn results_are_a_column_more() {
    let table = "item,price,rate\ntea,10,0.2\ncups,3.5,0.1\n";
    let cases = [
        (
            &["price * (1 + rate)"][..],
            "item,price,rate,price * (1 + rate)\ntea,10,0.2,12\ncups,3.5,0.1,3.8500000000000005\n",
        ),
        (
            &["price*rate", "--name", "tax"],
            "item,price,rate,tax\ntea,10,0.2,2\ncups,3.5,0.1,0.35000000000000003\n",
        ),
        (&[" price / 3 ", "--alone"], "price / 3\n3.3333333333333335\n1.1666666666666667\n"),
        (&["-price", "--alone"], "-price\n-10\n-3.5\n"),
        (&["1e300 * 1e10", "--alone"], "1e300 * 1e10\ninf\ninf\n"),
        (&["0 / (rate - rate)", "--alone"], "0 / (rate - rate)\nnan\nnan\n"),
        (&["rate / 1e9", "--alone"], "rate / 1e9\n2e-10\n1e-10\n"),
        (&["if price < 5 then 1 else 0", "--alone"], "if price < 5 then 1 else 0\n0\n1\n"),
        (&["var item = 2 in item * price", "--alone"], "var item = 2 in item * price\n20\n7\n"),
        (&["pow(price, 2)", "--alone"], "\"pow(price, 2)\"\n100\n12.25\n"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(mapped(arguments, table), expected, "{arguments:?}");
        let interpreted = [arguments, &["--interpret"]].concat();
        assert_eq!(mapped(&interpreted, table), expected, "{arguments:?}");
    }
    assert_eq!(mapped(&["x", "--name", "y"], "x\n"), "x,y\n");
    assert_eq!(mapped(&["x", "--name", "y"], "x"), "x,y\n");
}

#[test]
fn other_columns_stay_as_they_are() {
    let table =
        "\u{FEFF}a,\"b \"\"q\"\"\",n\r\n\"1\n2, 3\",x  y,\" 4 \"\r\n\r\n\"\",\"\", 5\r\n5\" pipe,\u{e4},+6";
    let expected = "\u{FEFF}a,\"b \"\"q\"\"\",n,r\r\n\"1\n2, 3\",x  y,\" 4 \",8\r\n\"\",\"\", 5,10\r\n5\" pipe,\u{e4},+6,12\r\n";
    assert_eq!(mapped(&["n * 2", "--name", "r"], table), expected);
    let ran = feed(kal().args(["map", "n", "--alone"]), b"x,n\n\xff\xfe,1\n");
    assert_eq!((ran.out(), ran.err()), ("n\n1\n", ""));
    let ran = feed(kal().args(["map", "n", "--name", "r"]), b"x,n\n\xff\xfe,1\n");
    assert_eq!(ran.stdout, b"x,n,r\n\xff\xfe,1,1\n");
    // The ends of lines of old.
    assert_eq!(mapped(&["n", "--name", "r"], "n\r1\r2"), "n,r\r1,1\r2,2\r");
}

#[test]
fn delimiters_are_chosen() {
    assert_eq!(mapped(&["a*b", "--delimiter", ";"], "a;b\n\"2\";3\n"), "a;b;a*b\n\"2\";3;6\n");
    assert_eq!(mapped(&["a*b", "--delimiter", "\\t"], "a\tb\n2\t3\n"), "a\tb\ta*b\n2\t3\t6\n");
    for wrong in ["", "ab", "e", "\"", "\u{e4}", "."] {
        let ran = map(&["a", "--delimiter", wrong], "a\n1\n");
        assert_eq!(ran.code, Some(2), "{wrong}");
        assert!(ran.err().contains("it is one ASCII character that is not in numbers"), "{}", ran.err());
    }
    // A file with another one has one column.
    for (header, delimiter) in [("a;b\n", "';'"), ("a\tb\n", r"'\t'"), ("a|b\n", "'|'")] {
        let said = refused(&["a"], header).join("\n");
        let help = format!("; does `--delimiter {delimiter}` separate them?");
        assert!(said.contains(&help), "{said}");
    }
}

#[test]
fn a_formula_that_calls_what_is_not_defined_is_refused_before_the_first_row() {
    for text in ["nofun(a)", "if a > 1 then nofun(a) else 1"] {
        let ran = map(&["--on-error", "empty", text], "a\n1\n");
        assert_eq!((ran.out(), ran.code), ("", Some(1)), "{text}");
        let at = text.find("nofun").expect("it is in it") + 1;
        let told = format!("error[E0301] 1:{at} this formula calls `nofun`, which is not defined");
        assert_eq!(ran.said()[0], told);
    }
}

#[test]
fn a_missing_value_is_a_missing_result() {
    let table = "a,b\n1,2\n,2\n 3 ,\n\" \",5\n";
    assert_eq!(mapped(&["a + b", "--name", "r"], table), "a,b,r\n1,2,3\n,2,\n 3 ,,\n\" \",5,\n");
    assert_eq!(mapped(&["b", "--alone"], table), "b\n2\n2\n\"\"\n5\n");
    // Nothing is computed there, so nothing fails.
    let arguments = ["-e", "def f(a) if a > 1 then g(a) else a", "f(a)", "--alone"];
    assert_eq!(mapped(&arguments, "a,z\n1,\n,\n0,\n"), "f(a)\n1\n\"\"\n0\n");
}

#[test]
fn malformed_rows_are_named_by_their_lines() {
    let cases = [
        ("a,b\n1,2\n\n\"1\n\",3\n1\n4,5\n", "standard input:6: the row has 1 field, the header 2"),
        ("a,b\r\n1,2\r\n1,2,3\r\n", "standard input:3: the row has 3 fields, the header 2"),
        ("a,b\r1,2\r1,2,3", "standard input:3: the row has 3 fields, the header 2"),
        ("a,b\n1,2\n3,\"4\n5,6\n", "standard input:3: a quotation mark in this row is not closed"),
        ("\"a,b\n", "standard input:1: a quotation mark in this row is not closed"),
        ("a,b\n1,2\nx,2\n", "standard input:3: `x` in the column `a` is not a number"),
        ("\n\na,b\n\n\n1_,2\n", "standard input:6: `1_` in the column `a` is not a number"),
        ("", "standard input: there is no header"),
        ("\n\r\n", "standard input: there is no header"),
    ];
    for (table, expected) in cases {
        assert_eq!(refused(&["a", "--name", "r"], table), [format!("error: {expected}")], "{table:?}");
    }
    // What comes before is written, and a field that is not used may be anything.
    let ran = map(&["b", "--name", "r"], "a,b\nx,1\ny,2\nz,two\n");
    assert_eq!(ran.out(), "a,b,r\nx,1,1\ny,2,2\n");
    let long = format!("a\n{}\n", "x".repeat(1000));
    let told =
        format!("error: standard input:2: `{}\u{2026}` in the column `a` is not a number", "x".repeat(40));
    assert_eq!(refused(&["a", "--alone"], &long), [told]);
    // In a row of many pieces, too.
    let table = format!("a,b\n1,\"{}\"\n2\n", "line\n".repeat(1_000_000));
    let told = "error: standard input:1000003: the row has 1 field, the header 2";
    assert_eq!(refused(&["a", "--alone"], &table), [told]);
}

#[test]
fn what_is_wrong_with_a_formula_is_shown_in_it() {
    let table = "price,unit price,2020,in,unit-price\n1,2,3,4,5\n";
    let columns = "the columns are `price`, `unit_price` for \"unit price\", `_2020` for \"2020\", `_in` for \"in\", `unit_price` for \"unit-price\"";
    let said = refused(&["1 + prce + zzz"], table);
    let expected = [
        "error[E0201] 1:5 unknown variable `prce`".to_owned(),
        format!("  help: did you mean `price`? {columns}"),
        "error[E0201] 1:12 unknown variable `zzz`".to_owned(),
        format!("  help: {columns}"),
    ];
    assert_eq!(said, expected);
    let expected = [
        "error[E0210] 1:9 two columns are called `unit_price`",
        "  help: rename one in the header: what cannot be in a name is `_` in formulas",
    ];
    assert_eq!(refused(&["price + unit_price"], table), expected);
    let ran = map(&["unit_price"], table);
    assert!(
        ran.err().contains("this is \"unit price\", column 2, and \"unit-price\", column 5"),
        "{}",
        ran.err()
    );
    let expected = [
        "error[E0201] 1:2 no column is called `prices`".to_owned(),
        format!("  help: did you mean `price`? {columns}"),
    ];
    assert_eq!(refused(&["-e", "def f(_in prices) _in", " f"], table), expected);
    assert_eq!(
        refused(&["price +"], table)[0],
        "error[E0104] 1:7 expected an expression after `+`, found the end of the input"
    );
    assert_eq!(
        refused(&["price; price"], table)[0],
        "error[E0103] 1:8 expected one expression, found several items"
    );
    let expected = [
        "error[E0103] 1:6 expected one expression, found several items",
        "  help: the column \"unit price\" is `unit_price` in formulas",
    ];
    assert_eq!(refused(&["unit price * 2"], table), expected);
    let expected =
        ["error[E0103] 1:11 an operator is missing between `1` and `and`", "  help: and is written `&&`"];
    assert_eq!(refused(&["price > 1 and _2020 < 3"], table), expected);
    let taken = "error: the table has a column `price`: give the results another name with --name";
    assert_eq!(refused(&["price"], table), [taken]);
    assert_eq!(mapped(&["price", "--alone"], table), "price\n1\n");
    assert_eq!(mapped(&["_2020 * _in", "--alone"], table), "_2020 * _in\n12\n");
}

#[test]
fn functions_and_variables_come_from_files() {
    let folder = Folder::new("map-load");
    write(
        &folder,
        "tax.kal",
        "import stats\nvar limit = 1000\n2 + 2\ndef tax(income rate) if income < limit then 0 else (income - limit) * rate\n",
    );
    write(&folder, "t.csv", "name,rate,income\nA,0.2,500\nB,0.2,1500\nC,0.5,3000\n");
    let run = |arguments: &[&str]| finish(kal().arg("map").args(arguments).current_dir(folder.path()));
    let ran = run(&["tax", "--load", "tax.kal", "--in", "t.csv"]);
    assert_eq!(ran.err(), "");
    assert_eq!(ran.out(), "name,rate,income,tax\nA,0.2,500,0\nB,0.2,1500,100\nC,0.5,3000,1000\n");
    assert_eq!(run(&["tax", "t.csv", "--load", "tax.kal"]).out(), ran.out());
    let ran = run(&[
        "tax(income, rate) / limit",
        "--alone",
        "--load",
        "tax.kal",
        "--in",
        "t.csv",
        "-e",
        "var limit = 7",
    ]);
    assert_eq!(ran.out(), "\"tax(income, rate) / limit\"\n0\n0.1\n1\n");
    let ran = run(&["f(income)", "--load", "none.kal", "--in", "t.csv"]);
    assert_eq!((ran.code, ran.err()), (Some(1), "error: none.kal: No such file or directory (os error 2)\n"));
    let ran = run(&["f(income)", "--in", "none.csv"]);
    assert_eq!((ran.code, ran.err()), (Some(1), "error: none.csv: No such file or directory (os error 2)\n"));
    let ran = run(&["t.csv", "income * 2"]);
    let told = "error: income * 2: No such file or directory (os error 2); the formula comes first: `kal map FORMULA t.csv`\n";
    assert_eq!((ran.code, ran.err()), (Some(1), told));
    write(&folder, "wrong.kal", "def f(x) x +\ndef g(x) )\n");
    let ran = run(&["f(income)", "--load", "wrong.kal", "--in", "t.csv"]);
    assert_eq!((ran.code, ran.out(), ran.said().len()), (Some(1), "", 2), "{}", ran.err());
    // What is printed is not among the rows.
    write(&folder, "noisy.kal", "def noisy(x) print(\"x = \", x) + x\nprint(\"loaded\")\n");
    let ran = run(&["noisy(rate)", "--alone", "--load", "noisy.kal", "--in", "t.csv"]);
    let printed = "loaded\nx = 0.2\nx = 0.2\nx = 0.5\n";
    assert_eq!((ran.out(), ran.err()), ("noisy(rate)\n0.2\n0.2\n0.5\n", printed));
    let ran = run(&["noisy(rate)", "--alone", "--load", "noisy.kal", "--in", "t.csv", "--out", "noisy.csv"]);
    assert_eq!((ran.out(), ran.err()), (printed, ""));
    // A stored program, too.
    let stored = finish(kal().args(["emit", "tape", "-o", "tax.tape", "tax.kal"]).current_dir(folder.path()));
    assert_eq!(stored.code, Some(0), "{}", stored.err());
    let ran = run(&["tax", "--alone", "--load", "tax.tape", "--in", "t.csv"]);
    assert_eq!((ran.out(), ran.err()), ("tax\n0\n100\n1000\n", ""));
}

#[test]
fn a_row_that_fails_ends_it_or_is_empty() {
    let table = "x,y\n1,a\n2,b\nz,c\n,d\n4,e\n";
    let undefined = "def f(x) if x > 3 then g(x) else x * 10";
    let ran = map(&["-e", undefined, "f"], &table.replace('z', "3"));
    assert_eq!((ran.out(), ran.code), ("x,y,f\n1,a,10\n2,b,20\n3,c,30\n,d,\n", Some(1)));
    let said = ran.said();
    assert_eq!(said[0], "error[E0301] 1:24 `f` calls `g`, which is not defined");
    assert_eq!(said.last().unwrap(), "note: standard input:6: the row that failed: x = 4");
    let ran = map(&["-e", undefined, "f", "--on-error", "empty"], table);
    assert_eq!((ran.out(), ran.code), ("x,y,f\n1,a,10\n2,b,20\nz,c,\n,d,\n4,e,\n", Some(0)));
    let told = "note: results are empty: 1 row with a field that is not a number, 1 row in which the function failed\n";
    assert_eq!(ran.err(), told);

    let endless = "def r(x) if x > 1 then r(x + 1) + 1 else x";
    let small = ["--stack-size", "1MiB"];
    let ran = map(&[&["-e", endless, "r(x)", "--name", "r"][..], &small].concat(), "x\n0\n2\n1\n");
    assert_eq!((ran.out(), ran.code), ("x,r\n0,0\n", Some(1)));
    assert!(ran.err().starts_with("error[E0303]: stack overflow"), "{}", ran.err());
    assert!(ran.err().ends_with("note: standard input:3: the row that failed: x = 2\n"), "{}", ran.err());
    let arguments = [&["-e", endless, "r(x)", "--alone", "--on-error", "empty"][..], &small].concat();
    let ran = map(&arguments, "x\n0\n2\n1\n");
    assert_eq!((ran.out(), ran.code), ("r(x)\n0\n\"\"\n1\n", Some(0)));
    assert_eq!(ran.err(), "note: results are empty: 1 row in which the function failed\n");
}

/// A table that is longer than a piece, with rows of different lengths.
fn long_table(rows: usize) -> String {
    let mut table = String::from("id,x,text,y\n");
    for row in 0..rows {
        let text = if row % 7 == 0 { "\"a, \"\"b\"\"\nc\"" } else { "plain" };
        let x =
            if row % 11 == 3 { String::new() } else { format!("{}.{:03}", row * 7919 % 10_007, row % 1000) };
        writeln!(table, "{row},{x},{text},{}", 1.0 / (row as f64 + 1.0)).expect("it is in memory");
    }
    table
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = long_table(200_000);
    for formula in ["x * y + sin(id)", "r(x * y)"] {
        let arguments = ["-e", "def r(x) if x > 1 then r(x / 2) + 1 else x", formula, "--name", "r"];
        let one = mapped(&arguments, &table);
        let three = mapped(&[&arguments[..], &["--threads", "3"]].concat(), &table);
        assert!(one == three, "{formula}");
        // What each row has to be, computed here.
        let mut lines = one.lines().filter(|line| !line.starts_with("c\"") || line.contains(','));
        assert_eq!(lines.next(), Some("id,x,text,y,r"));
        let is_row = |line: &&str| !line.ends_with("\"\"b\"\"");
        let rows: Vec<Vec<&str>> = lines.filter(is_row).map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 200_000);
        let without = rows.iter().filter(|fields| fields.last() == Some(&"")).count();
        assert_eq!(without, 200_000_usize.div_ceil(11), "{formula}");
    }
    let alone = mapped(&["x * y * 3", "--alone", "--threads", "3"], &table);
    for (row, line) in alone.lines().skip(1).enumerate().filter(|(row, _)| row % 11 != 3) {
        let x: f64 = format!("{}.{:03}", row * 7919 % 10_007, row % 1000).parse().unwrap();
        let y: f64 = format!("{}", 1.0 / (row as f64 + 1.0)).parse().unwrap();
        assert_eq!(line, kal::format_number(x * y * 3.0), "row {row}");
    }
    // Of rows that fail, the first one is named.
    let arguments = ["-e", "def f(id) if id < 150000 then id else g(id)", "f(id)", "--alone"];
    for threads in ["1", "3"] {
        let ran = map(&[&arguments[..], &["--threads", threads]].concat(), &table);
        assert_eq!(ran.out().lines().count(), 150_001);
        let line = 2 + 150_000 + 150_000_usize.div_ceil(7);
        let told = format!("note: standard input:{line}: the row that failed: id = 150000\n");
        assert!(ran.err().ends_with(&told), "{}", ran.err());
    }
}

#[test]
fn a_file_is_replaced_when_all_is_written() {
    let folder = Folder::new("map-out");
    write(&folder, "t.csv", "a\n1\n2\n");
    let run = |arguments: &[&str]| finish(kal().arg("map").args(arguments).current_dir(folder.path()));
    let ran = run(&["a * 2", "--in", "t.csv", "--out", "t.csv", "--name", "b"]);
    assert_eq!((ran.out(), ran.err()), ("", ""));
    assert_eq!(read(&folder, "t.csv"), "a,b\n1,2\n2,4\n");
    let ran = run(&["a * b", "--in", "t.csv", "--out", "new.csv", "--alone"]);
    assert_eq!((ran.err(), read(&folder, "new.csv").as_str()), ("", "a * b\n2\n8\n"));

    write(&folder, "wrong.csv", &format!("a\n{}x\n", "1\n".repeat(100_000)));
    let ran = run(&["a * 2", "--in", "wrong.csv", "--out", "t.csv"]);
    assert_eq!(
        (ran.code, ran.err()),
        (Some(1), "error: wrong.csv:100002: `x` in the column `a` is not a number\n")
    );
    let ran = run(&["c * 2", "--in", "wrong.csv", "--out", "t.csv"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(read(&folder, "t.csv"), "a,b\n1,2\n2,4\n");
    assert_eq!(names(&folder), ["new.csv", "t.csv", "wrong.csv"]);
    let ran = run(&["a", "--alone", "--in", "t.csv", "--out", "none/t.csv"]);
    assert_eq!(
        (ran.code, ran.err()),
        (Some(1), "error: cannot write none/t.csv: No such file or directory (os error 2)\n")
    );
    let ran = run(&["a", "--alone", "--in", "t.csv", "--out", "/dev/stdout"]);
    assert_eq!((ran.out(), ran.err()), ("a\n1\n2\n", ""));
}

/// Runs a script in a folder, where `kal` is the command.
fn shell(folder: &Folder, script: &str) -> Ran {
    let mut command = Command::new("sh");
    let script = format!("kal() {{ '{}' \"$@\"; }}; {script}", env!("CARGO_BIN_EXE_kal"));
    finish(command.args(["-c", &script]).current_dir(folder.path()).env("KAL_CACHE", "off"))
}

#[test]
fn compressed_tables_are_read_and_written() {
    let folder = Folder::new("map-gzip");
    let table = long_table(200_000);
    write(&folder, "t.csv", &table);
    let expected = mapped(&["x * y", "--name", "r"], &table);
    let is_expected = |script: &str| {
        let ran = shell(&folder, script);
        assert_eq!((ran.err(), ran.code), ("", Some(0)), "{script}");
        assert!(ran.out() == expected, "{script}");
    };
    is_expected("gzip -k t.csv; kal map 'x * y' --name r t.csv.gz");
    is_expected("gzip -c t.csv | kal map 'x * y' --name r");
    is_expected("{ head -n 1000 t.csv | gzip; tail -n +1001 t.csv | gzip; } | kal map 'x * y' --name r");
    is_expected("kal map 'x * y' --name r t.csv.gz --out t.csv.gz; gzip -dc t.csv.gz");
    let ran = shell(&folder, "gzip -c t.csv | head -c 500000 | kal map x --alone");
    let told = "error: standard input: the gzip data is damaged or incomplete\n";
    assert_eq!((ran.err(), ran.code), (told, Some(1)));
}

#[test]
fn what_is_no_table_is_named_with_what_makes_it_one() {
    let cases: [(&[u8], &str); 6] = [
        (b"\x28\xb5\x2f\xfd more", "compressed with zstd: `zstd -dc FILE | kal map FORMULA`"),
        (b"\xfd7zXZ\0 more", "compressed with xz: `xz -dc FILE | kal map FORMULA`"),
        (b"BZh91AY&SY more", "compressed with bzip2: `bzip2 -dc FILE | kal map FORMULA`"),
        (b"\xff\xfex\0\n\0", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 FILE | kal map FORMULA`"),
        (b"\xfe\xff\0x\0\n", "text in UTF-16: `iconv -f UTF-16 -t UTF-8 FILE | kal map FORMULA`"),
        (b"PK\x03\x04 more", "a ZIP archive, as workbooks are: save the table in it as CSV"),
    ];
    for (bytes, told) in cases {
        let ran = feed(kal().args(["map", "x"]), bytes);
        let told = format!("error: standard input is {told}\n");
        assert_eq!((ran.out(), ran.err(), ran.code), ("", told.as_str(), Some(1)));
    }
    let folder = Folder::new("map-utf16");
    write(&folder, "t.csv", "x\n1\n");
    let ran = shell(&folder, "iconv -t UTF-16 t.csv | iconv -f UTF-16 -t UTF-8 - | kal map 'x * 2' --alone");
    assert_eq!((ran.out(), ran.err()), ("x * 2\n2\n", ""));
}

#[test]
fn what_cannot_be_written_is_named() {
    let folder = Folder::new("map-full");
    write(&folder, "t.csv", &long_table(20_000));
    for (arguments, file) in [("--out r.csv", "r.csv"), ("--out r.csv.gz", "r.csv.gz")] {
        let ran = shell(&folder, &format!("trap '' XFSZ; ulimit -f 8; kal map 'sin(x)' t.csv {arguments}"));
        let told = format!("error: cannot write {file}: File too large (os error 27)\n");
        assert_eq!((ran.err(), ran.code), (told.as_str(), Some(1)));
    }
    let no_room = "No space left on device (os error 28)\n";
    let ran = shell(&folder, "kal map x --alone t.csv > /dev/full");
    let told = format!("error: cannot write to standard output: {no_room}");
    assert_eq!((ran.err(), ran.code), (told.as_str(), Some(1)));
    // What the formula prints of few rows, and of many.
    let told = format!("error: cannot write what the program prints: {no_room}");
    for rows in ["2", "20000"] {
        let map = "kal map 'print(x)' --alone --out r.csv";
        let ran = shell(&folder, &format!("{{ echo x; seq {rows}; }} | {map} > /dev/full"));
        assert_eq!((ran.err(), ran.code), (told.as_str(), Some(1)), "{rows}");
    }
    assert_eq!(names(&folder), ["t.csv"]);
}

#[test]
fn it_reads_and_writes_pipes() {
    assert_eq!(mapped(&["a", "--name", "b", "--in", "-", "--out", "-"], "a\n1\n"), "a,b\n1,1\n");
    // Rows come out when they have come in.
    let mut command = kal();
    command.args(["map", "a * a", "--name", "b"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for (row, answer) in [("a\n", "a,b\n"), ("3\n", "3,9\n"), ("4\n5\n", "4,16\n5,25\n")] {
        stdin.write_all(row.as_bytes()).expect("it is read");
        let mut found = vec![0; answer.len()];
        stdout.read_exact(&mut found).expect("it is written");
        assert_eq!(found, answer.as_bytes());
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut command = kal();
    command.args(["map", "x * y", "--name", "r"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let table = long_table(200_000);
    let ended = std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(table.as_bytes())));
        let mut few = [0; 14];
        stdout.read_exact(&mut few).expect("it writes");
        assert_eq!(&few, b"id,x,text,y,r\n");
        drop(stdout);
        child.wait_with_output().expect("it ends")
    });
    assert_eq!((ended.status.code(), ended.stderr.len()), (Some(141), 0));
}

/// Starts a command that Ctrl-C ends even where the tests ignore it.
fn interruptible(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.arg("--default-signal=INT").arg(env!("CARGO_BIN_EXE_kal")).arg("map").args(arguments);
    command.current_dir(folder.path()).env("KAL_CACHE", "off").stderr(Stdio::piped());
    command
}

#[test]
fn an_interrupt_leaves_the_old_file() {
    let folder = Folder::new("map-interrupt");
    write(&folder, "t.csv", "x\n1e9\n");
    let endless = ["-e", "def f(x) for i = 0, i < x, 0 in i", "f(x)", "--name", "r", "--out", "t.csv"];
    for (input, told) in [(Some("t.csv"), "error[E0304]: interrupted"), (None, "error[E0304]: interrupted")] {
        let mut command = interruptible(&folder, &endless);
        command.args(["--in", input.unwrap_or("-")]).stdin(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"x,y\n,1\n").expect("it is read");
        std::thread::sleep(Duration::from_millis(500));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.expect("every system has it").success());
        let ended = child.wait_with_output().expect("it ends");
        drop(stdin);
        assert_eq!(ended.status.code(), Some(130), "{input:?}");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(said.starts_with(told), "{input:?}: {said}");
        assert_eq!((read(&folder, "t.csv").as_str(), names(&folder).len()), ("x\n1e9\n", 1));
    }
}

#[test]
fn a_time_limit_holds() {
    let arguments = ["-e", "def f(x) for i = 0, i < x, 0 in i", "f(x)", "--alone", "--timeout", "300ms"];
    let ran = map(&arguments, "x\n1\n");
    assert_eq!((ran.code, ran.out()), (Some(124), "f(x)\n"));
    assert!(ran.err().starts_with("error[E0305]"), "{}", ran.err());
    let mut command = kal();
    command.args(["map", "x", "--alone", "--timeout", "300ms"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"x\n1\n").expect("it is read");
    let status = child.wait().expect("it ends");
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((status.code(), said.as_str()), (Some(124), "error: timed out\n"));
}

#[test]
fn it_says_how_it_computes() {
    let ran = map(&["x * 2", "--alone", "--explain"], "x\n1\n");
    assert_eq!((ran.out(), ran.code), ("x * 2\n2\n", Some(0)));
    assert!(ran.err().starts_with("note: ") && !ran.err().contains("row by row"), "{}", ran.err());
    let ran = map(&["-e", "def f(x) if x < 1 then 0 else f(x - 1)", "f", "--alone", "--explain"], "x\n1\n");
    assert_eq!(ran.err(), "note: row by row\nnote: `f` is called while it runs (<eval>:1:31)\n");
    assert_eq!(ran.out(), "f\n0\n");
}

#[test]
fn a_terminal_shows_how_many_rows_are_done() {
    let folder = Folder::new("map-progress");
    let mut command = CommandBuilder::new("sh");
    let rows = "echo x; for i in 1 2 3 4; do echo $i; sleep 0.2; done";
    command.args(["-c", &format!("({rows}) | $KAL map 'x * x' --name y --out t.csv; cat t.csv")]);
    let mut terminal = Terminal::running(&folder, command, &[], 80);
    terminal.wait_for(" rows, ");
    terminal.wait_for("a second");
    terminal.wait_for("x,y\n1,1\n2,4\n3,9\n4,16\n");
    // It is erased.
    let shown = terminal.shown();
    let last = shown.rsplit("a second").next().unwrap();
    assert!(last.starts_with("\r  ") && last.contains("  \rx,y"), "{last:?}");
}

#[test]
fn what_the_page_about_columns_shows_is_what_happens() {
    let folder = Folder::new("map-page");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kal"), folder.path().join("kal")).expect("it is linked");
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let page = std::fs::read_to_string(directory("docs/columns.md")).expect("there is one");
    let section = page.split("\n## ").find(|section| section.starts_with("`kal map`")).expect("it is there");
    let mut commands = 0;
    for (language, text) in fenced(section) {
        if language == "kal" {
            let name = text.lines().next().unwrap().trim_start_matches("# ");
            write(&folder, name, text);
            continue;
        }
        for step in text.split("$ ").skip(1) {
            let (command, expected) = step.split_once('\n').expect("a command is a line");
            // A file is what is shown of it first.
            if let Some(name) = command.strip_prefix("cat ").filter(|name| !folder.path().join(name).exists())
            {
                write(&folder, name, expected);
            }
            let mut shell = Command::new("sh");
            shell.current_dir(folder.path()).env("PATH", &path).env("KAL_CACHE", "off");
            let ran = finish(shell.args(["-c", command]));
            assert_eq!((ran.out(), ran.err(), ran.code), (expected, "", Some(0)), "{command}");
            commands += 1;
        }
    }
    assert!(commands >= 6, "{commands} commands");
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_leads_to_it() {
    let folder = Folder::new("map-dangling");
    write(&folder, "t.csv", "a,b\n1,2\n");
    std::fs::create_dir(folder.path().join("out")).expect("it is new");
    for (link, target) in [("one.csv", "out/made.csv"), ("two.csv", "one.csv")] {
        std::os::unix::fs::symlink(target, folder.path().join(link)).expect("it is new");
    }
    let ran = finish(kal().current_dir(folder.path()).args(["map", "a + b", "t.csv", "--out", "two.csv"]));
    assert_eq!((ran.err(), ran.code), ("", Some(0)));
    assert_eq!(read(&folder, "out/made.csv"), "a,b,a + b\n1,2,3\n");
    assert_eq!(names(&folder), ["one.csv", "out", "t.csv", "two.csv"]);
    assert!(folder.path().join("two.csv").is_symlink());
}

#[test]
fn a_formula_with_the_name_of_the_header_is_told_the_other() {
    let table = "a.b,else,while,q\n1,2,3,4\n";
    for (formula, help) in [
        ("a.b * q", "the column \"a.b\" is `a_b` in formulas"),
        ("else * 2", "the column \"else\" is `_else` in formulas"),
        ("while + 1", "the column \"while\" is `_while` in formulas"),
        ("q +", ""),
    ] {
        let said = refused(&[formula], table).join("\n");
        assert!(said.contains(help), "{formula}: {said}");
        assert_eq!(said.contains("in formulas"), !help.is_empty(), "{formula}: {said}");
    }
}

//! `kal map`: tables in Parquet.

use crate::binary::{Ran, finish, kal};
use crate::transcripts::Folder;
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::metadata::{KeyValue, RowGroupMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::record::{Field, Row};
use parquet::schema::parser::parse_message_type;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const SCHEMA: &str = "message sales {
    REQUIRED INT64 id;
    OPTIONAL DOUBLE x;
    OPTIONAL INT32 count (INTEGER(8,false));
    REQUIRED BOOLEAN ok;
    OPTIONAL INT64 price (DECIMAL(18,2));
    REQUIRED FIXED_LEN_BYTE_ARRAY(9) wide (DECIMAL(20,1));
    OPTIONAL BYTE_ARRAY name (STRING);
    REQUIRED INT32 day (DATE);
    REQUIRED FLOAT single;
    OPTIONAL group tags (LIST) { REPEATED group list { OPTIONAL BYTE_ARRAY element (STRING); } }
}";

/// Returns what a row has in a column; `None` where it has nothing.
fn x(row: i64) -> Option<f64> {
    (row % 5 != 2).then_some(row as f64 / 8.0 - 3.0)
}

fn price(row: i64) -> Option<i64> {
    (row % 7 != 3).then_some(row * 31 - 1000)
}

fn count(row: i64) -> i32 {
    row as i32 % 256
}

/// Writes a table with row groups of these lengths.
fn write_table(path: &Path, groups: &[i64]) {
    let schema = Arc::new(parse_message_type(SCHEMA).expect("it is right"));
    let notes = vec![
        KeyValue::new("ARROW:schema".into(), "of other columns".to_owned()),
        KeyValue::new("made by".into(), "a test".to_owned()),
    ];
    let properties =
        WriterProperties::builder().set_compression(Compression::SNAPPY).set_key_value_metadata(Some(notes));
    let file = File::create(path).expect("it can be written");
    let mut writer =
        SerializedFileWriter::new(file, schema, Arc::new(properties.build())).expect("it begins");
    let mut start = 0;
    for length in groups {
        let rows: Vec<i64> = (start..start + length).collect();
        start += length;
        let mut group = writer.next_row_group().expect("it begins");
        let mut index = 0;
        while let Some(mut column) = group.next_column().expect("it begins") {
            let levels = |is_there: &dyn Fn(i64) -> bool| -> Vec<i16> {
                rows.iter().map(|row| i16::from(is_there(*row))).collect()
            };
            match (index, column.untyped()) {
                (0, ColumnWriter::Int64ColumnWriter(writer)) => writer.write_batch(&rows, None, None),
                (1, ColumnWriter::DoubleColumnWriter(writer)) => {
                    let values: Vec<f64> = rows.iter().filter_map(|row| x(*row)).collect();
                    writer.write_batch(&values, Some(&levels(&|row| x(row).is_some())), None)
                }
                (2, ColumnWriter::Int32ColumnWriter(writer)) => {
                    let values: Vec<i32> = rows.iter().map(|row| count(*row)).collect();
                    writer.write_batch(&values, Some(&levels(&|_| true)), None)
                }
                (3, ColumnWriter::BoolColumnWriter(writer)) => {
                    let values: Vec<bool> = rows.iter().map(|row| row % 3 == 0).collect();
                    writer.write_batch(&values, None, None)
                }
                (4, ColumnWriter::Int64ColumnWriter(writer)) => {
                    let values: Vec<i64> = rows.iter().filter_map(|row| price(*row)).collect();
                    writer.write_batch(&values, Some(&levels(&|row| price(row).is_some())), None)
                }
                (5, ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
                    let value = |row: &i64| {
                        let bytes = (i128::from(*row) * -10_000_000_000_000_001).to_be_bytes();
                        FixedLenByteArray::from(bytes[7..].to_vec())
                    };
                    let values: Vec<_> = rows.iter().map(value).collect();
                    writer.write_batch(&values, None, None)
                }
                (6, ColumnWriter::ByteArrayColumnWriter(writer)) => {
                    let named: Vec<&i64> = rows.iter().filter(|row| *row % 4 != 1).collect();
                    let values: Vec<ByteArray> =
                        named.iter().map(|row| format!("no, \"{row}\"").as_str().into()).collect();
                    writer.write_batch(&values, Some(&levels(&|row| row % 4 != 1)), None)
                }
                (7, ColumnWriter::Int32ColumnWriter(writer)) => {
                    let values: Vec<i32> = rows.iter().map(|row| 20_000 + *row as i32).collect();
                    writer.write_batch(&values, None, None)
                }
                (8, ColumnWriter::FloatColumnWriter(writer)) => {
                    let values: Vec<f32> = rows.iter().map(|row| *row as f32 / 10.0).collect();
                    writer.write_batch(&values, None, None)
                }
                (9, ColumnWriter::ByteArrayColumnWriter(writer)) => {
                    // Every second list has two elements, the others are missing.
                    let (mut values, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
                    for row in &rows {
                        if row % 2 == 0 {
                            values.extend([ByteArray::from("a"), ByteArray::from("b")]);
                            definition.extend([3, 3]);
                            repetition.extend([0, 1]);
                        } else {
                            definition.push(0);
                            repetition.push(0);
                        }
                    }
                    writer.write_batch(&values, Some(&definition), Some(&repetition))
                }
                _ => panic!("column {index}"),
            }
            .expect("it can be written");
            column.close().expect("it can be written");
            index += 1;
        }
        group.close().expect("it can be written");
    }
    writer.close().expect("it can be written");
}

/// Returns the rows of a table, and how many each row group has.
fn read_table(path: &Path) -> (Vec<Row>, Vec<i64>) {
    let reader = SerializedFileReader::new(File::open(path).expect("it is there")).expect("it is Parquet");
    let groups = reader.metadata().row_groups().iter().map(RowGroupMetaData::num_rows).collect();
    let rows = reader.get_row_iter(None).expect("it has rows").map(|row| row.expect("it can be read"));
    (rows.collect(), groups)
}

/// Returns the last value of a row.
fn result(row: &Row) -> Option<f64> {
    match row.get_column_iter().last().expect("it has columns").1 {
        Field::Double(value) => Some(*value),
        Field::Null => None,
        other => panic!("{other:?} is no result"),
    }
}

fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    finish(kal().arg("map").args(arguments).current_dir(folder.path()))
}

#[test]
fn a_file_that_cannot_be_written_is_named_with_the_reason() {
    let folder = Folder::new("parquet-full");
    write_table(&folder.path().join("in.parquet"), &[20_000]);
    for more in ["", "--alone"] {
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec '{}' map 'sin(id)' in.parquet --out out.parquet {more}",
            env!("CARGO_BIN_EXE_kal")
        );
        let ran = finish(Command::new("sh").args(["-c", &script]).current_dir(folder.path()));
        let told = "error: cannot write out.parquet: File too large (os error 27)\n";
        assert_eq!((ran.err(), ran.code), (told, Some(1)), "{more}");
    }
}

#[test]
fn a_compressed_table_is_read_as_it_is() {
    let folder = Folder::new("parquet-gzip");
    write_table(&folder.path().join("in.parquet"), &[3, 5]);
    let plain = run(&folder, &["id * 2", "--alone", "in.parquet"]);
    assert_eq!(plain.out().lines().nth(8), Some("14"));
    let zipped = finish(Command::new("gzip").arg("in.parquet").current_dir(folder.path()));
    assert_eq!(zipped.code, Some(0));
    assert_eq!(run(&folder, &["id * 2", "--alone", "in.parquet.gz"]), plain);
}

#[test]
fn a_table_keeps_its_columns_and_gets_results() {
    let folder = Folder::new("parquet");
    let (input, output) = (folder.path().join("in.parquet"), folder.path().join("out.parquet"));
    let groups = [3, 70_000, 5];
    write_table(&input, &groups);
    let (before, _) = read_table(&input);
    for threads in ["1", "3"] {
        let formula = "x * count + ok * 1000 + price + id + wide + single";
        let ran = run(
            &folder,
            &[formula, "--name", "r", "--in", "in.parquet", "--out", "out.parquet", "--threads", threads],
        );
        assert_eq!((ran.err(), ran.out(), ran.code), ("", "", Some(0)));
        let (rows, kept) = read_table(&output);
        assert_eq!((rows.len(), kept), (70_008, groups.to_vec()));
        for (number, (row, before)) in (0_i64..).zip(rows.iter().zip(&before)) {
            let fields: Vec<_> = row.get_column_iter().collect();
            let expected: Vec<_> = before.get_column_iter().collect();
            assert_eq!(fields[..10], expected[..], "row {number}");
            assert_eq!(fields[10].0, "r");
            let ok = if number % 3 == 0 { 1000.0 } else { 0.0 };
            // The decimals are the doubles nearest to them.
            let wide: f64 = format!("{}e-1", i128::from(number) * -10_000_000_000_000_001).parse().unwrap();
            let value = x(number).zip(price(number)).map(|(x, price)| {
                x * f64::from(count(number))
                    + ok
                    + price as f64 / 100.0
                    + number as f64
                    + wide
                    + f64::from(number as f32 / 10.0)
            });
            assert_eq!(result(row).map(f64::to_bits), value.map(f64::to_bits), "row {number}");
        }
    }
    let reader = SerializedFileReader::new(File::open(&output).expect("it is there")).expect("it is Parquet");
    let notes = reader.metadata().file_metadata().key_value_metadata().expect("it has some");
    assert_eq!(notes.iter().map(|note| note.key.as_str()).collect::<Vec<_>>(), ["made by"]);

    // It may replace the table that is read, or have the results alone.
    let ran = run(&folder, &["r / 2", "--name", "half", "--in", "out.parquet", "--out", "out.parquet"]);
    assert_eq!((ran.err(), ran.code), ("", Some(0)));
    let (rows, _) = read_table(&output);
    assert_eq!((rows.len(), rows[0].len()), (70_008, 12));
    assert_eq!(result(&rows[0]).map(|value| value * 2.0), Some(-3.0 * 0.0 + 1000.0 - 10.0));
    let ran = run(&folder, &["id", "--alone", "--in", "in.parquet", "--out", "alone.PARQUET"]);
    assert_eq!((ran.err(), ran.code), ("", Some(0)));
    let (rows, _) = read_table(&folder.path().join("alone.PARQUET"));
    assert_eq!((rows.len(), rows[0].len(), result(&rows[70_007])), (70_008, 1, Some(70_007.0)));
}

#[test]
fn a_table_becomes_csv_and_csv_becomes_results() {
    let folder = Folder::new("parquet-csv");
    write_table(&folder.path().join("in.parquet"), &[2, 0, 3]);
    let ran = run(&folder, &["price * 2", "--name", "double", "--in", "in.parquet"]);
    assert_eq!(ran.err(), "");
    assert_eq!(
        ran.out().lines().collect::<Vec<_>>(),
        [
            "id,x,count,ok,price,wide,name,day,single,tags,double",
            "0,-3,0,true,-10.00,0.0,\"no, \"\"0\"\"\",2024-10-04,0,\"[\"\"a\"\", \"\"b\"\"]\",-20",
            "1,-2.875,1,false,-9.69,-1000000000000000.1,,2024-10-05,0.1,,-19.38",
            "2,,2,false,-9.38,-2000000000000000.2,\"no, \"\"2\"\"\",2024-10-06,0.2,\"[\"\"a\"\", \"\"b\"\"]\",-18.76",
            "3,-2.625,3,true,,-3000000000000000.3,\"no, \"\"3\"\"\",2024-10-07,0.3,,",
            "4,-2.5,4,false,-8.76,-4000000000000000.4,\"no, \"\"4\"\"\",2024-10-08,0.4,\"[\"\"a\"\", \"\"b\"\"]\",-17.52",
        ]
    );
    std::fs::write(folder.path().join("t.csv"), "a,b\n1,2\n,3\n4,5\n").expect("it can be written");
    let ran = run(&folder, &["a + b", "--alone", "--in", "t.csv", "--out", "t.parquet"]);
    assert_eq!((ran.err(), ran.code), ("", Some(0)));
    let (rows, _) = read_table(&folder.path().join("t.parquet"));
    assert_eq!(rows.iter().map(result).collect::<Vec<_>>(), [Some(3.0), None, Some(9.0)]);
    let ran = run(&folder, &["a + b", "--in", "t.csv", "--out", "u.parquet"]);
    assert_eq!(
        (ran.err(), ran.code),
        (
            "error: u.parquet: the columns of a CSV table have no types; with --alone, the results are written\n",
            Some(1)
        )
    );
    assert!(!folder.path().join("u.parquet").exists());
}

/// Writes a table of one row with these columns, each with what writes its value.
fn write_row(path: &Path, schema: &str, write: &dyn Fn(usize, &mut ColumnWriter<'_>)) {
    let schema = Arc::new(parse_message_type(schema).expect("it is right"));
    let file = File::create(path).expect("it can be written");
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).expect("it begins");
    let (mut group, mut index) = (writer.next_row_group().expect("it begins"), 0);
    while let Some(mut column) = group.next_column().expect("it begins") {
        write(index, column.untyped());
        column.close().expect("it can be written");
        index += 1;
    }
    group.close().expect("it can be written");
    writer.close().expect("it can be written");
}

#[test]
fn dates_intervals_and_bytes_become_text_whatever_they_are() {
    let folder = Folder::new("parquet-texts");
    let schema = "message t {
        REQUIRED DOUBLE x;
        REQUIRED INT32 day (DATE);
        REQUIRED INT64 nanos (TIMESTAMP(NANOS,false));
        REQUIRED INT64 utc (TIMESTAMP(MICROS,true));
        REQUIRED INT64 late (TIMESTAMP(MILLIS,false));
        REQUIRED INT32 time (TIME(MILLIS,false));
        REQUIRED FIXED_LEN_BYTE_ARRAY(12) span (INTERVAL);
        REQUIRED FIXED_LEN_BYTE_ARRAY(16) id (UUID);
        REQUIRED BYTE_ARRAY raw;
        REQUIRED group days (LIST) { REPEATED group list { REQUIRED INT32 element (DATE); } }
    }";
    write_row(&folder.path().join("in.parquet"), schema, &|index, column| {
        let written = match (index, column) {
            (0, ColumnWriter::DoubleColumnWriter(writer)) => writer.write_batch(&[2.0], None, None),
            (1 | 5, ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(&[if index == 1 { i32::MAX } else { 3_723_004 }], None, None)
            }
            (2..=4, ColumnWriter::Int64ColumnWriter(writer)) => {
                let values = [1_609_459_200_123_456_789, 1_609_459_200_000_000, i64::MAX];
                writer.write_batch(&values[index - 2..=index - 2], None, None)
            }
            (6, ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
                let span: Vec<u8> = [14_u32, 3, 0].iter().flat_map(|part| part.to_le_bytes()).collect();
                writer.write_batch(&[FixedLenByteArray::from(span)], None, None)
            }
            (7, ColumnWriter::FixedLenByteArrayColumnWriter(writer)) => {
                writer.write_batch(&[FixedLenByteArray::from((0..16).collect::<Vec<u8>>())], None, None)
            }
            (8, ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(&[ByteArray::from(b"a,\xff".to_vec())], None, None)
            }
            (9, ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(&[0, i32::MIN], Some(&[1, 1]), Some(&[0, 1]))
            }
            _ => panic!("column {index}"),
        };
        written.expect("it can be written");
    });
    let ran = run(&folder, &["x + 1", "--name", "r", "--in", "in.parquet"]);
    let expected = "2,5881580-07-11,2021-01-01 00:00:00.123456789,2021-01-01 00:00:00+00:00,\
                    292278994-08-17 07:12:55.807,01:02:03.004,14 months 3 days,\
                    00010203-0405-0607-0809-0a0b0c0d0e0f,\"a,\\xff\",\"[1970-01-01, -5877641-06-23]\",3";
    assert_eq!((ran.err(), ran.out().lines().nth(1)), ("", Some(expected)));
    // In a list, the crate that reads them has no value for intervals.
    let schema = "message t {
        REQUIRED DOUBLE x;
        REQUIRED group spans (LIST) { REPEATED group list { REQUIRED FIXED_LEN_BYTE_ARRAY(12) element (INTERVAL); } }
    }";
    write_row(&folder.path().join("in.parquet"), schema, &|_, column| {
        let written = match column {
            ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(&[2.0], None, None),
            ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
                writer.write_batch(&[FixedLenByteArray::from(vec![0; 12])], Some(&[1]), Some(&[0]))
            }
            _ => panic!("another column"),
        };
        written.expect("it can be written");
    });
    let ran = run(&folder, &["x + 1", "--name", "r", "--in", "in.parquet"]);
    let error = "error: in.parquet: the column `spans` holds intervals in lists or structures, which cannot be written as text\n";
    assert_eq!((ran.err(), ran.code), (error, Some(1)));
    assert_eq!(run(&folder, &["x + 1", "--alone", "--in", "in.parquet"]).out(), "x + 1\n3\n");
}

#[test]
fn what_cannot_be_computed_is_refused_and_the_old_file_stays() {
    let folder = Folder::new("parquet-errors");
    write_table(&folder.path().join("in.parquet"), &[40_000, 40_000]);
    let said = |arguments: &[&str]| {
        let ran = run(&folder, &[arguments, &["--in", "in.parquet", "--out", "out.parquet"]].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.err().to_owned()
    };
    let holds = |column: &str, what: &str| {
        let expected =
            format!("error: in.parquet: the column `{column}` holds {what}, which are not numbers\n");
        assert_eq!(said(&[column, "--name", "r"]), expected);
    };
    holds("name", "texts");
    holds("day", "dates or times");
    holds("tags", "lists or structures");
    std::fs::write(folder.path().join("out.parquet"), "old").expect("it can be written");
    let failing = ["-e", "def f(id) if id < 70000 then id else g(id)", "f(id)", "--name", "r"];
    for threads in ["1", "3"] {
        let told = said(&[&failing[..], &["--threads", threads]].concat());
        assert!(told.ends_with("note: in.parquet, row 70001: the row that failed: id = 70000\n"), "{told}");
        assert_eq!(std::fs::read(folder.path().join("out.parquet")).expect("it is there"), b"old");
    }
    let arguments =
        [&failing[..], &["--on-error", "empty", "--in", "in.parquet", "--out", "out.parquet"]].concat();
    let ran = run(&folder, &arguments);
    assert_eq!(
        (ran.err(), ran.code),
        ("note: results are empty: 10000 rows in which the function failed\n", Some(0))
    );
    let (rows, _) = read_table(&folder.path().join("out.parquet"));
    assert_eq!((result(&rows[69_999]), result(&rows[70_000])), (Some(69_999.0), None));

    // Damaged files, and pipes.
    let bytes = std::fs::read(folder.path().join("in.parquet")).expect("it is there");
    for (name, bytes) in [("short.parquet", &bytes[..bytes.len() / 2]), ("few.parquet", &b"PAR1"[..])] {
        std::fs::write(folder.path().join(name), bytes).expect("it can be written");
        let ran = run(&folder, &["id", "--alone", "--in", name]);
        assert_eq!(ran.code, Some(1));
        let told = format!("error: {name}: this Parquet file cannot be read: ");
        assert!(ran.err().starts_with(&told) && ran.err().lines().count() == 1, "{}", ran.err());
    }
    for at in (8..bytes.len() - 8).step_by(bytes.len() / 60) {
        let mut damaged = bytes.clone();
        damaged[at..at + 8].fill(0xa5);
        std::fs::write(folder.path().join("damaged.parquet"), damaged).expect("it can be written");
        let ran = run(&folder, &["id + x + price", "--alone", "--in", "damaged.parquet", "--out", "d.csv"]);
        assert!(matches!(ran.code, Some(0 | 1)), "byte {at}: {ran:?}");
    }
    // A pipe is copied to a file first.
    let piped = |bytes| crate::binary::feed(kal().args(["map", "id + x", "--alone"]), bytes);
    let ran = run(&folder, &["id + x", "--alone", "--in", "in.parquet"]);
    assert_eq!((piped(&bytes).out(), piped(&bytes).code), (ran.out(), Some(0)));
    let ran = piped(&bytes[..4096]);
    let told = "error: standard input: this Parquet file cannot be read: ";
    assert!(ran.err().starts_with(told) && ran.code == Some(1), "{}", ran.err());
}

//! Rows are the same wherever their columns lie in memory, however many there are, and whichever
//! parameters are the same in all of them.

use crate::choices::Random;
use crate::columns::{context, kernels};
use crate::rows::bits;
use kal::{Column, Error, Failing, Run, Validity};

/// Results of large columns are written past the caches, from the first row on whose result is at a
/// multiple of 64 bytes.
#[test]
fn large_columns_give_the_bits_of_small_ones_wherever_they_are() {
    const ROWS: usize = 1_500_011;
    let text = "def f(a x) if a > x then a * x - 1 else (a - a) / (x - x) * a";
    let mut random = Random::new(9);
    let special = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff8_0000_dead_beef), f64::INFINITY, -0.0];
    let values: Vec<f64> = (0..50).map(|n| f64::from(n) - 25.5).chain(special).collect();
    let mut column = || -> Vec<f64> { (0..ROWS).map(|_| random.pick(&values)).collect() };
    // NaNs as well.
    let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|value| value.to_bits()).collect() };
    let (a, x) = (column(), column());
    for (name, kernel) in kernels(text, "f") {
        let mut expected = vec![0.0; ROWS];
        for ((a, x), some) in a.chunks(999).zip(x.chunks(999)).zip(expected.chunks_mut(999)) {
            let inputs = [Column::Values(a), Column::Values(x)];
            kernel.apply(&inputs, some, &mut Run::new()).expect("no row fails");
        }
        let expected = bits(&expected);
        for (offset, threads) in [(0, 1), (1, 3), (2, 1), (5, 3), (7, 1)] {
            let mut memory = vec![7.0; ROWS + 16];
            let mut run = Run::new();
            run.threads = threads;
            let output = &mut memory[offset..offset + ROWS];
            kernel.apply(&[Column::Values(&a), Column::Values(&x)], output, &mut run).expect("no row fails");
            assert!(bits(output) == expected, "{name}, {offset}, {threads} threads");
            let mut around = memory[..offset].iter().chain(&memory[offset + ROWS..]);
            assert!(around.all(|value| *value == 7.0), "{name}, {offset}");
        }
    }
}

#[test]
fn rows_are_the_same_wherever_their_output_begins_and_nothing_else_is_written() {
    const LARGEST: usize = 1100;
    // Outputs of all but the last are aligned.
    let definitions = "var rate = 0.5
        def line(a x b) a * x + b
        def share(a x b) if a < x then b * rate else -b
        def same(a x b) 7
        def long(a x b) exp(a) + x / b";
    let columns: Vec<Vec<f64>> = (1..=3)
        .map(|column| (0..LARGEST).map(|row| f64::from(row as u32 * column % 97) / 8.0).collect())
        .collect();
    for function in ["line", "share", "same", "long"] {
        let made = kernels(definitions, function);
        for count in [1, 2, 7, 15, 16, 17, 31, 33, 64, 127, 128, 129, 255, 256, 257, 511, 1000, 1024] {
            let inputs: Vec<Column<'_>> =
                columns.iter().map(|column| Column::Values(&column[count % 5..][..count])).collect();
            let mut wanted: Option<Vec<u64>> = None;
            for (name, kernel) in &made {
                for before in 0..9 {
                    let mut memory = vec![-1.5; LARGEST];
                    let output = &mut memory[before..][..count];
                    kernel.apply(&inputs, output, &mut Run::new()).expect("it ends");
                    let computed = bits(output);
                    let rest = memory[..before].iter().chain(&memory[before + count..]);
                    let what = format!("{function}, {name}, {count} rows from {before} on");
                    assert!(rest.clone().all(|value| *value == -1.5), "{what}");
                    assert!(*wanted.get_or_insert_with(|| computed.clone()) == computed, "{what}");
                }
            }
        }
    }
}

#[test]
fn any_parameters_may_be_the_same_in_every_row() {
    let mut context = context("var unit = 3 def sum(a b c d e) a + 2 * b + 4 * c + 8 * d + 16 * e + unit");
    let kernel = context.kernel("sum").expect("it is defined");
    let numbers: Vec<f64> = (0..40).map(f64::from).collect();
    // More sets than there are variants, each when it is first met and later.
    for _ in 0..2 {
        for set in 0..32_usize {
            let column = |parameter: usize| match set >> parameter & 1 {
                1 => Column::Every(5.0),
                _ => Column::Values(&numbers),
            };
            let inputs: Vec<Column<'_>> = (0..5).map(column).collect();
            let mut output = vec![0.0; numbers.len()];
            kernel.apply(&inputs, &mut output, &mut Run::new()).expect("it ends");
            for (row, value) in output.iter().enumerate() {
                let given = |parameter: usize| if set >> parameter & 1 == 1 { 5.0 } else { row as f64 };
                let sum: f64 = (0..5).map(|parameter| given(parameter) * f64::from(1 << parameter)).sum();
                assert_eq!(*value, sum + 3.0, "set {set:b}, row {row}");
            }
        }
    }
}

#[test]
fn bitmaps_without_a_bit_for_each_row_are_refused_at_each_run() {
    let mut context = context("");
    let kernel = context.formula_kernel("x + 1", &["x"]).expect("it is right");
    let numbers = [1.0; 100];
    for is_compiled in [false, true] {
        let mut marks = [0; 12];
        let mut run = Run::new();
        run.failing = Failing::Mark(&mut marks);
        let refused = |run: &mut Run<'_>| {
            let error =
                kernel.apply(&[Column::Values(&numbers)], &mut [0.0; 100], run).expect_err("it is short");
            assert!(
                matches!(error.error, Error::BitmapLength { bits: 96, wanted: 100 }),
                "{error}, compiled: {is_compiled}"
            );
        };
        refused(&mut run);
        let mut run = Run::new();
        run.valid = Some(Validity { bitmap: &[0xff; 13], offset: 8 });
        refused(&mut run);
        kernel.apply(&[Column::Values(&numbers)], &mut [0.0; 100], &mut Run::new()).expect("it ends");
    }
}

//! Values of a column in Parquet.

use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result as ParquetResult};

/// Reads the next values of a column, which as many rows have; returns with them, if some may be
/// missing, for each row whether it has one: a number that is not 0.
pub(super) fn values_of<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    count: usize,
    is_optional: bool,
) -> ParquetResult<(Vec<T::T>, Vec<i16>)> {
    let (mut values, mut levels, mut read) = (Vec::new(), Vec::new(), 0);
    while read < count {
        let levels = is_optional.then_some(&mut levels);
        let (records, _, _) = reader.read_records(count - read, levels, None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::EOF("rows are missing".into()));
        }
        read += records;
    }
    Ok((values, levels))
}

/// Returns a floating-point number of 16 bits as a double.
pub(super) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_read() {
        let cases =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (1, 2_f64.powi(-24)), (0x7c00, f64::INFINITY)];
        for (bits, expected) in cases {
            assert_eq!(half(bits), expected);
        }
        assert!(half(0x7e00).is_nan());
    }
}

//! Kernels over arrays of Arrow, by its C data interface.
//!
//! <https://arrow.apache.org/docs/format/CDataInterface.html> describes the two structures.
//! Arrays of doubles are used where they are; other numbers are converted.

use crate::error::KalError;
use crate::guard::succeeds;
use crate::kernel::KalKernel;
use crate::raw;
use crate::run::{KAL_FAILING_MARK, KalRun, RunSettings};
use kal::{Column, DefaultEnvironment, Validity};
use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

/// The type of an array.
#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

/// The values of an array.
#[repr(C)]
pub struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

/// The flag of a type whose values may be null.
const NULLABLE: i64 = 2;

/// Computes a kernel in every row of `count` Arrow arrays of `rows` rows, one for each parameter,
/// into a new array of doubles, whose `release` frees it. Where an argument is null, so is the
/// result, and nothing is computed; a row that fails is null as well with `KAL_FAILING_MARK`.
///
/// The arrays and their types stay the caller's, who releases them. They hold doubles, which are
/// not copied, or floats, integers or truth values, which are converted to the nearest double.
/// `*output_type` becomes the type of the output; it may be NULL. After an error both are as they
/// were.
///
/// # Safety
/// There are that many arrays and types, which are as Arrow's C data interface describes them; the
/// places can be written, and the rest is as its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kal_apply_arrow(
    kernel: Option<&KalKernel>,
    arrays: *const *mut ArrowArray,
    types: *const *mut ArrowSchema,
    count: usize,
    rows: usize,
    output: *mut ArrowArray,
    output_type: *mut ArrowSchema,
    run: *const KalRun,
    error: *mut *mut KalError,
) -> bool {
    let apply = || {
        // Numbers are converted.
        let _environment = DefaultEnvironment::enter();
        let kernel = kernel.ok_or_else(|| KalError::of_null("kernel"))?.kernel();
        if output.is_null() {
            return Err(KalError::of_null("output"));
        }
        // SAFETY: as the caller says.
        let mut settings = unsafe { RunSettings::read(run, rows) }?;
        // SAFETY: as the caller says.
        let given = unsafe {
            raw::items(arrays, count, "list of arrays")?
                .iter()
                .zip(raw::items(types, count, "list of types")?)
                .enumerate()
                .map(|(number, (array, schema))| ArrowColumn::read(*array, *schema, number, rows))
                .collect::<Result<Vec<_>, _>>()?
        };
        let columns: Vec<Column<'_>> = given.iter().map(|column| Column::Values(&column.values)).collect();
        let bitmaps: Vec<Validity<'_>> =
            given.iter().filter_map(|column| column.valid).chain(settings.valid).collect();
        let mut valid = common(&bitmaps, rows);
        settings.valid = valid.as_deref().map(|bitmap| Validity { bitmap, offset: 0 });
        let mut failed = vec![0; if settings.failing == KAL_FAILING_MARK { rows.div_ceil(8) } else { 0 }];
        let mut values = vec![0.0; rows];
        settings.run(&mut failed, |run| kernel.apply(&columns, &mut values, run).map_err(Box::from))?;
        if failed.iter().any(|byte| *byte != 0) {
            let valid = valid.get_or_insert_with(|| all(rows));
            valid.iter_mut().zip(&failed).for_each(|(valid, failed)| *valid &= !failed);
        }
        // SAFETY: the places can be written, as the caller says.
        unsafe { raw::write(output, export(values, valid)) };
        if !output_type.is_null() {
            // SAFETY: it is not null, so it can be written.
            unsafe { raw::write(output_type, double(kernel.name())) };
        }
        Ok(())
    };
    // SAFETY: as the caller says.
    unsafe { succeeds(error, apply) }
}

/// The values of an array, and which of them there are.
struct ArrowColumn<'a> {
    values: Cow<'a, [f64]>,
    valid: Option<Validity<'a>>,
}

/// A bitmap in which no row has a value.
const NOTHING: Validity<'static> = Validity { bitmap: &[], offset: 0 };

impl<'a> ArrowColumn<'a> {
    /// Returns the values of an array, converted where they are not doubles.
    ///
    /// # Errors
    /// If it has another length, or holds something else than numbers.
    ///
    /// # Safety
    /// Both are null, or as Arrow describes them, and do not change during `'a`.
    unsafe fn read(
        array: *const ArrowArray,
        schema: *const ArrowSchema,
        number: usize,
        rows: usize,
    ) -> Result<Self, Box<KalError>> {
        let wrong = |what: String| KalError::of_caller(format!("column {number} {what}"));
        // SAFETY: as the caller says.
        let (Some(array), Some(schema)) = (unsafe { (array.as_ref(), schema.as_ref()) }) else {
            return Err(wrong("is null".to_owned()));
        };
        if array.release.is_none() || schema.release.is_none() || schema.format.is_null() {
            return Err(wrong("was released".to_owned()));
        }
        if usize::try_from(array.length) != Ok(rows) {
            return Err(wrong(format!("has {} rows, not {rows}", array.length)));
        }
        let offset = usize::try_from(array.offset).map_err(|_| wrong("has a negative offset".to_owned()))?;
        if offset.saturating_add(rows) > isize::MAX as usize / size_of::<f64>() {
            return Err(wrong("has an offset beyond memory".to_owned()));
        }
        if !schema.dictionary.is_null() {
            return Err(wrong("is a dictionary, which has to be decoded".to_owned()));
        }
        // SAFETY: it is not null, so it is a text.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
        if *format == *"n" {
            return Ok(Self { values: Cow::Owned(vec![f64::NAN; rows]), valid: Some(NOTHING) });
        }
        let has_buffers = array.n_buffers == 2 && !array.buffers.is_null();
        // SAFETY: it has two buffers, as it says.
        let buffer = |index: usize| unsafe { *array.buffers.add(index) };
        // SAFETY: an array of numbers of this type has a bitmap, which may be null, and that many
        // values after its offset.
        let values = unsafe {
            match &*format {
                _ if !"gfcCsSiIlLb".contains(&*format) || format.len() != 1 => {
                    return Err(wrong(format!("has the Arrow type `{format}`, and should hold numbers")));
                }
                _ if !has_buffers => return Err(wrong("has not two buffers".to_owned())),
                "g" => doubles(buffer(1), offset, rows, number)?,
                "f" => converted(buffer(1), offset, rows, number, |value: f32| f64::from(value))?,
                "c" => converted(buffer(1), offset, rows, number, |value: i8| f64::from(value))?,
                "C" => converted(buffer(1), offset, rows, number, |value: u8| f64::from(value))?,
                "s" => converted(buffer(1), offset, rows, number, |value: i16| f64::from(value))?,
                "S" => converted(buffer(1), offset, rows, number, |value: u16| f64::from(value))?,
                "i" => converted(buffer(1), offset, rows, number, |value: i32| f64::from(value))?,
                "I" => converted(buffer(1), offset, rows, number, |value: u32| f64::from(value))?,
                "l" => converted(buffer(1), offset, rows, number, |value: i64| value as f64)?,
                "L" => converted(buffer(1), offset, rows, number, |value: u64| value as f64)?,
                _ => {
                    let truths = Validity { bitmap: bits(buffer(1), offset, rows, number)?, offset };
                    Cow::Owned((0..rows).map(|row| f64::from(u8::from(truths.is_valid(row)))).collect())
                }
            }
        };
        let valid = if array.null_count == 0 || buffer(0).is_null() {
            None
        } else {
            // SAFETY: it is not null, so it has a bit for each value.
            Some(Validity { bitmap: unsafe { bits(buffer(0), offset, rows, number) }?, offset })
        };
        Ok(Self { values, valid })
    }
}

/// Returns the bytes of a bitmap.
///
/// # Safety
/// It has a bit for each row after the offset.
unsafe fn bits<'a>(
    buffer: *const c_void,
    offset: usize,
    rows: usize,
    number: usize,
) -> Result<&'a [u8], Box<KalError>> {
    let bytes = if rows == 0 { 0 } else { offset.saturating_add(rows).div_ceil(8) };
    // SAFETY: as the caller says.
    unsafe { raw::items(buffer.cast(), bytes, &format!("buffer of column {number}")) }
}

/// Returns doubles where they are, or a copy if they are not aligned.
///
/// # Safety
/// The buffer has that many after the offset.
unsafe fn doubles<'a>(
    buffer: *const c_void,
    offset: usize,
    rows: usize,
    number: usize,
) -> Result<Cow<'a, [f64]>, Box<KalError>> {
    let first = buffer.cast::<f64>();
    if first.is_null() || !first.is_aligned() {
        // SAFETY: as the caller says.
        return unsafe { converted(buffer, offset, rows, number, |value: f64| value) };
    }
    // SAFETY: as the caller says.
    unsafe { raw::items(first.wrapping_add(offset), rows, &format!("buffer of column {number}")) }
        .map(Cow::Borrowed)
}

/// Returns other numbers as doubles.
///
/// # Safety
/// The buffer has that many numbers after the offset, aligned or not.
unsafe fn converted<'a, T: Copy>(
    buffer: *const c_void,
    offset: usize,
    rows: usize,
    number: usize,
    convert: impl Fn(T) -> f64,
) -> Result<Cow<'a, [f64]>, Box<KalError>> {
    if buffer.is_null() && rows != 0 {
        return Err(KalError::of_caller(format!("the buffer of column {number} is null")));
    }
    let first = buffer.cast::<T>().wrapping_add(offset);
    // SAFETY: as the caller says.
    let value = |row| convert(unsafe { first.wrapping_add(row).read_unaligned() });
    Ok(Cow::Owned((0..rows).map(value).collect()))
}

/// Returns the bitmap in which the rows are set that are in all of these, from bit 0 on; `None`
/// if there are none of them.
fn common(bitmaps: &[Validity<'_>], rows: usize) -> Option<Vec<u8>> {
    if bitmaps.is_empty() {
        return None;
    }
    let mut common = all(rows);
    for bitmap in bitmaps {
        for (at, byte) in common.iter_mut().enumerate() {
            *byte &= eight(*bitmap, at);
        }
    }
    Some(common)
}

/// Returns a bitmap in which all rows are set, and no bit after them.
fn all(rows: usize) -> Vec<u8> {
    let mut bitmap = vec![0xff; rows.div_ceil(8)];
    if let (Some(last), true) = (bitmap.last_mut(), !rows.is_multiple_of(8)) {
        *last = (1 << (rows % 8)) - 1;
    }
    bitmap
}

/// Returns the bits of eight rows, of which the bitmap need not have all.
fn eight(bitmap: Validity<'_>, at: usize) -> u8 {
    let first = bitmap.offset.saturating_add(at * 8);
    let byte = |index: usize| bitmap.bitmap.get(index).copied().unwrap_or(0);
    let pair = u16::from_le_bytes([byte(first / 8), byte(first / 8 + 1)]);
    (pair >> (first % 8)) as u8
}

/// What an array that was exported owns.
struct Exported {
    _values: Vec<f64>,
    _valid: Option<Vec<u8>>,
    buffers: [*const c_void; 2],
}

/// Returns an array of doubles.
fn export(values: Vec<f64>, valid: Option<Vec<u8>>) -> ArrowArray {
    let (length, ones) = (values.len(), valid.iter().flatten().map(|byte| u64::from(byte.count_ones())));
    let null_count = if valid.is_some() { length as i64 - ones.sum::<u64>() as i64 } else { 0 };
    let bitmap = valid.as_ref().map_or(ptr::null(), |valid| valid.as_ptr().cast());
    let buffers = [bitmap, values.as_ptr().cast()];
    let mut owned = Box::new(Exported { _values: values, _valid: valid, buffers });
    ArrowArray {
        length: length as i64,
        null_count,
        offset: 0,
        n_buffers: 2,
        n_children: 0,
        buffers: owned.buffers.as_mut_ptr(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(owned).cast(),
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    // SAFETY: Arrow's consumers call it with an array that `export` has made, once: it is marked
    // as released.
    unsafe {
        (*array).release = None;
        drop(Box::from_raw((*array).private_data.cast::<Exported>()));
    }
}

/// Returns the type of an array of doubles that may be null.
fn double(name: &str) -> ArrowSchema {
    let name = raw::c_text(name).into_raw();
    ArrowSchema {
        format: c"g".as_ptr(),
        name,
        metadata: ptr::null(),
        flags: NULLABLE,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private_data: name.cast(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    // SAFETY: as of `release_array`.
    unsafe {
        (*schema).release = None;
        drop(CString::from_raw((*schema).private_data.cast()));
    }
}

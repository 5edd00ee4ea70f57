//! Lanes that get other rows: what code over columns calls when some of its lanes have left a loop
//! and others have not.
#![allow(unsafe_code)]

/// The symbol of [`refill`].
pub const REFILL: &str = "kal$refill";

/// What the code keeps of its lanes: its frame has these fields, in this order, of eight bytes each.
#[repr(C)]
pub struct RefilledLanes {
    /// The address of the column of each parameter.
    columns: *const *const f64,
    /// The parameters without a column, by bit.
    every: u64,
    /// How many parameters there are.
    parameters: u64,
    output: *mut f64,
    /// How many rows all columns have.
    number: u64,
    /// How many lanes there are: at most 64.
    lanes: u64,
    /// The arguments in all lanes, of the parameters that have columns, in turn.
    arguments: *mut f64,
    /// The row of each lane.
    rows: *mut u64,
    /// The value of each lane.
    results: *const f64,
    /// The row that is begun next.
    next: u64,
    /// What the code keeps for itself.
    #[allow(dead_code, reason = "nothing reads it here")]
    kept: *mut f64,
}

/// The places of these fields.
#[cfg(feature = "compiler")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefilledField {
    Columns,
    Every,
    Parameters,
    Output,
    Number,
    Lanes,
    Arguments,
    Rows,
    Results,
    Next,
    Kept,
}

/// The number of fields.
#[cfg(feature = "compiler")]
pub const FIELDS: u32 = RefilledField::Kept as u32 + 1;

/// Returns the address of the function of a symbol of this file.
pub(super) fn support(symbol: &str) -> Option<usize> {
    (symbol == REFILL).then_some(refill as *const () as usize)
}

/// What stands for the first row of lanes whose rows do not follow one another.
pub const APART: u64 = u64::MAX;

/// Stores the values of the lanes `complete`, by bit, as results of their rows, and gives the lanes that
/// are not `left` in a loop the next rows. Returns the lanes that have rows then; 0, and gives
/// none, if no lane is left and all of them can have successive rows. All lanes have successive
/// rows before, from `first` on, unless that is [`APART`].
///
/// If the code `is_stopped` otherwise than with 0, returns the lowest row of the lanes that are left.
///
/// # Safety
/// `lanes` points to what is described there: `lanes` rows and results, as many arguments of each parameter
/// that has a column, and `number` doubles at the output and in each column. No other code uses
/// any of it during the call, but for what reads the columns. The lanes `complete` have rows.
unsafe extern "C" fn refill(
    lanes: *mut RefilledLanes,
    complete: u64,
    left: u64,
    first: u64,
    is_stopped: u64,
) -> u64 {
    // SAFETY: by this function's contract.
    let lanes = unsafe { &mut *lanes };
    let count = lanes.lanes as usize;
    // SAFETY: as many, by the same contract.
    let rows = unsafe { std::slice::from_raw_parts_mut(lanes.rows, count) };
    // SAFETY: as above.
    let results = unsafe { std::slice::from_raw_parts(lanes.results, count) };
    if first != APART {
        rows.iter_mut().zip(first..).for_each(|(row, successive)| *row = successive);
    }
    for lane in lanes_of(complete) {
        // SAFETY: a lane that is complete has a row, for which the output has room.
        unsafe { *lanes.output.add(rows[lane] as usize) = results[lane] };
    }
    if is_stopped != 0 {
        return lanes_of(left).map(|lane| rows[lane]).min().unwrap_or(lanes.next);
    }
    let rest = lanes.number - lanes.next;
    if left == 0 && rest >= count as u64 {
        return 0;
    }
    let free = !left & (u64::MAX >> (u64::BITS as usize - count));
    let filled = u64::from(free.count_ones()).min(rest) as usize;
    let mut arguments = lanes.arguments;
    for index in 0..lanes.parameters as usize {
        if index < u64::BITS as usize && lanes.every >> index & 1 == 1 {
            continue;
        }
        // SAFETY: each parameter has an address there.
        let column = unsafe { *lanes.columns.add(index) };
        // SAFETY: the column has as many rows left, at least.
        let values = unsafe { std::slice::from_raw_parts(column.add(lanes.next as usize), filled) };
        // SAFETY: by the contract.
        let in_lanes = unsafe { std::slice::from_raw_parts_mut(arguments, count) };
        if first != APART {
            // SAFETY: the lanes have these rows, which the column has.
            in_lanes
                .copy_from_slice(unsafe { std::slice::from_raw_parts(column.add(first as usize), count) });
        }
        lanes_of(free).zip(values).for_each(|(lane, value)| in_lanes[lane] = *value);
        // SAFETY: the arguments of the next such parameter follow, or the end.
        arguments = unsafe { arguments.add(count) };
    }
    let mut active = left;
    for lane in lanes_of(free).take(filled) {
        rows[lane] = lanes.next;
        lanes.next += 1;
        active |= 1 << lane;
    }
    active
}

/// Returns the lanes whose bits are set, from the lowest on.
fn lanes_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = bits.trailing_zeros() as usize;
        let is_one = bits != 0;
        bits &= bits.wrapping_sub(1);
        is_one.then_some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes over two columns, between which there is a parameter that is the same in every row.
    struct Case {
        columns: [Vec<f64>; 2],
        output: Vec<f64>,
        arguments: Vec<f64>,
        rows: Vec<u64>,
        results: Vec<f64>,
        next: u64,
    }

    impl Case {
        fn refill(&mut self, complete: u64, left: u64, first: u64, is_stopped: u64) -> u64 {
            let columns = [self.columns[0].as_ptr(), std::ptr::null(), self.columns[1].as_ptr()];
            let mut lanes = RefilledLanes {
                columns: columns.as_ptr(),
                every: 0b010,
                parameters: 3,
                output: self.output.as_mut_ptr(),
                number: self.output.len() as u64,
                lanes: self.rows.len() as u64,
                arguments: self.arguments.as_mut_ptr(),
                rows: self.rows.as_mut_ptr(),
                results: self.results.as_ptr(),
                next: self.next,
                kept: std::ptr::null_mut(),
            };
            // SAFETY: all is there.
            let active = unsafe { refill(&raw mut lanes, complete, left, first, is_stopped) };
            self.next = lanes.next;
            active
        }
    }

    fn case(rows: usize, next: u64) -> Case {
        let column = |from: f64| (0..rows).map(|row| from + row as f64).collect();
        Case {
            columns: [column(100.0), column(200.0)],
            output: vec![0.0; rows],
            arguments: (0..8).map(f64::from).collect(),
            rows: vec![0, 1, 2, 3],
            results: vec![10.0, 11.0, 12.0, 13.0],
            next,
        }
    }

    #[test]
    fn lanes_that_have_left_get_the_next_rows_and_the_others_stay() {
        let mut lanes = case(12, 4);
        assert_eq!(lanes.refill(0b1010, 0b0101, APART, 0), 0b1111);
        assert_eq!(lanes.output[..5], [0.0, 11.0, 0.0, 13.0, 0.0]);
        assert_eq!((&*lanes.rows, lanes.next), (&[0, 4, 2, 5][..], 6));
        assert_eq!(lanes.arguments, [0.0, 104.0, 2.0, 105.0, 4.0, 204.0, 6.0, 205.0]);
        let mut successive = case(12, 8);
        assert_eq!(successive.refill(0b0100, 0b1011, 4, 0), 0b1111);
        assert_eq!((successive.output[6], &*successive.rows), (12.0, &[4, 5, 8, 7][..]));
        assert_eq!(successive.arguments, [104.0, 105.0, 108.0, 107.0, 204.0, 205.0, 208.0, 207.0]);
    }

    #[test]
    fn at_the_end_some_lanes_have_no_rows() {
        let mut lanes = case(5, 4);
        assert_eq!(lanes.refill(0b1110, 0b0001, APART, 0), 0b0011);
        assert_eq!((&*lanes.rows, lanes.next), (&[0, 4, 2, 3][..], 5));
        assert_eq!(lanes.refill(0b0010, 0b0001, APART, 0), 0b0001);
        assert_eq!(lanes.refill(0b0001, 0, APART, 0), 0);
        assert_eq!(lanes.output, [10.0, 11.0, 12.0, 13.0, 11.0]);
    }

    #[test]
    fn where_all_lanes_have_left_they_get_rows_that_follow_one_another_if_there_are_enough() {
        assert_eq!(case(8, 4).refill(0b1111, 0, APART, 0), 0);
        let mut few = case(7, 4);
        assert_eq!(few.refill(0b1111, 0, APART, 0), 0b0111);
        assert_eq!(few.rows[..3], [4, 5, 6]);
    }

    #[test]
    fn of_a_run_that_is_stopped_the_lowest_row_that_is_not_complete_is_known() {
        let mut lanes = case(12, 4);
        lanes.rows = vec![7, 5, 6, 3];
        assert_eq!(lanes.refill(0b1000, 0b0111, APART, 1), 5);
        assert_eq!(lanes.output[3], 13.0);
    }
}

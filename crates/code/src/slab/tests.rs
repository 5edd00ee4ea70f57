//! Tests of code that is placed without a linker.

#![allow(unsafe_code)]

use super::*;

/// Calls a function that [`returns`] is.
fn call(address: Address) -> u32 {
    // SAFETY: the tests call this only with the address of a living function of this type.
    let function = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> u32>(address.as_ptr()) };
    function()
}

/// `mov eax, VALUE; ret`.
fn returns(value: u8) -> [u8; 6] {
    [0xb8, value, 0, 0, 0, 0xc3]
}

#[test]
fn placed_code_runs_until_it_is_dropped_and_its_memory_is_used_again() {
    let slab = Slab::new(&SlabOptions::default()).unwrap();
    let place = |value: u8| {
        let written = slab.place(6, 64, |_, bytes| {
            bytes.copy_from_slice(&returns(value));
            true
        });
        written.unwrap().unwrap()
    };
    let (first, second) = (place(3), place(5));
    assert_eq!((call(first.address()), call(second.address())), (3, 5));
    assert_eq!(slab.bytes(), 128);
    let address = first.address();
    drop(first);
    let third = place(7);
    assert_eq!((third.address(), call(third.address()), call(second.address())), (address, 7, 5));
    drop((second, third));
    assert_eq!(slab.bytes(), 0);
}

#[test]
fn what_is_not_written_or_does_not_fit_takes_no_memory() {
    let options = SlabOptions { limit: 1 << 20, ..SlabOptions::default() };
    let slab = Slab::new(&options).unwrap();
    assert!(slab.place(6, 1, |_, _| false).unwrap().is_none());
    let error = slab.place(2 << 20, 1, |_, _| true).err().unwrap().to_string();
    assert!(error.contains("the code memory is full"), "{error}");
    assert!(slab.place(6, 1 << 20, |_, _| true).is_err());
    assert_eq!(slab.bytes(), 0);
}

/// Places code of that size, whose last bytes return a value. Returns their address as well.
fn place_large(slab: &Slab, size: usize, value: u8) -> (PlacedCode, Address) {
    let written = slab.place(size, 64, |_, bytes| {
        bytes.fill(0xcc);
        bytes[size - 6..].copy_from_slice(&returns(value));
        true
    });
    let placed = written.unwrap().unwrap();
    let last = Address::new(placed.address().get() + size as u64 - 6);
    (placed, last)
}

#[test]
fn large_code_is_placed_in_private_memory_which_becomes_what_it_was() {
    let slab = Slab::new(&SlabOptions::default()).unwrap();
    let sizes = [(100 << 10), (200 << 10) + 5, (1 << 20) + 64, (3 << 20) + (300 << 10), 4 << 20];
    for (turn, size) in sizes.into_iter().enumerate() {
        let (code, last) = place_large(&slab, size, turn as u8);
        let (other, last_of_other) = place_large(&slab, size, 90);
        assert_eq!((call(last), call(last_of_other)), (turn as u32, 90));
        assert_eq!(slab.0.memory.ranges.lock().private.len(), if size < 128 << 10 { 0 } else { 2 });
        let address = code.address();
        drop(code);
        // The same memory, through the other view.
        let small: Vec<_> = (0..1000_u32).map(|number| place_large(&slab, 64, number as u8)).collect();
        assert!(small.iter().any(|(placed, _)| placed.address() == address));
        for (number, (_, last)) in small.iter().enumerate() {
            assert_eq!(call(*last), number as u32 % 256);
        }
        assert_eq!(call(last_of_other), 90);
        drop((small, other));
        assert_eq!((slab.bytes(), slab.0.memory.ranges.lock().private.len()), (0, 0));
    }
    let not_written = slab.place(1 << 20, 64, |_, _| false);
    assert!(not_written.unwrap().is_none());
    assert_eq!((slab.bytes(), slab.0.memory.ranges.lock().private.len()), (0, 0));
}

/// Returns a file that begins with zeros, and then has code whose last bytes return a value, and
/// the offset of that.
fn file_with_code(size: usize, value: u8) -> (CodeFile, u64) {
    use std::io::Write;
    let mut code = vec![0xcc; size];
    code[size - 6..].copy_from_slice(&returns(value));
    let mut file = std::fs::File::from(crate::views::create_file().unwrap());
    file.write_all(&[0; 8192]).unwrap();
    file.write_all(&code).unwrap();
    // SAFETY: nothing else has the file.
    (unsafe { CodeFile::new(file) }, 8192)
}

#[test]
fn code_of_a_file_is_mapped_or_read_and_may_be_filled_in() {
    let slab = Slab::new(&SlabOptions::default()).unwrap();
    for (part_size, size) in [(5000, 5000), (200_000, 200_000), (200_000, 300_005), (200_000, 3_000_000)] {
        let (file, offset) = file_with_code(part_size, 7);
        let part = file.part(offset, part_size).unwrap();
        let place = |change: Option<u8>| {
            let written = slab.place_part(&part, size, |_, bytes| {
                assert_eq!((bytes.len(), bytes[0], bytes[part_size - 5]), (size, 0xcc, 7));
                change.into_iter().for_each(|value| bytes[part_size - 5] = value);
                true
            });
            let placed = written.unwrap().unwrap();
            let last = Address::new(placed.address().get() + part_size as u64 - 6);
            (placed, last)
        };
        let (one, other) = (place(None), place(Some(9)));
        assert_eq!((call(one.1), call(other.1)), (7, 9), "each has its own");
        let is_private = usize::from(size >= 128 << 10);
        assert_eq!(slab.0.memory.ranges.lock().private.len(), 2 * is_private);
        drop((one, other));
        assert_eq!((slab.bytes(), slab.0.memory.ranges.lock().private.len()), (0, 0));
        assert!(slab.place_part(&part, part_size - 1, |_, _| true).unwrap().is_none(), "there are more");
        assert!(slab.place_part(&part, size, |_, _| false).unwrap().is_none());
        assert_eq!(slab.bytes(), 0);
    }
    let (file, offset) = file_with_code(5000, 7);
    assert!(file.part(offset, 5001).is_none() && file.part(offset + 1, 100).is_none());
    assert!(file.part(u64::MAX, 1).is_none() && file.part(offset, 0).is_none());
}

/// Run again in a process of its own, which cannot take it back.
#[test]
fn where_memory_cannot_be_made_executable_large_code_is_placed_as_other_code_is() {
    const INSIDE: &str = "KAL_CODE_TESTS_WITHOUT_EXEC_GAIN";
    const NAME: &str =
        "slab::tests::where_memory_cannot_be_made_executable_large_code_is_placed_as_other_code_is";
    if std::env::var_os(INSIDE).is_none() {
        let itself = std::env::current_exe().unwrap();
        let mut inside = std::process::Command::new(itself);
        let status = inside.args(["--exact", NAME]).env(INSIDE, "1").status().unwrap();
        assert!(status.success());
        return;
    }
    const SET_MDWE: i32 = 65;
    const REFUSE_EXEC_GAIN: libc::c_ulong = 1;
    let none: libc::c_ulong = 0;
    // SAFETY: it takes numbers only.
    let is_set = unsafe { libc::prctl(SET_MDWE, REFUSE_EXEC_GAIN, none, none, none) } == 0;
    let slab = Slab::new(&SlabOptions::default()).unwrap();
    for value in [1, 2] {
        let (_code, last) = place_large(&slab, 1 << 20, value);
        assert_eq!(call(last), value.into());
        let (file, offset) = file_with_code(200_000, value);
        let part = file.part(offset, 200_000).unwrap();
        let placed = slab.place_part(&part, 200_000, |_, _| true).unwrap().unwrap();
        assert_eq!(call(Address::new(placed.address().get() + 200_000 - 6)), value.into());
        drop(placed);
        // Linux before 6.3 has no such wish.
        assert_eq!(slab.0.memory.ranges.lock().private.len(), usize::from(!is_set));
    }
}

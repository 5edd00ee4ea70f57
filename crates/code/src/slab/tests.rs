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

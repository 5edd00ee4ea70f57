//! Forks: a child has its own copy of all code.

#![allow(unsafe_code)]

use kal_code::{Address, PlacedCode, Slab, SlabOptions};
use std::thread;

/// Places a function that returns a value: `mov eax, VALUE; ret`.
fn place(slab: &Slab, value: u8) -> PlacedCode {
    let write = |_, memory: &mut [u8]| {
        memory.copy_from_slice(&[0xb8, value, 0, 0, 0, 0xc3]);
        true
    };
    slab.place(6, 64, write).expect("there is room").expect("it was written")
}

fn call(address: Address) -> u32 {
    // SAFETY: this is called only with the address of a living function of this type.
    let function = unsafe { std::mem::transmute::<*const (), extern "C" fn() -> u32>(address.as_ptr()) };
    function()
}

/// Runs `work` in a child. Returns what it returns, which is less than 256.
fn in_child(work: impl FnOnce() -> u32) -> u32 {
    // SAFETY: the child only places and calls code, then ends without destructors.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        let value = work();
        // SAFETY: ends the process.
        unsafe { libc::_exit(value.cast_signed()) };
    }
    let mut status = 0;
    // SAFETY: waits for the child of above, and writes to a valid place.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFEXITED(status), "{status}");
    libc::WEXITSTATUS(status).cast_unsigned()
}

#[test]
fn children_of_threads_that_fork_at_once_have_copies_of_their_own() {
    let slabs: Vec<Slab> =
        (0..3).map(|_| Slab::new(&SlabOptions::default()).expect("there is memory")).collect();
    let placed: Vec<PlacedCode> = (1..).zip(&slabs).map(|(value, slab)| place(slab, value)).collect();
    let sum = || placed.iter().map(|placed| call(placed.address())).sum::<u32>();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (slabs, sum) = (&slabs, &sum);
            scope.spawn(move || {
                for round in 0..25 {
                    let (slab, value) = (&slabs[round % 3], (100 + thread) as u8);
                    let in_child = in_child(|| sum() + call(place(slab, value).address()));
                    assert_eq!((in_child, sum()), (6 + u32::from(value), 6));
                }
            });
        }
    });
    // What the children have placed is not in this process.
    assert!(slabs.iter().all(|slab| slab.bytes() == 64));
}

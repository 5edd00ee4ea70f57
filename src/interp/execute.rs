//! The instruction loop.
//!
//! It does only what every instruction does every time. Anything rare (linking
//! a callee, growing the stack, a closure of the host) ends the loop with a
//! [`Pause`]; the interpreter handles it and resumes.

// With NaN, `!(a < b)` is not `a >= b`; and programs compare exactly. A range of operations
// would be a comparison before the jump.
#![allow(clippy::neg_cmp_op_on_partial_ord, clippy::float_cmp, clippy::manual_range_patterns)]

use super::code::EntryPoint;
use crate::host::{self, NativeFunction, power};
use crate::tape::op::{LONGEST, Op, number};
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// The registers of the interpreter.
#[derive(Clone, Copy, Debug)]
pub(super) struct InterpState {
    /// The index of the next instruction.
    pub(super) at: usize,
    /// The slot where the current frame begins.
    pub(super) base: usize,
    pub(super) accumulator: f64,
}

/// Why the instruction loop has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pause {
    /// The outermost frame has returned.
    Left,
    /// The frame of a callee that is not linked has been set up.
    FirstCall,
    /// A call needs that number of stack slots, or the run is to stop: a
    /// safepoint poll. The call is executed again afterwards.
    Limit(usize),
    /// The fuel is used up.
    Fuel,
    /// A back-edge was taken and the run is to stop: a safepoint poll.
    Stop,
    /// The next instruction calls a closure of the host.
    Closure,
    /// The next instruction is a breakpoint.
    Break,
    /// One instruction has been executed, as requested.
    Once,
    /// The counter of the next instruction has expired.
    Hot,
    /// An operation has produced a NaN or an infinity, while that is watched
    /// for.
    Nonfinite(Operation),
}

/// An executed operation, and what it has overwritten.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Operation {
    pub(super) at: usize,
    /// The bits of the accumulator before it.
    pub(super) accumulator: u64,
    /// The old bits of the slot that it has stored its result in, if any.
    pub(super) stored_over: u64,
}

/// What instructions refer to by number.
pub(super) struct ExecutionTables<'a> {
    /// The instructions; only counters are written.
    pub(super) words: &'a mut [u32],
    pub(super) callees: &'a [EntryPoint],
    /// `None` for a closure.
    pub(super) hosts: &'a [Option<NativeFunction>],
    pub(super) variables: &'a [AtomicU64],
    pub(super) stack: &'a mut [f64],
    /// The remaining fuel: function entries and loop iterations, where counted.
    pub(super) fuel: &'a AtomicI64,
    /// The stack limit in slots; 0 makes the next safepoint poll pause.
    pub(super) limit: &'a AtomicUsize,
}

/// Returns whether a number is true: neither 0 nor NaN.
pub(super) fn truth(value: f64) -> bool {
    value != 0.0 && !value.is_nan()
}

/// Packs a frame's link: where its caller continues, and the caller's base.
pub(super) fn link(at: usize, base: usize) -> f64 {
    f64::from_bits((at as u64) << 32 | base as u64)
}

pub(super) fn unlink(link: f64) -> (usize, usize) {
    let bits = link.to_bits();
    ((bits >> 32) as usize, bits as u32 as usize)
}

/// Returns the double that has these bits. To the optimiser it is the result of an operation
/// on doubles, which keeps the accumulator in a register for doubles: it would be in one for
/// integers if bits were ever assigned to it.
fn double(bits: u64) -> f64 {
    let value = f64::from_bits(bits);
    value.copysign(value)
}

/// Returns the bits of a double; see [`double`].
fn bits(value: f64) -> u64 {
    value.copysign(value).to_bits()
}

/// Executes instructions until there is a reason to pause: with `ONCE`, after
/// one instruction; with `WATCH`, also after a result that is not finite.
pub(super) fn execute<const ONCE: bool, const WATCH: bool>(
    state: &mut InterpState,
    program: ExecutionTables<'_>,
) -> Pause {
    let ExecutionTables { words, callees, hosts, variables, stack, fuel, limit } = program;
    let InterpState { mut at, mut base, accumulator: mut a } = *state;
    // For `WATCH`: what an instruction has overwritten, and whether a loop
    // variable has overflowed.
    let (mut stored_over, mut has_overflowed) = (0.0, false);

    // The words from the present instruction on. All places of an instruction are within
    // them: one check for each instruction, not one for each word. It is a single comparison,
    // since the optimiser derives from it that there are as many words.
    let Some(last) = words.len().checked_sub(LONGEST) else { return Pause::Left };
    let mut code: &[u32; LONGEST];

    // A word of the instruction.
    macro_rules! word {
        ($place:expr) => {
            code[$place]
        };
    }
    // The operand in the first word.
    macro_rules! first {
        () => {
            (word!(0) >> 8) as usize
        };
    }
    macro_rules! index {
        ($place:expr) => {
            word!($place) as usize
        };
    }
    macro_rules! number {
        ($place:expr) => {
            double(u64::from(word!($place)) | u64::from(word!($place + 1)) << 32)
        };
    }
    macro_rules! slot {
        ($index:expr) => {
            stack[base + $index]
        };
    }
    macro_rules! next {
        ($op:ident) => {
            at += const { Op::$op.length() }
        };
    }
    macro_rules! jump {
        ($place:expr) => {
            at = at.wrapping_add_signed(word!($place).cast_signed() as isize)
        };
    }
    macro_rules! pause {
        ($pause:expr) => {{
            *state = InterpState { at, base, accumulator: a };
            return $pause;
        }};
    }
    macro_rules! give {
        ($op:ident, $value:expr) => {{
            a = $value;
            next!($op);
        }};
    }
    macro_rules! store {
        ($op:ident, $value:expr, $slot:expr) => {{
            a = $value;
            if WATCH {
                stored_over = slot!($slot);
            }
            slot!($slot) = a;
            next!($op);
        }};
    }
    macro_rules! branch {
        ($op:ident, $condition:expr, $place:expr) => {{
            if $condition {
                jump!($place);
            } else {
                next!($op);
            }
        }};
    }
    macro_rules! back {
        ($place:expr) => {{
            jump!($place);
            if limit.load(Ordering::Relaxed) == 0 {
                pause!(Pause::Stop);
            }
        }};
    }
    // Adds the step of a loop to its variable.
    macro_rules! advance {
        ($slot:expr, $step:expr) => {{
            let before = slot!($slot);
            let after = before + $step;
            slot!($slot) = after;
            if WATCH {
                has_overflowed = before.is_finite() && !after.is_finite();
            }
        }};
    }
    macro_rules! loop_while {
        ($op:ident, $condition:expr, $variable:expr) => {{
            if $condition {
                advance!(index!($variable), number!($variable + 1));
                back!($variable + 3);
            } else {
                next!($op);
            }
        }};
    }
    macro_rules! call {
        ($op:ident) => {{
            let frame = base + first!();
            let entry = callees[index!(1)];
            let end = frame + entry.frame as usize;
            if end > limit.load(Ordering::Relaxed) {
                pause!(Pause::Limit(end));
            }
            next!($op);
            stack[frame + entry.link as usize] = link(at, base);
            base = frame;
            at = entry.code as usize;
        }};
    }
    macro_rules! leave {
        ($value:expr) => {{
            a = $value;
            (at, base) = unlink(slot!(first!()));
        }};
    }
    macro_rules! number_of {
        ($condition:expr) => {
            f64::from(u8::from($condition))
        };
    }

    macro_rules! run {
        (
            arithmetic { $($sign:tt $as:ident $sa:ident $ak:ident $ka:ident $ss:ident $sk:ident $ks:ident
                $as_to:ident $sa_to:ident $ak_to:ident $ka_to:ident $ss_to:ident $sk_to:ident $ks_to:ident;)+ }
            comparisons { $($test:tt $vas:ident $vsa:ident $vak:ident $vka:ident $vss:ident $vsk:ident $vks:ident
                $ias:ident $isa:ident $iak:ident $ika:ident $iss:ident $isk:ident $iks:ident
                $uas:ident $usa:ident $uak:ident $uka:ident $uss:ident $usk:ident $uks:ident;)+ }
            loops { $($while:tt $lss:ident $lsk:ident $lks:ident;)+ }
            others { $($pattern:ident => $action:expr;)+ }
            unused { $($unused:literal)+ }
        ) => {
            loop {
                if at > last {
                    pause!(Pause::Left)
                }
                let Some(present) = words[at..].first_chunk() else { pause!(Pause::Left) };
                code = present;
                let before = (at, a, word!(0));
                match word!(0) as u8 {
                    $(
                        number::$as => give!($as, a $sign slot!(first!())),
                        number::$sa => give!($sa, slot!(first!()) $sign a),
                        number::$ak => give!($ak, a $sign number!(1)),
                        number::$ka => give!($ka, number!(1) $sign a),
                        number::$ss => give!($ss, slot!(first!()) $sign slot!(index!(1))),
                        number::$sk => give!($sk, slot!(first!()) $sign number!(1)),
                        number::$ks => give!($ks, number!(1) $sign slot!(first!())),
                        number::$as_to => store!($as_to, a $sign slot!(first!()), index!(1)),
                        number::$sa_to => store!($sa_to, slot!(first!()) $sign a, index!(1)),
                        number::$ak_to => store!($ak_to, a $sign number!(1), index!(3)),
                        number::$ka_to => store!($ka_to, number!(1) $sign a, index!(3)),
                        number::$ss_to => store!($ss_to, slot!(first!()) $sign slot!(index!(1)), index!(2)),
                        number::$sk_to => store!($sk_to, slot!(first!()) $sign number!(1), index!(3)),
                        number::$ks_to => store!($ks_to, number!(1) $sign slot!(first!()), index!(3)),
                    )+
                    $(
                        number::$vas => give!($vas, number_of!(a $test slot!(first!()))),
                        number::$vsa => give!($vsa, number_of!(slot!(first!()) $test a)),
                        number::$vak => give!($vak, number_of!(a $test number!(1))),
                        number::$vka => give!($vka, number_of!(number!(1) $test a)),
                        number::$vss => give!($vss, number_of!(slot!(first!()) $test slot!(index!(1)))),
                        number::$vsk => give!($vsk, number_of!(slot!(first!()) $test number!(1))),
                        number::$vks => give!($vks, number_of!(number!(1) $test slot!(first!()))),
                        number::$ias => branch!($ias, a $test slot!(first!()), 1),
                        number::$isa => branch!($isa, slot!(first!()) $test a, 1),
                        number::$iak => branch!($iak, a $test number!(1), 3),
                        number::$ika => branch!($ika, number!(1) $test a, 3),
                        number::$iss => branch!($iss, slot!(first!()) $test slot!(index!(1)), 2),
                        number::$isk => branch!($isk, slot!(first!()) $test number!(1), 3),
                        number::$iks => branch!($iks, number!(1) $test slot!(first!()), 3),
                        number::$uas => branch!($uas, !(a $test slot!(first!())), 1),
                        number::$usa => branch!($usa, !(slot!(first!()) $test a), 1),
                        number::$uak => branch!($uak, !(a $test number!(1)), 3),
                        number::$uka => branch!($uka, !(number!(1) $test a), 3),
                        number::$uss => branch!($uss, !(slot!(first!()) $test slot!(index!(1))), 2),
                        number::$usk => branch!($usk, !(slot!(first!()) $test number!(1)), 3),
                        number::$uks => branch!($uks, !(number!(1) $test slot!(first!())), 3),
                    )+
                    $(
                        number::$lss => loop_while!($lss, slot!(first!()) $while slot!(index!(1)), 2),
                        number::$lsk => loop_while!($lsk, slot!(first!()) $while number!(1), 3),
                        number::$lks => loop_while!($lks, number!(1) $while slot!(first!()), 3),
                    )+
                    $(number::$pattern => $action,)+
                    // Every number has its arm, so that none is compared with the last one.
                    $($unused)|+ => pause!(Pause::Left),
                }
                let computes = || Op::of(before.2).is_some_and(Op::computes);
                if WATCH && (std::mem::take(&mut has_overflowed) || (!a.is_finite() && computes())) {
                    pause!(Pause::Nonfinite(Operation {
                        at: before.0,
                        accumulator: bits(before.1),
                        stored_over: stored_over.to_bits(),
                    }));
                }
                if ONCE {
                    pause!(Pause::Once);
                }
            }
        };
    }

    run! {
        arithmetic {
            + AddAS AddSA AddAK AddKA AddSS AddSK AddKS
                AddASTo AddSATo AddAKTo AddKATo AddSSTo AddSKTo AddKSTo;
            - SubtractAS SubtractSA SubtractAK SubtractKA SubtractSS SubtractSK SubtractKS
                SubtractASTo SubtractSATo SubtractAKTo SubtractKATo SubtractSSTo SubtractSKTo SubtractKSTo;
            * MultiplyAS MultiplySA MultiplyAK MultiplyKA MultiplySS MultiplySK MultiplyKS
                MultiplyASTo MultiplySATo MultiplyAKTo MultiplyKATo MultiplySSTo MultiplySKTo MultiplyKSTo;
            / DivideAS DivideSA DivideAK DivideKA DivideSS DivideSK DivideKS
                DivideASTo DivideSATo DivideAKTo DivideKATo DivideSSTo DivideSKTo DivideKSTo;
        }
        comparisons {
            < LessAS LessSA LessAK LessKA LessSS LessSK LessKS
                IfLessAS IfLessSA IfLessAK IfLessKA IfLessSS IfLessSK IfLessKS
                UnlessLessAS UnlessLessSA UnlessLessAK UnlessLessKA UnlessLessSS UnlessLessSK UnlessLessKS;
            <= LessEqualAS LessEqualSA LessEqualAK LessEqualKA LessEqualSS LessEqualSK LessEqualKS
                IfLessEqualAS IfLessEqualSA IfLessEqualAK IfLessEqualKA
                IfLessEqualSS IfLessEqualSK IfLessEqualKS
                UnlessLessEqualAS UnlessLessEqualSA UnlessLessEqualAK UnlessLessEqualKA
                UnlessLessEqualSS UnlessLessEqualSK UnlessLessEqualKS;
            == EqualAS EqualSA EqualAK EqualKA EqualSS EqualSK EqualKS
                IfEqualAS IfEqualSA IfEqualAK IfEqualKA IfEqualSS IfEqualSK IfEqualKS
                UnlessEqualAS UnlessEqualSA UnlessEqualAK UnlessEqualKA UnlessEqualSS UnlessEqualSK UnlessEqualKS;
        }
        loops {
            < LoopLessSS LoopLessSK LoopLessKS;
            <= LoopLessEqualSS LoopLessEqualSK LoopLessEqualKS;
        }
        others {
            Leave => pause!(Pause::Left);
            FirstCall => pause!(Pause::FirstCall);
            Break => pause!(Pause::Break);

            Number => give!(Number, number!(1));
            Get => give!(Get, slot!(first!()));
            Set => {
                slot!(first!()) = a;
                next!(Set);
            };
            Put => {
                slot!(first!()) = number!(1);
                next!(Put);
            };
            Copy => {
                slot!(first!()) = slot!(index!(1));
                next!(Copy);
            };
            GetVariable => give!(GetVariable, double(variables[first!()].load(Ordering::Relaxed)));
            SetVariable => {
                variables[first!()].store(bits(a), Ordering::Relaxed);
                next!(SetVariable);
            };

            RemainderSA => give!(RemainderSA, slot!(first!()) % a);
            PowerSA => give!(PowerSA, power::pow(slot!(first!()), a));
            Square => give!(Square, a * a);
            Root => give!(Root, power::root(a));
            Negate => give!(Negate, -a);
            Not => give!(Not, number_of!(!truth(a)));
            Sqrt => give!(Sqrt, a.sqrt());
            Fabs => give!(Fabs, a.abs());
            Floor => give!(Floor, a.floor());
            Ceil => give!(Ceil, a.ceil());
            Trunc => give!(Trunc, a.trunc());
            CopysignSA => give!(CopysignSA, host::copysign(slot!(first!()), a));

            Jump => jump!(1);
            If => branch!(If, truth(a), 1);
            Unless => branch!(Unless, !truth(a), 1);
            NextS => {
                advance!(first!(), slot!(index!(1)));
                back!(2);
            };
            NextK => {
                advance!(first!(), number!(1));
                back!(3);
            };

            Call => call!(Call);
            CallA => {
                slot!(index!(2)) = a;
                call!(CallA);
            };
            CallS => {
                slot!(index!(2)) = slot!(index!(3));
                call!(CallS);
            };
            Host => {
                let frame = base + first!();
                a = match hosts[index!(1)] {
                    Some(NativeFunction::One(function)) => function(stack[frame]),
                    Some(NativeFunction::Two(function)) => function(stack[frame], stack[frame + 1]),
                    Some(NativeFunction::Three(function)) => {
                        function(stack[frame], stack[frame + 1], stack[frame + 2])
                    }
                    None => pause!(Pause::Closure),
                };
                next!(Host);
            };
            HostA => {
                a = match hosts[first!()] {
                    Some(NativeFunction::One(function)) => function(a),
                    Some(NativeFunction::Two(_) | NativeFunction::Three(_)) | None => pause!(Pause::Closure),
                };
                next!(HostA);
            };
            Burn => {
                let left = fuel.load(Ordering::Relaxed) - 1;
                fuel.store(left, Ordering::Relaxed);
                if left < 0 {
                    pause!(Pause::Fuel);
                }
                next!(Burn);
            };
            Count => {
                let left = index!(1).wrapping_sub(1) as u32;
                words[at + 1] = left;
                if left == 0 {
                    pause!(Pause::Hot);
                }
                next!(Count);
            };
            Return => leave!(a);
            ReturnS => leave!(slot!(index!(1)));
            ReturnK => leave!(number!(1));
        }
        unused {
            0xa2 0xa3 0xa4 0xa5 0xa6 0xa7 0xa8 0xa9 0xaa 0xab 0xac 0xad 0xae 0xaf
            0xb0 0xb1 0xb2 0xb3 0xb4 0xb5 0xb6 0xb7 0xb8 0xb9 0xba 0xbb 0xbc 0xbd 0xbe 0xbf
            0xc0 0xc1 0xc2 0xc3 0xc4 0xc5 0xc6 0xc7 0xc8 0xc9 0xca 0xcb 0xcc 0xcd 0xce 0xcf
            0xd0 0xd1 0xd2 0xd3 0xd4 0xd5 0xd6 0xd7 0xd8 0xd9 0xda 0xdb 0xdc 0xdd 0xde 0xdf
            0xe0 0xe1 0xe2 0xe3 0xe4 0xe5 0xe6 0xe7 0xe8 0xe9 0xea 0xeb 0xec 0xed 0xee 0xef
            0xf0 0xf1 0xf2 0xf3 0xf4 0xf5 0xf6 0xf7 0xf8 0xf9 0xfa 0xfb 0xfc 0xfd 0xfe 0xff
        }
    }
}

//! What a program meets outside of itself, one for each context: its output and input, its
//! arguments, the time, and random numbers.

use super::decimal::format_number;
use super::sink::{HostError, Output};
use crate::float_environment::as_host;
use crate::stop::StopHandle;
use std::io::{self, IsTerminal, Read};
use std::time::{Duration, Instant, SystemTime};

/// What a program meets outside of itself.
pub(crate) struct Outside {
    pub(crate) output: Box<dyn Output>,
    pub(crate) state: OutsideState,
}

/// What it meets besides the output.
pub(crate) struct OutsideState {
    pub(crate) input: NumberInput,
    /// The arguments, each with its value if it is a number.
    arguments: Vec<(String, Option<f64>)>,
    pub(crate) random: RandomNumbers,
    started: Instant,
}

impl Outside {
    pub(crate) fn new(output: Box<dyn Output>) -> Self {
        let (input, arguments) = (NumberInput::default(), Vec::new());
        let state = OutsideState { input, arguments, random: RandomNumbers::new(0), started: Instant::now() };
        Self { output, state }
    }
}

impl OutsideState {
    /// Returns the seconds since the context was created.
    pub(crate) fn clock(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    pub(crate) fn set_arguments(&mut self, arguments: Vec<String>) {
        let with_value = |text: String| {
            let value = parsed(&text);
            (text, value)
        };
        self.arguments = arguments.into_iter().map(with_value).collect();
    }

    /// Returns the number of arguments.
    pub(crate) fn argument_count(&self) -> usize {
        self.arguments.len()
    }

    /// Returns the argument of a number, from 1.
    ///
    /// # Errors
    /// When there is no such argument, or it is not a number.
    pub(crate) fn argument(&self, number: f64) -> Result<f64, HostError> {
        let count = self.arguments.len();
        let place = (1..=count).find(|place| *place as f64 == number);
        let Some((text, value)) = place.map(|place| &self.arguments[place - 1]) else {
            let number = format_number(number);
            return Err(HostError(format!("there is no argument {number}: there are {count}")));
        };
        value.ok_or_else(|| HostError(format!("argument {number}, `{}`, is not a number", shown(text))))
    }
}

/// Returns the seconds since 1970, in UTC.
pub(crate) fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// Random numbers by xoshiro256++ (Blackman and Vigna, Scrambled linear pseudorandom number
/// generators, 2021), whose state splitmix64 fills.
#[derive(Clone, Debug)]
pub(crate) struct RandomNumbers {
    state: [u64; 4],
    /// Where the last [stream](Self::stream) began, if there is one.
    streams: Option<[u64; 4]>,
}

/// The polynomials of 2^128 and of 2^192 steps, of the authors' reference implementation.
const JUMP: [u64; 4] =
    [0x180e_c6d3_3cfd_0aba, 0xd5a6_1266_f0c9_392c, 0xa958_2618_e03f_c9aa, 0x39ab_dc45_29b1_661c];
const LONG_JUMP: [u64; 4] =
    [0x76e1_5d3e_fefd_cbbf, 0xc500_4e44_1c52_2fb3, 0x7771_0069_854e_e241, 0x3910_9bb0_2acb_e635];

/// Returns the state as many steps further as a polynomial says.
fn further(state: [u64; 4], polynomial: [u64; 4]) -> [u64; 4] {
    let (mut random, mut sum) = (RandomNumbers { state, streams: None }, [0; 4]);
    for bit in polynomial.iter().flat_map(|word| (0..64).map(move |bit| word >> bit & 1)) {
        if bit == 1 {
            sum.iter_mut().zip(random.state).for_each(|(sum, word)| *sum ^= word);
        }
        random.next();
    }
    sum
}

impl RandomNumbers {
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed;
        let words = std::array::from_fn(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        });
        Self { state: words, streams: None }
    }

    /// Goes on from a [state](Self::state); from the first one of all if it is none.
    pub(crate) fn of_state(state: [u64; 4]) -> Self {
        if state == [0; 4] { Self::new(0) } else { Self { state, streams: None } }
    }

    /// Returns where they go on.
    pub(crate) fn state(&self) -> [u64; 4] {
        self.state
    }

    /// Returns what the numbers of a kernel are of: those 2^192 numbers further on, and of the next
    /// one as many further. These do not change, whatever that draws.
    pub(crate) fn stream(&mut self) -> Self {
        let state = further(self.streams.unwrap_or(self.state), LONG_JUMP);
        self.streams = Some(state);
        Self { state, streams: None }
    }

    /// Returns what the next 2^128 numbers are of, and goes on behind them.
    pub(crate) fn part(&mut self) -> Self {
        let next = Self { state: further(self.state, JUMP), streams: None };
        std::mem::replace(self, next)
    }

    /// Returns a number from 0 up to, but not including, 1: a multiple of 2^-53, each as
    /// likely as all others.
    #[inline]
    pub(crate) fn next(&mut self) -> f64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        (result >> 11) as f64 * 2_f64.powi(-53)
    }
}

/// Where numbers are read from.
enum InputStream {
    Standard,
    Host(Box<dyn Read + Send>),
}

/// Numbers in a text, with blanks, commas or line ends between them.
pub(crate) struct NumberInput {
    stream: InputStream,
    buffer: Vec<u8>,
    /// What of the buffer has been read.
    read: usize,
    line: usize,
    at_end: bool,
}

impl Default for NumberInput {
    fn default() -> Self {
        Self::of(InputStream::Standard)
    }
}

impl NumberInput {
    fn of(stream: InputStream) -> Self {
        Self { stream, buffer: Vec::new(), read: 0, line: 1, at_end: false }
    }

    pub(crate) fn from_host(stream: Box<dyn Read + Send>) -> Self {
        Self::of(InputStream::Host(stream))
    }

    /// Returns the next number; nan at the end, or when the run is to stop.
    ///
    /// # Errors
    /// When what follows is not a number, which is then read, or cannot be read.
    pub(crate) fn next(&mut self, stopper: &StopHandle) -> Result<f64, HostError> {
        /// Longer words are no numbers.
        const LONGEST: usize = 1 << 10;
        let mut word = Vec::new();
        loop {
            if self.read == self.buffer.len() && !self.fill(stopper)? {
                break;
            }
            let byte = self.buffer[self.read];
            let separates = byte.is_ascii_whitespace() || byte == b',';
            if separates && !word.is_empty() {
                break;
            }
            self.read += 1;
            self.line += usize::from(byte == b'\n');
            if !separates && word.len() < LONGEST {
                word.push(byte);
            }
        }
        if word.is_empty() {
            return Ok(f64::NAN);
        }
        let text = String::from_utf8_lossy(&word);
        let line = self.line;
        // Some editors begin a text with a mark of its encoding.
        parsed(text.trim_start_matches('\u{feff}'))
            .ok_or_else(|| HostError(format!("line {line} of the input: `{}` is not a number", shown(&text))))
    }

    /// Waits for more. Returns whether there is some.
    fn fill(&mut self, stopper: &StopHandle) -> Result<bool, HostError> {
        const CHUNK: usize = 1 << 16;
        self.read = 0;
        self.buffer.clear();
        if self.at_end {
            return Ok(false);
        }
        self.buffer.resize(CHUNK, 0);
        let length = match &mut self.stream {
            InputStream::Host(stream) => as_host(|| stream.read(&mut self.buffer)),
            InputStream::Standard => read_standard(&mut self.buffer, stopper),
        };
        self.buffer.truncate(*length.as_ref().unwrap_or(&0));
        let length = length.map_err(|error| HostError(format!("the input cannot be read: {error}")))?;
        // A terminal goes on after Ctrl-D.
        let goes_on = matches!(self.stream, InputStream::Standard) && io::stdin().is_terminal();
        self.at_end = length == 0 && !goes_on && stopper.requested().is_none();
        Ok(length > 0)
    }
}

/// Reads from standard input; nothing when the run is to stop.
fn read_standard(buffer: &mut [u8], stopper: &StopHandle) -> io::Result<usize> {
    use rustix::event::{PollFd, PollFlags, poll};
    let stdin = io::stdin();
    let wait = Duration::from_millis(50);
    let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
    while stopper.requested().is_none() {
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&wait)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(rustix::io::read(&stdin, &mut *buffer)?),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(0)
}

/// Returns the number that a text is: as programs write it, with or without a sign, or `inf` or
/// `nan`.
fn parsed(text: &str) -> Option<f64> {
    let negated = text.strip_prefix('-');
    let magnitude = negated.or_else(|| text.strip_prefix('+')).unwrap_or(text);
    let value = match (magnitude, magnitude.strip_prefix("0x").or_else(|| magnitude.strip_prefix("0X"))) {
        ("inf", _) => f64::INFINITY,
        ("nan", _) => f64::NAN,
        (_, Some(digits)) if digits.starts_with('+') => return None,
        (_, Some(digits)) => u64::from_str_radix(digits, 16).ok()? as f64,
        (decimal, None) if decimal.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            decimal.parse().ok()?
        }
        (_, None) => return None,
    };
    Some(if negated.is_some() { -value } else { value })
}

/// Returns a text as a message can show it.
fn shown(text: &str) -> String {
    text.chars().take(40).map(crate::diagnostic::visible::visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Stoppable;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    #[derive(Default)]
    struct NeverStopped(AtomicU64);

    impl Stoppable for NeverStopped {
        fn requests(&self) -> &AtomicU64 {
            &self.0
        }

        fn wake(&self) {}
    }

    #[test]
    fn parts_and_streams_lie_far_apart() {
        // As the squares of the step's matrix, taken 128 and 192 times, have it.
        let begun = RandomNumbers::of_state([1, 2, 3, 4]);
        let mut random = begun.clone();
        assert_eq!(random.part().state(), begun.state());
        let behind =
            [0x8c7a_1539_56b5_f3d1, 0x701f_1a71_3401_d85e, 0x6527_f66a_6546_9085, 0x8386_b786_c440_8050];
        assert_eq!(random.state(), behind);
        let mut random = begun.clone();
        let first =
            [0x096a_8eb7_1295_a400, 0xdbf8_4991_e50f_4516, 0x534e_e745_810d_2a0e, 0x3165_5ca1_a221_5bf1];
        assert_eq!(random.stream().state(), first);
        assert_eq!(random.stream().state(), further(first, LONG_JUMP));
        assert_eq!(random.state(), begun.state());
    }

    #[test]
    fn random_numbers_are_those_of_the_paper() {
        // The state 1, 2, 3, 4 gives these first words.
        let mut random = RandomNumbers::of_state([1, 2, 3, 4]);
        let words = [41_943_041_u64, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        for word in words {
            assert_eq!(random.next(), (word >> 11) as f64 * 2_f64.powi(-53));
        }
        let mut random = RandomNumbers::new(0);
        let numbers: Vec<f64> = (0..10_000).map(|_| random.next()).collect();
        assert!(numbers.iter().all(|number| (0.0..1.0).contains(number)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn numbers_are_read_one_by_one_with_their_lines() {
        let stopper = StopHandle::new(Arc::new(NeverStopped::default()));
        let mut input =
            NumberInput::from_host(Box::new(&b"\xef\xbb\xbf1 2.5,-3e2\n\nabc inf -0x1F +- +7"[..]));
        let mut next = || input.next(&stopper);
        assert_eq!((next(), next(), next()), (Ok(1.0), Ok(2.5), Ok(-300.0)));
        assert_eq!(next(), Err(HostError("line 3 of the input: `abc` is not a number".into())));
        assert_eq!((next(), next()), (Ok(f64::INFINITY), Ok(-31.0)));
        assert_eq!(next(), Err(HostError("line 3 of the input: `+-` is not a number".into())));
        assert_eq!(next(), Ok(7.0));
        assert!(next().is_ok_and(f64::is_nan) && next().is_ok_and(f64::is_nan));
    }
}

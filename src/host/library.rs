//! The help of the library: one line for each function that every program may
//! call. Help, completion and signatures read this table; the functions
//! themselves are in [`super`].

/// The help of a library function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LibraryEntry {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, as in a definition.
    pub parameters: &'static str,
    /// What it returns or does, with units and special cases.
    pub summary: &'static str,
}

impl LibraryEntry {
    /// Returns the entry of a function; `None` if it is not of the library.
    pub fn of(name: &str) -> Option<&'static Self> {
        LIBRARY.iter().flat_map(|(_, entries)| *entries).find(|entry| entry.name == name)
    }

    /// Returns its signature, as `atan2(y x)`.
    pub fn signature(&self) -> String {
        format!("{}({})", self.name, self.parameters)
    }
}

macro_rules! library {
    ($($title:literal { $($name:ident($($parameter:ident)*) $summary:literal)+ })+) => {
        /// The library's functions, in groups with titles.
        pub const LIBRARY: &[(&str, &[LibraryEntry])] = &[$(($title, &[$(LibraryEntry {
            name: stringify!($name),
            parameters: parameters!($($parameter)*),
            summary: $summary,
        }),+])),+];
    };
}

macro_rules! parameters {
    () => { "" };
    ($first:ident $($rest:ident)*) => { concat!(stringify!($first) $(, " ", stringify!($rest))*) };
}

library! {
    "Powers and logarithms" {
        sqrt(x) "the square root of x; nan if x is below 0"
        cbrt(x) "the cube root of x"
        hypot(x y) "the square root of x*x + y*y, without overflow on the way"
        pow(x y) "x to the power of y; also x ^ y"
        exp(x) "e to the power of x"
        exp2(x) "2 to the power of x"
        expm1(x) "exp(x) - 1, accurate near 0"
        ln(x) "the natural logarithm of x; also log(x)"
        log(x) "the natural logarithm of x; nan if x is below 0"
        log2(x) "the logarithm of x to base 2"
        log10(x) "the logarithm of x to base 10"
        log1p(x) "log(1 + x), accurate near 0"
        logb(x) "the binary exponent of x, an integer"
    }
    "Trigonometry" {
        sin(x) "the sine of x, in radians"
        cos(x) "the cosine of x, in radians"
        tan(x) "the tangent of x, in radians"
        asin(x) "the angle whose sine is x, in radians from -pi/2 to pi/2"
        acos(x) "the angle whose cosine is x, in radians from 0 to pi"
        atan(x) "the angle whose tangent is x, in radians from -pi/2 to pi/2"
        atan2(y x) "the angle of the point (x, y), in radians from -pi to pi"
    }
    "Hyperbolic functions" {
        sinh(x) "the hyperbolic sine of x"
        cosh(x) "the hyperbolic cosine of x"
        tanh(x) "the hyperbolic tangent of x"
        asinh(x) "the inverse hyperbolic sine of x"
        acosh(x) "the inverse hyperbolic cosine of x; nan if x is below 1"
        atanh(x) "the inverse hyperbolic tangent of x; nan outside -1 to 1"
    }
    "Rounding" {
        floor(x) "the greatest integer that is not above x"
        ceil(x) "the least integer that is not below x"
        trunc(x) "the integer part of x: rounds towards 0"
        round(x) "the nearest integer; halves are rounded away from 0"
        rint(x) "the nearest integer; halves are rounded to the even one"
        nearbyint(x) "the same as rint(x)"
    }
    "Sign, remainder, comparison" {
        abs(x) "the absolute value of x; also fabs(x)"
        fabs(x) "the absolute value of x"
        sign(x) "1 if x is positive, -1 if it is negative, else x"
        copysign(x y) "the absolute value of x with the sign of y"
        min(x y) "the smaller of x and y; also fmin(x, y)"
        max(x y) "the larger of x and y; also fmax(x, y)"
        fmin(x y) "the smaller of x and y; the other one if one is nan"
        fmax(x y) "the larger of x and y; the other one if one is nan"
        fdim(x y) "x - y if that is positive, else 0"
        mod(x y) "the remainder of x / y, with the sign of y"
        fmod(x y) "the remainder of x / y, with the sign of x; also x % y"
        remainder(x y) "x minus the multiple of y nearest to it"
        fma(x y z) "x * y + z, rounded once"
        nextafter(x y) "the double next to x, towards y"
    }
    "Special functions" {
        erf(x) "the error function of x"
        erfc(x) "1 - erf(x), accurate for large x"
        tgamma(x) "the gamma function of x; tgamma(n + 1) is n factorial"
        lgamma(x) "the natural logarithm of the absolute value of tgamma(x)"
    }
    "Output" {
        printd(x) "prints x on a line of its own; returns 0"
        putchard(x) "writes one byte: putchard(65) writes A; returns 0"
    }
    "The world outside" {
        random() "a number from 0 up to 1, by xoshiro256++"
        seed(n) "begins the random numbers again; the first seed is 0"
        clock() "the seconds since the session began"
        now() "the seconds since 1970, in UTC"
        read() "the next number of the input; nan at its end"
        arg(n) "argument n of the program, from 1"
        args() "the number of arguments of the program"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::HostFunctions;
    use crate::name::Names;

    #[test]
    fn every_function_has_one_entry_that_fits() {
        let names = Names::new();
        let hosts = HostFunctions::standard(&names);
        let entries: Vec<&LibraryEntry> = LIBRARY.iter().flat_map(|(_, entries)| *entries).collect();
        let mut described: Vec<&str> = entries.iter().map(|entry| entry.name).collect();
        let mut present: Vec<String> = hosts.names().map(|name| names.text(name).to_string()).collect();
        described.sort_unstable();
        present.sort_unstable();
        assert_eq!(described, present);
        for entry in entries {
            let name = names.intern(entry.name);
            let host = hosts.get(name).expect("it is there");
            assert_eq!(host.arity as usize, entry.parameters.split_whitespace().count(), "{}", entry.name);
            assert_eq!(hosts.entry(name, &names), Some(entry), "{}", entry.name);
            assert!(entry.summary.len() <= 60, "{}", entry.name);
        }
    }
}

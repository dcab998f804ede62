//! Constants of one kind.

/// How the values of an argument are written.
pub enum Names {
    /// One of several, counted from 0.
    Counted(&'static [&'static str]),
    /// One of several with these values.
    Valued(&'static [(i64, &'static str)]),
    /// Any number of bits.
    Bits(&'static [(i64, &'static str)]),
}

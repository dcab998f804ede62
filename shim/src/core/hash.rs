//! A number made from bytes (FNV-1a, 64 bits), for short texts: no table, no state.

/// Of nothing.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// With one more byte, or a word that stands for one.
pub fn mix(number: u64, word: u64) -> u64 {
    (number ^ word).wrapping_mul(0x100_0000_01b3)
}

/// Of these bytes.
pub fn of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(EMPTY, |number, &byte| mix(number, byte.into()))
}

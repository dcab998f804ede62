//! LEB128 variable-length integers, and zigzag for signed ones.
//!
//! Source: DWARF Debugging Information Format, version 5, section 7.6 (unsigned LEB128).

/// The most bytes one 64-bit integer takes.
pub const MAX_BYTES: usize = 10;

/// Maps a signed integer to an unsigned one so that small magnitudes stay small: 0, -1, 1, -2 → 0, 1, 2, 3.
#[inline(always)]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline(always)]
pub const fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

/// Writes `value` at `at` and returns the address behind it.
///
/// # Safety
/// `at` must be valid for writing [`MAX_BYTES`] bytes.
#[inline(always)]
pub unsafe fn write(at: *mut u8, mut value: u64) -> *mut u8 {
    let mut at = at;
    while value >= 0x80 {
        // SAFETY: a 64-bit integer needs at most MAX_BYTES bytes, which the caller vouches for.
        unsafe {
            at.write(value as u8 | 0x80);
            at = at.add(1);
        }
        value >>= 7;
    }
    // SAFETY: as above.
    unsafe {
        at.write(value as u8);
        at.add(1)
    }
}

/// Writes `value`, of which the lowest 56 bits count, as exactly eight bytes, stored at once.
///
/// # Safety
/// `at` must be valid for writing eight bytes.
#[inline(always)]
pub unsafe fn write_eight(at: *mut u8, value: u64) {
    // SAFETY: as the caller vouches.
    unsafe { write_word(at, eight(value)) };
}

/// Writes the eight bytes of a varint, stored at once.
///
/// # Safety
/// As for [`write_eight`].
#[inline(always)]
pub unsafe fn write_word(at: *mut u8, word: u64) {
    // SAFETY: as the caller vouches.
    unsafe { at.cast::<u64>().write_unaligned(word.to_le()) };
}

/// The eight bytes of a varint of which the lowest 56 bits count; the lowest byte is the first.
#[inline(always)]
pub const fn eight(value: u64) -> u64 {
    // Halves, quarters, eighths: each step makes room for the top bits of the lower parts.
    let word = value & 0x0fff_ffff | (value & 0x00ff_ffff_f000_0000) << 4;
    let word = word & 0x0000_3fff_0000_3fff | (word & 0x0fff_c000_0fff_c000) << 2;
    let word = word & 0x007f_007f_007f_007f | (word & 0x3f80_3f80_3f80_3f80) << 1;
    word | 0x0080_8080_8080_8080
}

/// Appends `value`.
#[cfg(feature = "std")]
pub fn push(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// How many bytes `value` takes.
#[cfg(feature = "std")]
pub fn length(value: u64) -> usize {
    (70 - (value | 1).leading_zeros() as usize) / 7
}

/// Reads one integer from the front of `bytes` and advances it. `None`: cut off, or longer than 64 bits.
#[inline(always)]
pub fn read(bytes: &mut &[u8]) -> Option<u64> {
    match **bytes {
        [first, ref rest @ ..] if first < 0x80 => {
            *bytes = rest;
            Some(u64::from(first))
        }
        [first, second, ref rest @ ..] if second < 0x80 => {
            *bytes = rest;
            Some(u64::from(first & 0x7f) | u64::from(second) << 7)
        }
        _ => read_long(bytes),
    }
}

fn read_long(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (index, &byte) in bytes.iter().enumerate().take(MAX_BYTES) {
        let bits = u64::from(byte & 0x7f);
        if index == MAX_BYTES - 1 && bits > 1 {
            return None;
        }
        value |= bits << (7 * index);
        if byte < 0x80 {
            *bytes = &bytes[index + 1..];
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip_at_every_width() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut buffer = [0u8; MAX_BYTES];
                // SAFETY: the buffer has MAX_BYTES bytes.
                let end = unsafe { write(buffer.as_mut_ptr(), value) };
                let used = end as usize - buffer.as_ptr() as usize;
                let mut bytes = &buffer[..used];
                assert_eq!(read(&mut bytes), Some(value));
                assert!(bytes.is_empty());
                let mut pushed = std::vec![7];
                push(&mut pushed, value);
                assert_eq!((&pushed[1..], length(value)), (&buffer[..used], used));
                let mut cut = &buffer[..used - 1];
                assert_eq!(read(&mut cut), None, "a cut-off integer is refused");
            }
        }
    }

    #[test]
    fn zigzag_round_trip() {
        for value in [0, -1, 1, i64::MIN, i64::MAX, 4096, -4096] {
            assert_eq!(unzigzag(zigzag(value)), value);
        }
        assert_eq!(zigzag(-1), 1);
    }

    #[test]
    fn more_than_64_bits_are_refused() {
        assert_eq!(read(&mut &[0xff; 11][..]), None);
        assert_eq!(read(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02][..]), None);
    }

    #[test]
    fn padded_ones_read_back() {
        for value in (0..56).flat_map(|bit| [1u64 << bit, (1 << bit) - 1, 0x0055_aa12_3456_789a >> bit]) {
            let mut bytes = [0u8; 8];
            // SAFETY: eight bytes.
            unsafe { write_eight(bytes.as_mut_ptr(), value) };
            let mut rest = &bytes[..];
            assert_eq!((read(&mut rest), rest.len()), (Some(value), 0), "{value:x}");
        }
    }
}

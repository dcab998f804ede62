//! Hints: what an info object holds.

use core::ffi::{CStr, c_char, c_int};

use super::{SUCCESS, info_get, info_get_nkeys, info_get_nthkey, number};
use crate::abi::Mpi;
use crate::scratch::Scratch;

/// Longer than `MPI_MAX_INFO_KEY` of any implementation, and its zero.
const KEY_BYTES: usize = 256;
/// As much of a value as is told; hints of files are short.
const VALUE_BYTES: usize = 1024;
/// As long as all hints of a call may be together.
const HINTS_BYTES: usize = 4096;

impl Mpi {
    /// What the info object holds, as lines of `key=value`; what there is no room for is left out.
    pub fn hints<'a>(self, info: usize, scratch: &mut Scratch) -> &'a [u8] {
        if info == self.info_null() {
            return b"";
        }
        let keys = number(|keys| info_get_nkeys(info, keys)).unwrap_or(0);
        let (Some(text), Some(key), Some(value)) = (
            scratch.take::<u8>(HINTS_BYTES),
            scratch.take::<u8>(KEY_BYTES),
            scratch.take::<u8>(VALUE_BYTES + 1),
        ) else {
            return b"";
        };
        let mut used = 0;
        for n in 0..keys {
            let name: *mut c_char = key.as_mut_ptr().cast();
            let mut flag = 0;
            let found = info_get_nthkey(info, n, name) == SUCCESS
                && info_get(info, name, VALUE_BYTES as c_int, value.as_mut_ptr().cast(), &mut flag)
                    == SUCCESS;
            if found && flag != 0 {
                used = line(text, used, key, value);
            }
        }
        &text[..used]
    }
}

/// Appends a line; returns where the next one begins.
fn line(text: &mut [u8], used: usize, key: &[u8], value: &[u8]) -> usize {
    let [key, value] =
        [key, value].map(|bytes| CStr::from_bytes_until_nul(bytes).unwrap_or_default().to_bytes());
    let length = key.len() + value.len() + 2;
    let Some(place) = text.get_mut(used..used + length) else { return used };
    place[..key.len()].copy_from_slice(key);
    place[key.len()] = b'=';
    place[key.len() + 1..length - 1].copy_from_slice(value);
    place[length - 1] = b'\n';
    used + length
}

//! The columns of a file as one frame of zstd.

use super::error::PackError;
use std::io::Read;
use zstd::zstd_safe::CParameter;

/// Packing is done once, and unpacking is equally fast at each level.
const LEVEL: i32 = 19;
/// How far back a repetition is found, and how much memory a reader keeps for it: 2 to this power, bytes.
const WINDOW_LOG: u32 = 23;

pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    // A level and a window that zstd has, and memory for the result, are all that it needs.
    let compressed = zstd::bulk::Compressor::new(LEVEL).and_then(|mut zstd| {
        zstd.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
        zstd.compress(bytes)
    });
    compressed.expect("zstd compresses any bytes")
}

/// Reads `length` bytes, and takes no more memory than for these.
pub(super) fn decompress(frame: &[u8], length: u64) -> Result<Vec<u8>, PackError> {
    let mut bytes = Vec::new();
    let read = zstd::stream::read::Decoder::with_buffer(frame).and_then(|mut zstd| {
        zstd.window_log_max(WINDOW_LOG)?;
        zstd.take(length.saturating_add(1)).read_to_end(&mut bytes)
    });
    match read {
        Ok(read) if read as u64 == length => Ok(bytes),
        _ => Err(PackError::Damaged("its columns do not have their length")),
    }
}

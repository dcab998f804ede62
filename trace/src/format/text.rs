//! Paths and other texts of a trace as Unicode text, reversibly.
//!
//! A Unix path is bytes. Bytes that are not UTF-8 are written `\xNN`; so that nothing else reads like that, a
//! backslash in front of `x` and two hexadecimal digits is written `\x5c`. All other texts stay as they are.

use std::borrow::Cow;

/// `bytes` as text.
pub fn escape(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if find_escape(text.as_bytes()).is_none() => Cow::Borrowed(text),
        _ => {
            let mut out = String::with_capacity(bytes.len() + 8);
            escape_into(&mut out, bytes);
            Cow::Owned(out)
        }
    }
}

/// Appends `bytes` as text to `out`.
pub fn escape_into(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        let mut valid = chunk.valid();
        while let Some(position) = find_escape(valid.as_bytes()) {
            out.push_str(&valid[..position]);
            out.push_str("\\x5c");
            valid = &valid[position + 1..];
        }
        out.push_str(valid);
        for byte in chunk.invalid() {
            const DIGITS: &[u8; 16] = b"0123456789abcdef";
            out.push_str("\\x");
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

/// The bytes that [`escape`] made `text` from.
pub fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    while let Some(position) = find_escape(bytes) {
        out.extend_from_slice(&bytes[..position]);
        let digit = |at: usize| char::from(bytes[position + at]).to_digit(16).unwrap_or(0) as u8;
        out.push(digit(2) << 4 | digit(3));
        bytes = &bytes[position + 4..];
    }
    out.extend_from_slice(bytes);
    out
}

/// Where the first `\xNN` begins.
fn find_escape(bytes: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let position = from + bytes.get(from..)?.iter().position(|&byte| byte == b'\\')?;
        match bytes.get(position + 1..position + 4) {
            Some([b'x', high, low]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                return Some(position);
            }
            _ => from = position + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_texts_stay_as_they_are() {
        for text in ["", "/tmp/a b", "/größe/日本", r"C:\temp\new", r"\x", r"\x4", r"\\", r"\xg0"] {
            assert_eq!(escape(text.as_bytes()), text);
            assert_eq!(unescape(text), text.as_bytes());
        }
    }

    #[test]
    fn anything_comes_back() {
        assert_eq!(escape(b"/a\xff\xfeb"), r"/a\xff\xfeb");
        assert_eq!(escape(br"/a\xffb"), r"/a\x5cxffb");
        let alphabet = *b"\\x5cAf/\xff\xc3\xa4";
        for seed in 0..20_000u32 {
            let mut state = seed.wrapping_mul(2_654_435_761) | 1;
            let bytes: Vec<u8> = (0..seed % 12)
                .map(|_| {
                    state ^= state << 13;
                    state ^= state >> 17;
                    state ^= state << 5;
                    alphabet[state as usize % alphabet.len()]
                })
                .collect();
            assert_eq!(unescape(&escape(&bytes)), bytes, "{bytes:?}");
        }
    }
}

//! A text that is put together in memory that is there already.

use core::ffi::CStr;

/// One.
pub struct Text<'a> {
    room: &'a mut [u8],
    length: usize,
    is_cut: bool,
}

impl<'a> Text<'a> {
    /// An empty one, which may become as long as `room`.
    pub fn of(room: &'a mut [u8]) -> Text<'a> {
        Text { room, length: 0, is_cut: false }
    }

    /// Adds as much of this as has room.
    pub fn push(&mut self, part: &[u8]) -> &mut Self {
        let bytes = part.len().min(self.room.len() - self.length);
        self.room[self.length..][..bytes].copy_from_slice(&part[..bytes]);
        self.length += bytes;
        self.is_cut |= bytes < part.len();
        self
    }

    /// Takes away what is longer than that.
    pub fn cut(&mut self, length: usize) {
        if length < self.length {
            (self.length, self.is_cut) = (length, false);
        }
    }

    /// True where something had no room.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.room[..self.length]
    }

    pub fn into_bytes(self) -> &'a [u8] {
        &self.room[..self.length]
    }

    /// What `ask` says of its first bytes.
    pub fn as_string<T>(&mut self, length: usize, ask: impl Fn(&CStr) -> Option<T>) -> Option<T> {
        let behind = core::mem::replace(self.room.get_mut(length)?, 0);
        let answer = CStr::from_bytes_with_nul(&self.room[..=length]).ok().and_then(ask);
        self.room[length] = behind;
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::Text;

    #[test]
    fn what_has_no_room_is_told() {
        let mut room = [0; 6];
        let mut text = Text::of(&mut room);
        text.push(b"/a/").push(b"bc");
        assert_eq!((text.as_bytes(), text.is_cut()), (&b"/a/bc"[..], false));
        assert_eq!(text.as_string(2, |start| Some(start.to_bytes().to_vec())), Some(b"/a".to_vec()));
        assert_eq!(text.push(b"de").as_bytes(), b"/a/bcd");
        assert!(text.is_cut());
        text.cut(3);
        assert_eq!((text.as_bytes(), text.is_cut()), (&b"/a/"[..], false));
    }
}

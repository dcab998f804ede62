//! Texts of records.

/// A text, in the two pieces in which it may stand in a trace.
#[derive(Clone, Copy, Default)]
pub struct Text<'a> {
    pub(crate) head: &'a [u8],
    pub(crate) tail: &'a [u8],
}

impl Text<'static> {
    /// No text.
    pub const EMPTY: Text<'static> = Text { head: &[], tail: &[] };
}

impl<'a> Text<'a> {
    /// A text in one piece.
    pub fn whole(bytes: &'a [u8]) -> Text<'a> {
        Text { head: &[], tail: bytes }
    }
    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Its bytes in order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.head.iter().chain(self.tail).copied()
    }
}

#[cfg(feature = "std")]
impl<'a> Text<'a> {
    /// Its bytes in one piece.
    pub fn bytes(&self) -> std::borrow::Cow<'a, [u8]> {
        if self.head.is_empty() { self.tail.into() } else { [self.head, self.tail].concat().into() }
    }
}

impl core::fmt::Debug for Text<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(out, "\"{}{}\"", self.head.escape_ascii(), self.tail.escape_ascii())
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Text<'_>) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Text<'_> {}

impl PartialEq<[u8]> for Text<'_> {
    fn eq(&self, bytes: &[u8]) -> bool {
        bytes.strip_prefix(self.head) == Some(self.tail)
    }
}

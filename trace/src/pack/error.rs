//! Why bytes are not a packed file of the version that is read here.

/// The version of the packed format.
pub const VERSION: u32 = 3;

/// Why bytes are not a packed file, or not one to be read as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PackError {
    /// An earlier version.
    #[error(
        "packed format {0} is older than {VERSION}, which this program reads; read it with the release that packed it"
    )]
    Older(u32),
    /// A later version.
    #[error("packed format {0} is newer than {VERSION}, which this program reads; update syn")]
    Newer(u32),
    /// Shorter than it says.
    #[error("a packed file that is cut off; the copy is incomplete")]
    CutOff,
    /// Something in it cannot be.
    #[error("a damaged packed file ({0})")]
    Damaged(&'static str),
}

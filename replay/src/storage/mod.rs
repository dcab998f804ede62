//! The folder on the storage in which a replay happens, and how it is before the replay starts.

mod folder;
mod parents;
mod path;
mod paths;
mod prepare;
mod root;
mod space;

pub use folder::Folder;
pub use parents::{Parent, Parents};
pub use path::{BelowRoot, relative};
pub use paths::Paths;
pub use prepare::prepare;
pub use root::{Root, open_name};
pub use space::needed_bytes;

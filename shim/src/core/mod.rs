//! What the recorder stands on: the kernel, the loader, the processor. Nothing here knows of a recording; all of it is tested
//! without being preloaded.

pub mod clock;
pub mod detour;
pub mod elf;
pub mod file_status;
pub mod hash;
pub mod library_folders;
pub mod lock_words;
pub mod own_path;
pub mod preemption;
pub mod procfs;
pub mod prologue;
pub mod readable;
pub mod real;
pub mod single_thread;
pub mod stack_start;
pub mod sys;
pub mod text;
pub mod tls;
pub mod unwind;

//! A word of each thread, for libraries that are preloaded.
//!
//! A preloaded library has its thread-locals in the static block, so an initial-exec access is two instructions
//! and can never allocate; Rust's own `thread_local!` in a shared library goes through `__tls_get_addr`, which may.

/// Defines the word as a hidden symbol of this name, with `get` and `set`. It is 0 in a new thread.
#[macro_export]
macro_rules! thread_word {
    ($symbol:literal) => {
        ::core::arch::global_asm!(
            ".pushsection .tbss,\"awT\",@nobits",
            ".balign 8",
            concat!(".hidden ", $symbol),
            concat!(".globl ", $symbol),
            concat!(".type ", $symbol, ", @object"),
            concat!(".size ", $symbol, ", 8"),
            concat!($symbol, ": .zero 8"),
            ".popsection",
        );

        /// Its value; 0 in a new thread.
        #[inline(always)]
        pub fn get() -> usize {
            let word: usize;
            // SAFETY: reads the thread-local word defined above; the linker fills in its offset.
            unsafe {
                ::core::arch::asm!(concat!("mov {0}, qword ptr [rip + ", $symbol, "@gottpoff]"),
                    "mov {0}, qword ptr fs:[{0}]", out(reg) word, options(nostack, preserves_flags, readonly));
            }
            word
        }

        /// Replaces the value.
        #[inline(always)]
        pub fn set(word: usize) {
            // SAFETY: writes the thread-local word defined above.
            unsafe {
                ::core::arch::asm!(concat!("mov {0}, qword ptr [rip + ", $symbol, "@gottpoff]"),
                    "mov qword ptr fs:[{0}], {1}", out(reg) _, in(reg) word, options(nostack, preserves_flags));
            }
        }
    };
}

//! Whether this thread has kept its processor, for one cycle.
//!
//! glibc (2.35 on) registers a restartable sequences area for every thread. A word in it may name a critical section; the
//! kernel looks at that word whenever the thread was preempted, moved, blocked or signalled, and clears it unless the
//! thread is inside that section. So a section that no thread is ever inside of is a mark which stands for exactly as long
//! as the thread keeps its processor. Programs with sections of their own overwrite it, which looks as if the processor had
//! been lost: then the clock is read.
//!
//! Source: rseq(2) and `include/uapi/linux/rseq.h` of the kernel; glibc manual, section "Restartable Sequences".

use crate::core::elf;
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicIsize, Ordering};

// A section of one byte that holds no instruction of ours. The kernel wants the registered signature in front of the
// address at which it would continue, also where it never does: it reads that in every process, so that it lies with the code of starts.
global_asm!(
    ".pushsection .text.startup.preemption,\"ax\",@progbits",
    ".byte 0x0f, 0xb9, 0x3d",
    ".long {signature}",
    "syn_preemption_abort: ud2",
    "syn_preemption_section: ud2",
    ".popsection",
    ".pushsection .data.rel.ro.syn_preemption,\"aw\",@progbits",
    ".balign 32",
    ".hidden syn_preemption_mark",
    ".globl syn_preemption_mark",
    "syn_preemption_mark:",
    ".long 0, 0",
    ".quad syn_preemption_section, 1, syn_preemption_abort",
    // The same once more, as the other mark.
    ".long 0, 0",
    ".quad syn_preemption_section, 1, syn_preemption_abort",
    ".popsection",
    signature = const RSEQ_SIG,
);

/// The signature with which glibc registers the areas: `RSEQ_SIG` in `<sys/rseq.h>` for x86.
const RSEQ_SIG: u32 = 0x5305_3053;

/// Where the area lies, from the thread pointer on; 0 where there is none.
static AREA: AtomicIsize = AtomicIsize::new(0);

/// Looks for the area; true if there is one.
pub fn find() -> bool {
    let symbol = |name| elf::variable_started_with(name).map(|address| address as *const isize);
    let (Some(offset), Some(size)) = (symbol(c"__rseq_offset"), symbol(c"__rseq_size")) else { return false };
    // SAFETY: glibc's own constants, set by the loader before any constructor; the size is an `unsigned int`.
    let (offset, size) = unsafe { (*offset, *size.cast::<u32>()) };
    if size == 0 {
        return false;
    }
    AREA.store(offset, Ordering::Relaxed);
    is_registered()
}

/// True where the mark means anything.
#[inline(always)]
pub fn is_known() -> bool {
    AREA.load(Ordering::Relaxed) != 0
}

/// False where the program has taken this thread's area back, or the kernel never had it: `cpu_id` is negative then.
#[inline(always)]
fn is_registered() -> bool {
    let processor: i32;
    // SAFETY: reads a field of the area, which every thread of the process has.
    unsafe {
        asm!("mov {0:e}, dword ptr fs:[{1} + 4]", out(reg) processor, in(reg) AREA.load(Ordering::Relaxed),
            options(nostack, preserves_flags, readonly));
    }
    processor >= 0
}

/// The two marks. Both stand as long as the thread keeps its processor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// All that the thread has lost of its processor so far is on record.
    Told,
    /// The CPU clock is to be read before long.
    Unread,
}

fn write(section: usize) {
    let area = AREA.load(Ordering::Relaxed);
    if area != 0 {
        // SAFETY: no critical section of the program's is under way: none makes calls, and a signal has ended it.
        unsafe {
            asm!("mov qword ptr fs:[{0} + 8], {1}", in(reg) area, in(reg) section, options(nostack, preserves_flags));
        }
    }
}

/// Bytes of a section's description.
const DESCRIPTION_BYTES: usize = 32;

impl Mark {
    #[inline(always)]
    fn address(self) -> usize {
        let first: usize;
        // SAFETY: computes an address.
        unsafe {
            asm!("lea {0}, [rip + syn_preemption_mark]", out(reg) first, options(nomem, nostack, preserves_flags));
        }
        if self == Mark::Told { first } else { first + DESCRIPTION_BYTES }
    }

    /// Puts it up.
    pub fn put(self) {
        write(self.address());
    }

    /// Takes down whichever stands.
    #[cold]
    pub fn take_down() {
        write(0);
    }

    /// True when it still stands: the thread has kept its processor since.
    #[inline(always)]
    pub fn stands(self) -> bool {
        let area = AREA.load(Ordering::Relaxed);
        if area == 0 {
            return false;
        }
        let section: usize;
        // SAFETY: reads a field of the area, which every thread of the process has.
        unsafe {
            asm!("mov {0}, qword ptr fs:[{1} + 8]", out(reg) section, in(reg) area,
                options(nostack, preserves_flags, readonly));
        }
        section == self.address() && is_registered()
    }
}

//! Entry detours inside libc, for the functions that its stdio calls directly.
//!
//! `fprintf` ends in `call __write` inside libc: no symbol is looked up, so no preloaded library is asked. `write` and
//! `__write` are one address, so a jump at that address sees both kinds of caller. The overwritten instructions are
//! relocated by a decoder library into a trampoline near libc, from which the function goes on.
//!
//! ```text
//!   write:  jmp ─► stub: jmp [hook]  ─► hook ─► trampoline: first instructions, jmp write + n
//! ```
//!
//! Patching happens once, while the process has one thread. A page is writable or executable, never both. Where a
//! check fails nothing is patched, and the trace says that libc's own calls were not seen.

use crate::process;
use crate::real;
use crate::sys;
use core::sync::atomic::{AtomicBool, Ordering};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction};
use syn_trace::header;

/// The operation code of a near jump, which its distance follows.
const NEAR_JUMP: u8 = 0xe9;
/// Bytes of a near jump.
const JUMP_BYTES: usize = 5;
/// Bytes of the jump to a hook: `jmp [rip]` and the address.
const STUB_BYTES: usize = 16;
/// Bytes kept for one function: the stub and the trampoline.
const SLOT_BYTES: usize = 96;
/// Bytes that are decoded at a function's entry.
const WINDOW_BYTES: usize = 32;
const PAGE: usize = 4096;

static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// True when libc's own calls are seen.
pub fn in_place() -> bool {
    IN_PLACE.load(Ordering::Relaxed)
}

/// One function to be detoured.
struct Patch {
    inner: &'static real::Inner,
    address: usize,
}

/// Places all detours, or none. Called from the constructor.
pub fn install() {
    if thread_count() != 1 {
        return;
    }
    let mut patches: Vec<Patch> = Vec::new();
    for &inner in real::inners() {
        let Some(address) = crate::elf::next_function(inner.real.name()) else { continue };
        if in_libc(address) && patches.iter().all(|patch| patch.address != address) {
            patches.push(Patch { inner, address });
        }
    }
    let Some(lowest) = patches.iter().map(|patch| patch.address).min() else { return };
    let Some(area) = Area::near(lowest, patches.len()) else { return };
    let trampolines: Vec<Option<usize>> =
        patches.iter().enumerate().map(|(index, patch)| area.fill(index, patch)).collect();
    // stdio writes, reads and opens through these: without all of them the trace would claim more than it saw.
    let essential = [c"write", c"read", c"open64", c"lseek64"];
    let complete = essential.iter().all(|name| {
        patches
            .iter()
            .zip(&trampolines)
            .any(|(patch, trampoline)| patch.inner.real.name() == *name && trampoline.is_some())
    });
    if !complete || !area.make_executable() {
        return;
    }
    for (index, (patch, trampoline)) in patches.iter().zip(trampolines).enumerate() {
        let Some(trampoline) = trampoline else { continue };
        patch.inner.real.set(trampoline);
        if write_jump(patch.address, area.slot(index)) {
            for real in real::all() {
                real.redirect(patch.address, trampoline);
            }
        } else {
            patch.inner.real.set(patch.address);
        }
    }
    IN_PLACE.store(true, Ordering::Relaxed);
    process::add_capability(header::SEES_LIBC_INTERNAL);
}

/// True when `address` lies in the library that has `gnu_get_libc_version`: another preloaded library may stand in
/// front of libc, and its functions are not ours to patch.
fn in_libc(address: usize) -> bool {
    let Some(known) = crate::elf::next_function(c"gnu_get_libc_version") else { return false };
    crate::elf::object_base(address) == crate::elf::object_base(known)
}

fn thread_count() -> usize {
    let mut entries = [0u8; 512];
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path ends with a zero byte, the buffer is as long as said.
    unsafe {
        let folder = sys::openat(libc::AT_FDCWD, c"/proc/self/task".as_ptr().cast(), flags, 0) as i32;
        if folder < 0 {
            return 0;
        }
        let filled = sys::getdents64(folder, entries.as_mut_ptr(), entries.len()).max(0) as usize;
        sys::close(folder);
        process::directory_entries(&entries[..filled]).filter(|name| !name.starts_with(b".")).count()
    }
}

/// Memory within reach of a near jump from libc.
struct Area {
    start: usize,
    bytes: usize,
}

impl Area {
    fn near(address: usize, functions: usize) -> Option<Area> {
        let bytes = (functions * SLOT_BYTES).next_multiple_of(PAGE);
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
        );
        // Libraries lie close together below the stack, with free space in front of the lowest.
        for step in 1..2000 {
            let start = (address & !(PAGE - 1)).checked_sub(step << 18)?;
            // SAFETY: NOREPLACE leaves existing mappings alone; older kernels take the address as a hint.
            let got = unsafe { sys::mmap(start, bytes, protection, flags, -1, 0) };
            if got as usize == start {
                return Some(Area { start, bytes });
            }
            if got > 0 {
                // SAFETY: just mapped, in a place that is of no use.
                unsafe { sys::munmap(got as usize, bytes) };
            }
        }
        None
    }

    fn slot(&self, index: usize) -> usize {
        self.start + index * SLOT_BYTES
    }

    /// Writes the stub and the trampoline for one function; returns the trampoline's address.
    fn fill(&self, index: usize, patch: &Patch) -> Option<usize> {
        let slot = self.slot(index);
        let trampoline = slot + STUB_BYTES;
        let code = relocate(patch.address, trampoline)?;
        if code.len() > SLOT_BYTES - STUB_BYTES {
            return None;
        }
        // jmp [rip + 0]; then the address of the hook.
        let mut stub = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcc, 0xcc];
        stub[6..14].copy_from_slice(&(patch.inner.hook as usize).to_le_bytes());
        // SAFETY: the slot lies in our own writable mapping.
        unsafe {
            core::ptr::copy_nonoverlapping(stub.as_ptr(), slot as *mut u8, STUB_BYTES);
            core::ptr::copy_nonoverlapping(code.as_ptr(), trampoline as *mut u8, code.len());
        }
        Some(trampoline)
    }

    fn make_executable(&self) -> bool {
        // SAFETY: our own mapping.
        unsafe { sys::mprotect(self.start, self.bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 }
    }
}

/// The first instructions at `from`, at least as many as a jump overwrites, for execution at `to`, and a jump to
/// what follows them. `None` where they cannot be moved.
fn relocate(from: usize, to: usize) -> Option<Vec<u8>> {
    // SAFETY: the entry of a function in libc's text, which is mapped readable and longer than this in all.
    let bytes = unsafe { core::slice::from_raw_parts(from as *const u8, WINDOW_BYTES) };
    let mut decoder = Decoder::with_ip(64, bytes, from as u64, DecoderOptions::NONE);
    let mut code = Vec::with_capacity(SLOT_BYTES);
    while code.len() < JUMP_BYTES {
        let at = code.len();
        let instruction = decoder.decode();
        if instruction.is_invalid() || !can_move(&instruction) {
            return None;
        }
        code.extend_from_slice(&bytes[at..at + instruction.len()]);
        if instruction.is_ip_rel_memory_operand() {
            let place = at + decoder.get_constant_offsets(&instruction).displacement_offset();
            let distance = instruction.ip_rel_memory_address() as i64 - (to + code.len()) as i64;
            code.get_mut(place..place + 4)?.copy_from_slice(&i32::try_from(distance).ok()?.to_le_bytes());
        }
    }
    if jumps_into(from, bytes, code.len()) {
        return None;
    }
    let back = (from + code.len()) as i64 - (to + code.len() + JUMP_BYTES) as i64;
    code.push(NEAR_JUMP);
    code.extend_from_slice(&i32::try_from(back).ok()?.to_le_bytes());
    Some(code)
}

/// Straight-line code, and system calls, which go on behind themselves.
fn can_move(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::Next || matches!(instruction.code(), Code::Syscall)
}

/// True when a branch that can be seen in the window goes back into the bytes that a jump overwrites.
fn jumps_into(from: usize, bytes: &[u8], taken: usize) -> bool {
    let mut decoder = Decoder::with_ip(64, bytes, from as u64, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        let target = instruction.near_branch_target();
        if target > from as u64 && target < (from + taken) as u64 {
            return true;
        }
    }
    false
}

/// Overwrites the entry at `address` by a jump to `target`. System calls are made directly here: the page that
/// libc's own `mprotect` lies in may be the one that is not executable for a moment.
fn write_jump(address: usize, target: usize) -> bool {
    let Ok(distance) = i32::try_from(target as i64 - (address + JUMP_BYTES) as i64) else { return false };
    let mut jump = [NEAR_JUMP, 0, 0, 0, 0];
    jump[1..].copy_from_slice(&distance.to_le_bytes());
    let first = address & !(PAGE - 1);
    let bytes = (address + JUMP_BYTES).next_multiple_of(PAGE) - first;
    // SAFETY: the page holds libc's text; the process has one thread, which executes this function meanwhile.
    unsafe {
        if sys::mprotect(first, bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return false;
        }
        for (index, byte) in jump.iter().enumerate() {
            core::ptr::write_volatile((address + index) as *mut u8, *byte);
        }
        if sys::mprotect(first, bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 {
            return true;
        }
        // A system that forbids text to become executable again: there is no way on from here.
        sys::complain(&[
            b"syn: this system does not let a page of libc become executable again; set SYN_DETOURS=0\n",
        ]);
        sys::call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
    }
    false
}

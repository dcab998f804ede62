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
//! Others patch such entries as well, at any time, with longer jumps: allocators and network libraries those of `mmap` and
//! its kin. Functions that do no more than a system call make it from the trampoline, and never come back to bytes that may
//! not be theirs any more; see [`present`].
//!
//! Patching happens once, while the process has one thread. A page is writable or executable, never both. Where a
//! check fails nothing is patched, and the trace says that libc's own calls were not seen.

use crate::core::{elf, prologue, sys};
use core::ffi::c_int;
use core::sync::atomic::{AtomicUsize, Ordering};
use iced_x86::{Code as Code64, Decoder, DecoderOptions, FlowControl};

/// The operation code of a near jump, which its distance follows.
const NEAR_JUMP: u8 = 0xe9;
/// Bytes of a near jump.
const JUMP_BYTES: usize = 5;
/// Bytes of the jump to a hook: `jmp [rip]` and the address.
const STUB_BYTES: usize = 16;
/// Bytes kept for one function: the stub, the trampoline, and the address of the entry.
const SLOT_BYTES: usize = 96;
const ENTRY_AT: usize = SLOT_BYTES - size_of::<usize>();
/// Bytes that are decoded at a function's entry.
const WINDOW_BYTES: usize = 32;
const PAGE: usize = 4096;

/// Where the detours' code lies, and its length; 0 while there is none.
static AREA_START: AtomicUsize = AtomicUsize::new(0);
static AREA_BYTES: AtomicUsize = AtomicUsize::new(0);

/// True when libc's own calls are seen.
pub fn in_place() -> bool {
    AREA_BYTES.load(Ordering::Relaxed) != 0
}

/// The function at `address` without its detour, if it has one.
pub fn behind(address: usize) -> usize {
    let area = AREA_BYTES.load(Ordering::Relaxed);
    if area == 0 {
        return address;
    }
    match jump_at(address) {
        Some(target) if target.wrapping_sub(AREA_START.load(Ordering::Relaxed)) < area => target + STUB_BYTES,
        _ => address,
    }
}

/// Where the near jump at a function's entry leads, if there is one.
#[inline]
fn jump_at(address: usize) -> Option<usize> {
    // SAFETY: the entry of a function, which is longer than a jump.
    let entry = unsafe { (address as *const [u8; JUMP_BYTES]).read_unaligned() };
    let distance = i32::from_le_bytes([entry[1], entry[2], entry[3], entry[4]]);
    (entry[0] == NEAR_JUMP).then(|| (address + JUMP_BYTES).wrapping_add_signed(distance as isize))
}

/// What [`behind`] gave for a function, or its entry, where that has been patched since by somebody who wants to be called.
#[inline]
pub fn present(address: usize) -> usize {
    let within = address.wrapping_sub(AREA_START.load(Ordering::Relaxed));
    if within >= AREA_BYTES.load(Ordering::Relaxed) {
        return address;
    }
    let slot = address - within % SLOT_BYTES;
    // SAFETY: every slot that is in use has the address there.
    let entry = unsafe { ((slot + ENTRY_AT) as *const usize).read() };
    if jump_at(entry) == Some(slot) { address } else { entry }
}

/// One function to be detoured.
#[derive(Clone, Copy)]
pub struct Patch {
    /// Its entry.
    pub address: usize,
    /// What that is to jump to.
    pub hook: usize,
    /// Where the function goes on; 0 where its entry cannot be moved.
    trampoline: usize,
    /// The system call that is all it does.
    number: Option<c_int>,
    /// What its entry is to be overwritten with.
    jump: [u8; JUMP_BYTES],
}

impl Patch {
    /// The entry at `address` is to jump to `hook`. `number`: the function does nothing but this system call.
    pub const fn new(address: usize, hook: usize, number: Option<c_int>) -> Patch {
        Patch { address, hook, trampoline: 0, number, jump: [NEAR_JUMP, 0, 0, 0, 0] }
    }

    /// Where the function goes on; `None` where its entry cannot be moved.
    pub fn trampoline(&self) -> Option<usize> {
        (self.trampoline != 0).then_some(self.trampoline)
    }
}

/// Why there are no detours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No free memory within reach of the entries.
    NoRoom,
    /// An entry that is needed cannot be moved.
    Immovable,
    /// The system does not let code be changed.
    Forbidden,
}

/// Places detours at all entries that can be moved, if these are `enough`, or none. The process must have one thread.
///
/// # Errors
/// Why there are none.
pub fn place(patches: &mut [Patch], enough: impl FnOnce(&[Patch]) -> bool) -> Result<(), Refused> {
    let lowest = patches.iter().map(|patch| patch.address).min().ok_or(Refused::NoRoom)?;
    let area = Area::near(lowest, patches.len()).ok_or(Refused::NoRoom)?;
    for (index, patch) in patches.iter_mut().enumerate() {
        patch.trampoline = area.fill(index, patch).unwrap_or(0);
    }
    if !enough(patches) {
        return Err(Refused::Immovable);
    }
    if !area.make_executable() || !write_jumps(patches) {
        return Err(Refused::Forbidden);
    }
    AREA_START.store(area.start, Ordering::Relaxed);
    AREA_BYTES.store(area.bytes, Ordering::Relaxed);
    Ok(())
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
    fn fill(&self, index: usize, patch: &mut Patch) -> Option<usize> {
        let slot = self.slot(index);
        let trampoline = slot + STUB_BYTES;
        let code = match patch.number {
            Some(number) => system_call(number)?,
            None => relocate(patch.address, trampoline)?,
        };
        let distance = i32::try_from(slot as i64 - (patch.address + JUMP_BYTES) as i64).ok()?;
        patch.jump[1..].copy_from_slice(&distance.to_le_bytes());
        // jmp [rip + 0]; then the address of the hook.
        let mut stub = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcc, 0xcc];
        stub[6..14].copy_from_slice(&patch.hook.to_le_bytes());
        // SAFETY: the slot lies in our own writable mapping.
        unsafe {
            core::ptr::copy_nonoverlapping(stub.as_ptr(), slot as *mut u8, STUB_BYTES);
            core::ptr::copy_nonoverlapping(code.bytes.as_ptr(), trampoline as *mut u8, code.length);
            ((slot + ENTRY_AT) as *mut usize).write(patch.address);
        }
        Some(trampoline)
    }

    fn make_executable(&self) -> bool {
        // SAFETY: our own mapping.
        unsafe { sys::mprotect(self.start, self.bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 }
    }
}

/// Code in the making.
struct Code {
    bytes: [u8; ENTRY_AT - STUB_BYTES],
    length: usize,
}

impl Code {
    fn push(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.length..self.length + bytes.len())?.copy_from_slice(bytes);
        self.length += bytes.len();
        Some(())
    }
}

/// A function that makes a system call, and sets errno as libc does.
fn system_call(number: c_int) -> Option<Code> {
    let mut code = Code { bytes: [0xcc; _], length: 0 };
    code.push(&[0x49, 0x89, 0xca])?; // mov r10, rcx
    code.push(&[0xb8])?; // mov eax, number
    code.push(&number.to_le_bytes())?;
    code.push(&[0x0f, 0x05])?; // syscall
    code.push(&[0x48, 0x3d, 0x01, 0xf0, 0xff, 0xff])?; // cmp rax, -4095
    code.push(&[0x73, 0x01, 0xc3])?; // jae over the next one; ret
    code.push(&[0x48, 0x89, 0xc7])?; // mov rdi, rax
    code.push(&[0xff, 0x25, 0, 0, 0, 0])?; // jmp [rip]
    code.push(&(system_call_failed as extern "C" fn(isize) -> isize as usize).to_le_bytes())?;
    Some(code)
}

extern "C" fn system_call_failed(negated: isize) -> isize {
    // SAFETY: libc gives every thread an errno.
    unsafe { *libc::__errno_location() = -negated as c_int };
    -1
}

/// The first instructions at `from`, at least as many as a jump overwrites, for execution at `to`, and a jump to
/// what follows them. `None` where they cannot be moved.
fn relocate(from: usize, to: usize) -> Option<Code> {
    // SAFETY: the entry of a function in libc's text, which is mapped readable and longer than this in all.
    let bytes = unsafe { core::slice::from_raw_parts(from as *const u8, WINDOW_BYTES) };
    let mut code = Code { bytes: [0xcc; _], length: 0 };
    while code.length < JUMP_BYTES {
        let at = code.length;
        let step = prologue::first(&bytes[at..]).or_else(|| decode(&bytes[at..]))?;
        code.push(&bytes[at..at + step.length])?;
        if let Some(place) = step.distance_at {
            let place = at + place..at + place + 4;
            let distance = i32::from_le_bytes(code.bytes[place.clone()].try_into().ok()?);
            let moved = i64::from(distance) + from as i64 - to as i64;
            code.bytes[place].copy_from_slice(&i32::try_from(moved).ok()?.to_le_bytes());
        }
    }
    if !prologue::is_left_alone(bytes, code.length) && jumps_into(bytes, code.length) {
        return None;
    }
    let back = (from + code.length) as i64 - (to + code.length + JUMP_BYTES) as i64;
    code.push(&[NEAR_JUMP])?;
    code.push(&i32::try_from(back).ok()?.to_le_bytes())?;
    Some(code)
}

/// The instruction at the front of `bytes`, if it can be moved: straight-line code, and system calls, which go on
/// behind themselves.
#[cold]
fn decode(bytes: &[u8]) -> Option<prologue::Step> {
    let mut decoder = Decoder::new(64, bytes, DecoderOptions::NONE);
    let instruction = decoder.decode();
    let moves =
        instruction.flow_control() == FlowControl::Next || matches!(instruction.code(), Code64::Syscall);
    if instruction.is_invalid() || !moves {
        return None;
    }
    let place = decoder.get_constant_offsets(&instruction).displacement_offset();
    Some(prologue::Step {
        length: instruction.len(),
        distance_at: instruction.is_ip_rel_memory_operand().then_some(place),
    })
}

/// True when a branch that can be seen in the window goes back into the bytes that a jump overwrites.
#[cold]
fn jumps_into(bytes: &[u8], taken: usize) -> bool {
    // An address that leaves room for branches to before the function.
    const FROM: u64 = 1 << 32;
    let mut decoder = Decoder::with_ip(64, bytes, FROM, DecoderOptions::NONE);
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            break;
        }
        let target = instruction.near_branch_target();
        if target > FROM && target < FROM + taken as u64 {
            return true;
        }
    }
    false
}

/// Overwrites the entries by their jumps. All of libc's text is writable meanwhile and not executable: in between nothing of
/// libc may be called, not even its `memcpy`, and so system calls are made directly and bytes are stored one by one. (Where
/// the protection of a part changes, the kernel keeps the parts apart from then on: every fork and end of a process pays.)
fn write_jumps(patches: &[Patch]) -> bool {
    let moved = || patches.iter().filter(|patch| patch.trampoline != 0);
    let Some(text) = moved().next().and_then(|patch| elf::segment_of(patch.address)) else { return false };
    let is_within =
        |patch: &Patch| (text.start..text.start + text.bytes - JUMP_BYTES).contains(&patch.address);
    if !moved().all(is_within) {
        return false;
    }
    // SAFETY: the pages hold libc's text; the process has one thread, which executes this function meanwhile.
    unsafe {
        if sys::mprotect(text.start, text.bytes, libc::PROT_READ | libc::PROT_WRITE) != 0 {
            return false;
        }
        for patch in moved() {
            for (index, byte) in patch.jump.iter().enumerate() {
                core::ptr::write_volatile((patch.address + index) as *mut u8, *byte);
            }
        }
        if sys::mprotect(text.start, text.bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 {
            return true;
        }
        map_again(&text);
    }
    false
}

/// A system that forbids changed text to become executable: maps the pages from libc's file once more, as they were. Where not
/// even that is to be had, there is no way on from here.
///
/// # Safety
/// `text` is what is mapped there.
#[cold]
unsafe fn map_again(text: &elf::Segment) {
    let (protection, flags) = (libc::PROT_READ | libc::PROT_EXEC, libc::MAP_PRIVATE | libc::MAP_FIXED);
    // SAFETY: as the caller vouches; the path is the loader's.
    unsafe {
        let fd = sys::openat(libc::AT_FDCWD, text.path.cast(), libc::O_RDONLY | libc::O_CLOEXEC, 0) as i32;
        let mapped = sys::mmap(text.start, text.bytes, protection, flags, fd, text.offset);
        sys::close(fd);
        if mapped as usize != text.start {
            sys::complain(&[
                b"syn: this system does not let libc's pages become executable again; set SYN_DETOURS=0\n",
            ]);
            sys::call(libc::SYS_exit_group, [127, 0, 0, 0, 0, 0]);
        }
    }
}

//! The code that detours go through: stubs and trampolines, in memory near libc.

use super::patch::{JUMP_BYTES, NEAR_JUMP, PAGE, Patch};
use crate::core::{prologue, sys};
use core::ffi::c_int;
use iced_x86::{Code as Code64, Decoder, DecoderOptions, FlowControl};

/// Bytes of the jump to a hook: `jmp [rip]` and the address.
pub const STUB_BYTES: usize = 16;
/// Bytes kept for one function: the stub, the trampoline, and the address of the entry. Those of all fit into one page.
pub const SLOT_BYTES: usize = 80;
pub const ENTRY_AT: usize = SLOT_BYTES - size_of::<usize>();
/// Bytes of the trampoline.
const CODE_BYTES: usize = ENTRY_AT - STUB_BYTES;
/// Bytes that are decoded at a function's entry.
const WINDOW_BYTES: usize = 32;

/// Memory within reach of a near jump from libc.
pub struct Area {
    pub start: usize,
    pub bytes: usize,
}

impl Area {
    /// For so many functions, in front of this address.
    pub fn near(address: usize, functions: usize) -> Option<Area> {
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
    pub fn fill(&self, index: usize, patch: &mut Patch) -> Option<usize> {
        let slot = self.slot(index);
        let trampoline = slot + STUB_BYTES;
        // Also where the trampoline does not go back: the entry has to have room for the jump, and nothing may lead into it.
        let moved = relocate(patch.address, trampoline)?;
        let code = match patch.number {
            Some(number) => system_call(number)?,
            None => moved,
        };
        let distance = i32::try_from(slot as i64 - (patch.address + JUMP_BYTES) as i64).ok()?;
        patch.jump[1..].copy_from_slice(&distance.to_le_bytes());
        Some(self.write(index, patch, &code))
    }

    /// Writes the stub and this trampoline; returns the trampoline's address.
    fn write(&self, index: usize, patch: &Patch, code: &Code) -> usize {
        let slot = self.slot(index);
        let trampoline = slot + STUB_BYTES;
        // jmp [rip + 0]; then the address of the hook.
        let mut stub = [0xff, 0x25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xcc, 0xcc];
        stub[6..14].copy_from_slice(&patch.hook.to_le_bytes());
        // SAFETY: the slot lies in our own writable mapping.
        unsafe {
            core::ptr::copy_nonoverlapping(stub.as_ptr(), slot as *mut u8, STUB_BYTES);
            core::ptr::copy_nonoverlapping(code.bytes.as_ptr(), trampoline as *mut u8, code.length);
            ((slot + ENTRY_AT) as *mut usize).write(patch.address);
        }
        trampoline
    }

    /// As [`Area::fill`] for all functions, where the area holds what another process had in its own, which was as far from libc. Nothing
    /// of libc is looked at.
    #[unsafe(link_section = ".text.startup")]
    pub fn take_over(&self, patches: &mut [Patch]) {
        for (index, patch) in patches.iter_mut().enumerate() {
            let slot = self.slot(index);
            // SAFETY: slots of as many functions as it was made for lie in our own writable mapping.
            let code = unsafe {
                // It could not be moved there.
                if ((slot + ENTRY_AT) as *const usize).read() == 0 {
                    patch.trampoline = 0;
                    continue;
                }
                Code { bytes: ((slot + STUB_BYTES) as *const [u8; CODE_BYTES]).read(), length: CODE_BYTES }
            };
            let own = patch.number.map_or(Some(code), system_call);
            patch.trampoline = own.map_or(0, |code| self.write(index, patch, &code));
        }
    }

    /// From now on it is code.
    pub fn make_executable(&self) -> bool {
        // SAFETY: our own mapping.
        unsafe { sys::mprotect(self.start, self.bytes, libc::PROT_READ | libc::PROT_EXEC) == 0 }
    }

    /// It is to be filled anew. False where it cannot be written to any more.
    pub fn clear(&self) -> bool {
        // SAFETY: our own mapping, which nobody uses yet.
        unsafe {
            let is_writable = sys::mprotect(self.start, self.bytes, libc::PROT_READ | libc::PROT_WRITE) == 0;
            if is_writable {
                core::ptr::write_bytes(self.start as *mut u8, 0, self.bytes);
            }
            is_writable
        }
    }
}

/// Code in the making.
struct Code {
    bytes: [u8; CODE_BYTES],
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

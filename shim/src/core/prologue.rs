//! How long the instructions are that functions of libc begin with.
//!
//! The decoder library builds its tables when it is first used, which takes longer than all else at start together.
//! Nearly every entry that gets a detour begins with one of a dozen instructions; those are known here, and the
//! library is asked about the others. That both say the same of every function of libc is tested.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapter 2 and appendix A.

/// One instruction at a function's entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its length, bytes.
    pub length: usize,
    /// Where in it a distance from the end of the instruction stands, if it addresses memory that way.
    pub distance_at: Option<usize>,
}

/// The instruction at the front of `code`, if it is one of the known ones: straight-line code, or a system call.
pub fn first(code: &[u8]) -> Option<Step> {
    let plain = |length| Some(Step { length, distance_at: None });
    match *code {
        // endbr64
        [0xf3, 0x0f, 0x1e, 0xfa, ..] => plain(4),
        // push r64; push r8 to r15
        [0x50..=0x57, ..] => plain(1),
        [0x41, 0x50..=0x57, ..] => plain(2),
        // push imm8
        [0x6a, ..] => plain(2),
        // mov r32, imm32
        [0xb8..=0xbf, ..] => plain(5),
        // syscall
        [0x0f, 0x05, ..] => plain(2),
        // mov and xor of 32-bit registers; test
        [0x31 | 0x85 | 0x89, modrm, ..] if modrm >= 0xc0 => plain(2),
        // mov, test of registers with a REX prefix
        [0x41 | 0x44 | 0x45 | 0x48 | 0x49 | 0x4c | 0x4d, 0x31 | 0x85 | 0x89, modrm, ..] if modrm >= 0xc0 => {
            plain(3)
        }
        // movsxd r64, r32
        [0x48 | 0x49 | 0x4c | 0x4d, 0x63, modrm, ..] if modrm >= 0xc0 => plain(3),
        // sub rsp, imm8; sub rsp, imm32
        [0x48, 0x83, 0xec, ..] => plain(4),
        [0x48, 0x81, 0xec, ..] => plain(7),
        // cmp rax, imm32; cmp eax, imm32
        [0x48, 0x3d, ..] => plain(6),
        [0x3d, ..] => plain(5),
        // cmp byte [rip + distance], imm8
        [0x80, 0x3d, ..] => Some(Step { length: 7, distance_at: Some(2) }),
        // mov r64, [rip + distance]; lea r64, [rip + distance]
        [0x48 | 0x4c, 0x8b | 0x8d, modrm, ..] if modrm & 0xc7 == 0x05 => {
            Some(Step { length: 7, distance_at: Some(3) })
        }
        // mov [rsp + disp8], r64
        [0x48 | 0x4c, 0x89, modrm, 0x24, ..] if modrm & 0xc7 == 0x44 => plain(5),
        // test r32, imm32
        [0x41, 0xf7, 0xc0..=0xc7, ..] => plain(7),
        // mov eax, fs:[disp32]
        [0x64, 0x8b, 0x04, 0x25, ..] => plain(8),
        _ => None,
    }
}

/// False when something in `code` may be a branch to within its first `taken` bytes, whatever it is read as. These are whole
/// instructions, and none of them a branch: only what lies behind them can be one.
pub fn is_left_alone(code: &[u8], taken: usize) -> bool {
    let lands_inside = |behind: usize, distance: i32| {
        (behind as u32).wrapping_add_signed(distance).wrapping_sub(1) < taken as u32 - 1
    };
    // Without leaving the loops early, so that several places are looked at at once.
    let short = code.windows(2).enumerate().skip(taken).fold(false, |found, (at, pair)| {
        let is_branch = matches!(pair[0], 0x70..=0x7f | 0xe0..=0xe3 | 0xeb);
        found | (is_branch & lands_inside(at + 2, i32::from(pair[1] as i8)))
    });
    let near = code.windows(4).enumerate().skip(taken).fold(false, |found, (at, bytes)| {
        found | lands_inside(at + 4, i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    });
    !short & !near
}

//! Code to run through: a jump in every line of the cache of instructions.

use core::arch::naked_asm;

/// How many lines there are: 256 KiB.
pub const LINES: usize = 4096;
const LINE_BYTES: usize = 64;

/// All of them.
#[unsafe(naked)]
extern "C" fn all_lines() {
    naked_asm!(
        // Which skips nothing: a function has a section of its own.
        ".balign {bytes}",
        ".rept {lines}",
        "jmp 77f",
        ".balign {bytes}",
        "77:",
        ".endr",
        "ret",
        lines = const LINES,
        bytes = const LINE_BYTES,
    );
}

/// Runs through so many lines, the last ones.
#[inline(never)]
pub fn run_through(lines: usize) {
    let skipped = LINES - lines.min(LINES);
    let all = all_lines as *const u8;
    // SAFETY: at the start of each line stands a jump to the next one, behind the last one a return, and no register is touched.
    unsafe {
        let from: unsafe extern "C" fn() = std::mem::transmute(all.add(skipped * LINE_BYTES));
        from();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_leads_to_the_next_one_and_the_last_one_back() {
        let all = all_lines as *const u8;
        // SAFETY: code can be read, and there is a return behind the last line.
        let byte = |at: usize| unsafe { *all.add(at) };
        for line in 0..LINES {
            // A jump over so many bytes (`JMP rel8`).
            assert_eq!([byte(line * LINE_BYTES), byte(line * LINE_BYTES + 1)], [0xeb, LINE_BYTES as u8 - 2]);
        }
        assert_eq!(byte(LINES * LINE_BYTES), 0xc3, "RET");
        for lines in [0, 1, LINES, LINES + 1] {
            run_through(lines);
        }
    }
}

//! Subfolders in which glibc's loader looks for a library before it looks in the folder itself: those of versions for what the processor
//! can do.
//!
//! Source: ld.so(8), "Hardware capabilities"; glibc, `elf/dl-hwcaps.c`, `sysdeps/x86_64/dl-hwcaps_subdirs.c` and
//! `sysdeps/x86/cpu-features.c`.

use crate::core::elf;
use core::ffi::{CStr, c_char};
use core::sync::atomic::{AtomicU32, Ordering};

/// `glibc-hwcaps` is looked in since this version of glibc (2.x), and the older names until it.
const FIRST_WITH_LEVELS: u32 = 33;
const LAST_WITH_OLD_NAMES: u32 = 36;

/// The levels of x86-64 (its psABI), in the order in which they are tried.
const LEVELS: [&[u8]; 3] =
    [b"glibc-hwcaps/x86-64-v4/", b"glibc-hwcaps/x86-64-v3/", b"glibc-hwcaps/x86-64-v2/"];
/// The older names. Each selection of them makes a path, in this order.
const OLD_NAMES: [&[u8]; 4] = [b"tls/", b"haswell/", b"avx512_1/", b"x86_64/"];
/// The longest such path is all of them.
const LONGEST: usize = 28;

/// Which of them are tried, by the bits `LEVEL << index` and `OLD_NAME << index`. 0 while that is not known.
static TRIED: AtomicU32 = AtomicU32::new(0);
const KNOWN: u32 = 1;
const LEVEL: u32 = 1 << 1;
const OLD_NAME: u32 = 1 << 4;

/// Calls `each` for every one in the order of the loader, with a slash at its end, until it says true. Then that is the answer.
pub fn any_subfolder(each: impl FnMut(&[u8]) -> bool) -> bool {
    let mut tried = TRIED.load(Ordering::Relaxed);
    if tried == 0 {
        tried = find_out();
        TRIED.store(tried, Ordering::Relaxed);
    }
    any_of(tried, each)
}

fn any_of(tried: u32, mut each: impl FnMut(&[u8]) -> bool) -> bool {
    let levels = LEVELS.iter().enumerate().filter(|(index, _)| tried & LEVEL << index != 0);
    for (_, level) in levels {
        if each(level) {
            return true;
        }
    }
    let old_names = || OLD_NAMES.iter().enumerate().filter(|(index, _)| tried & OLD_NAME << index != 0);
    // As digits of a number that is counted down: the first name is its highest.
    let count = old_names().count();
    for selection in (1..1u32 << count).rev() {
        let (mut path, mut length) = ([0; LONGEST], 0);
        for (digit, (_, name)) in (0..count).rev().zip(old_names()) {
            if selection >> digit & 1 != 0 {
                path[length..][..name.len()].copy_from_slice(name);
                length += name.len();
            }
        }
        if each(&path[..length]) {
            return true;
        }
    }
    false
}

fn find_out() -> u32 {
    let Some(version) = glibc_version() else { return KNOWN };
    let can = Processor::find();
    let mut tried = KNOWN;
    if version >= FIRST_WITH_LEVELS {
        let levels = [can.level_4(), can.level_3(), can.level_2()];
        tried |= levels.iter().zip(0..).map(|(&is, index)| u32::from(is) * (LEVEL << index)).sum::<u32>();
    }
    if version <= LAST_WITH_OLD_NAMES {
        let names = [true, can.is_haswell(), can.has_avx512_1(), true];
        tried |= names.iter().zip(0..).map(|(&is, index)| u32::from(is) * (OLD_NAME << index)).sum::<u32>();
    }
    tried
}

/// The number behind `2.`. `None` for another libc.
fn glibc_version() -> Option<u32> {
    let function = elf::function_started_with(c"gnu_get_libc_version")?;
    // SAFETY: the function of this name has this type, and returns a text that stays.
    let version = unsafe {
        CStr::from_ptr(core::mem::transmute::<usize, extern "C" fn() -> *const c_char>(function)())
    };
    let minor = version.to_bytes().strip_prefix(b"2.")?;
    let digits = minor.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(minor.len());
    core::str::from_utf8(&minor[..digits]).ok()?.parse().ok()
}

/// What the processor can do and the kernel lets programs use.
struct Processor {
    is_intel: bool,
    /// `ecx` of leaf 1, `ebx` of leaf 7 and `ecx` of leaf 0x80000001 of the instruction `cpuid`.
    leaf_1: u32,
    leaf_7: u32,
    extended: u32,
}

const fn bits<const N: usize>(places: [u32; N]) -> u32 {
    let (mut all, mut at) = (0, 0);
    while at < N {
        all |= 1 << places[at];
        at += 1;
    }
    all
}

/// In leaf 1.
const FMA: u32 = 12;
const MOVBE: u32 = 22;
const POPCNT: u32 = 23;
/// SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2.
const LEVEL_2: u32 = bits([0, 9, 13, 19, 20, POPCNT]);
/// AVX, F16C.
const LEVEL_3: u32 = bits([FMA, MOVBE, 28, 29]);
/// In leaf 7: BMI1, AVX2, BMI2; AVX512F, DQ, CD, BW, VL.
const WIDE: u32 = bits([3, 5, 8]);
const AVX512_1: u32 = bits([17, 28, 30, 31]);
const LEVEL_4: u32 = AVX512_1 | bits([16]);
const AVX512ER: u32 = bits([27]);
/// In the extended leaf.
const LAHF: u32 = bits([0]);
const LZCNT: u32 = bits([5]);

impl Processor {
    /// As glibc has found it out, or, before it tells, as the processor says.
    fn find() -> Processor {
        use core::arch::x86_64::__cpuid_count;
        /// `struct cpuid_feature` of `<bits/platform/features.h>`.
        #[repr(C)]
        struct Feature {
            found: [u32; 4],
            usable: [u32; 4],
        }
        type Leaf = unsafe extern "C" fn(u32) -> *const Feature;
        const EBX: usize = 1;
        const ECX: usize = 2;
        let told = elf::function_started_with(c"__x86_get_cpuid_feature_leaf");
        let leaf = |index: u32, number: u32, register: usize| match told {
            // SAFETY: the function of this name has this type, and knows these three leaves.
            Some(function) => unsafe {
                (*core::mem::transmute::<usize, Leaf>(function)(index)).usable[register]
            },
            None => {
                let found = __cpuid_count(number, 0);
                [found.eax, found.ebx, found.ecx, found.edx][register]
            }
        };
        let vendor = __cpuid_count(0, 0);
        Processor {
            is_intel: [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes).as_flattened()
                == b"GenuineIntel",
            leaf_1: leaf(0, 1, ECX),
            leaf_7: leaf(1, 7, EBX),
            extended: leaf(2, 0x8000_0001, ECX),
        }
    }

    fn level_2(&self) -> bool {
        self.leaf_1 & LEVEL_2 == LEVEL_2 && self.extended & LAHF != 0
    }

    fn level_3(&self) -> bool {
        self.level_2()
            && self.leaf_1 & LEVEL_3 == LEVEL_3
            && self.leaf_7 & WIDE == WIDE
            && self.extended & LZCNT != 0
    }

    fn level_4(&self) -> bool {
        self.level_3() && self.leaf_7 & LEVEL_4 == LEVEL_4
    }

    fn is_haswell(&self) -> bool {
        let needed = bits([FMA, MOVBE, POPCNT]);
        self.is_intel
            && self.leaf_1 & needed == needed
            && self.leaf_7 & WIDE == WIDE
            && self.extended & LZCNT != 0
    }

    fn has_avx512_1(&self) -> bool {
        self.is_intel && self.leaf_7 & AVX512_1 == AVX512_1 && self.leaf_7 & AVX512ER == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tried: u32) -> Vec<String> {
        let mut all = Vec::new();
        any_of(tried, |path| {
            all.push(String::from_utf8(path.to_vec()).expect("text"));
            false
        });
        all
    }

    #[test]
    fn in_the_order_of_the_loader() {
        let bits = KNOWN | LEVEL << 1 | LEVEL << 2 | OLD_NAME | OLD_NAME << 1 | OLD_NAME << 3;
        let levels = ["glibc-hwcaps/x86-64-v3/", "glibc-hwcaps/x86-64-v2/"];
        let old = [
            "tls/haswell/x86_64/",
            "tls/haswell/",
            "tls/x86_64/",
            "tls/",
            "haswell/x86_64/",
            "haswell/",
            "x86_64/",
        ];
        assert_eq!(of(bits), [&levels[..], &old[..]].concat());
        assert_eq!(of(KNOWN), [""; 0]);
        assert_eq!(of(KNOWN | (OLD_NAME * 15))[0].len(), LONGEST);
    }
}

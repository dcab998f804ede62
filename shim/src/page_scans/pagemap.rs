//! `/proc/self/pagemap`: which pages of a mapping this process has in its page tables.
//!
//! Source: Documentation/admin-guide/mm/pagemap.rst and include/uapi/linux/fs.h of the kernel. The soft-dirty bit that it
//! has as well is of no use here: every page of a new mapping has it, read or written, until somebody has cleared the
//! bits of all the process's pages, which costs a fault for every page written later.

use crate::core::sys;
use crate::recording::mappings::PAGE;
use core::ffi::c_int;

/// `_IOWR('f', 16, struct pm_scan_arg)`, since Linux 6.7.
const PAGEMAP_SCAN: usize = 0xc060_6610;
/// The page is in the page table.
pub const PRESENT: u64 = 1 << 3;
/// The page has been moved to swap space.
pub const SWAPPED: u64 = 1 << 4;
/// The page is the file's own, not a private copy.
pub const FILE: u64 = 1 << 2;

/// The words of pagemap have the same facts in other bits.
const WORD_PRESENT: u64 = 1 << 63;
const WORD_SWAPPED: u64 = 1 << 62;
const WORD_FILE: u64 = 1 << 61;

/// The most pages whose words are read: 4 million take about 40 ms. A scan leaves out holes, and needs no bound.
const MOST_WORDS: usize = 1 << 22;

/// A run of pages with the same categories, `struct page_region`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Region {
    /// The first address.
    pub start: u64,
    /// The address behind the last.
    pub end: u64,
    /// What was asked for and holds.
    pub categories: u64,
}

#[repr(C)]
struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// What to look for.
#[derive(Clone, Copy)]
pub struct Query {
    /// Pages with one of these categories.
    pub any_of: u64,
    /// What to tell of them.
    pub tell: u64,
}

/// Room for what the kernel answers.
pub struct Room<'a> {
    /// For a scan.
    pub regions: &'a mut [Region],
    /// For words.
    pub words: &'a mut [u64],
}

/// The open file. It is closed again before the hook returns.
pub struct Pagemap(c_int);

impl Pagemap {
    /// `Err`, a negated errno: without /proc, without a descriptor to spare, or where the system call would end the process.
    /// Within [`crate::private_table::run`].
    pub fn open() -> Result<Pagemap, isize> {
        let (path, flags) = (c"/proc/self/pagemap", libc::O_RDONLY | libc::O_CLOEXEC);
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { sys::openat(libc::AT_FDCWD, path.as_ptr().cast(), flags, 0) };
        if fd < 0 { Err(fd) } else { Ok(Pagemap(fd as c_int)) }
    }

    /// Closes it. Not a `drop`: nothing on a hook's frame may need one.
    pub fn close(self) {
        // SAFETY: the descriptor is ours.
        unsafe { sys::close(self.0) };
    }

    /// Calls `each` for every run of pages between two addresses that answers the query, in order; false when it
    /// cannot be answered.
    pub fn for_each(
        &self,
        (start, end): (usize, usize),
        query: Query,
        room: &mut Room<'_>,
        mut each: impl FnMut(Region),
    ) -> bool {
        let mut at = start;
        while at < end {
            match self.scan((at, end), query, room.regions) {
                Some(found) => {
                    room.regions[..found].iter().copied().for_each(&mut each);
                    // The kernel's own word for where it stopped may name an earlier place: it walks in pieces.
                    match room.regions.last() {
                        Some(last) if found == room.regions.len() => at = last.end as usize,
                        _ => return true,
                    }
                }
                None if at == start => return self.read_words((start, end), query, room.words, each),
                // Something has been told already.
                None => return false,
            }
        }
        true
    }

    /// Fills in as many regions as there is room for, and says how many there were. `None` where the kernel has no such call.
    pub fn scan(&self, (start, end): (usize, usize), query: Query, regions: &mut [Region]) -> Option<usize> {
        let mut argument = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            flags: 0,
            start: start as u64,
            end: end as u64,
            walk_end: 0,
            vec: regions.as_mut_ptr() as u64,
            vec_len: regions.len() as u64,
            max_pages: 0,
            category_inverted: 0,
            category_mask: 0,
            category_anyof_mask: query.any_of,
            return_mask: query.tell,
        };
        let address = (&raw mut argument) as usize;
        // SAFETY: the argument is valid, and says how much room there is.
        let found = unsafe { sys::call(libc::SYS_ioctl, [self.0 as usize, PAGEMAP_SCAN, address, 0, 0, 0]) };
        usize::try_from(found).ok()
    }

    /// The same from the words, one for every page, for older kernels.
    fn read_words(
        &self,
        (start, end): (usize, usize),
        query: Query,
        words: &mut [u64],
        mut each: impl FnMut(Region),
    ) -> bool {
        if (end - start) / PAGE > MOST_WORDS {
            return false;
        }
        let mut run = Region { start: 0, end: 0, categories: 0 };
        let mut at = start;
        while at < end {
            let asked = words.len().min((end - at) / PAGE);
            let (buffer, offset) = (words.as_mut_ptr().cast::<u8>(), (at / PAGE * 8) as u64);
            // SAFETY: the buffer is as long as said.
            let got = unsafe { sys::pread(self.0, buffer, asked * 8, offset) };
            if got < 8 {
                return false;
            }
            for &word in &words[..got as usize / 8] {
                let categories = categories_of(word);
                if categories & query.any_of != 0 {
                    let (page, told) = (at as u64, categories & query.tell);
                    if run.end == page && run.categories == told {
                        run.end += PAGE as u64;
                    } else {
                        if run.end > run.start {
                            each(run);
                        }
                        run = Region { start: page, end: page + PAGE as u64, categories: told };
                    }
                }
                at += PAGE;
            }
        }
        if run.end > run.start {
            each(run);
        }
        true
    }
}

fn categories_of(word: u64) -> u64 {
    let mut categories = 0;
    for (bit, category) in [(WORD_PRESENT, PRESENT), (WORD_SWAPPED, SWAPPED), (WORD_FILE, FILE)] {
        if word & bit != 0 {
            categories |= category;
        }
    }
    categories
}

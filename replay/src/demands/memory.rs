//! The memory atom: a stack of pages that grows and shrinks to the recorded size, and pages that come and go.

#![allow(unsafe_code)]

use anyhow::Context;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::alloc::{Layout, alloc, dealloc};
use std::hint::black_box;
use std::ptr::NonNull;

/// Pages that come and go are not more than this at a time.
const PASSING: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub struct Memory {
    start: NonNull<u8>,
    /// Address space for what is held, and behind it for what passes.
    reserved: usize,
    held: usize,
    most: usize,
}

// SAFETY: it owns its mapping, and nothing else points into it.
unsafe impl Send for Memory {}

impl Memory {
    /// Holds up to `most` bytes.
    ///
    /// # Errors
    /// When there is no address space for it.
    pub fn new(most: u64) -> anyhow::Result<Memory> {
        let memory = Memory::in_large_pages(most)?;
        // Pages are touched one by one: a huge page would hold more than was recorded.
        // SAFETY: the mapping made above.
        let _ = unsafe { madvise(memory.start.as_ptr().cast(), memory.reserved, Advice::LinuxNoHugepage) };
        Ok(memory)
    }

    /// The same, in whatever pages the kernel has: much of it comes sooner, and is not exact to the page.
    ///
    /// # Errors
    /// When there is no address space for it.
    pub fn in_large_pages(most: u64) -> anyhow::Result<Memory> {
        let page = rustix::param::page_size();
        let most = usize::try_from(most)?.next_multiple_of(page);
        let reserved = most + PASSING;
        let (protection, flags) =
            (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE | MapFlags::NORESERVE);
        // SAFETY: a fresh mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(std::ptr::null_mut(), reserved, protection, flags) }
            .with_context(|| format!("cannot map {reserved} bytes of memory"))?;
        let start = NonNull::new(start.cast()).context("mapped memory at address 0")?;
        Ok(Memory { start, reserved, held: 0, most })
    }

    /// Goes `bytes` up or down to hold `bytes`.
    pub fn hold(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.most);
        if bytes > self.held {
            self.touch(self.held, bytes);
        } else {
            self.free(bytes.next_multiple_of(rustix::param::page_size()), self.held);
        }
        self.held = bytes;
    }

    /// What it holds.
    pub fn held(&self) -> u64 {
        self.held as u64
    }

    /// So many bytes are touched and given back.
    pub fn pass(&mut self, bytes: u64) {
        let mut left = usize::try_from(bytes).unwrap_or(usize::MAX);
        while left > 0 {
            let now = left.min(PASSING);
            self.touch(self.most, self.most + now);
            self.free(self.most, self.most + now);
            left -= now;
        }
    }

    fn touch(&mut self, from: usize, to: usize) {
        assert!(to <= self.reserved);
        for at in (from..to).step_by(rustix::param::page_size()) {
            // SAFETY: below the end of the mapping, which is writable.
            unsafe { self.start.as_ptr().add(at).write_volatile(1) };
        }
    }

    fn free(&mut self, from: usize, to: usize) {
        if from < to && to <= self.reserved {
            // SAFETY: pages of the mapping, which hold nothing that anybody reads.
            let _ =
                unsafe { madvise(self.start.as_ptr().add(from).cast(), to - from, Advice::LinuxDontNeed) };
        }
    }
}

/// Takes so many blocks from the allocator and gives them back, one after the other. Nothing is written into them.
pub fn allocate(count: u64, bytes: u64) {
    /// As every allocator does without being asked.
    const ALIGNMENT: usize = 16;
    let Ok(layout) = Layout::from_size_align((bytes as usize).max(1), ALIGNMENT) else { return };
    for _ in 0..count {
        // SAFETY: the layout is not empty; what comes is given back with the same one.
        unsafe {
            let block = black_box(alloc(layout));
            if !block.is_null() {
                dealloc(block, layout);
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.reserved) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Resident bytes of the mapping alone: other tests use memory of this process meanwhile.
    fn resident(memory: &Memory) -> u64 {
        let address = memory.start.as_ptr() as usize;
        let text = std::fs::read_to_string("/proc/self/smaps").expect("it is there");
        let holds = |line: &str| {
            let (from, to) = line.split(' ').next()?.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(from)?..number(to)?).contains(&address))
        };
        let mut lines = text.lines().skip_while(|line| holds(line) != Some(true));
        let line = lines.find_map(|line| line.strip_prefix("Rss:")).expect("the mapping is listed");
        line.split_ascii_whitespace().next().expect("a number").parse::<u64>().expect("a number") * 1024
    }

    #[test]
    fn it_is_as_large_as_it_says() {
        let mut memory = Memory::new(200 << 20).expect("address space");
        memory.hold(128 << 20);
        memory.pass(64 << 20);
        assert_eq!(resident(&memory), 128 << 20, "what passes leaves nothing");
        memory.hold(16 << 20);
        assert_eq!((resident(&memory), memory.held()), (16 << 20, 16 << 20));
    }
}

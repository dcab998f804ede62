//! Checking a plan takes memory in proportion to its size, whatever its paths are like.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use syn_plan::{File, Initial, Plan};

/// Counts what is allocated, and the most at one time.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`, and `alloc` got the memory from there.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn deep_paths_take_no_more_than_others() {
    let path = |number: usize| format!("/{number:03}{}", "/a".repeat(2045));
    for initial in [Initial::Absent, Initial::Directory] {
        let files: Vec<File> = (0..30).map(|number| File { path: path(number), initial }).collect();
        let bytes: usize = files.iter().map(|file| file.path.len()).sum();
        let plan = Plan { files, ..Plan::default() };
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        assert_eq!(plan.check(), Ok(()));
        let taken = MOST.load(Relaxed) - before;
        assert!(taken < 20 * bytes, "{taken} bytes for {bytes} bytes of paths");
    }
}

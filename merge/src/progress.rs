//! The progress bar over the bytes read; silent where standard error is no terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes go by between two updates of the bar.
const STEP_BYTES: u64 = 4 << 20;

/// Counts bytes and shows them from time to time.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    unshown: AtomicU64,
}

impl Progress {
    /// A bar for `bytes` bytes in all.
    pub fn new(bytes: u64) -> Progress {
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template("{msg:<10} {bar:40} {bytes}/{total_bytes} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, unshown: AtomicU64::new(0) }
    }

    /// Names what is being done.
    pub fn stage(&self, name: &'static str) {
        self.bar.set_message(name);
    }

    /// So many further bytes were read.
    #[inline]
    pub fn read(&self, bytes: u64) {
        let unshown = self.unshown.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unshown >= STEP_BYTES {
            self.bar.inc(self.unshown.swap(0, Ordering::Relaxed));
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

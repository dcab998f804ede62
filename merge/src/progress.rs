//! The progress bar over the bytes read; silent where standard error is no terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::cell::Cell;

/// How many bytes go by between two updates of the bar.
const STEP_BYTES: u64 = 4 << 20;

/// Counts bytes and shows them from time to time.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    unshown: Cell<u64>,
}

impl Progress {
    /// A bar for `bytes` bytes in all.
    pub fn new(bytes: u64) -> Progress {
        let bar = ProgressBar::new(bytes);
        let style = ProgressStyle::with_template("{msg:<10} {bar:40} {bytes}/{total_bytes} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Progress { bar, unshown: Cell::new(0) }
    }

    /// Names what is being done.
    pub fn stage(&self, name: &'static str) {
        self.bar.set_message(name);
    }

    /// So many further bytes were read.
    #[inline]
    pub fn read(&self, bytes: u64) {
        let unshown = self.unshown.get() + bytes;
        self.unshown.set(unshown);
        if unshown >= STEP_BYTES {
            self.bar.inc(unshown);
            self.unshown.set(0);
        }
    }

    /// Takes the bar off the terminal.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

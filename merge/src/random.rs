//! Numbers for tests.

/// Pseudo-random numbers (Knuth, TAOCP 2, 3.3.4, table 1, line 26).
pub struct Random(pub u64);

impl Random {
    /// A number below `most`.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % most
    }

    /// A short time; now and then the thread is preempted.
    pub fn time_ns(&mut self) -> u64 {
        let long = if self.below(20) == 0 { self.below(600) } else { 0 };
        1 + self.below(4) + long
    }
}

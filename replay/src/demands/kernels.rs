//! Kernels: loops of known work, by what they ask of a processor.

#![allow(unsafe_code)]

use crate::burn::burn;
use crate::clock::thread_cpu_ns;
use std::hint::black_box;
use syn_plan::KERNELS;

/// What computation does; in the order of [`KERNELS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kernel {
    /// The replay's loop: integer and floating-point operations that depend on each other
    Mixed,
    /// Integer operations
    Integer,
    /// Floating-point operations, several at once
    Float,
    /// Loads, each of which needs the one before, from more memory than caches hold
    Memory,
    /// Products of matrices, by the library `matrixmultiply`
    Matrix,
}

impl Kernel {
    /// All of them.
    pub const ALL: [Kernel; 5] =
        [Kernel::Mixed, Kernel::Integer, Kernel::Float, Kernel::Memory, Kernel::Matrix];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        KERNELS[self as usize]
    }
}

/// Memory that the memory kernel goes through, entries of 64 bytes: 32 MiB.
const ENTRIES: usize = 1 << 19;
/// Rows and columns of a matrix.
const MATRIX: usize = 48;

/// A kernel with what it works on.
#[derive(Debug)]
pub struct Loop {
    kernel: Kernel,
    /// Each entry names the next one, a line of the cache apart from all others.
    chain: Vec<[u32; 16]>,
    place: u32,
    matrices: Vec<f64>,
    /// Iterations a nanosecond, as last seen.
    speed: f64,
}

impl Loop {
    /// Of this kernel, on the calling thread.
    pub fn new(kernel: Kernel) -> Loop {
        let chain = if kernel == Kernel::Memory { chain() } else { Vec::new() };
        let matrices = if kernel == Kernel::Matrix { vec![0.5; 3 * MATRIX * MATRIX] } else { Vec::new() };
        let mut new = Loop { kernel, chain, place: 0, matrices, speed: 0.01 };
        new.burn_ns(200_000);
        new
    }

    /// So many iterations.
    pub fn run(&mut self, iterations: u64) {
        match self.kernel {
            Kernel::Mixed => burn(iterations),
            Kernel::Integer => integer(iterations),
            Kernel::Float => float(iterations),
            Kernel::Memory => {
                for _ in 0..iterations {
                    self.place = self.chain[self.place as usize][0];
                }
                black_box(self.place);
            }
            Kernel::Matrix => (0..iterations).for_each(|_| self.multiply()),
        }
    }

    fn multiply(&mut self) {
        let size = MATRIX;
        let (a, rest) = self.matrices.split_at_mut(size * size);
        let (b, c) = rest.split_at_mut(size * size);
        product(size, a, b, c);
    }

    /// So much CPU time of the calling thread, nanoseconds; returns what it really took. It is measured in slices, since
    /// no processor keeps its speed.
    pub fn burn_ns(&mut self, ns: u64) -> u64 {
        /// Long against a reading of the CPU clock.
        const SLICE_NS: u64 = 1_000_000;
        /// Less is not worth a reading.
        const LEAST_NS: u64 = 1_500;
        let begun = thread_cpu_ns();
        let mut spent = 0;
        while spent + LEAST_NS < ns {
            let slice = (ns - spent).min(SLICE_NS);
            // An iteration may be long, as that of matrices is.
            let iterations = ((slice as f64 * self.speed) as u64).max(1);
            self.run(iterations);
            let now = thread_cpu_ns() - begun;
            let took = (now - spent).max(1);
            self.speed =
                if took > SLICE_NS / 20 { iterations as f64 / took as f64 } else { self.speed * 1.5 };
            spent = now;
        }
        spent
    }

    /// Iterations a nanosecond of CPU time: the median of several rounds.
    pub fn measure(&mut self) -> f64 {
        let speeds = self.rounds();
        speeds[speeds.len() / 2]
    }

    /// The same of each of 15 rounds of 4 ms, the slowest first.
    pub fn rounds(&mut self) -> Vec<f64> {
        let mut speeds: Vec<f64> = (0..15)
            .map(|_| {
                self.burn_ns(4_000_000);
                self.speed
            })
            .collect();
        speeds.sort_by(f64::total_cmp);
        speeds
    }
}

#[inline(never)]
fn integer(iterations: u64) {
    let mut value = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..iterations {
        value ^= value << 13;
        value ^= value >> 7;
        value = value.wrapping_mul(0x2545_f491_4f6c_dd1d);
    }
    black_box(value);
}

#[inline(never)]
fn float(iterations: u64) {
    let mut values = black_box([1.0_f64, 1.1, 1.2, 1.3]);
    for _ in 0..iterations {
        for value in &mut values {
            *value = *value * 0.999_999 + 0.000_001;
        }
    }
    black_box(values);
}

/// One cycle through all entries (Sattolo's algorithm), which no prefetcher foresees.
fn chain() -> Vec<[u32; 16]> {
    let mut order: Vec<u32> = (0..ENTRIES as u32).collect();
    let mut state = 0x1234_5678_9abc_def1_u64;
    for last in (1..ENTRIES).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % last as u64) as usize);
    }
    order.into_iter().map(|next| [next; 16]).collect()
}

/// `c = a b` of square matrices with `size` rows.
fn product(size: usize, a: &[f64], b: &[f64], c: &mut [f64]) {
    assert!([a.len(), b.len(), c.len()].iter().all(|&len| len >= size * size));
    let row = size as isize;
    // SAFETY: all three hold `size` rows of `size` numbers, one behind the other.
    unsafe {
        matrixmultiply::dgemm(
            size,
            size,
            size,
            1.0,
            a.as_ptr(),
            row,
            1,
            b.as_ptr(),
            row,
            1,
            0.0,
            c.as_mut_ptr(),
            row,
            1,
        );
    }
    black_box(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_the_names_that_plans_know() {
        assert_eq!(Kernel::ALL.map(Kernel::name), KERNELS);
    }

    #[test]
    fn every_kernel_takes_the_cpu_time_that_it_is_given() {
        for kernel in Kernel::ALL {
            let mut work = Loop::new(kernel);
            let took = work.burn_ns(20_000_000) as f64;
            assert!((took / 20e6 - 1.0).abs() < 0.05, "{kernel:?}: {took} ns of 20 ms");
        }
    }

    #[test]
    fn the_chain_is_one_cycle() {
        let chain = chain();
        let mut place = 0;
        for step in 1..=ENTRIES {
            place = chain[place as usize][0];
            assert_eq!(place == 0, step == ENTRIES, "back at the start after {step} steps");
        }
    }
}

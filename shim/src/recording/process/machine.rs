//! The machine as a process finds it, and what recording a call costs on it.

use crate::core::procfs::read_file;
use crate::core::{clock, sys};
use syn_trace::calls::Call;
use syn_trace::record::{self, Times};

/// What all processes of a run on one machine find alike, and whoever knows it from another need not look for.
#[derive(Clone, Copy)]
pub struct Machine {
    /// The id of the kernel's start.
    pub boot_id: [u8; 16],
    /// Ticks that recording takes: see [`costs`].
    pub costs: [u32; 3],
    /// How many processors there are.
    pub processors: u32,
}

impl Machine {
    /// Bytes in which one process leaves it for others.
    pub const BYTES: usize = 32;

    /// Looks for it.
    pub fn find() -> Machine {
        Machine { boot_id: boot_id(), costs: costs(), processors: processors() }
    }

    /// As one process leaves it for others.
    pub fn to_bytes(self) -> [u8; Machine::BYTES] {
        let mut bytes = [0; _];
        let (id, words) = bytes.split_at_mut(self.boot_id.len());
        id.copy_from_slice(&self.boot_id);
        let all = self.costs.into_iter().chain([self.processors]);
        words
            .chunks_exact_mut(size_of::<u32>())
            .zip(all)
            .for_each(|(to, word)| to.copy_from_slice(&word.to_ne_bytes()));
        bytes
    }

    /// As another has left it.
    pub fn of_bytes(bytes: &[u8; Machine::BYTES]) -> Machine {
        let (id, words) = bytes.split_at(16);
        let word = |place: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| words[4 * place + byte]));
        let mut boot_id = [0; 16];
        boot_id.copy_from_slice(id);
        Machine { boot_id, costs: [0, 1, 2].map(word), processors: word(3) }
    }
}

fn boot_id() -> [u8; 16] {
    let mut boot_id = [0; 16];
    // As many bytes as there are in front of the newline, so that one read is all.
    let mut text = [0u8; 36];
    let text = read_file(c"/proc/sys/kernel/random/boot_id", &mut text).unwrap_or(b"");
    let digits = text.iter().filter_map(|byte| char::from(*byte).to_digit(16));
    for (index, digit) in digits.take(32).enumerate() {
        boot_id[index / 2] |= (digit as u8) << (4 * (1 - index % 2));
    }
    boot_id
}

/// The name of the host, with zeros behind it.
pub fn host_name(host: &mut [u8; 64]) {
    // SAFETY: a zeroed utsname is valid, and the call fills it in.
    unsafe {
        let mut name: libc::utsname = core::mem::zeroed();
        sys::uname(&mut name);
        for (to, from) in host[..63].iter_mut().zip(name.nodename) {
            *to = from as u8;
        }
    }
}

/// Ticks that recording one call costs: outside the call, and inside its duration; and those of a CPU reading. The smallest of
/// a few batches is taken, since whatever disturbs the measurement makes it longer.
fn costs() -> [u32; 3] {
    let mut bytes = [0u8; 256];
    let (mut gap, mut call) = (u64::MAX, u64::MAX);
    for _ in 0..8 {
        let began = clock::ticks();
        let mut inside = 0;
        for _ in 0..4 {
            let before = clock::ticks();
            let after = clock::ticks();
            inside += after - before;
            let times = Times { end: 1000, took: clock::units(inside), ..Times::default() };
            let numbers = core::hint::black_box([5, 4096, 1 << 20]);
            // SAFETY: a record of integers alone fits into 192 bytes.
            unsafe {
                record::encode(None, bytes.as_mut_ptr(), Call::Pread, 0, times, 4096, &numbers, &[], &[])
            };
        }
        let all = clock::ticks() - began;
        call = call.min(inside / 4);
        gap = gap.min(all.saturating_sub(inside) / 4);
    }
    let reading = (0..3).map(|_| {
        let before = clock::ticks();
        core::hint::black_box((clock::thread_cpu_ns(), clock::voluntary_switches()));
        clock::ticks() - before
    });
    [gap, call, reading.min().unwrap_or(0)].map(|ticks| ticks.min(u64::from(u32::MAX)) as u32)
}

/// How many processors there are: those that the first process of the machine, or container, may use. This one may be bound
/// to some of them. Source: sched_getaffinity(2).
fn processors() -> u32 {
    const FIRST: usize = 1;
    let count = |pid: usize| {
        let mut set = [0u64; 128];
        let arguments = [pid, size_of_val(&set), set.as_mut_ptr() as usize, 0, 0, 0];
        // SAFETY: the set is as long as said.
        let filled = unsafe { sys::call(libc::SYS_sched_getaffinity, arguments) };
        let words = filled.max(0) as usize / size_of::<u64>();
        set.iter().take(words).map(|word| word.count_ones()).sum()
    };
    u32::max(count(FIRST), count(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_leaves_another_finds() {
        let Machine { boot_id, costs, processors } = Machine::find();
        let found = Machine::of_bytes(&Machine { boot_id, costs, processors }.to_bytes());
        assert_eq!((found.boot_id, found.costs, found.processors), (boot_id, costs, processors));
        assert!(boot_id != [0; 16] && processors > 0 && costs.iter().all(|&ticks| ticks > 0));
    }
}

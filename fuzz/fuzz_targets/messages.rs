//! The MPI calls of two or three ranks, in any order, with any arguments: a merge makes a plan of them or says why not. What comes
//! out is in order, and whether its calls match each other can be asked.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use syn_merge::{Options, merge};
use syn_trace::Call;
use syn_trace::builder::TraceBuilder;

static CALLS: LazyLock<Vec<Call>> =
    LazyLock::new(|| Call::ALL.iter().copied().filter(|call| call.layer().is_mpi()).collect());

/// The next bytes, zeros behind the last.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    /// Mostly a small number, as ranks, tags and handles are.
    fn number(&mut self) -> i64 {
        match self.next() as i8 {
            i8::MIN => i64::MIN,
            i8::MAX => i64::MAX,
            126 => i64::from(self.next()) << self.next() % 63,
            small => small.into(),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let mut data = Bytes(data);
    let ranks = 2 + i32::from(data.next() % 2);
    let mut threads: Vec<TraceBuilder> = (0..ranks)
        .map(|rank| {
            let thread = TraceBuilder::new(10 + rank as u32, 10 + rank as u32);
            thread.rank(rank, ranks).process_start("/bin/app", "/home/u", "app")
        })
        .collect();
    let mut now = 1000;
    while !data.0.is_empty() {
        let thread = &mut threads[usize::from(data.next()) % ranks as usize];
        let call = CALLS[usize::from(data.next()) % CALLS.len()];
        let (numbers, texts, lists) = call.shape();
        let numbers: Vec<i64> = (0..numbers).map(|_| data.number()).collect();
        let length = if lists > 0 { data.next() % 12 } else { 0 };
        let list: Vec<i64> = (0..length).map(|_| data.number()).collect();
        let result = data.number();
        let took = u64::from(data.next());
        now += 300;
        let made = std::mem::replace(thread, TraceBuilder::new(1, 1));
        *thread = made.call(call, now, took, result, &numbers, &vec![&b"text"[..]; texts], &list);
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    for thread in &threads {
        thread.write(folder.path()).expect("room for a small file");
    }
    let runs = vec![folder.path().to_owned()];
    let options = Options { runs, all_files: false, partial: true, without: vec![], base: None, weak: false };
    let Ok(merged) = merge(&options) else { return };
    merged.plan.check().expect("what a merge gives can be replayed");
    let _ = merged.plan.check_communication();
});

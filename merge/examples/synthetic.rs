//! Makes a run of any length, to measure the merge with: every rank writes and reads blocks of one shared file in
//! turn, each its own, or sends a message to the next rank and receives one of the rank before in turn; all meet in a
//! barrier every hundred operations.
//!
//! `cargo run --release -p syn-merge --example synthetic -- FOLDER [EVENTS [RANKS [messages]]]`

use std::path::{Path, PathBuf};
use syn_trace::Call;
use syn_trace::builder::TraceBuilder;
use syn_trace::calls::COMM_WORLD;

/// Operations between two barriers.
const ROUND: u64 = 100;
const BLOCK_BYTES: i64 = 4096;
/// Blocks of one rank; they are used again and again.
const BLOCKS: i64 = 1000;
/// From one operation to the next, and the time that one takes.
const PACE_NS: u64 = 3_000;
const TOOK_NS: u64 = 1_000;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let Some(folder) = args.next().map(PathBuf::from) else {
        eprintln!("usage: synthetic FOLDER [EVENTS [RANKS [messages]]]");
        std::process::exit(2);
    };
    let messages = args.len() == 3 && args.next_back().is_some_and(|word| word == "messages");
    let mut number = |usual: u64| args.next().map_or(Some(usual), |text| text.parse().ok());
    let (Some(events), Some(ranks)) = (number(10_000_000), number(4)) else {
        eprintln!("EVENTS and RANKS are numbers");
        std::process::exit(2);
    };
    std::fs::create_dir_all(&folder)?;
    for rank in 0..ranks.max(1) {
        write_rank(&folder, rank as i64, ranks as i64, events / ranks.max(1), messages)?;
    }
    Ok(())
}

fn write_rank(folder: &Path, rank: i64, ranks: i64, events: u64, messages: bool) -> std::io::Result<()> {
    let pid = 1000 + rank as u32;
    let late_ns = rank as u64 * 100;
    let mut builder = TraceBuilder::new(pid, pid)
        .rank(rank as i32, ranks as i32)
        .process_start("/bin/synthetic", "/home/u", "synthetic")
        .call(Call::MpiInit, 1_000, 99_000, 0, &[rank, ranks, 0], &[b"crafted"], &[])
        .call(
            Call::Open,
            101_000 + late_ns,
            2_000,
            3,
            &[0o102, 0o644, 0o100_644, 0, 9],
            &[b"shared.data"],
            &[],
        );
    let rounds = events / (ROUND + 1);
    for round in 0..rounds {
        let start_ns = 200_000 + round * (ROUND + 5) * PACE_NS;
        for nth in 0..ROUND {
            let at_ns = start_ns + late_ns + nth * PACE_NS;
            if messages {
                let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
                builder = match nth % 2 {
                    0 => builder.call(Call::MpiSend, at_ns, TOOK_NS, 0, &[8, next, 1, COMM_WORLD], &[], &[]),
                    _ => {
                        let got = [8, before, 1, COMM_WORLD, before, 1, 8];
                        builder.call(Call::MpiRecv, at_ns, TOOK_NS, 0, &got, &[], &[])
                    }
                };
                continue;
            }
            let block = ((round * ROUND + nth) / 2) as i64 % BLOCKS;
            let offset = (rank * BLOCKS + block) * BLOCK_BYTES;
            let call = if nth % 2 == 0 { Call::Pwrite } else { Call::Pread };
            builder = builder.call(call, at_ns, TOOK_NS, BLOCK_BYTES, &[3, BLOCK_BYTES, offset], &[], &[]);
        }
        let enter_ns = start_ns + late_ns + ROUND * PACE_NS;
        let leave_ns = start_ns + (ROUND + 2) * PACE_NS + late_ns;
        builder = builder.call(Call::MpiBarrier, enter_ns, leave_ns - enter_ns, 0, &[0, 0, -2, 1], &[], &[]);
    }
    let end_ns = 200_000 + rounds * (ROUND + 5) * PACE_NS;
    builder = builder.call(Call::Close, end_ns + late_ns, 500, 0, &[3], &[], &[]);
    builder
        .call(Call::MpiFinalize, end_ns + 10_000 + late_ns, 50_000, 0, &[], &[], &[])
        .write(folder)
        .map(|_| ())
}

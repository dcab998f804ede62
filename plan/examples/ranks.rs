//! A plan of many ranks, written program after program, and what it takes to open one of them.
//!
//! `cargo run --release -p syn-plan --example ranks -- write FILE RANKS STEPS` writes it: each rank has a file of its own, sends
//! to the next rank and receives from the one before. `… -- open FILE RANK` opens one rank and prints the time and the most
//! memory that was resident; `… -- load FILE` does so for the whole plan, checked.

use std::path::Path;
use std::time::Instant;
use syn_plan::{
    About, Balance, Edge, File, Initial, Io, Op, Plan, PlanFile, PlanWriter, Program, Rule, Step, Steps,
    Thread,
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let number = |text: &str| text.parse::<u32>().expect("a number");
    match words[..] {
        ["write", file, ranks, steps] => write(Path::new(file), number(ranks), number(steps)),
        ["open", file, rank] => timed(|| {
            let file = PlanFile::open(Path::new(file)).expect("a plan");
            let part = file.excerpt(file.programs_of(Some(number(rank))).expect("an index")).expect("a rank");
            part.plan.programs.iter().map(|program| program.steps.len()).sum()
        }),
        ["load", file] => timed(|| {
            let plan = Plan::load(Path::new(file)).expect("a plan");
            plan.programs.iter().map(|program| program.steps.len()).sum()
        }),
        _ => panic!("write FILE RANKS STEPS, open FILE RANK, or load FILE"),
    }
}

/// The steps of a round: computation, an I/O operation, a message to the next rank and one from the rank before.
const ROUND: u32 = 5;

fn write(path: &Path, ranks: u32, steps: u32) {
    let rounds = steps / ROUND;
    let mut writer = PlanWriter::create(path).expect("room");
    let edge = |rank: u32, round: u32| rank * rounds + round;
    for rank in 0..ranks {
        let (mut program, mut start_ns) = (Steps::default(), 0);
        let mut step = |op| {
            program.push(&Step { start_ns, took_ns: 1000, op });
            start_ns += 1500;
        };
        for round in 0..rounds {
            let write = Io::WriteAt { handle: 0, bytes: 4096, offset: u64::from(round) * 4096 };
            let open = Io::Open { file: rank, handle: 0, flags: 0o102, mode: 0o644 };
            let call = if round == 0 { open } else { write };
            step(Op::Compute { cpu_ns: 800 + u64::from(round) % 100, idle_ns: 0 });
            step(Op::Io { call, result: 0 });
            step(Op::Signal { edge: edge(rank, round) });
            step(Op::Wait { edge: edge((rank + ranks - 1) % ranks, round), count: 1, stride: 0 });
            step(Op::Compute { cpu_ns: 300, idle_ns: 0 });
        }
        let thread =
            Thread { process: rank, rank: Some(rank), pid: rank, tid: rank, ends_with_process: false };
        writer.program(&Program { thread, balance: Balance::default(), steps: program }).expect("room");
    }
    let file = |rank| File { path: format!("/data/out.{rank}"), initial: Initial::Absent };
    let plan = Plan {
        about: About { ranks, ..About::default() },
        files: (0..ranks).map(file).collect(),
        edges: vec![Edge::new(Rule::Message, 1); (ranks * rounds) as usize],
        ..Plan::default()
    };
    writer.finish(&plan).expect("room");
}

fn timed(open: impl FnOnce() -> u64) {
    let before = Instant::now();
    let steps = open();
    let ms = before.elapsed().as_secs_f64() * 1000.0;
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).expect("a peak");
    println!("{steps} steps in {ms:.1} ms, {}", peak.split_whitespace().collect::<Vec<_>>().join(" "));
}

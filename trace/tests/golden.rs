//! The format does not change by accident: the golden file of today's version is read as it always was, and what the
//! encoder writes today is that file, byte for byte. Files of earlier versions are not read.
//!
//! `SYN_BLESS=1 cargo test -p syn-trace --test golden` writes both anew, before the first release of a version.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use syn_trace::builder::{self, TraceBuilder};
use syn_trace::record::{BEGAN, INNER, LOST_AFTER, SIGNAL, WAITED_AFTER, WAITED_BEFORE};
use syn_trace::{Call, ThreadTrace, header};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// One record of each form: every flag, every argument group, every length of a length field.
fn thread() -> TraceBuilder {
    let long = [b'p'; 300];
    let requests: Vec<i64> = (0..3000).map(|number| 0x5500_0000_0000 + 96 * number).collect();
    TraceBuilder::new(4242, 4243)
        .rank(3, 8)
        .host("golden-host")
        .image(1_000)
        .header(|header| {
            header.ppid = 4200;
            header.state.store(header::STATE_THREAD_ENDED, Relaxed);
            header.gap_cost_ticks = 21;
            header.call_cost_ticks = 13;
            header.latest[1].ticks += 5_000_000_000;
            header.latest[1].monotonic_ns += 5_000_000_000;
            header.latest_index.store(1, Relaxed);
            header.dropped.store(2, Relaxed);
            header.start_cpu_ns = 700_000;
            header.process_cpu_ns.store(3_000_000_000, Relaxed);
            header.end_ticks.store(header.start.ticks + 9_000_000_000, Relaxed);
            header.end_cpu_ns.store(2_000_000_000, Relaxed);
            header.reading_cost_ticks = 1_400;
            header.processors = 16;
            header.setup_cpu_ns = 300_000;
            header.setup_ticks.store(800_000, Relaxed);
            header.behind[0].add(150);
            header.behind[1].add(900);
            header.behind[1].add(700);
        })
        .process_start("/usr/bin/app", "/home/u", "app -i in.txt")
        .call(Call::Openat, 10_000, 2_000, 3, &[-100, 0o101, 0o644, 0o100_644, 0, 77], &[b"out\xff"], &[])
        .cpu(Some(123_456), None)
        .call(Call::Write, 500_000, 900, 4096, &[3, 4096], &[], &[])
        .cpu(Some(1), Some(99))
        .flags(WAITED_BEFORE | WAITED_AFTER)
        .call(Call::Pread, 900_000, 70_000, 100, &[3, 4096, 1 << 40], &[], &[])
        .cpu(Some(40_000), None)
        .call(Call::Entered, 980_000, 0, 0, &[Call::Fflush as i64], &[], &[])
        .flags(INNER | LOST_AFTER)
        .call(Call::Write, 985_000, 9_000, 10, &[3, 10], &[], &[])
        .call(Call::Fflush, 980_000, 15_000, 0, &[3], &[], &[])
        .fail(Call::Rename, 1_000_000, 10, 2, &[], &[&long, b"/b"])
        .flags(INNER)
        .call(Call::Lseek, 1_000_100, 10, 0, &[3, -5, 1], &[], &[])
        .flags(SIGNAL)
        .call(Call::Sync, 1_000_200, 0, 0, &[], &[], &[])
        .call(Call::Sync, 1_000_300, 0, 0, &[], &[], &[])
        .call(Call::Sync, 1_000_400, 7, 0, &[], &[], &[])
        .cpu(Some(5), None)
        .call(Call::Sync, 1_000_500, 7, 0, &[], &[], &[])
        .call(Call::Repeats, 1_000_600, 90, 0, &[3, 2], &[], &[])
        .call(Call::Unlink, 1_000_700, 9, 0, &[], &[b"/a/long/folder/one"], &[])
        .call(Call::Rename, 1_000_800, 9, 0, &[], &[b"/a/long/folder/two", b"/a/long/folder/"], &[])
        .call(Call::MpiStartall, 2_000_000, 400, 0, &[3000], &[], &requests)
        .call(Call::MpiWaitany, 3_000_000, 1 << 33, 0, &[2, 1], &[], &[0x5500_0000_0000, -2, -1, i64::MIN])
        .flags(BEGAN)
        .call(Call::Exit, 9_000_000_000, 0, 0, &[1], &[], &[])
}

/// Everything a reader gets from the file.
fn describe(trace: &ThreadTrace) -> String {
    let head = trace.header();
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments<'_>| writeln!(out, "{text}").unwrap();
    line(format_args!("version {} pid {} tid {} ppid {}", head.version, head.pid, head.tid, head.ppid));
    line(format_args!(
        "clock {} tick_shift {} state {}",
        head.clock,
        head.tick_shift,
        head.state.load(Relaxed)
    ));
    line(format_args!(
        "rank {} of {} mpi {:?}",
        head.rank.load(Relaxed),
        head.ranks.load(Relaxed),
        header::mpi_name(head.mpi.load(Relaxed))
    ));
    line(format_args!("costs {} {} {}", head.gap_cost_ticks, head.call_cost_ticks, head.reading_cost_ticks));
    line(format_args!(
        "cpu {} process {} end {} at {} processors {}",
        head.start_cpu_ns,
        head.process_cpu_ns.load(Relaxed),
        head.end_cpu_ns.load(Relaxed),
        head.end_ticks.load(Relaxed),
        head.processors
    ));
    let means = head.behind.each_ref().map(header::Behind::mean);
    line(format_args!("set up {} {} behind {means:?}", head.setup_cpu_ns, head.setup_ticks.load(Relaxed)));
    line(format_args!("capabilities {:#x}", head.capabilities.load(Relaxed)));
    line(format_args!("process start {} real time {}", head.process_start_ns, head.start_realtime_ns));
    line(format_args!("start {:?}", head.start));
    line(format_args!("latest {:?}", trace.latest()));
    line(format_args!("dropped {}", head.dropped.load(Relaxed)));
    line(format_args!("boot {} host {}", head.boot_id.escape_ascii(), trace.host()));
    let mut events = trace.events();
    for event in events.by_ref() {
        let (numbers, texts, _) = event.call.shape();
        let texts: Vec<String> =
            event.texts[..texts].iter().map(|text| text.bytes().escape_ascii().to_string()).collect();
        let list: Vec<i64> = event.list.iter().collect();
        line(format_args!(
            "{:>6} {} flags {:#04x} {}..{} cpu {:?} {:?} = {} errno {} {:?} {texts:?} {} {:?}",
            event.offset,
            event.call.name(),
            event.flags,
            event.start,
            event.end,
            event.cpu_before,
            event.cpu_after,
            event.result,
            event.errno,
            &event.numbers[..numbers],
            list.len(),
            &list[list.len().saturating_sub(4)..],
        ));
    }
    line(format_args!("{:?} after {} bytes", events.ending(), events.bytes_read()));
    out
}

/// That thread and another one of its process, in turns.
fn bytes() -> Vec<u8> {
    let other = TraceBuilder::new(4242, 4244).host("golden-host").image(1_000).starts(2_000_000);
    let other = (0..20).fold(other, |thread, at| {
        thread.call(Call::Read, 2_100_000 + 1_000 * at, 500, at as i64, &[5, 64], &[], &[])
    });
    builder::file(&[&thread(), &other], 9)
}

/// What is in a file.
fn read(file: &Path) -> String {
    let traces = ThreadTrace::open_all(file).unwrap();
    traces.into_iter().map(|trace| describe(&trace.unwrap())).collect()
}

#[test]
fn the_golden_file_is_read_as_ever_and_written_as_ever() {
    let [file, text] = ["trace", "txt"].map(|kind| golden(&format!("v{}.{kind}", header::VERSION)));
    if std::env::var_os("SYN_BLESS").is_some() {
        std::fs::write(&file, bytes()).unwrap();
        std::fs::write(&text, read(&file)).unwrap();
    }
    assert_eq!(read(&file), std::fs::read_to_string(&text).unwrap(), "what the golden file reads as");
    assert!(!read(&file).contains("Damaged"), "its end");
    assert!(bytes() == std::fs::read(&file).unwrap(), "the encoder writes other bytes than it did");
}

//! Who goes through a trace once holds little of it in memory.

use syn_trace::builder::TraceBuilder;
use syn_trace::pack::{Packer, Times};
use syn_trace::{Call, Event, ThreadTrace};

const EVENTS: u64 = 5_000;
/// The page cache may hold a file in pieces of 2 MiB, each of which is mapped as a whole.
const MOST_KIB: u64 = 5 << 10;

fn trace() -> TraceBuilder {
    let mut builder = TraceBuilder::new(7, 7).process_start("/bin/x", "/", "x");
    for nth in 0..EVENTS {
        let name = format!("{nth:08}{}", "x".repeat(3000));
        builder = builder.call(Call::Unlink, 1_000 * (nth + 1), 100, 0, &[], &[name.as_bytes()], &[]);
    }
    builder
}

/// KiB of all mappings of files with this in their names that are in memory.
fn resident_kib(name: &str) -> u64 {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut found = 0;
    let mut counts = false;
    for line in maps.lines() {
        if line.split('-').next().is_some_and(|start| u64::from_str_radix(start, 16).is_ok()) {
            counts = line.contains(name);
        } else if let (true, Some(rss)) = (counts, line.strip_prefix("Rss:")) {
            found += rss.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap();
        }
    }
    found
}

fn read(trace: &ThreadTrace, name: &str) {
    let all: Vec<Event<'_>> = trace.events().collect();
    assert!(resident_kib(name) > 2 * MOST_KIB, "a large trace");
    let (mut events, mut event, mut most) = (trace.events(), Event::NOTHING, 0);
    let mut nth = 0;
    while events.next_into(&mut event) {
        assert_eq!((event.end, event.texts[0].bytes()), (all[nth].end, all[nth].texts[0].bytes()));
        nth += 1;
        if nth.is_multiple_of(10) {
            events.let_go();
        }
    }
    assert_eq!(nth, all.len());
    // Once more, without looking at what the first time has left.
    let mut events = trace.events();
    for nth in 1.. {
        if !events.next_into(&mut event) {
            break;
        }
        if nth % 10 == 0 {
            events.let_go();
        }
        if nth % 500 == 0 {
            most = resident_kib(name).max(most);
        }
    }
    assert!(most < MOST_KIB, "{most} KiB");
}

#[test]
fn what_was_read_is_let_go_and_read_again_where_it_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let path = trace().write(folder.path()).unwrap();
    read(&ThreadTrace::open(&path).unwrap(), path.file_name().unwrap().to_str().unwrap());
    // The same packed: it is unpacked into a file that has no name.
    let packed = folder.path().join("x.pack");
    let mut packer = Packer::new(Times::Exact);
    let contiguous = ThreadTrace::open(&path).unwrap().contiguous();
    packer.add("7-7-1", &contiguous).unwrap();
    std::fs::write(&packed, packer.finish()).unwrap();
    read(&ThreadTrace::open(&packed).unwrap(), "(deleted)");
}

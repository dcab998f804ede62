//! Where a thread's time went, from records whose answer is known.

use std::sync::atomic::Ordering::Relaxed;
use syn_trace::builder::TraceBuilder;
use syn_trace::record::{INNER, KEPT_BEFORE, LOST_AFTER, LOST_BEFORE, WAITED_AFTER, WAITED_BEFORE};
use syn_trace::run::{Measured, Segment, Startup};
use syn_trace::{Call, Run};

/// The segments of a thread's events, and what lies behind the last of them.
fn measure(builder: TraceBuilder) -> (Vec<Measured>, Option<Segment>, i64) {
    let folder = tempfile::tempdir().unwrap();
    builder.write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let thread = &run.threads[0];
    let mut events = thread.measured();
    let measured = events.by_ref().map(|(_, measured)| measured).collect();
    (measured, events.measures().rest(), events.measures().residual_ns())
}

/// Length, CPU time, waiting.
fn parts(segment: Segment) -> (u64, u64, u64) {
    (segment.wall_ns, segment.cpu_ns, segment.waited_ns)
}

fn read(builder: TraceBuilder, start_ns: u64, took_ns: u64) -> TraceBuilder {
    builder.call(Call::Read, start_ns, took_ns, 10, &[3, 10], &[], &[])
}

#[test]
fn where_nothing_was_lost_all_of_it_is_cpu_time() {
    let (found, rest, _) = measure(read(read(TraceBuilder::new(1, 1), 1_000, 500), 500_000_000, 300));
    assert_eq!(parts(found[0].before), (1_000, 1_000, 0));
    assert_eq!(parts(found[1].before), (499_998_500, 499_998_500, 0));
    assert_eq!((found[1].before.inside, found[1].call.inside), (None, Some(Call::Read)));
    assert!(rest.is_none(), "its end is not on record");
}

#[test]
fn a_reading_tells_what_was_waiting_and_what_preemption() {
    let builder = read(TraceBuilder::new(1, 1).cpu(Some(700), Some(80)).flags(WAITED_BEFORE), 1_000, 500);
    let builder = read(builder.cpu(Some(100), Some(50)).flags(WAITED_AFTER), 3_500, 400);
    let (found, ..) = measure(builder);
    assert_eq!((parts(found[0].before), parts(found[0].call)), ((1_000, 700, 300), (500, 80, 0)));
    assert_eq!(found[0].call.preempted_ns(), 420);
    assert_eq!((parts(found[1].before), parts(found[1].call)), ((2_000, 100, 0), (400, 50, 350)));
    assert_eq!(found[1].before.preempted_ns(), 1_900);
}

#[test]
fn what_lost_its_processor_unread_shares_what_the_next_reading_leaves() {
    // Three reads of 1000, 2000 and 1000 block for most of it; the clock is read behind the third.
    let mut builder = TraceBuilder::new(1, 1);
    builder = read(builder.flags(LOST_AFTER), 1_000, 1_000);
    builder = read(builder.flags(LOST_AFTER), 3_000, 2_000);
    // 3000 between the calls, and 400 in them.
    builder = read(builder.cpu(None, Some(3_400)).flags(WAITED_AFTER), 6_000, 1_000);
    builder = read(builder, 8_000, 100);
    let (found, _, residual) = measure(builder);
    let cpu: Vec<u64> = found.iter().flat_map(|one| [one.before.cpu_ns, one.call.cpu_ns]).collect();
    assert_eq!(cpu, [1_000, 100, 1_000, 200, 1_000, 100, 1_000, 100]);
    assert_eq!([0, 1, 2].map(|index: usize| found[index].call.waited_ns), [900, 1_800, 900]);
    assert_eq!(residual, 0);
}

#[test]
fn a_reading_behind_a_segment_that_kept_its_processor_tells_of_those_before() {
    // A wait for a condition of 1000, and 40 until the next call, at whose entry the clock is read.
    let builder = read(TraceBuilder::new(1, 1).flags(LOST_AFTER), 1_000, 1_000);
    let builder = read(builder.cpu(Some(1_140), None).flags(WAITED_BEFORE | KEPT_BEFORE), 2_040, 30);
    let (found, _, residual) = measure(builder);
    assert_eq!((parts(found[0].before), parts(found[0].call)), ((1_000, 1_000, 0), (1_000, 100, 900)));
    assert_eq!((parts(found[1].before), parts(found[1].call)), ((40, 40, 0), (30, 30, 0)));
    assert_eq!(residual, 0);
}

#[test]
fn waits_for_locks_get_what_computation_leaves() {
    // 300 until a lock is had, 700 with it, of which 100 the processor was another's; no other waiting.
    let locked = TraceBuilder::new(1, 1).flags(LOST_AFTER);
    let locked = locked.call(Call::MutexLock, 1_000, 300, 0, &[7], &[], &[]);
    let builder = locked.cpu(Some(1_600), None);
    let (found, _, residual) = measure(builder.call(Call::MutexUnlock, 2_000, 30, 0, &[7], &[], &[]));
    assert_eq!((parts(found[0].before), parts(found[0].call)), ((1_000, 1_000, 0), (300, 0, 300)));
    assert_eq!((parts(found[1].before), found[1].before.preempted_ns()), ((700, 600, 0), 100));
    assert_eq!(residual, 0);
}

#[test]
fn a_reading_at_the_return_tells_of_the_gap_before_the_same_call() {
    let builder = TraceBuilder::new(1, 1).cpu(None, Some(600)).flags(LOST_BEFORE | WAITED_AFTER);
    let (found, _, residual) = measure(read(builder, 1_000, 500));
    assert_eq!((parts(found[0].before), parts(found[0].call)), ((1_000, 400, 600), (500, 200, 300)));
    assert_eq!(residual, 0);
}

#[test]
fn what_no_reading_tells_of_is_unmeasured() {
    let builder = read(TraceBuilder::new(1, 1).flags(LOST_AFTER), 1_000, 700);
    let (found, ..) = measure(read(builder, 2_000, 10));
    assert_eq!((found[0].call.cpu_ns, found[0].call.unmeasured_ns), (0, 700));
    assert_eq!((found[1].before.cpu_ns, found[1].before.unmeasured_ns), (300, 0));
}

#[test]
fn readings_that_cannot_be_leave_a_residual() {
    let builder = read(TraceBuilder::new(1, 1).cpu(Some(5_000), None), 1_000, 100);
    assert_eq!(measure(builder).2, -4_000, "more CPU time than time");
}

#[test]
fn what_a_host_took_is_missing_in_the_long_stretches() {
    // Two long stretches of computing and a short one, all with the processor kept; the clock lacks a tenth of the long ones.
    let mut builder = read(TraceBuilder::new(1, 1), 100_000, 500);
    builder = read(builder, 101_500, 500);
    builder = read(builder.cpu(None, Some(280_500 + 2_000)), 302_000, 500);
    let (found, _, residual) = measure(builder);
    assert_eq!(parts(found[0].before), (100_000, 93_500, 0));
    assert_eq!(found[0].before.preempted_ns(), 6_500, "ready to run, and without a processor");
    assert_eq!(
        (found[0].call.cpu_ns, found[1].before.cpu_ns),
        (500, 1_000),
        "short ones are taken to be whole"
    );
    assert_eq!((found[2].before.cpu_ns, found[2].call.cpu_ns), (187_000, 0));
    assert_eq!(residual, 0);
}

#[test]
fn long_stretches_do_not_wait_for_a_reading_for_ever() {
    const EVENTS: u64 = 10_000;
    let mut builder = read(TraceBuilder::new(1, 1), 1_000_000, 100);
    for event in 0..EVENTS {
        builder = read(builder, 1_000_200 + event * 200, 100);
    }
    let known_ns = 1_000_100 + EVENTS * 200;
    let (found, _, residual) = measure(builder.cpu(Some(known_ns - 300_000), None).call(
        Call::Read,
        known_ns + 200,
        100,
        10,
        &[3, 10],
        &[],
        &[],
    ));
    assert_eq!(found[0].before.cpu_ns, 1_000_000, "handed out before the reading came");
    assert_eq!(found.last().unwrap().before.cpu_ns, 0);
    assert_eq!(residual, 300_000, "and what cannot be put anywhere any more is said");
}

#[test]
fn a_call_around_others_keeps_the_gap_before_it() {
    let builder = TraceBuilder::new(1, 1)
        .cpu(Some(200_000), None)
        .call(Call::Entered, 300_000, 0, 0, &[Call::Fflush as i64], &[], &[])
        .flags(INNER)
        .call(Call::Write, 301_000, 5_000, 8, &[3, 8], &[], &[])
        .call(Call::Fflush, 300_000, 8_000, 0, &[3], &[], &[]);
    let (found, ..) = measure(read(builder, 400_000, 10));
    assert_eq!((parts(found[0].before), found[0].before.inside), ((300_000, 200_000, 0), None));
    assert_eq!((parts(found[1].before), found[1].before.inside), ((1_000, 1_000, 0), Some(Call::Fflush)));
    assert_eq!((parts(found[2].before), parts(found[2].call)), ((0, 0, 0), (2_000, 2_000, 0)));
    assert_eq!(found[3].before.inside, None, "the flush is over");
}

#[test]
fn a_signal_inside_a_call_makes_waiting_of_its_waiting() {
    // A read that waits, is interrupted by a handler that reads itself, and waits again.
    let builder = TraceBuilder::new(1, 1).call(Call::Entered, 1_000, 0, 0, &[Call::Read as i64], &[], &[]);
    let builder = builder.cpu(Some(1_010), None).flags(WAITED_BEFORE);
    let builder = builder.call(Call::SignalDelivered, 901_000, 0, 0, &[17], &[], &[]);
    let builder = read(builder, 902_000, 500);
    let builder = read(builder.cpu(None, Some(1_600)).flags(WAITED_AFTER), 1_000, 1_999_000);
    let (found, ..) = measure(read(builder, 2_001_000, 10));
    assert_eq!((parts(found[1].before), found[1].before.inside), ((900_000, 10, 899_990), Some(Call::Read)));
    assert_eq!(parts(found[2].call), (500, 500, 0));
    // 1600 since the arrival: 1000 of the handler, 500 of its read, 100 of the rest.
    assert_eq!(parts(found[3].call), (1_097_500, 100, 1_097_400));
    assert_eq!((parts(found[4].before), found[4].before.inside), ((1_000, 1_000, 0), None));
}

#[test]
fn what_follows_a_jump_is_not_inside_the_call_that_was_left() {
    let builder = TraceBuilder::new(1, 1)
        .call(Call::Entered, 1_000, 0, 0, &[Call::Select as i64], &[], &[])
        .call(Call::SignalDelivered, 2_000, 0, 0, &[10], &[], &[])
        .call(Call::Entered, 2_100, 0, 0, &[0], &[], &[]);
    let (found, ..) = measure(read(builder, 5_000, 10));
    assert_eq!((found[2].before.inside, found[3].before.inside), (Some(Call::Select), None));
}

#[test]
fn a_thread_without_calls_has_what_its_end_says() {
    let builder = TraceBuilder::new(1, 2).header(|header| {
        header.start_cpu_ns = 40_000;
        header.end_ticks.store(header.start.ticks + 1_000_000, Relaxed);
        header.end_cpu_ns.store(640_000, Relaxed);
    });
    let builder = builder.call(Call::ThreadStart, 100, 0, 0, &[9, 1], &[], &[]);
    let (_, rest, residual) = measure(builder);
    assert_eq!(rest.map(parts), Some((999_900, 599_900, 400_000)));
    assert_eq!(residual, 0);
}

#[test]
fn long_stretches_that_nobody_could_read_are_unmeasured() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        header.capabilities.fetch_and(!syn_trace::header::SEES_PREEMPTION, Relaxed);
    });
    let (found, ..) = measure(read(read(builder, 1_000, 50_000), 900_000, 10));
    assert_eq!(
        (found[0].call.cpu_ns, found[0].call.unmeasured_ns),
        (50_000, 0),
        "short ones are taken to be work"
    );
    assert_eq!((found[1].before.cpu_ns, found[1].before.unmeasured_ns), (0, 849_000));
}

#[test]
fn costs_of_recording_are_taken_off_and_told() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        (header.gap_cost_ticks, header.call_cost_ticks, header.reading_cost_ticks) = (20, 5, 1_000);
    });
    let builder = read(builder, 1_000, 500);
    let builder = read(builder.cpu(Some(4_000), Some(400)), 3_500, 500);
    let (found, ..) = measure(read(builder.flags(LOST_BEFORE), 8_000, 100));
    assert_eq!((found[0].before.recording_ns, found[0].call.recording_ns), (0, 5));
    assert_eq!((found[1].before.wall_ns, found[1].before.recording_ns), (980, 1_020));
    assert_eq!((found[2].before.wall_ns, found[2].before.recording_ns), (2_980, 1_020));
}

/// What was seen behind calls counts for more than what was found at the start, by whether they name a path.
#[test]
fn costs_seen_behind_calls_are_taken_off() {
    let open = |builder: TraceBuilder, start| {
        builder.call(Call::Open, start, 100, 3, &[0, 0, 0, 0, 0], &[b"f"], &[])
    };
    let builder = TraceBuilder::new(1, 1).header(|header| {
        (header.gap_cost_ticks, header.call_cost_ticks) = (20, 5);
        header.behind[0].add(20);
        header.behind[0].add(40);
        header.behind[1].add(600);
    });
    let builder = open(read(builder, 1_000, 100), 2_000);
    let (found, ..) = measure(read(builder, 4_000, 100));
    let costs: Vec<u64> = found.iter().map(|measured| measured.before.recording_ns).collect();
    // To enter a call is half of it, up to four times what recording adds to the call.
    assert_eq!(costs, [0, 45, 620]);
}

/// So do the readings of the clock that were seen.
#[test]
fn costs_of_readings_that_were_seen_are_taken_off() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        header.reading_cost_ticks = 500;
        header.readings.add(1_000);
        header.readings.add(2_000);
    });
    let builder = read(builder, 1_000, 100);
    let (found, ..) = measure(read(builder.cpu(Some(4_000), Some(100)), 4_000, 100));
    assert_eq!((found[1].before.wall_ns, found[1].before.recording_ns), (1_400, 1_500));
}

/// By ptrace, a thread without a processor stands still for the recorder, unless it waits.
#[test]
fn what_ptrace_stops_is_recording() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        header.capabilities.store(syn_trace::header::BY_PTRACE, Relaxed);
        header.gap_cost_ticks = 1_000;
    });
    let builder = read(builder.cpu(Some(2_000), Some(3_000)), 10_000, 20_000);
    let (found, ..) = measure(read(builder.cpu(Some(4_000), Some(0)).flags(WAITED_BEFORE), 90_000, 10));
    let parts =
        |segment: Segment| (segment.cpu_ns, segment.waited_ns, segment.preempted_ns(), segment.recording_ns);
    assert_eq!((parts(found[0].before), parts(found[0].call)), ((2_000, 0, 0, 8_000), (3_000, 0, 0, 17_000)));
    assert_eq!(parts(found[1].before), (4_000, 55_000, 0, 1_000));
}

/// What ptrace's recorder notes while the thread stands still is no work of the thread's: the next reading tells.
#[test]
fn what_ptrace_notes_has_the_next_reading() {
    let builder = TraceBuilder::new(1, 1)
        .header(|header| header.capabilities.store(syn_trace::header::BY_PTRACE, Relaxed));
    let builder = read(read(builder, 30_000, 0).cpu(Some(8_000), None), 40_000, 0);
    let (found, ..) = measure(builder);
    let cpu = |at: usize| found[at].before.cpu_ns;
    assert_eq!((cpu(0), cpu(1)), (6_000, 2_000));
}

/// Until it is ready, the recorder is at work, whatever stands on record meanwhile.
#[test]
fn setting_up_is_recording() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        header.setup_ticks.store(3_000, Relaxed);
        (header.start_cpu_ns, header.setup_cpu_ns) = (50_000, 30_000);
    });
    let builder = read(read(builder, 1_000, 0), 5_000, 10);
    let folder = tempfile::tempdir().unwrap();
    builder.write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let found: Vec<Measured> = run.threads[0].measured().map(|(_, measured)| measured).collect();
    let parts = |segment: Segment| (segment.wall_ns, segment.recording_ns);
    assert_eq!((parts(found[0].before), parts(found[1].before)), ((0, 1_000), (2_000, 2_000)));
    let before = run.cpu_before();
    assert_eq!(run.startup(0, &before), Startup { cpu_ns: 20_000, recording_ns: 30_000 });
    assert_eq!(run.began_ns(0, &before), 0, "{}", run.threads[0].clock.start_ns);
    assert_eq!(run.balances().threads[0].cpu_ns(), 20_000 + 30_000 + 3_000 + 2_000 + 10);
}

/// A damaged header may say anything of what recording cost: no more is taken off than there is.
#[test]
fn costs_that_cannot_be_take_all_and_no_more() {
    let builder = TraceBuilder::new(1, 1).header(|header| {
        header.setup_ticks.store(u64::MAX, Relaxed);
        header.behind[0].ticks.store(u64::MAX, Relaxed);
        header.behind[0].calls.store(1, Relaxed);
        header.setup_cpu_ns = u64::MAX;
    });
    let (found, ..) = measure(read(read(builder, 1_000, 100), 5_000, 10));
    assert_eq!((found[1].before.wall_ns, found[1].before.recording_ns), (0, 3_900));
}

/// Of one of many threads fewer events wait for a reading. What a host took (2 ms of the 100 at the start) is then put
/// elsewhere or left open; the sum stays what the clock said.
#[test]
fn one_of_many_threads_holds_back_less() {
    let mut builder = read(TraceBuilder::new(1, 1), 100_000_000, 1_000);
    for number in 1..2_000 {
        builder = read(builder, 100_000_000 + number * 2_000, 1_000);
    }
    let end_ns = 100_000_000 + 2_000 * 2_000;
    let builder = read(builder.cpu(Some(end_ns - 2_000_000), None), end_ns, 1_000);
    let folder = tempfile::tempdir().unwrap();
    builder.write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let cpu_of = |threads: usize| {
        let mut events = run.threads[0].measured_among(threads);
        let measured: Vec<Measured> = events.by_ref().map(|(_, measured)| measured).collect();
        let sum: u64 = measured.iter().map(|measured| measured.before.cpu_ns + measured.call.cpu_ns).sum();
        (measured.len(), measured[0].before.cpu_ns, sum as i64 - events.measures().residual_ns())
    };
    let (count, first, sum) = cpu_of(1);
    // The gap in front of the reading, 1 µs, is taken to have been without the processor first.
    assert_eq!((count, first), (2_001, 98_001_000), "it waited for the reading");
    assert_eq!(cpu_of(1 << 20), (count, 100_000_000, sum), "it was handed out before");
}

#[test]
fn how_long_a_run_took_does_not_depend_on_how_the_clocks_of_its_hosts_differ() {
    let folder = tempfile::tempdir().unwrap();
    read(TraceBuilder::new(1, 1).host("one"), 3_000, 500).write(folder.path()).unwrap();
    let ahead = TraceBuilder::new(2, 2).host("two").image(50_000_000);
    read(ahead, 50_004_000, 500).write(folder.path()).unwrap();
    let run = Run::open(folder.path()).unwrap();
    let (start_ns, end_ns) = run.application_span_ns().unwrap();
    assert_eq!(end_ns - start_ns, 4_500);
}

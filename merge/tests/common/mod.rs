//! Runs as text, and plans as text.
//!
//! A run is a list of threads; times are nanoseconds since the start of the run:
//!
//! ```text
//! thread rank=0/2 pid=10                    (also: tid, ppid, host, job, starts, image, command, cwd,
//!                                            dropped, launcher, opaque, outside, ready; ended=NS/CPU: with its process;
//!                                            before=CPU/SETUP: used before it started, of it by the recorder)
//!   100 +50 MPI_Send bytes=8 dest=1 tag=5 comm=1
//!   200 +30 open flags=0o102 pathname=/w/a !2          (failed with errno 2)
//!   300 +10 read fd=3 count=100 = 40                   (result 40; if not said: 0, or what was asked for)
//!   400 +20 MPI_Waitall incount=1 outcount=1 [77 0 5 8]
//!   500 +90 fork = 11 ; inner waited began cpu=-/40    (flags; CPU readings before and after)
//! ```
//!
//! Arguments that are not named are 0 or empty. A process's first thread begins with its `process-start`.

use std::path::Path;
use syn_trace::builder::TraceBuilder;
use syn_trace::calls::Call;
use syn_trace::header::{BEGAN_READY, BY_PTRACE, PROCESS_ONLY, SEES_LIBC_INTERNAL, STATE_PROCESS_ENDED};
use syn_trace::record;

/// Writes the run that `text` describes into `folder`.
pub fn write_run(text: &str, folder: &Path) {
    let mut builder: Option<TraceBuilder> = None;
    for line in
        text.lines().map(|line| line.split('#').next().unwrap_or("").trim()).filter(|line| !line.is_empty())
    {
        if let Some(words) = line.strip_prefix("thread") {
            builder.replace(thread(words)).map(|done| done.write(folder).expect("a trace is written"));
        } else {
            let before = builder.take().expect("a call stands below a thread");
            builder = Some(event(before, line));
        }
    }
    builder.map(|done| done.write(folder).expect("a trace is written"));
}

fn number(text: &str) -> i64 {
    let parsed = match text.strip_prefix("0o") {
        Some(octal) => i64::from_str_radix(octal, 8),
        None => text.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("{text} is no number"))
}

fn thread(words: &str) -> TraceBuilder {
    let fields: Vec<(&str, &str)> =
        words.split_whitespace().map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
    let field = |name: &str| fields.iter().find(|field| field.0 == name).map(|field| field.1);
    let number_of = |name: &str| field(name).map(|text| number(text) as u64);
    let pid = number_of("pid").expect("a thread has a pid") as u32;
    let tid = number_of("tid").map_or(pid, |tid| tid as u32);
    let mut builder = TraceBuilder::new(pid, tid);
    if let Some((rank, ranks)) = field("rank").and_then(|rank| rank.split_once('/')) {
        builder = builder.rank(number(rank) as i32, number(ranks) as i32);
    }
    if let Some(job) = number_of("job") {
        builder = builder.job(job);
    }
    if let Some(host) = field("host") {
        builder = builder.host(host);
    }
    if let Some(image) = number_of("image") {
        builder = builder.image(image);
    }
    if let Some(starts) = number_of("starts") {
        builder = builder.starts(starts);
    }
    builder = builder.header(|header| {
        header.ppid = number_of("ppid").unwrap_or(1) as u32;
        if field("launcher").is_some() {
            header.capabilities.fetch_or(PROCESS_ONLY, std::sync::atomic::Ordering::Relaxed);
        }
        if field("exited").is_some() {
            header.state = STATE_PROCESS_ENDED.into();
        }
        if field("outside").is_some() {
            header.capabilities.fetch_or(BY_PTRACE, std::sync::atomic::Ordering::Relaxed);
        }
        if field("ready").is_some() {
            header.capabilities.fetch_or(BEGAN_READY, std::sync::atomic::Ordering::Relaxed);
        }
        if let Some((cpu, setup)) = field("before").and_then(|before| before.split_once('/')) {
            (header.start_cpu_ns, header.setup_cpu_ns) = (number(cpu) as u64, number(setup) as u64);
        }
        if field("opaque").is_some() {
            header.capabilities.fetch_and(!SEES_LIBC_INTERNAL, std::sync::atomic::Ordering::Relaxed);
        }
        if let Some((at, cpu)) = field("ended").and_then(|ended| ended.split_once('/')) {
            let since = number(at) as u64 - number_of("starts").unwrap_or(0);
            header.end_ticks.store(header.start.ticks + since, std::sync::atomic::Ordering::Relaxed);
            header.end_cpu_ns.store(number(cpu) as u64, std::sync::atomic::Ordering::Relaxed);
        }
        if let Some(dropped) = number_of("dropped") {
            header.dropped.store(dropped, std::sync::atomic::Ordering::Relaxed);
        }
    });
    if tid != pid {
        return builder;
    }
    let at = number_of("starts").or(number_of("image")).unwrap_or(0);
    let command = field("command").unwrap_or("app");
    let cwd = field("cwd").unwrap_or("/w");
    builder.call(Call::ProcessStart, at, 0, 0, &[1], &[b"/bin/app", cwd.as_bytes(), command.as_bytes()], &[])
}

fn event(builder: TraceBuilder, line: &str) -> TraceBuilder {
    let (line, flags) = line.split_once(';').unwrap_or((line, ""));
    let (line, list) = line.split_once('[').unwrap_or((line, ""));
    let list: Vec<i64> = list.trim_end().trim_end_matches(']').split_whitespace().map(number).collect();
    let mut words = line.split_whitespace();
    let start_ns = number(words.next().expect("a start")) as u64;
    let took_ns = number(words.next().and_then(|word| word.strip_prefix('+')).expect("a duration")) as u64;
    let name = words.next().expect("a call");
    let call = Call::from_name(name).unwrap_or_else(|| panic!("{name} is no call"));
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    for arg in call.args() {
        if arg.kind.is_number() {
            numbers.push((arg.name, 0i64));
        } else if arg.kind.is_text() {
            texts.push((arg.name, ""));
        }
    }
    let (mut result, mut errno, mut expect_result) = (None, None, false);
    for word in words {
        if expect_result {
            result = Some(number(word));
        } else if let Some(text) = word.strip_prefix('!') {
            errno = Some(number(text) as i32);
        } else if let Some((name, value)) = word.split_once('=').filter(|(name, _)| !name.is_empty()) {
            if let Some(place) = numbers.iter_mut().find(|place| place.0 == name) {
                place.1 = number(value);
            } else {
                texts
                    .iter_mut()
                    .find(|place| place.0 == name)
                    .unwrap_or_else(|| panic!("{line}: no argument {name}"))
                    .1 = value;
            }
        }
        expect_result = word == "=";
    }
    let numbers: Vec<i64> = numbers.into_iter().map(|place| place.1).collect();
    let texts: Vec<&[u8]> = texts.into_iter().map(|place| place.1.as_bytes()).collect();
    let builder = flagged(builder, flags);
    match errno {
        Some(errno) => builder.fail(call, start_ns, took_ns, errno, &numbers, &texts),
        None => {
            let usual = call.requested().map_or(0, |position| numbers[position]);
            builder.call(call, start_ns, took_ns, result.unwrap_or(usual), &numbers, &texts, &list)
        }
    }
}

fn flagged(mut builder: TraceBuilder, flags: &str) -> TraceBuilder {
    let mut bits = 0;
    for word in flags.split_whitespace() {
        match word {
            "inner" => bits |= record::INNER,
            "waited" => bits |= record::WAITED_BEFORE | record::WAITED_AFTER,
            "lost" => bits |= record::LOST_AFTER,
            "began" => bits |= record::BEGAN,
            _ => {
                let (before, after) =
                    word.strip_prefix("cpu=").and_then(|cpu| cpu.split_once('/')).expect("a flag");
                let reading = |text: &str| (text != "-").then(|| number(text) as u64);
                builder = builder.cpu(reading(before), reading(after));
            }
        }
    }
    builder.flags(bits)
}

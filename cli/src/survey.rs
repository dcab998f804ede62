//! One pass over everything in a run folder: how much there is, and what is missing.

mod children;
mod missing;
mod reason;

use children::Children;
pub use missing::{NotEntered, Unobserved, grouped};
use rayon::prelude::*;
pub use reason::{Reason, program_file};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering::Relaxed;
use syn_trace::calls::Effect;
use syn_trace::reader::Ending;
use syn_trace::record::Fault;
use syn_trace::run::{ProcessEnd, Thread};
use syn_trace::{Call, Event, Run};

/// What one pass over a run found.
pub struct Survey {
    /// Per thread, as in [`Run::threads`].
    pub threads: Vec<ThreadSurvey>,
    /// Events per call, by [`Call`] number.
    pub calls: Vec<(Call, u64)>,
    /// Processes that left no trace although something started them.
    pub not_entered: Vec<NotEntered>,
    /// What could not be seen.
    pub unobserved: Vec<Unobserved>,
    /// Records that could not be written.
    pub dropped: u64,
}

/// How much one thread recorded, and how its file ends.
pub struct ThreadSurvey {
    /// Calls.
    pub events: u64,
    /// Bytes of the file in use, its header included.
    pub bytes: u64,
    /// How its records end.
    pub ending: Ending,
    /// System calls made by number that are not in the table of calls.
    pub not_understood: u64,
    /// What it could not see.
    pub unobserved: Vec<String>,
}

impl Survey {
    /// Reads every record of the run, on all processors.
    pub fn of(run: &Run) -> Survey {
        let mut counts: BTreeMap<Call, u64> = BTreeMap::new();
        let mut children = Children::default();
        let mut survey = Survey {
            threads: Vec::with_capacity(run.threads.len()),
            calls: Vec::new(),
            not_entered: Vec::new(),
            unobserved: Vec::new(),
            dropped: run.dropped(),
        };
        let looks: Vec<Look> = run.threads.par_iter().map(Look::at).collect();
        for (thread, look) in run.threads.iter().zip(looks) {
            let pid = Some(run.processes[thread.process].pid);
            let reasons = look.thread.unobserved.iter().cloned();
            survey.unobserved.extend(reasons.map(|reason| Unobserved { pid, reason }));
            for (call, more) in look.calls {
                let count = counts.entry(call).or_default();
                *count = count.saturating_add(more);
            }
            children.append(look.children);
            survey.threads.push(look.thread);
        }
        survey.calls = counts.into_iter().collect();
        survey.not_entered = children.without_trace(run);
        survey.not_entered.extend(missing_ranks(run));
        survey.look_for_faults(run);
        survey.unobserved.extend(handed_over(run));
        survey
    }

    fn look_for_faults(&mut self, run: &Run) {
        for (thread, survey) in run.threads.iter().zip(&self.threads) {
            let pid = Some(run.processes[thread.process].pid);
            if let Some(fault) = describe_ending(survey.ending) {
                let reason = format!("{}: {fault}; what precedes was read", thread.trace.path().display());
                self.unobserved.push(Unobserved { pid, reason });
            }
            let dropped = thread.trace.header().dropped.load(Relaxed);
            if dropped > 0 {
                let reason = format!("{dropped} records of thread {} could not be written", thread.tid());
                self.unobserved.push(Unobserved { pid, reason });
            }
        }
        for process in
            run.processes.iter().filter(|process| !process.process_only && !process.sees_libc_internal)
        {
            let reason =
                "reads and writes that libc makes for its streams: its entry points could not be detoured";
            self.unobserved.push(Unobserved { pid: Some(process.pid), reason: reason.into() });
        }
        for error in &run.unreadable {
            self.unobserved.push(Unobserved { pid: None, reason: error.to_string() });
        }
    }

    /// True when nothing was missed.
    pub fn complete(&self) -> bool {
        self.dropped == 0 && self.not_entered.is_empty() && self.unobserved.is_empty()
    }

    /// Records in all.
    pub fn events(&self) -> u64 {
        self.threads.iter().fold(0, |sum, thread| sum.saturating_add(thread.events))
    }

    /// Bytes in use in all.
    pub fn bytes(&self) -> u64 {
        self.threads.iter().map(|thread| thread.bytes).sum()
    }
}

/// What one thread's records show.
struct Look {
    thread: ThreadSurvey,
    /// Events per call that it made.
    calls: Vec<(Call, u64)>,
    children: Children,
}

impl Look {
    fn at(thread: &Thread) -> Look {
        let most = Call::ALL.iter().map(|&call| call as usize).max().unwrap_or(0);
        let mut counts = vec![0u64; most + 1];
        let mut children = Children::default();
        let (mut events, mut event) = (thread.events(), Event::NOTHING);
        let mut latest = Call::Repeats;
        let (mut not_understood, mut unobserved) = (0, Vec::new());
        while events.next_into(&mut event) {
            // What came again is a call of the same kind as the one before.
            let again = event.call == Call::Repeats;
            let times = if again { event.numbers[0].max(0) as u64 } else { 1 };
            latest = if again { latest } else { event.call };
            counts[latest as usize] = times.saturating_add(counts[latest as usize]);
            children.see(thread.process, &event);
            match event.call {
                call if call.effect() == Effect::Unknown => not_understood += 1,
                Call::Unobserved => {
                    unobserved.push(String::from_utf8_lossy(&event.texts[0].bytes()).into_owned());
                }
                _ => {}
            }
        }
        children.thread_ends(thread.process);
        let (ending, bytes) = (events.ending().unwrap_or(Ending::Whole), events.bytes_read());
        let events = counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count));
        let thread = ThreadSurvey { events, bytes, ending, not_understood, unobserved };
        let calls = Call::ALL.iter().map(|&call| (call, counts[call as usize]));
        Look { thread, calls: calls.filter(|&(_, count)| count > 0).collect(), children }
    }
}

/// What is wrong with the end of a file; `None` when nothing is.
pub fn describe_ending(ending: Ending) -> Option<String> {
    match ending {
        Ending::Whole => None,
        Ending::CutBetween { bytes } => Some(format!("cut off at byte {bytes}, between two records")),
        Ending::CutOff { offset } => Some(format!("cut off inside the record at byte {offset}")),
        Ending::Damaged { offset, fault } => {
            let what = match fault {
                Fault::UnknownCall(number) => format!("call number {number} is not in the table"),
                Fault::UnknownPlace(place) => format!("it refers to place {place}, at which nothing is"),
                Fault::WrongLength => "its fields do not fill its length".into(),
                Fault::CutOff => "it ends too early".into(),
                Fault::MissingChunk => "what precedes it in its thread is missing".into(),
            };
            Some(format!("damaged: no record at byte {offset} ({what})"))
        }
    }
}

/// How a process ended, for people.
pub fn describe_end(end: ProcessEnd) -> &'static str {
    match end {
        ProcessEnd::Stopped => "recording stopped",
        ProcessEnd::Ended => "ended",
        ProcessEnd::Killed => "killed or running",
    }
}

/// Programs that have a service of Slurm start others, on hosts and in environments of its choice.
const HAND_OVER: [&str; 2] = ["srun", "sbatch"];

/// Of such programs, if all in the run was started by what is in the run.
fn handed_over(run: &Run) -> Vec<Unobserved> {
    let known: BTreeSet<_> = run.processes.iter().map(|process| (process.boot_id, process.pid)).collect();
    let from_elsewhere: BTreeSet<_> = run
        .processes
        .iter()
        .filter(|process| !known.contains(&(process.boot_id, process.ppid)))
        .map(|process| (process.boot_id, process.pid))
        .collect();
    if from_elsewhere.len() > 1 {
        return Vec::new();
    }
    let name = |exe: &str| HAND_OVER.into_iter().find(|&name| exe.rsplit('/').next() == Some(name));
    let told = run.processes.iter().filter_map(|process| {
        let reason = format!(
            "what {} has others start: nothing of it is here (it is when the library is in the environment of its tasks, and when a batch \
             job is waited for)",
            name(&process.exe)?
        );
        Some(Unobserved { pid: Some(process.pid), reason })
    });
    told.collect()
}

fn missing_ranks(run: &Run) -> Vec<NotEntered> {
    let ranks = run.processes.iter().map(|process| process.ranks).max().unwrap_or(0);
    let seen: BTreeSet<u32> = run.processes.iter().filter_map(|process| process.rank).collect();
    // A damaged header may claim billions of ranks.
    (0..ranks.min(1 << 20))
        .filter(|rank| !seen.contains(rank))
        .map(|rank| NotEntered { rank: Some(rank), ..NotEntered::default() })
        .collect()
}

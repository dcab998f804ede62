//! Which processes were started, and which of them left no trace.

use super::missing::NotEntered;
use super::reason::Reason;
use std::collections::{HashMap, HashSet};
use syn_trace::calls::Effect;
use syn_trace::record::{BEGAN, FAILED};
use syn_trace::{Call, Event, Run, text};

/// A process that some call started.
struct Started {
    /// Index of the process that did it.
    by: usize,
    /// Its process id, when the call tells.
    pid: Option<u32>,
    call: Call,
    program: Option<String>,
}

impl Started {
    fn does(&self, effect: Effect) -> bool {
        self.call.effect() == effect
    }
}

/// Collects what was started while a thread's events go by.
#[derive(Default)]
pub struct Children {
    started: Vec<Started>,
    /// Children that could not execute what they wanted to become, by the process that made them.
    failed: HashSet<(usize, Option<u32>)>,
    /// An `execve` that has begun; it succeeded if the thread does nothing after it.
    exec: Option<(Call, String)>,
}

impl Children {
    /// Looks at one event of process `process`.
    pub fn see(&mut self, process: usize, event: &Event<'_>) {
        self.exec = None;
        if event.has(FAILED) {
            if event.call.effect() == Effect::ChildExec {
                self.failed.insert((process, u32::try_from(event.numbers[0]).ok()));
            }
            return;
        }
        let (pid, program) = match event.call.effect() {
            Effect::Exec if event.has(BEGAN) => {
                let program = text::escape(&event.texts[0].bytes()).into_owned();
                self.exec = Some((event.call, program));
                return;
            }
            Effect::Fork | Effect::Clone if makes_process(event) => (event.result, None),
            Effect::Spawn if event.result == 0 && event.numbers[0] > 0 => {
                (event.numbers[0], Some(event.texts[0].bytes()))
            }
            Effect::ChildExec => {
                if let Some(started) = self.started.last_mut() {
                    started.program = Some(text::escape(&event.texts[0].bytes()).into_owned());
                }
                return;
            }
            // Whoever is waited for existed, however it was made (clone, a fork nobody saw).
            Effect::AwaitProcess if event.result > 0 => (event.result, None),
            // What runs is a shell; the calls do not tell its process id.
            Effect::RunCommand if event.result != -1 => (0, Some(event.texts[0].bytes())),
            Effect::OpenProcessStream => (0, Some(event.texts[0].bytes())),
            _ => return,
        };
        let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0);
        let program = program.map(|program| text::escape(&program).into_owned());
        self.started.push(Started { by: process, pid, call: event.call, program });
    }

    /// The events of a thread of `process` are over.
    pub fn thread_ends(&mut self, process: usize) {
        if let Some((call, program)) = self.exec.take() {
            self.started.push(Started { by: process, pid: None, call, program: Some(program) });
        }
    }

    /// And what another thread started.
    pub fn append(&mut self, other: Children) {
        self.started.extend(other.started);
        self.failed.extend(other.failed);
    }

    /// What was started and has no trace in the run.
    pub fn without_trace(self, run: &Run) -> Vec<NotEntered> {
        let mut seen = Seen::of(run);
        // An image that replaced another one is not a further process.
        for started in self.started.iter().filter(|started| started.does(Effect::Exec)) {
            let process = &run.processes[started.by];
            if process.ppid == 0 {
                seen.adopt(process.boot_id);
            }
        }
        let mut known_children: HashSet<(usize, u32)> = HashSet::new();
        for started in self.started.iter().filter(|started| !started.does(Effect::AwaitProcess)) {
            known_children.extend(started.pid.map(|pid| (started.by, pid)));
        }
        let mut shells: HashMap<usize, usize> = HashMap::new();
        let mut missing = Vec::new();
        let mut named = HashSet::new();
        for started in self.started {
            let process = &run.processes[started.by];
            let is_again = started.pid.is_some_and(|pid| !named.insert((process.boot_id, pid)));
            if is_again || self.failed.contains(&(started.by, started.pid)) {
                continue;
            }
            let entered = match started.pid {
                Some(pid) => seen.images.contains_key(&(process.boot_id, pid)) || seen.adopt(process.boot_id),
                None if started.does(Effect::Exec) => {
                    let images = seen.images.get(&(process.boot_id, process.pid));
                    images
                        .is_some_and(|starts| starts.iter().any(|&start| start > process.start_monotonic_ns))
                }
                None => {
                    let others = shells.entry(started.by).or_insert_with(|| {
                        let children = seen.children.get(&(process.boot_id, process.pid));
                        children.map_or(0, |children| {
                            children
                                .iter()
                                .filter(|&&pid| !known_children.contains(&(started.by, pid)))
                                .count()
                        })
                    });
                    let entered = *others > 0;
                    *others = others.saturating_sub(1);
                    entered
                }
            };
            if !entered {
                let is_path = !started.does(Effect::RunCommand) && !started.does(Effect::OpenProcessStream);
                let program = started.program.as_deref().filter(|_| is_path);
                let reason = program.map(|program| Reason::of(program, &process.cwd));
                missing.push(NotEntered {
                    why: reason.map(Reason::text),
                    ptrace_helps: reason.is_none_or(Reason::ptrace_helps),
                    pid: started.pid.or_else(|| started.does(Effect::Exec).then_some(process.pid)),
                    rank: None,
                    program: started.program,
                    started_by: Some(process.pid),
                    call: Some(started.call.name()),
                });
            }
        }
        missing
    }
}

/// True for a call that has made a process; `clone` also makes threads.
fn makes_process(event: &Event<'_>) -> bool {
    const CLONE_THREAD: i64 = 0x1_0000;
    event.result > 0 && (event.call.effect() != Effect::Clone || event.numbers[0] & CLONE_THREAD == 0)
}

/// A machine's boot, and a process id there.
type OnMachine = ([u8; 16], u32);

/// The processes of a run, by machine and process id.
struct Seen {
    /// When each image with the id started.
    images: HashMap<OnMachine, Vec<u64>>,
    /// Which processes have the id as their parent.
    children: HashMap<OnMachine, HashSet<u32>>,
    /// How many processes have a parent that is not in their PID namespace: they know themselves by another id than
    /// their parent does.
    apart: HashMap<[u8; 16], usize>,
}

impl Seen {
    fn of(run: &Run) -> Seen {
        let mut seen = Seen { images: HashMap::new(), children: HashMap::new(), apart: HashMap::new() };
        for process in &run.processes {
            let images = seen.images.entry((process.boot_id, process.pid)).or_default();
            images.push(process.start_monotonic_ns);
            seen.children.entry((process.boot_id, process.ppid)).or_default().insert(process.pid);
        }
        // The first process of the run may have been started from outside, too.
        for process in run.processes.iter().skip(1).filter(|process| process.ppid == 0) {
            *seen.apart.entry(process.boot_id).or_default() += 1;
        }
        seen
    }

    /// True when there is a process apart that nobody has claimed yet.
    fn adopt(&mut self, machine: [u8; 16]) -> bool {
        let apart = self.apart.entry(machine).or_default();
        let any = *apart > 0;
        *apart = apart.saturating_sub(1);
        any
    }
}

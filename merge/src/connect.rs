//! Applies every rule to a run.

use crate::accesses::Accesses;
use crate::clocks::Clocks;
use crate::dependency::Dependencies;
use crate::lineage::Lineage;
use crate::load::Recorded;
use crate::mpi::{CallLog, Matcher};
use crate::notes::Notes;
use crate::progress::Progress;
use crate::rules::process_create::Creator;
use crate::rules::{processes, rendezvous, thread_create, thread_join};
use crate::scope::Scope;
use crate::sweep::sweep;
use syn_trace::Run;

/// Everything that the rules found in a run.
#[derive(Debug)]
pub struct Connected {
    /// The time axis, hosts aligned.
    pub clocks: Clocks,
    /// What waits for what.
    pub dependencies: Dependencies,
    /// The MPI calls.
    pub log: CallLog,
    /// Who created every process, and when.
    pub creators: Vec<Option<Creator>>,
    /// By thread: whether it is part of the plan.
    pub in_plan: Vec<bool>,
}

/// Applies all rules. Files come after the alignment of the clocks, which they need and do not help; where all
/// threads share one clock, in the same sweep.
pub fn connect(recorded: &Recorded, scope: Scope, progress: &Progress, notes: &mut Notes) -> Connected {
    let run = &recorded.run;
    let mut clocks = Clocks::recorded(run);
    let mut matcher = Matcher::new(&recorded.worlds, run.threads.len());
    let mut lineage = Lineage::new(run, &clocks);
    let mut accesses = Accesses::new(run, scope);
    progress.stage("matching");
    if clocks.shared() {
        sweep(run, &clocks, progress, &mut [&mut matcher, &mut lineage, &mut accesses]);
    } else {
        sweep(run, &clocks, progress, &mut [&mut matcher, &mut lineage]);
    }
    let (mut dependencies, mut log, remarks) = matcher.finish();
    remarks.into_iter().for_each(|remark| notes.remark(remark));
    let creators = processes::connect(&lineage, &mut dependencies);
    let of_library = thread_create::connect(&lineage, &mut dependencies);
    thread_join::connect(&lineage, &mut dependencies);
    if !clocks.shared() {
        clocks.align(&dependencies, notes);
        dependencies.retime(|thread, ns| clocks.ns(thread as usize, ns));
        log.retime(|thread, ns| clocks.ns(thread, ns));
        progress.stage("files");
        sweep(run, &clocks, progress, &mut [&mut accesses]);
    }
    rendezvous::settle(&mut dependencies);
    dependencies.append(accesses.finish());
    let in_plan = choose(run, &of_library, notes);
    dependencies.retain_threads(|thread| in_plan[thread as usize]);
    Connected { clocks, dependencies, log, creators, in_plan }
}

/// Whether each thread is part of the plan. Launchers are not, nor are the threads that libraries made for themselves:
/// these wait for the end of the program, one way or another, and would make a replay last as long as the recording.
fn choose(run: &Run, of_library: &[bool], notes: &mut Notes) -> Vec<bool> {
    let count = of_library.iter().filter(|&&of_library| of_library).count();
    if count > 0 {
        notes.tell(format!("{count} threads that libraries made inside MPI calls are left out: they are not the application's"));
    }
    let is_launcher = |thread: usize| run.processes[run.threads[thread].process].process_only;
    (0..run.threads.len()).map(|thread| !of_library[thread] && !is_launcher(thread)).collect()
}

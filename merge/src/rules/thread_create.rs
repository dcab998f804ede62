//! A thread starts after the call that created it.

use crate::follow::process_tree::{Deeds, FurtherThread, Maker, ProcessTree, ThreadCall};
use crate::graph::dependency::{Dependencies, Moment};
use std::collections::{BTreeMap, BTreeSet};
use syn_plan::Rule;

/// Whether a thread is the application's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is, or does the application's I/O.
    Application,
    /// MPI made it for itself inside a call (its progress threads inside `MPI_Init`), or another such thread did; and no I/O
    /// on files and no MPI of its own is on record.
    OfMpi,
    /// Another library made it inside a call, and no call of its own is on record.
    Idle,
    /// The C library made it for the requests of aio(7), and nothing else.
    OfRequests,
}

/// What is known of the threads of a run.
#[derive(Debug)]
pub struct ThreadsConnected {
    /// By index: whose they are.
    pub standings: Vec<Standing>,
    /// By index: where each that is not the first of its process was created.
    pub creators: Vec<Option<Moment>>,
    /// Processes in which those that do the requests of aio(7) make others, and so are the application's.
    pub notifying: BTreeSet<u32>,
}

/// A process, a handle of its threads, and who has created the thread, if that is known.
type Created = (u32, i64, Option<i64>);

/// Connects every thread with the `pthread_create` that gave it its handle. A handle may be used again when a thread is over:
/// the n-th thread with it that a thread has created belongs to the n-th creation there. Where the creation was not seen, what the
/// process did last before is taken.
///
pub fn connect(process_tree: &ProcessTree, found: &mut Dependencies) -> ThreadsConnected {
    // Under the creator's id, and under none for those who do not know it.
    let mut created: BTreeMap<Created, Vec<&ThreadCall>> = BTreeMap::new();
    for create in &process_tree.thread_creations {
        let creator = i64::from(process_tree.thread_ids[create.at.point().thread as usize]);
        for creator in [Some(creator), None] {
            created.entry((create.process, create.handle, creator)).or_default().push(create);
        }
    }
    let mut used: BTreeMap<Created, usize> = BTreeMap::new();
    let mut creation_of = |thread: &FurtherThread| {
        let key = (thread.process, thread.handle?, thread.creator);
        let nth = used.entry(key).or_insert(0);
        *nth += 1;
        created.get(&key)?.get(*nth - 1).copied()
    };
    let mut made_by_mpi = vec![false; process_tree.threads.len()];
    let mut standings = vec![Standing::Application; process_tree.threads.len()];
    let mut sources = vec![None; process_tree.threads.len()];
    let mut notifying = BTreeSet::new();
    for thread in process_tree.further_threads().filter(|thread| !process_tree.is_launcher(thread.process)) {
        let creation = creation_of(thread);
        if let Some(creation) = creation {
            let index = thread.first.point().thread as usize;
            made_by_mpi[index] =
                creation.maker == Maker::Mpi || made_by_mpi[creation.at.point().thread as usize];
            standings[index] = match process_tree.deeds[index] {
                Deeds::Nothing | Deeds::Calls if made_by_mpi[index] => Standing::OfMpi,
                Deeds::Nothing if creation.maker == Maker::Library => Standing::Idle,
                _ if creation.maker == Maker::Requests => Standing::OfRequests,
                _ if !process_tree.makes_calls[index]
                    && standings[creation.at.point().thread as usize] == Standing::OfRequests =>
                {
                    Standing::OfRequests
                }
                _ => Standing::Application,
            };
        }
        // It has made one that runs code of the program's (`SIGEV_THREAD`).
        let creator = creation.map(|creation| creation.at.point().thread as usize);
        let is_of_requests = |thread: usize| standings[thread] == Standing::OfRequests;
        if creator.is_some_and(is_of_requests) && !is_of_requests(thread.first.point().thread as usize) {
            notifying.insert(thread.process);
        }
        if let Some(source) = creation.map(|creation| creation.at).or(thread.process_before) {
            found.add_one(Rule::ThreadCreate, source, thread.first);
            sources[thread.first.point().thread as usize] = Some(source);
        }
    }
    for thread in process_tree.further_threads().filter(|thread| notifying.contains(&thread.process)) {
        let standing = &mut standings[thread.first.point().thread as usize];
        if *standing == Standing::OfRequests {
            *standing = Standing::Application;
        }
    }
    ThreadsConnected { standings, creators: sources, notifying }
}

//! A thread starts after the call that created it.

use crate::dependency::Dependencies;
use crate::lineage::{FurtherThread, Lineage, ThreadCall};
use std::collections::BTreeMap;
use syn_plan::Rule;

/// Connects every thread with the `pthread_create` that gave it its handle. A handle may be used again after a join:
/// the n-th thread with it belongs to the n-th creation. Where the creation was not seen, what the process did last
/// before is taken.
///
/// Returns which threads are not the application's, by index: a library made them for itself inside a call (MPI its
/// progress threads inside `MPI_Init`), or another such thread did.
pub fn connect(lineage: &Lineage, found: &mut Dependencies) -> Vec<bool> {
    let mut created: BTreeMap<(u32, i64), Vec<&ThreadCall>> = BTreeMap::new();
    for create in &lineage.thread_creations {
        created.entry((create.process, create.handle)).or_default().push(create);
    }
    let mut used: BTreeMap<(u32, i64), usize> = BTreeMap::new();
    let mut creation_of = |thread: &FurtherThread| {
        let nth = used.entry((thread.process, thread.handle?)).or_insert(0);
        *nth += 1;
        created.get(&(thread.process, thread.handle?))?.get(*nth - 1).copied()
    };
    let mut of_library = vec![false; lineage.threads.len()];
    for thread in lineage.further_threads().filter(|thread| !lineage.is_launcher(thread.process)) {
        let creation = creation_of(thread);
        if let Some(creation) = creation {
            let by_library = of_library[creation.at.point.thread as usize];
            of_library[thread.first.point.thread as usize] = creation.inner || by_library;
        }
        if let Some(source) = creation.map(|creation| creation.at).or(thread.process_before) {
            found.add_one(Rule::ThreadCreate, source, thread.first);
        }
    }
    of_library
}

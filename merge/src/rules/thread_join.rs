//! A join returns after the thread ended.

use crate::dependency::Dependencies;
use crate::lineage::{FurtherThread, Lineage};
use std::collections::BTreeMap;
use syn_plan::Rule;

/// Connects every successful `pthread_join` with the end of the latest thread that had this handle and started
/// before the join returned.
pub fn connect(lineage: &Lineage, found: &mut Dependencies) {
    let mut by_handle: BTreeMap<(u32, i64), Vec<&FurtherThread>> = BTreeMap::new();
    for thread in lineage.further_threads() {
        if let Some(handle) = thread.handle {
            by_handle.entry((thread.process, handle)).or_default().push(thread);
        }
    }
    for join in lineage.thread_joins.iter().filter(|join| !lineage.is_launcher(join.process)) {
        let Some(threads) = by_handle.get(&(join.process, join.handle)) else { continue };
        let started = threads.partition_point(|thread| thread.first.ns <= join.at.ns);
        if let Some(thread) = started.checked_sub(1).map(|index| threads[index]) {
            found.add_one(Rule::ThreadJoin, thread.last, join.at);
        }
    }
}

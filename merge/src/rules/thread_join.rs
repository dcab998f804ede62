//! A join returns after the thread ended.

use crate::follow::process_tree::{FurtherThread, ProcessTree, may_be_over};
use crate::graph::dependency::Dependencies;
use std::collections::BTreeMap;
use syn_plan::Rule;

/// Connects every successful `pthread_join` with the end of the latest thread that had this handle and started
/// before the join returned, and ended: another one may have got the handle before the join was back.
pub fn connect(process_tree: &ProcessTree, found: &mut Dependencies) {
    let mut by_handle: BTreeMap<(u32, i64), Vec<&FurtherThread>> = BTreeMap::new();
    for thread in process_tree.further_threads() {
        if let Some(handle) = thread.handle {
            by_handle.entry((thread.process, handle)).or_default().push(thread);
        }
    }
    for join in process_tree.thread_joins.iter().filter(|join| !process_tree.is_launcher(join.process)) {
        let Some(threads) = by_handle.get(&(join.process, join.handle)) else { continue };
        let started = threads.partition_point(|thread| thread.first.ns <= join.at.ns);
        let mut latest = threads[..started].iter().rev();
        if let Some(thread) = latest.find(|thread| may_be_over(thread.last, join.at)) {
            found.add_one(Rule::ThreadJoin, thread.last, join.at);
        }
    }
}

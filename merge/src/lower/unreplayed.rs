//! Bytes of files in scope that were moved in ways that a plan does not have.

use crate::scope::Scope;
use crate::sweep::Seen;
use std::collections::BTreeMap;
use syn_trace::descriptors::{OpenId, Touched};
use syn_trace::{Call, record};

/// One mapping: process, file, first address.
type Mapping = (u32, OpenId, i64);

/// What is left out, counted.
#[derive(Debug, Default)]
pub struct Unreplayed {
    /// Bytes present and bytes written. What is told of a mapping again counts from its beginning again.
    mapped: BTreeMap<Mapping, (u64, u64)>,
    asynchronous_bytes: u64,
    cloned_bytes: u64,
}

impl Unreplayed {
    /// An event that became no operation.
    pub fn see(&mut self, seen: &Seen<'_>, touched: &Touched, scope: Scope) {
        let in_scope = || touched.path.as_deref().is_some_and(|path| scope.contains(path));
        let numbers = &seen.event.numbers;
        if let (Call::PagesTouched, Some(file)) = (seen.event.call, touched.file) {
            if in_scope() {
                let known = self.mapped.entry((seen.process, file, numbers[0])).or_default();
                known.0 = known.0.max(numbers[3].max(0) as u64);
                known.1 = known.1.max(numbers[4].max(0) as u64);
            }
        } else if let Some(bytes) = asked_for(seen).filter(|_| in_scope()) {
            self.asynchronous_bytes = self.asynchronous_bytes.saturating_add(bytes);
        }
    }

    /// An event that became operations: what they do in another way.
    pub fn see_replayed(&mut self, seen: &Seen<'_>) {
        if seen.event.call == Call::CloneRange && !seen.event.has(record::FAILED) {
            self.cloned_bytes = self.cloned_bytes.saturating_add(seen.event.numbers[4].max(0) as u64);
        }
    }

    /// What to tell about it.
    pub fn remarks(&self) -> Vec<String> {
        let sum = |of: fn(&(u64, u64)) -> u64| self.mapped.values().map(of).fold(0, u64::saturating_add);
        let (present, written) = (sum(|known| known.0), sum(|known| known.1));
        let mut remarks = Vec::new();
        if present > 0 || written > 0 {
            remarks.push(format!(
                "{present} bytes of mapped files were touched in memory ({written} of them known to be written): the plan does not replay mapped I/O"
            ));
        }
        if self.asynchronous_bytes > 0 {
            remarks.push(format!(
                "{} bytes of asynchronous transfers were asked for: the plan does not replay them",
                self.asynchronous_bytes
            ));
        }
        if self.cloned_bytes > 0 {
            remarks.push(format!(
                "{} bytes of files were cloned, which moves none of them: the plan reads and writes them",
                self.cloned_bytes
            ));
        }
        remarks
    }
}

/// The bytes of an asynchronous transfer.
fn asked_for(seen: &Seen<'_>) -> Option<u64> {
    /// `IOCB_CMD_PREAD`, `PWRITE`, `PREADV`, `PWRITEV`.
    const BLOCK_TRANSFERS: [i64; 4] = [0, 1, 7, 8];
    /// `IORING_OP_READV`, `WRITEV`, `READ_FIXED`, `WRITE_FIXED`, `READ`, `WRITE`.
    const ENTRY_TRANSFERS: [i64; 6] = [1, 2, 4, 5, 22, 23];
    let numbers = &seen.event.numbers;
    let bytes = match seen.event.call {
        Call::AioRead | Call::AioWrite => numbers[1],
        Call::Iocb if BLOCK_TRANSFERS.contains(&numbers[1]) => numbers[2],
        Call::Sqe if ENTRY_TRANSFERS.contains(&numbers[1]) => numbers[4],
        _ => return None,
    };
    Some(bytes.max(0) as u64)
}

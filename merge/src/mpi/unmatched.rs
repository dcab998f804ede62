//! Calls of which nobody knows what they waited for.

use std::collections::BTreeMap;
use syn_trace::Call;

/// How many there are of each kind, and how long they took in all, nanoseconds.
#[derive(Debug, Default)]
pub struct Unmatched(BTreeMap<Call, (u64, u64)>);

impl Unmatched {
    /// There is another one.
    pub fn count(&mut self, call: Call, ns: u64) {
        let counted = self.0.entry(call).or_default();
        *counted = (counted.0 + 1, counted.1 + ns);
    }

    /// Of one that was counted it is known now.
    pub fn explain(&mut self, call: Call, ns: u64) {
        if let Some((calls, in_all_ns)) = self.0.get_mut(&call) {
            (*calls, *in_all_ns) = (calls.saturating_sub(1), in_all_ns.saturating_sub(ns));
        }
    }

    /// What to remark.
    pub fn remarks(&self) -> Vec<String> {
        let counted = self.0.iter().filter(|(_, (calls, _))| *calls > 0);
        let remark = |(call, &(calls, ns)): (&Call, &(u64, u64))| {
            let (name, seconds) = (call.name(), ns as f64 / 1e9);
            format!(
                "{calls} calls of {name}, {seconds:.6} s, were not matched: what they waited for is not explained"
            )
        };
        counted.map(remark).collect()
    }
}

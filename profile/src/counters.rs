//! Hardware counters of the command and everything it starts, through `perf_event_open(2)`: inherited by children, and
//! enabled when the command replaces this program in its process.

use crate::sample::Field;
use perf_event::events::Hardware;
use perf_event::{Builder, Counter};

/// The counters that could be opened, and why the others could not.
#[derive(Default)]
pub struct Counters {
    open: Vec<(Field, Counter)>,
    refused: Vec<(Field, String)>,
}

const EVENTS: [(Field, Hardware); 4] = [
    (Field::Cycles, Hardware::CPU_CYCLES),
    (Field::Instructions, Hardware::INSTRUCTIONS),
    (Field::StalledFront, Hardware::STALLED_CYCLES_FRONTEND),
    (Field::StalledBack, Hardware::STALLED_CYCLES_BACKEND),
];

impl Counters {
    /// Opens them for the calling thread's future children.
    pub fn open() -> Counters {
        let mut counters = Counters::default();
        for (field, event) in EVENTS {
            match Builder::new(event).inherit(true).enable_on_exec(true).observe_self().build() {
                Ok(counter) => counters.open.push((field, counter)),
                Err(error) => counters.refused.push((field, error.to_string())),
            }
        }
        counters
    }

    /// What they stand at.
    pub fn read(&mut self) -> Vec<(Field, u64)> {
        self.open.iter_mut().filter_map(|(field, counter)| Some((*field, counter.read().ok()?))).collect()
    }

    /// Why a counter is not there.
    pub fn why(&self, field: Field) -> String {
        match self.refused.iter().find(|(refused, _)| *refused == field) {
            Some((_, error)) => format!(
                "the machine has no such counter (perf_event_open: {error}); CPU time stands in for it"
            ),
            None => "it was not opened".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;

    /// The way the counters are opened, with an event that every machine has.
    #[test]
    fn what_a_child_uses_is_counted_from_its_exec_on() {
        let built =
            Builder::new(Software::TASK_CLOCK).inherit(true).enable_on_exec(true).observe_self().build();
        let Ok(mut counter) = built else {
            eprintln!("perf_event_open is not allowed here: nothing to test");
            return;
        };
        let before = crate::sys::children();
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let status = std::process::Command::new("sh").args(["-c", script]).status().expect("sh is there");
        assert!(status.success());
        let after = crate::sys::children();
        let used = (after.user_ns + after.system_ns - before.user_ns - before.system_ns) as f64;
        let counted = counter.read().expect("an open counter") as f64;
        // This event goes on while the host of a virtual machine has the processor; the kernel's account does not.
        assert!((0.7..2.0).contains(&(counted / used)), "counted {counted}, used {used}");
    }
}

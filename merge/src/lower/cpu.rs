//! Processor time inside calls.

use syn_trace::reader::Event;

/// Follows one thread's CPU readings, as [`syn_trace::run::GapMeter`] does for the gaps between calls. A reading
/// covers everything since the one before; what lies between is taken at its wall time.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuReadings {
    since_reading_ns: u64,
    /// Of readings taken inside the call that is to come.
    inside_ns: u64,
}

impl CpuReadings {
    /// A call inside one that is looked at as a whole: its readings are part of what is read there.
    #[inline]
    pub fn inside(&mut self, event: &Event<'_>) {
        let readings = event.cpu_before.unwrap_or(0).saturating_add(event.cpu_after.unwrap_or(0));
        self.inside_ns = self.inside_ns.saturating_add(readings);
    }

    /// The processor time of a call that took `took_ns` after a gap of `gap_ns`; `None` where no reading was taken.
    #[inline]
    pub fn of_call(&mut self, event: &Event<'_>, gap_ns: u64, took_ns: u64) -> Option<u64> {
        let inside_ns = std::mem::take(&mut self.inside_ns);
        match event.cpu_before {
            Some(_) => self.since_reading_ns = 0,
            None => self.since_reading_ns = self.since_reading_ns.saturating_add(gap_ns),
        }
        match event.cpu_after {
            Some(cpu) => {
                let before = std::mem::take(&mut self.since_reading_ns);
                Some(cpu.saturating_add(inside_ns).saturating_sub(before).min(took_ns))
            }
            None => {
                self.since_reading_ns = self.since_reading_ns.saturating_add(took_ns);
                None
            }
        }
    }
}

//! The table of metrics of the Synapse paper: each is measured, or it is said why not.

use serde::{Deserialize, Serialize};

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Resource and name, as `cpu.instructions`.
    pub name: String,
    /// Unit.
    pub unit: String,
    /// The value, where it was measured.
    pub value: Option<f64>,
    /// Where it comes from; why it is not there.
    pub how: String,
}

/// The row of the room that written files took.
pub const ROOM: &str = "storage.room";

/// The row of the start.
const START: &str = "system.start";

/// All rows of a profile, and what its reader has to know.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// The table.
    pub rows: Vec<Metric>,
    /// What is missing in the profile, or special about the program's end.
    pub notes: Vec<String>,
}

impl Metrics {
    /// A measured one.
    pub fn measured(&mut self, name: &str, unit: &str, value: f64, how: &str) {
        self.put(name, unit, Some(value), how);
    }

    /// One that this machine or this recording does not give.
    pub fn missing(&mut self, name: &str, unit: &str, why: &str) {
        self.put(name, unit, None, why);
    }

    /// Measured where there is a value.
    pub fn either(&mut self, name: &str, unit: &str, value: Option<f64>, how: &str, why: &str) {
        self.put(name, unit, value, if value.is_some() { how } else { why });
    }

    /// When the command started, nanoseconds of the monotonic clock.
    pub fn started(&mut self, start_ns: u64) {
        let how = "monotonic clock of the machine at the start of the command";
        self.measured(START, "s", start_ns as f64 / 1e9, how);
    }

    /// The same, where it is known.
    pub fn start_ns(&self) -> Option<u64> {
        self.get(START).map(|seconds| (seconds * 1e9) as u64)
    }

    fn put(&mut self, name: &str, unit: &str, value: Option<f64>, how: &str) {
        let metric = Metric { name: name.into(), unit: unit.into(), value, how: how.into() };
        match self.rows.iter_mut().find(|metric| metric.name == name) {
            Some(there) => *there = metric,
            None => self.rows.push(metric),
        }
    }

    /// A measured value.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.rows.iter().find(|metric| metric.name == name)?.value
    }
}

#[cfg(test)]
mod tests {
    /// What is exported and imported again is the same to the last digit.
    #[test]
    fn values_stay_what_they_are_as_text() {
        let values =
            (1..2000_u32).map(|number| f64::from(number) / 7.3e-5).chain([0.1 + 0.2, 1e-310, f64::MAX]);
        for value in values {
            let text = serde_json::to_string(&value).expect("a number");
            assert_eq!(serde_json::from_str::<f64>(&text).expect("a number"), value, "{text}");
        }
    }
}

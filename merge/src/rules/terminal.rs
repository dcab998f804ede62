//! Who slept at one end of a pseudoterminal goes on after a write at the other end.
//!
//! What is written is changed on its way (echo, line ends, editing), by settings that are not on record, so bytes are not counted. What
//! the program at the slave writes comes out at the master at once: the first write meanwhile counts. What is written to the master may
//! be kept until the line is complete: the last one that had begun counts.

use crate::graph::dependency::Dependencies;
use crate::rules::waking::{self, Waking};
use syn_plan::Rule;

/// An end of a pseudoterminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Of who shows what is written, and types.
    Master,
    /// Of the programs in the terminal.
    Slave,
}

impl End {
    /// The one where comes out what is written here.
    pub fn other(self) -> End {
        match self {
            End::Master => End::Slave,
            End::Slave => End::Master,
        }
    }
}

/// Connects all waits at one end with writes at the other.
pub fn connect(end: End, waking: Waking, found: &mut Dependencies) {
    if end == End::Master {
        return waking::connect(Rule::Terminal, waking, false, found);
    }
    let Waking { waits, mut wakes, .. } = waking;
    wakes.sort_unstable_by_key(|wake| (wake.span.enter.ns, wake.span.enter.point()));
    for wait in waits {
        let begun = wakes.partition_point(|wake| wake.span.enter.ns <= wait.leave.ns);
        let last = wakes[..begun].last().map(|wake| wake.span);
        if let Some(write) = last.filter(|write| write.leave.ns >= wait.enter.ns)
            && write.enter.point().thread != wait.leave.point().thread
        {
            found.add_one(Rule::Terminal, write.enter, wait.leave);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::waking::Wake;
    use crate::rules::waking::tests::{records, span};

    #[test]
    fn a_line_is_read_after_its_end_and_output_after_its_beginning() {
        let found = [End::Master, End::Slave].map(|end| {
            let writes = [(1, 20), (2, 30), (3, 90)].map(|(record, ns)| span(0, record, ns, ns + 1));
            let wakes = writes.map(|span| Wake { span, times: u32::MAX }).to_vec();
            let mut found = Dependencies::default();
            let waits = vec![span(1, 7, 10, 40), span(1, 8, 50, 60), span(0, 9, 80, 95)];
            connect(end, Waking { waits, wakes, ..Waking::default() }, &mut found);
            records(&found)
        });
        assert_eq!(found, [[(1, 7)], [(2, 7)]]);
    }
}

//! Work and waiting in one step.

/// So much of both together is a turn, nanoseconds: other threads work while this one waits.
const TURN_NS: u64 = 10_000_000;
/// Turns have so much of each, nanoseconds: a sleep costs a wake-up.
const LEAST_NS: u64 = 1_000_000;

/// In how many turns a step works and waits of which nobody knows what came when; 0 where the order does not matter.
///
/// Work in one piece, and the waiting behind it, would have all threads of such a step work at the same time, and with more
/// threads than processors wait for a processor first.
pub fn turns(cpu_ns: u64, idle_ns: u64) -> u64 {
    (cpu_ns.saturating_add(idle_ns) / TURN_NS).min(cpu_ns.min(idle_ns) / LEAST_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn work_and_waiting_take_turns_where_there_is_much_of_both() {
        for (cpu_ms, idle_ms, expected) in
            [(200, 800, 100), (30, 5000, 30), (5000, 30, 30), (5, 4, 0), (0, 900, 0), (900, 0, 0), (8, 2, 1)]
        {
            assert_eq!(turns(cpu_ms * MS, idle_ms * MS), expected, "{cpu_ms} ms and {idle_ms} ms");
        }
        assert_eq!(turns(MS - 1, u64::MAX), 0);
        assert_eq!(turns(u64::MAX, u64::MAX), u64::MAX / TURN_NS);
    }
}
